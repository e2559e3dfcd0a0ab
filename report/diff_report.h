// What a comparison of two runs has found, for people and for programs.
#pragma once

#include <string>

#include "report/diff.h"
#include "suite/scenario/requirement.h"

namespace fencepost::report {

// What is compared, besides what has been found.
struct DiffSubject {
  std::string name_a;  // the report or endpoint, as people know it
  std::string name_b;
  const Report& a;
  const Report& b;
  const scenario::Catalogue& catalogue;
};

// Many lines, each ended; the last one is the verdict. `colour`: with escape codes of a terminal.
[[nodiscard]] std::string diff_text(const Comparison& found, const DiffSubject& subject,
                                    bool colour);

// The last line alone.
[[nodiscard]] std::string diff_verdict(const Comparison& found);

// As docs/diff.schema.json describes it.
[[nodiscard]] std::string diff_json(const Comparison& found, const DiffSubject& subject);

}  // namespace fencepost::report
