#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/glob.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/difference_report.h"
#include "conformance/report/console.h"
#include "conformance/report/progress_line.h"
#include "conformance/report/report_files.h"
#include "conformance/run/time_limits.h"
#include "conformance/run/transcript.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/search/explore.h"
#include "conformance/search/live_fuzz.h"
#include "conformance/search/saved_workload.h"
#include "conformance/target/target.h"
#include "conformance/text/printable.h"
#include "endpoint/url.h"
#include "reference_store/authorization.h"
#include "workload/trace_text.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostJobs = 32;
constexpr std::size_t kLastPackets = 8;  // shown without --trace
constexpr std::size_t kReplays = 5;      // of a saved workload
constexpr std::size_t kShownPayload = 200;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

std::string describe(const search::ExploreProgress& progress) {
  const double took = std::max(seconds(progress.elapsed), 0.001);
  std::string out =
      fmt::format("{:.0f} s  {} workloads  {} operations ({:.0f}/s)  {} undecidable",
                  seconds(progress.elapsed), progress.examples, progress.requests,
                  static_cast<double>(progress.requests) / took, progress.undecidable);
  if (progress.ignored > 0) out += fmt::format("  {} ignored", progress.ignored);
  if (progress.cut_short > 0) {
    out += fmt::format("  {} cut short by a connection that ended", progress.cut_short);
  }
  return progress.doing.empty() ? out : out + "  " + progress.doing;
}

// Everything that a run needs to know.
struct Run {
  const ExploreCommandOptions& options;
  DifferenceReport report;
  search::ExploreOptions explore;
  search::LiveFuzzOptions confirm;  // how the scenario of a counter-example is run
};

// ---- What people see

// Payload and user properties, on one line.
std::string in_one_line(const codec::Message& message) {
  std::string out = escape(message.payload, kShownPayload);
  for (const auto& [name, value] : message.user_properties) {
    out += fmt::format("  {}={}", escape(name, 40), escape(value, 60));
  }
  return out;
}

// What went over the wire, a line a packet. Clients are numbered as in the workload.
std::vector<std::string> lines_of(const std::vector<search::Packet>& packets) {
  std::vector<std::string> out;
  for (const search::Packet& packet : packets) {
    const auto time = packet.at.steady - packets.front().at.steady;
    const std::string client = "c" + packet.client_id.substr(packet.client_id.rfind('-') + 1);
    if (packet.kind == search::Packet::Kind::kDisconnected) {
      out.push_back(run::to_line({.time = time, .client = client, .summary = "disconnected"}));
      continue;
    }
    const run::Direction direction = packet.kind == search::Packet::Kind::kRequest
                                         ? run::Direction::kSent
                                         : run::Direction::kReceived;
    out.push_back(to_line(make_entry(time, client, direction, packet.message)));
  }
  return out;
}

std::string heading(const judge::Judgement& judgement, const scenario::Catalogue& catalogue) {
  const scenario::Requirement* rule = catalogue.find(judgement.requirement);
  return fmt::format("{}: {}", judgement.requirement, rule == nullptr ? "" : rule->text);
}

void print_rejection(const search::JudgedRun& run, const workload::Trace& trace, bool all_packets,
                     const scenario::Catalogue& catalogue) {
  const search::Rejection& rejection = *run.rejection;
  fmt::print("\nREJECTED  {}\n", heading(rejection.judgement, catalogue));
  fmt::print("  because   {}\n", rejection.judgement.because);
  fmt::print("  at        operation {} of {}\n", rejection.operation + 1, trace.size());
  fmt::print("  sent      {}\n", in_one_line(rejection.request));
  if (rejection.reply) fmt::print("  got       {}\n", in_one_line(*rejection.reply));
  fmt::print("  workload\n");
  for (const workload::Operation& operation : trace) {
    fmt::print("    {}\n", workload::to_text(operation));
  }
  const std::vector<std::string> lines = lines_of(run.packets);
  const std::size_t left_out =
      all_packets ? 0 : lines.size() - std::min(lines.size(), kLastPackets);
  if (!lines.empty()) fmt::print("  {}packets\n", left_out > 0 ? "last " : "");
  for (std::size_t i = left_out; i < lines.size(); ++i) fmt::print("  {}\n", lines[i]);
}

// `fencepost explore` with the options that decide which requests are sent, and how they are
// judged.
std::string command_line(const ExploreCommandOptions& options) {
  std::string out = text::shell_word(options.program) + " explore";
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) out += fmt::format(" {} {}", option, text::shell_word(value));
  };
  add("--endpoint", options.endpoint.empty() ? "" : endpoint::redacted(options.endpoint));
  add("--descriptor", options.descriptor);
  add("--profile", options.profile);
  for (const std::string& known : options.ignore) add("--ignore", known);
  if (options.timeout_scale != 1.0) {
    out += fmt::format(" --timeout-scale {}", options.timeout_scale);
  }
  return out;
}

std::string again(const search::Counterexample& found, const Run& run) {
  std::string out = fmt::format("{} --seed {} --example {}", command_line(run.options),
                                run.explore.seed, found.example);
  if (run.explore.max_operations != search::ExploreOptions{}.max_operations) {
    out += fmt::format(" --max-operations {}", run.explore.max_operations);
  }
  return out;
}

void print(const search::Counterexample& found, const Run& run) {
  print_rejection(found.run, found.trace, run.options.trace, run.report.catalogue);
  fmt::print(
      "  found     after {:.1f} s, workload {} of seed {}; {} operations, shrunk from {} with {} "
      "runs{}\n",
      seconds(found.found_after), found.example, run.explore.seed, found.trace.size(),
      found.operations_at_first, found.shrink_runs,
      found.is_smallest ? "" : "; there was no time to try everything that is smaller");
  fmt::print("  fails     {} times of {}\n", found.failed, found.runs);
  fmt::print("  again     {}\n", again(found, run));
  std::fflush(stdout);
}

// ---- What is saved

// The workload itself, which the oracle judges again. False after a complaint.
bool save_workload(const search::Counterexample& found, const Run& run) {
  const judge::Judgement& judgement = found.rejection().judgement;
  search::SavedWorkload saved{
      .requirement = judgement.requirement,
      .comments = {heading(judgement, run.report.catalogue), "because " + judgement.because,
                   fmt::format("found by fencepost explore {} at {}, {}; seed {}, workload {}",
                               report::suite_version(), run.report.context.endpoint,
                               run.report.context.started, run.explore.seed, found.example),
                   fmt::format("failed {} times of {}", found.failed, found.runs), "",
                   "The packets of one of these runs:"},
      .trace = found.trace};
  for (std::string& line : lines_of(found.run.packets)) saved.comments.push_back(std::move(line));
  const std::string id = fmt::format("explore.{}.{:08x}{}", area_of(judgement.requirement),
                                     stable_hash(workload::to_text(found.trace)) & 0xffffffffU,
                                     search::kWorkloadExtension);
  const std::filesystem::path folder =
      std::filesystem::path(run.options.save) / (found.failed == 0 ? "seen-once" : "");
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  const std::string file = (folder / id).lexically_normal().string();
  const auto written = report::write_file(file, to_text(saved));
  if (!written) {
    complain(written.error());
    return false;
  }
  fmt::print("  saved     {}\n", file);
  fmt::print("  replay    {} --replay {}\n", command_line(run.options), text::shell_word(file));
  return true;
}

// As a scenario that fails by itself, or, where a scenario cannot say it, as the workload.
bool save(const search::Counterexample& found, endpoint::Endpoint& endpoint, Run& run) {
  search::LiveOptions live = run.confirm.live;
  live.max_operations = found.trace.size() + 1;
  const search::LivePlan plan = plan_live(found.trace, live);
  std::optional<search::Difference> difference;
  if (found.failed > 0 && plan.requests() > 0) {
    run.confirm.suite.settings.run_id = random_run_id();
    difference = look_into(endpoint, run.report.catalogue, run.confirm, plan, stop_flag());
  }
  if (!difference || difference->seen_once()) return save_workload(found, run);
  difference->found_after = found.found_after;
  const bool saved = save(*difference, run.report);
  report::ConsoleOptions settings = report::console_options(stdout);
  settings.trace = run.options.trace;
  report::Console console(stdout, settings);
  print(*difference, console, run.report);
  return saved;
}

// ---- The search

run::ExitCode report(const search::ExploreResult& result, endpoint::Endpoint& endpoint, Run& run) {
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

run::ExitCode search(endpoint::Endpoint& endpoint, Run& run) {
  fmt::print("fencepost explore {}  endpoint {}  {} at once  seed {}  time {}\n",
             report::suite_version(), endpoint.url(), run.explore.jobs, run.explore.seed,
             run.options.max_time);
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
run::ExitCode replay(const std::vector<Replayable>& all, endpoint::Endpoint& endpoint, Run& run) {
  std::size_t failing = 0;
  std::size_t not_run = 0;
  run.explore.judged.keeps_packets = true;
  for (const Replayable& each : all) {
    const auto runs = rerun(endpoint, each.saved.trace, kReplays, run.explore, stop_flag());
    if (!runs) {
      complain("the endpoint was lost during the run: " + runs.error().text);
      return run::ExitCode::kUnreachable;
    }
    const auto rejected = std::count_if(runs->begin(), runs->end(),
                                        [](const search::JudgedRun& one) { return one.rejection; });
    const auto shown = std::find_if(runs->begin(), runs->end(),
                                    [](const search::JudgedRun& one) { return one.rejection; });
    if (shown != runs->end()) {
      print_rejection(*shown, each.saved.trace, run.options.trace, run.report.catalogue);
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
                     const std::vector<Replayable>& saved, Run& run) {
  run::SuiteOptions& suite = run.confirm.suite;
  const auto ready = prepare(endpoint, descriptor, run.options.jobs, suite);
  if (!ready) {
    complain(ready.error().reason);
    if (!ready.error().hint.empty()) fmt::print(stderr, "           {}\n", ready.error().hint);
    return ready.error().code;
  }
  const endpoint::Capabilities& offers = endpoint.capabilities();
  run.report.context.endpoint = endpoint.url();
  run.confirm.live = live_options(ready->round_trip_p50, 0);
  search::JudgedRunOptions& judged = run.explore.judged;
  judged.oracle.clock = suite.settings.clock_bounds;
  judged.oracle.limited = !offers.thrown_away && offers.transport;
  judged.timeout = run::scaled(run::kReplyTimeout, run.options.timeout_scale);
  if (offers.transport) judged.short_expiry = run.confirm.live.short_expiry;
  run.explore.jobs = std::min(suite.jobs, kMostJobs);
  run.explore.ignores = [&options = run.options](const judge::Judgement& judgement) {
    const std::string all = judgement.requirement + ": " + judgement.because;
    return std::any_of(options.ignore.begin(), options.ignore.end(), [&](const std::string& glob) {
      return glob_matches(glob, judgement.requirement) || glob_matches(glob, all);
    });
  };
  return run.options.replay.empty() ? search(endpoint, run) : replay(saved, endpoint, run);
}

}  // namespace

run::ExitCode explore(const ExploreCommandOptions& options) {
  const auto time = scenario::parse_duration(options.max_time);
  if (!time || time->count() == 0) {
    complain("--max-time " + options.max_time + " must be a duration such as 90s or 5m");
    return run::ExitCode::kUsage;
  }
  std::vector<Replayable> saved;
  for (const std::string& path : options.replay) {
    if (!read_workloads(path, saved)) return run::ExitCode::kUsage;
  }
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!descriptor) return run::ExitCode::kUsage;
  const auto profile = options.profile.empty()
                           ? std::optional(descriptor->profile.value_or(codec::Profile::kAuto))
                           : codec::profile_named(options.profile);
  if (!profile) {
    complain("--profile " + options.profile + " is not one of auto, documented, deployed");
    return run::ExitCode::kUsage;
  }
  const auto library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  std::random_device device;
  const std::uint64_t seed = options.seed.value_or(device());
  Run run{.options = options,
          .report = {.found_by = "explore",
                     .folder = options.save,
                     .catalogue = library->catalogue,
                     .context = {.endpoint = {},
                                 .profile = *profile,
                                 .seed = seed,
                                 .command = {},
                                 .started = utc_now()},
                     .reproduce = {.program = options.program,
                                   .endpoint = options.endpoint,
                                   .descriptor = options.descriptor}},
          .explore = {.run_id = random_run_id(),
                      .seed = seed,
                      .first_example = options.example.value_or(1),
                      .max_examples = options.example ? 1 : options.max_examples,
                      .max_time = *time,
                      .max_operations = options.max_operations,
                      .stop_after = options.stop_after},
          .confirm = {.seed = seed}};
  run.confirm.suite.settings = {.profile = *profile,
                                .run_id = random_run_id(),
                                .seed = seed,
                                .timeout_scale = options.timeout_scale};
  stop_on_signals();
  const auto target = open_judged_by(*profile, *descriptor);
  if (!target) return exit_code(target.error());
  return run_on(*target->endpoint, *descriptor, saved, run);
}

}  // namespace fencepost::cli
