#include "suite/run/notification_steps.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/notification.h"
#include "codec/resp3.h"
#include "hlc/hlc.h"
#include "suite/judge/attribution.h"
#include "suite/judge/oracle_basis.h"
#include "suite/run/message_checks.h"
#include "suite/run/no_response.h"
#include "suite/run/reply_judge.h"
#include "suite/run/request_steps.h"

namespace fencepost::run {
namespace {

using text::Phrase;

Phrase shown(const Notified& notified) {
  return shown_notification(notified.message.payload, notified.key);
}

// The notification in the forms that the profile allows, for people.
Phrase describe_notification(const scenario::NotificationStep& step, const CaseState& state) {
  const std::string value = step.value ? state.bytes_of(*step.value) : "";
  std::vector<Phrase> forms;
  for (const codec::DialectId id : codec::dialects_of(state.settings.profile)) {
    std::string payload;
    codec::append_notification(payload, {.operation = step.operation, .value = value},
                               codec::dialect(id));
    forms.push_back(shown_notification(payload));
  }
  constexpr std::size_t kMaxOfKey = 100;
  return Phrase::any_of(std::move(forms))
      .words(" for key ")
      .quoted(state.bytes_of(step.key), kMaxOfKey);
}

// `NOTIFY SET` and nothing else, as the article has it where KEYNOTIFY had no option GET.
bool lacks_value(const codec::Message& message) {
  return message.payload == codec::encode_command({"NOTIFY", "SET"});
}

MaybeProblem judge_payload(const scenario::NotificationStep& step, const Notified& notified,
                           const Phrase& expected, CaseState& state) {
  Problem other{.message = "the notification is not the expected one",
                .expected = expected,
                .actual = shown(notified),
                .kind = judge::Mismatch::kNotification};
  const auto decoded = codec::decode_notification(notified.message.payload);
  if (notified.key != state.bytes_of(step.key)) return other;
  if (step.operation == codec::Operation::kSet && lacks_value(notified.message)) {
    other.kind = judge::Mismatch::kValueMissing;
    return other;
  }
  if (!decoded) other.kind = judge::Mismatch::kNotificationForm;
  if (!decoded || decoded->operation != step.operation) return other;
  if (step.value && decoded->value != state.bytes_of(*step.value)) {
    other.kind = judge::Mismatch::kNotificationValue;
    return other;
  }
  if (!decoded->form) return std::nullopt;
  const judge::SeenForm form{codec::Divergence::kDeleteOperation, *decoded->form};
  const std::vector<codec::DialectId> dialects = codec::dialects_of(state.settings.profile);
  if (std::find(dialects.begin(), dialects.end(), form.second) == dialects.end()) {
    attribute_dialect(form, "notification", state, other);
    return other;
  }
  state.result.forms.push_back(form);
  return std::nullopt;
}

MaybeProblem judge_flags(const scenario::NotificationStep& step, const codec::Message& message) {
  if (step.qos && message.qos != *step.qos) {
    return Problem{.message = "the notification has another QoS",
                   .expected = fmt::format("QoS {}", *step.qos),
                   .actual = fmt::format("QoS {}", message.qos)};
  }
  return std::nullopt;
}

// A notification that is awaited, and what is known of the change that it is to tell of.
struct Awaited {
  const scenario::NotificationStep& step;
  RequestClient& observer;
  Phrase expected;
  judge::Cause cause = judge::Cause::kUnknown;

  [[nodiscard]] std::deque<Notified>& queue() const { return observer.notifications(); }
  // `seen_key`: of the notification that came.
  [[nodiscard]] MaybeProblem attribution(MaybeProblem problem, CaseState& state,
                                         std::optional<std::string_view> seen_key = {}) const {
    if (!problem) return std::nullopt;
    problem->subject = step.operation == codec::Operation::kSet ? "notification of a SET"
                                                                : "notification of a deletion";
    const std::string key = state.bytes_of(step.key);
    const std::string id = observer.client_id();
    problem->attribution = judge::attribute(judge::NotificationDifference{
        .kind = problem->kind,
        .operation = step.operation,
        .key = key,
        .seen_key = seen_key,
        .cites = step.cites,
        .keys = state.key_states,
        .now = state.clock.now(),
        .cause = cause,
        .own_is_notified = !state.may_not_bind("NTF-SELF-1"),
        .stop_before = state.changes.has_stop_of(id),
        .other_stop = state.changes.has_other_stop(id, key),
        .other_form = problem->other_form,
        .set_again = state.changes.is_set_again(key, state.clock.now())});
    return state.unless_excused(std::move(*problem));
  }
};

// Does the message tell of a later change than the one that is awaited?
bool tells_of_another(const Awaited& awaited, const Notified& notified, CaseState& state) {
  const bool no_value = lacks_value(notified.message);
  const auto decoded = codec::decode_notification(notified.message.payload);
  if (!decoded && !no_value) return false;
  ChangeLog::Notification wanted{.observer = awaited.observer.client_id(), .key = notified.key};
  if (!no_value) wanted.operation = decoded->operation;
  if (!no_value && wanted.operation == codec::Operation::kSet) {
    wanted.value = std::string(decoded->value);
  }
  return state.changes.has(wanted, state.clock.now());
}

// Then it is the one of the change that is awaited, whichever operation and value it has.
bool has_awaited_version(const Awaited& awaited, const Notified& notified, CaseState& state) {
  const auto& version = awaited.step.timestamp;
  return version && version->equals &&
         !check_timestamp(version, nullptr, notified.message, state.saved);
}

// Is it what the step awaits, as far as this shows without its version?
bool is_awaited(const Awaited& awaited, const Notified& notified, const CaseState& state) {
  const scenario::NotificationStep& step = awaited.step;
  const bool set = step.operation == codec::Operation::kSet;
  if (set && lacks_value(notified.message)) return notified.key == state.bytes_of(step.key);
  const auto decoded = codec::decode_notification(notified.message.payload);
  return decoded && notified.key == state.bytes_of(step.key) &&
         decoded->operation == step.operation &&
         (!step.value || decoded->value == state.bytes_of(*step.value));
}

// Leaves out what might have come or not, earlier, and comes only now.
void leave_out_belated(RequestClient& observer, CaseState& state) {
  std::erase_if(observer.notifications(), [&](const Notified& notified) {
    const auto decoded = codec::decode_notification(notified.message.payload);
    const auto found = std::find_if(
        state.belated.begin(), state.belated.end(), [&](const ChangeLog::Notification& each) {
          return decoded && each.observer == observer.client_id() && each.key == notified.key &&
                 each.operation == decoded->operation &&
                 (!each.value || *each.value == decoded->value);
        });
    if (found == state.belated.end()) return false;
    state.belated.erase(found);
    return true;
  });
}

// Is this the notification that the step awaits, as far as its key and operation say?
bool is_awaited_deletion(const scenario::NotificationStep* awaited, const Notified& notified,
                         const CaseState& state) {
  return awaited != nullptr && awaited->operation == codec::Operation::kDelete &&
         state.bytes_of(awaited->key) == notified.key;
}

// Req: SET-PX-OPEN-8, NTF-EXPIRY-1. A store notifies of an expiry when it notices it: that may be
// at the next access to the key, or at a look for all that have expired; and those who observe the
// key by then are notified. `awaited`: the step that this may be the notification of; null: there
// is none.
void leave_out_late_expiries(RequestClient& observer, const scenario::NotificationStep* awaited,
                             CaseState& state) {
  const bool binds = !state.may_not_bind("NTF-EXPIRY-1");
  const endpoint::Duration most_late =
      binds ? state.scaled(judge::kExpiryNotified) : endpoint::Duration::max();
  std::erase_if(observer.notifications(), [&](const Notified& notified) {
    const auto decoded = codec::decode_notification(notified.message.payload);
    if (!decoded || decoded->operation != codec::Operation::kDelete ||
        is_awaited_deletion(awaited, notified, state) ||
        !state.changes.take_expiry(observer.client_id(), notified.key, notified.time, most_late)) {
      return false;
    }
    state.left_out.emplace_back(observer.client_id(), notified);
    return true;
  });
}

// Req: NTF-EXPIRY-1, NTF-ORDER-OPEN-2. What an earlier step has left out is what this one awaits,
// unless a DEL or VDEL is yet to be notified: a step may wait for a reply or another notification,
// longer than the key lives.
void take_back_expiry(const scenario::NotificationStep& step, RequestClient& observer,
                      CaseState& state) {
  const ChangeLog::Notification wanted{.observer = observer.client_id(),
                                       .key = state.bytes_of(step.key),
                                       .operation = codec::Operation::kDelete};
  if (step.operation != wanted.operation || state.changes.has(wanted, state.clock.now())) return;
  const auto found =
      std::find_if(state.left_out.begin(), state.left_out.end(), [&](const auto& each) {
        return each.first == wanted.observer && each.second.key == wanted.key;
      });
  if (found == state.left_out.end()) return;
  state.changes.give_back(wanted, state.clock.now());
  observer.notifications().push_front(std::move(found->second));
  state.left_out.erase(found);
}

// Notifications may overtake each other: the awaited one is taken from behind those that tell of
// other changes, which later steps find. What tells of no change is wrong regardless of what comes
// next. (Req: NTF-ORDER-OPEN-2)
void bring_forward(const Awaited& awaited, endpoint::Duration within, CaseState& state) {
  std::deque<Notified>& queue = awaited.queue();
  const auto awaited_one = [&] {
    return std::find_if(queue.begin(), queue.end(),
                        [&](const Notified& each) { return is_awaited(awaited, each, state); });
  };
  const auto known = [&] {
    if (awaited_one() != queue.end()) return true;
    leave_out_belated(awaited.observer, state);
    return std::any_of(queue.begin(), queue.end(), [&](const Notified& each) {
      return !tells_of_another(awaited, each, state);
    });
  };
  awaited.observer.pump_until(known, within);
  const auto found = awaited_one();
  if (found != queue.end()) std::rotate(queue.begin(), found, found + 1);
}

MaybeProblem missing(const Awaited& awaited, endpoint::Duration within, CaseState& state) {
  Phrase actual = nothing_within(within);
  if (!awaited.queue().empty()) {
    Phrase next = shown(awaited.queue().front());
    std::string meaning = next.general();
    actual = Phrase("the next one: ").add(std::move(next)).means(std::move(meaning));
  }
  return awaited.attribution(Problem{.message = "no notification",
                                     .expected = awaited.expected,
                                     .actual = actual,
                                     .kind = judge::Mismatch::kNotificationMissing},
                             state);
}

// There must be one in the queue, of which it is taken.
MaybeProblem judge_first(const Awaited& awaited, CaseState& state) {
  const scenario::NotificationStep& step = awaited.step;
  MaybeProblem payload = judge_payload(step, awaited.queue().front(), awaited.expected, state);
  // In the form of the other dialect it may be the awaited one: then that is what is wrong.
  const bool other = payload && !payload->other_form &&
                     (payload->kind == judge::Mismatch::kNotification ||
                      payload->kind == judge::Mismatch::kNotificationValue ||
                      payload->kind == judge::Mismatch::kNotificationForm);
  if (other && awaited.cause != judge::Cause::kUnknown &&
      !has_awaited_version(awaited, awaited.queue().front(), state) &&
      tells_of_another(awaited, awaited.queue().front(), state)) {
    return missing(awaited, {}, state);
  }
  const Notified notified = std::move(awaited.queue().front());
  awaited.queue().pop_front();
  ++state.result.notifications;
  state.note_observed("NTF-QOS-OPEN-1", fmt::format("QoS {} {} retain", notified.message.qos,
                                                    notified.message.retain ? "with" : "without"));
  if (awaited.cause == judge::Cause::kOwnChange) {
    state.note_observed("NTF-ORDER-OPEN-1",
                        notified.before_response ? "notification first" : "response first");
  }
  if (notified.message.property(codec::kTimestampProperty) != nullptr) {
    ++state.result.versioned_notifications;
  }
  if (auto problem = awaited.attribution(std::move(payload), state, notified.key)) {
    const std::string rule = state.clients.rule_of_unexpected(awaited.observer, notified);
    if (is_told_again(rule)) problem->attribution = {.requirement = rule, .direct = rule};
    return problem;
  }
  if (auto problem = awaited.attribution(judge_flags(step, notified.message), state))
    return problem;
  auto property =
      check_properties(scenario::Expectation{.content_type = step.content_type}, notified.message);
  if (auto problem = awaited.attribution(std::move(property), state)) return problem;
  return awaited.attribution(
      check_timestamp(step.timestamp, nullptr, notified.message, state.saved), state);
}

// What the observer received first must be the notification of the fence.
MaybeProblem judge_fence(const scenario::SilenceStep& step, RequestClient& observer,
                         const std::string& fence, const CaseState& state) {
  std::deque<Notified>& queue = observer.notifications();
  if (queue.empty()) {
    if (observer.disconnected()) return unexpected_disconnect(observer);
    return Problem{.message = "the fence notification did not arrive",
                   .expected = "a notification for the fence key and nothing before it",
                   .actual = "nothing",
                   .attribution = {"NTF-SEND-1", "NTF-SEND-1", {"NTF-SEND-1"}},
                   .kind = judge::Mismatch::kNotificationMissing};
  }
  const Notified first = std::move(queue.front());
  queue.pop_front();
  if (first.key == fence) return std::nullopt;
  const std::string rule = state.clients.rule_of_unexpected(observer, first);
  const bool itself = rule == "KEY-BINARY-1" || is_told_again(rule);
  return Problem{.message = "a notification that must not be sent",
                 .expected = "no notification",
                 .actual = shown(first),
                 .attribution = {.requirement = itself ? rule : step.cites, .direct = rule}};
}

// Is the step to be judged, as far as it depends on an earlier open outcome?
bool is_due(const std::optional<scenario::OutcomeSeen>& when, const CaseState& state) {
  if (!when) return true;
  const auto found = state.marks.find(when->mark);
  if (found == state.marks.end() || !found->second.outcome) return false;
  const std::vector<std::string>& outcomes = when->outcomes;
  return std::find(outcomes.begin(), outcomes.end(), *found->second.outcome) != outcomes.end();
}

MaybeProblem judge_optional(const Awaited& awaited, const std::string& fence, CaseState& state) {
  const scenario::Optional& choice = *awaited.step.optional;
  const std::deque<Notified>& queue = awaited.queue();
  const bool came = !queue.empty() && queue.front().key != fence;
  // By the article alone it may come behind the notification of a later change.
  if (!came && state.may_not_bind("NTF-ORDER-1")) {
    ChangeLog::Notification late{.observer = awaited.observer.client_id(),
                                 .key = state.bytes_of(awaited.step.key),
                                 .operation = awaited.step.operation};
    if (awaited.step.value) late.value = state.bytes_of(*awaited.step.value);
    state.belated.push_back(std::move(late));
  }
  state.note_choice(choice.point, came ? choice.came : choice.missing);
  return came ? judge_first(awaited, state) : std::nullopt;
}

// Sets a key.
using WriteFence = std::function<MaybeProblem(const std::string& key)>;

// That nothing came before the notification of a key that is written now, but one that is awaited
// and may come or not.
MaybeProblem prove_no_notification(const scenario::SilenceStep& step, RequestClient& observer,
                                   const WriteFence& write, CaseState& state,
                                   const Awaited* optional = nullptr) {
  const std::string fence = state.key_prefix + fmt::format("fence-{}", ++state.fences);
  if (auto problem = run_command(observer, {"KEYNOTIFY", fence}, state)) return problem;
  state.keys.add(fence);
  if (auto problem = write(fence)) return problem;
  const auto arrived = [&] {
    const std::deque<Notified>& queue = observer.notifications();
    leave_out_late_expiries(observer, optional == nullptr ? nullptr : &optional->step, state);
    const bool fenced = std::any_of(queue.begin(), queue.end(),
                                    [&](const Notified& each) { return each.key == fence; });
    return fenced || (optional == nullptr && !queue.empty()) || !observer.unsolicited().empty();
  };
  const bool in_time = observer.pump_until(arrived, state.reply_timeout());
  if (!in_time && !observer.disconnected() &&
      explain_no_response(observer, arrived, std::nullopt, state) == NoResponse::kStore) {
    return nobody_answers("the fence notification did not arrive",
                          "a notification for the fence key and nothing before it", state);
  }
  if (auto problem = state.clients.check_unsolicited()) return problem;
  leave_out_belated(observer, state);
  if (optional != nullptr) {
    if (auto problem = judge_optional(*optional, fence, state)) return problem;
  }
  if (auto problem = judge_fence(step, observer, fence, state)) return problem;
  return run_command(observer, {"KEYNOTIFY", fence, "STOP"}, state);
}

// By a client that has nothing to do with the case.
MaybeProblem write_as_prober(const std::string& key, CaseState& state) {
  const std::string id = state.clients.client_id(fmt::format("witness-{}", ++state.probers));
  auto connection = state.session.connect({.client_id = id});
  if (!connection) return lost(connection.error());
  RequestClient prober("witness", std::move(*connection), id, state.clock,
                       Recording{state.result.transcript, state.start, state.settings.transcripts});
  if (auto done = prober.raw().subscribe(prober.response_topic()); !done) {
    return lost(done.error());
  }
  codec::Message message = prober.request({"SET", key, "fence"});
  // Req: HLC-REQUIRED-1
  message.user_properties.emplace_back(codec::kTimestampProperty,
                                       hlc::format({state.store_wall_ms(), 0, id}));
  const auto sent = prober.send(std::move(message));
  if (!sent) return lost(sent.error());
  if (prober.await(**sent, state.reply_timeout()) && (*sent)->reply &&
      (*sent)->reply->is(codec::ReplyKind::kOk)) {
    return std::nullopt;
  }
  return Problem{.verdict = Verdict::kInconclusive,
                 .message =
                     "the suite's second client could not write the key that proves that no "
                     "notification was sent"};
}

// Behind the fence it cannot come any more. Req: NTF-ORDER-1
MaybeProblem run_optional(const scenario::NotificationStep& step, CaseState& state) {
  auto observer = state.clients.get(step.client);
  if (!observer) return observer.error();
  auto writer = state.clients.get(step.optional->writer);
  if (!writer) return writer.error();
  take_back_expiry(step, **observer, state);
  Awaited awaited{
      .step = step, .observer = **observer, .expected = describe_notification(step, state)};
  ChangeLog::Notification wanted{.observer = (*observer)->client_id(),
                                 .key = state.bytes_of(step.key),
                                 .operation = step.operation};
  if (step.value) wanted.value = state.bytes_of(*step.value);
  awaited.cause = state.changes.take(wanted, state.clock.now());
  const scenario::SilenceStep behind{
      .client = step.client, .writer = step.optional->writer, .cites = step.cites};
  return prove_no_notification(
      behind, **observer,
      [&](const std::string& key) {
        return run_command(**writer, {"SET", key, "fence"}, state);
      },
      state, &awaited);
}

}  // namespace

void leave_out_late_expiries(RequestClient& observer, CaseState& state) {
  leave_out_late_expiries(observer, nullptr, state);
}

MaybeProblem run_notification(const scenario::NotificationStep& step, CaseState& state) {
  if (!is_due(step.when, state)) return std::nullopt;
  if (step.optional) return run_optional(step, state);
  auto found = state.clients.get(step.client);
  if (!found) return found.error();
  RequestClient& observer = **found;
  std::deque<Notified>& queue = observer.notifications();
  take_back_expiry(step, observer, state);
  const auto arrived = [&] {
    leave_out_late_expiries(observer, &step, state);
    return !queue.empty();
  };
  // Where it must be there already, it is the order of messages that is judged, not time.
  const bool in_order = step.within.count() == 0;
  const bool late = in_order && !arrived();
  // One that comes late is another fault than one that never comes.
  endpoint::Duration within =
      state.scaled(in_order ? scenario::NotificationStep{}.within : step.within);
  // Req: NTF-EXPIRY-1. The store notifies of an expiry when it notices it.
  within +=
      std::max(std::chrono::milliseconds{0}, state.settings.expiry_tolerance - kExpiryTolerance);
  observer.pump_until(arrived, within);
  Awaited awaited{
      .step = step, .observer = observer, .expected = describe_notification(step, state)};
  const auto known = [&] { return arrived() || !observer.unsolicited().empty(); };
  if (!in_order && !known() && !observer.disconnected() &&
      explain_no_response(observer, known, std::nullopt, state) == NoResponse::kStore) {
    return nobody_answers("no notification", awaited.expected, state);
  }
  ChangeLog::Notification wanted{.observer = observer.client_id(),
                                 .key = state.bytes_of(step.key),
                                 .operation = step.operation};
  if (step.value) wanted.value = state.bytes_of(*step.value);
  awaited.cause = state.changes.take(wanted, state.clock.now());
  if (queue.empty()) {
    if (observer.disconnected()) return unexpected_disconnect(observer);
    if (!observer.unsolicited().empty()) return state.clients.check_unsolicited();
    if (awaited.cause == judge::Cause::kExpiry) state.changes.give_back(wanted, state.clock.now());
    return missing(awaited, in_order ? endpoint::Duration{0} : within, state);
  }
  if (late) {
    auto problem =
        awaited.attribution(Problem{.message = "no notification",
                                    .expected = awaited.expected,
                                    .actual = nothing_within({}).words("; it came later"),
                                    .kind = judge::Mismatch::kNotificationLate},
                            state);
    if (problem) return problem;
  }
  bring_forward(awaited, within, state);
  if (queue.empty()) return missing(awaited, within, state);  // all that came was belated
  return judge_first(awaited, state);
}

MaybeProblem run_silence(const scenario::SilenceStep& step, CaseState& state) {
  if (!is_due(step.when, state)) return std::nullopt;
  auto observer = state.clients.get(step.client);
  if (!observer) return observer.error();
  auto writer = state.clients.get(step.writer);
  if (!writer) return writer.error();
  auto problem = prove_no_notification(
      step, **observer,
      [&](const std::string& key) {
        return run_command(**writer, {"SET", key, "fence"}, state);
      },
      state);
  if (!problem) {
    for (const auto& [point, outcome] : step.shows) state.note_choice(point, outcome);
  }
  const bool own = step.client == step.writer;
  if (!problem || !own || problem->kind != judge::Mismatch::kNotificationMissing) return problem;
  const std::string rule(judge::rule_of(
      {.kind = judge::Mismatch::kNotificationMissing, .cause = judge::Cause::kOwnChange}));
  problem->attribution.requirement = problem->attribution.direct = rule;
  problem = state.unless_excused(*std::move(problem));
  if (problem) return problem;
  // Req: NTF-SELF-1. A store may leave out notifications of a client's own changes: then the change
  // of another client has to prove the silence.
  return prove_no_notification(
      step, **observer, [&](const std::string& key) { return write_as_prober(key, state); }, state);
}

}  // namespace fencepost::run
