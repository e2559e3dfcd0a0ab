// What reports say of the phases that follow the cases: see run/phase_result.h. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "suite/run/phase_result.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// "16 concurrent clients (everything): 36,012 requests in 2.0 s: linearizable, no rule broken".
// Without full stop.
[[nodiscard]] std::string stress_text(const run::StressResult& stress);

// "all 5819 workloads of depth 1: 44,998 operations in 2.1 s, 94.0 % of them decided: no rule
// broken". Without full stop.
[[nodiscard]] std::string enumeration_text(const run::EnumerationResult& enumeration);

// A phase of a run. Refers to its result.
struct Phase {
  std::string_view id;     // "clients-at-once": what machines know it by
  std::string_view title;  // "concurrent clients"
  std::string subject;     // of a finding: "16 concurrent clients", "a short workload"
  std::string text;        // of stress_text() or enumeration_text()
  bool ran;                // else `error` says why it did not
  std::chrono::microseconds duration;
  const std::vector<run::PhaseFinding>& findings;
  const std::string& error;
  const std::string& command;
};
// Those that the run has had, in this order.
[[nodiscard]] std::vector<Phase> phases_of(const run::SuiteResult& result);

// The phases, as sentences, that have found what fails the run; empty: none has.
[[nodiscard]] std::string failing_phases(const run::SuiteResult& result);

// What was found, in one line: "SET-WRITE-2: a GET returned an older version ...".
[[nodiscard]] std::string finding_headline(const run::PhaseFinding& finding);

// The operations that contradict each other, or the packets, a line each.
[[nodiscard]] std::vector<std::string> finding_lines(const run::PhaseFinding& finding);

// The command that repeats it.
[[nodiscard]] const std::string& command_of(const Phase& phase, const run::PhaseFinding& finding);

// All about a finding, as lines: rule, what was seen, operations, and
// how to repeat it.
[[nodiscard]] std::string finding_evidence(const Phase& phase, const run::PhaseFinding& finding,
                                           const scenario::Catalogue& catalogue);

// As docs/report.schema.json has them, and back.
[[nodiscard]] nlohmann::ordered_json stress_json(const run::StressResult& stress);
[[nodiscard]] run::StressResult read_stress(const JsonMembers& members);
[[nodiscard]] nlohmann::ordered_json enumeration_json(const run::EnumerationResult& enumeration);
[[nodiscard]] run::EnumerationResult read_enumeration(const JsonMembers& members);

}  // namespace fencepost::report
