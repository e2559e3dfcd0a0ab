// The evidence of `explore`: each workload runs again, answered by the file, before the same
// oracle.

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/judge_kinds.h"
#include "cli/run_evidence.h"
#include "conformance/record/counterexample.h"
#include "conformance/search/explore_evidence.h"
#include "conformance/search/explore_report.h"
#include "conformance/text/output.h"
#include "conformance/text/printable.h"
#include "conformance/text/text_wrap.h"
#include "endpoint/recorded.h"
#include "workload/trace_text.h"

namespace fencepost::cli {
namespace {

// A workload that was rejected, with the last run that shows it.
struct Rejected {
  workload::Trace trace{};
  search::JudgedRun run{};
  std::size_t times = 0;
};

class RunsAgain {
 public:
  RunsAgain(const EvidenceFile& file, const search::ExploreEvidence& own,
            const scenario::Catalogue& catalogue)
      : file_(file), own_(own), catalogue_(catalogue) {}

  // A session that is whole, of whoever `name` is.
  void judge(const endpoint::Recorded& so_far, const std::string& name) {
    const auto said = so_far.said().find(name);
    if (!begin(so_far)) return;
    if (said == so_far.said().end()) {
      not_judged_.push_back(name);
      return;
    }
    const auto kept = search::read_kept_run(said->second);
    if (!kept) {
      agreement_.compare(name, "a run", "not to be read: " + kept.error());
      not_judged_.push_back(name);
      return;
    }
    const auto endpoint = play(so_far, file_.head.run.context.endpoint, file_.head.capabilities);
    const auto session = endpoint->open_session_for(name, false);
    if (!session) return agreement_.miss();
    search::JudgedRunOptions options =
        search::options_of_run(*options_, name, file_.head.capabilities.key_prefix);
    options.keeps_packets = true;
    options.is_known = [&](const judge::Judgement& judgement) {
      return kept->known.contains(judgement.requirement) ||
             search::is_ignored(own_.ignore, judgement);
    };
    if (kept->verdict == "stopped") {
      options.stop = [at = kept->stop_asked, asked = std::size_t{0}]() mutable {
        return ++asked >= at;
      };
    }
    search::JudgedRun run = run_judged(**session, kept->trace, options);
    cut_short_ += run.lost ? 1 : 0;
    const bool is_whole = so_far.find(name)->is_read();
    ++runs_;
    requests_ += run.requests;
    agreement_.compare(name, kept->verdict, verdict_text(run));
    passed_over_ += run.known;
    if (!run.rejection && !is_whole) not_judged_.push_back(name);
    if (run.rejection) note(kept->trace, std::move(run));
  }

  // Sessions that never ended, of a run that says that it has.
  void note_cut(const std::vector<std::string>& sessions, const std::optional<RunEnd>& end) {
    const bool early = !end || end->exit_code == static_cast<int>(run::ExitCode::kInterrupted);
    if (!early) not_judged_.insert(not_judged_.end(), sessions.begin(), sessions.end());
  }

  // Asks what the run has asked in the beginning; false where that has led to nothing.
  bool begin(const endpoint::Recorded& so_far) {
    if (options_ || not_ready_) return options_.has_value();
    const auto endpoint = play(so_far, file_.head.run.context.endpoint, file_.head.capabilities);
    const report::ReportContext& context = file_.head.run.context;
    run::SuiteOptions suite{.settings = {.profile = context.profile,
                                         .wording = context.wording,
                                         .run_id = file_.head.run_id,
                                         .seed = context.seed,
                                         .timeout_scale = file_.head.run.call.timeout_scale}};
    const auto observed = so_far.said().find(search::kObservedProfile);
    if (observed != so_far.said().end()) {
      const auto profile = search::read_observed_profile(observed->second);
      if (profile) suite.settings.profile = *profile;
    }
    const auto ready = prepare(*endpoint,
                               {.url = context.endpoint,
                                .expiry_tolerance = file_.head.expiry_tolerance,
                                .disconnect_settling = file_.head.disconnect_settling},
                               1, suite);
    if (!ready) {
      not_ready_ = ready.error();
      return false;
    }
    options_ = search::judged_runs({.catalogue = catalogue_,
                                    .settings = suite.settings,
                                    .offers = endpoint->capabilities(),
                                    .round_trip = ready->round_trip_p50,
                                    .timeout_scale = file_.head.run.call.timeout_scale});
    return true;
  }

  // What is wrong: of a search, what was rejected twice; of saved workloads, anything.
  [[nodiscard]] run::ExitCode code(const std::optional<RunEnd>& end) const {
    if (not_ready_ && end) return not_ready_->code;
    for (const auto& [text, rejected] : rejected_) {
      if (own_.replays || rejected.times > 1) return run::ExitCode::kFailed;
    }
    if (!end) return run::ExitCode::kInterrupted;
    const auto then = static_cast<run::ExitCode>(end->exit_code);
    const bool early = then == run::ExitCode::kInterrupted || then == run::ExitCode::kUnreachable;
    if (early) return then;
    const bool undecided = !rejected_.empty() || requests_ == 0 || passed_over_ > 0 ||
                           !not_judged_.empty() || search::too_many_cut_short(cut_short_, runs_);
    return undecided ? run::ExitCode::kInconclusive : run::ExitCode::kConformant;
  }

  void print(bool all_packets) const {
    const Rejected* shown = nullptr;  // that which was rejected most often, the shortest of these
    for (const auto& [text, each] : rejected_) {
      const bool better = shown == nullptr || each.times > shown->times ||
                          (each.times == shown->times && each.trace.size() < shown->trace.size());
      if (better) shown = &each;
    }
    if (shown != nullptr) {
      text::print("{}", text::Lines(record::rejection_text(shown->run, shown->trace, all_packets,
                                                           catalogue_)));
      text::print("  rejected {} times\n", shown->times);
    }
    text::print("{} workloads, {} operations, {} workloads rejected\n", runs_, requests_,
                rejected_.size());
    if (passed_over_ > 0) {
      text::print(
          "not decided: {} passed over, as --ignore of the run says or as it had found the rule\n",
          text::counted(passed_over_, "rejection"));
    }
    if (const std::size_t count = not_judged_.size(); count > 0) {
      text::print("not decided: {} of the file, not judged to the end of what it was answered\n",
                  text::counted(count, "part"));
    }
    if (search::too_many_cut_short(cut_short_, runs_)) {
      text::print("not decided: {} of {} workloads were cut short\n", cut_short_, runs_);
    }
  }
  void print_agreement() const { agreement_.print(); }
  [[nodiscard]] const std::optional<NotReady>& not_ready() const { return not_ready_; }

 private:
  void note(const workload::Trace& trace, search::JudgedRun run) {
    constexpr std::size_t kMostKept = 1'000;
    const std::string text = workload::to_text(trace);
    if (!rejected_.contains(text) && rejected_.size() >= kMostKept) return;
    Rejected& each = rejected_[text];
    each.trace = trace;
    each.run = std::move(run);
    ++each.times;
  }

  const EvidenceFile& file_;
  const search::ExploreEvidence& own_;
  const scenario::Catalogue& catalogue_;
  std::optional<search::JudgedRunOptions> options_{};  // none: nothing was asked yet
  std::optional<NotReady> not_ready_{};
  Agreement agreement_{};
  std::map<std::string, Rejected> rejected_{};  // by the text of the workload
  std::vector<std::string> not_judged_{};       // runs, not to the end of what they were answered
  std::size_t passed_over_ = 0;
  std::size_t runs_ = 0;
  std::size_t requests_ = 0;
  std::size_t cut_short_ = 0;
};

}  // namespace

run::ExitCode judge_explore(const JudgeOptions& options, const EvidenceFile& file) {
  const auto own = search::read_explore_evidence(file.head.own);
  if (!own) {
    complain(file.name + ": " + own.error());
    return run::ExitCode::kUsage;
  }
  const auto library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  RunsAgain again(file, *own, library->catalogue);
  const auto recorded = endpoint::Recorded::read_along(
      file.content, [&](const endpoint::Recorded& so_far, const std::string& caller) {
        again.judge(so_far, caller);
      });
  if (!can_be_judged(file.name, recorded)) return run::ExitCode::kUsage;
  const auto end = read_run_end(recorded->end());
  if (!again.begin(*recorded) && end) complain(*again.not_ready());
  if (!options.quiet) {
    text::print("{}  {} requests, {} messages received\n", describe(file), recorded->published(),
                recorded->received());
  }
  again.note_cut(recorded->unread(), end);
  again.print(options.trace);
  const scenario::Library rules{.catalogue = library->catalogue, .cases = {}};
  print_rules(rules_since(file.head, rules), file.head);
  again.print_agreement();
  if (!end) text::print("the run did not come to its end\n");
  return again.code(end);
}

}  // namespace fencepost::cli
