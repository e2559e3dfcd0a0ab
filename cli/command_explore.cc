#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "endpoint/network_faults.h"
#include "endpoint/rate_limit.h"
#include "endpoint/url.h"
#include "report/console.h"
#include "report/progress_line.h"
#include "suite/run/observed_profile.h"
#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/target.h"
#include "traffic/record/counterexample.h"
#include "traffic/record/enumeration_phase.h"
#include "traffic/search/explore.h"
#include "traffic/search/explore_report.h"
#include "traffic/search/judged_runs.h"
#include "traffic/search/saved_workload.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kReplays = 5;  // of a saved workload
constexpr milliseconds kRandomTime{60'000};
constexpr milliseconds kAsLongAsItTakes{std::chrono::hours{24 * 365}};
// The requests per second for each workload that runs beside others.
constexpr double kRateOfOneWorkload = 50;

// A run, and the options that only the command itself looks at.
struct ExploreRun : record::ExploreRun {
  const ExploreOptions& options;
  endpoint::NetworkFaults* network = nullptr;  // null: none are injected
};

// ---- The search

// The command that continues where all workloads before have ended; empty where there is none.
std::string rest_command(const search::ExploreResult& result, const ExploreRun& run) {
  const search::ExploreProgress& done = result.progress;
  const search::ExploreOptions& explore = run.explore;
  const bool ended = done.examples >= done.of || !result.found.empty();
  if (explore.all == nullptr || explore.max_examples > 0 || ended) return "";
  std::string out = record::search_command(run, fmt::format("--from-example {}", done.next));
  const auto& [index, total] = explore.shard;
  if (total > 1) out += fmt::format(" --shard {}/{}", index, total);
  if (run.options.rate > 0) out += fmt::format(" --rate {:g}", run.options.rate);
  return out + (explore.fresh_connections ? " --fresh-connections" : "");
}

std::string injected_text(endpoint::NetworkFaults& network);

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
      print_error(file.error());
      saved = false;
    }
  }
  text::print("\n{}\n", search::progress_text(result.progress, true));
  if (run.network != nullptr) text::print("  {}\n", injected_text(*run.network));
  if (const std::string open = open_text(result); !open.empty()) text::print("  {}\n", open);
  for (const auto& [point, outcome] : result.observed) text::print("  {}: {}\n", point, outcome);
  if (!saved) return run::ExitCode::kInternal;
  const search::Conclusion end = conclude(result);
  if (!end.text.empty()) text::print("{}\n", end.text);
  if (!end.diagnostic.empty()) print_error(end.diagnostic);
  if (const std::string rest = rest_command(result, run); !rest.empty()) {
    text::print("continue with: {}\n", rest);
  }
  return end.code;
}

run::ExitCode search(endpoint::Endpoint& endpoint, ExploreRun& run) {
  text::print("fencepost explore {}  endpoint {}  {} in parallel", report::suite_version(),
              endpoint.url(), run.explore.jobs);
  if (run.explore.all != nullptr) {
    text::print("  all workloads of depth {}\n", run.explore.all->depth());
    for (const std::string& part : run.explore.all->bound()) text::print("  {}\n", part);
  } else {
    text::print("  seed {}  duration {}\n", run.explore.seed,
                run.options.max_time.empty() ? "60s" : run.options.max_time);
  }
  text::print("judged by {}\n", search::basis_text(run.explore.judged.oracle.basis,
                                                   run.context.profile == codec::Profile::kAuto));
  std::fflush(stdout);
  report::ProgressLine line(report::console_options(stdout).live, run.options.quiet);
  search::ExploreResult result =
      explore(endpoint, run.explore, stop_flag(), [&](const search::ExploreProgress& progress) {
        line.show(progress.elapsed, [&] { return search::progress_text(progress); });
      });
  line.clear();
  if (run.network != nullptr) {
    run.network->set_on(false);
    result.ended_by_broker = run.network->ended_themselves();
  }
  return report(result, endpoint, run);
}

// ---- Saved workloads

struct Replayable {
  std::string file;
  search::SavedWorkload saved;
};

// The files at a path: itself, or all workloads below a folder, sorted. Prints the errors.
bool read_workloads(const std::string& path, std::vector<Replayable>& out) {
  std::vector<std::string> files = {path};
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    files.clear();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error)) {
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
      print_error(file + ": " + saved.error());
      good = false;
    }
  }
  if (files.empty()) print_error("no *.trace in " + path);
  return good && !files.empty();
}

// Runs each again. 0 none is rejected, 1 one is, 3 the endpoint is lost, 4 one could not be run.
run::ExitCode replay(const std::vector<Replayable>& all, endpoint::Endpoint& endpoint,
                     ExploreRun& run) {
  std::size_t failing = 0;
  std::size_t not_run = 0;
  run.explore.judged.keeps_packets = true;
  for (const Replayable& each : all) {
    run.explore.run_id = random_run_id();  // its own keys and clients
    const auto runs = search::rerun(endpoint, each.saved.trace, kReplays, run.explore, stop_flag());
    if (!runs) {
      print_error("the endpoint was lost during the run: " + runs.error().text);
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

// ---- Faults of the network

// Leaves out of "all" what ends more than single connections: a workload knows only its own.
// Prints an error for others of these.
bool fit_to_search(endpoint::NetworkFaultOptions& disturb, const ExploreOptions& options) {
  const auto is_for_stress = [](endpoint::NetworkFault fault) {
    return fault == endpoint::NetworkFault::kRefuse || endpoint::kind_of(fault).may_lose;
  };
  if (options.disturb == "all") std::erase_if(disturb.kinds, is_for_stress);
  const std::vector<endpoint::NetworkFault> kinds = kinds_of(disturb);
  const auto wrong = std::find_if(kinds.begin(), kinds.end(), is_for_stress);
  if (wrong == kinds.end()) return true;
  print_error(
      fmt::format("--disturb {}: explore takes kinds that strike single connections, or "
                  "end nothing; use stress --disturb {}",
                  endpoint::kind_of(*wrong).name, endpoint::kind_of(*wrong).name));
  return false;
}

// What is held comes later, and a workload whose connection was ended is as far as it could be.
void fit_to(endpoint::NetworkFaults& network, search::ExploreOptions& explore) {
  explore.judged.oracle.expiry_slack += endpoint::kLongestStall;
  explore.judged.timeout += 2 * endpoint::kLongestStall;
  explore.judged.standstill += 2 * endpoint::kLongestStall;
  network.set_on(true);
}

std::string injected_text(endpoint::NetworkFaults& network) {
  std::map<std::string_view, std::size_t> times;
  for (const endpoint::InjectedFault& fault : network.take_log()) {
    ++times[endpoint::kind_of(fault.kind).name];
  }
  std::string out;
  for (const auto& [kind, count] : times) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", kind, count);
  }
  return "disturbances  " + (out.empty() ? "none" : out);
}

// ---- Everything

run::ExitCode run_on(endpoint::Endpoint& endpoint, const target::Descriptor& descriptor,
                     const std::vector<Replayable>& saved, ExploreRun& run) {
  run::SuiteOptions& suite = run.suite;
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    print_error(ready.error());
    return ready.error().code;
  }
  run.context.endpoint = endpoint.url();
  run.context.preflight = *ready;
  std::unique_ptr<endpoint::Endpoint> limited;
  if (run.options.rate > 0) {
    limited = endpoint::limit_rate(endpoint, run.options.rate);
    const auto most = static_cast<std::size_t>(run.options.rate / kRateOfOneWorkload) + 1;
    suite.jobs = std::min(suite.jobs, most);
  }
  endpoint::Endpoint& asked = limited ? *limited : endpoint;
  if (suite.settings.profile == codec::Profile::kAuto) {
    suite.settings.profile = run::observed_profile(asked, run.library, suite, stop_flag());
  }
  record::fit_to(endpoint, run.library.catalogue, suite, ready->round_trip_p50,
                 run.options.rate > 0 ? suite.jobs : run.options.jobs, run.explore);
  run.explore.ignores = [&options = run.options](const judge::Judgement& judgement) {
    return search::is_ignored(options.ignore, judgement);
  };
  if (run.network != nullptr) fit_to(*run.network, run.explore);
  return run.options.replay.empty() ? search(asked, run) : replay(saved, asked, run);
}

}  // namespace

// Can files be written into that folder, which is made when there is one? Prints why not.
bool can_write_into(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path there = std::filesystem::absolute(folder, ignored);
  while (there.has_relative_path() && !std::filesystem::exists(there, ignored)) {
    there = there.parent_path();
  }
  return succeeded(report::check_writable((there / "workload.yaml").string()));
}

run::ExitCode explore(const ExploreOptions& options) {
  const auto time = options.max_time.empty()
                        ? (options.exhaustive > 0 ? kAsLongAsItTakes : kRandomTime)
                        : scenario::parse_duration(options.max_time);
  if (!time || time->count() == 0) {
    print_error("--duration " + options.max_time + " must be a duration such as 90s or 5m");
    return run::ExitCode::kUsage;
  }
  std::optional<workload::Enumeration> all;
  if (options.exhaustive > 0) all.emplace(options.exhaustive);
  const std::size_t first = options.example.value_or(options.from);
  const auto shard = chosen_shard(options.shard);
  if (!shard) return run::ExitCode::kUsage;
  if (all && search::next_of_shard(*shard, first) > all->size()) {
    print_error(fmt::format("{} {}: there are {} workloads of depth {}",
                            options.example ? "--example" : "--from-example", first, all->size(),
                            options.exhaustive));
    return run::ExitCode::kUsage;
  }
  if (options.save != ExploreOptions{}.save && !can_write_into(options.save))
    return run::ExitCode::kUsage;
  std::vector<Replayable> saved;
  for (const std::string& path : options.replay) {
    if (!read_workloads(path, saved)) return run::ExitCode::kUsage;
  }
  const auto basis = prepare_run(options);
  if (!basis) return run::ExitCode::kUsage;
  auto disturb = read_disturbances(options, basis->settings.seed);
  if (!disturb || !fit_to_search(*disturb, options)) return run::ExitCode::kUsage;
  const auto* library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  ExploreRun run{
      {.call = {.program = options.program,
                .endpoint = options.endpoint.empty() ? "" : endpoint::redacted(options.endpoint),
                .descriptor = options.descriptor,
                .profile = options.profile,
                .edition = options.edition,
                .driver = options.driver,
                .timeout_scale = options.timeout_scale,
                .ignore = options.ignore,
                .disturb = options.disturb,
                .disturb_every = options.disturb_every},
       .library = *library,
       .context = {.endpoint = {},
                   .profile = basis->settings.profile,
                   .seed = basis->settings.seed,
                   .command = {},
                   .started = utc_now()},
       .explore = {.run_id = random_run_id(),
                   .seed = basis->settings.seed,
                   .first_example = first,
                   .shard = *shard,
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
  const auto target = open_judged_by(
      basis->settings.profile, basis->descriptor,
      kinds_of(*disturb).empty() ? std::nullopt : std::optional(std::move(*disturb)));
  if (!target) return exit_code(target.error());
  run.network = target->network.get();
  return run_on(*target->endpoint, basis->descriptor, saved, run);
}

}  // namespace fencepost::cli
