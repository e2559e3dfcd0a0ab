#include "suite/judge/oracle.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/dialect.h"
#include "codec/notification.h"
#include "codec/topics.h"
#include "suite/judge/judge.h"
#include "suite/judge/key_table.h"
#include "suite/judge/mismatch.h"
#include "suite/judge/notification_judge.h"
#include "suite/judge/oracle_key.h"
#include "suite/judge/oracle_payload.h"
#include "suite/judge/oracle_response.h"
#include "suite/judge/reply_requirement.h"
#include "suite/judge/unspecified_points.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;
using std::chrono::microseconds;

// Each unspecified point, and each expiry that may have come, can double the states of a key, so
// their number needs a bound. Beyond it the oracle forgets the key: it then accepts more than it
// should, but never rejects a conforming store.
constexpr std::size_t kMaxCandidates = 24;

std::string describe(const Branch& branch) {
  switch (branch.kind) {
    case ReplyKind::kOk:
      return "+OK";
    case ReplyKind::kNotApplied:
      return "-1 or :-1 (not applied)";
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
  std::string expected{};            // what conforming stores answer, in words
  std::string_view rule{};           // ... and by which rule, of what is not open if there is any
  bool rule_is_sure = false;
  bool settled = false;         // it fits where nothing is open
  bool knowable = false;        // it fits where nothing is hidden
  UnspecifiedChoice open{};     // what it rests on else
  std::size_t gone_before = 0;  // branches of states in which the key has expired by now
  std::size_t other_before = 0;
  Change change = Change::kNone;
  bool perhaps_same = false;  // the value that is set may be the one that was there

  void expect(const Branch& branch) {
    // A failure is not attributed to unspecified behaviour as long as there is a rule.
    const bool sure = branch.choice.requirement.empty() && !branch.perhaps;
    if (rule.empty() || (sure && !rule_is_sure)) rule = branch.rule;
    rule_is_sure = rule_is_sure || sure;
    const std::string words = describe(branch);
    if (expected.find(words) == std::string::npos) {
      expected += (expected.empty() ? "" : ", or ") + words;
    }
  }
};

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

// The requirement of the reply to a KEYNOTIFY that should have been of the kind `right`. That it is
// no error where there is no key has a rule of its own (NTF-ABSENT-1); how a success is spelled has
// the same one everywhere (NTF-RESPONSE-2).
std::string_view registration_rule(const codec::Command& command, const KeyKnowledge& key,
                                   const codec::DecodedReply& reply, ReplyKind right) {
  const bool exists = reply.kind != ReplyKind::kError ||
                      std::any_of(key.candidates.begin(), key.candidates.end(),
                                  [](const CandidateState& state) { return state.exists; });
  return requirement_of({.verb = Verb::kKeynotify, .stop = command.stop}, {.exists = exists},
                        {.kind = right});
}

}  // namespace

struct Oracle::State {
  explicit State(OracleOptions with)
      : options(std::move(with)),
        keys(options.starts_empty),
        notifications(options.basis),
        spellings(options.basis) {}

  OracleOptions options;
  KeyTable keys;
  UnspecifiedPoints unspecified_points{};
  NotificationJudge notifications;
  Spellings spellings;
  std::set<std::string, std::less<>> nodes{};  // of versions

  // Memory that is used again.
  std::vector<CandidateState> passed{};
  std::vector<CandidateState> later{};
  std::vector<Branch> branches{};
  std::vector<CandidateState> next{};

  void asked(std::string_view client_id, const Exchange& exchange, microseconds replied);
  Judgement judge(std::string_view client_id, const Exchange& exchange);
  Judgement judge_notification(std::string_view client_id, const codec::Message& message,
                               microseconds received);
  [[nodiscard]] Judgement unless_waived(Judgement judgement) const;
  Judgement judge_malformed(std::string_view client_id, const Exchange& exchange, ErrorCode error,
                            const Answered& answered);
  void forget_what_may_have_changed(std::string_view client_id, const Exchange& exchange);
  void allow_any_change(KeyKnowledge& known, std::string_view key_name, const Exchange& exchange);
  Judgement judge_key(std::string_view client_id, const Exchange& exchange,
                      const codec::Command& command, const Answered& answered);
  [[nodiscard]] bool may_expire_now(const KeyKnowledge& known, const CandidateState& state,
                                    const Asked& asked);
  Judgement judge_unfitting(const Exchange& exchange, KeyKnowledge& known, const Asked& asked,
                            const Answered& answered, const Fitting& fitting);
  Judgement judge_registration(std::string_view client_id, const Exchange& exchange,
                               const codec::Command& command, const Answered& answered);
  Judgement judge_refused_registration(std::string_view client_id, const Exchange& exchange,
                                       const codec::Command& command, const Answered& answered,
                                       Registered& registered);
  [[nodiscard]] Asked asked_of(const Exchange& exchange, const codec::Command& command) const;
  void keep_what_fits(const CandidateState& state, bool expires_now, const Asked& asked,
                      const Answered& answered, Fitting& fitting);
  void expect_notifications(std::string_view client_id, KeyKnowledge& key, const Asked& asked,
                            const Answered& answered, const Fitting& fitting);
};

Asked Oracle::State::asked_of(const Exchange& exchange, const codec::Command& command) const {
  Asked out{.command = command,
            .timestamp = exchange.request.property(codec::kTimestampProperty),
            .token = exchange.request.property(codec::kTokenProperty),
            .open_form = open_form_of(command, exchange.request.payload),
            .sent = exchange.sent,
            .received = exchange.reply->time,
            .limited = options.limited};
  // The store handles the request between sending and receiving, and its clock is ours plus an
  // offset of which bounds are known (docs/decisions/0007-clock-offset.md).
  const std::int64_t low = exchange.sent_ms + options.clock.low_ms;
  const std::int64_t high = exchange.reply->wall_ms + options.clock.high_ms;
  out.store_nodes = &nodes;
  out.wall_low = static_cast<std::uint64_t>(std::max<std::int64_t>(low, 0));
  out.wall_high = static_cast<std::uint64_t>(std::max<std::int64_t>(high, 0));
  return out;
}

// Keeps in `next` the states that a conforming store, which was in `state`, can be in after this
// answer.
void Oracle::State::keep_what_fits(const CandidateState& state, bool expires_now,
                                   const Asked& asked, const Answered& answered, Fitting& fitting) {
  branches.clear();
  branches_of(state, asked, branches);
  for (const Branch& branch : branches) {
    if (unspecified_points.contradicts(branch.choice) ||
        std::any_of(branch.next.assumed.begin(), branch.next.assumed.end(),
                    [&](const UnspecifiedChoice& choice) {
                      return unspecified_points.contradicts(choice);
                    })) {
      continue;
    }
    // Want of rights or room may refuse nearly everything: as what a conforming store answers it
    // would only hide the rest.
    if (!branch.unknowable) fitting.expect(branch);
    if (!fits(branch, answered)) continue;
    if (auto judgement = check_version(branch, state, asked, answered, options.basis)) {
      // The first, because branches_of() begins with what a conforming store most likely does.
      if (!fitting.wrong) fitting.wrong = std::move(judgement);
      continue;
    }
    const bool open = !unspecified_points.is_settled(branch.choice);
    if (!branch.unknowable) fitting.knowable = true;
    if (open) fitting.open = branch.choice;
    if (!open && !branch.unknowable) fitting.settled = true;
    ++(expires_now ? fitting.gone_before : fitting.other_before);
    if (branch.change != Change::kNone) {
      fitting.change = branch.change;
      const bool same = !state.value || *state.value == asked.command.value;
      if (branch.change == Change::kSet && state.exists && same) fitting.perhaps_same = true;
    }
    CandidateState after = branch.next;
    if (branch.change == Change::kSet) {
      after.version = answered.version;
    } else if (branch.change == Change::kNone && after.exists) {
      // What a store owes nobody says nothing of the value.
      const bool owed =
          branch.kind != ReplyKind::kNotApplied || options.basis.binds("SET-NOT-APPLIED-3");
      if (branch.version == VersionRule::kSame && owed) after.version = answered.version;
      if (answered.reply.kind == ReplyKind::kValue) {
        after.value = std::string(answered.reply.value);
      }
    }
    // Whether the store has made this choice is known only when no other explains what it does:
    // until then the state carries it, and what contradicts it drops the state.
    if (open && !branch.choice.several) after.assumed.push_back(branch.choice);
    // Several branches may end in one state, which must not count twice against kMaxCandidates.
    if (std::find(next.begin(), next.end(), after) == next.end()) next.push_back(std::move(after));
  }
}

// What the request has changed, and what has expired before it, is to be notified.
void Oracle::State::expect_notifications(std::string_view client_id, KeyKnowledge& known,
                                         const Asked& asked, const Answered& answered,
                                         const Fitting& fitting) {
  if (fitting.gone_before > 0) {
    // Stores that expire by a timer notify then, the others not before this request.
    microseconds earliest = microseconds::max();
    for (const CandidateState& state : known.candidates) {
      if (state.exists) earliest = std::min(earliest, state.earliest);
    }
    notifications.expect(
        known, asked.command.key,
        {.operation = codec::Operation::kDelete,
         .from = earliest,
         .known_at = asked.received,
         .certain = known.candidates.size() == 1 && fitting.other_before == 0,
         .rule = rule_of({.kind = Mismatch::kNotificationMissing, .cause = Cause::kExpiry})});
  }
  if (fitting.change == Change::kNone) return;
  const bool set = fitting.change == Change::kSet;
  // A notification is due for sure only if every state that is left has changed, and the value is
  // another: whether a SET of the same value is notified is open. (Req: NTF-SEND-OPEN-1)
  const bool all_changed = std::all_of(next.begin(), next.end(), [&](const CandidateState& state) {
    return set ? state.exists : !state.exists;
  });
  notifications.expect(
      known, asked.command.key,
      {.operation = set ? codec::Operation::kSet : codec::Operation::kDelete,
       .value = set ? std::optional(std::string(asked.command.value)) : std::nullopt,
       .version = set ? answered.version : std::nullopt,
       .from = asked.sent,
       .known_at = asked.received,
       .certain = all_changed && !fitting.perhaps_same,
       .writer = client_id,
       .rule = set ? "NTF-SEND-1" : "NTF-SEND-2"});
}

// An answer that no state of the key explains.
Judgement Oracle::State::judge_unfitting(const Exchange& exchange, KeyKnowledge& known,
                                         const Asked& asked, const Answered& answered,
                                         const Fitting& fitting) {
  KeyTable::forget(known);
  // What it has done instead is not known: a change that is notified must not be a second failure.
  allow_any_change(known, asked.command.key, exchange);
  if (fitting.wrong) return *fitting.wrong;
  if (answered.has_detail) {
    return rejected(rule_of({.kind = Mismatch::kErrorDetail}),
                    "more than the listed text: " + describe_reply(exchange.reply->payload()));
  }
  return rejected(fitting.rule.empty() ? "ENV-RESPONSE-1" : fitting.rule,
                  fmt::format("{}; a conforming store answers {}",
                              describe_reply(exchange.reply->payload()), fitting.expected));
}

// May the key have been there before the request, and be in this state since? That it may have
// expired long ago as well says nothing of that: it is notified to every client that has registered
// meanwhile.
bool Oracle::State::may_expire_now(const KeyKnowledge& known, const CandidateState& state,
                                   const Asked& asked) {
  if (!state.expired) return false;
  return std::any_of(known.candidates.begin(), known.candidates.end(),
                     [&](const CandidateState& old) {
                       if (!old.exists) return false;
                       later.clear();
                       pass_time(old, asked.sent, asked.received, options.expiry_slack, later);
                       return std::find(later.begin(), later.end(), state) != later.end();
                     });
}

Judgement Oracle::State::judge_key(std::string_view client_id, const Exchange& exchange,
                                   const codec::Command& command, const Answered& answered) {
  KeyKnowledge& known = keys.at(command.key);
  const Asked asked = asked_of(exchange, command);
  // A store may notice an expiry when the key is used, however late that is. (Req: SET-PX-OPEN-8)
  if (!known.used_since_expiry && asked.sent >= known.notified_until - kExpiryNotified) {
    known.used_since_expiry = true;
    known.notified_until = std::max(known.notified_until, asked.received + options.expiry_slack);
  }
  passed.clear();
  for (const CandidateState& state : known.candidates) {
    pass_time(state, asked.sent, asked.received, options.expiry_slack, passed);
  }
  // First of all: such a refusal says nothing of what is open.
  if (answered.reply.kind == ReplyKind::kError) {
    const std::string_view rule =
        rule_that_need_not_be_kept(command, exchange.request, answered.error, options.basis);
    // Such a request changes nothing (ERR-STATE-1). That the key has expired by now is for the next
    // one to find out: a store that tells of it when the key is used may not have noticed.
    if (!rule.empty()) {
      return undecidable(rule, "a rule that does not apply to this store");
    }
  }
  next.clear();
  Fitting fitting;
  for (const CandidateState& state : passed) {
    keep_what_fits(state, may_expire_now(known, state, asked), asked, answered, fitting);
  }
  if (next.empty()) return judge_unfitting(exchange, known, asked, answered, fitting);
  expect_notifications(client_id, known, asked, answered, fitting);
  // Only after a version has passed: VER-NODE-1 is decided by the node ids that are surely the
  // store's.
  if (answered.version) nodes.insert(answered.version->node);
  if (fitting.change == Change::kSet && command.expires_after) {
    // The expiry of the value before may still be to be notified; or it was to be later than this
    // one, and is not any more. Req: SET-PX-OPEN-8
    const auto from = asked.sent + *command.expires_after;
    const bool is_over = asked.sent > known.notified_until;
    known.expires_from = is_over ? from : std::min(known.expires_from, from);
    known.notified_until =
        asked.received + *command.expires_after + options.expiry_slack + kExpiryNotified;
    known.used_since_expiry = false;
  }
  known.candidates.swap(next);
  unspecified_points.settle(known.candidates);
  if (known.candidates.size() > kMaxCandidates) KeyTable::forget(known);
  if (fitting.settled) return {};
  if (!fitting.knowable) {
    return undecidable(
        fitting.rule,
        "whether this client may do that, and how many keys there may be, is not known");
  }
  const UnspecifiedChoice& open = fitting.open;
  return undecidable(
      open.requirement,
      fmt::format("the article leaves {} unspecified: here {}",
                  open.point.empty() ? "it" : std::string(open.point), open.outcome));
}

// A KEYNOTIFY that is answered with an error. Its client observes the key as before, or not.
Judgement Oracle::State::judge_refused_registration(std::string_view client_id,
                                                    const Exchange& exchange,
                                                    const codec::Command& command,
                                                    const Answered& answered,
                                                    Registered& registered) {
  // MQTT 5.0, 1.5.4: a topic has at most 65,535 bytes, and its escaping makes the key longer.
  if (!codec::notification_topic(client_id, command.key)) {
    return undecidable("NTF-TOPIC-OPEN-1", "the topic of notifications is too long");
  }
  if (options.limited && answered.error == ErrorCode::kNotAuthorized) {
    return undecidable("AUTH-DENIED-1", "whether this client may read the key is not known");
  }
  // A store may keep these characters for patterns of keys. One that has taken such a name ends the
  // registration, too.
  const bool pattern = command.key.find_first_of("*#?+") != std::string_view::npos;
  if (pattern && (!command.stop || registered != Registered::kYes)) {
    return undecidable("NTF-WILDCARD-OPEN-1", "the key looks like a pattern");
  }
  if (may_be_refused_for_properties(exchange.request)) {
    return undecidable("HLC-REQUIRED-OPEN-1", "a property that is not needed may be an error");
  }
  if (!command.stop && registered != Registered::kNo) {
    return undecidable("NTF-REPEAT-OPEN-1", "the client observes the key already");
  }
  const std::string_view rule =
      rule_that_need_not_be_kept(command, exchange.request, answered.error, options.basis);
  if (!rule.empty()) return undecidable(rule, "a rule that does not apply to this store");
  // No reason to refuse is left. What the store has done instead is not known.
  registered = Registered::kPerhaps;
  return rejected(registration_rule(command, keys.at(command.key), answered.reply, ReplyKind::kOk),
                  describe_reply(exchange.reply->payload()) + "; a conforming store answers " +
                      (command.stop ? "+OK or :0" : "+OK"));
}

Judgement Oracle::State::judge_registration(std::string_view client_id, const Exchange& exchange,
                                            const codec::Command& command,
                                            const Answered& answered) {
  KeyKnowledge& known = keys.at(command.key);
  Observation& observed_by = keys.observation(known, client_id);
  Registered& registered = observed_by.registered;
  // A store that has not noticed yet that the client was away may think that it still observes.
  const bool lingers = registered == Registered::kNo && exchange.sent <= observed_by.lingers_until;
  const Registered before = lingers ? Registered::kPerhaps : registered;
  // Notifications of what was before, each twice, may still come.
  const bool late = !options.basis.binds("NTF-ORDER-1");
  const ReplyKind kind = answered.reply.kind;
  if (kind == ReplyKind::kError) {
    return judge_refused_registration(client_id, exchange, command, answered, registered);
  }
  const auto wrong = [&](ReplyKind right, std::string_view in_words) {
    return rejected(registration_rule(command, known, answered.reply, right),
                    fmt::format("{}; a conforming store answers {}",
                                describe_reply(exchange.reply->payload()), in_words));
  };
  if (!command.stop) {
    observed_by.repeated = before != Registered::kNo || (late && observed_by.repeated);
    // Owed from the response on (NTF-RESPONSE-3). A second KEYNOTIFY does not end what is owed
    // since the first.
    if (registered != Registered::kYes) observed_by.since = exchange.reply->time;
    registered = Registered::kYes;
    if (kind == ReplyKind::kOk) return {};
    if (before != Registered::kNo) {
      return undecidable("NTF-REPEAT-OPEN-1", "the client observes the key already");
    }
    return wrong(ReplyKind::kOk, "+OK");
  }
  // However often a client has registered, one STOP ends it, and says whether there was something
  // to end. (Req: NTF-STOP-1, NTF-STOP-3)
  if (before != Registered::kNo) {
    notifications.stopped(known, command.key, client_id, exchange.reply->time);
  }
  registered = Registered::kNo;
  observed_by.repeated = late && observed_by.repeated;
  // Where the registration may be there or not, both answers are right.
  if (kind == ReplyKind::kOk) {
    if (before != Registered::kNo) return {};
    return wrong(ReplyKind::kCount, ":0");
  }
  if (kind == ReplyKind::kCount && answered.reply.count == 0) {
    if (before != Registered::kYes) return {};
    return wrong(ReplyKind::kOk, "+OK");
  }
  return wrong(ReplyKind::kOk, "+OK or :0");
}

// Anything that the request has done to the key may be notified, however late: what is known of the
// key by then does not show it any more. (Req: NTF-ORDER-OPEN-1)
void Oracle::State::allow_any_change(KeyKnowledge& known, std::string_view key_name,
                                     const Exchange& exchange) {
  for (const codec::Operation operation : {codec::Operation::kSet, codec::Operation::kDelete}) {
    notifications.expect(known, key_name,
                         {.operation = operation,
                          .from = exchange.sent,
                          .known_at = exchange.reply ? exchange.reply->time : exchange.sent,
                          .certain = false,
                          .rule = "NTF-SEND-1"});
  }
}

// A store has taken a payload that is no command to us, and did what it took it for.
void Oracle::State::forget_what_may_have_changed(std::string_view client_id,
                                                 const Exchange& exchange) {
  const auto frame = codec::decode_command(exchange.request.payload);
  if (frame && frame->count > 1) {
    (void)keys.at(frame->arguments[1]);  // not seen yet: it would pass for one that does not exist
  } else {
    keys.expect_unseen_keys();  // no key is named: any may exist by now
  }
  for (auto& [key_name, known] : keys) {
    KeyTable::forget(known);
    allow_any_change(known, key_name, exchange);
    // It may have been a KEYNOTIFY, or its STOP. (Req: NTF-STOP-OPEN-1)
    keys.observation(known, client_id).registered = Registered::kPerhaps;
  }
}

Judgement Oracle::State::judge_malformed(std::string_view client_id, const Exchange& exchange,
                                         ErrorCode error, const Answered& answered) {
  if (answered.reply.kind != ReplyKind::kError) {
    if (is_lenient(exchange.request, error)) {
      forget_what_may_have_changed(client_id, exchange);
      return undecidable("ERR-ARITY-OPEN-1", "this store may accept it as a request");
    }
    return rejected(requirement_of(error, RequestFacts{}),
                    describe_reply(exchange.reply->payload()) + "; the request is malformed");
  }
  if (answered.error == error) return {};
  if (is_definite(exchange.request, error)) {
    return rejected(requirement_of(error, RequestFacts{}),
                    fmt::format("{}; a conforming store answers with the error {}",
                                describe_reply(exchange.reply->payload()), name(error)));
  }
  return undecidable("ERR-ORDER-OPEN-1", "which error it gets is unspecified");
}

void Oracle::State::asked(std::string_view client_id, const Exchange& exchange,
                          microseconds replied) {
  const auto& command = exchange.command;
  if (!command || command->verb != Verb::kKeynotify) return;
  keys.observation(keys.at(command->key), client_id).asked_until = replied;
}

Judgement Oracle::State::judge(std::string_view client_id, const Exchange& exchange) {
  const codec::Message& request = exchange.request;
  // Others fail. How that is shown is open, so silence is right. Req: ENV-QOS-OPEN-1,
  // ENV-RESPONSE-TOPIC-OPEN-6, ENV-CORRELATION-OPEN-1
  const bool legal = request.qos == 1 && request.response_topic && request.correlation_data &&
                     !codec::response_topic_fault(*request.response_topic);
  // The deployed dialect takes all that the documented one takes; what it takes beyond that is open
  // (open_form_of).
  const auto& command = exchange.command;
  if (!legal || !exchange.reply) {
    // Without a reply it is not known whether the store has done what the request says. With a
    // forbidden response topic that is unspecified in any case. Req: ENV-RESPONSE-TOPIC-OPEN-4
    const bool forbidden =
        request.response_topic && codec::response_topic_fault(*request.response_topic);
    if (command && command->verb != Verb::kGet && (legal || forbidden)) {
      KeyKnowledge& known = keys.at(command->key);
      KeyTable::forget(known);
      if (forbidden) allow_any_change(known, command->key, exchange);
      if (forbidden && command->verb == Verb::kKeynotify) {
        keys.observation(known, client_id).registered = Registered::kPerhaps;
      }
    }
    if (!legal && !exchange.reply) return {};
    if (!legal) return undecidable("ENV-RESPONSE-TOPIC-5", "such a request has no effect");
    if (exchange.refused) {
      return rejected("ENV-PUBACK-1",
                      fmt::format("the broker refused it: PUBACK with reason code 0x{:02x}",
                                  *exchange.refused));
    }
    return rejected("ENV-RESPONSE-1", "no response came");
  }
  Answered answered;
  // A store that knows newer verbs may answer with a list. (Req: ERR-COMMAND-OPEN-2)
  const bool is_list = exchange.reply->payload().starts_with('*');
  if (is_list && !command && !is_definite(request, command.error())) {
    return undecidable("ERR-COMMAND-OPEN-2", "the store may know this verb");
  }
  if (auto wrong = check_envelope(exchange, options.basis, answered)) {
    // What such a response says of the key is not relied upon.
    if (command && command->verb != Verb::kGet) KeyTable::forget(keys.at(command->key));
    return *wrong;
  }
  if (!command) return judge_malformed(client_id, exchange, command.error(), answered);
  Judgement out = command->verb == Verb::kKeynotify
                      ? judge_registration(client_id, exchange, *command, answered)
                      : judge_key(client_id, exchange, *command, answered);
  if (out.answer == Answer::kRejected) return out;
  // Last: the form of an answer that is wrong anyway must not be taken for the one that the store
  // has chosen.
  if (auto wrong = spellings.check(command->verb, answered)) return *wrong;
  return out;
}

// What breaks a rule that does not apply to the store fails nothing.
Judgement Oracle::State::unless_waived(Judgement judgement) const {
  if (judgement.answer != Answer::kRejected || options.basis.binds(judgement.requirement)) {
    return judgement;
  }
  return undecidable(judgement.requirement, "a rule that does not apply to this store");
}

Judgement Oracle::State::judge_notification(std::string_view client_id,
                                            const codec::Message& message, microseconds received) {
  const auto target = codec::parse_notification_topic(message.topic);
  if (!target || target->client_id != client_id) {
    return rejected("NTF-TOPIC-1", "a message to the topic " + escape(message.topic));
  }
  ReceivedNotification notification{.client_id = client_id, .key = target->key, .at = received};
  const auto decoded = codec::decode_notification(message.payload);
  if (decoded) {
    notification.set = decoded->operation == codec::Operation::kSet;
    if (notification.set) notification.value = decoded->value;
    if (decoded->form) {
      if (auto wrong = spellings.check_deletion(*decoded->form)) return *wrong;
    }
  } else if (message.payload == codec::encode_command({"NOTIFY", "SET"})) {
    const std::string_view rule = rule_of({.kind = Mismatch::kValueMissing});
    // By the article alone VALUE need not be there: it is tied to an option of KEYNOTIFY there.
    // Req: NTF-GET-OPEN-1
    if (options.basis.binds(rule)) return rejected(rule, "a notification of a SET without VALUE");
    notification.set = true;
  } else {
    return rejected("NTF-FORMAT-1", escape(message.payload) + " is not a notification");
  }
  const std::string* text = message.property(codec::kTimestampProperty);
  const auto version = hlc::parse(text == nullptr ? std::string_view() : *text);
  if (version) notification.version = *version;
  const std::string_view version_rule =
      rule_of({.kind = Mismatch::kVersionMissing,
               .operation = notification.set ? codec::Operation::kSet : codec::Operation::kDelete});
  if (!version && (text != nullptr || options.basis.binds(version_rule))) {
    return rejected(version_rule, "no version in __ts");
  }
  KeyKnowledge& key = keys.at(target->key);
  Observation& observation = keys.observation(key, client_id);
  // A second one like the last, where the client has registered twice. (Req: NTF-REPEAT-OPEN-2)
  std::string as_received = message.payload + (text == nullptr ? std::string() : *text);
  const bool again = observation.repeated && observation.last_notification == as_received;
  observation.last_notification = std::move(as_received);
  return notifications.judge(key, notification, observation, again);
}

Oracle::Oracle(OracleOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Oracle::~Oracle() = default;

Judgement Oracle::judge(std::string_view client_id, const Exchange& exchange) {
  return state_->unless_waived(state_->judge(client_id, exchange));
}

void Oracle::asked(std::string_view client_id, const Exchange& exchange, microseconds replied) {
  state_->asked(client_id, exchange, replied);
}

Judgement Oracle::notified(std::string_view client_id, const codec::Message& message,
                           microseconds received) {
  return state_->unless_waived(state_->judge_notification(client_id, message, received));
}

Judgement Oracle::missing(std::string_view client_id, microseconds sent) {
  return state_->unless_waived(
      state_->notifications.missing(state_->keys, client_id, sent, state_->options.expiry_slack));
}

bool Oracle::awaits_expiry() const { return state_->notifications.awaits_expiry(); }
bool Oracle::awaits_notification() const { return state_->notifications.awaits_any(); }

void Oracle::disconnected(std::string_view client_id, microseconds at) {
  state_->notifications.disconnected(state_->keys, client_id, at);
  // After the notifications, which depend on what the client has observed until now.
  if (state_->options.store_in_broker) {
    state_->keys.end_registrations(client_id, at + state_->options.disconnect_settling);
  } else {
    state_->keys.doubt_registrations(client_id);
  }
}

const std::map<std::string, std::string>& Oracle::observed() const {
  return state_->unspecified_points.observed();
}

}  // namespace fencepost::judge
