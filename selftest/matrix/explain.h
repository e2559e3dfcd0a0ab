// What there is to know about one requirement or one case, as text for a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "suite/scenario/library.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::matrix {

struct ExplainOptions {
  std::size_t width = 100;  // columns of a line
  bool colour = false;
  std::string certify = "fencepost certify";  // the command that runs cases of this library
};

// The rule, its section, its forms and outcomes, how it is observed or why not, and its cases.
[[nodiscard]] std::string explain_requirement(const scenario::Requirement& requirement,
                                              const scenario::Library& library,
                                              const ExplainOptions& options);

// What the case checks, what it depends on, the outcomes that it accepts where the documents leave
// a choice, its lines of YAML, and the command that runs it.
[[nodiscard]] std::string explain_case(const scenario::Case& test_case,
                                       const scenario::Library& library,
                                       const ExplainOptions& options);

}  // namespace fencepost::matrix
