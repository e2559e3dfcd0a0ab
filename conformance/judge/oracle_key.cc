#include "conformance/judge/oracle_key.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "codec/dialect.h"
#include "conformance/judge/attribution.h"

namespace fencepost::judge {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Token = KeyWorld::Token;
using Expiry = KeyWorld::Expiry;

// Counters up to here are legal for every store. (Req: HLC-PARSE-OPEN-2)
constexpr std::uint64_t kCommonCounter = 2'147'483'647ULL;
// Expiries up to here as well. (Req: SET-PX-OPEN-5)
constexpr milliseconds kCommonExpiry{std::chrono::hours{24} * 10};
// Between these it is open whether a timestamp is too far ahead. (Req: HLC-SKEW-OPEN-1)
// The limit is "more than one minute", and a store may count in milliseconds or in whole seconds.
constexpr std::uint64_t kMostSurelyTakenMs = 59'999;
constexpr std::uint64_t kMostPerhapsTakenMs = 60'999;
constexpr std::size_t kLongNode = 64;
constexpr std::string_view kStoreNode = "StateStore";

constexpr std::string_view kRefused = "refused";
constexpr std::string_view kTaken = "taken";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}
// Signs, blanks, fractions, exponents: a number to somebody, perhaps.
bool is_perhaps_number(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || std::string_view("+-. \teE_,").find(c) != std::string_view::npos;
         });
}

void add_doubts_of_node(std::string_view node, bool is_token, std::vector<OpenPointChoice>& out) {
  constexpr std::string_view kRule = "HLC-PARSE-OPEN-1";
  if (node.empty()) out.push_back({kRule, "an empty node id", {}});
  if (node.find(':') != std::string_view::npos)
    out.push_back({kRule, "a node id with a colon", {}});
  // Versions are tokens, so there it is settled. (Req: LOCK-TOKEN-2)
  if (node == kStoreNode && !is_token) out.push_back({kRule, "the node id of the store", {}});
  if (node.size() > kLongNode) out.push_back({kRule, "a long node id", {}});
  const bool plain =
      std::all_of(node.begin(), node.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain) out.push_back({kRule, "an unusual node id", {}});
}

std::optional<OpenPointChoice> doubt_of_counter(std::string_view digits, bool is_token) {
  constexpr std::string_view kRule = "HLC-PARSE-OPEN-2";
  std::uint64_t counter = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), counter);
  if (read.ec != std::errc()) return OpenPointChoice{kRule, "beyond 64 bits", {}};
  if (counter > store::kMaxRequestCounter) {
    return OpenPointChoice{kRule, is_token ? "__ft beyond 63 bits" : "__ts beyond 63 bits", {}};
  }
  if (counter > kCommonCounter) {
    return OpenPointChoice{kRule, is_token ? "__ft beyond 31 bits" : "__ts beyond 31 bits", {}};
  }
  return std::nullopt;
}

// A `__ts` or `__ft` of a request: what it is, or the errors that it deserves.
struct Stamp {
  std::optional<hlc::Timestamp> value{};  // nothing: absent, malformed, or not known what it counts
  bool is_token = false;                  // `__ft`
  bool present = false;
  bool may_be_refused = false;
  bool may_be_taken = true;
  ErrorCode error = ErrorCode::kMalformedTimestamp;
  std::optional<ErrorCode> far{};  // or refused as this, whatever is open
  OpenPointChoice choice{};        // why it is not sure; its outcome is left empty
  bool may_be_missing = false;     // an empty `__ts` may count as absent
};

Stamp read(const std::string* text, bool is_token, const Asked& asked) {
  Stamp out{.is_token = is_token};
  if (text == nullptr) return out;
  out.present = true;
  if (const auto parsed = hlc::parse(*text)) out.value = *parsed;
  auto doubt = doubt_of_timestamp(*text, is_token);
  // Whether a client may use the node id of the store. (Req: HLC-PARSE-OPEN-1)
  if (out.value && !is_token && asked.store_nodes != nullptr &&
      asked.store_nodes->contains(out.value->node)) {
    if (!doubt) doubt = OpenPointChoice{"HLC-PARSE-OPEN-1", "the node id of the store", {}};
    doubt->several = true;
  }
  if (!out.value && !doubt) {
    out.may_be_refused = true;
    out.may_be_taken = false;
    return out;
  }
  const ErrorCode too_far =
      is_token ? ErrorCode::kTokenTooFarAhead : ErrorCode::kTimestampTooFarAhead;
  // HLC-SKEW-1, -2: all that is known of the store's clock is an interval. Refusing is right if the
  // timestamp is too far ahead on the earliest clock, taking it unless it is so on the latest one.
  const bool may_be_far =
      !out.value || hlc::too_far_ahead(*out.value, asked.wall_low, kMostSurelyTakenMs);
  const bool is_far =
      out.value && hlc::too_far_ahead(*out.value, asked.wall_high, kMostPerhapsTakenMs);
  out.may_be_taken = !is_far;
  out.may_be_refused = doubt || may_be_far;
  if (doubt) {
    out.choice = *doubt;
    out.may_be_missing = text->empty() && !is_token;
    // Beside the doubt it may be far ahead.
    if (may_be_far) out.far = too_far;
  } else if (may_be_far) {
    out.error = too_far;
  }
  return out;
}

// Collects what may happen with one request in one state.
class Outcomes {
 public:
  Outcomes(const KeyWorld& world, const Asked& asked, std::vector<Branch>& out)
      : world_(world), asked_(asked), out_(out) {}

  void get();
  void set();
  void remove();

 private:
  [[nodiscard]] std::string_view rule_of(const ReplyFacts& reply) const {
    return requirement_of({.verb = asked_.command.verb,
                           .condition = asked_.command.condition,
                           .has_token = asked_.token != nullptr},
                          {.exists = world_.exists,
                           .expired = world_.expired,
                           .fenced = world_.token == Token::kHeld,
                           .expires = world_.expiry != Expiry::kNever},
                          reply);
  }
  [[nodiscard]] std::string_view rule_of(ErrorCode error, bool of_token = false) const {
    return requirement_of(error, {.verb = asked_.command.verb, .token_is_malformed = of_token});
  }

  Branch& add(const ReplyFacts& reply) { return add(*reply.kind, rule_of(reply)); }
  Branch& add(ReplyKind kind, std::string_view rule) {
    Branch& branch = out_.emplace_back();
    branch.kind = kind;
    branch.rule = rule;
    branch.next = world_;
    return branch;
  }

  Branch& refuse(std::optional<ErrorCode> error, std::string_view rule, OpenPointChoice choice) {
    Branch& branch = add(ReplyKind::kError, rule);
    branch.error = error;
    branch.choice = choice;
    return branch;
  }

  Branch& refuse(ErrorCode error, OpenPointChoice choice = {}) {
    return refuse(error, rule_of(error), choice);
  }

  // Of one of the two timestamps of the request.
  Branch& refuse(const Stamp& stamp, OpenPointChoice choice) {
    return refuse(stamp.error, rule_of(stamp.error, stamp.is_token), choice);
  }

  // An error that the request deserves, perhaps, or for sure.
  void deserve(const Stamp& stamp) {
    if (!stamp.may_be_refused) return;
    OpenPointChoice choice = stamp.choice;
    if (!choice.requirement.empty()) choice.outcome = kRefused;
    refuse(stamp, choice);
    if (stamp.may_be_missing) refuse(ErrorCode::kMissingTimestamp, choice);
    if (stamp.far) refuse(*stamp.far);
    if (!stamp.may_be_taken) doomed_ = true;
  }

  // What is wrong with a property that the request does not need may be an error all the same.
  void deserve_where_not_needed(const std::string* text, bool is_token, std::string_view open) {
    const Stamp stamp = read(text, is_token, asked_);
    if (!stamp.may_be_refused) return;
    refuse(stamp, {open, {}, kRefused, true});
    if (stamp.far) refuse(*stamp.far, {open, {}, kRefused, true});
  }

  // Options of SET that a store may refuse.
  void deserve_options() {
    const auto refuse_options = [this](OpenPointChoice choice) {
      choice.outcome = kRefused;
      refuse(ErrorCode::kSyntax, choice);
      refuse(ErrorCode::kWrongArgumentCount, choice);
    };
    if (!asked_.open_form.requirement.empty()) refuse_options(asked_.open_form);
    const auto& px = asked_.command.expires_after;
    if (!px) return;
    if (px->count() == 0) refuse_options({"SET-PX-OPEN-1", {}, {}});
    if (*px > kCommonExpiry) refuse_options({"SET-PX-OPEN-5", {}, {}, true});
  }

  void deserve_limits() {
    if (!asked_.limited) return;
    refuse(ErrorCode::kNotAuthorized).unknowable = true;
    if (asked_.command.verb == Verb::kSet && !world_.exists) {
      refuse(ErrorCode::kQuotaExceeded).unknowable = true;
    }
  }

  // The fencing rule: refusals, and whether the request can pass.
  bool fence(const Stamp& token) {
    // A right store may refuse and may pass where not all is known of the key's token, or of what
    // the store takes the request's for: then refusals are added, and the result is true all the
    // same.
    if (world_.token == Token::kNone) return true;
    if (world_.token == Token::kUnknown) {
      if (token.present) refuse(ErrorCode::kTokenLower);
      if (!token.value) refuse(ErrorCode::kTokenRequired);  // an empty one is perhaps none
      return true;
    }
    if (!token.present) {
      refuse(ErrorCode::kTokenRequired);
      return false;
    }
    if (!token.value) {  // taken, if at all, as nobody knows what
      refuse(ErrorCode::kTokenLower);
      refuse(ErrorCode::kTokenRequired);
      return true;
    }
    // Versions are ordered by wall clock, counter and node id. Whether the node id counts for
    // fencing is open: a store may refuse an equal token of another node, or take it. (Req:
    // FT-OPEN-6)
    const bool is_lower = store::fencing_error(&world_.held, &*token.value).has_value();
    const bool same_numbers =
        token.value->wall_ms == world_.held.wall_ms && token.value->counter == world_.held.counter;
    if (same_numbers && token.value->node != world_.held.node) {
      refuse(ErrorCode::kTokenLower,
             {"FT-OPEN-6", is_lower ? "a lower node id" : "a greater node id", kRefused});
      by_node_ = {"FT-OPEN-6", is_lower ? "a lower node id" : "a greater node id", kTaken};
      return true;
    }
    if (is_lower) refuse(ErrorCode::kTokenLower);
    return !is_lower;
  }

  // The key after a request that was refused by its condition or its value; a newer token may have
  // been kept. (Req: FT-OPEN-4)
  void also_with_newer_token(std::size_t branch, const Stamp& token) {
    if (!token.present || !token.may_be_taken) return;
    if (token.value && world_.token == Token::kHeld && *token.value <= world_.held) return;
    Branch kept = out_[branch];
    const bool known = world_.token != Token::kUnknown && token.value;
    kept.next.token = known ? Token::kHeld : Token::kUnknown;
    kept.next.held = known ? *token.value : hlc::Timestamp{};
    const std::string_view point = asked_.command.verb == Verb::kSet ? "SET" : "VDEL";
    // One that the store may refuse is perhaps not kept for that reason, which says nothing of
    // others.
    const bool doubtful = token.may_be_refused;
    kept.choice = {"FT-OPEN-4", point, "a newer token is kept", doubtful};
    choose(out_[branch], {"FT-OPEN-4", point, "a newer token is not kept", doubtful});
    out_.push_back(std::move(kept));
  }

  void choose(Branch& branch, const OpenPointChoice& choice) const {
    if (!choice.requirement.empty() && branch.choice.requirement.empty()) branch.choice = choice;
  }

  void apply_set(const Stamp& timestamp, const Stamp& token);
  void add_expiries(const Branch& applied);

  const KeyWorld& world_;
  const Asked& asked_;
  std::vector<Branch>& out_;
  bool doomed_ = false;  // an error is certain
  OpenPointChoice by_node_{};
};

void Outcomes::get() {
  if (world_.exists) {
    Branch& found =
        add({.kind = ReplyKind::kValue, .empty_value = world_.value && world_.value->empty()});
    found.value = world_.value;
    found.version = VersionRule::kSame;
  } else {
    add({.kind = ReplyKind::kMissing}).version = VersionRule::kNone;
  }
  deserve_where_not_needed(asked_.timestamp, false, "HLC-REQUIRED-OPEN-1");
  deserve_where_not_needed(asked_.token, true, "FT-OPEN-1");
  deserve_limits();
}

void Outcomes::set() {
  const codec::Command& command = asked_.command;
  const std::size_t first = out_.size();
  if (world_.expired && world_.token != Token::kNone) {
    // Whether a store still asks for the token of a key that has expired is open (Req: FT-OPEN-5).
    // Of a store that does not, the request meets a key without a token.
    KeyWorld forgotten = world_;
    forgotten.token = Token::kNone;
    std::vector<Branch> others;
    Outcomes(forgotten, asked_, others).set();
    for (Branch& branch : others) {
      if (branch.choice.requirement.empty()) {
        branch.choice = {"FT-OPEN-5", asked_.token == nullptr ? "no token" : "a token",
                         "it expires with the key"};
      }
      out_.push_back(std::move(branch));
    }
  }
  const Stamp timestamp = read(asked_.timestamp, false, asked_);
  if (!timestamp.present) {
    refuse(ErrorCode::kMissingTimestamp);
    doomed_ = true;
  }
  deserve(timestamp);
  const Stamp token = read(asked_.token, true, asked_);
  deserve(token);
  if (!fence(token)) doomed_ = true;

  const std::string* stored = world_.exists && world_.value ? &*world_.value : nullptr;
  const bool conditional = command.condition != Condition::kAlways;
  // What the key holds may be unknown (somebody else has written it): NEX may then apply or not,
  // and the reply says which.
  const bool guess =
      world_.exists && !world_.value && command.condition == Condition::kIfAbsentOrEqual;
  const bool holds =
      !world_.exists || guess ||
      (stored == nullptr ? command.condition != Condition::kIfAbsent
                         : store::condition_holds(command.condition, stored, command.value));
  // Even a request that is certain to be refused may be answered with minus one: whether errors or
  // the condition come first is open. (Req: ERR-ORDER-OPEN-2)
  if (conditional && world_.exists && (!holds || guess)) {
    Branch& kept = add({.kind = ReplyKind::kNotApplied});
    kept.version = VersionRule::kSame;
    if (doomed_) kept.choice = {"ERR-ORDER-OPEN-2", {}, "minus one"};
    also_with_newer_token(out_.size() - 1, token);
  }
  if (holds && !doomed_) apply_set(timestamp, token);
  deserve_options();
  deserve_limits();
  // The other half of FT-OPEN-5: what was added since `first` holds of a store whose tokens outlive
  // their keys. Both halves carry their choice, so that later replies can settle it.
  if (world_.expired && world_.token != Token::kNone) {
    for (std::size_t i = first; i < out_.size(); ++i) {
      if (out_[i].choice.requirement.empty()) {
        out_[i].choice = {"FT-OPEN-5", asked_.token == nullptr ? "no token" : "a token",
                          "it outlives the key"};
      }
    }
  }
}

void Outcomes::apply_set(const Stamp& timestamp, const Stamp& token) {
  Branch applied;
  applied.kind = ReplyKind::kOk;
  applied.rule = rule_of({.kind = ReplyKind::kOk});
  applied.version = VersionRule::kFresh;
  applied.change = Change::kSet;
  for (const Stamp* stamp : {&timestamp, &token}) {
    if (stamp->choice.requirement.empty()) continue;
    OpenPointChoice choice = stamp->choice;
    choice.outcome = kTaken;
    choose(applied, choice);
  }
  choose(applied, by_node_);
  if (!asked_.open_form.requirement.empty()) {
    OpenPointChoice choice = asked_.open_form;
    choice.outcome = kTaken;
    choose(applied, choice);
  }
  KeyWorld& next = applied.next;
  next = world_;
  next.exists = true;
  next.expired = false;
  next.value = std::string(asked_.command.value);
  // A key without a token that is not known by now, and takes what it is offered, holds it.
  if (token.present && !token.value) {
    next.token = Token::kUnknown;
  } else if (world_.token == Token::kUnknown) {
    next.token = token.present ? Token::kHeld : Token::kNone;
    if (token.present) next.held = *token.value;
  } else {
    const hlc::Timestamp* held = world_.token == Token::kHeld ? &world_.held : nullptr;
    const hlc::Timestamp* kept = store::token_after(held, token.value ? &*token.value : nullptr);
    next.token = kept != nullptr ? Token::kHeld : Token::kNone;
    if (kept != nullptr) next.held = *kept;
  }
  if (next.token != Token::kHeld) next.held = {};
  add_expiries(applied);
}

// The key expires as PX says. Where there is none, a former expiry may go on.
void Outcomes::add_expiries(const Branch& applied) {
  const codec::Command& command = asked_.command;
  const auto expires = [](Branch branch, Expiry expiry, microseconds from, microseconds to) {
    branch.next.expiry = expiry;
    branch.next.earliest = from;
    branch.next.latest = to;
    return branch;
  };
  if (!command.expires_after) {
    const bool nex = command.condition == Condition::kIfAbsentOrEqual;
    const std::string_view rule = nex ? "SET-NEX-OPEN-2" : "SET-PX-OPEN-6";
    Branch permanent = expires(applied, Expiry::kNever, {}, {});
    if (!world_.exists || world_.expiry == Expiry::kNever) {
      out_.push_back(std::move(permanent));
      return;
    }
    Branch as_before = expires(applied, world_.expiry, world_.earliest, world_.latest);
    choose(permanent, {rule, {}, "it removes the expiry"});
    choose(as_before, {rule, {}, "it keeps the expiry"});
    out_.push_back(std::move(permanent));
    out_.push_back(std::move(as_before));
    return;
  }
  // The time runs from when the store handles the SET, which lies between sending and receiving.
  // (Req: SET-PX-7)
  const microseconds px = *command.expires_after;
  Branch soon = expires(applied, Expiry::kWindow, asked_.sent + px, asked_.received + px);
  if (px.count() == 0) {
    choose(soon, {"SET-PX-OPEN-1", {}, "it expires at once"});
    out_.push_back(std::move(soon));
    Branch never = expires(applied, Expiry::kNever, {}, {});
    choose(never, {"SET-PX-OPEN-1", {}, "it never expires"});
    out_.push_back(std::move(never));
    return;
  }
  if (*command.expires_after > kCommonExpiry) choose(soon, {"SET-PX-OPEN-5", {}, kTaken, true});
  out_.push_back(std::move(soon));
}

// DEL and VDEL.
void Outcomes::remove() {
  const bool vdel = asked_.command.verb == Verb::kVdel;
  const Stamp token = read(asked_.token, true, asked_);
  deserve_where_not_needed(asked_.timestamp, false, "HLC-REQUIRED-OPEN-1");
  if (!world_.exists || world_.token == Token::kNone) {
    // What a token means here is not said. (Req: FT-OPEN-1, FT-OPEN-2)
    if (token.present) {
      const std::string_view point = world_.exists ? "no token" : "no key";
      const std::string_view open = token.may_be_refused ? "FT-OPEN-1" : "FT-OPEN-2";
      // Which error that is says nobody; what no store may do breaks the rule of the deletion.
      refuse(std::nullopt, rule_of({.kind = ReplyKind::kCount, .removed = world_.exists}),
             {open, point, kRefused});
    }
  } else {
    deserve(token);
    if (!fence(token)) {
      doomed_ = true;
    }
  }
  if (!world_.exists) {
    Branch& nothing = add({.kind = ReplyKind::kCount});
    nothing.count = 0;
    if (world_.expired && world_.token != Token::kNone) {
      // If the token had outlived its key, this may have been the end of it.
      Branch forgotten = nothing;
      forgotten.next.token = Token::kNone;
      out_.push_back(std::move(forgotten));
    }
    deserve_limits();
    return;
  }
  const bool differs =
      vdel && (!world_.value || !store::value_matches(*world_.value, asked_.command.value));
  if (differs) {
    Branch& kept = add({.kind = ReplyKind::kNotApplied});
    if (doomed_) kept.choice = {"FT-OPEN-3", "the value of VDEL", "looked at first"};
    also_with_newer_token(out_.size() - 1, token);
  }
  if (!doomed_ && (!differs || !world_.value)) {
    Branch deleted;
    deleted.kind = ReplyKind::kCount;
    deleted.count = 1;
    deleted.rule = rule_of({.kind = ReplyKind::kCount, .removed = true});
    deleted.change = Change::kDelete;
    deleted.choice = by_node_;
    deleted.next.version = world_.version;
    deleted.next.assumed = world_.assumed;
    // A deletion may return the version of what it has deleted, or a new one. (Req: VER-OPEN-4)
    Branch newer = deleted;
    deleted.version = VersionRule::kSame;
    newer.version = VersionRule::kNewer;
    choose(deleted, {"VER-OPEN-4", {}, "the version of the deleted value"});
    choose(newer, {"VER-OPEN-4", {}, "a newer timestamp"});
    out_.push_back(std::move(deleted));
    out_.push_back(std::move(newer));
  }
  deserve_limits();
}

}  // namespace

void pass_time(const KeyWorld& world, microseconds sent, microseconds received, microseconds slack,
               std::vector<KeyWorld>& out) {
  if (!world.exists || world.expiry == Expiry::kNever) {
    out.push_back(world);
    return;
  }
  // A store may remove a key up to `slack` late, but never early (SET-PX-1, SET-PX-2). It handles
  // the request between `sent` and `received`: while that overlaps the window, both states go on.
  const bool unknown = world.expiry == Expiry::kUnknown;
  if (unknown || sent <= world.latest + slack) out.push_back(world);
  if (unknown || received >= world.earliest) {
    KeyWorld& gone = out.emplace_back();
    gone.expired = true;
    gone.version = world.version;
    gone.token = world.token;
    gone.held = world.held;
    gone.assumed = world.assumed;
  }
}

void branches_of(const KeyWorld& world, const Asked& asked, std::vector<Branch>& out) {
  if (world.token == Token::kUnknown && asked.command.verb != Verb::kGet) {
    KeyWorld without = world;  // perhaps it has none: an empty `__ft` may be none (FT-OPEN-7)
    without.token = Token::kNone;
    branches_of(without, asked, out);
  }
  Outcomes outcomes(world, asked, out);
  switch (asked.command.verb) {
    case Verb::kGet:
      outcomes.get();
      break;
    case Verb::kSet:
      outcomes.set();
      break;
    case Verb::kDel:
    case Verb::kVdel:
      outcomes.remove();
      break;
    case Verb::kKeynotify:
      break;
  }
}

std::optional<OpenPointChoice> doubt_of_timestamp(std::string_view text, bool is_token) {
  if (text.empty()) {
    return is_token ? OpenPointChoice{"FT-OPEN-7", {}, {}}
                    : OpenPointChoice{"ENV-PROPERTY-OPEN-2", "empty", {}};
  }
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view wall = text.substr(0, first);
  const std::string_view counter = text.substr(first + 1, second - first - 1);
  std::vector<OpenPointChoice> doubts;
  if (!is_number(wall) || !is_number(counter)) {
    const bool perhaps = (is_number(wall) || is_perhaps_number(wall)) &&
                         (is_number(counter) || is_perhaps_number(counter));
    if (!perhaps) return std::nullopt;
    doubts.push_back({"HLC-PARSE-OPEN-3", {}, {}});
  } else if (wall.size() > hlc::kMaxDigits || counter.size() > hlc::kMaxDigits) {
    doubts.push_back({"HLC-PARSE-OPEN-3", "many digits", {}});
  }
  if (is_number(counter)) {
    if (auto doubt = doubt_of_counter(counter, is_token)) doubts.push_back(*doubt);
  }
  add_doubts_of_node(text.substr(second + 1), is_token, doubts);
  if (doubts.empty()) return std::nullopt;
  // A store that refuses one odd node id, or one spelling of a number, may take the next: these
  // rules leave open what is legal, not one question with one answer.
  const bool one_question = doubts.size() == 1 && doubts.front().requirement == "HLC-PARSE-OPEN-2";
  doubts.front().several = !one_question;
  return doubts.front();
}

}  // namespace fencepost::judge
