// The file of evidence that certify writes beside a run.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "conformance/report/evidence_head.h"
#include "conformance/run/suite.h"
#include "conformance/target/descriptor.h"
#include "endpoint/endpoint.h"
#include "endpoint/recorder.h"

namespace fencepost::cli {

class RunEvidence {
 public:
  // No file: no evidence. Complains and returns nothing when it cannot be written.
  [[nodiscard]] static std::optional<RunEvidence> open(const std::string& file);

  // The endpoint that the run is to use. `endpoint` and this must outlive it.
  [[nodiscard]] endpoint::Endpoint& of(endpoint::Endpoint& endpoint);

  // Before anything is asked.
  void begin(const CertifyOptions& options, const report::ReportContext& context,
             const scenario::Library& library, const target::Descriptor& descriptor,
             const run::RunSettings& settings);
  // For run::SuiteOptions::keep.
  void keep(const run::CaseResult& result, bool undecided);
  // The verdicts, before a baseline has its say. False after a complaint: the file is not whole.
  bool end(const run::SuiteResult& result);

 private:
  std::unique_ptr<endpoint::Recorder> recorder_;  // null: nobody asked for evidence
  std::unique_ptr<endpoint::Endpoint> recording_;
};

// How the suite was called, without passwords.
[[nodiscard]] report::Call call_of(const CertifyOptions& options);

}  // namespace fencepost::cli
