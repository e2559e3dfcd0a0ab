// What the parts of a running case share: what it has sent and saved so far, its clients, and its
// result. The parts are request_builder, request_steps, reply_judge, notification_steps and
// key_series; case_runner.cc puts them together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/judge/judge.h"
#include "suite/judge/key_states.h"
#include "suite/judge/store_clock.h"
#include "suite/run/case_clients.h"
#include "suite/run/case_result.h"
#include "suite/run/change_log.h"
#include "suite/run/key_log.h"
#include "suite/run/message_checks.h"
#include "suite/run/run_settings.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// When a marked request was sent and answered, on the session's clock.
struct Mark {
  endpoint::Duration sent{0};
  std::optional<endpoint::Duration> replied{};
  // For a request with open outcomes, once one is seen: which, and the rule by which the key is
  // then what it is.
  std::optional<std::string> outcome{};
  std::string rule_of_effect{};
};

// For one case, used by one thread. All references must outlive it.
struct CaseState {
  CaseState(const scenario::Case& test_case, endpoint::Session& session,
            const RunSettings& settings);
  CaseState(const CaseState&) = delete;
  CaseState& operator=(const CaseState&) = delete;

  [[nodiscard]] endpoint::Duration scaled(endpoint::Duration time) const;
  // How long a reply is waited for: a large value may come back with it.
  [[nodiscard]] endpoint::Duration reply_timeout() const;
  // How long the slowest of the last requests took; zero when nobody has measured it.
  [[nodiscard]] endpoint::Duration path_tail() const;
  [[nodiscard]] endpoint::Duration time_of(const scenario::TimePoint& point) const;
  // When a wait until `planned` has to end: later by what the store may take longer than usual to
  // notice that a key has expired, if the wait goes past the end of a PX.
  [[nodiscard]] endpoint::Duration end_of_wait(endpoint::Duration planned) const;
  [[nodiscard]] std::int64_t our_wall_ms() const;
  // An estimate, never negative.
  [[nodiscard]] std::uint64_t store_wall_ms() const;
  [[nodiscard]] std::string bytes_of(const scenario::BytesSpec& spec) const;
  // The problem as it is kept: of the step that is carried out.
  [[nodiscard]] Failure failure_of(const Problem& problem) const;
  // May this rule turn out not to apply to the store?
  [[nodiscard]] bool may_not_bind(std::string_view requirement) const;
  // The problem; nothing when its rule may not apply to this store and the case can continue: then
  // it is kept as a deviation.
  [[nodiscard]] MaybeProblem unless_excused(Problem problem);
  void note_unspecified(const scenario::RequestStep& step, const scenario::Outcome& outcome);
  // The same of a choice that shows in notifications.
  void note_choice(const std::string& point, const std::string& outcome);
  // Records what was seen of an unspecified point that no reply shows, if the case is about it.
  void note_observed(std::string_view requirement, std::string seen);
  // The rule by which the open request of this mark has its effect; empty when there is none.
  [[nodiscard]] std::string rule_of_outcome(const std::string& mark) const;
  // What is expected after the outcome that the request which the expectation depends on had.
  [[nodiscard]] scenario::Expectation settled(const scenario::Expectation& expect) const;

  const scenario::Case& test_case;
  endpoint::Session& session;
  endpoint::Clock& clock;
  const RunSettings& settings;
  const std::string tag;           // unique among the cases of the run
  const std::string key_prefix;    // of every key of the case
  const endpoint::Duration start;  // of the case, on the session's clock
  CaseResult result;
  std::size_t step_number = 0;  // of the step that is carried out, from 1
  scenario::Position position{};
  CaseClients clients;
  KeyLog keys;
  judge::KeyStates key_states;
  ChangeLog changes;  // where anybody observes
  // Optional notifications that had not arrived when the case continued.
  std::vector<ChangeLog::Notification> belated;
  // Notifications of expiries that came while a step awaited something else, with the client id.
  std::vector<std::pair<std::string, Notified>> left_out;
  judge::StoreClock store_clock;
  std::mt19937_64 random;
  SavedTimestamps saved;
  std::map<std::string, Mark> marks;
  std::map<std::string, endpoint::Duration> expiries;  // when the PX of a key has passed for sure
  judge::Fillings fillings;
  std::size_t largest_payload = 0;  // that this case has sent
  std::size_t probers = 0;          // clients that probed a missing response
  std::size_t fences = 0;           // keys that proved a missing notification
};

}  // namespace fencepost::run
