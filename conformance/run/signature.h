// What distinguishes one failure of a case from another, the same in every run: for lists of known
// failures.
//
//   SET-NX-2: the reply is not the expected one | want $3\r\none\r\n | got $3\r\ntwo\r\n
#pragma once

#include <string>

#include "conformance/run/case_result.h"

namespace fencepost::run {

// The requirement, the kind of mismatch, what was expected and what was seen, on one line of
// printable ASCII. What another run has otherwise is replaced: run ids in keys, client ids and
// topics (also in Base16), correlation data, timestamps and durations. Parts that are still long
// end in a hash of the whole part. Neither the step nor the line counts, so that a case may be
// edited elsewhere; the profile does, since it decides what is expected. The signature that the
// result has already, if any: a baseline changes the message. Empty when the store broke no rule.
[[nodiscard]] std::string signature(const CaseResult& result);

// The same as a YAML scalar in single quotes, ready to be copied into a baseline.
[[nodiscard]] std::string quoted_signature(const std::string& signature);

}  // namespace fencepost::run
