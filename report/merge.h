// Puts the reports of shards together: what they say is what one run of all cases would have said.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/report_read.h"
#include "suite/scenario/library.h"

namespace fencepost::report {

// The reports, which were read with `library`, as one. Pure.
//
// - The cases stand in the order of the library; forms, unspecified points, latency and summary are
// made
//   again, of all of them, so that forms which differ between the shards are found.
// - The runs are taken to have been at the same time: `started` is that of the first, the duration
//   that of the longest. The slowest preflight and the greatest clock offset count.
// - A case that no report has is "not run"; `stopped_because` names the shards that are missing,
//   and what stopped the runs of those that are there.
// - Seed and command are those of the lowest shard; `parts` and `commands` say what differs.
//
// The error says which reports do not go together, and why: other endpoint, profile, selection or
// number of shards; --strict in one alone; the same shard or case twice; a merged one.
[[nodiscard]] Result<Report, std::string> merge_reports(const std::vector<Report>& reports,
                                                        const scenario::Library& library);

}  // namespace fencepost::report
