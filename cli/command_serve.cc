#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/client_reports.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "clients/serve/access.h"
#include "clients/serve/client_judge.h"
#include "clients/serve/judged_command.h"
#include "clients/serve/store_client.h"
#include "clients/serve/traffic_log.h"
#include "endpoint/broker_process.h"
#include "endpoint/tap.h"
#include "endpoint/url.h"
#include "hlc/hlc.h"
#include "reference_store/authorization.h"
#include "reference_store/served/options.h"
#include "reference_store/served/traffic_log.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"
#include "suite/target/conditions_options.h"
#include "suite/target/target.h"

namespace fencepost::cli {
namespace {

constexpr timespec kWatchInterval{.tv_sec = 0, .tv_nsec = 200'000'000};
constexpr timespec kTrafficInterval{.tv_sec = 0, .tv_nsec = 50'000'000};  // people wait for lines
// Limits of what clients may make it keep, beside endpoint::BrokerLimits: docs/CLIENTS.md.
constexpr std::size_t kKeys = 1'000'000;
constexpr std::uint32_t kPacketBytes = 4U << 20U;
constexpr std::uint16_t kPlainPort = 1883;
constexpr std::uint16_t kTlsPort = 8883;
constexpr std::chrono::minutes kMaxHold{1};
constexpr std::chrono::milliseconds kServeInterval{50};  // people wait for lines, and for the end

// The content of the authorization file, checked; nothing after an error was printed.
std::optional<std::string> read_authorization(const std::string& path) {
  const auto file = scenario::read_file(path);
  if (!file) {
    print_error(file.error());
    return std::nullopt;
  }
  const auto authorization = store::parse_authorization(file->content);
  if (!authorization) {
    print_error(path + ": " + authorization.error());
    return std::nullopt;
  }
  return file->content;
}

// The conditions that the options name; nothing after an error was printed.
std::optional<endpoint::Conditions> read_conditions(const ServeOptions& options) {
  endpoint::Conditions out;
  for (const auto& [name, text] : {std::pair{"clock-offset", &options.clock_offset},
                                   {"response-delay", &options.response_delay},
                                   {"response-jitter", &options.response_jitter}}) {
    if (const auto wrong = target::set_condition(name, *text, out)) {
      print_error("--" + *wrong);
      return std::nullopt;
    }
  }
  return out;
}

// The faults of the store that the options name, none of the conforming one; std::nullopt
// after an error was printed.
std::optional<std::vector<const store::Fault*>> read_faults(const ServeOptions& options) {
  using Faults = std::vector<const store::Fault*>;
  if (options.fault.empty() && options.null.empty()) return Faults{};
  if (!options.fault.empty() && !options.null.empty()) {
    print_error("--fault and --null: a broker serves one store");
    return std::nullopt;
  }
  auto faults = target::faults_named(options.fault.empty() ? options.null : options.fault);
  if (!faults) {
    print_error(faults.error());
    return std::nullopt;
  }
  if (!options.null.empty() && faults->front()->kind != store::FaultKind::kNull) {
    print_error("--null " + options.null +
                ": that is a faulty store, not an idle one: use --fault");
    return std::nullopt;
  }
  if (const auto missing = target::missing_database(*faults, !options.database.empty())) {
    print_error("--fault " + *missing);
    return std::nullopt;
  }
  return std::move(*faults);
}

// Prints an error otherwise.
bool right_can_be_served(const ServeOptions& options,
                         const std::vector<const store::Fault*>& faults) {
  if (options.right.empty()) return true;
  if (!faults.empty()) {
    print_error("--fault and --variant: a broker serves one store");
    return false;
  }
  if (options.control) {
    print_error("--control and --variant: only the reference store can be changed while it runs");
    return false;
  }
  if (const auto right = store::parse_decisions(options.right); !right) {
    print_error("--variant " + options.right + ": " + right.error());
    return false;
  }
  return true;
}

// Prints an error otherwise.
bool files_can_be_written(const ServeOptions& options) {
  for (const std::string& file : {options.ready_file, options.record, options.tls}) {
    if (!file.empty() && !succeeded(report::check_writable(file))) return false;
  }
  return succeeded(report::check_writable(options.reports));
}

void announce(const ServeOptions& options, const std::vector<const store::Fault*>& faults,
              const std::vector<std::string>& notes, const std::string& url) {
  text::print("fencepost: state store ({} dialect) ready at {}\n", options.profile, url);
  for (const std::string& note : notes) text::print("fencepost: {}\n", note);
  for (const store::Fault* fault : faults) {
    text::print("fencepost: it is {} on purpose ({} {}): {}\n",
                fault->kind == store::FaultKind::kBenign ? "unusual" : "wrong", fault->id,
                fault->name, fault->text);
  }
  if (!options.right.empty()) {
    text::print("fencepost: it is another conforming store: {}\n",
                store::to_text(*store::parse_decisions(options.right)));
  }
  if (options.judge_clients) {
    text::print("fencepost: clients are judged: a line for each broken rule\n");
  }
  if (options.control) {
    text::print("fencepost: messages to fencepost/control change it: docs/CLIENTS.md\n");
  }
  std::fflush(stdout);
}

// The file of --ready-file is there as long as the store is: scripts wait for it.
class ReadyFile {
 public:
  explicit ReadyFile(const ServeOptions& options) : path_(options.ready_file) { remove(); }
  ~ReadyFile() { remove(); }
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;

  // False after an error, which is printed.
  [[nodiscard]] bool write(const std::string& url) const {
    return path_.empty() || succeeded(report::write_file(path_, url + "\n"));
  }

 private:
  // Not a pipe or a terminal.
  void remove() const {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path_, ignored)) std::filesystem::remove(path_, ignored);
  }

  std::string path_;
};

// The first of the two that is not well.
run::ExitCode worse(run::ExitCode one, run::ExitCode other) {
  return one == run::ExitCode::kConformant ? other : one;
}

// Prints an error otherwise.
bool judge_options_fit(const ServeOptions& options) {
  const auto does_not_fit = [](const std::string& text) {
    print_error(text);
    return false;
  };
  if (!options.judge_clients) {
    if (!options.command.empty()) return does_not_fit("-- COMMAND needs --judge-clients");
    if (!options.reports.none()) {
      return does_not_fit("--json, --junit and --html need --judge-clients");
    }
    if (options.hold_puback != "0s" || options.drop_at_puback != 0) {
      return does_not_fit("--puback-delay and --drop-at-puback need --judge-clients");
    }
    return true;
  }
  const auto hold = scenario::parse_duration(options.hold_puback);
  if (!hold || *hold > kMaxHold) {
    return does_not_fit("--puback-delay must be a duration such as 200ms, at most 1m, not \"" +
                        options.hold_puback + "\"");
  }
  return !options.control ||
         does_not_fit("--judge-clients and --control: the clock of the store may change");
}

std::chrono::microseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

run::ExitCode end(serve::TrafficLog& traffic) {
  const record::Recording made = traffic.end(wall_clock());
  print(made.said);
  return made.code;
}

// The judge before a broker, with the tap that it looks through and the command it looks at.
struct JudgedBroker {
  explicit JudgedBroker(const endpoint::BrokerOptions& broker)
      : judge({.store_node = broker.node_id, .clock_offset = broker.conditions.clock_offset},
              wall_clock) {}

  serve::ClientJudge judge;
  std::unique_ptr<serve::JudgedCommand> command{};  // may be null
  std::unique_ptr<endpoint::Tap> tap{};             // last: its thread uses the judge
};

void print_findings(JudgedBroker& judged) {
  const std::vector<std::string> lines = judged.judge.take_lines();
  for (const std::string& line : lines) text::print("{}\n", line);
  if (!lines.empty()) std::fflush(stdout);
}

// Listens where clients are to come; false after an error was printed.
bool open_tap(const ServeOptions& options, const std::optional<endpoint::TlsListener>& tls,
              const std::string& broker_socket, JudgedBroker& judged) {
  const std::uint16_t usual = !options.command.empty() ? 0 : tls ? kTlsPort : kPlainPort;
  const std::uint16_t wanted = options.port.value_or(usual);
  const endpoint::TlsListener files = tls.value_or(endpoint::TlsListener{});
  auto tap =
      endpoint::Tap::start({.address = options.bind,
                            .port = wanted,
                            .to_socket = broker_socket,
                            .certificate = files.certificate,
                            .key = files.key,
                            .client_ca = files.ca,
                            .pubacks = {.hold = *scenario::parse_duration(options.hold_puback),
                                        .drop_every = options.drop_at_puback}},
                           judged.judge);
  if (tap) {
    judged.tap = std::move(*tap);
    return true;
  }
  print_error(fmt::format("port {} of {}: {}; choose another with --port", wanted, options.bind,
                          tap.error()));
  return false;
}

// False after an error was printed.
bool start_command(const ServeOptions& options, const std::string& url, JudgedBroker& judged) {
  if (options.command.empty()) return true;
  judged.judge.add_command(options.command);
  auto command = serve::JudgedCommand::start(
      options.command,
      serve::command_variables(
          {.bind = options.bind, .port = judged.tap->port(), .url = url, .ca_file = options.tls}));
  if (command) {
    judged.command = std::move(*command);
    return true;
  }
  print_error(command.error());
  return false;
}

// Has the command ended? Prints what was found meanwhile.
bool look(JudgedBroker& judged) {
  const bool ended = judged.command && judged.command->exit_code();
  print_findings(judged);
  return ended;
}

run::ExitCode end(const ServeOptions& options, JudgedBroker& judged, bool interrupted) {
  if (judged.command) judged.judge.end_command(judged.command->end());
  judged.tap.reset();
  print_findings(judged);
  print_client_summary(judged.judge.judged());
  if (!write_client_reports(judged.judge.judged(), options.reports))
    return run::ExitCode::kInternal;
  return serve::exit_code(judged.judge.judged(), interrupted);
}

run::ExitCode watch(const ServeOptions& options, endpoint::BrokerProcess& broker,
                    const sigset_t& signals, serve::TrafficLog& traffic, JudgedBroker* judged) {
  const bool prompt = !traffic.path().empty() || judged != nullptr;
  const timespec& interval = prompt ? kTrafficInterval : kWatchInterval;
  const auto end_judge = [&](bool interrupted) {
    return judged == nullptr ? run::ExitCode::kConformant : end(options, *judged, interrupted);
  };
  while (broker.running()) {
    const int signal = sigtimedwait(&signals, nullptr, &interval);
    if (signal > 0 || (judged != nullptr && look(*judged))) {
      const run::ExitCode of_clients = end_judge(signal > 0);
      broker.stop();
      const run::ExitCode code = worse(of_clients, end(traffic));
      if (signal > 0) text::print("fencepost: stopped\n");
      return code;
    }
    print(traffic.look(wall_clock()));
  }
  (void)end_judge(true);
  (void)end(traffic);
  const std::string log = broker.log_tail();
  print_error(log.empty() ? "the broker ended unexpectedly; its log has the reason"
                          : "the broker ended unexpectedly: " + log);
  return run::ExitCode::kUnreachable;
}

// What the broker is started with, as far as it depends on no file; nothing after an error was
// printed.
std::optional<endpoint::BrokerOptions> broker_options_of(
    const ServeOptions& options, const std::vector<const store::Fault*>& faults) {
  const auto dialect = codec::dialect_named(options.profile);
  if (!dialect) {
    print_error("--dialect " + options.profile + " is neither documented nor deployed");
    return std::nullopt;
  }
  if (!hlc::is_plain_node_id(options.node_id)) {
    print_error("--node-id must be printable ASCII without colons and blanks, not \"" +
                options.node_id + "\"");
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
                              .database = options.database,
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

// The same for the store as a client of another broker; prints an error otherwise.
std::optional<served::Options> store_options_of(const endpoint::BrokerOptions& broker,
                                                const std::vector<const store::Fault*>& faults) {
  served::Options out{.service = {.dialect = broker.dialect,
                                  .store = {.node_id = broker.node_id,
                                            .quota = broker.quota,
                                            .max_bytes = broker.limits->keys_bytes,
                                            .max_registrations = broker.limits->registrations}},
                      .clock_offset = broker.conditions.clock_offset,
                      .delay = {.delay = broker.conditions.response_delay,
                                .jitter = broker.conditions.response_jitter},
                      .faults = faults,
                      .seed = broker.seed,
                      .control = broker.control};
  if (!broker.right.empty()) out.right = *store::parse_decisions(broker.right);
  for (const store::Fault* fault : faults) {
    if (fault->name != "drops-connection" && fault->name != "closes-at-random") continue;
    print_error(
        fmt::format("{} and --broker: a client of a broker cannot end the connections of "
                    "others; choose another store, or leave out --broker",
                    fault->name));
    return std::nullopt;
  }
  return out;
}

run::ExitCode exit_code_of(const endpoint::Error& error) {
  return error.kind == endpoint::ErrorKind::kInvalid ? run::ExitCode::kUsage
                                                     : run::ExitCode::kUnreachable;
}

// The broker of --broker, not connected yet; prints an error otherwise.
Result<target::Target, run::ExitCode> open_other_broker(const ServeOptions& options) {
  auto descriptor = read_descriptor({options.broker, options.descriptor});
  if (!descriptor) return fail(run::ExitCode::kUsage);
  if (!descriptor->url.starts_with("mqtt")) {
    print_error("--broker " + endpoint::redacted(options.broker) +
                ": expected the URL of a broker, mqtt://host[:port] or mqtts://host[:port]; "
                "without --broker, serve starts one");
    return fail(run::ExitCode::kUsage);
  }
  descriptor->mqtt.hides_secrets = false;
  auto target = open_target(*descriptor, codec::DialectId::kDeployed);
  if (target) return std::move(*target);
  print_error(target.error().text);
  return fail(exit_code(target.error()));
}

run::ExitCode watch(serve::StoreClient& store, serve::TrafficLog& traffic, const std::string& url) {
  while (!stop_flag()) {
    if (const auto served = store.serve(kServeInterval); !served) {
      print_error(url + ": " + served.error().text);
      (void)end(traffic);
      return exit_code_of(served.error());
    }
    print(traffic.look(wall_clock()));
  }
  const run::ExitCode code = end(traffic);
  text::print("fencepost: stopped\n");
  return code;
}

run::ExitCode serve_other_broker(const ServeOptions& options,
                                 const std::vector<const store::Fault*>& faults,
                                 const endpoint::BrokerOptions& broker_options,
                                 const ReadyFile& ready) {
  auto store_options = store_options_of(broker_options, faults);
  if (!store_options) return run::ExitCode::kUsage;
  const auto target = open_other_broker(options);
  if (!target) return target.error();
  endpoint::Endpoint& endpoint = *target->endpoint;
  const auto traffic = serve::TrafficLog::begin(
      {.record = options.record, .explain = options.explain, .control = options.control});
  if (!traffic) {
    print_error(traffic.error());
    return run::ExitCode::kUsage;
  }
  std::optional<served::TrafficLog> log;
  if (!(*traffic)->path().empty()) {
    auto opened = served::TrafficLog::open((*traffic)->path());
    if (!opened) {
      print_error(opened.error());
      return run::ExitCode::kInternal;
    }
    log.emplace(std::move(*opened));
  }
  stop_on_signals();
  const std::string client_id =
      options.client_id.empty() ? "fencepost-store-" + random_run_id() : options.client_id;
  serve::StoreClient store(endpoint, {.client_id = client_id, .store = *store_options},
                           std::move(log), [](const std::string& text) { print_error(text); });
  const auto opened = store.open();
  if (!opened || stop_flag()) {
    (*traffic)->discard();
    if (stop_flag()) {
      print_error("interrupted before the store was connected");
      return run::ExitCode::kInterrupted;
    }
    print_error("cannot serve at " + endpoint.url() + ": " + opened.error().text);
    return exit_code_of(opened.error());
  }
  const std::string url = endpoint::without_password(options.broker);
  announce(options, faults, {}, url);
  text::print(
      "fencepost: it is a client of this broker, {}: docs/CLIENTS.md says what it cannot "
      "know\n",
      client_id);
  std::fflush(stdout);
  if (!ready.write(url)) return run::ExitCode::kInternal;
  return watch(store, **traffic, endpoint.url());
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
  if (!options.needs_own_broker.empty()) {
    print_error(options.needs_own_broker);
    return run::ExitCode::kUsage;
  }
  const auto faults = read_faults(options);
  if (!faults || !right_can_be_served(options, *faults) || !files_can_be_written(options)) {
    return run::ExitCode::kUsage;
  }
  auto broker_options = broker_options_of(options, *faults);
  if (!broker_options || !judge_options_fit(options)) return run::ExitCode::kUsage;
  const ReadyFile ready(options);
  if (!options.broker.empty()) return serve_other_broker(options, *faults, *broker_options, ready);
  const auto access = serve::Access::prepare({.bind = options.bind,
                                              .tls = options.tls,
                                              .tls_hosts = options.tls_hosts,
                                              .certificate = options.certificate,
                                              .key = options.key,
                                              .client_ca = options.client_ca,
                                              .users = options.users,
                                              .password_files = options.password_files});
  if (!access) {
    print_error(access.error());
    return run::ExitCode::kUsage;
  }
  access->add_to(*broker_options);
  std::optional<JudgedBroker> judged;
  std::optional<endpoint::TlsListener> tls_of_tap;
  if (options.judge_clients) {
    // The broker gets its own socket, which no client reaches: clients connect to the tap,
    // which has its TLS.
    broker_options->private_socket = true;
    tls_of_tap = std::exchange(broker_options->tls, std::nullopt);
    judged.emplace(*broker_options);
  }
  const auto traffic = serve::TrafficLog::begin(
      {.record = options.record, .explain = options.explain, .control = options.control});
  if (!traffic) {
    print_error(traffic.error());
    return run::ExitCode::kUsage;
  }
  broker_options->record = (*traffic)->path();
  const sigset_t signals = block_signals();
  auto broker = endpoint::BrokerProcess::start(*broker_options);
  if (!broker) {
    (*traffic)->discard();
    const bool in_use = broker.error().kind == endpoint::StartErrorKind::kPortInUse;
    print_error(broker.error().text + (in_use ? "; choose another with --port" : ""));
    return broker.error().kind == endpoint::StartErrorKind::kFailed ? run::ExitCode::kInternal
                                                                    : run::ExitCode::kUsage;
  }
  if (judged && !open_tap(options, tls_of_tap, (*broker)->private_socket(), *judged)) {
    (*traffic)->discard();
    return run::ExitCode::kUsage;
  }
  const std::uint16_t port = judged                       ? judged->tap->port()
                             : (*broker)->tls_port() != 0 ? (*broker)->tls_port()
                                                          : (*broker)->port();
  const std::string url = access->url(port);
  announce(options, *faults, access->notes(), url);
  if (!ready.write(url)) return run::ExitCode::kInternal;
  if (judged && !start_command(options, url, *judged)) return run::ExitCode::kUsage;
  return watch(options, **broker, signals, **traffic, judged ? &*judged : nullptr);
}

}  // namespace fencepost::cli
