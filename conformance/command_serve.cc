#include <csignal>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "conformance/commands.h"
#include "conformance/conditions_options.h"
#include "conformance/library.h"
#include "conformance/scenario_loader.h"
#include "endpoint/broker_process.h"
#include "reference_store/authorization.h"

namespace fencepost::conformance {
namespace {

constexpr timespec kWatchInterval{.tv_sec = 0, .tv_nsec = 200'000'000};

void complain(const std::string& text) { fmt::print(stderr, "fencepost: {}\n", text); }

// The content of the authorization file, checked; nothing after a complaint.
std::optional<std::string> read_authorization(const std::string& path) {
  const auto file = read_file(path);
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
    if (const auto wrong = set_condition(name, *text, out)) {
      complain("--" + *wrong);
      return std::nullopt;
    }
  }
  return out;
}

// The wrong store that the options name, null for the right one; nothing after a complaint.
std::optional<const store::Fault*> read_fault(const ServeOptions& options) {
  if (options.fault.empty() && options.null.empty()) return nullptr;
  if (!options.fault.empty() && !options.null.empty()) {
    complain("--fault and --null: a broker serves one store");
    return std::nullopt;
  }
  const auto fault = fault_named(options.fault.empty() ? options.null : options.fault);
  if (!fault) {
    complain(fault.error());
    return std::nullopt;
  }
  if (!options.null.empty() && (*fault)->kind != store::FaultKind::kNull) {
    complain("--null " + options.null + ": that store does something; say --fault");
    return std::nullopt;
  }
  return *fault;
}

ExitCode watch(endpoint::BrokerProcess& broker, const sigset_t& signals) {
  while (broker.running()) {
    const int signal = sigtimedwait(&signals, nullptr, &kWatchInterval);
    if (signal == SIGINT || signal == SIGTERM) {
      broker.stop();
      fmt::print("fencepost: stopped\n");
      return ExitCode::kConformant;
    }
  }
  complain("the broker ended by itself; run again with -v to see its log");
  return ExitCode::kUnreachable;
}

}  // namespace

ExitCode serve(const ServeOptions& options) {
  const auto dialect = codec::dialect_named(options.profile);
  if (!dialect) {
    complain("--profile " + options.profile + " is neither documented nor deployed");
    return ExitCode::kUsage;
  }
  endpoint::BrokerOptions broker_options{.port = options.port,
                                         .dialect = *dialect,
                                         .quota = options.quota,
                                         .node_id = options.node_id,
                                         .forward_log = options.verbose};
  if (!options.authorization.empty()) {
    auto content = read_authorization(options.authorization);
    if (!content) return ExitCode::kUsage;
    broker_options.authorization_json = std::move(*content);
  }
  const auto conditions = read_conditions(options);
  if (!conditions) return ExitCode::kUsage;
  broker_options.conditions = *conditions;
  const auto fault = read_fault(options);
  if (!fault) return ExitCode::kUsage;
  if (*fault != nullptr) {
    broker_options.fault = (*fault)->id;
    broker_options.seed = options.seed;
  }
  // Signals are waited for, not handled: blocked before the broker starts so that none is missed.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto broker = endpoint::BrokerProcess::start(broker_options);
  if (!broker) {
    const bool in_use = broker.error().kind == endpoint::StartErrorKind::kPortInUse;
    complain(broker.error().text + (in_use ? "; choose another one with --port" : ""));
    return broker.error().kind == endpoint::StartErrorKind::kFailed ? ExitCode::kInternal
                                                                    : ExitCode::kUsage;
  }
  fmt::print("fencepost: state store ({} dialect) ready at mqtt://127.0.0.1:{}\n", options.profile,
             (*broker)->port());
  if (*fault != nullptr) {
    fmt::print("fencepost: it is {} on purpose ({} {}): {}\n",
               (*fault)->kind == store::FaultKind::kBenign ? "unusual" : "wrong", (*fault)->id,
               (*fault)->name, (*fault)->text);
  }
  std::fflush(stdout);
  return watch(**broker, signals);
}

}  // namespace fencepost::conformance
