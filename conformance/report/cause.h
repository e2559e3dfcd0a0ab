// What a failure shows, without what differs from case to case: failures with one cause are one
// difference of the store, whichever case or rule has met it.
//
//   SET NX: want :-1\r\n (not applied), got +OK\r\n
#pragma once

#include <string>

#include "conformance/run/case_result.h"

namespace fencepost::report {

// One line of printable ASCII: what was asked, what was expected and what was seen, without keys,
// values, versions, names and times. Depends on the profile, which decides what is expected. Empty
// for a case that broke no rule. Pure.
[[nodiscard]] std::string cause_of(const run::CaseResult& result);

// What failures with several causes have in common: an error that is given, or is not, whatever the
// verb; or the reply that came for the one that was expected first, whatever the options beside the
// condition. Equal for failures of one theme; empty where there is none.
[[nodiscard]] std::string theme_of(const run::CaseResult& result);

}  // namespace fencepost::report
