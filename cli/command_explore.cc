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
#include "base/glob.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/counterexample_report.h"
#include "conformance/report/console.h"
#include "conformance/report/progress_line.h"
#include "conformance/run/time_limits.h"
#include "conformance/scenario/binding.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/search/explore.h"
#include "conformance/search/saved_workload.h"
#include "conformance/target/target.h"
#include "endpoint/rate_limit.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxJobs = 128;  // of each what it receives is kept until its end
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

// How soon a key may expire that live requests rely on, and their way.
milliseconds short_expiry(endpoint::Duration round_trip) {
  constexpr milliseconds kShortest{300};
  constexpr int kRoundTrips = 30;
  const auto way = std::chrono::ceil<milliseconds>(round_trip * kRoundTrips);
  return std::max(kShortest, (way + milliseconds{99}) / 100 * 100);
}

// What a store is judged by must be known before it answers: where nothing is said, it is the
// deployed service.
judge::OracleBasis basis_of(const run::RunSettings& settings,
                            const scenario::Catalogue& catalogue) {
  const bool is_auto = settings.profile == codec::Profile::kAuto;
  const codec::Profile profile = is_auto ? codec::Profile::kDeployed : settings.profile;
  judge::OracleBasis out;
  out.waived = scenario::unsettled(catalogue, scenario::bases_of(profile, settings.wording));
  if (!is_auto) out.dialect = codec::dialects_of(profile).front();
  return out;
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

run::ExitCode search(endpoint::Endpoint& endpoint, ExploreRun& run) {
  const judge::OracleBasis& basis = run.explore.judged.oracle.basis;
  fmt::print("fencepost explore {}  endpoint {}  {} at once  seed {}  time {}\n",
             report::suite_version(), endpoint.url(), run.explore.jobs, run.explore.seed,
             run.options.max_time);
  const bool by_article = basis.dialect == codec::DialectId::kDocumented;
  fmt::print(
      "judged by {}{}\n", by_article ? "the article alone" : "the article and the deployed service",
      basis.waived.empty() ? ""
                           : fmt::format("; {} rules do not bind the store", basis.waived.size()));
  std::fflush(stdout);
  report::ProgressLine line(report::console_options(stdout).live, run.options.quiet);
  const search::ExploreResult result =
      explore(endpoint, run.explore, stop_flag(), [&](const search::ExploreProgress& progress) {
        line.show(progress.elapsed, [&] { return describe(progress); });
      });
  line.clear();
  return report(result, endpoint, run);
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
      print_rejection(*shown, each.saved.trace, run.options.trace, run.catalogue);
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

run::ExitCode run_on(endpoint::Endpoint& endpoint, const target::Descriptor& descriptor,
                     const std::vector<Replayable>& saved, ExploreRun& run) {
  run::SuiteOptions& suite = run.suite;
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    complain(ready.error());
    return ready.error().code;
  }
  const endpoint::Capabilities& offers = endpoint.capabilities();
  run.context.endpoint = endpoint.url();
  search::JudgedRunOptions& judged = run.explore.judged;
  judged.oracle.clock = suite.settings.clock_bounds;
  judged.oracle.expiry_slack = suite.settings.expiry_tolerance;
  judged.oracle.disconnect_settling = suite.settings.disconnect_settling;
  judged.oracle.basis = basis_of(suite.settings, run.catalogue);
  judged.oracle.limited = !offers.ephemeral && offers.transport;
  judged.timeout = run::scaled(run::kReplyTimeout, run.options.timeout_scale);
  if (offers.transport) judged.short_expiry = short_expiry(ready->round_trip_p50);
  judged.removes_keys = offers.transport && !offers.ephemeral;
  run.explore.jobs = std::min(suite.jobs, kMaxJobs);
  run.explore.running = std::min(suite.running, run.explore.jobs);
  run.explore.ignores = [&options = run.options](const judge::Judgement& judgement) {
    const std::string all = judgement.requirement + ": " + judgement.because;
    return std::any_of(options.ignore.begin(), options.ignore.end(), [&](const std::string& glob) {
      return glob_matches(glob, judgement.requirement) || glob_matches(glob, all);
    });
  };
  std::unique_ptr<endpoint::Endpoint> limited;
  if (run.options.rate > 0) {
    limited = endpoint::limit_rate(endpoint, run.options.rate);
    const auto most = static_cast<std::size_t>(run.options.rate / kRateOfOneWorkload) + 1;
    run.explore.jobs = std::min(run.explore.jobs, most);
  }
  endpoint::Endpoint& asked = limited ? *limited : endpoint;
  return run.options.replay.empty() ? search(asked, run) : replay(saved, asked, run);
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
  if (!basis) return run::ExitCode::kUsage;
  const auto library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  ExploreRun run{.options = options,
                 .catalogue = library->catalogue,
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
  return run_on(*target->endpoint, basis->descriptor, saved, run);
}

}  // namespace fencepost::cli
