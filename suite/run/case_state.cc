#include "suite/run/case_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {
namespace {

constexpr std::size_t kBytesPerSecond = 102'400;  // what a slow path carries of a large value

std::string tag_of(const scenario::Case& test_case, int attempt) {
  const std::string text =
      attempt == 1 ? test_case.id : fmt::format("{} {}", test_case.id, attempt);
  return fmt::format("{:08x}", stable_hash(text) & 0xffffffffU);
}

}  // namespace

CaseState::CaseState(const scenario::Case& the_case, endpoint::Session& the_session,
                     const RunSettings& the_settings)
    : test_case(the_case),
      session(the_session),
      clock(the_session.clock()),
      settings(the_settings),
      tag(tag_of(the_case, the_settings.attempt)),
      key_prefix(the_settings.key_prefix + "/" + the_settings.run_id + "/" + tag + "/"),
      start(clock.now()),
      clients(the_case, the_session, the_settings, tag, key_prefix, result.transcript),
      store_clock(the_settings.clock_bounds),
      random(the_settings.seed ^ stable_hash(the_case.id)) {
  result.test_case = &the_case;
}

endpoint::Duration CaseState::scaled(endpoint::Duration time) const {
  return run::scaled(time, settings.timeout_scale);
}

endpoint::Duration CaseState::reply_timeout() const {
  const endpoint::Duration small =
      settings.path == nullptr ? kReplyTimeout : session.measured(settings.path->reply_limit());
  return scaled(small + std::chrono::seconds{largest_payload / kBytesPerSecond});
}

endpoint::Duration CaseState::path_tail() const {
  return settings.path == nullptr ? endpoint::Duration{0} : session.measured(settings.path->tail());
}

endpoint::Duration CaseState::time_of(const scenario::TimePoint& point) const {
  const auto mark = marks.find(point.mark);
  FENCEPOST_CHECK(mark != marks.end());  // the loader has checked the names
  const endpoint::Duration base =
      point.after_reply ? mark->second.replied.value_or(mark->second.sent) : mark->second.sent;
  return base + point.offset;
}

endpoint::Duration CaseState::end_of_wait(endpoint::Duration planned) const {
  // Cases are written for the default.
  const auto more = settings.expiry_tolerance - kExpiryTolerance;
  const bool passes_an_expiry =
      std::any_of(expiries.begin(), expiries.end(),
                  [&](const auto& of_key) { return of_key.second <= planned; });
  return passes_an_expiry && more.count() > 0 ? planned + more : planned;
}

std::int64_t CaseState::our_wall_ms() const { return static_cast<std::int64_t>(clock.wall_ms()); }

std::uint64_t CaseState::store_wall_ms() const {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(our_wall_ms() + settings.clock_offset_ms, 0));
}

std::string CaseState::bytes_of(const scenario::BytesSpec& spec) const {
  return judge::resolve(spec, key_prefix, fillings);
}

Failure CaseState::failure_of(const Problem& problem) const {
  Failure out = run::failure_of(problem, {settings.key_prefix, settings.run_id});
  out.step = step_number;
  out.position = position;
  return out;
}

bool CaseState::may_not_bind(std::string_view requirement) const {
  return settings.unsettled != nullptr && settings.unsettled->contains(std::string(requirement));
}

MaybeProblem CaseState::unless_excused(Problem problem) {
  const bool failed = problem.verdict == Verdict::kFailed;
  if (!failed || !may_not_bind(problem.attribution.requirement) ||
      !judge::leaves_case_sound(problem.kind)) {
    return problem;
  }
  result.deviations.push_back(failure_of(problem));
  return std::nullopt;
}

void CaseState::note_unspecified(const scenario::RequestStep& step,
                                 const scenario::Outcome& outcome) {
  if (!step.expect.open || outcome.name.empty()) return;
  if (!step.mark.empty()) marks[step.mark].outcome = outcome.name;
  const std::string& id =
      step.expect.cites.empty() ? test_case.requirements.front() : step.expect.cites;
  result.unspecified_points.emplace_back(id, outcome.name);
}

void CaseState::note_choice(const std::string& point, const std::string& outcome) {
  result.unspecified_points.emplace_back(point, outcome);
}

void CaseState::note_observed(std::string_view requirement, std::string seen) {
  const std::vector<std::string>& about = test_case.requirements;
  if (std::find(about.begin(), about.end(), requirement) == about.end()) return;
  result.unspecified_points.emplace_back(requirement, std::move(seen));
}

std::string CaseState::rule_of_outcome(const std::string& mark) const {
  const auto found = marks.find(mark);
  return found == marks.end() ? std::string() : found->second.rule_of_effect;
}

scenario::Expectation CaseState::settled(const scenario::Expectation& expect) const {
  scenario::Expectation out = expect;
  const auto found = marks.find(expect.by);
  if (found == marks.end() || !found->second.outcome) return out;
  const Mark& mark = found->second;
  // A canary has no branches.
  std::erase_if(out.outcomes, [&](const scenario::Outcome& outcome) {
    return !outcome.after.empty() && outcome.after != *mark.outcome;
  });
  out.open = std::any_of(out.outcomes.begin(), out.outcomes.end(),
                         [](const scenario::Outcome& outcome) { return !outcome.name.empty(); });
  return out;
}

}  // namespace fencepost::run
