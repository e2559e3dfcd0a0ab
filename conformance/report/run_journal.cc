#include "conformance/report/run_journal.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "conformance/text/printable.h"

namespace fencepost::report {
namespace {

constexpr const char* kLostWhenKilled = "; what this run finds is lost when it is killed";

bool is_a_place(const std::string& path) {
  if (path.empty() || path == "-") return false;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

std::string journal_place(const ReportFiles& files) {
  for (const ReportKind& kind : report_kinds()) {
    if (is_a_place(files.of(kind.name))) return files.of(kind.name) + kUnfinished;
  }
  return {};
}

void RunJournal::begin(const scenario::Library& library, const Call& call) {
  const std::string place = journal_place(call.files);
  if (place.empty() || !put_aside(place)) return;
  take(Journal::create(place, head_line(context_, library, call)), kLostWhenKilled);
}

void RunJournal::resume(const std::string& path) { take(Journal::go_on(path), ""); }

void RunJournal::take(Result<std::unique_ptr<Journal>, std::string> journal,
                      const char* consequence) {
  if (journal) {
    journal_ = std::move(*journal);
    complain_once();
  } else {
    complain_(journal.error() + consequence);
  }
}

bool RunJournal::put_aside(const std::string& place) const {
  std::error_code failed;
  if (!std::filesystem::exists(place, failed)) return true;
  const auto left = scenario::read_file(place);
  const auto unlocked = Journal::go_on(place);  // no other run is writing it
  const std::size_t cases = left && is_unfinished(*left) ? count_cases(*left) : 0;
  if (!unlocked || cases == 0) return true;
  std::string aside = place + ".old";
  for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(aside, failed)); ++i) {
    aside = fmt::format("{}.old{}", place, i);
  }
  std::filesystem::rename(place, aside, failed);
  complain_(
      fmt::format("an earlier run was killed when {} of its cases had finished; to go on with it, "
                  "call it as it was called, with --resume {}",
                  cases, text::shell_word(failed ? place : aside)));
  return !failed;
}

void RunJournal::keep(const run::CaseResult& result, bool undecided) {
  if (!journal_) return;
  // Those of cases that passed are nine tenths of it, and reports leave them out.
  const bool shown = has_transcript(result, context_) || !result.deviations.empty();
  journal_->keep(result, undecided, shown);
  complain_once();
}

void RunJournal::complain_once() {
  if (complained_ || journal_->trouble().empty()) return;
  complained_ = true;
  complain_(journal_->trouble() + kLostWhenKilled);
}

void RunJournal::end(bool written, const std::string& spare) {
  if (!journal_) return;
  if (written) {
    journal_->remove();
    return;
  }
  std::string place = journal_->path();
  if (!journal_->is_whole()) {
    place = spare;
    if (const auto saved = write_file(place, journal_->content()); !saved) {
      complain_(saved.error());
      return;
    }
  }
  complain_(
      fmt::format("what the run has found is in {0}; make the reports of it with: fencepost "
                  "merge {0} --json FILE",
                  text::shell_word(place)));
}

}  // namespace fencepost::report
