#include "endpoint/broker_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/check.h"
#include "base/child_process.h"
#include "codec/topics.h"
#include "endpoint/beside_program.h"
#include "endpoint/memory_file.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// For one that hangs: one that has ended is not waited for.
constexpr milliseconds kStartTimeout{30'000};
constexpr milliseconds kStopTimeout{2'000};
constexpr milliseconds kPollInterval{1};
constexpr std::size_t kShownLog = 2'000;  // bytes, from the end
constexpr int kExitPortInUse = 1;         // mosquitto's exit code when it cannot bind

constexpr std::array kProgramPaths = {"/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto",
                                      "/usr/bin/mosquitto"};
constexpr const char* kPluginName = "fencepost_statestore.so";

std::optional<std::filesystem::path> find_program() {
  for (const char* path : kProgramPaths) {
    if (access(path, X_OK) == 0) return path;
  }
  return std::nullopt;
}

struct Ports {
  std::uint16_t plain = 0;  // 0: none
  std::uint16_t tls = 0;    // 0: none
  // A socket in the file system, for our own connection to a broker that has no plain port; empty:
  // none.
  std::string own_socket{};
};

// Of the ports that were not asked for by number, each gets a socket in `reserved`: without it, two
// of them may be the same, and another program may take that of a broker that is started again.
Result<Ports, std::string> choose_ports(const BrokerOptions& options, const std::string& own_socket,
                                        std::vector<Socket>& reserved) {
  if (options.private_socket) return Ports{.own_socket = own_socket};
  const auto choose = [&](std::uint16_t asked) -> Result<std::uint16_t, std::string> {
    if (asked != 0) return asked;
    auto port = reserve_port(options.bind);
    if (!port) return fail(port.error());
    reserved.push_back(std::move(port->socket));
    return port->port;
  };
  const auto port = choose(options.port);
  if (!port) return fail(port.error());
  if (!options.tls) return Ports{.plain = *port};
  if (options.tls->alone) return Ports{.tls = *port, .own_socket = own_socket};
  const auto tls = choose(0);
  if (!tls) return fail(tls.error());
  return Ports{.plain = *port, .tls = *tls};
}

// The broker's configuration, a setting a line: a line end in a value would be the begin of a
// setting of its own, which opens listeners and loads libraries.
class Configuration {
 public:
  // `option`: what users call the value.
  void add(std::string_view setting, std::string_view value, std::string_view option) {
    const bool wrong = std::any_of(value.begin(), value.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
    if (wrong && wrong_.empty()) {
      wrong_ =
          std::string(option) +
          ": has control characters or line breaks, which the broker's configuration cannot hold";
    }
    if (!wrong) text_ += std::string(setting) + " " + std::string(value) + "\n";
  }
  void add(std::string_view setting, std::uint64_t value) {
    add(setting, std::to_string(value), "");
  }
  // A constant of ours.
  void add(std::string_view line) { text_ += std::string(line) + "\n"; }

  [[nodiscard]] const std::string& text() const { return text_; }
  // Which option has a value that no line holds; empty: none.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  std::string text_{};
  std::string wrong_{};
};

void add_store(const BrokerOptions& options, const std::string& plugin,
               const std::string& authorization_path, Configuration& out) {
  out.add("plugin", plugin, "the folder of the program");
  out.add("plugin_opt_dialect", codec::dialect(options.dialect).name, "--dialect");
  out.add("plugin_opt_quota", options.quota);
  if (options.limits) {
    out.add("plugin_opt_max_bytes", options.limits->keys_bytes);
    out.add("plugin_opt_max_registrations", options.limits->registrations);
  }
  out.add("plugin_opt_node_id", options.node_id, "--node-id");
  out.add("plugin_opt_parent_pid", static_cast<std::uint64_t>(getpid()));
  const auto add = [&](const char* name, milliseconds value) {
    if (value.count() != 0) out.add(name, std::to_string(value.count()), "");
  };
  add("plugin_opt_clock_offset_ms", options.conditions.clock_offset);
  add("plugin_opt_response_delay_ms", options.conditions.response_delay);
  add("plugin_opt_response_jitter_ms", options.conditions.response_jitter);
  if (!options.fault.empty()) {
    out.add("plugin_opt_fault", options.fault, "--fault");
    if (!options.control) out.add("plugin_opt_seed", options.seed);
  }
  if (!options.right.empty()) out.add("plugin_opt_variant", options.right, "--variant");
  if (!options.record.empty()) out.add("plugin_opt_record", options.record, "--record");
  if (!options.database.empty()) {
    out.add("plugin_opt_database", std::filesystem::absolute(options.database).string(),
            "--database");
  }
  if (options.cluster) out.add("plugin_opt_cluster on");
  if (options.open_routing) out.add("plugin_opt_routing open");
  if (options.control) {
    out.add("plugin_opt_control on");
    out.add("plugin_opt_seed", options.seed);
  }
  if (!options.authorization_json.empty()) {
    out.add("plugin_opt_authorization", authorization_path, "--authorization");
  }
}

// Each line has a reason. per_listener_settings: true means no ticks for plugins. set_tcp_nodelay:
// false costs 44 ms a request. max_inflight_messages: the default is announced as Receive
// Maximum 20. max_queued_messages: 0 makes the broker drop clients whose PUBLISH is refused, the
// default of 1000 drops responses in silence.
Configuration configuration(const BrokerOptions& options, const Ports& ports,
                            const std::string& plugin, const std::string& authorization_path) {
  Configuration out;
  out.add("per_listener_settings false");
  const auto listen = [&](std::uint16_t port) {
    out.add("listener", std::to_string(port) + " " + options.bind, "--bind");
  };
  if (ports.plain != 0) listen(ports.plain);
  if (!ports.own_socket.empty()) out.add("listener", "0 " + ports.own_socket, "");
  if (options.tls) {
    const TlsListener& tls = *options.tls;
    listen(ports.tls);
    out.add("certfile", tls.certificate.string(), "--certificate");
    out.add("keyfile", tls.key.string(), "--key");
    if (!tls.ca.empty()) out.add("cafile", tls.ca.string(), "--client-ca");
    out.add(tls.require_certificate ? "require_certificate true" : "require_certificate false");
  }
  out.add(options.passwords ? "allow_anonymous false" : "allow_anonymous true");
  if (options.passwords) {
    out.add("password_file", options.passwords->path.string(), "--password-file");
  }
  if (options.with_store) add_store(options, plugin, authorization_path, out);
  if (options.max_packet_size > 0) out.add("max_packet_size", options.max_packet_size);
  // Not memory_limit: what a plugin allocates and the broker frees makes mosquitto 2.0.11 miscount,
  // and it ends connections for want of memory that is there.
  if (options.limits) {
    out.add("max_inflight_bytes", options.limits->queued_bytes);
    out.add("max_queued_bytes", options.limits->queued_bytes);
  }
  out.add("persistence false");
  out.add("set_tcp_nodelay true");
  out.add("max_inflight_messages", options.receive_maximum);
  out.add("max_queued_messages 100000");
  out.add("sys_interval 0");
  out.add("log_dest stderr");
  // Else the broker changes user and cannot read its configuration.
  if (geteuid() == 0) out.add("user root");
  return out;
}

// Waits until the child listens. Returns how it ended when it did instead, nothing when it is
// ready.
std::optional<ChildEnding> wait_until_listening(ChildProcess& child, const std::string& host,
                                                const Ports& ports) {
  const SteadyClock::time_point deadline = SteadyClock::now() + kStartTimeout;
  const std::uint16_t port = ports.plain != 0 ? ports.plain : ports.tls;
  while (SteadyClock::now() < deadline) {
    if (const auto ending = child.ending()) return ending;
    const auto reached = port != 0 ? connect_tcp(host, port, kPollInterval * 100)
                                   : connect_unix(ports.own_socket, kPollInterval * 100);
    if (reached) return std::nullopt;
    std::this_thread::sleep_for(kPollInterval);
  }
  return child.kill_all();
}

std::string mqtt_string(std::string_view text) {
  std::string out;
  out += static_cast<char>(text.size() >> 8U);
  out += static_cast<char>(text.size() & 0xffU);
  out += text;
  return out;
}

std::string packet(unsigned char type, const std::string& body) {
  std::string out(1, static_cast<char>(type));
  std::size_t rest = body.size();
  do {  // the length, seven bits at a time, the lowest first
    const std::size_t low = rest & 0x7fU;
    rest >>= 7U;
    out += static_cast<char>(rest > 0 ? low | 0x80U : low);
  } while (rest > 0);
  return out + body;
}

constexpr milliseconds kClientTimeout = kStartTimeout;
constexpr std::string_view kDisconnectPacket("\xe0\x00", 2);

// A client with a session that never ends; nothing: the broker does not take it.
std::optional<Socket> connect_client(const Ports& ports, const BrokerOptions& options,
                                     std::string_view id) {
  const std::optional<PasswordFile>& passwords = options.passwords;
  constexpr std::size_t kConnackHeader = 2;
  auto socket = ports.own_socket.empty()
                    ? connect_tcp(address_to_reach(options.bind), ports.plain, kClientTimeout)
                    : connect_unix(ports.own_socket, kClientTimeout);
  if (!socket) return std::nullopt;
  // CONNECT: MQTT 5, no clean start, keep alive 60 s, session expiry interval "never".
  constexpr char kCredentialFlags = '\xc0';
  const std::string connect = packet(
      0x10, mqtt_string("MQTT") + '\x05' + (passwords ? kCredentialFlags : '\0') +
                std::string("\x00\x3c\x05\x11\xff\xff\xff\xff", 8) + mqtt_string(id) +
                (passwords ? mqtt_string(passwords->user) + mqtt_string(passwords->password) : ""));
  const auto connack = exchange(*socket, connect, kConnackHeader, kClientTimeout);
  if (!connack || (*connack)[0] != '\x20') return std::nullopt;
  const auto connack_body =
      exchange(*socket, "", static_cast<unsigned char>((*connack)[1]), kClientTimeout);
  if (!connack_body || (*connack_body)[1] != 0) return std::nullopt;
  return std::move(*socket);
}

// mosquitto acknowledges a PUBLISH that nobody subscribed to with 0x10 rather than 0x00, and one
// public client SDK refuses that. An offline session that subscribed at QoS 0 to the topic where
// the plugin puts handled requests is a subscriber that costs nothing: the broker drops what it
// would send there.
bool leave_sink_session(const Ports& ports, const BrokerOptions& options) {
  const std::string_view sink = options.open_routing ? codec::kRequestTopic : "$fencepost/sink";
  const auto socket = connect_client(ports, options, "fencepost-sink");
  if (!socket) return false;
  const std::string subscribe =
      packet(0x82, std::string("\x00\x01\x00", 3) + mqtt_string(sink) + std::string(1, '\0'));
  const auto suback = exchange(*socket, subscribe, 6, kClientTimeout);
  if (!suback || (*suback)[0] != '\x90') return false;
  (void)exchange(*socket, std::string(kDisconnectPacket), 0, kClientTimeout);
  return true;
}

// What the plugin says of its database, in a log of the broker; empty: nothing.
std::string objection_to_database(std::string_view log) {
  constexpr std::string_view kOurs = "fencepost: ";
  for (const std::string_view begin : {"database ", "option database "}) {
    const std::size_t at = log.find(std::string(kOurs) + std::string(begin));
    if (at == std::string_view::npos) continue;
    const std::string_view rest = log.substr(at + kOurs.size());
    return std::string(rest.substr(0, rest.find('\n')));
  }
  return "";
}

StartError port_in_use(const BrokerOptions& options, std::uint16_t port) {
  return {StartErrorKind::kPortInUse,
          "port " + std::to_string(port) + " of " + options.bind + " is in use"};
}

// What the machine does not have any more: processes, memory, descriptors.
StartError cannot_start(int why = errno) {
  return {StartErrorKind::kFailed,
          "cannot start mosquitto: " + std::generic_category().message(why)};
}

// Why the broker has ended before it listened.
StartError error_of(const BrokerOptions& options, std::uint16_t port, const ChildEnding& ending,
                    const MemoryFile& log) {
  const std::string text = log.tail(kShownLog);
  if (auto objection = objection_to_database(text); !objection.empty()) {
    return {StartErrorKind::kBadValue, std::move(objection)};
  }
  // mosquitto ends with this code for other reasons too; its log says which, when we have it.
  const bool in_use =
      ending.code == kExitPortInUse &&
      (options.forward_log || log.content().find("Address already in use") != std::string::npos);
  if (in_use) return port_in_use(options, port);
  return {StartErrorKind::kFailed,
          "mosquitto did not start" + (text.empty() ? std::string() : ":\n" + text)};
}

}  // namespace

// A folder that only we can enter, for a socket; gone with this object. Its path leads over our
// descriptor: mosquitto ends the name of a socket at a blank, and sockets have short names.
class BrokerProcess::OwnSocket {
 public:
  explicit OwnSocket(bool wanted) {
    if (!wanted) return;
    std::error_code failed;
    std::string name = (std::filesystem::temp_directory_path(failed) / "fencepost-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    folder_ = name;
    descriptor_.emplace(open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~OwnSocket() {
    std::error_code failed;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, failed);
  }
  OwnSocket(const OwnSocket&) = delete;
  OwnSocket& operator=(const OwnSocket&) = delete;
  [[nodiscard]] std::string path() const {
    if (!descriptor_) return "";
    return "/proc/" + std::to_string(getpid()) + "/fd/" +
           std::to_string(descriptor_->descriptor()) + "/socket";
  }

 private:
  std::string folder_{};
  std::optional<Socket> descriptor_{};  // closes any descriptor
};

std::string address_to_reach(const std::string& bind) {
  if (bind == "0.0.0.0") return "127.0.0.1";
  return bind == "::" ? "::1" : bind;
}

Result<std::unique_ptr<BrokerProcess>, StartError> BrokerProcess::start(
    const BrokerOptions& options) {
  const auto program = find_program();
  if (!program) {
    return fail(StartError{StartErrorKind::kMissingProgram,
                           "the mosquitto broker is not installed: run ci/setup, or "
                           "apt-get install mosquitto"});
  }
  const auto plugin = find_beside_program(kPluginName);
  if (options.with_store && !plugin) {
    return fail(StartError{StartErrorKind::kMissingProgram,
                           std::string("the broker plugin ") + kPluginName +
                               " is not in the folder of this program: run ci/build"});
  }
  const MemoryFile authorization("fencepost-authorization", options.authorization_json);
  const std::string host = address_to_reach(options.bind);
  auto own_socket =
      std::make_unique<OwnSocket>(options.private_socket || (options.tls && options.tls->alone));
  if (options.private_socket && own_socket->path().empty()) return fail(cannot_start());
  std::vector<Socket> reserved;
  const auto ports = choose_ports(options, own_socket->path(), reserved);
  if (!ports) {
    return fail(StartError{StartErrorKind::kFailed,
                           "there is no free port of " + options.bind + ": " + ports.error()});
  }
  const std::uint16_t port = ports->plain != 0 ? ports->plain : ports->tls;
  if (options.port != 0 && connect_tcp(host, port, kPollInterval * 200)) {
    return fail(port_in_use(options, port));
  }
  const Configuration lines = configuration(
      options, *ports, options.with_store ? plugin->string() : "", authorization.path());
  if (!lines.wrong().empty()) return fail(StartError{StartErrorKind::kBadValue, lines.wrong()});
  const MemoryFile config("fencepost-mosquitto", lines.text());
  auto log = std::make_unique<MemoryFile>("fencepost-log", "");
  if (!config.ok() || !authorization.ok() || !log->ok()) return fail(cannot_start());
  std::vector<std::string> variables = environment_of_child();
#ifdef FENCEPOST_BROKER_PRELOAD
  // A sanitized plugin needs the sanitizer's runtime in the (not sanitized) broker.
  variables.push_back(std::string("LD_PRELOAD=") + FENCEPOST_BROKER_PRELOAD);
#endif
  // Alone: a connection of the client library would stay open for as long as this broker lives.
  // In a group of its own: Ctrl-C is for the suite, which then stops the broker in order.
  auto child =
      ChildProcess::start({.words = {program->string(), "-c", config.path()},
                           .variables = std::move(variables),
                           .errors = options.forward_log ? STDERR_FILENO : log->descriptor(),
                           .alone = true,
                           .more = {config.descriptor(), authorization.descriptor()},
                           .ends_with_thread = options.ends_with_thread});
  if (!child) return fail(cannot_start(child.error()));
  if (const auto ended = wait_until_listening(*child, host, *ports)) {
    return fail(error_of(options, port, *ended, *log));
  }
  std::unique_ptr<BrokerProcess> broker(new BrokerProcess(options, *child, port, ports->tls));
  broker->reserved_ = std::move(reserved);
  if (options.private_socket) broker->own_socket_ = std::move(own_socket);
  if (options.with_store && !leave_sink_session(*ports, options)) {
    return fail(StartError{StartErrorKind::kFailed,
                           "the broker does not answer:\n" + log->tail(kShownLog)});
  }
  broker->log_ = std::move(log);
  return broker;
}

BrokerProcess::BrokerProcess(BrokerOptions options, ChildProcess child, std::uint16_t port,
                             std::uint16_t tls_port)
    : options_(std::move(options)), child_(child), port_(port), tls_port_(tls_port) {}

std::string BrokerProcess::private_socket() const {
  return own_socket_ ? own_socket_->path() : std::string();
}

bool BrokerProcess::running() { return child_ && !child_->ending(); }

std::string BrokerProcess::log_tail() const {
  if (!log_) return "";
  const std::string text = log_->tail(kShownLog);
  const std::string of_database = objection_to_database(text);
  return of_database.empty() ? text : of_database;
}

void BrokerProcess::stop() {
  if (child_) child_->end(kStopTimeout);
}

void BrokerProcess::pause() {
  if (running()) (void)kill(pid(), SIGSTOP);
}

void BrokerProcess::resume() {
  if (running()) (void)kill(pid(), SIGCONT);
}

void BrokerProcess::kill_now() {
  if (child_) (void)child_->kill_all();
}

bool BrokerProcess::publish(std::string_view topic, std::string_view payload) const {
  const auto socket = connect_client({.plain = port_}, options_, "fencepost-order");
  if (!socket) return false;
  const std::string publish =
      packet(0x32, mqtt_string(topic) + std::string("\x00\x01\x00", 3) + std::string(payload));
  const auto puback = exchange(*socket, publish, 2, kStartTimeout);
  if (!puback || (*puback)[0] != '\x40') return false;
  (void)exchange(*socket, std::string(kDisconnectPacket), 0, kClientTimeout);
  return true;
}

Result<void, StartError> BrokerProcess::restart() {
  FENCEPOST_CHECK(options_.with_store);  // its plugin watches that this process lives
  FENCEPOST_CHECK(!options_.tls);
  stop();
  BrokerOptions again = options_;
  again.port = port_;
  again.ends_with_thread = false;
  auto started = start(again);
  if (!started) return fail(started.error());
  child_ = std::exchange((*started)->child_, std::nullopt);
  log_ = std::move((*started)->log_);
  return {};
}

BrokerProcess::~BrokerProcess() { stop(); }

}  // namespace fencepost::endpoint
