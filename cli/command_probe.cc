// The command that finds out what an endpoint can do and writes its descriptor.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/printable.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "endpoint/cancellation.h"
#include "report/report.h"
#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/probe.h"
#include "suite/target/probe_report.h"
#include "suite/target/target.h"

namespace fencepost::cli {
namespace {

target::ProbeSettings settings_of(const ProbeOptions& options, const endpoint::Endpoint& endpoint) {
  std::random_device device;
  return {.run = {.run_id = random_run_id(),
                  .seed = options.seed.value_or(device()),
                  .timeout_scale = options.timeout_scale},
          .jobs = concurrency(options.jobs, endpoint, {}).jobs,
          .quota_up_to = options.quota_up_to};
}

// Ends the run, and a second later what it waits for, when the time is over.
class TimeLimit {
 public:
  explicit TimeLimit(std::chrono::milliseconds time) : thread_([this, time] { wait(time); }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  [[nodiscard]] bool is_over() const { return over_; }

 private:
  void wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, time, [this] { return done_; })) return;
    over_ = true;
    stop_early();
    constexpr std::chrono::seconds kGrace{1};
    if (!wake_.wait_for(lock, kGrace, [this] { return done_; })) endpoint::end_all_waits();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::atomic<bool> over_{false};
  std::thread thread_;  // last: it uses the others
};

// The summary and the descriptor; where the descriptor goes to standard output, the summary goes
// to standard error.
run::ExitCode report(const ProbeOptions& options, const target::Findings& findings,
                     const target::ProbeContext& context) {
  const std::string descriptor = to_descriptor(findings, context);
  text::print(options.out.empty() ? stderr : stdout, "{}",
              text::Lines(to_summary(findings, context, options.verbose)));
  if (options.out.empty()) {
    text::print("{}", text::Lines(descriptor));
    return run::ExitCode::kConformant;
  }
  // Somebody may have filled in what cannot be found out.
  std::error_code ignored;
  if (std::filesystem::is_regular_file(options.out, ignored)) {
    const std::string aside = options.out + ".old";
    std::filesystem::rename(options.out, aside, ignored);
    if (!ignored) text::print("kept           what was there: {}\n", aside);
  }
  if (const auto written = report::write_file(options.out, descriptor); !written) {
    print_error(written.error());
    return run::ExitCode::kInternal;
  }
  text::print("written        {}: fencepost certify --descriptor {}\n", options.out,
              text::shell_word(options.out));
  return run::ExitCode::kConformant;
}

}  // namespace

run::ExitCode probe(const ProbeOptions& options) {
  const auto* library = open_library(options.scenarios);
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!library || !descriptor) return run::ExitCode::kUsage;
  if (!options.out.empty() && !succeeded(report::check_writable(options.out))) {
    return run::ExitCode::kUsage;
  }
  const auto time = scenario::parse_duration(options.max_time);
  if (!time) {
    print_error("--max-time must be a duration such as 50s, not \"" + options.max_time + "\"");
    return run::ExitCode::kUsage;
  }
  stop_on_signals();
  const TimeLimit limit(std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(time->count()) * options.timeout_scale)));
  const auto out_of_time = [&] {
    print_error("the endpoint has not answered all requests within " + options.max_time +
                "; no descriptor is written. --max-time allows more time");
    return run::ExitCode::kInconclusive;
  };
  const auto target =
      open_judged_by(descriptor->profile.value_or(codec::Profile::kAuto), *descriptor);
  if (!target) return exit_code(target.error());
  endpoint::Endpoint& endpoint = *target->endpoint;
  const auto findings =
      probe_endpoint(endpoint, *library, settings_of(options, endpoint), stop_flag());
  if (limit.is_over()) return out_of_time();
  if (!findings && stop_flag()) {
    print_error("interrupted; no descriptor is written");
    return run::ExitCode::kInterrupted;
  }
  if (!findings) {
    print_error(describe(findings.error(), endpoint.url()));
    if (!findings.error().hint.empty()) print_error("           {}\n", findings.error().hint);
    return run::ExitCode::kUnreachable;
  }
  if (findings->cases.endpoint_lost) {
    print_error("the endpoint was lost: " + findings->cases.lost_message);
    return run::ExitCode::kUnreachable;
  }
  if (findings->cases.interrupted) {
    print_error("interrupted; no descriptor is written");
    return run::ExitCode::kInterrupted;
  }
  return report(options, *findings,
                {.given = *descriptor,
                 .catalogue = library->catalogue,
                 .endpoint = endpoint.url(),
                 .when = utc_now(),
                 .suite = std::string(report::suite_version())});
}

}  // namespace fencepost::cli
