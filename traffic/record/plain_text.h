// Text that stands for itself wherever a scenario holds it.
#pragma once

#include <algorithm>
#include <string_view>

namespace fencepost::record {

// Printable ASCII without quotation marks and backslashes.
[[nodiscard]] inline bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// May it be the node of a timestamp expression, which has no blanks?
[[nodiscard]] inline bool can_be_node(std::string_view text) {
  return !text.empty() && is_plain(text) && text.find(' ') == std::string_view::npos;
}

}  // namespace fencepost::record
