// The file that a run writes as it goes: what it has found so far, so that a kill loses no more
// than what was not found yet, and with --evidence all requests and answers, so that it can be
// judged again. Where it stands, what becomes of one that an earlier run has left there, and what
// is reported to the user.
//
//   RunEvidence evidence(context, complain);
//   if (!evidence.open("run.fpe")) return;
//   evidence.begin(head, library);
//   options.keep = [&](const auto& result, bool undecided) { evidence.keep(result, undecided); };
//   // ... the run, and its reports ...
//   const bool kept = evidence.end(run_end_json(end), written, "/tmp/spare.unfinished");
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "endpoint/endpoint.h"
#include "endpoint/recorder.h"
#include "report/evidence_head.h"
#include "report/report.h"
#include "report/report_files.h"
#include "report/saved_run.h"
#include "suite/run/suite.h"

namespace fencepost::report {

// The suffix of the file that is written without --evidence.
inline constexpr const char* kUnfinished = ".unfinished";

// Beside the first report that is a file; empty when there is none.
[[nodiscard]] std::string place_beside(const ReportFiles& files);

// Used by one thread at a time, but for add_history().
class RunEvidence {
 public:
  // Gets what the user should know, a text without a line feed.
  using Diagnose = std::function<void(const std::string&)>;

  // `context` is that of the run, without results; it must outlive this.
  RunEvidence(const ReportContext& context, Diagnose diagnose)
      : context_(context), diagnose_(std::move(diagnose)) {}

  // The file of --evidence: it has packets, and stays. Empty: not requested. What a killed
  // run has left there, or `resumed` where that is the same file, is renamed to end in ".old".
  // False after an error: it cannot be written.
  [[nodiscard]] bool open(const std::string& file, const std::string& resumed = {});
  [[nodiscard]] bool has_packets() const { return has_packets_; }
  // The endpoint that the run is to use. `endpoint` and this must outlive it.
  [[nodiscard]] endpoint::Endpoint& of(endpoint::Endpoint& endpoint);

  // The head; of a file with packets before the first request, and again when the preflight has
  // shown what the store is like. Without --evidence this begins a file beside the reports, which
  // is removed when they are written; none where no report goes to a file.
  void begin(const EvidenceHead& head, const scenario::Library& library);
  // The same of a run that continues: in the file that it has left, where neither of the two has
  // packets, else in a new one, which gets what had `finished`.
  void go_on(const SavedRun& earlier, const std::vector<run::FinishedCase>& finished,
             const EvidenceHead& head, const scenario::Library& library);

  // For run::SuiteOptions::keep. The result is out of the process when this returns: a kill does
  // not touch it, the end of the machine may.
  void keep(const run::CaseResult& result, bool undecided);
  // Lines of a history, of a file with packets.
  void add_history(const std::string& lines);

  // Were the reports written? Then nobody needs a file without packets, else the user learns where
  // it is. What a file has lost, as somebody removed it, is written to `spare` then. False where
  // evidence was requested and is not whole, after an error.
  [[nodiscard]] bool end(const std::string& json, bool written, const std::string& spare);

 private:
  // Puts aside what a killed run has left. False after an error: what is there has to stay.
  [[nodiscard]] bool make_room(const std::string& place, const std::string& resumed) const;
  void take(Result<std::unique_ptr<endpoint::Recorder>, std::string> recorder,
            const char* consequence);
  void add(evidence::Kind kind, std::string text);
  void add_case(const run::CaseResult& result, bool undecided);
  bool flush();

  const ReportContext& context_;
  Diagnose diagnose_;
  std::unique_ptr<endpoint::Recorder> recorder_;  // null: there is no file
  std::unique_ptr<endpoint::Endpoint> recording_;
  bool has_packets_ = false;
  std::string superseded_;  // a file that another has taken the place of; empty: none
  bool diagnosed_ = false;
};

}  // namespace fencepost::report
