#include "report/run_evidence.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "endpoint/recorded.h"
#include "endpoint/recording.h"

namespace fencepost::report {
namespace {

constexpr const char* kLostWhenKilled = "; the results of this run are lost if it is killed";

bool is_a_place(const std::string& path) {
  if (path.empty() || path == "-") return false;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

std::string place_beside(const ReportFiles& files) {
  for (const ReportKind& kind : report_kinds()) {
    const std::string& path = files.of(kind.name);
    if (is_a_place(path)) return path + kUnfinished;
  }
  return {};
}

bool RunEvidence::open(const std::string& file, const std::string& resumed) {
  if (file.empty()) return true;
  has_packets_ = true;
  if (!make_room(file, resumed)) return false;
  take(endpoint::Recorder::create(file), "");
  return recorder_ != nullptr;
}

endpoint::Endpoint& RunEvidence::of(endpoint::Endpoint& endpoint) {
  if (!has_packets_) return endpoint;
  recording_ = endpoint::record(endpoint, *recorder_);
  return *recording_;
}

void RunEvidence::begin(const EvidenceHead& head, const scenario::Library& library) {
  if (!has_packets_) {
    const std::string place = place_beside(head.run.call.files);
    if (place.empty() || !make_room(place, "")) return;
    take(endpoint::Recorder::create(place), kLostWhenKilled);
  }
  if (!recorder_) return;
  add(evidence::Kind::kHead, evidence_head_json(head, library));
  (void)flush();  // without it nothing that follows can be read
}

void RunEvidence::go_on(const SavedRun& earlier, const std::vector<run::FinishedCase>& finished,
                        const EvidenceHead& head, const scenario::Library& library) {
  if (!has_packets_ && !earlier.head.has_packets) {
    take(endpoint::Recorder::go_on(earlier.file), "");
    return;
  }
  begin(head, library);
  if (!recorder_) return;
  for (const run::FinishedCase& each : finished) add_case(each.result, each.undecided);
  const bool is_other = earlier.file != recorder_->path();
  if (flush() && is_other && !earlier.head.has_packets) superseded_ = earlier.file;
}

void RunEvidence::take(Result<std::unique_ptr<endpoint::Recorder>, std::string> recorder,
                       const char* consequence) {
  if (recorder) {
    recorder_ = std::move(*recorder);
  } else {
    diagnose_(recorder.error() + consequence);
  }
}

bool RunEvidence::make_room(const std::string& place, const std::string& resumed) const {
  std::error_code failed;
  const auto status = std::filesystem::symlink_status(place, failed);
  // To open a pipe and to close it again would end its reader.
  const bool is_free = has_packets_ ? !is_regular_file(status) : !exists(status);
  if (is_free) return true;
  const auto there = endpoint::Recorder::go_on(place);
  if (!there && !has_packets_) diagnose_(there.error() + kLostWhenKilled);
  if (!there) return has_packets_;
  const auto left = endpoint::Recorded::read((*there)->content());
  const bool is_wanted =
      left && !left->cases().empty() && (left->end().empty() || place == resumed);
  if (!is_wanted) return true;
  std::string aside = place + ".old";
  for (int i = 2; std::filesystem::exists(std::filesystem::symlink_status(aside, failed)); ++i) {
    aside = fmt::format("{}.old{}", place, i);
  }
  std::filesystem::rename(place, aside, failed);
  diagnose_(
      fmt::format("an earlier run was killed when {} of its cases had finished; to resume it, add "
                  "--resume {} to its command",
                  left->cases().size(), text::shell_word(failed ? place : aside)));
  return !failed;
}

void RunEvidence::keep(const run::CaseResult& result, bool undecided) {
  if (!recorder_) return;
  add_case(result, undecided);
  (void)flush();
}

void RunEvidence::add_case(const run::CaseResult& result, bool undecided) {
  // Those of cases that passed are nine tenths of it, and reports leave them out.
  const bool shown = has_transcript(result, context_) || !result.deviations.empty();
  add(evidence::Kind::kCase, case_json(result, undecided, shown));
}

void RunEvidence::add_history(const std::string& lines) {
  if (has_packets_) add(evidence::Kind::kHistory, lines);
}

void RunEvidence::add(evidence::Kind kind, std::string text) {
  auto details = std::make_unique<evidence::Details>();
  details->text = std::move(text);
  recorder_->add({.kind = kind, .details = std::move(details)});
}

bool RunEvidence::flush() {
  const auto written = recorder_->flush();
  if (!written && !std::exchange(diagnosed_, true)) diagnose_(written.error() + kLostWhenKilled);
  return written.has_value();
}

bool RunEvidence::end(const std::string& json, bool written, const std::string& spare) {
  if (!recorder_) return true;
  if (has_packets_) add(evidence::Kind::kEnd, json);
  const bool flushed = flush();
  if (written && !superseded_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(superseded_, ignored);
  }
  if (written && !has_packets_) {
    recorder_->remove();
    return true;
  }
  std::string place = recorder_->path();
  if (!recorder_->is_whole()) {
    place = spare;
    if (const auto saved = write_file(place, recorder_->content()); !saved) {
      diagnose_(saved.error());
      return false;
    }
  } else if (written) {
    return flushed;
  }
  diagnose_(
      fmt::format("the results of the run are in {0}; write the reports with: fencepost "
                  "merge {0} --json FILE",
                  text::shell_word(place)));
  return false;
}

}  // namespace fencepost::report
