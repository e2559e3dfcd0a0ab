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

#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/run_evidence.h"
#include "conformance/record/counterexample.h"
#include "conformance/report/console.h"
#include "conformance/report/progress_line.h"
#include "conformance/run/observed_profile.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/search/explore.h"
#include "conformance/search/explore_evidence.h"
#include "conformance/search/explore_report.h"
#include "conformance/search/saved_workload.h"
#include "conformance/target/target.h"
#include "conformance/text/output.h"
#include "endpoint/rate_limit.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxJobs = 512;  // of each what it receives is kept until its end
constexpr std::size_t kReplays = 5;    // of a saved workload
constexpr milliseconds kRandomTime{60'000};
constexpr milliseconds kAsLongAsItTakes{std::chrono::hours{24 * 365}};
// So many requests a second for each workload that runs beside others.
constexpr double kRateOfOneWorkload = 50;

// A run, and the options that only the command itself looks at.
struct ExploreRun : record::ExploreRun {
  const ExploreOptions& options;
};

// ---- The search

run::ExitCode report(const search::ExploreResult& result, endpoint::Endpoint& endpoint,
                     const ExploreRun& run) {
  bool saved = true;
  const record::Trials trials{
      .endpoint = endpoint, .new_run_id = random_run_id, .stop = stop_flag()};
  for (const search::Counterexample& found : result.found) {
    text::print("{}", text::Lines(counterexample_text(found, run)));
    std::fflush(stdout);
    const auto file = save(found, run, trials);
    if (file) {
      text::print("{}", text::Lines(*file));
      std::fflush(stdout);
    } else {
      complain(file.error());
      saved = false;
    }
  }
  text::print("\n{}\n", search::progress_text(result.progress, true));
  if (const std::string open = open_text(result); !open.empty()) text::print("  {}\n", open);
  for (const auto& [point, outcome] : result.observed) text::print("  {}: {}\n", point, outcome);
  if (!saved) return run::ExitCode::kInternal;
  const search::Conclusion end = conclude(result);
  if (!end.text.empty()) text::print("{}\n", end.text);
  if (!end.complaint.empty()) complain(end.complaint);
  return end.code;
}

// What is found is made a scenario of at `direct`, of which there is no evidence.
run::ExitCode search(endpoint::Endpoint& endpoint, endpoint::Endpoint& direct, ExploreRun& run) {
  text::print("fencepost explore {}  endpoint {}  {} at once", report::suite_version(),
              endpoint.url(), run.explore.jobs);
  if (run.explore.all != nullptr) {
    text::print("  all workloads of depth {}\n", run.explore.all->depth());
    for (const std::string& part : run.explore.all->bound()) text::print("  {}\n", part);
  } else {
    text::print("  seed {}  time {}\n", run.explore.seed,
                run.options.max_time.empty() ? "60s" : run.options.max_time);
  }
  text::print("judged by {}\n", search::basis_text(run.explore.judged.oracle.basis,
                                                   run.context.profile == codec::Profile::kAuto));
  std::fflush(stdout);
  report::ProgressLine line(report::console_options(stdout).live, run.options.quiet);
  const search::ExploreResult result =
      explore(endpoint, run.explore, stop_flag(), [&](const search::ExploreProgress& progress) {
        line.show(progress.elapsed, [&] { return search::progress_text(progress); });
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
    const search::ReplayedWorkload replayed{
        .file = each.file, .requirement = each.saved.requirement, .runs = *runs};
    if (const search::JudgedRun* rejected = replayed.rejected()) {
      text::print("{}", text::Lines(record::rejection_text(
                            *rejected, each.saved.trace, run.all_packets, run.library.catalogue)));
      ++failing;
    } else if (runs->empty()) {
      ++not_run;
    }
    text::print("{}\n", replayed_text(replayed));
  }
  text::print("{} workloads: {} rejected\n", all.size(), failing);
  if (failing > 0) return run::ExitCode::kFailed;
  if (stop_flag()) return run::ExitCode::kInterrupted;
  return not_run > 0 ? run::ExitCode::kInconclusive : run::ExitCode::kConformant;
}

// ---- Everything

report::EvidenceHead head_of_evidence(const ExploreRun& run, const target::Descriptor& descriptor,
                                      const endpoint::Capabilities& offers) {
  report::EvidenceHead out{
      .command = "explore",
      .own = to_json(search::ExploreEvidence{.ignore = run.options.ignore,
                                             .replays = !run.options.replay.empty()}),
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
  return sign_files(run.options.sign, run.options.evidence) ? code : run::ExitCode::kInternal;
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
    evidence.say(search::kObservedProfile, search::observed_profile_json(suite.settings.profile));
  }
  run.explore.judged = search::judged_runs({.catalogue = run.library.catalogue,
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
    return search::is_ignored(options.ignore, judgement);
  };
  if (evidence.is_kept()) {
    run.explore.keep = [&evidence](const search::KeptRun& kept) {
      evidence.say(kept.name, search::kept_run_json(kept));
    };
  }
  endpoint::Endpoint& kept = limited ? evidence.of(*limited) : endpoint;
  const run::ExitCode code =
      run.options.replay.empty() ? search(kept, asked, run) : replay(saved, kept, run);
  return ended(code, run, evidence);
}

}  // namespace

run::ExitCode explore(const ExploreOptions& options) {
  const auto time = options.max_time.empty()
                        ? (options.exhaustive > 0 ? kAsLongAsItTakes : kRandomTime)
                        : scenario::parse_duration(options.max_time);
  if (!time || time->count() == 0) {
    complain("--max-time " + options.max_time + " must be a duration such as 90s or 5m");
    return run::ExitCode::kUsage;
  }
  std::optional<workload::Enumeration> all;
  if (options.exhaustive > 0) all.emplace(options.exhaustive);
  if (all && options.example.value_or(1) > all->size()) {
    complain(fmt::format("--example {}: there are {} workloads of depth {}", *options.example,
                         all->size(), options.exhaustive));
    return run::ExitCode::kUsage;
  }
  std::vector<Replayable> saved;
  for (const std::string& path : options.replay) {
    if (!read_workloads(path, saved)) return run::ExitCode::kUsage;
  }
  const auto basis = prepare_run(options);
  if (!basis || !can_sign(options.sign, options.evidence)) return run::ExitCode::kUsage;
  const auto library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  ExploreRun run{
      {.call = {.program = options.program,
                .endpoint = options.endpoint.empty() ? "" : endpoint::redacted(options.endpoint),
                .descriptor = options.descriptor,
                .profile = options.profile,
                .wording = options.wording,
                .driver = options.driver,
                .timeout_scale = options.timeout_scale,
                .ignore = options.ignore},
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
                   .all = all ? &*all : nullptr,
                   .fresh_connections = options.fresh_connections,
                   .max_operations = options.max_operations,
                   .stop_after = options.stop_after},
       .suite = {.settings = basis->settings},
       .save = options.save,
       .all_packets = options.trace},
      options};
  stop_on_signals();
  const auto target = open_judged_by(basis->settings.profile, basis->descriptor);
  if (!target) return exit_code(target.error());
  auto evidence = RunEvidence::open(options.evidence, evidence::kMaxStreamed);
  if (!evidence) return run::ExitCode::kUsage;
  return run_on(*target->endpoint, basis->descriptor, saved, run, *evidence);
}

}  // namespace fencepost::cli
