#include "cli/difference_report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/command_support.h"
#include "conformance/replay/replay.h"
#include "conformance/report/report_files.h"
#include "conformance/run/signature.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/recorded.h"
#include "conformance/search/trace_scenario.h"
#include "conformance/text/printable.h"

namespace fencepost::cli {
namespace {

using std::chrono::milliseconds;

// At a lower rate, what expires soon is gone before its requests have had their turn.
constexpr double kRateOfShortExpiry = 50;
constexpr milliseconds kShortestExpiry{300};
// Requests that rely on a key that expires soon, and their way.
constexpr int kRoundTripsOfExpiry = 30;

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1000.0; }

// The command that runs a saved scenario again.
std::string command_line(const Reproduce& options, const std::string& profile,
                         const std::string& file) {
  std::string out =
      certify_command(options.program, {.url = options.endpoint, .descriptor = options.descriptor});
  if (profile != "auto") out += " --profile " + profile;
  return out + " --scenarios " + text::shell_word(file);
}

std::string title_of(const search::Difference& difference, const scenario::Catalogue& catalogue) {
  std::string out;
  for (const search::LiveStep& step : difference.plan.steps) {
    out += (out.empty() ? "" : ", ") + name_of(step);
  }
  const scenario::Requirement* rule = catalogue.find(difference.result.requirement);
  return fmt::format("{}: {}", out, rule == nullptr ? difference.result.requirement : rule->text);
}

}  // namespace

std::string area_of(const std::string& requirement) {
  std::string out = requirement.substr(0, requirement.find('-'));
  for (char& c : out) c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool save(search::Difference& difference, DifferenceReport& report) {
  const std::string text = scenario_text(difference.plan, {.id = "x", .title = "x"});
  const std::string id =
      fmt::format("{}.{}.{:08x}", report.found_by, area_of(difference.result.requirement),
                  stable_hash(text) & 0xffffffffU);
  const std::filesystem::path folder =
      std::filesystem::path(report.folder) / (difference.seen_once() ? "seen-once" : "");
  const std::string file = (folder / (id + ".yaml")).lexically_normal().string();
  const run::CaseResult& result = difference.result;
  scenario::Recorded recorded{.by = report.found_by,
                              .when = report.context.started,
                              .endpoint = report.context.endpoint,
                              .seed = report.context.seed};
  std::string note = fmt::format("It failed {} times of {}.", difference.failed, difference.runs);
  if (difference.seen_once()) {
    // What was never seen again is nothing that could be fixed.
    note = fmt::format("Seen once, and not in {} further runs: {}", difference.runs,
                       scenario::recorded_words(signature(result)));
  } else {
    recorded = replay::with_failure(std::move(recorded), result);
  }
  write_as(difference,
           {.id = id,
            .title = text::one_line(text::printable(title_of(difference, report.catalogue))),
            .note = note,
            .recorded = std::move(recorded),
            .area = report.found_by},
           file, report.catalogue);
  report.context.command =
      command_line(report.reproduce, std::string(name(report.context.profile)), file);
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  const auto written = report::write_file(file, difference.text);
  if (!written) complain(written.error());
  return written.has_value();
}

void print(const search::Difference& difference, report::Console& console,
           const DifferenceReport& report) {
  console.failure(difference.result, report.catalogue, report.context);
  const search::ScenarioSize size = size_of(difference.plan);
  fmt::print("  found     after {:.1f} s; {} steps{}, shrunk from {} in {:.1f} s with {} runs\n",
             seconds(difference.found_after), size.steps,
             size.starts_with_version ? " (one makes the version that tokens relate to)" : "",
             difference.steps_at_first, seconds(difference.shrunk_in), difference.shrink_runs);
  if (difference.seen_once()) {
    fmt::print("  seen once, and not in {} further runs: nothing is proved\n", difference.runs);
  } else {
    fmt::print("  fails     {} times of {}\n", difference.failed, difference.runs);
  }
  fmt::print("  saved     {}\n{}", difference.test_case->position.file, difference.text);
  std::fflush(stdout);
}

search::LiveOptions live_options(endpoint::Duration round_trip, double rate) {
  search::LiveOptions out;
  const auto way = std::chrono::ceil<milliseconds>(round_trip * kRoundTripsOfExpiry);
  out.short_expiry = std::max(kShortestExpiry, (way + milliseconds{99}) / 100 * 100);
  if (rate > 0 && rate < kRateOfShortExpiry) out.short_expiry.reset();
  return out;
}

}  // namespace fencepost::cli
