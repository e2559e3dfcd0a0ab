// A workload in a file, so that it can be run and judged again: what `explore` saves of a rejection
// that a scenario cannot say. The operations are lines as in fuzz/traces (workload/trace_text.h),
// and everything else that is known is in comments above them:
//
//   # requirement: FT-LOWER-1
//   # endpoint: mqtt://broker:1883
//   c0 SET k0 "v" ft=now
//   c0 SET k0 "v" ft=now-1
//
//   const auto saved = parse_saved_workload(text);
//   if (saved) use(saved->trace);
//
// Pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/operation.h"

namespace fencepost::search {

inline constexpr std::string_view kWorkloadExtension = ".trace";

struct SavedWorkload {
  std::string requirement{};            // that was broken; empty: it is not said
  std::vector<std::string> comments{};  // what else is known, a line each
  workload::Trace trace{};              // normalized
};

// What is not printable in the comments is escaped, line ends too.
[[nodiscard]] std::string to_text(const SavedWorkload& saved);

// The inverse, but for the comments, which are left out. Any trace file can be read; the error says
// in which line what was expected.
[[nodiscard]] Result<SavedWorkload, std::string> parse_saved_workload(std::string_view text);

}  // namespace fencepost::search
