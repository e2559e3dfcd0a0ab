#include "suite/judge/oracle_key.h"

#include <algorithm>
#include <utility>

#include "suite/judge/oracle_timestamp.h"
#include "suite/judge/reply_requirement.h"

namespace fencepost::judge {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Token = CandidateState::Token;
using Expiry = CandidateState::Expiry;

// Expiries up to here are legal for every store. (Req: SET-PX-OPEN-5)
// Ten days fit into 31 bits of milliseconds.
constexpr milliseconds kMaxPortableExpiry{std::chrono::hours{24} * 10};
constexpr std::string_view kRefused = "refused";
constexpr std::string_view kTaken = "taken";

// Collects what may happen with one request in one state.
class Outcomes {
 public:
  Outcomes(const CandidateState& state, const Asked& asked, std::vector<Branch>& out)
      : before_(state), asked_(asked), out_(out) {}

  void get();
  void set();
  void remove();
  // What was added since `first` holds of a store whose tokens outlive their keys. (Req: FT-OPEN-5)
  void outlives_from(std::size_t first);

 private:
  [[nodiscard]] std::string_view rule_of(const ReplyFacts& reply) const {
    // A token that may be there or not names no rule of fencing.
    return requirement_of({.verb = asked_.command.verb,
                           .condition = asked_.command.condition,
                           .has_token = asked_.token != nullptr},
                          {.exists = before_.exists,
                           .expired = before_.expired,
                           .fenced = before_.token == Token::kHeld,
                           .expires = before_.expiry != Expiry::kNever},
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
    branch.next = before_;
    return branch;
  }

  Branch& refuse(std::optional<ErrorCode> error, std::string_view rule, UnspecifiedChoice choice) {
    Branch& branch = add(ReplyKind::kError, rule);
    branch.error = error;
    branch.choice = choice;
    return branch;
  }

  Branch& refuse(ErrorCode error, UnspecifiedChoice choice = {}) {
    return refuse(error, rule_of(error), choice);
  }

  // Refuses one of the two timestamps of the request.
  Branch& refuse(const OfferedTimestamp& stamp, UnspecifiedChoice choice) {
    return refuse(stamp.error, rule_of(stamp.error, stamp.is_token), choice);
  }

  // The errors for a timestamp that is malformed or too far ahead, or may be.
  void add_possible_refusal(const OfferedTimestamp& stamp) {
    if (!stamp.may_be_refused) return;
    UnspecifiedChoice choice = stamp.choice;
    if (!choice.requirement.empty()) choice.outcome = kRefused;
    refuse(stamp, choice).perhaps = stamp.may_be_taken;
    if (stamp.may_be_missing) refuse(ErrorCode::kMissingTimestamp, choice);
    if (stamp.far) refuse(*stamp.far);
    if (!stamp.may_be_taken) refusal_is_certain_ = true;
  }

  // What is wrong with a property that the request does not need may be an error all the same.
  void add_refusal_of_unneeded(const std::string* text, bool is_token, std::string_view open) {
    const OfferedTimestamp stamp = read_offered(text, is_token, asked_);
    if (!stamp.may_be_refused) return;
    // Several points: a store that refuses a malformed one here may ignore one far ahead, or one of
    // another verb.
    refuse(stamp, {open, {}, kRefused, true});
    if (stamp.may_be_missing) refuse(ErrorCode::kMissingTimestamp, {open, {}, kRefused, true});
    if (stamp.far) refuse(*stamp.far, {open, {}, kRefused, true});
  }

  // Options of SET that a store may refuse.
  void add_option_refusals() {
    const auto refuse_options = [this](UnspecifiedChoice choice) {
      choice.outcome = kRefused;
      // Which of the two it is, is open as well. Req: SET-OPTION-OPEN-3, SET-PX-OPEN-5
      refuse(ErrorCode::kSyntax, choice);
      refuse(ErrorCode::kWrongArgumentCount, choice);
    };
    if (!asked_.open_form.requirement.empty()) refuse_options(asked_.open_form);
    const auto& px = asked_.command.expires_after;
    if (!px) return;
    if (px->count() == 0) refuse_options({"SET-PX-OPEN-1", {}, {}});
    if (*px > kMaxPortableExpiry) refuse_options({"SET-PX-OPEN-5", {}, {}, true});
  }

  void add_limit_refusals() {
    if (!asked_.limited) return;
    refuse(ErrorCode::kNotAuthorized).unknowable = true;
    // Also where the key exists: Req: QUOTA-OPEN-1.
    if (asked_.command.verb == Verb::kSet) refuse(ErrorCode::kQuotaExceeded).unknowable = true;
  }

  // The fencing rule: refusals, and whether the request can pass.
  bool fence(const OfferedTimestamp& token) {
    // A conforming store may refuse and may pass where not all is known of the key's token, or of
    // what the store takes the request's for: then refusals are added, and the result is true all
    // the same.
    if (before_.token == Token::kNone) return true;
    if (before_.token == Token::kUnknown) {
      if (token.present) refuse(ErrorCode::kTokenLower).perhaps = true;
      if (!token.value) refuse(ErrorCode::kTokenRequired).perhaps = true;  // empty may be none
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
    const bool is_lower = store::fencing_error(&before_.held, &*token.value).has_value();
    const bool same_numbers = token.value->wall_ms == before_.held.wall_ms &&
                              token.value->counter == before_.held.counter;
    if (same_numbers && token.value->node != before_.held.node) {
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
  void also_with_newer_token(std::size_t branch, const OfferedTimestamp& token) {
    if (!token.present || !token.may_be_taken) return;
    if (token.value && before_.token == Token::kHeld && *token.value <= before_.held) return;
    Branch kept = out_[branch];
    const bool known = before_.token != Token::kUnknown && token.value;
    kept.next.token = known ? Token::kHeld : Token::kUnknown;
    kept.next.held = known ? *token.value : hlc::Timestamp{};
    const std::string_view point = asked_.command.verb == Verb::kSet ? "SET" : "VDEL";
    // One that the store may refuse may be dropped for that reason, which says nothing of
    // others.
    const bool doubtful = token.may_be_refused;
    kept.choice = {"FT-OPEN-4", point, "a newer token is kept", doubtful};
    choose(out_[branch], {"FT-OPEN-4", point, "a newer token is not kept", doubtful});
    out_.push_back(std::move(kept));
  }

  void choose(Branch& branch, const UnspecifiedChoice& choice) const {
    if (!choice.requirement.empty() && branch.choice.requirement.empty()) branch.choice = choice;
  }

  void apply_set(const OfferedTimestamp& timestamp, const OfferedTimestamp& token);
  void add_expiries(const Branch& applied);

  const CandidateState& before_;
  const Asked& asked_;
  std::vector<Branch>& out_;
  bool refusal_is_certain_ = false;  // an error is certain
  UnspecifiedChoice by_node_{};
};

void Outcomes::get() {
  if (before_.exists) {
    Branch& found =
        add({.kind = ReplyKind::kValue, .empty_value = before_.value && before_.value->empty()});
    found.value = before_.value;
    found.version = VersionRule::kSame;
  } else {
    add({.kind = ReplyKind::kMissing}).version = VersionRule::kNone;
  }
  add_refusal_of_unneeded(asked_.timestamp, false, "HLC-REQUIRED-OPEN-1");
  add_refusal_of_unneeded(asked_.token, true, "FT-OPEN-1");
  add_limit_refusals();
}

void Outcomes::set() {
  const codec::Command& command = asked_.command;
  const std::size_t first = out_.size();
  if (before_.expired && before_.token != Token::kNone) {
    // Whether a store still requires the token of a key that has expired is open (Req: FT-OPEN-5).
    // If a store does not, the request finds a key without a token.
    CandidateState forgotten = before_;
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
  const OfferedTimestamp timestamp = read_offered(asked_.timestamp, false, asked_);
  if (!timestamp.present) {
    refuse(ErrorCode::kMissingTimestamp);
    refusal_is_certain_ = true;
  }
  add_possible_refusal(timestamp);
  const OfferedTimestamp token = read_offered(asked_.token, true, asked_);
  add_possible_refusal(token);
  if (!fence(token)) refusal_is_certain_ = true;

  const std::string* stored = before_.exists && before_.value ? &*before_.value : nullptr;
  const bool conditional = command.condition != Condition::kAlways;
  // What the key holds may be unknown (somebody else has written it): NEX may then apply or not,
  // and the reply says which. So it may on a key with an empty value. (Req: SET-NEX-OPEN-3)
  const bool guess = before_.exists && (!before_.value || before_.value->empty()) &&
                     command.condition == Condition::kIfAbsentOrEqual;
  const bool holds =
      !before_.exists || guess ||
      (stored == nullptr ? command.condition != Condition::kIfAbsent
                         : store::condition_holds(command.condition, stored, command.value));
  const bool equal = stored != nullptr && *stored == command.value;
  // Even a request that is certain to be refused may be answered with minus one: whether errors or
  // the condition come first is open. (Req: ERR-ORDER-OPEN-2)
  if (conditional && before_.exists && (!holds || (guess && !equal))) {
    Branch& kept = add({.kind = ReplyKind::kNotApplied});
    kept.version = VersionRule::kSame;
    if (refusal_is_certain_) kept.choice = {"ERR-ORDER-OPEN-2", {}, "minus one"};
    also_with_newer_token(out_.size() - 1, token);
  }
  if (holds && !refusal_is_certain_) apply_set(timestamp, token);
  add_option_refusals();
  add_limit_refusals();
  // The other half of FT-OPEN-5: what was added since `first` holds of a store whose tokens outlive
  // their keys. Both halves carry their choice, so that later replies can settle it.
  if (before_.expired && before_.token != Token::kNone) outlives_from(first);
}

void Outcomes::outlives_from(std::size_t first) {
  for (std::size_t i = first; i < out_.size(); ++i) {
    if (!out_[i].choice.requirement.empty()) continue;
    out_[i].choice = {"FT-OPEN-5", asked_.token == nullptr ? "no token" : "a token",
                      "it outlives the key"};
  }
}

void Outcomes::apply_set(const OfferedTimestamp& timestamp, const OfferedTimestamp& token) {
  Branch applied;
  applied.kind = ReplyKind::kOk;
  applied.rule = rule_of({.kind = ReplyKind::kOk});
  applied.version = VersionRule::kFresh;
  applied.change = Change::kSet;
  for (const OfferedTimestamp* stamp : {&timestamp, &token}) {
    if (stamp->choice.requirement.empty()) continue;
    UnspecifiedChoice choice = stamp->choice;
    choice.outcome = kTaken;
    choose(applied, choice);
  }
  choose(applied, by_node_);
  if (!asked_.open_form.requirement.empty()) {
    UnspecifiedChoice choice = asked_.open_form;
    choice.outcome = kTaken;
    choose(applied, choice);
  }
  CandidateState& next = applied.next;
  next = before_;
  next.exists = true;
  next.expired = false;
  next.value = std::string(asked_.command.value);
  // A key without a token that is not known by now, and takes what it is offered, holds it.
  if (token.present && !token.value) {
    next.token = Token::kUnknown;
  } else if (before_.token == Token::kUnknown) {
    next.token = token.present ? Token::kHeld : Token::kNone;
    if (token.present) next.held = *token.value;
  } else {
    const hlc::Timestamp* held = before_.token == Token::kHeld ? &before_.held : nullptr;
    const hlc::Timestamp* kept = store::token_after(held, token.value ? &*token.value : nullptr);
    next.token = kept != nullptr ? Token::kHeld : Token::kNone;
    if (kept != nullptr) next.held = *kept;
  }
  if (next.token != Token::kHeld) next.held = {};
  add_expiries(applied);
}

// The key expires as PX says. Where there is none, a former expiry may still apply.
void Outcomes::add_expiries(const Branch& applied) {
  const codec::Command& command = asked_.command;
  // A store that counts in milliseconds of its clock ends up to one of them early.
  static constexpr microseconds kEarly{1'000};
  const auto expires = [](Branch branch, Expiry expiry, microseconds from, microseconds to) {
    branch.next.expiry = expiry;
    branch.next.earliest = from - std::min(from, kEarly);
    branch.next.latest = to;
    return branch;
  };
  if (!command.expires_after) {
    const bool nex = command.condition == Condition::kIfAbsentOrEqual;
    const std::string_view rule = nex ? "SET-NEX-OPEN-2" : "SET-PX-OPEN-6";
    Branch permanent = expires(applied, Expiry::kNever, {}, {});
    if (!before_.exists || before_.expiry == Expiry::kNever) {
      out_.push_back(std::move(permanent));
      return;
    }
    Branch as_before = expires(applied, before_.expiry, before_.earliest, before_.latest);
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
    // The third outcome, an error, is in add_option_refusals().
    choose(soon, {"SET-PX-OPEN-1", {}, "it expires immediately"});
    out_.push_back(std::move(soon));
    Branch never = expires(applied, Expiry::kNever, {}, {});
    choose(never, {"SET-PX-OPEN-1", {}, "it never expires"});
    out_.push_back(std::move(never));
    return;
  }
  if (*command.expires_after > kMaxPortableExpiry)
    choose(soon, {"SET-PX-OPEN-5", {}, kTaken, true});
  out_.push_back(std::move(soon));
}

// DEL and VDEL.
void Outcomes::remove() {
  const bool vdel = asked_.command.verb == Verb::kVdel;
  const OfferedTimestamp token = read_offered(asked_.token, true, asked_);
  add_refusal_of_unneeded(asked_.timestamp, false, "HLC-REQUIRED-OPEN-1");
  const bool may_outlive = before_.expired && before_.token != Token::kNone;
  if (may_outlive) {
    const std::size_t first = out_.size();
    (void)fence(token);
    outlives_from(first);
  }
  if (!before_.exists || before_.token == Token::kNone) {
    // What a token means here is not said. (Req: FT-OPEN-1, FT-OPEN-2)
    if (token.present) {
      const std::string_view point = before_.exists ? "no token" : "no key";
      const std::string_view open = token.may_be_refused ? "FT-OPEN-1" : "FT-OPEN-2";
      // Which error that is says nobody; what no store may do breaks the rule of the deletion.
      refuse(std::nullopt, rule_of({.kind = ReplyKind::kCount, .removed = before_.exists}),
             {open, point, kRefused});
    }
  } else {
    add_possible_refusal(token);
    if (!fence(token)) {
      refusal_is_certain_ = true;
    }
  }
  if (!before_.exists) {
    Branch& nothing = add({.kind = ReplyKind::kCount});
    nothing.count = 0;
    if (may_outlive) {
      // If the token had outlived its key, this may have been the end of it.
      Branch forgotten = nothing;
      forgotten.next.token = Token::kNone;
      out_.push_back(std::move(forgotten));
    }
    add_limit_refusals();
    return;
  }
  const bool differs =
      vdel && (!before_.value || !store::value_matches(*before_.value, asked_.command.value));
  if (differs) {
    Branch& kept = add({.kind = ReplyKind::kNotApplied});
    if (refusal_is_certain_) kept.choice = {"FT-OPEN-3", "the value of VDEL", "looked at first"};
    also_with_newer_token(out_.size() - 1, token);
  }
  if (!refusal_is_certain_ && (!differs || !before_.value)) {
    Branch deleted;
    deleted.kind = ReplyKind::kCount;
    deleted.count = 1;
    deleted.rule = rule_of({.kind = ReplyKind::kCount, .removed = true});
    deleted.change = Change::kDelete;
    deleted.choice = by_node_;
    // The last version outlives the key, as that of the next life has to be greater (LOCK-TOKEN-4).
    // The token does not. Req: FT-DELETE-1
    deleted.next.version = before_.version;
    deleted.next.assumed = before_.assumed;
    // A deletion may return the version of what it has deleted, or a new one. (Req: VER-OPEN-4)
    Branch newer = deleted;
    deleted.version = VersionRule::kSame;
    newer.version = VersionRule::kNewer;
    choose(deleted, {"VER-OPEN-4", {}, "the version of the deleted value"});
    choose(newer, {"VER-OPEN-4", {}, "a newer timestamp"});
    out_.push_back(std::move(deleted));
    out_.push_back(std::move(newer));
  }
  add_limit_refusals();
}

}  // namespace

void pass_time(const CandidateState& state, microseconds sent, microseconds received,
               microseconds slack, std::vector<CandidateState>& out) {
  if (!state.exists || state.expiry == Expiry::kNever) {
    out.push_back(state);
    return;
  }
  // A store may remove a key up to `slack` late, but never early (SET-PX-1, SET-PX-2). It handles
  // the request between `sent` and `received`: while that overlaps the window, both states
  // continue.
  const bool unknown = state.expiry == Expiry::kUnknown;
  if (unknown || sent <= state.latest + slack) out.push_back(state);
  if (unknown || received >= state.earliest) {
    CandidateState& gone = out.emplace_back();
    gone.expired = true;
    gone.version = state.version;
    gone.token = state.token;
    gone.held = state.held;
    gone.assumed = state.assumed;
  }
}

void branches_of(const CandidateState& state, const Asked& asked, std::vector<Branch>& out) {
  if (state.token == Token::kUnknown && asked.command.verb != Verb::kGet) {
    CandidateState without = state;  // an empty `__ft` may be none (FT-OPEN-7)
    without.token = Token::kNone;
    branches_of(without, asked, out);
  }
  Outcomes outcomes(state, asked, out);
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
    // It changes no key: Oracle::State::judge_registration().
    case Verb::kKeynotify:
      break;
  }
}

}  // namespace fencepost::judge
