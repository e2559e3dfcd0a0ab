// What is known of a case, as JSON: all of it, so that a run can continue from there. Reports say
// less, and what follows from the other cases, too; entries of transcripts are the same in both.
//
//   case_of(JsonMembers(case_record(result), "", complaint), test_case)  // is `result` again
#pragma once

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "suite/run/case_result.h"

namespace fencepost::report {

[[nodiscard]] nlohmann::ordered_json entry_json(const run::TranscriptEntry& entry);
// Errors go to the diagnostic of `entry`; an entry comes back in any case.
[[nodiscard]] run::TranscriptEntry entry_of(const JsonMembers& entry);

// The one form of a failure, in reports and in what a run keeps as it goes; and the inverse, of a
// step that `test_case` has. Errors go to the diagnostic of `record`.
[[nodiscard]] nlohmann::ordered_json failure_json(const run::Failure& failure);
[[nodiscard]] run::Failure failure_of(const JsonMembers& record, const scenario::Case& test_case);
[[nodiscard]] nlohmann::ordered_json attempt_json(const run::Attempt& attempt);
[[nodiscard]] run::Attempt attempt_of(const JsonMembers& record);

// With what the peer has sent escaped. A transcript is most of it.
[[nodiscard]] nlohmann::ordered_json case_record(const run::CaseResult& result,
                                                 bool with_transcript = true);
// The inverse, without what the baseline and other cases have made of it. Errors go to the
// diagnostic of `record`, e.g. a step that `test_case` does not have.
[[nodiscard]] run::CaseResult case_of(const JsonMembers& record, const scenario::Case& test_case);

// The verdict of this name; nothing for a word that is not one of all.
[[nodiscard]] std::optional<run::Verdict> verdict_named(std::string_view word);
[[nodiscard]] std::string all_verdicts();  // "passed, failed, ..."

}  // namespace fencepost::report
