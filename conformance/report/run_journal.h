// The life of a run's journal: where it is, what an earlier run has left there, and what becomes of
// it when the run ends. A journal that cannot be kept never ends the run: it is said, once.
//
//   RunJournal journal(context, [](const std::string& text) { print_error(text); });
//   journal.begin(library, call);  // or resume(path)
//   options.keep = [&](const auto& result, bool undecided) { journal.keep(result, undecided); };
//   ... the run, its reports ...
//   journal.end(written, "/tmp/fencepost-1.unfinished");
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "conformance/report/journal.h"
#include "conformance/report/report_files.h"
#include "conformance/run/suite.h"

namespace fencepost::report {

// Beside the first report that is a file; empty when there is none.
[[nodiscard]] std::string journal_place(const ReportFiles& files);

// Of one thread at a time.
class RunJournal {
 public:
  // Gets what the user should know, a text without a line feed.
  using Complain = std::function<void(const std::string&)>;

  // `context` is that of the run, without results; it must outlive this.
  RunJournal(const ReportContext& context, Complain complain)
      : context_(context), complain_(std::move(complain)) {}

  // Begins the file of a run that is called like this; none where it writes no report to a file.
  // What a killed run has left there is renamed to end in ".old".
  void begin(const scenario::Library& library, const Call& call);
  // Goes on with what a killed run has left.
  void resume(const std::string& path);

  // For run::SuiteOptions::keep.
  void keep(const run::CaseResult& result, bool undecided);

  // Were the reports written? Then nobody needs the journal, else the user learns where it is. What
  // its file has lost, as somebody removed it, is written to `spare` then.
  void end(bool written, const std::string& spare);

 private:
  // False after a complaint.
  [[nodiscard]] bool put_aside(const std::string& place) const;
  void take(Result<std::unique_ptr<Journal>, std::string> journal, const char* consequence);
  void complain_once();

  const ReportContext& context_;
  Complain complain_;
  std::unique_ptr<Journal> journal_;
  bool complained_ = false;
};

}  // namespace fencepost::report
