// Test only: runs that reports are made of, without a run.
//
//   const Sample run = every_verdict();
//   to_junit(run.result, test::catalogue(), sample_context());
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/github.h"
#include "report/report.h"
#include "suite/run/suite.h"
#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {

// An environment that has these variables and no others.
inline Variables variables_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

inline ReportContext sample_context(bool strict = false) {
  using namespace std::chrono_literals;
  return {.endpoint = "mqtt://host:1883",
          .profile = codec::Profile::kAuto,
          .seed = 7,
          .strict = strict,
          .command = "fencepost certify --seed 7",
          .started = "2026-01-01T00:00:00Z",
          .preflight = {.round_trip_p50 = 1ms,
                        .round_trip_p99 = 2ms,
                        .clock_offset_ms = -3,
                        .clock_bounds = {-5, -1},
                        .clock_source = judge::ClockSource::kRefusals}};
}

// A case and what became of it.
struct SampleCase {
  std::string id;
  run::Verdict verdict = run::Verdict::kPassed;
  std::string area = "set";
  std::string requirements = "R-MUST-1";
  std::string message{};
  std::string actual{};
  std::string baseline{};
  bool unexpected_pass = false;
};

// A run, and the cases that its results point to.
struct Sample {
  explicit Sample(const std::vector<SampleCase>& all) {
    using namespace std::chrono_literals;
    cases.reserve(all.size());
    for (const SampleCase& sample : all) {
      cases.push_back(test::case_of({.id = sample.id,
                                     .area = sample.area,
                                     .requirements = sample.requirements,
                                     .steps = "- get: k\n  expect: missing\n"}));
      run::CaseResult entry{.test_case = &cases.back(), .verdict = sample.verdict};
      entry.failure.position = cases.back().position;
      entry.failure.message = sample.message;
      entry.baseline = sample.baseline;
      entry.unexpected_pass = sample.unexpected_pass;
      entry.duration = 1500us;
      const bool attributed = sample.verdict == run::Verdict::kFailed ||
                              sample.verdict == run::Verdict::kInconclusive ||
                              sample.verdict == run::Verdict::kExpectedFailure;
      if (attributed && !sample.unexpected_pass) {
        entry.failure = test::failure(cases.back().requirements.front(), sample.message,
                                      "$-1\\r\\n", sample.actual);
        entry.failure.step = 1;
        entry.failure.position = cases.back().steps[0].position;
      }
      result.cases.push_back(std::move(entry));
    }
    result.duration = 12ms;
  }
  Sample(const Sample&) = delete;  // the results would point into the other's cases
  Sample& operator=(const Sample&) = delete;
  Sample(Sample&&) = default;
  Sample& operator=(Sample&&) = default;
  ~Sample() = default;

  std::vector<scenario::Case> cases;
  run::SuiteResult result;
};

inline Sample every_verdict() {
  using namespace std::chrono_literals;
  Sample run(
      {{.id = "good"},
       {.id = "bad", .verdict = run::Verdict::kFailed, .message = "wrong", .actual = "+OK\\r\\n"},
       {.id = "warns",
        .verdict = run::Verdict::kFailed,
        .requirements = "R-SHOULD-1",
        .message = "not nice",
        .actual = "-"},
       {.id = "late",
        .verdict = run::Verdict::kInconclusive,
        .area = "time",
        .message = "too late"},
       {.id = "cannot", .verdict = run::Verdict::kSkipped, .message = "quota: none"},
       {.id = "gone", .verdict = run::Verdict::kLost, .area = "time", .message = "no connection"},
       {.id = "after", .verdict = run::Verdict::kNotRun, .area = "time"}});
  run.result.summary = {
      .passed = 1, .failed = 1, .warnings = 1, .skipped = 1, .inconclusive = 1, .not_run = 2};
  run.result.endpoint_lost = true;
  run.result.forms[codec::Divergence::kSetNotApplied] = {codec::DialectId::kDeployed};
  run.result.unspecified_points["R-MAY-1"] = {"a", "b"};
  run.result.round_trips = {1ms, 2ms, 3ms};
  return run;
}

// A run that was compared with a baseline: a failure that it knows, one that is no more, and an
// entry that fits nothing.
inline Sample with_baseline() {
  Sample run({{.id = "known",
               .verdict = run::Verdict::kExpectedFailure,
               .message = "wrong",
               .actual = "+OK\\r\\n",
               .baseline = "NEX not honoured, ACME-12"},
              {.id = "outdated",
               .verdict = run::Verdict::kFailed,
               .requirements = "R-SHOULD-1",
               .baseline = "SCAN absent, ACME-40",
               .unexpected_pass = true},
              {.id = "good", .area = "get"}});
  run.result.baseline_errors = {"known.yaml:4: the entry gone.* matches no case"};
  run::summarize(run.result, test::catalogue(), false);
  return run;
}

// Every byte, alone and in all its neighbourhoods that XML, JSON and markdown care about.
inline std::string every_byte() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out +
         "]]><!--&amp;<a href=\"x\">'|`*_{0}::error::\xc3\xa9\xef\xbf\xbe\xed\xa0\x80\xf0\x9f";
}

// A run whose every text holds every byte.
inline Sample any_bytes() {
  using namespace std::chrono_literals;
  const std::string bytes = every_byte();
  std::vector<SampleCase> sample;
  for (const run::Verdict verdict :
       {run::Verdict::kPassed, run::Verdict::kFailed, run::Verdict::kExpectedFailure,
        run::Verdict::kInconclusive, run::Verdict::kSkipped, run::Verdict::kLost}) {
    sample.push_back({.id = std::string(name(verdict)),
                      .verdict = verdict,
                      .message = bytes,
                      .actual = bytes,
                      .baseline = bytes});
  }
  Sample run(sample);
  for (scenario::Case& test_case : run.cases) test_case.title = bytes;
  for (run::CaseResult& entry : run.result.cases) {
    entry.failure.expected = bytes;
    entry.transcript.push_back(
        {.time = 1ms, .client = "a", .direction = run::Direction::kEvent, .summary = bytes});
  }
  run.result.baseline_errors = {bytes};
  run::summarize(run.result, test::catalogue(), false);
  return run;
}

}  // namespace fencepost::report
