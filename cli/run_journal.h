// What certify keeps of a run while it goes on, and how it goes on with one that was killed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "conformance/report/journal.h"
#include "conformance/run/suite.h"

namespace fencepost::cli {

// What a killed run has left.
struct Earlier {
  scenario::SourceFile file;
  report::Head head;
};

// Reads the file of --resume, and completes `options` by what the run was called with. Complains
// and returns nothing when it is not such a file, or `options` contradict it.
[[nodiscard]] std::optional<Earlier> take_up(CertifyOptions& options);

// How certify was called, without passwords.
[[nodiscard]] report::Call call_of_certify(const CertifyOptions& options);

// Where a run keeps what it has found: beside its first report that is a file; empty when there is
// none.
[[nodiscard]] std::string journal_place(const report::ReportFiles& files);

// The journal of one run, if it has a place. Complains where it cannot be kept; the run goes on.
class RunJournal {
 public:
  // `context` is that of the run, without results; it must outlive this.
  RunJournal(const CertifyOptions& options, const report::ReportContext& context,
             const scenario::Library& library);

  // For run::SuiteOptions::keep.
  void keep(const run::CaseResult& result, bool undecided);

  // Were the reports written? Then nobody needs the journal, else the user is told where it is.
  void end(bool written);

 private:
  void begin_anew(const std::string& place, const std::string& head);
  void complain_once();

  const report::ReportContext& context_;
  std::unique_ptr<report::Journal> journal_;
  bool complained_ = false;
};

}  // namespace fencepost::cli
