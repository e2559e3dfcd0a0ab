// The line of a file that an error is in, with a caret below the place, as compilers show it.
//
//   s.yaml:7:9: step has no key "sett"; did you mean "set"?
//      7 |       - sett: {key: k, value: v}
//        |         ^
#pragma once

#include <string>
#include <vector>

#include "suite/scenario/source_file.h"

namespace fencepost::scenario {

// The error and the line. What to do follows where YAML's own words do not say it. The line is
// left out when it is in none of `files`, is too long for a terminal, or may have a password in it:
// somebody may have taken a descriptor for a scenario file.
[[nodiscard]] std::string with_excerpt(const LoadError& error,
                                       const std::vector<SourceFile>& files);

}  // namespace fencepost::scenario
