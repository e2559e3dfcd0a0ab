// Globs: of keys in a policy, of case ids on the command line, of faults. Pure.
//
//   glob_matches("set.*", "set.nx.creates")  ->  true
#pragma once

#include <string_view>

namespace fencepost {

// `*` stands for any bytes, `?` for one, `[a-c]` and `[!a-c]` for one of a set; anything else for
// itself. Linear in practice and bounded by pattern x text in the worst case: no exponential
// backtracking.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace fencepost
