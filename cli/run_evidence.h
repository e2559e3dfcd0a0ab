// The file of evidence that certify writes beside its run, and the signatures of what it has
// written.
#pragma once

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
  [[nodiscard]] static std::optional<RunEvidence> open(const std::string& file);

  [[nodiscard]] bool is_kept() const { return recorder_ != nullptr; }
  // The endpoint that the run is to use. `endpoint` and this must outlive it.
  [[nodiscard]] endpoint::Endpoint& of(endpoint::Endpoint& endpoint);

  // Before anything is asked.
  void begin(const report::EvidenceHead& head, const scenario::Library& library);
  // For run::SuiteOptions::keep.
  void keep(const run::CaseResult& result, bool undecided);
  // Lines of a history. Thread safe.
  void add_history(const std::string& lines);
  // What the run has come to. False after a complaint: the file is not whole.
  bool end(const std::string& json);

 private:
  std::unique_ptr<endpoint::Recorder> recorder_;  // null: nobody asked for evidence
  std::unique_ptr<endpoint::Endpoint> recording_;
};

// How the suite was called, without passwords.
[[nodiscard]] report::Call call_of(const RunFlags& flags);

// Can the key sign, and is there a file that it is to sign? Asked before the run. False after a
// complaint. No key: nothing is signed.
[[nodiscard]] bool can_sign(const std::string& key, const std::vector<std::string>& files);
// Signs those that have a name. False after a complaint.
[[nodiscard]] bool sign_files(const std::string& key, const std::vector<std::string>& files);

}  // namespace fencepost::cli
