#include <ctime>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"
#include "traffic/record/capture_live.h"
#include "traffic/record/capture_log.h"
#include "traffic/record/capture_pcap.h"
#include "traffic/record/recording.h"

namespace fencepost::cli {
namespace {

// Every new message is judged together with all before it; so not after each one.
constexpr std::chrono::seconds kReachTimeout{2};
constexpr std::chrono::seconds kJudgeInterval{1};
// Brokers route a request to the store and to subscribers, in an unspecified order and with an
// unspecified delay between the two.
constexpr std::chrono::milliseconds kSlackOfEndpoint{250};

// What the options select.
run::ExitCode write_all(const RecordOptions& options, const record::Capture& capture,
                        std::chrono::milliseconds usual_slack, record::FlagWatcher watcher = {}) {
  const auto slack = options.slack.empty() ? usual_slack : *scenario::parse_duration(options.slack);
  const record::Recording cases = record::write_recording(capture, options.out, watcher);
  print(cases.said);
  run::ExitCode code = cases.code;
  if (!options.history.empty()) {
    const record::Recording history = record::write_history(capture, options.history, slack);
    print(history.said);
    if (history.code != run::ExitCode::kConformant) code = history.code;
  }
  if (code != run::ExitCode::kConformant || cases.requests > 0) return code;
  print_error("no request was seen: nothing was judged");
  return run::ExitCode::kNothingSelected;
}

run::ExitCode from_pcap(const RecordOptions& options) {
  const auto capture = record::read_pcap({.file = options.pcap, .port = options.port});
  if (!capture) {
    print_error(capture.error());
    return run::ExitCode::kUsage;
  }
  return write_all(options, *capture, std::chrono::milliseconds{0});
}

run::ExitCode from_log(const RecordOptions& options) {
  const auto file = scenario::read_file(options.from);
  if (!file) {
    print_error(file.error());
    return run::ExitCode::kUsage;
  }
  const auto capture = record::read_capture_log(file->content);
  if (!capture) {
    print_error(options.from + ": " + capture.error());
    return run::ExitCode::kUsage;
  }
  return write_all(options, *capture, std::chrono::milliseconds{0});
}

run::ExitCode exit_code_of(const endpoint::Error& error) {
  return error.kind == endpoint::ErrorKind::kInvalid ? run::ExitCode::kUsage
                                                     : run::ExitCode::kUnreachable;
}

run::ExitCode from_endpoint(const RecordOptions& options) {
  std::optional<std::chrono::milliseconds> time;
  if (!options.time.empty()) {
    time = scenario::parse_duration(options.time);
    if (!time || time->count() == 0) {
      print_error("--duration " + options.time + " must be a duration such as 90s or 5m");
      return run::ExitCode::kUsage;
    }
  }
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!descriptor) return run::ExitCode::kUsage;
  if (!descriptor->url.starts_with("mqtt")) {
    print_error(
        "no other client uses that endpoint; to record clients of a reference store: fencepost "
        "serve --record FILE");
    return run::ExitCode::kUsage;
  }
  stop_on_signals();
  const auto target = open_target(*descriptor, codec::DialectId::kDeployed);
  if (!target) {
    print_error(target.error().text);
    return exit_code(target.error());
  }
  // As certify says it, in the words of the resolver and the system; Paho has one text for all.
  if (const auto reached = target->endpoint->check_reachable(kReachTimeout); !reached) {
    if (stop_flag()) {
      print_error("interrupted before the recording began");
      return run::ExitCode::kInterrupted;
    }
    print_error(fmt::format("no broker at {}: {}", target->endpoint->url(), reached.error().text));
    return run::ExitCode::kUnreachable;
  }
  record::FlagWatcher watcher;
  std::chrono::steady_clock::time_point judged;
  const auto result = record::capture_live(
      *target->endpoint,
      {.client_id = "fencepost-record-" + random_run_id(),
       .filters = options.subscribe,
       .time = time},
      stop_flag(),
      [&] {
        text::print("fencepost: recording at {}\n", target->endpoint->url());
        std::fflush(stdout);
      },
      [&](const record::Capture& capture) {
        const auto now = std::chrono::steady_clock::now();
        if (now - judged < kJudgeInterval) return;
        judged = now;
        print(watcher.judge_new(capture));
      });
  if (!result && stop_flag()) {
    print_error("interrupted before the recording began");
    return run::ExitCode::kInterrupted;
  }
  if (!result) {
    print_error(
        fmt::format("cannot record at {}: {}", target->endpoint->url(), result.error().text));
    return exit_code_of(result.error());
  }
  const run::ExitCode code = write_all(options, result->capture, kSlackOfEndpoint, watcher);
  if (!result->lost) return code;
  print_error("the endpoint was lost: " + result->lost->text);
  return code == run::ExitCode::kInternal ? code : run::ExitCode::kUnreachable;
}

}  // namespace

run::ExitCode record(const RecordOptions& options) {
  const bool endpoint = !options.endpoint.empty() || !options.descriptor.empty();
  const int ways =
      (endpoint ? 1 : 0) + (options.pcap.empty() ? 0 : 1) + (options.from.empty() ? 0 : 1);
  if (ways != 1) {
    print_error("give the source: one of --endpoint (or --descriptor), --pcap and --from");
    return run::ExitCode::kUsage;
  }
  if (options.out.empty() && options.history.empty()) {
    print_error("give the output: --out (cases), --history, or both");
    return run::ExitCode::kUsage;
  }
  if (!options.slack.empty() && !scenario::parse_duration(options.slack)) {
    print_error("--slack " + options.slack + " must be a duration such as 0ms or 2s");
    return run::ExitCode::kUsage;
  }
  for (const std::string& path : {options.out, options.history}) {
    if (!path.empty() && !succeeded(report::check_writable(path))) return run::ExitCode::kUsage;
  }
  if (!options.pcap.empty()) return from_pcap(options);
  return options.from.empty() ? from_endpoint(options) : from_log(options);
}

}  // namespace fencepost::cli
