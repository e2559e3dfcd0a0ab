// Evidence of commands other than certify, judged again: see command_judge.cc.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "conformance/report/evidence_head.h"
#include "endpoint/recorded.h"

namespace fencepost::cli {

struct EvidenceFile {
  const std::string& name;
  std::string_view content;
  const report::EvidenceHead& head;
};

// What two judgements say of the same parts of a run.
class Agreement {
 public:
  void compare(const std::string& part, const std::string& then, const std::string& now);
  // Of this there is no whole evidence.
  void miss() { ++missing_; }
  // "verdicts: 17 the same as those of the run, 0 not", and those that are not.
  void print() const;

 private:
  std::size_t same_ = 0;
  std::size_t missing_ = 0;
  std::vector<std::string> others_{};  // lines
};

// False after a complaint where it cannot be read; warns where it does not come to its end.
[[nodiscard]] bool can_be_judged(const std::string& file,
                                 const Result<endpoint::Recorded, std::string>& recorded);
// Says which rules are others than those of the run.
void print_rules(const report::RulesSince& since, const report::EvidenceHead& head);
// Why a file is refused whose head leaves out what it shows: these cases or parts.
[[nodiscard]] std::string left_out_text(const std::string& file,
                                        const std::vector<std::string>& ids);
// What the file is, as the first line says it, but for its end.
[[nodiscard]] std::string describe(const EvidenceFile& file);

// Each returns what the command would have. A file that does not come to its end is judged up to
// there: kInterrupted, where nothing is wrong until then.
[[nodiscard]] run::ExitCode judge_explore(const JudgeOptions& options, const EvidenceFile& file);
[[nodiscard]] run::ExitCode judge_replay(const JudgeOptions& options, const EvidenceFile& file);
[[nodiscard]] run::ExitCode judge_stress(const JudgeOptions& options, const EvidenceFile& file);

}  // namespace fencepost::cli
