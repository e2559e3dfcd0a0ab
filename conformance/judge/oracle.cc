#include "conformance/judge/oracle.h"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/dialect.h"
#include "codec/notification.h"
#include "codec/topics.h"
#include "conformance/judge/attribution.h"
#include "conformance/judge/judge.h"
#include "conformance/judge/oracle_key.h"
#include "conformance/judge/oracle_payload.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;

// Each open point, and each expiry that may have come, can double the states of a key, so their
// number needs a bound. Beyond it the oracle forgets the key: it then accepts more than it should,
// but never rejects a right store.
constexpr std::size_t kMostWorlds = 24;
constexpr std::uint64_t kMinuteMs = 60'000;
constexpr std::uint64_t kSecondMs = 1'000;  // perhaps the resolution of a limit (HLC-SKEW-OPEN-1)

Judgement rejected(std::string_view requirement, std::string because) {
  return {.answer = Answer::kRejected,
          .requirement = std::string(requirement),
          .because = std::move(because)};
}
Judgement undecidable(std::string_view requirement, std::string because) {
  return {.answer = Answer::kUndecidable,
          .requirement = std::string(requirement),
          .because = std::move(because)};
}

std::string point_of(const OpenPointChoice& choice) {
  std::string out(choice.requirement);
  if (!choice.point.empty()) out += fmt::format(" ({})", choice.point);
  return out;
}

// A reply as it was read.
struct Answered {
  codec::DecodedReply reply{};
  std::optional<ErrorCode> error{};  // of an error that the protocol lists
  std::optional<hlc::Timestamp> version{};
  bool has_version = false;
};

// A notification that a client is to receive, or may.
struct Pending {
  std::string key{};
  codec::Operation operation = codec::Operation::kSet;
  std::optional<std::string> value{};       // nothing: unknown
  std::optional<hlc::Timestamp> version{};  // of the value that was set, or deleted
  microseconds from{0};                     // not before this
  microseconds known_at{0};                 // the change had been made by then
  bool certain = true;
  bool outlives = false;  // the client has ended its connection since; it may come after all
  std::string_view rule{};
};

enum class Registered : std::uint8_t { kNo, kYes, kPerhaps };

// Whether a client observes a key, and for sure since when.
struct Observation {
  Registered registered = Registered::kNo;
  microseconds since{0};
  bool repeated = false;  // registered again: each notification may come twice
  std::string last_told{};
};

KeyWorld present_somehow() {
  KeyWorld out;
  out.exists = true;
  out.token = KeyWorld::Token::kUnknown;
  out.expiry = KeyWorld::Expiry::kUnknown;
  return out;
}
// It may be gone, too, and what it was before may count.
KeyWorld absent_somehow() {
  KeyWorld out;
  out.expired = true;
  out.token = KeyWorld::Token::kUnknown;
  return out;
}

std::string describe(const Branch& branch) {
  switch (branch.kind) {
    case ReplyKind::kOk:
      return "+OK";
    case ReplyKind::kNotApplied:
      return "minus one";
    case ReplyKind::kValue:
      return branch.value ? fmt::format("the value \"{}\"", escape(*branch.value)) : "a value";
    case ReplyKind::kMissing:
      return "$-1";
    case ReplyKind::kCount:
      return fmt::format(":{}", branch.count);
    case ReplyKind::kError:
      return branch.error ? fmt::format("the error {}", name(*branch.error)) : "an error";
  }
  return {};
}

// What is found out about an answer while the states of its key are looked at.
struct Fitting {
  std::optional<Judgement> wrong{};  // the first answer that fits but for its version
  std::string expected{};            // what right stores answer, in words
  std::string_view rule{};           // ... and by which rule, of what is not open if there is any
  bool rule_is_sure = false;
  bool settled = false;         // it fits where nothing is open
  bool knowable = false;        // it fits where nothing is hidden
  OpenPointChoice open{};       // what it rests on else
  std::size_t gone_before = 0;  // branches of states in which the key has expired by now
  std::size_t other_before = 0;
  Change change = Change::kNone;
  bool perhaps_same = false;  // the value that is set may be the one that was there

  void expect(const Branch& branch) {
    const bool sure = branch.choice.requirement.empty();
    if (rule.empty() || (sure && !rule_is_sure)) rule = branch.rule;
    rule_is_sure = rule_is_sure || sure;
    const std::string words = describe(branch);
    if (expected.find(words) == std::string::npos) {
      expected += (expected.empty() ? "" : ", or ") + words;
    }
  }
};

// A notification as it was read.
struct Told {
  std::string_view client_id;
  std::string_view key;
  bool set = false;  // else a deletion
  std::string_view value{};
  hlc::Timestamp version{};
  microseconds at{0};
};

// What is known of a key.
struct Keyed {
  std::vector<KeyWorld> worlds{};  // at least one
  std::map<std::string, Observation, std::less<>> observers{};
};

}  // namespace

std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::kAccepted:
      return "accepted";
    case Answer::kRejected:
      return "rejected";
    case Answer::kUndecidable:
      return "undecidable";
  }
  return {};
}

struct Oracle::State {
  OracleOptions options;
  std::unordered_map<std::string, Keyed> keys{};
  std::map<std::string, std::deque<Pending>, std::less<>> pending{};  // by client
  std::set<std::string, std::less<>> gone{};  // clients whose registrations have ended
  std::map<std::string, std::string> observed{};
  std::set<std::string, std::less<>> nodes{};  // of versions
  std::map<codec::Divergence, codec::DialectId> forms{};

  // Memory that is used again.
  std::vector<KeyWorld> passed{};
  std::vector<Branch> branches{};
  std::vector<KeyWorld> next{};

  // ---- Keys

  Keyed& key(std::string_view key_name) {
    auto [found, is_new] = keys.try_emplace(std::string(key_name));
    if (is_new) {
      if (options.starts_empty) {
        found->second.worlds = {KeyWorld{}};
      } else {
        forget(found->second);
      }
    }
    return found->second;
  }

  static void forget(Keyed& keyed) { keyed.worlds = {present_somehow(), absent_somehow()}; }

  Observation& observation(Keyed& keyed, std::string_view client) const {
    const auto found = keyed.observers.find(client);
    if (found != keyed.observers.end()) return found->second;
    const bool knows = options.starts_empty || gone.contains(client);
    return keyed.observers
        .emplace(std::string(client),
                 Observation{.registered = knows ? Registered::kNo : Registered::kPerhaps})
        .first->second;
  }

  // Where the key may have expired by now, it has, or not. Returns whether it may.
  static bool perhaps_expired(Keyed& keyed, microseconds now) {
    std::vector<KeyWorld> worlds;
    for (const KeyWorld& world : keyed.worlds) {
      pass_time(world, now, now, std::chrono::hours{1}, worlds);
    }
    const bool may = worlds.size() > keyed.worlds.size();
    keyed.worlds = std::move(worlds);
    return may;
  }

  // ---- What is open

  [[nodiscard]] bool contradicts(const OpenPointChoice& choice) const {
    if (choice.requirement.empty() || choice.several) return false;
    const auto seen = observed.find(point_of(choice));
    return seen != observed.end() && seen->second != choice.outcome;
  }
  [[nodiscard]] bool is_settled(const OpenPointChoice& choice) const {
    return choice.requirement.empty() || observed.contains(point_of(choice));
  }

  // What all states that are left have in common is so.
  void settle(Keyed& keyed) {
    if (keyed.worlds.empty() || keyed.worlds.front().assumed.empty()) return;
    for (const OpenPointChoice& choice : keyed.worlds.front().assumed) {
      const bool common =
          std::all_of(keyed.worlds.begin(), keyed.worlds.end(), [&](const KeyWorld& world) {
            return std::find(world.assumed.begin(), world.assumed.end(), choice) !=
                   world.assumed.end();
          });
      if (common) observed.emplace(point_of(choice), choice.outcome);
    }
    for (KeyWorld& world : keyed.worlds) {
      std::erase_if(world.assumed,
                    [&](const OpenPointChoice& choice) { return is_settled(choice); });
    }
  }

  // ---- Requests

  Judgement judge(std::string_view client_id, const Exchange& exchange);
  static std::optional<Judgement> check_envelope(const Exchange& exchange, Answered& answered);
  std::optional<Judgement> check_form(Verb verb, const Answered& answered);
  Judgement judge_malformed(std::string_view client_id, const Exchange& exchange, ErrorCode error,
                            const Answered& answered);
  void forget_what_may_have_changed(std::string_view client_id, std::string_view payload);
  Judgement judge_key(const Exchange& exchange, const codec::Command& command,
                      const Answered& answered);
  Judgement judge_registration(std::string_view client_id, const Exchange& exchange,
                               const codec::Command& command, const Answered& answered);
  [[nodiscard]] Asked asked_of(const Exchange& exchange, const codec::Command& command) const;
  void look(const KeyWorld& world, bool expires_now, const Asked& asked, const Answered& answered,
            Fitting& fitting);
  void tell_changes(Keyed& keyed, const Asked& asked, const Answered& answered,
                    const Fitting& fitting);
  std::optional<Judgement> judge_expected(Keyed& keyed, const Told& told);
  Judgement judge_unexpected(Keyed& keyed, const Told& told, Registered registered);
  std::optional<Judgement> judge_expiry(Keyed& keyed, const Told& told);
  std::optional<Judgement> check_version(const Branch& branch, const KeyWorld& before,
                                         const Asked& asked, const Answered& answered) const;
  void tell(Keyed& keyed, std::string_view key_name, const Pending& change);
};

namespace {

bool fits(const Branch& branch, const Answered& answered) {
  const codec::DecodedReply& reply = answered.reply;
  if (branch.kind != reply.kind) return false;
  switch (branch.kind) {
    case ReplyKind::kValue:
      return !branch.value || *branch.value == reply.value;
    case ReplyKind::kCount:
      return branch.count == reply.count;
    case ReplyKind::kError:
      return !branch.error || branch.error == answered.error;
    default:
      return true;
  }
}

}  // namespace

// What every response has. (Req: ENV-*)
std::optional<Judgement> Oracle::State::check_envelope(const Exchange& exchange,
                                                       Answered& answered) {
  const codec::Message& request = exchange.request;
  const codec::Message& reply = exchange.reply->message;
  if (reply.topic != request.response_topic) {
    return rejected("ENV-RESPONSE-TOPIC-1", "the response came to " + escape(reply.topic));
  }
  if (reply.correlation_data != request.correlation_data) {
    return rejected("ENV-CORRELATION-1", "the response has other correlation data");
  }
  const std::string* status = reply.property(codec::kStatusProperty);
  if (status == nullptr || *status != "200") {
    return rejected("ENV-STATUS-1",
                    "the response has " + (status == nullptr ? std::string("no __stat")
                                                             : "__stat " + escape(*status)));
  }
  if (reply.content_type && *reply.content_type != codec::kContentType) {
    return rejected("ENV-CONTENT-TYPE-1", "content type " + escape(*reply.content_type));
  }
  // It may be absent, and the minor version is free. (Req: ENV-PROTVER-1)
  const std::string* protocol = reply.property("__protVer");
  if (protocol != nullptr && !protocol->starts_with("1.")) {
    return rejected("ENV-PROTVER-1", "__protVer " + escape(*protocol));
  }
  const auto& decoded = exchange.reply->decoded;
  if (!decoded) {
    return rejected(reply.payload.starts_with('-') ? "RESP-ERROR-FORM-1" : "ENV-RESPONSE-1",
                    "the reply is none: " + describe_reply(reply.payload));
  }
  answered.reply = *decoded;
  answered.error = exchange.reply->error();
  if (const std::string* text = reply.property(codec::kTimestampProperty)) {
    answered.has_version = true;
    const auto version = hlc::parse(*text);
    if (!version) return rejected("HLC-FORMAT-1", "no timestamp in __ts: " + escape(*text));
    answered.version = *version;
  }
  return std::nullopt;
}

// A store spells one thing one way.
std::optional<Judgement> Oracle::State::check_form(Verb verb, const Answered& answered) {
  if (!answered.reply.form) return std::nullopt;
  codec::Divergence where = codec::Divergence::kKeynotifyError;
  if (answered.reply.kind == ReplyKind::kNotApplied) {
    where =
        verb == Verb::kSet ? codec::Divergence::kSetNotApplied : codec::Divergence::kVdelMismatch;
  } else if (answered.error == ErrorCode::kTokenLower) {
    where = codec::Divergence::kLowerTokenText;
  }
  const auto [seen, is_new] = forms.emplace(where, *answered.reply.form);
  if (is_new || seen->second == *answered.reply.form) return std::nullopt;
  return rejected(
      where == codec::Divergence::kVdelMismatch ? "VDEL-MISMATCH-2" : "SET-NOT-APPLIED-1",
      fmt::format("{} is spelled in two ways", codec::name(where)));
}

// A version against the rules. Nothing: right.
std::optional<Judgement> Oracle::State::check_version(const Branch& branch, const KeyWorld& before,
                                                      const Asked& asked,
                                                      const Answered& answered) const {
  const bool set = branch.change == Change::kSet;
  const auto shown = [&] { return hlc::format(*answered.version, hlc::Padding::kNone); };
  switch (branch.version) {
    case VersionRule::kAny:
      return std::nullopt;
    case VersionRule::kNone:
      if (!answered.has_version) return std::nullopt;
      return rejected("VER-MISS-1", "a version of a key that does not exist");
    case VersionRule::kSame:
    case VersionRule::kNewer: {
      std::string_view absent = "VER-GET-1";
      std::string_view other = "VER-GET-2";
      if (branch.kind == ReplyKind::kCount) {
        absent = asked.command.verb == Verb::kDel ? "VER-DEL-1" : "VER-VDEL-1";
        other = absent;
      } else if (branch.kind == ReplyKind::kNotApplied) {
        absent = other = "SET-NOT-APPLIED-3";
      }
      if (!answered.version) return rejected(absent, "the response has no version");
      if (!before.version) return std::nullopt;
      const bool right = branch.version == VersionRule::kSame ? *answered.version == *before.version
                                                              : *answered.version > *before.version;
      if (right) return std::nullopt;
      return rejected(other, fmt::format("the version is {}, that of the value {}", shown(),
                                         hlc::format(*before.version, hlc::Padding::kNone)));
    }
    case VersionRule::kFresh:
      break;
  }
  if (!set) return std::nullopt;
  if (!answered.version) return rejected("VER-SET-1", "the response has no version");
  const hlc::Timestamp& version = *answered.version;
  if (asked.timestamp != nullptr) {
    const auto sent = hlc::parse(*asked.timestamp);
    if (sent && version <= *sent) {
      return rejected("VER-SET-2",
                      "the version is not greater than the request's __ts: " + shown());
    }
    if (sent && sent->node == version.node && !nodes.contains(version.node) && !nodes.empty()) {
      return rejected("VER-NODE-1", "the version has the client's node id: " + shown());
    }
    // The store's clock is only known to be at least `wall_low`. (Req: HLC-SKEW-4)
    // HLC updates: the wall clock is the greatest of three.
    if (sent && version.wall_ms < std::max(sent->wall_ms, asked.wall_low)) {
      return rejected("HLC-SKEW-4", "the version is behind the store's clock: " + shown());
    }
  }
  if (before.version && version <= *before.version) {
    return rejected(before.exists ? "VER-UPDATE-3" : "LOCK-TOKEN-4",
                    fmt::format("the version is not greater than the one before: {} after {}",
                                shown(), hlc::format(*before.version, hlc::Padding::kNone)));
  }
  if (version.wall_ms > asked.wall_high + kMinuteMs + kSecondMs) {
    return rejected("VER-DRIFT-1", "the version is more than a minute ahead: " + shown());
  }
  return std::nullopt;
}

// A change of a key is to be told to those who observe it.
void Oracle::State::tell(Keyed& keyed, std::string_view key_name, const Pending& change) {
  for (auto& [client, observation] : keyed.observers) {
    if (observation.registered == Registered::kNo) continue;
    Pending& expected = pending[client].emplace_back(change);
    expected.key = std::string(key_name);
    // A registration that began while the change was under way may have come before or after it.
    const bool all_the_time =
        observation.registered == Registered::kYes && observation.since <= change.from;
    if (!all_the_time) expected.certain = false;
  }
}

Asked Oracle::State::asked_of(const Exchange& exchange, const codec::Command& command) const {
  Asked out{.command = command,
            .timestamp = exchange.request.property(codec::kTimestampProperty),
            .token = exchange.request.property(codec::kTokenProperty),
            .open_form = open_form_of(command, exchange.request.payload),
            .sent = exchange.sent,
            .received = exchange.reply->time,
            .limited = options.limited};
  const std::int64_t low = exchange.sent_ms + options.clock.low_ms;
  const std::int64_t high = exchange.reply->wall_ms + options.clock.high_ms;
  out.store_nodes = &nodes;
  out.wall_low = static_cast<std::uint64_t>(std::max<std::int64_t>(low, 0));
  out.wall_high = static_cast<std::uint64_t>(std::max<std::int64_t>(high, 0));
  return out;
}

// Looks at what a right store may do in one state, and keeps what fits the answer in `next`.
void Oracle::State::look(const KeyWorld& world, bool expires_now, const Asked& asked,
                         const Answered& answered, Fitting& fitting) {
  branches.clear();
  branches_of(world, asked, branches);
  for (const Branch& branch : branches) {
    if (contradicts(branch.choice) ||
        std::any_of(branch.next.assumed.begin(), branch.next.assumed.end(),
                    [&](const OpenPointChoice& choice) { return contradicts(choice); })) {
      continue;
    }
    if (!branch.unknowable) fitting.expect(branch);
    if (!fits(branch, answered)) continue;
    if (auto judgement = check_version(branch, world, asked, answered)) {
      if (!fitting.wrong) fitting.wrong = std::move(judgement);
      continue;
    }
    const bool open = !is_settled(branch.choice);
    if (!branch.unknowable) fitting.knowable = true;
    if (open) fitting.open = branch.choice;
    if (!open && !branch.unknowable) fitting.settled = true;
    ++(expires_now ? fitting.gone_before : fitting.other_before);
    if (branch.change != Change::kNone) {
      fitting.change = branch.change;
      const bool same = !world.value || *world.value == asked.command.value;
      if (branch.change == Change::kSet && world.exists && same) fitting.perhaps_same = true;
    }
    KeyWorld after = branch.next;
    if (branch.change == Change::kSet) {
      after.version = answered.version;
    } else if (branch.change == Change::kNone && after.exists) {
      if (branch.version == VersionRule::kSame) after.version = answered.version;
      if (answered.reply.kind == ReplyKind::kValue) {
        after.value = std::string(answered.reply.value);
      }
    }
    if (open && !branch.choice.several) after.assumed.push_back(branch.choice);
    if (std::find(next.begin(), next.end(), after) == next.end()) next.push_back(std::move(after));
  }
}

// What the request has changed, and what has expired before it, is to be told.
void Oracle::State::tell_changes(Keyed& keyed, const Asked& asked, const Answered& answered,
                                 const Fitting& fitting) {
  if (fitting.gone_before > 0) {
    // It may have expired as soon as its earliest time had come.
    microseconds earliest = microseconds::max();
    for (const KeyWorld& world : keyed.worlds) {
      if (world.exists) earliest = std::min(earliest, world.earliest);
    }
    tell(keyed, asked.command.key,
         {.operation = codec::Operation::kDelete,
          .from = earliest,
          .known_at = asked.received,
          .certain = keyed.worlds.size() == 1 && fitting.other_before == 0,
          .rule = "NTF-EXPIRY-1"});
  }
  if (fitting.change == Change::kNone) return;
  const bool set = fitting.change == Change::kSet;
  // A notification is due for sure only if every state that is left has changed, and the value is
  // another: whether a SET of the same value is notified is open. (Req: NTF-SEND-OPEN-1)
  const bool all_changed = std::all_of(next.begin(), next.end(), [&](const KeyWorld& world) {
    return set ? world.exists : !world.exists;
  });
  tell(keyed, asked.command.key,
       {.operation = set ? codec::Operation::kSet : codec::Operation::kDelete,
        .value = set ? std::optional(std::string(asked.command.value)) : std::nullopt,
        .version = set ? answered.version : std::nullopt,
        .from = asked.sent,
        .known_at = asked.received,
        .certain = all_changed && !fitting.perhaps_same,
        .rule = set ? "NTF-SEND-1" : "NTF-SEND-2"});
}

Judgement Oracle::State::judge_key(const Exchange& exchange, const codec::Command& command,
                                   const Answered& answered) {
  Keyed& keyed = key(command.key);
  const Asked asked = asked_of(exchange, command);
  passed.clear();
  for (const KeyWorld& world : keyed.worlds) {
    pass_time(world, asked.sent, asked.received, options.expiry_slack, passed);
  }
  next.clear();
  Fitting fitting;
  for (const KeyWorld& world : passed) {
    const bool expires_now =
        world.expired && std::none_of(keyed.worlds.begin(), keyed.worlds.end(),
                                      [&](const KeyWorld& old) { return old == world; });
    look(world, expires_now, asked, answered, fitting);
  }
  if (next.empty()) {
    forget(keyed);
    // What it has done instead, nobody knows.
    tell(keyed, command.key,
         {.from = asked.sent, .known_at = asked.received, .certain = false, .rule = "NTF-SEND-1"});
    if (fitting.wrong) return *fitting.wrong;
    return rejected(fitting.rule.empty() ? "ENV-RESPONSE-1" : fitting.rule,
                    fmt::format("{}; a right store answers {}",
                                describe_reply(exchange.reply->payload()), fitting.expected));
  }
  tell_changes(keyed, asked, answered, fitting);
  if (answered.version) nodes.insert(answered.version->node);
  keyed.worlds.swap(next);
  settle(keyed);
  if (keyed.worlds.size() > kMostWorlds) forget(keyed);
  if (fitting.settled) return {};
  if (!fitting.knowable) {
    return undecidable(
        fitting.rule,
        "whether this client may do that, and how many keys there may be, is not known");
  }
  const OpenPointChoice& open = fitting.open;
  return undecidable(
      open.requirement,
      fmt::format("the article leaves open {}: here {}",
                  open.point.empty() ? "it" : std::string(open.point), open.outcome));
}

// A notification of a change that was to be told, or may be; nothing when it is of none.
std::optional<Judgement> Oracle::State::judge_expected(Keyed& keyed, const Told& told) {
  std::deque<Pending>& expected = pending[std::string(told.client_id)];
  const auto same = [&](const Pending& change) {
    return change.key == told.key && change.from <= told.at &&
           (change.operation == codec::Operation::kSet) == told.set &&
           (!change.value || *change.value == told.value) &&
           (!told.set || !change.version || *change.version == told.version);
  };
  const auto found = std::find_if(expected.begin(), expected.end(), same);
  if (found == expected.end()) return std::nullopt;
  // A change of the same key that was to be notified before this one, and was not, will not be any
  // more. Of other keys nothing is concluded here: missing() does, when a reply has come.
  const auto skipped = std::find_if(expected.begin(), found, [&](const Pending& change) {
    return change.certain && change.key == told.key;
  });
  Judgement out;
  if (skipped != found) out = rejected(skipped->rule, "an earlier change was not told");
  const bool was_certain = found->certain;
  // If it was not that one, it was a later one like it.
  if (!was_certain) {
    const auto later = std::find_if(std::next(found), expected.end(), [&](const Pending& change) {
      return change.certain && same(change);
    });
    if (later != expected.end()) later->certain = false;
  }
  expected.erase(std::remove_if(expected.begin(), found,
                                [&](const Pending& change) { return change.key == told.key; }),
                 std::next(found));
  if (was_certain) return out;
  // Or the expiry of what is there now; then the other one is still to come, perhaps.
  if (!told.set && perhaps_expired(keyed, told.at)) {
    tell(keyed, told.key,
         {.operation = codec::Operation::kDelete,
          .known_at = told.at,
          .certain = false,
          .rule = "NTF-EXPIRY-1"});
  }
  if (out.answer == Answer::kRejected) return out;
  return undecidable("NTF-SEND-OPEN-1", "it may be told, or not");
}

// A notification of a change that nobody has asked for: an expiry, or wrong.
Judgement Oracle::State::judge_unexpected(Keyed& keyed, const Told& told, Registered registered) {
  const std::deque<Pending>& expected = pending[std::string(told.client_id)];
  // The version of a SET that is told otherwise than it was answered.
  if (told.set && std::any_of(expected.begin(), expected.end(), [&](const Pending& change) {
        return change.key == told.key && change.value && *change.value == told.value;
      })) {
    return rejected("NTF-VERSION-3", "the version is not the one that the SET returned");
  }
  if (registered == Registered::kNo) {
    return rejected("NTF-SEND-3", "the client is not registered for the key");
  }
  if (!told.set) {
    if (auto judgement = judge_expiry(keyed, told)) return *judgement;
  }
  const bool surely = std::none_of(keyed.worlds.begin(), keyed.worlds.end(),
                                   [](const KeyWorld& w) { return w.exists && !w.version; });
  if (registered == Registered::kPerhaps || !surely) {
    return undecidable("NTF-SEND-4", "perhaps somebody else has changed the key");
  }
  return rejected("NTF-SEND-4", fmt::format("{} is told, and nothing has changed",
                                            told.set ? "a change" : "a deletion"));
}

// The key has expired, if it can have; nothing when it cannot.
std::optional<Judgement> Oracle::State::judge_expiry(Keyed& keyed, const Told& told) {
  std::vector<KeyWorld> worlds;
  bool known = true;
  for (const KeyWorld& world : keyed.worlds) {
    std::vector<KeyWorld> after;
    pass_time(world, told.at, told.at, std::chrono::hours{1}, after);
    for (KeyWorld& each : after) {
      if (each.exists || !each.expired || world == each) continue;
      worlds.push_back(std::move(each));
    }
    known = known && world.expiry != KeyWorld::Expiry::kUnknown;
  }
  if (worlds.empty()) return std::nullopt;
  // The others are to be told, too.
  tell(keyed, told.key,
       {.operation = codec::Operation::kDelete,
        .from = keyed.worlds.front().earliest,
        .known_at = told.at,
        .certain = known && keyed.worlds.size() == 1,
        .rule = "NTF-EXPIRY-1"});
  pending[std::string(told.client_id)].pop_back();
  // It may be news of a value that was there before: only where there is one state it has to be
  // that.
  if (keyed.worlds.size() > 1) {
    for (const KeyWorld& world : keyed.worlds) {
      if (std::find(worlds.begin(), worlds.end(), world) == worlds.end()) worlds.push_back(world);
    }
  }
  keyed.worlds = std::move(worlds);
  if (known) return Judgement{};
  return undecidable("NTF-EXPIRY-1", "perhaps the key has expired");
}

Judgement Oracle::State::judge_registration(std::string_view client_id, const Exchange& exchange,
                                            const codec::Command& command,
                                            const Answered& answered) {
  Keyed& keyed = key(command.key);
  Observation& observed_by = observation(keyed, client_id);
  Registered& registered = observed_by.registered;
  const Registered before = registered;
  const ReplyKind kind = answered.reply.kind;
  const bool nothing = kind == ReplyKind::kCount && answered.reply.count == 0;
  const std::string shown = describe_reply(exchange.reply->payload());
  const bool too_long = !codec::notification_topic(client_id, command.key);
  // Of the reply that a right store gives. That it is no error where there is no key has a rule of
  // its own (NTF-ABSENT-1), how a success is told has the same one everywhere (NTF-RESPONSE-2).
  const auto rule_of = [&](ReplyKind right) {
    const bool exists = kind != ReplyKind::kError ||
                        std::any_of(keyed.worlds.begin(), keyed.worlds.end(),
                                    [](const KeyWorld& world) { return world.exists; });
    return requirement_of({.verb = Verb::kKeynotify, .stop = command.stop}, {.exists = exists},
                          {.kind = right});
  };
  if (kind == ReplyKind::kError) {
    if (too_long) return undecidable("NTF-TOPIC-OPEN-1", "the topic of notifications is too long");
    if (options.limited && answered.error == ErrorCode::kNotAuthorized) {
      return undecidable("AUTH-DENIED-1", "whether this client may read the key is not known");
    }
    const bool pattern = command.key.find_first_of("*#?+") != std::string_view::npos;
    if (pattern && !command.stop) {
      return undecidable("NTF-WILDCARD-OPEN-1", "the key looks like a pattern");
    }
    if (may_be_refused_for_properties(exchange.request)) {
      return undecidable("HLC-REQUIRED-OPEN-1", "a property that is not needed may be an error");
    }
    if (command.stop || before == Registered::kNo) {
      registered = Registered::kPerhaps;
      return rejected(rule_of(ReplyKind::kOk),
                      shown + "; a right store answers " + (command.stop ? "+OK or :0" : "+OK"));
    }
    return undecidable("NTF-REPEAT-OPEN-1", "the client observes the key already");
  }
  if (!command.stop) {
    observed_by.repeated = before != Registered::kNo;
    if (registered != Registered::kYes) observed_by.since = exchange.reply->time;
    registered = Registered::kYes;
    if (kind == ReplyKind::kOk) return {};
    if (before != Registered::kNo) {
      return undecidable("NTF-REPEAT-OPEN-1", "the client observes the key already");
    }
    return rejected(rule_of(ReplyKind::kOk), shown + "; a right store answers +OK");
  }
  registered = Registered::kNo;
  observed_by.repeated = false;
  if (kind == ReplyKind::kOk) {
    if (before != Registered::kNo) return {};
    return rejected(rule_of(ReplyKind::kCount), shown + "; a right store answers :0");
  }
  if (nothing) {
    if (before != Registered::kYes) return {};
    return rejected(rule_of(ReplyKind::kOk), shown + "; a right store answers +OK");
  }
  return rejected(rule_of(ReplyKind::kOk), shown + "; a right store answers +OK or :0");
}

// A store has taken a payload that is no command to us, and did what it took it for.
void Oracle::State::forget_what_may_have_changed(std::string_view client_id,
                                                 std::string_view payload) {
  const auto frame = codec::decode_command(payload);
  if (frame && frame->count > 1) {
    (void)key(frame->arguments[1]);  // not seen yet: it would pass for one that does not exist
  } else {
    options.starts_empty = false;  // no key is named: any may exist by now
  }
  for (auto& [key_name, keyed] : keys) {
    forget(keyed);
    // It may have been a KEYNOTIFY, or its STOP. (Req: NTF-STOP-OPEN-1)
    observation(keyed, client_id).registered = Registered::kPerhaps;
  }
}

Judgement Oracle::State::judge_malformed(std::string_view client_id, const Exchange& exchange,
                                         ErrorCode error, const Answered& answered) {
  if (answered.reply.kind != ReplyKind::kError) {
    if (is_lenient(exchange.request, error)) {
      forget_what_may_have_changed(client_id, exchange.request.payload);
      return undecidable("ERR-ARITY-OPEN-1", "perhaps it is a request to this store");
    }
    return rejected(requirement_of(error, RequestFacts{}),
                    describe_reply(exchange.reply->payload()) + "; the request is none");
  }
  if (answered.error == error) return {};
  if (is_definite(exchange.request, error)) {
    return rejected(requirement_of(error, RequestFacts{}),
                    fmt::format("{}; a right store answers with the error {}",
                                describe_reply(exchange.reply->payload()), name(error)));
  }
  return undecidable("ERR-ORDER-OPEN-1", "which error it gets is open");
}

Judgement Oracle::State::judge(std::string_view client_id, const Exchange& exchange) {
  const codec::Message& request = exchange.request;
  const bool legal = request.qos == 1 && request.response_topic && request.correlation_data &&
                     !codec::response_topic_fault(*request.response_topic);
  const auto command =
      codec::parse_command(request.payload, codec::dialect(codec::DialectId::kDeployed));
  if (!legal || !exchange.reply) {
    if (command) {
      Keyed& keyed = key(command->key);
      if (command->verb != Verb::kGet && legal) forget(keyed);
    }
    if (!legal && !exchange.reply) return {};
    if (!legal) return undecidable("ENV-RESPONSE-TOPIC-5", "such a request has no effect");
    return rejected("ENV-RESPONSE-1", "no response came");
  }
  Answered answered;
  // A store that knows newer verbs may answer with a list. (Req: ERR-COMMAND-OPEN-2)
  const bool is_list = exchange.reply->payload().starts_with('*');
  if (is_list && !command && !is_definite(request, command.error())) {
    return undecidable("ERR-COMMAND-OPEN-2", "perhaps the store knows this verb");
  }
  if (auto wrong = check_envelope(exchange, answered)) {
    if (command && command->verb != Verb::kGet) forget(key(command->key));
    return *wrong;
  }
  if (!command) return judge_malformed(client_id, exchange, command.error(), answered);
  Judgement out = command->verb == Verb::kKeynotify
                      ? judge_registration(client_id, exchange, *command, answered)
                      : judge_key(exchange, *command, answered);
  if (out.answer == Answer::kRejected) return out;
  if (auto wrong = check_form(command->verb, answered)) return *wrong;
  return out;
}

Oracle::Oracle(OracleOptions options) : state_(std::make_unique<State>()) {
  state_->options = options;
}
Oracle::~Oracle() = default;

Judgement Oracle::judge(std::string_view client_id, const Exchange& exchange) {
  return state_->judge(client_id, exchange);
}

Judgement Oracle::notified(std::string_view client_id, const codec::Message& message,
                           microseconds received) {
  const auto target = codec::parse_notification_topic(message.topic);
  if (!target || target->client_id != client_id) {
    return rejected("NTF-TOPIC-1", "a message to the topic " + escape(message.topic));
  }
  const auto told = codec::decode_notification(message.payload);
  if (!told) return rejected("NTF-FORMAT-1", escape(message.payload) + " is no notification");
  if (told->form) {
    const auto [seen, is_new] =
        state_->forms.emplace(codec::Divergence::kDeleteOperation, *told->form);
    if (!is_new && seen->second != *told->form) {
      return rejected("NTF-DEL-1", "deletions are told in two ways");
    }
  }
  const bool set = told->operation == codec::Operation::kSet;
  const std::string* text = message.property(codec::kTimestampProperty);
  const auto version = hlc::parse(text == nullptr ? std::string_view() : *text);
  if (!version) return rejected(set ? "NTF-VERSION-1" : "NTF-VERSION-2", "no version in __ts");

  const Told what{.client_id = client_id,
                  .key = target->key,
                  .set = set,
                  .value = told->value,
                  .version = *version,
                  .at = received};
  Keyed& keyed = state_->key(target->key);
  Observation& observation = state_->observation(keyed, client_id);
  // A second one like the last, where the client has registered twice. (Req: NTF-REPEAT-OPEN-2)
  const std::string as_told = message.payload + *text;
  const bool again = observation.repeated && observation.last_told == as_told;
  observation.last_told = as_told;
  if (auto judgement = state_->judge_expected(keyed, what)) return *judgement;
  if (again) return undecidable("NTF-REPEAT-OPEN-2", "the client has registered twice");
  return state_->judge_unexpected(keyed, what, observation.registered);
}

Judgement Oracle::missing(std::string_view client_id, microseconds sent) {
  // What has expired since, and nobody has asked for.
  for (auto& [key_name, keyed] : state_->keys) {
    const auto observed_by = keyed.observers.find(client_id);
    if (observed_by == keyed.observers.end() ||
        observed_by->second.registered != Registered::kYes) {
      continue;
    }
    if (keyed.worlds.size() != 1) continue;
    KeyWorld& world = keyed.worlds.front();
    if (!world.exists || world.expiry != KeyWorld::Expiry::kWindow ||
        world.latest + state_->options.expiry_slack >= sent) {
      continue;
    }
    std::vector<KeyWorld> after;
    pass_time(world, sent, sent, state_->options.expiry_slack, after);
    const microseconds gone_by = world.latest + state_->options.expiry_slack;
    const microseconds from = world.earliest;
    keyed.worlds = std::move(after);
    state_->tell(keyed, key_name,
                 {.operation = codec::Operation::kDelete,
                  .from = from,
                  .known_at = gone_by,
                  .rule = "NTF-EXPIRY-1"});
  }
  const auto expected = state_->pending.find(client_id);
  if (expected == state_->pending.end()) return {};
  Judgement out;
  std::erase_if(expected->second, [&](const Pending& change) {
    if (change.known_at > sent || change.outlives) return false;
    if (change.certain && out.answer == Answer::kAccepted) {
      out = rejected(change.rule,
                     fmt::format("the {} of {} was not told",
                                 change.operation == codec::Operation::kSet ? "change" : "deletion",
                                 escape(change.key)));
    }
    return true;
  });
  return out;
}

void Oracle::disconnected(std::string_view client_id, microseconds at) {
  state_->gone.emplace(client_id);
  // Perhaps these have expired by now, and it was about to be told.
  for (auto& [key_name, keyed] : state_->keys) {
    const auto observed_by = keyed.observers.find(client_id);
    if (observed_by == keyed.observers.end() || observed_by->second.registered == Registered::kNo) {
      continue;
    }
    const bool expired =
        std::any_of(keyed.worlds.begin(), keyed.worlds.end(), [&](const KeyWorld& world) {
          return world.exists && world.expiry != KeyWorld::Expiry::kNever && world.earliest <= at;
        });
    if (!expired) continue;
    state_->pending[std::string(client_id)].push_back({.key = key_name,
                                                       .operation = codec::Operation::kDelete,
                                                       .certain = false,
                                                       .rule = "NTF-EXPIRY-1"});
  }
  // What was on its way may reach the next connection. (Req: LIFE-OPEN-3)
  const auto on_their_way = state_->pending.find(client_id);
  if (on_their_way != state_->pending.end()) {
    for (Pending& change : on_their_way->second) {
      change.certain = false;
      change.outlives = true;
    }
  }
  for (auto& [key_name, keyed] : state_->keys) {
    const auto registered = keyed.observers.find(client_id);
    if (registered != keyed.observers.end()) registered->second = {};
  }
}

const std::map<std::string, std::string>& Oracle::observed() const { return state_->observed; }

}  // namespace fencepost::judge
