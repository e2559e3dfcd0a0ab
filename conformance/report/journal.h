// What a run has found so far, in a file beside its reports, so that a kill loses no more than what
// was not found yet: JSON Lines, docs/EVIDENCE.md. The first line is the head, each other one a
// case that has finished. Reports can be made of it (read_report takes it), and the run can go on.
//
//   auto journal = Journal::create("report.json.unfinished", head_line(context, library, call));
//   options.keep = [&](const run::CaseResult& result, bool undecided) {
//     (*journal)->keep(result, undecided);
//   };
//   ...
//   (*journal)->remove();  // the reports are written
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "conformance/report/report.h"
#include "conformance/report/report_files.h"
#include "conformance/report/report_read.h"
#include "conformance/run/suite.h"
#include "conformance/scenario/library.h"

namespace fencepost::report {

// What the end of the name of such a file is.
inline constexpr const char* kUnfinished = ".unfinished";

// How the suite was called, so far as it decides what the run finds, or where it goes.
struct Call {
  std::string url{};  // without password; empty: not given
  std::string descriptor{};
  std::string scenarios{};
  std::string driver{};
  std::string baseline{};
  bool shuffled = false;
  double timeout_scale = 1.0;
  ReportFiles files{};
};

// The first line, without its line feed. It holds no password: the URLs of `context` and `call`
// must be without.
[[nodiscard]] std::string head_line(const ReportContext& context, const scenario::Library& library,
                                    const Call& call);

// A line of a case, without its line feed.
[[nodiscard]] std::string case_line(const run::CaseResult& result, bool undecided,
                                    bool with_transcript = true);

// The file of a run that goes on. Of one thread at a time. What is kept is out of the process when
// keep() returns: a kill does not touch it, the end of the machine may.
class Journal {
 public:
  // Makes the file and writes the head; one of this name is replaced. The error says that it cannot
  // be written, or that another run has it.
  [[nodiscard]] static Result<std::unique_ptr<Journal>, std::string> create(
      const std::string& path, const std::string& head);
  // Goes on with what a killed run has left. A last line that is not whole is cut off.
  [[nodiscard]] static Result<std::unique_ptr<Journal>, std::string> go_on(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // What cannot be written, on a full disk for one, is tried again with the next case.
  void keep(const run::CaseResult& result, bool undecided, bool with_transcript = true);
  // Why something could not be written, the first time; empty when all could.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // Does the file still have everything that was kept? Not after it or its folder was removed.
  [[nodiscard]] bool is_whole() const;
  // Everything that was kept, also what is in no file any more.
  [[nodiscard]] std::string content() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  // The reports are written: nobody needs the file.
  void remove();

 private:
  Journal(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  [[nodiscard]] static Result<std::unique_ptr<Journal>, std::string> open(const std::string& path);
  [[nodiscard]] bool is_there() const;
  void write(const std::string& line);

  std::string path_;
  int descriptor_;
  std::string pending_;  // lines that are not in the file yet
  std::size_t written_ = 0;
  std::string trouble_;
};

// What a file of this kind says before its cases are known.
struct Head {
  ReportContext context;
  Call call;
  std::string cases{};    // digest of the library
  std::string version{};  // of the suite that wrote it
};

// Of the JSON of such a line. What is wrong goes to the complaint of `root`; a head comes back in
// any case.
[[nodiscard]] Head head_of(const JsonMembers& root);

// Does the file begin as such a file does?
[[nodiscard]] bool is_unfinished(const scenario::SourceFile& file);

// The error says which file, and why it is none, or not one of this version.
[[nodiscard]] Result<Head, std::string> read_head(const scenario::SourceFile& file);

// How many cases it has, without looking at them closely.
[[nodiscard]] std::size_t count_cases(const scenario::SourceFile& file);

// The results, each as it was kept last. A last line that is not whole is no error. `library` must
// outlive them; the error names a case that it does not have, or that was changed since.
[[nodiscard]] Result<std::vector<run::Kept>, std::string> read_cases(
    const scenario::SourceFile& file, const Head& head, const scenario::Library& library);

// The report of what the file has: cases that had not finished are "not run".
[[nodiscard]] Result<Report, std::string> read_unfinished(const scenario::SourceFile& file,
                                                          const scenario::Library& library);

}  // namespace fencepost::report
