// What reports say of the concurrent clients: see run/stress_result.h. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "suite/run/stress_result.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// "16 concurrent clients (everything): 36,012 requests in 2.0 s: linearizable, no rule broken".
// Without full stop.
[[nodiscard]] std::string stress_text(const run::StressResult& stress);

// What was found, in one line: "SET-WRITE-2: a GET returned an older version ...".
[[nodiscard]] std::string stress_headline(const run::StressFinding& finding);

// The operations that contradict each other, a line each.
[[nodiscard]] std::vector<std::string> stress_lines(const run::StressFinding& finding);

// All about a finding, as lines: rule, what was seen, operations, and
// how to repeat it.
[[nodiscard]] std::string stress_evidence(const run::StressResult& stress,
                                          const run::StressFinding& finding,
                                          const scenario::Catalogue& catalogue);

// As docs/report.schema.json has it, and back.
[[nodiscard]] nlohmann::ordered_json stress_json(const run::StressResult& stress);
[[nodiscard]] run::StressResult read_stress(const JsonMembers& members);

}  // namespace fencepost::report
