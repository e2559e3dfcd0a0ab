#include "suite/run/case_runner.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "suite/run/case_state.h"
#include "suite/run/fan_out.h"
#include "suite/run/key_series.h"
#include "suite/run/notification_steps.h"
#include "suite/run/request_builder.h"
#include "suite/run/request_steps.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {
namespace {

// The verdict is known by then: a store that no longer answers must not hold up each case for long.
constexpr std::chrono::milliseconds kCleanUpTimeout{1'000};

// Runs a step by its kind.
class StepRunner {
 public:
  explicit StepRunner(CaseState& state) : state_(state) {}

  MaybeProblem operator()(const scenario::RequestStep& step) { return run_request(step, state_); }
  MaybeProblem operator()(const scenario::PipelineStep& step) {
    return run_requests(step.requests, state_);
  }
  MaybeProblem operator()(const scenario::NotificationStep& step) {
    return run_notification(step, state_);
  }
  MaybeProblem operator()(const scenario::SilenceStep& step) { return run_silence(step, state_); }
  MaybeProblem operator()(const scenario::FillQuotaStep& step) {
    return run_fill_quota(step, state_);
  }
  MaybeProblem operator()(const scenario::WriteManyStep& step) {
    return run_write_many(step, state_);
  }

  MaybeProblem operator()(const scenario::FanOutStep& step) { return run_fan_out(step, state_); }

  MaybeProblem operator()(const scenario::WaitStep& step) {
    const SlotYield waiting(state_.settings.slots);
    state_.clock.wait_until(state_.end_of_wait(step.until ? state_.time_of(*step.until)
                                                          : state_.clock.now() + *step.duration));
    return std::nullopt;
  }

  MaybeProblem operator()(const scenario::ConnectStep& step) {
    return state_.clients.connect(step.client);
  }

  MaybeProblem operator()(const scenario::DisconnectStep& step) {
    return state_.clients.disconnect(step.client, step.drop);
  }

  MaybeProblem operator()(const scenario::UnsubscribeStep& step) {
    return state_.clients.unsubscribe(step.client);
  }

  MaybeProblem operator()(const scenario::DisturbStep& step) {
    return state_.clients.disturb(*step.kind, state_.reply_timeout());
  }

  MaybeProblem operator()(const scenario::SubscribeStep& step) {
    auto client = state_.clients.get(step.client);
    if (!client) return client.error();
    const std::string filter = judge::resolve(step.filter, state_.key_prefix);
    // Nor a SUBSCRIBE. (MQTT 5, 3.2.2.3.6)
    constexpr std::size_t kOtherBytes = 16;  // of one without properties, at most
    const auto limit = (*client)->raw().packet_limit();
    if (limit && filter.size() + kOtherBytes > *limit) {
      return too_large_to_send(filter.size() + kOtherBytes, *limit);
    }
    const auto done = (*client)->raw().subscribe(filter);
    if (!done) return lost(done.error());
    return std::nullopt;
  }

 private:
  CaseState& state_;
};

MaybeProblem run_steps(CaseState& state) {
  StepRunner runner(state);
  state.clients.may_leave_out(
      [&state](RequestClient& client) { leave_out_late_expiries(client, state); });
  for (std::size_t i = 0; i < state.test_case.steps.size(); ++i) {
    const scenario::Step& step = state.test_case.steps[i];
    state.step_number = i + 1;
    state.position = step.position;
    MaybeProblem problem = std::visit(runner, step.what);
    // Here the case ends for a store that need not send what was to be saved.
    if (problem && problem->kind == judge::Mismatch::kNothingSaved &&
        !state.result.deviations.empty()) {
      return state.clients.check_unsolicited();
    }
    // An unsolicited message is wrong regardless of what the step is about.
    if (!problem) problem = state.clients.check_unsolicited();
    if (problem) return problem;
  }
  return state.clients.check_leftovers();
}

void attribute(Problem problem, CaseState& state) {
  CaseResult& result = state.result;
  result.verdict = problem.verdict;
  result.doubt = problem.doubt;
  // If the endpoint turns out to be alive, it has thrown this client out.
  if (problem.verdict == Verdict::kLost && problem.doubt == Doubt::kNone &&
      problem.expected.empty()) {
    problem.expected = "a connection that lasts as long as the case";
  }
  result.failure = state.failure_of(problem);
  // What could not be set up says nothing of the store's rules.
  if (problem.doubt != Doubt::kSetUp && problem.attribution.requirement.empty()) {
    const std::vector<std::string>& rules = state.test_case.requirements;
    const auto first = std::find_if(rules.begin(), rules.end(), [&](const std::string& rule) {
      return judge::may_break(problem.kind, rule);
    });
    result.failure.requirement = first != rules.end()                 ? *first
                                 : problem.attribution.direct.empty() ? rules.front()
                                                                      : problem.attribution.direct;
  }
}

// What the case has written, and how to get rid of it.
WrittenKeys written_keys(CaseState& state) {
  const std::int64_t accepted_ms = state.store_clock.last_accepted_ms(state.our_wall_ms());
  WrittenKeys out =
      state.keys.take(static_cast<std::uint64_t>(std::max<std::int64_t>(accepted_ms, 0)));
  out.client_id = state.clients.client_id("cleaner");
  out.timeout = state.scaled(kCleanUpTimeout);
  return out;
}

}  // namespace

CaseResult run_case(const scenario::Case& test_case, endpoint::Session& session,
                    const RunSettings& settings) {
  const auto started = std::chrono::steady_clock::now();
  CaseState state(test_case, session, settings);
  state.result.verdict = Verdict::kPassed;
  if (MaybeProblem problem = run_steps(state)) attribute(std::move(*problem), state);
  // Whether the endpoint is gone, or has ended one connection, only the suite can find out. In the
  // second case it removes the keys.
  if (state.result.verdict == Verdict::kLost) {
    state.result.left_behind = written_keys(state);
  }
  const bool passed = state.result.verdict == Verdict::kPassed && state.result.deviations.empty();
  // First, so that the keys can be removed over one of the connections.
  state.result.round_trips = state.clients.close(passed);
  if (state.result.verdict != Verdict::kLost && settings.clean_up) {
    remove_keys(session, written_keys(state), settings.pool);
  }
  state.result.duration = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - started);
  return std::move(state.result);
}

}  // namespace fencepost::run
