// Which cases the options of certify select, and why there are none.
#pragma once

#include <string>
#include <vector>

#include "conformance/run/exit_code.h"
#include "conformance/run/selection.h"
#include "conformance/scenario/library.h"

namespace fencepost::cli {

// "2/5" -> shard 2 of 5; an empty text changes nothing. False when it looks otherwise.
[[nodiscard]] bool parse_shard(const std::string& text, run::Selection& selection);

// The cases that failed or were inconclusive in the JSON report at `path`, of those that the globs
// of `selection` match, take the place of these globs. False after a complaint, when the report
// cannot be read. Where nothing failed there, that is said, and no glob is left.
[[nodiscard]] bool select_last_failed(const std::string& path, run::Selection& selection);

// Of a selection that matches no case: which of its parts is to blame.
[[nodiscard]] std::string why_empty(const run::Selection& selection,
                                    const scenario::Library& library);

// Prints the ids of these cases, which a run would have.
run::ExitCode dry_run(const std::vector<const scenario::Case*>& cases,
                      const scenario::Library& library);

}  // namespace fencepost::cli
