#include "base/glob.h"

#include <cstddef>
#include <optional>
#include <utility>

namespace fencepost {
namespace {

// Matches one pattern element at `position` against `c`, and moves `position` past the element.
bool element_matches(std::string_view pattern, std::size_t& position, char c) {
  const char element = pattern[position++];
  if (element == '?') return true;
  const std::size_t close =
      element == '[' ? pattern.find(']', position + 1) : std::string_view::npos;
  if (close == std::string_view::npos) return element == c;  // an open bracket alone is itself
  std::string_view set = pattern.substr(position, close - position);
  position = close + 1;
  const bool negated = set.starts_with('!');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bool range = i + 2 < set.size() && set[i + 1] == '-';
    const auto low = static_cast<unsigned char>(set[i]);
    const auto high = static_cast<unsigned char>(range ? set[i + 2] : set[i]);
    const auto byte = static_cast<unsigned char>(c);
    found = found || (byte >= low && byte <= high);
    if (range) i += 2;
  }
  return found != negated;
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  // The classic two-pointer match: on a mismatch, the last star takes one byte more.
  std::size_t p = 0;
  std::size_t t = 0;
  std::optional<std::pair<std::size_t, std::size_t>> star;  // after the star, text it begins at
  while (t < text.size()) {
    std::size_t next = p;
    if (p < pattern.size() && pattern[p] == '*') {
      star = {++p, t};
      if (p == pattern.size()) return true;  // it takes the rest
    } else if (p < pattern.size() && element_matches(pattern, next, text[t])) {
      p = next;
      ++t;
    } else if (star) {
      p = star->first;
      t = ++star->second;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace fencepost
