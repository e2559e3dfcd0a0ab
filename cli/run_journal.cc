#include "cli/run_journal.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/run_evidence.h"
#include "conformance/text/printable.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

bool is_empty(const run::Selection& selection) {
  return selection.run.empty() && selection.skip.empty() && selection.tags.empty() &&
         selection.requirements.empty();
}

bool same(const run::Selection& a, const run::Selection& b) {
  return a.run == b.run && a.skip == b.skip && a.tags == b.tags && a.requirements == b.requirements;
}

bool no_files(const report::ReportFiles& files) {
  return files.json.empty() && files.junit.empty() && files.html.empty() && files.sarif.empty() &&
         files.badge.empty();
}

// Completes the options of a command line by those of the run that goes on.
class TakeUp {
 public:
  TakeUp(const std::string& file, CertifyOptions& options) : file_(file), options_(options) {}

  // The first contradiction; empty when there is none.
  std::string complete(const report::Head& head) {
    endpoint_as(head.call);
    text("--scenarios", options_.scenarios, head.call.scenarios);
    text("--driver", options_.driver, head.call.driver);
    text("--baseline", options_.baseline.file, head.call.baseline);
    text("--profile", options_.profile, std::string(name(head.context.profile)));
    text("--wording", options_.wording, std::string(name(head.context.wording)));
    if (options_.seed && *options_.seed != head.context.seed) {
      contradict("--seed", std::to_string(*options_.seed), std::to_string(head.context.seed));
    }
    options_.seed = head.context.seed;
    flag("--strict", options_.strict, head.context.strict);
    flag("--shuffle", options_.shuffle, head.call.shuffled);
    if (options_.timeout_scale == 1.0) options_.timeout_scale = head.call.timeout_scale;
    selection_as(head.context.selection);
    options_.transcripts = head.context.transcripts;
    if (no_files(options_.reports)) options_.reports = head.call.files;
    return std::move(complaint_);
  }

 private:
  void contradict(const char* option, const std::string& given, const std::string& was) {
    if (!complaint_.empty()) return;
    complaint_ =
        fmt::format("{} is of a run with {}: {} {} contradicts it; leave {} out to go on", file_,
                    was.empty() ? fmt::format("no {}", option) : fmt::format("{} {}", option, was),
                    option, given, option);
  }

  void text(const char* option, std::string& given, const std::string& was) {
    if (!given.empty() && given != was) contradict(option, given, was);
    given = was;
  }

  void flag(const char* option, bool& given, bool was) {
    if (given && !was) contradict(option, "", "");
    given = was;
  }

  void endpoint_as(const report::Call& was) {
    const std::string shown =
        options_.endpoint.empty() ? "" : endpoint::redacted(options_.endpoint);
    if (!shown.empty() && shown != was.url) contradict("--endpoint", shown, was.url);
    text("--descriptor", options_.descriptor, was.descriptor);
    if (!shown.empty() || was.url.empty()) return;
    options_.endpoint = was.url;
    const auto url = endpoint::parse_url(was.url);
    const bool elided = was.url.find("***") != std::string::npos;
    if (complaint_.empty() && (!url || elided)) {
      complaint_ = fmt::format(
          "{} is of a run with --endpoint {}, and passwords are not kept: give "
          "--endpoint again",
          file_, was.url);
    }
  }

  void selection_as(const run::Selection& was) {
    if (!is_empty(options_.selection) && !same(options_.selection, was) && complaint_.empty()) {
      complaint_ = file_ + " is of a run with another selection of cases: leave it out to go on";
    }
    options_.selection = was;
    const std::string shard =
        was.shards > 1 ? fmt::format("{}/{}", was.shard, was.shards) : std::string();
    if (!options_.shard.empty() && options_.shard != "auto" && options_.shard != shard) {
      contradict("--shard", options_.shard, shard);
    }
    options_.shard = shard;
  }

  const std::string& file_;
  CertifyOptions& options_;
  std::string complaint_;
};

bool is_a_place(const std::string& path) {
  if (path.empty() || path == "-") return false;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

}  // namespace

std::optional<Earlier> take_up(CertifyOptions& options) {
  auto file = scenario::read_file(options.resume);
  if (!file) {
    complain(file.error());
    return std::nullopt;
  }
  auto head = report::read_head(*file);
  if (!head) {
    complain(head.error());
    return std::nullopt;
  }
  if (!options.last_failed.empty()) {
    complain("--resume and --last-failed both say which cases run: give one of them");
    return std::nullopt;
  }
  if (const std::string complaint = TakeUp(options.resume, options).complete(*head);
      !complaint.empty()) {
    complain(complaint);
    return std::nullopt;
  }
  return Earlier{.file = std::move(*file), .head = std::move(*head)};
}

report::Call call_of_certify(const CertifyOptions& options) {
  report::Call out = call_of(options);
  out.scenarios = options.scenarios;
  out.baseline = options.baseline.file;
  out.shuffled = options.shuffle;
  out.files = options.reports;
  return out;
}

std::string journal_place(const report::ReportFiles& files) {
  for (const std::string* path :
       {&files.json, &files.junit, &files.html, &files.sarif, &files.badge}) {
    if (is_a_place(*path)) return *path + report::kUnfinished;
  }
  return {};
}

RunJournal::RunJournal(const CertifyOptions& options, const report::ReportContext& context,
                       const scenario::Library& library)
    : context_(context) {
  const std::string place =
      options.resume.empty() ? journal_place(options.reports) : options.resume;
  if (place.empty()) return;
  if (!options.resume.empty()) {
    auto journal = report::Journal::go_on(place);
    if (journal) {
      journal_ = std::move(*journal);
    } else {
      complain(journal.error());
    }
    return;
  }
  begin_anew(place, head_line(context, library, call_of_certify(options)));
}

// What an earlier run has left under this name is put aside first.
void RunJournal::begin_anew(const std::string& place, const std::string& head) {
  std::error_code failed;
  if (std::filesystem::exists(place, failed)) {
    const auto left = scenario::read_file(place);
    const auto unlocked = report::Journal::go_on(place);  // no other run is writing it
    const std::size_t cases = left && report::is_unfinished(*left) ? report::count_cases(*left) : 0;
    if (unlocked && cases > 0) {
      const std::string aside = place + ".old";
      std::filesystem::rename(place, aside, failed);
      complain(fmt::format(
          "an earlier run was killed when {} of its cases had finished; to go on with it: "
          "fencepost certify --resume {}",
          cases, text::shell_word(failed ? place : aside)));
      if (failed) return;
    }
  }
  auto journal = report::Journal::create(place, head);
  if (journal) {
    journal_ = std::move(*journal);
    complain_once();
  } else {
    complain(journal.error() + "; what this run finds is lost when it is killed");
  }
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
  complain(journal_->trouble() + "; what this run finds is lost when it is killed");
}

void RunJournal::end(bool written) {
  if (!journal_) return;
  if (written) {
    journal_->remove();
    return;
  }
  std::string place = journal_->path();
  if (!journal_->is_whole()) {
    std::error_code failed;
    const auto folder = std::filesystem::temp_directory_path(failed);
    place = (folder / ("fencepost-" + random_run_id() + report::kUnfinished)).string();
    if (const auto saved = report::write_file(place, journal_->content()); !saved) {
      complain(saved.error());
      return;
    }
  }
  complain(
      fmt::format("what the run has found is in {0}; make the reports of it with: fencepost "
                  "merge {0} --json FILE",
                  text::shell_word(place)));
}

}  // namespace fencepost::cli
