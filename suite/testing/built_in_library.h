// The cases and requirements that are built into the program, for tests. Loaded once, since a
// sanitized build takes more than a second for it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "suite/scenario/library.h"

namespace fencepost::test {

inline const scenario::Library& built_in_library() {
  static const scenario::Library loaded = [] {
    std::vector<scenario::LoadError> errors;
    scenario::Library out = scenario::load_library(scenario::built_in_files(), errors);
    FENCEPOST_CHECK(errors.empty());
    return out;
  }();
  return loaded;
}

// There has to be one with this id.
inline const scenario::Case& built_in_case(const std::string& id) {
  const std::vector<scenario::Case>& cases = built_in_library().cases;
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const scenario::Case& each) { return each.id == id; });
  FENCEPOST_CHECK(found != cases.end());
  return *found;
}

// The requirements, without a case.
inline const scenario::Library& built_in_requirements() {
  static const scenario::Library loaded = [] {
    std::vector<scenario::LoadError> errors;
    return scenario::load_library({}, errors);
  }();
  return loaded;
}

}  // namespace fencepost::test
