#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <malloc.h>

#include "base/text/colour.h"
#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "report/report.h"
#include "selftest/conforming_stores.h"
#include "selftest/pairs.h"
#include "selftest/selftest.h"
#include "selftest/selftest_html.h"
#include "selftest/selftest_text.h"
#include "suite/scenario/library.h"
#include "suite/target/descriptor.h"
#include "suite/target/target.h"

namespace fencepost::cli {
namespace {

// Opens reference endpoints with the requested stores: `scheme` is "embedded" or
// "inproc:".
selftest::OpenSubject opener(const std::string& scheme, endpoint::Driver driver) {
  return [scheme, driver](const store::Fault* fault, codec::DialectId dialect,
                          std::uint64_t seed) -> Result<selftest::Subject, std::string> {
    target::Descriptor descriptor;
    descriptor.mqtt.driver = driver;
    descriptor.url = fmt::format("{}?dialect={}", scheme, codec::dialect(dialect).name);
    if (fault != nullptr) descriptor.url += fmt::format("&fault={}&seed={}", fault->id, seed);
    auto target = open_target(descriptor, dialect);
    if (!target) return fail(target.error().text);
    selftest::Subject subject;
    subject.endpoint = std::move(target->endpoint);
    subject.server = std::make_shared<decltype(target->brokers)>(std::move(target->brokers));
    return subject;
  };
}

// One line that changes on a terminal; elsewhere a line now and then, so that a log is seen to
// live.
class ProgressLine {
 public:
  void operator()(std::size_t done, std::size_t total, const std::string& what) {
    constexpr std::chrono::seconds kHeartbeat{10};
    const auto now = std::chrono::steady_clock::now();
    if (!live_ && (now - said_ < kHeartbeat || done == total)) return;
    said_ = now;
    const std::string line = fmt::format("  {}/{} {}", done, total, what);
    text::print("{}", text::Lines(live_ ? text::kEraseLine + line : line + "\n"));
    std::fflush(stdout);
  }

 private:
  bool live_ = isatty(STDOUT_FILENO) == 1;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

// Does any fault have such an id or name?
bool matches_one(const std::string& glob) {
  return std::any_of(store::faults().begin(), store::faults().end(),
                     [&](const store::Fault& fault) { return selftest::matches(glob, fault); });
}

selftest::OpenRight conforming_opener() {
  return [](const store::Decisions& decisions,
            codec::DialectId dialect) -> Result<std::unique_ptr<endpoint::Endpoint>, std::string> {
    target::Descriptor descriptor;
    descriptor.url = fmt::format("inproc:?dialect={}&right={}", codec::dialect(dialect).name,
                                 store::to_text(decisions));
    auto opened = target::open_target(descriptor, dialect);
    if (!opened) return fail(opened.error().text);
    return std::move(opened->endpoint);
  };
}

selftest::OpenFaults faults_opener() {
  return [](const std::vector<const store::Fault*>& faults, codec::DialectId dialect,
            std::uint64_t seed) -> Result<std::unique_ptr<endpoint::Endpoint>, std::string> {
    target::Descriptor descriptor;
    descriptor.url = fmt::format("inproc:?dialect={}&fault={}&seed={}",
                                 codec::dialect(dialect).name, store::ids_of(faults), seed);
    auto opened = target::open_target(descriptor, dialect);
    if (!opened) return fail(opened.error().text);
    return std::move(opened->endpoint);
  };
}

// Says how well the suite does; what is too little is for others to decide.
run::ExitCode selftest_pairs(const SelftestOptions& command, const scenario::Library& library) {
  selftest::PairsOptions options{.pairs = command.pairs, .seed = command.seed};
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  stop_on_signals();
  const bool live = isatty(STDOUT_FILENO) == 1;
  const selftest::PairsResult result =
      selftest::run_pairs(library.cases, library.catalogue, faults_opener(), options, stop_flag(),
                          [&](std::size_t done, std::size_t total) {
                            if (live) text::print("\r\033[K  {}/{} pairs", done, total);
                            if (live) std::fflush(stdout);
                          });
  if (live) text::print("{}", text::Lines(text::kEraseLine));
  text::print("{}", text::Lines(selftest::pairs_text(result)));
  return result.interrupted ? run::ExitCode::kInterrupted : run::ExitCode::kConformant;
}

run::ExitCode selftest_right(const SelftestOptions& command, const scenario::Library& library) {
  selftest::ConformingStoresOptions options{.stores = command.right, .seed = command.seed};
  if (!command.profiles.empty()) options.profiles.clear();
  for (const std::string& word : command.profiles) {
    options.profiles.push_back(*codec::profile_named(word));
  }
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  stop_on_signals();
  const bool live = isatty(STDOUT_FILENO) == 1;
  const selftest::ConformingStoresResult result = selftest::run_conforming_stores(
      library.cases, library.catalogue, conforming_opener(), options, stop_flag(),
      [&](std::size_t done, std::size_t total) {
        if (live) text::print("\r\033[K  {}/{} conforming stores", done, total);
        if (live) std::fflush(stdout);
      });
  if (live) text::print("\r\033[K");
  text::print("{}", text::Lines(selftest::conforming_stores_text(result)));
  if (result.interrupted) return run::ExitCode::kInterrupted;
  return result.proved() ? run::ExitCode::kConformant : run::ExitCode::kFailed;
}

}  // namespace

run::ExitCode selftest(const SelftestOptions& command) {
  const auto* library = open_library({});
  if (!library) return run::ExitCode::kUsage;
  if (command.right > 0) return selftest_right(command, *library);
  if (command.pairs > 0) return selftest_pairs(command, *library);
  if (command.endpoint != "inproc:" && command.endpoint != "embedded") {
    print_error("--endpoint " + command.endpoint + ": faulty stores run embedded or inproc:");
    return run::ExitCode::kUsage;
  }
  if (!succeeded(report::check_writable(command.reports))) return run::ExitCode::kUsage;
  for (const std::string& glob : command.only) {
    if (matches_one(glob)) continue;
    print_error("--fault " + glob + ": no such fault; `fencepost list faults` shows all");
    return run::ExitCode::kNothingSelected;
  }
  const bool embedded = command.endpoint == "embedded";
  // Cases with payloads of MiB run against hundreds of stores: memory that goes back to the system
  // after each comes again page by page, which is a fifth of the time.
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKept);  // NOLINT(concurrency-mt-unsafe): there are no threads yet
  mallopt(M_TRIM_THRESHOLD, kKept);  // NOLINT(concurrency-mt-unsafe)
  stop_on_signals();
  selftest::SelftestOptions options;
  options.only = command.only;
  options.seed = command.seed;
  // Brokers have the machine to themselves one after the other: cases judge by the time of replies.
  options.jobs = embedded ? 1 : std::max(1U, std::thread::hardware_concurrency());
  options.over_the_wire = embedded;
  options.fresh_connections = command.fresh_connections;
  options.every_case = command.every_case;
  if (embedded) {
    options.cases_at_once = kReferenceAtOnce.jobs;
    options.cases_running = kReferenceAtOnce.running;
  }
  text::print("fencepost selftest {}  endpoint {}  {} cases  seed {}\n", report::suite_version(),
              command.endpoint, library->cases.size(), command.seed);
  std::fflush(stdout);
  const auto driver = endpoint::driver_named(command.driver).value_or(endpoint::Driver::kBuiltin);
  selftest::SelftestResult result =
      run_selftest(library->cases, library->catalogue, opener(command.endpoint, driver), options,
                   stop_flag(), ProgressLine());
  if (!embedded && !result.interrupted) {
    result.overlaps = selftest::run_overlaps(
        {.only = command.only, .seed = command.seed, .jobs = options.jobs}, stop_flag());
    result.interrupted = stop_flag();
  }
  if (isatty(STDOUT_FILENO) == 1) text::print("{}", text::Lines(text::kEraseLine));
  text::print("{}", text::Lines(selftest_text(result)));
  const auto written = report::write_reports(
      command.reports, {{"json", [&] { return selftest_json(result, command.seed); }},
                        {"html", [&] { return selftest_html(result, command.seed); }}});
  if (!succeeded(written)) return run::ExitCode::kInternal;
  if (result.interrupted) return run::ExitCode::kInterrupted;
  return result.proved() ? run::ExitCode::kConformant : run::ExitCode::kFailed;
}

}  // namespace fencepost::cli
