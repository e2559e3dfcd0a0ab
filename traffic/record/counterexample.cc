#include "traffic/record/counterexample.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/durations.h"
#include "base/text/command_line.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "endpoint/in_process.h"
#include "report/report_files.h"
#include "suite/run/transcript.h"
#include "suite/scenario/library.h"
#include "suite/scenario/recorded.h"
#include "suite/scenario/scenario_loader.h"
#include "suite/scenario/writer.h"
#include "traffic/record/workload_scenario.h"
#include "traffic/replay/replay.h"
#include "traffic/search/saved_workload.h"
#include "workload/trace_text.h"

namespace fencepost::record {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kFoundBy = "explore";
constexpr std::size_t kLastPackets = 8;  // shown without --trace
constexpr std::size_t kShownPayload = 200;
constexpr std::size_t kScenarioRuns = 5;

// ---- What people see

// Payload and user properties behind a label; a property that does not fit begins a new line.
std::string message_text(const codec::Message& message) {
  constexpr std::size_t kLabel = 12;
  constexpr std::size_t kWidth = 100;
  std::string out = escape(message.payload, kShownPayload);
  std::size_t column = kLabel + out.size();
  for (const auto& [name, value] : message.user_properties) {
    const std::string property = fmt::format("{}={}", escape(name, 40), escape(value, 60));
    const bool fits = column + 2 + property.size() <= kWidth;
    out += (fits ? "  " : "\n" + std::string(kLabel, ' ')) + property;
    column = (fits ? column + 2 : kLabel) + property.size();
  }
  return out;
}

// The packets, one line each. Clients are numbered as in the workload.
std::vector<std::string> lines_of(const std::vector<search::Packet>& packets) {
  std::vector<std::string> out;
  for (const search::Packet& packet : packets) {
    const auto time = packet.at - packets.front().at;
    const std::string client = "c" + packet.client_id.substr(packet.client_id.rfind('-') + 1);
    if (packet.kind == search::Packet::Kind::kDisconnected) {
      out.push_back(run::to_line({.time = time, .client = client, .summary = "disconnected"}));
      continue;
    }
    const run::Direction direction = packet.kind == search::Packet::Kind::kRequest
                                         ? run::Direction::kSent
                                         : run::Direction::kReceived;
    run::TranscriptEntry entry = run::make_entry(time, client, direction, packet.message);
    entry.payload_bytes = packet.payload_bytes;
    out.push_back(run::to_line(entry));
  }
  return out;
}

std::string heading(const judge::Judgement& judgement, const scenario::Catalogue& catalogue) {
  const scenario::Requirement* rule = catalogue.find(judgement.requirement);
  return fmt::format("{}: {}", judgement.requirement, rule == nullptr ? "" : rule->text);
}

codec::DialectId dialect_of(const ExploreRun& run) {
  return run.suite.settings.profile == codec::Profile::kDocumented ? codec::DialectId::kDocumented
                                                                   : codec::DialectId::kDeployed;
}

// "workload 17 of seed 5"
std::string number_text(const search::Counterexample& found, const ExploreRun& run) {
  return run.explore.all != nullptr
             ? fmt::format("workload {} of all workloads of depth {}", found.example,
                           run.explore.all->depth())
             : fmt::format("workload {} of seed {}", found.example, run.explore.seed);
}

// ---- What is saved

// "ft" of FT-LOWER-1
std::string area_of(const std::string& requirement) {
  std::string out = requirement.substr(0, requirement.find('-'));
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// explore.ft.34da63fc: the same for the same file.
std::string id_of(const std::string& requirement, const std::string& text) {
  return fmt::format("{}.{}.{:08x}", kFoundBy, area_of(requirement),
                     stable_hash(text) & 0xffffffffU);
}

using Saved = Result<std::string, std::string>;

// Writes the file, and reports it with the command that runs it again.
Saved write_and_tell(const std::filesystem::path& folder, const std::string& name,
                     const std::string& text, const std::string& command) {
  std::error_code ignored;  // write_file() reports it
  std::filesystem::create_directories(folder, ignored);
  const std::string file = (folder / name).lexically_normal().string();
  if (auto written = report::write_file(file, text); !written) {
    return fail(std::move(written.error()));
  }
  return fmt::format("  saved     {}\n  replay    {} {}\n", file, command, text::shell_word(file));
}

// The workload itself, which the oracle judges again.
Saved save_workload(const search::Counterexample& found, const ExploreRun& run) {
  const judge::Judgement& judgement = found.rejection().judgement;
  search::SavedWorkload saved{
      .requirement = judgement.requirement,
      .comments = {heading(judgement, run.library.catalogue), "because " + judgement.because,
                   fmt::format("found by fencepost explore {} at {}, {}; {}",
                               report::suite_version(), run.context.endpoint, run.context.started,
                               number_text(found, run)),
                   fmt::format("failed in {} of {}", found.failed,
                               text::counted(found.runs, "run")),
                   "", "The packets of one of these runs:"},
      .trace = found.trace};
  for (std::string& line : lines_of(found.run.packets)) saved.comments.push_back(std::move(line));
  const std::filesystem::path folder =
      std::filesystem::path(run.save) / (found.failed == 0 ? "seen-once" : "");
  const std::string id = id_of(judgement.requirement, workload::to_text(found.trace));
  return write_and_tell(folder, id + std::string(search::kWorkloadExtension), to_text(saved),
                        command_text(run.call, "explore") + " --replay");
}

// ---- Scenarios

// Runs the case once, with keys of its own.
run::CaseResult run_once(endpoint::Endpoint& endpoint, const scenario::Case& test_case,
                         const scenario::Catalogue& catalogue, run::SuiteOptions suite,
                         const Trials& trials) {
  suite.settings.run_id = trials.new_run_id();
  run::SuiteResult result = run::run_suite(endpoint, {&test_case}, catalogue, suite, trials.stop,
                                           [](const run::CaseResult&, std::size_t, std::size_t) {});
  return std::move(result.cases.front());
}

bool passes_on_the_reference_store(const scenario::Case& test_case, const ExploreRun& run,
                                   const Trials& trials) {
  endpoint::InProcessOptions right;
  right.service.dialect = dialect_of(run);
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(right));
  run::SuiteOptions suite = run.suite;
  suite.settings.clock_bounds = {.low_ms = -1, .high_ms = 1};
  suite.offered.reset();
  return run_once(*endpoint, test_case, run.library.catalogue, suite, trials).verdict ==
         run::Verdict::kPassed;
}

// How the case fails; nothing unless it does each time.
std::optional<run::CaseResult> certain_failure(const scenario::Case& test_case,
                                               const ExploreRun& run, const Trials& trials) {
  std::optional<run::CaseResult> failure;
  for (std::size_t i = 0; i < kScenarioRuns; ++i) {
    failure = run_once(trials.endpoint, test_case, run.library.catalogue, run.suite, trials);
    if (failure->verdict != run::Verdict::kFailed || failure->waived) return std::nullopt;
  }
  return failure;
}

// A case that fails at this endpoint and passes at the reference store.
struct Failing {
  scenario::Case test_case;
  scenario::Recorded recorded;
};

std::optional<Failing> failing_case(const std::vector<scenario::Case>& cases, const ExploreRun& run,
                                    const Trials& trials) {
  for (const scenario::Case& test_case : cases) {
    const auto failure = certain_failure(test_case, run, trials);
    if (!failure || !passes_on_the_reference_store(test_case, run, trials)) continue;
    const scenario::Recorded origin{.by = std::string(kFoundBy),
                                    .when = run.context.started,
                                    .endpoint = run.context.endpoint,
                                    .seed = run.explore.seed};
    return Failing{test_case, replay::with_failure(origin, *failure)};
  }
  return std::nullopt;
}

// What the workload does, as it would be loaded from a file: so what is saved is what was tried.
std::vector<scenario::Case> cases_of(const search::Counterexample& found, bool keeps_waits,
                                     const ExploreRun& run) {
  const search::JudgedRunOptions& judged = run.explore.judged;
  WorkloadScenarioOptions options{.dialect = dialect_of(run), .short_expiry = judged.short_expiry};
  options.capture.expiry_slack = std::chrono::ceil<milliseconds>(judged.oracle.expiry_slack);
  options.capture.keeps_waits = keeps_waits;
  const auto made = workload_scenario(found.trace, options);
  if (!made) return {};
  std::vector<scenario::LoadError> errors;
  std::vector<scenario::Case> cases =
      scenario::load_scenario({"workload", made->text()}, run.library.catalogue.ids(), errors);
  return errors.empty() ? cases : std::vector<scenario::Case>{};
}

// What is notified after a wait is asked for after the next request: a step that waits for it may
// make the store look for what has expired, before that request can make it forget it.
scenario::Case looking_late(scenario::Case test_case) {
  std::vector<scenario::Step>& steps = test_case.steps;
  for (std::size_t i = 2; i < steps.size(); ++i) {
    const bool may_swap = std::holds_alternative<scenario::WaitStep>(steps[i - 2].what) &&
                          std::holds_alternative<scenario::NotificationStep>(steps[i - 1].what) &&
                          std::holds_alternative<scenario::RequestStep>(steps[i].what);
    if (may_swap) std::swap(steps[i - 1], steps[i]);
  }
  return test_case;
}

// Nothing where no scenario can say it. Most need no time between their requests, and then the
// scenario takes none.
std::optional<Failing> as_scenario(const search::Counterexample& found, const ExploreRun& run,
                                   const Trials& trials) {
  std::vector<scenario::Case> cases = cases_of(found, false, run);
  const std::vector<scenario::Case> waiting = cases_of(found, true, run);
  if (waiting != cases) cases.insert(cases.end(), waiting.begin(), waiting.end());
  for (std::size_t i = 0, size = cases.size(); i < size; ++i) {
    if (auto late = looking_late(cases[i]); late != cases[i]) cases.push_back(std::move(late));
  }
  return failing_case(cases, run, trials);
}

Saved save_scenario(const Failing& failing, const search::Counterexample& found,
                    const ExploreRun& run) {
  const judge::Judgement& judgement = found.rejection().judgement;
  const std::string trace = workload::to_text(found.trace);
  const std::string id = id_of(judgement.requirement, trace);
  scenario::Case test_case = failing.test_case;
  test_case.id = id;
  test_case.area = kFoundBy;
  test_case.title = text::one_line(text::printable(heading(judgement, run.library.catalogue)));
  test_case.recorded = failing.recorded;
  scenario::FileComments comments{.file = {fmt::format("The {}:", number_text(found, run))}};
  for (const workload::Operation& operation : found.trace) {
    comments.file.push_back("  " + workload::to_text(operation));
  }
  const std::string text = scenario::to_yaml({&test_case, 1}, comments);
  return write_and_tell(run.save, id + ".yaml", text, command_text(run.call, "replay"));
}

}  // namespace

std::string command_text(const ExploreCall& call, const std::string& command) {
  return text::CommandLine(call.program, command)
      .option("--endpoint", call.endpoint)
      .option("--descriptor", call.descriptor)
      .option("--profile", call.profile)
      .option("--edition", call.edition)
      .option("--driver", call.driver)
      .option("--timeout-scale", call.timeout_scale, 1)
      .text();
}

std::string search_command(const ExploreRun& run, const std::string& which) {
  std::string out = command_text(run.call, "explore");
  out += run.explore.all != nullptr ? fmt::format(" --exhaustive {}", run.explore.all->depth())
                                    : fmt::format(" --seed {}", run.explore.seed);
  out += " " + which;
  if (run.call.disturb != "none") {
    out += " --disturb " + text::shell_word(run.call.disturb);
    if (run.call.disturb_every != ExploreCall{}.disturb_every) {
      out += " --disturb-every " + run.call.disturb_every;
    }
  }
  for (const std::string& known : run.call.ignore) {
    out += " --ignore " + text::shell_word(known);
  }
  if (run.explore.max_operations != search::ExploreOptions{}.max_operations) {
    out += fmt::format(" --max-operations {}", run.explore.max_operations);
  }
  return out;
}

std::vector<std::string> rejection_lines(const search::JudgedRun& run) {
  std::vector<std::string> out;
  if (run.rejection->request) out.push_back("sent      " + escape(run.rejection->request->payload));
  if (run.rejection->reply) out.push_back("received  " + escape(run.rejection->reply->payload));
  const std::vector<std::string> packets = lines_of(run.packets);
  const std::size_t left_out = packets.size() - std::min(packets.size(), kLastPackets);
  out.insert(out.end(), packets.begin() + static_cast<std::ptrdiff_t>(left_out), packets.end());
  return out;
}

std::string rejection_text(const search::JudgedRun& run, const workload::Trace& trace,
                           bool all_packets, const scenario::Catalogue& catalogue) {
  const search::Rejection& rejection = *run.rejection;
  const auto wrapped = [](const std::string& text, std::size_t indent) {
    return text::wrap(text, {.width = 100, .indent = indent, .first = indent});
  };
  std::string out =
      fmt::format("\nREJECTED  {}\n", wrapped(heading(rejection.judgement, catalogue), 10));
  out += fmt::format("  because   {}\n", wrapped(rejection.judgement.because, 12));
  out += fmt::format("  at        operation {} of {}\n", rejection.operation + 1, trace.size());
  if (rejection.request) out += fmt::format("  sent      {}\n", message_text(*rejection.request));
  if (rejection.reply) {
    const bool cut = rejection.reply_bytes > rejection.reply->payload.size();
    out += fmt::format("  received  {}{}\n", message_text(*rejection.reply),
                       cut ? fmt::format("  ({} bytes in total)", rejection.reply_bytes) : "");
  }
  out += "  workload\n";
  for (const workload::Operation& operation : trace) {
    out += fmt::format("    {}\n", workload::to_text(operation));
  }
  const std::vector<std::string> lines = lines_of(run.packets);
  const std::size_t left_out =
      all_packets ? 0 : lines.size() - std::min(lines.size(), kLastPackets);
  if (!lines.empty()) out += fmt::format("  {}packets\n", left_out > 0 ? "last " : "");
  for (std::size_t i = left_out; i < lines.size(); ++i) out += fmt::format("  {}\n", lines[i]);
  return out;
}

std::string counterexample_text(const search::Counterexample& found, const ExploreRun& run) {
  return rejection_text(found.run, found.trace, run.all_packets, run.library.catalogue) +
         fmt::format("  found     after {:.1f} s, {}; {}\n  shrunk    from {} in {}{}\n",
                     in_seconds(found.found_after), number_text(found, run),
                     text::counted(found.trace.size(), "operation"),
                     text::counted(found.operations_at_first, "operation"),
                     text::counted(found.shrink_runs, "run"),
                     found.is_smallest ? "" : "; not completely: the time ended") +
         fmt::format("  fails     in {} of {}\n  reproduce {}\n", found.failed,
                     text::counted(found.runs, "run"),
                     search_command(run, fmt::format("--example {}", found.example)));
}

Result<std::string, std::string> save(const search::Counterexample& found, const ExploreRun& run,
                                      const Trials& trials) {
  if (found.failed > 0) {
    if (const auto failing = as_scenario(found, run, trials)) {
      return save_scenario(*failing, found, run);
    }
  }
  return save_workload(found, run);
}

}  // namespace fencepost::record
