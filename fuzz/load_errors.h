// What every error about a file must contain.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::fuzz {

// Each has something to say, and a place that is in the text, or just behind its end.
inline void check_places(const std::vector<scenario::LoadError>& errors, std::string_view text) {
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const scenario::LoadError& error : errors) {
    FENCEPOST_CHECK(!error.text.empty());
    FENCEPOST_CHECK(error.position.line >= 1 && error.position.line <= lines + 1);
    FENCEPOST_CHECK(error.position.column >= 1);
    FENCEPOST_CHECK(static_cast<std::size_t>(error.position.column) <= text.size() + 1);
  }
}

}  // namespace fencepost::fuzz
