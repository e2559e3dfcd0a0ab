// What a file is that was given instead of another: so that the error can say so.
#pragma once

#include <string_view>

namespace fencepost::scenario {

// "a history, which check reads"; of a report, evidence, a history, what a
// killed run leaves, a page or XML of ours. Empty: none of these. Looks at the first 4 KiB. Pure.
[[nodiscard]] std::string_view kind_of_file(std::string_view content);

}  // namespace fencepost::scenario
