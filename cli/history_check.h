// A history of requests that meet, judged: what `check` does with files of them, and `judge` with
// the evidence of a stress run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "conformance/histories/checked_history.h"
#include "conformance/scenario/requirement.h"

namespace fencepost::cli {

// The error says why the file cannot be read.
[[nodiscard]] Result<histories::CheckedHistory, std::string> check_history(
    const std::string& path, const CheckOptions& options);

// Writes the reports that the options name. The error says which could not be written.
[[nodiscard]] Result<void, std::string> write_checked(
    const std::vector<histories::CheckedHistory>& all, const CheckOptions& options,
    run::ExitCode code, const scenario::Catalogue& catalogue);

// kFailed where a key is a violation, kInconclusive where one is unknown, kNothingSelected where
// nothing was asked.
[[nodiscard]] run::ExitCode exit_code(const std::vector<histories::CheckedHistory>& all);

}  // namespace fencepost::cli
