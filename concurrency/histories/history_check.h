// A history of concurrent requests, read from its file and judged: what `check` does with files of
// them, `judge` with the history in evidence, and `stress` with its own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "concurrency/histories/checked_history.h"
#include "report/report_files.h"
#include "suite/run/exit_code.h"
#include "suite/scenario/requirement.h"

namespace fencepost::histories {

// `steps`: of the search for an order, for each key; `initial`: of registers, in logs of other
// harnesses (concurrency/history/edn_log.h), whose violations break no rule of this protocol: they
// are called "not linearizable". The error says why the file cannot be read.
[[nodiscard]] Result<CheckedHistory, std::string> check_history(
    const std::string& path, std::size_t steps,
    const std::optional<std::string>& initial = std::nullopt);

// kFailed where a key is a violation, kInconclusive where one is unknown, kNothingSelected where
// there was no operation.
[[nodiscard]] run::ExitCode exit_code(const std::vector<CheckedHistory>& all);

// docs/check.schema.json describes it.
[[nodiscard]] std::string to_json(const std::vector<CheckedHistory>& all, run::ExitCode code);

// Writes the files `json`, `junit` and `html`, where they have a name; the page is of the first
// history. `started`: in ISO 8601. The error says which could not be
// written: the others are.
[[nodiscard]] Result<void, std::string> write_checked(const std::vector<CheckedHistory>& all,
                                                      const report::ReportFiles& files,
                                                      run::ExitCode code,
                                                      const scenario::Catalogue& catalogue,
                                                      const std::string& started);

}  // namespace fencepost::histories
