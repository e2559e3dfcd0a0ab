#include "traffic/replay/replay.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/text_wrap.h"
#include "suite/scenario/recorded.h"

namespace fencepost::replay {
namespace {

constexpr std::array kOutcomes = {
    Replayed::kFixed,        Replayed::kStillFailing, Replayed::kChanged,
    Replayed::kPasses,       Replayed::kFails,        Replayed::kFlaky,
    Replayed::kInconclusive, Replayed::kSkipped,      Replayed::kNotRun};

bool has_recorded_failure(const scenario::Case& test_case) {
  return test_case.recorded && test_case.recorded->failed();
}

void count(Replay& replay, const std::vector<run::CaseResult>& results) {
  replay.runs = results.size();
  std::set<std::string> signatures;
  for (const run::CaseResult& result : results) {
    if (result.verdict == run::Verdict::kPassed) ++replay.passed;
    if (result.verdict == run::Verdict::kInconclusive) ++replay.inconclusive;
    if (result.verdict != run::Verdict::kFailed) continue;
    ++replay.failed;
    signatures.insert(signature(result.failure));
  }
  replay.always_alike = signatures.size() <= 1;
}

// The first of them with this verdict, if any.
std::vector<run::CaseResult>::iterator find(std::vector<run::CaseResult>& results,
                                            run::Verdict verdict) {
  return std::find_if(results.begin(), results.end(),
                      [&](const run::CaseResult& result) { return result.verdict == verdict; });
}

Replayed outcome_of_failure(const Replay& replay, bool as_recorded) {
  if (replay.passed > 0) return Replayed::kFlaky;
  if (!has_recorded_failure(*replay.test_case)) return Replayed::kFails;
  return as_recorded ? Replayed::kStillFailing : Replayed::kChanged;
}

}  // namespace

std::string_view name(Replayed outcome) {
  switch (outcome) {
    case Replayed::kFixed:
      return "fixed";
    case Replayed::kStillFailing:
      return "still failing";
    case Replayed::kChanged:
      return "changed";
    case Replayed::kPasses:
      return "passes";
    case Replayed::kFails:
      return "fails";
    case Replayed::kFlaky:
      return "flaky";
    case Replayed::kInconclusive:
      return "inconclusive";
    case Replayed::kSkipped:
      return "skipped";
    case Replayed::kNotRun:
      return "not run";
  }
  return "unknown";
}

bool is_failure(Replayed outcome) {
  return outcome == Replayed::kStillFailing || outcome == Replayed::kChanged ||
         outcome == Replayed::kFails || outcome == Replayed::kFlaky;
}

bool is_as_recorded(const scenario::Recorded& recorded, const run::CaseResult& failure) {
  if (!recorded.signature.empty()) return recorded.signature == signature(failure.failure);
  return recorded.requirement == failure.failure.requirement;
}

Replay classify(const scenario::Case& test_case, std::vector<run::CaseResult> results) {
  FENCEPOST_CHECK(!results.empty());
  Replay out{.test_case = &test_case};
  count(out, results);
  auto shown = results.begin();
  if (out.failed > 0) {
    const auto as_recorded = std::find_if(results.begin(), results.end(), [&](const auto& result) {
      return result.verdict == run::Verdict::kFailed && has_recorded_failure(test_case) &&
             is_as_recorded(*test_case.recorded, result);
    });
    out.outcome = outcome_of_failure(out, as_recorded != results.end());
    shown = as_recorded != results.end() ? as_recorded : find(results, run::Verdict::kFailed);
  } else if (out.inconclusive > 0) {
    out.outcome = Replayed::kInconclusive;
    shown = find(results, run::Verdict::kInconclusive);
  } else if (const auto skipped = find(results, run::Verdict::kSkipped); skipped != results.end()) {
    out.outcome = Replayed::kSkipped;
    shown = skipped;
  } else if (out.passed == out.runs) {
    out.outcome = has_recorded_failure(test_case) ? Replayed::kFixed : Replayed::kPasses;
  } else {
    const auto lost = find(results, run::Verdict::kLost);
    shown = lost != results.end() ? lost : find(results, run::Verdict::kNotRun);
    FENCEPOST_CHECK(shown != results.end());
  }
  out.result = std::move(*shown);
  return out;
}

scenario::Recorded with_failure(scenario::Recorded recorded, const run::CaseResult& failure) {
  recorded.requirement = failure.failure.requirement;
  recorded.signature = signature(failure.failure);
  recorded.message = scenario::recorded_words(failure.failure.message);
  recorded.expected = scenario::recorded_words(failure.failure.expected);
  recorded.actual = scenario::recorded_words(failure.failure.actual);
  return recorded;
}

run::ExitCode exit_code(const ReplayRun& run) {
  const auto any = [&](auto&& holds) {
    return std::any_of(run.cases.begin(), run.cases.end(),
                       [&](const Replay& replay) { return holds(replay.outcome); });
  };
  if (!run.load_errors.empty()) return run::ExitCode::kUsage;
  if (run.not_begun) return *run.not_begun;
  if (any(is_failure) || !run.mixed_forms.empty()) return run::ExitCode::kFailed;
  if (run.endpoint_lost) return run::ExitCode::kUnreachable;
  if (run.interrupted) return run::ExitCode::kInterrupted;
  if (!any([](Replayed outcome) { return outcome != Replayed::kSkipped; })) {
    return run::ExitCode::kNothingSelected;
  }
  const bool undecided = any([](Replayed outcome) {
    return outcome == Replayed::kInconclusive || outcome == Replayed::kNotRun;
  });
  return undecided ? run::ExitCode::kInconclusive : run::ExitCode::kConformant;
}

std::string summary(const ReplayRun& run) {
  std::string out = text::counted(run.cases.size(), "case");
  bool first = true;
  for (const Replayed outcome : kOutcomes) {
    const auto number = std::count_if(run.cases.begin(), run.cases.end(),
                                      [&](const Replay& each) { return each.outcome == outcome; });
    if (number == 0) continue;
    std::string_view word = name(outcome);
    if (number > 1 && outcome == Replayed::kPasses) word = "pass";
    if (number > 1 && outcome == Replayed::kFails) word = "fail";
    out += fmt::format("{} {} {}", first ? ":" : ",", number, word);
    first = false;
  }
  return out;
}

Result<scenario::Recorded, std::string> healed(const Replay& replay) {
  const scenario::Case& test_case = *replay.test_case;
  FENCEPOST_CHECK(has_recorded_failure(test_case));
  scenario::Recorded out = *test_case.recorded;
  const scenario::Recorded now = with_failure({.by = out.by}, replay.result);
  const auto heal_member = [&](std::string scenario::Recorded::*member) {
    if (!(out.*member).empty()) out.*member = now.*member;
  };
  switch (replay.outcome) {
    case Replayed::kFixed:
      return scenario::Recorded{
          .by = out.by, .when = out.when, .endpoint = out.endpoint, .seed = out.seed};
    case Replayed::kStillFailing:
      return fail(std::string("it fails as recorded"));
    case Replayed::kFlaky:
      return fail(fmt::format("it failed in {} of {} runs", replay.failed, replay.runs));
    case Replayed::kChanged:
      break;
    default:
      return fail(fmt::format("it is {}: {}", name(replay.outcome), replay.result.failure.message));
  }
  if (replay.failed != replay.runs) {
    return fail(fmt::format("only {} of {} runs were judged", replay.failed, replay.runs));
  }
  if (!replay.always_alike) return fail(std::string("its failures differ from run to run"));
  heal_member(&scenario::Recorded::requirement);
  heal_member(&scenario::Recorded::signature);
  heal_member(&scenario::Recorded::message);
  heal_member(&scenario::Recorded::expected);
  heal_member(&scenario::Recorded::actual);
  if (!out.failed()) return fail(std::string("its new failure has neither a rule nor a signature"));
  return out;
}

}  // namespace fencepost::replay
