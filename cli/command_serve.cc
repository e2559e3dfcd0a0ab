#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/serve_access.h"
#include "cli/serve_judge.h"
#include "cli/serve_traffic.h"
#include "conformance/report/report_files.h"
#include "conformance/scenario/library.h"
#include "conformance/target/conditions_options.h"
#include "endpoint/broker_process.h"
#include "reference_store/authorization.h"

namespace fencepost::cli {
namespace {

constexpr timespec kWatchInterval{.tv_sec = 0, .tv_nsec = 200'000'000};
constexpr timespec kTrafficInterval{.tv_sec = 0, .tv_nsec = 50'000'000};  // people wait for lines
// Of what clients may make it keep, beside endpoint::BrokerLimits: docs/CLIENTS.md.
constexpr std::size_t kKeys = 1'000'000;
constexpr std::uint32_t kPacketBytes = 4U << 20U;
constexpr std::uint16_t kPlainPort = 1883;
constexpr std::uint16_t kTlsPort = 8883;

// The content of the authorization file, checked; nothing after a complaint.
std::optional<std::string> read_authorization(const std::string& path) {
  const auto file = scenario::read_file(path);
  if (!file) {
    complain(file.error());
    return std::nullopt;
  }
  const auto authorization = store::parse_authorization(file->content);
  if (!authorization) {
    complain(path + ": " + authorization.error());
    return std::nullopt;
  }
  return file->content;
}

// The conditions that the options name; nothing after a complaint.
std::optional<endpoint::Conditions> read_conditions(const ServeOptions& options) {
  endpoint::Conditions out;
  for (const auto& [name, text] : {std::pair{"clock-offset", &options.clock_offset},
                                   {"response-delay", &options.response_delay},
                                   {"response-jitter", &options.response_jitter}}) {
    if (const auto wrong = target::set_condition(name, *text, out)) {
      complain("--" + *wrong);
      return std::nullopt;
    }
  }
  return out;
}

// What is wrong with the store that the options name, nothing with the right one; std::nullopt
// after a complaint.
std::optional<std::vector<const store::Fault*>> read_faults(const ServeOptions& options) {
  using Faults = std::vector<const store::Fault*>;
  if (options.fault.empty() && options.null.empty()) return Faults{};
  if (!options.fault.empty() && !options.null.empty()) {
    complain("--fault and --null: a broker serves one store");
    return std::nullopt;
  }
  auto faults = target::faults_named(options.fault.empty() ? options.null : options.fault);
  if (!faults) {
    complain(faults.error());
    return std::nullopt;
  }
  if (!options.null.empty() && faults->front()->kind != store::FaultKind::kNull) {
    complain("--null " + options.null + ": that store does something; say --fault");
    return std::nullopt;
  }
  return std::move(*faults);
}

// Complains otherwise.
bool right_can_be_served(const ServeOptions& options,
                         const std::vector<const store::Fault*>& faults) {
  if (options.right.empty()) return true;
  if (!faults.empty()) {
    complain("--fault and --right: a broker serves one store");
    return false;
  }
  if (options.control) {
    complain("--control and --right: only the reference store can be changed while it runs");
    return false;
  }
  if (const auto right = store::parse_decisions(options.right); !right) {
    complain("--right " + options.right + ": " + right.error());
    return false;
  }
  return true;
}

// Complains otherwise.
bool files_can_be_written(const ServeOptions& options) {
  for (const std::string& file : {options.ready_file, options.record, options.tls, options.json,
                                  options.junit, options.html}) {
    if (file.empty()) continue;
    if (const auto writable = report::check_writable(file); !writable) {
      complain(writable.error());
      return false;
    }
  }
  return true;
}

void announce(const ServeOptions& options, const std::vector<const store::Fault*>& faults,
              const ServeAccess& access, const std::string& url) {
  fmt::print("fencepost: state store ({} dialect) ready at {}\n", options.profile, url);
  for (const std::string& note : access.notes()) fmt::print("fencepost: {}\n", note);
  for (const store::Fault* fault : faults) {
    fmt::print("fencepost: it is {} on purpose ({} {}): {}\n",
               fault->kind == store::FaultKind::kBenign ? "unusual" : "wrong", fault->id,
               fault->name, fault->text);
  }
  if (!options.right.empty()) {
    fmt::print("fencepost: it is another right store: {}\n",
               store::to_text(*store::parse_decisions(options.right)));
  }
  if (options.judge_clients) {
    fmt::print("fencepost: clients are judged: a line for each rule that one breaks\n");
  }
  if (options.control) {
    fmt::print("fencepost: messages to fencepost/control change it: docs/CLIENTS.md\n");
  }
  std::fflush(stdout);
}

// The first of the two that is not well.
run::ExitCode worse(run::ExitCode one, run::ExitCode other) {
  return one == run::ExitCode::kConformant ? other : one;
}

run::ExitCode watch(endpoint::BrokerProcess& broker, const sigset_t& signals, ServeTraffic& traffic,
                    ServeJudge& judge, bool prompt) {
  const timespec& interval = prompt ? kTrafficInterval : kWatchInterval;
  while (broker.running()) {
    const int signal = sigtimedwait(&signals, nullptr, &interval);
    if (signal > 0 || judge.look()) {
      const run::ExitCode of_clients = judge.end(signal > 0);
      broker.stop();
      const run::ExitCode code = worse(of_clients, traffic.end());
      if (signal > 0) fmt::print("fencepost: stopped\n");
      return code;
    }
    traffic.look();
  }
  (void)judge.end(true);
  (void)traffic.end();
  complain("the broker ended by itself; run again with -v to see its log");
  return run::ExitCode::kUnreachable;
}

// What the broker is started with, as far as it depends on no file; nothing after a complaint.
std::optional<endpoint::BrokerOptions> broker_options_of(
    const ServeOptions& options, const std::vector<const store::Fault*>& faults) {
  const auto dialect = codec::dialect_named(options.profile);
  if (!dialect) {
    complain("--profile " + options.profile + " is neither documented nor deployed");
    return std::nullopt;
  }
  const bool tls = !options.tls.empty() || !options.certificate.empty();
  endpoint::BrokerOptions out{.port = options.port.value_or(tls ? kTlsPort : kPlainPort),
                              .dialect = *dialect,
                              .quota = options.quota.value_or(kKeys),
                              .max_packet_size = options.maximum_packet_size != 0
                                                     ? options.maximum_packet_size
                                                     : kPacketBytes,
                              .receive_maximum = options.receive_maximum,
                              .limits = endpoint::BrokerLimits{},
                              .node_id = options.node_id,
                              .fault = store::ids_of(faults),
                              .seed = options.seed,
                              .right = options.right,
                              .open_routing = options.open_routing,
                              .control = options.control,
                              .forward_log = options.verbose};
  if (!options.authorization.empty()) {
    auto content = read_authorization(options.authorization);
    if (!content) return std::nullopt;
    out.authorization_json = std::move(*content);
  }
  const auto conditions = read_conditions(options);
  if (!conditions) return std::nullopt;
  out.conditions = *conditions;
  return out;
}

// Signals are waited for, not handled: blocked before the broker starts so that none is missed.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  sigaddset(&signals, SIGQUIT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace

run::ExitCode serve(const ServeOptions& options) {
  const auto faults = read_faults(options);
  if (!faults || !right_can_be_served(options, *faults) || !files_can_be_written(options)) {
    return run::ExitCode::kUsage;
  }
  auto broker_options = broker_options_of(options, *faults);
  if (!broker_options) return run::ExitCode::kUsage;
  const std::unique_ptr<ServeJudge> judge = ServeJudge::prepare(options);
  const auto access = judge ? ServeAccess::prepare(options) : std::nullopt;
  if (!access) return run::ExitCode::kUsage;
  access->add_to(*broker_options);
  judge->add_to(*broker_options);
  const auto traffic = ServeTraffic::begin(options);
  if (!traffic) return run::ExitCode::kUsage;
  broker_options->record = traffic->log_path();
  const sigset_t signals = block_signals();
  auto broker = endpoint::BrokerProcess::start(*broker_options);
  if (!broker) {
    traffic->discard();
    const bool in_use = broker.error().kind == endpoint::StartErrorKind::kPortInUse;
    complain(broker.error().text + (in_use ? "; choose another one with --port" : ""));
    return broker.error().kind == endpoint::StartErrorKind::kFailed ? run::ExitCode::kInternal
                                                                    : run::ExitCode::kUsage;
  }
  const auto port = judge->begin(**broker);
  if (!port) {
    traffic->discard();
    return run::ExitCode::kUsage;
  }
  const std::string url = access->url(*port);
  announce(options, *faults, *access, url);
  if (!options.ready_file.empty()) {
    if (const auto written = report::write_file(options.ready_file, url + "\n"); !written) {
      complain(written.error());
      return run::ExitCode::kInternal;
    }
  }
  if (!judge->start_command(url)) return run::ExitCode::kUsage;
  const bool prompt = !traffic->log_path().empty() || options.judge_clients;
  return watch(**broker, signals, *traffic, *judge, prompt);
}

}  // namespace fencepost::cli
