// The file of evidence that a command writes beside a run, and the signatures of what it has
// written.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "conformance/report/evidence_head.h"
#include "conformance/run/suite.h"
#include "endpoint/endpoint.h"
#include "endpoint/recorder.h"

namespace fencepost::cli {

class RunEvidence {
 public:
  // No file: no evidence. Complains and returns nothing when it cannot be written.
  [[nodiscard]] static std::optional<RunEvidence> open(
      const std::string& file, std::size_t most_content = evidence::kMaxContent);

  [[nodiscard]] bool is_kept() const { return recorder_ != nullptr; }
  // The endpoint that the run is to use; `prefix`: see endpoint/recording.h. `endpoint` and this
  // must outlive it.
  [[nodiscard]] endpoint::Endpoint& of(endpoint::Endpoint& endpoint,
                                       const std::string& prefix = {});

  // Before anything is asked.
  void begin(const report::EvidenceHead& head, const scenario::Library& library);
  // For run::SuiteOptions::keep.
  void keep(const run::CaseResult& result, bool undecided);
  // What was found of a part of the run that has a name. Thread safe.
  void say(const std::string& name, const std::string& json);
  // Lines of a history. Thread safe.
  void add_history(const std::string& lines);
  // What the run has come to. False after a complaint: the file is not whole.
  bool end(const std::string& json);

 private:
  std::unique_ptr<endpoint::Recorder> recorder_;  // null: nobody asked for evidence
  std::vector<std::unique_ptr<endpoint::Endpoint>> recordings_;
};

// The end of a run that has an exit code and no cases of the suite, and back; nothing when the text
// is no such end.
struct RunEnd {
  int exit_code = 0;
  std::map<std::string, std::string> verdicts{};    // of named parts
  std::map<std::string, std::string> deliveries{};  // of stress: rule -> what is wrong
};
[[nodiscard]] std::string run_end_json(const RunEnd& end);
[[nodiscard]] std::optional<RunEnd> read_run_end(const std::string& json);

// How the suite was called, without passwords.
[[nodiscard]] report::Call call_of(const RunFlags& flags);

// Can the key sign, and is there a file that it is to sign? Asked before the run. False after a
// complaint. No key: nothing is signed.
[[nodiscard]] bool can_sign(const std::string& key, const std::string& evidence,
                            const report::ReportFiles& reports = {});
// Signs those that have a name. False after a complaint.
[[nodiscard]] bool sign_files(const std::string& key, const std::string& evidence,
                              const report::ReportFiles& reports = {});

}  // namespace fencepost::cli
