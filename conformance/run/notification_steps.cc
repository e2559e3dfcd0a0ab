#include "conformance/run/notification_steps.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/notification.h"
#include "conformance/run/message_checks.h"
#include "conformance/run/reply_judge.h"
#include "conformance/run/request_steps.h"

namespace fencepost::run {
namespace {

constexpr std::size_t kMaxShownPayload = 300;
constexpr std::size_t kMaxShownKey = 100;

std::string shown(const Notified& notified) {
  return fmt::format("{} for key \"{}\"", escape(notified.message.payload, kMaxShownPayload),
                     escape(notified.key, kMaxShownKey));
}

// The notification in the forms that the profile allows, for people.
std::string describe_notification(const scenario::NotificationStep& step, const CaseState& state) {
  const std::string value = step.value ? state.bytes_of(*step.value) : "";
  std::vector<std::string> forms;
  for (const codec::DialectId id : codec::dialects_of(state.settings.profile)) {
    std::string payload;
    codec::append_notification(payload, {.operation = step.operation, .value = value},
                               codec::dialect(id));
    payload = escape(payload, kMaxShownPayload);
    if (std::find(forms.begin(), forms.end(), payload) == forms.end()) {
      forms.push_back(std::move(payload));
    }
  }
  return fmt::format("{} for key \"{}\"", fmt::join(forms, "  or  "),
                     escape(state.bytes_of(step.key), kMaxShownKey));
}

MaybeProblem judge_payload(const scenario::NotificationStep& step, const Notified& notified,
                           const std::string& expected, CaseState& state) {
  Problem other{.message = "the notification is not the expected one",
                .expected = expected,
                .actual = shown(notified)};
  const auto decoded = codec::decode_notification(notified.message.payload);
  if (notified.key != state.bytes_of(step.key) || !decoded ||
      decoded->operation != step.operation) {
    return other;
  }
  if (step.value && decoded->value != state.bytes_of(*step.value)) return other;
  if (!decoded->form) return std::nullopt;
  const judge::SeenForm form{codec::Divergence::kDeleteOperation, *decoded->form};
  const std::vector<codec::DialectId> dialects = codec::dialects_of(state.settings.profile);
  if (std::find(dialects.begin(), dialects.end(), form.second) == dialects.end()) {
    blame_dialect(form, "notification", state, other);
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

MaybeProblem judge_notification(const scenario::NotificationStep& step, const Notified& notified,
                                const std::string& expected, CaseState& state) {
  MaybeProblem problem = judge_payload(step, notified, expected, state);
  if (!problem) problem = judge_flags(step, notified.message);
  if (!problem) {
    problem = check_properties(scenario::Expectation{.content_type = step.content_type},
                               notified.message);
  }
  if (!problem) problem = check_timestamp(step.timestamp, {}, notified.message, state.saved);
  return problem;
}

// What the observer received first must be the notification of the fence.
MaybeProblem judge_fence(const scenario::SilenceStep& step, RequestClient& observer,
                         const std::string& fence) {
  std::deque<Notified>& queue = observer.notifications();
  if (queue.empty()) {
    if (observer.disconnected()) return unexpected_disconnect(observer);
    return Problem{.message = "the fence notification did not arrive",
                   .expected = "a notification for the fence key and nothing before it",
                   .actual = "nothing",
                   .cites = step.cites};
  }
  const Notified first = std::move(queue.front());
  queue.pop_front();
  if (first.key == fence) return std::nullopt;
  return Problem{.message = "a notification that must not be sent",
                 .expected = "no notification",
                 .actual = shown(first),
                 .cites = step.cites};
}

}  // namespace

MaybeProblem run_notification(const scenario::NotificationStep& step, CaseState& state) {
  auto found = state.clients.get(step.client);
  if (!found) return found.error();
  RequestClient& observer = **found;
  std::deque<Notified>& queue = observer.notifications();
  const endpoint::Duration within = state.scaled(step.within);
  observer.pump_until([&] { return !queue.empty(); }, within);
  const std::string expected = describe_notification(step, state);
  if (queue.empty()) {
    if (observer.disconnected()) return unexpected_disconnect(observer);
    if (!observer.surprises().empty()) return state.clients.check_surprises();
    return Problem{.message = "no notification",
                   .expected = expected,
                   .actual = fmt::format("nothing within {} ms", within.count() / 1000),
                   .cites = step.cites};
  }
  const Notified notified = std::move(queue.front());
  queue.pop_front();
  MaybeProblem problem = judge_notification(step, notified, expected, state);
  if (problem && problem->cites.empty()) problem->cites = step.cites;
  return problem;
}

MaybeProblem run_silence(const scenario::SilenceStep& step, CaseState& state) {
  auto observer = state.clients.get(step.client);
  if (!observer) return observer.error();
  auto writer = state.clients.get(step.writer);
  if (!writer) return writer.error();
  const std::string fence = state.key_prefix + fmt::format("fence-{}", ++state.fences);
  if (auto problem = run_command(**observer, {"KEYNOTIFY", fence}, state)) return problem;
  state.keys.add(fence);
  if (auto problem = run_command(**writer, {"SET", fence, "fence"}, state)) return problem;
  const auto arrived = [&of = **observer] {
    return !of.notifications().empty() || !of.surprises().empty();
  };
  (*observer)->pump_until(arrived, state.reply_timeout());
  if (auto problem = state.clients.check_surprises()) return problem;
  if (auto problem = judge_fence(step, **observer, fence)) return problem;
  return run_command(**observer, {"KEYNOTIFY", fence, "STOP"}, state);
}

}  // namespace fencepost::run
