#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/durations.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/counterexample_report.h"
#include "cli/explore_evidence.h"
#include "cli/run_evidence.h"
#include "conformance/report/console.h"
#include "conformance/report/progress_line.h"
#include "conformance/run/observed_profile.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/search/explore.h"
#include "conformance/search/saved_workload.h"
#include "conformance/target/target.h"
#include "endpoint/rate_limit.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxJobs = 512;  // of each what it receives is kept until its end
constexpr std::size_t kReplays = 5;    // of a saved workload
// So many requests a second for each workload that runs beside others.
constexpr double kRateOfOneWorkload = 50;

std::string describe(const search::ExploreProgress& progress) {
  const double took = std::max(in_seconds(progress.elapsed), 0.001);
  std::string out =
      fmt::format("{:.0f} s  {} workloads  {} operations ({:.0f}/s)  {} undecidable",
                  in_seconds(progress.elapsed), progress.examples, progress.requests,
                  static_cast<double>(progress.requests) / took, progress.undecidable);
  if (progress.ignored > 0) out += fmt::format("  {} ignored", progress.ignored);
  if (progress.cut_short > 0) {
    out += fmt::format("  {} cut short by a connection that ended", progress.cut_short);
  }
  return progress.doing.empty() ? out : out + "  " + progress.doing;
}

// ---- The search

run::ExitCode report(const search::ExploreResult& result, endpoint::Endpoint& endpoint,
                     ExploreRun& run) {
  bool saved = true;
  bool proved = false;
  for (const search::Counterexample& found : result.found) {
    print(found, run);
    saved = save(found, endpoint, run) && saved;
    proved = proved || found.failed > 0;
  }
  fmt::print("\n{}\n", describe(result.progress));
  for (const auto& [point, outcome] : result.observed) fmt::print("  {}: {}\n", point, outcome);
  if (!saved) return run::ExitCode::kInternal;
  if (proved) {
    fmt::print("the store breaks a rule\n");
    return run::ExitCode::kFailed;
  }
  if (result.lost) {
    complain("the endpoint was lost during the run: " + result.lost->text);
    return run::ExitCode::kUnreachable;
  }
  if (result.interrupted) {
    fmt::print("interrupted\n");
    return run::ExitCode::kInterrupted;
  }
  if (!result.found.empty()) {
    fmt::print("seen once, and not again: nothing is proved\n");
    return run::ExitCode::kInconclusive;
  }
  if (result.progress.requests == 0) return run::ExitCode::kInconclusive;
  fmt::print("no rule is broken\n");
  return run::ExitCode::kConformant;
}

// What is found is made a scenario of at `direct`, of which there is no evidence.
run::ExitCode search(endpoint::Endpoint& endpoint, endpoint::Endpoint& direct, ExploreRun& run) {
  const judge::OracleBasis& basis = run.explore.judged.oracle.basis;
  fmt::print("fencepost explore {}  endpoint {}  {} at once  seed {}  time {}\n",
             report::suite_version(), endpoint.url(), run.explore.jobs, run.explore.seed,
             run.options.max_time);
  const bool by_article = basis.dialect == codec::DialectId::kDocumented;
  fmt::print("judged by {}{}\n",
             !by_article ? "the article and the deployed service"
             : run.context.profile == codec::Profile::kAuto
                 ? "the article alone, as its spellings are those of the article"
                 : "the article alone",
             basis.waived.empty()
                 ? ""
                 : fmt::format("; {} rules do not bind the store", basis.waived.size()));
  std::fflush(stdout);
  report::ProgressLine line(report::console_options(stdout).live, run.options.quiet);
  const search::ExploreResult result =
      explore(endpoint, run.explore, stop_flag(), [&](const search::ExploreProgress& progress) {
        line.show(progress.elapsed, [&] { return describe(progress); });
      });
  line.clear();
  return report(result, direct, run);
}

// ---- Saved workloads

struct Replayable {
  std::string file;
  search::SavedWorkload saved;
};

// The files at a path: itself, or all workloads below a folder, sorted. Complains of what is wrong.
bool read_workloads(const std::string& path, std::vector<Replayable>& out) {
  std::vector<std::string> files = {path};
  std::error_code trouble;
  if (std::filesystem::is_directory(path, trouble)) {
    files.clear();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, trouble)) {
      if (entry.path().extension() == search::kWorkloadExtension)
        files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
  }
  bool good = true;
  for (const std::string& file : files) {
    const auto text = scenario::read_file(file);
    auto saved = text ? search::parse_saved_workload(text->content) : fail(text.error());
    if (saved) {
      out.push_back({file, std::move(*saved)});
    } else {
      complain(file + ": " + saved.error());
      good = false;
    }
  }
  if (files.empty()) complain("there is no *.trace in " + path);
  return good && !files.empty();
}

// Runs each again. 0 none is rejected, 1 one is, 3 the endpoint is lost, 4 one could not be run.
run::ExitCode replay(const std::vector<Replayable>& all, endpoint::Endpoint& endpoint,
                     ExploreRun& run) {
  std::size_t failing = 0;
  std::size_t not_run = 0;
  run.explore.judged.keeps_packets = true;
  for (const Replayable& each : all) {
    run.explore.run_id = random_run_id();  // keys and clients of its own
    const auto runs = search::rerun(endpoint, each.saved.trace, kReplays, run.explore, stop_flag());
    if (!runs) {
      complain("the endpoint was lost during the run: " + runs.error().text);
      return run::ExitCode::kUnreachable;
    }
    const auto rejected = std::count_if(runs->begin(), runs->end(),
                                        [](const search::JudgedRun& one) { return one.rejection; });
    const auto shown = std::find_if(runs->begin(), runs->end(),
                                    [](const search::JudgedRun& one) { return one.rejection; });
    if (shown != runs->end()) {
      print_rejection(*shown, each.saved.trace, run.options.trace, run.library.catalogue);
      ++failing;
    } else if (runs->empty()) {
      ++not_run;
    }
    const char* outcome = rejected > 0 ? "still rejected" : "accepted";
    if (rejected == 0 && runs->empty()) outcome = "not run";
    if (rejected > 0 && !each.saved.requirement.empty() &&
        shown->rejection->judgement.requirement != each.saved.requirement) {
      outcome = "rejected for another reason";
    }
    fmt::print("{}  {}, {} times of {}{}\n", each.file, outcome,
               rejected > 0 ? static_cast<std::size_t>(rejected) : runs->size(), runs->size(),
               each.saved.requirement.empty() ? "" : "; recorded: " + each.saved.requirement);
  }
  fmt::print("{} workloads: {} rejected\n", all.size(), failing);
  if (failing > 0) return run::ExitCode::kFailed;
  if (stop_flag()) return run::ExitCode::kInterrupted;
  return not_run > 0 ? run::ExitCode::kInconclusive : run::ExitCode::kConformant;
}

// ---- Everything

report::EvidenceHead head_of_evidence(const ExploreRun& run, const target::Descriptor& descriptor,
                                      const endpoint::Capabilities& offers) {
  report::EvidenceHead out{.command = "explore",
                           .own = explore_evidence_json(run.options),
                           .run = {.context = run.context, .call = call_of(run.options)},
                           .run_id = run.suite.settings.run_id,
                           .capabilities = offers,
                           .expiry_tolerance = descriptor.expiry_tolerance,
                           .disconnect_settling = descriptor.disconnect_settling};
  out.run.context.wording = run.suite.settings.wording;
  const auto url = endpoint::parse_url(descriptor.url);
  out.run.context.endpoint = url ? url->display() : "unknown";
  return out;
}

// Completes the evidence.
run::ExitCode ended(run::ExitCode code, const ExploreRun& run, RunEvidence& evidence) {
  if (!evidence.end(run_end_json({.exit_code = static_cast<int>(code)}))) {
    return run::ExitCode::kInternal;
  }
  return sign_files(run.options.sign, {run.options.evidence}) ? code : run::ExitCode::kInternal;
}

run::ExitCode run_on(endpoint::Endpoint& direct, const target::Descriptor& descriptor,
                     const std::vector<Replayable>& saved, ExploreRun& run, RunEvidence& evidence) {
  run::SuiteOptions& suite = run.suite;
  endpoint::Endpoint& endpoint = evidence.of(direct);
  evidence.begin(head_of_evidence(run, descriptor, endpoint.capabilities()),
                 {.catalogue = run.library.catalogue, .cases = {}});
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    complain(ready.error());
    return ended(ready.error().code, run, evidence);
  }
  run.context.endpoint = direct.url();
  run.context.preflight = *ready;
  std::unique_ptr<endpoint::Endpoint> limited;
  if (run.options.rate > 0) {
    limited = endpoint::limit_rate(direct, run.options.rate);
    const auto most = static_cast<std::size_t>(run.options.rate / kRateOfOneWorkload) + 1;
    suite.jobs = std::min(suite.jobs, most);
  }
  endpoint::Endpoint& asked = limited ? *limited : direct;
  if (suite.settings.profile == codec::Profile::kAuto) {
    suite.settings.profile = run::observed_profile(asked, run.library, suite, stop_flag());
    evidence.say(kObservedProfile, observed_profile_json(suite.settings.profile));
  }
  run.explore.judged = judged_runs({.catalogue = run.library.catalogue,
                                    .settings = suite.settings,
                                    .offers = endpoint.capabilities(),
                                    .round_trip = ready->round_trip_p50,
                                    .timeout_scale = run.options.timeout_scale});
  // Brokers of our own have room for more: workloads wait for expiries, some for little else.
  const bool ours = endpoint.url().starts_with("embedded") && suite.running < suite.jobs;
  if (ours && run.options.jobs == 0 && run.options.rate == 0) suite.jobs = kMaxJobs;
  run.explore.jobs = std::min(suite.jobs, kMaxJobs);
  run.explore.running = std::min(suite.running, run.explore.jobs);
  run.explore.ignores = [&options = run.options](const judge::Judgement& judgement) {
    return is_ignored(options.ignore, judgement);
  };
  if (evidence.is_kept()) {
    run.explore.keep = [&evidence](const search::KeptRun& kept) {
      evidence.say(kept.name, kept_run_json(kept));
    };
  }
  endpoint::Endpoint& kept = limited ? evidence.of(*limited) : endpoint;
  const run::ExitCode code =
      run.options.replay.empty() ? search(kept, asked, run) : replay(saved, kept, run);
  return ended(code, run, evidence);
}

}  // namespace

run::ExitCode explore(const ExploreOptions& options) {
  const auto time = scenario::parse_duration(options.max_time);
  if (!time || time->count() == 0) {
    complain("--max-time " + options.max_time + " must be a duration such as 90s or 5m");
    return run::ExitCode::kUsage;
  }
  std::vector<Replayable> saved;
  for (const std::string& path : options.replay) {
    if (!read_workloads(path, saved)) return run::ExitCode::kUsage;
  }
  const auto basis = prepare_run(options);
  if (!basis || !can_sign(options.sign, {options.evidence})) return run::ExitCode::kUsage;
  const auto library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  ExploreRun run{.options = options,
                 .library = *library,
                 .context = {.endpoint = {},
                             .profile = basis->settings.profile,
                             .seed = basis->settings.seed,
                             .command = {},
                             .started = utc_now()},
                 .explore = {.run_id = random_run_id(),
                             .seed = basis->settings.seed,
                             .first_example = options.example.value_or(1),
                             .max_examples = options.example ? 1 : options.max_examples,
                             .max_time = *time,
                             .fresh_connections = options.fresh_connections,
                             .max_operations = options.max_operations,
                             .stop_after = options.stop_after},
                 .suite = {.settings = basis->settings}};
  stop_on_signals();
  const auto target = open_judged_by(basis->settings.profile, basis->descriptor);
  if (!target) return exit_code(target.error());
  auto evidence = RunEvidence::open(options.evidence, evidence::kMaxStreamed);
  if (!evidence) return run::ExitCode::kUsage;
  return run_on(*target->endpoint, basis->descriptor, saved, run, *evidence);
}

}  // namespace fencepost::cli
