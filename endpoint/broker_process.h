// A mosquitto child process with the reference store in it, on loopback unless the options say
// otherwise.
//
//   auto broker = BrokerProcess::start({.dialect = codec::DialectId::kDeployed, .quota = 1000});
//   connect_to("127.0.0.1", (*broker)->port());
//
// Nothing is left behind: the configuration lives in memory only, the child ends with this object,
// and it ends when this process ends, even when that was killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/result.h"
#include "codec/dialect.h"
#include "endpoint/conditions.h"
#include "endpoint/memory_file.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {

// A listener with TLS, in addition to the plain one or in its place.
struct TlsListener {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path ca{};        // of the client certificates; empty: none are requested
  bool require_certificate = false;  // mutual TLS
  // The listener on `port` is this one: the broker has no plain one on the network.
  bool alone = false;
};

// Only users of this mosquitto_passwd file may connect.
struct PasswordFile {
  std::filesystem::path path;
  std::string user;  // one of them, for the connection that this module itself makes
  std::string password;
};

// What clients may make the broker keep.
struct BrokerLimits {
  std::size_t keys_bytes = std::size_t{256} << 20U;  // of all keys and values
  std::size_t registrations = 100'000;               // of one client
  // The limit for a client that reads too slowly: bytes of messages that are sent and not
  // acknowledged, and as many that wait behind them. The next ones are lost.
  std::size_t queued_bytes = std::size_t{4} << 20U;
};

struct BrokerOptions {
  std::uint16_t port = 0;          // 0: any free one
  std::string bind = "127.0.0.1";  // the address of its listeners, of this machine
  codec::DialectId dialect = codec::DialectId::kDeployed;
  std::size_t quota = 0;                 // keys; 0: no limit
  std::uint32_t max_packet_size = 0;     // bytes; announced in the CONNACK; 0: no limit
  std::uint16_t receive_maximum = 0;     // announced in the CONNACK; 0: 65535
  std::optional<BrokerLimits> limits{};  // nothing: none of these
  std::string node_id = "StateStore";    // of the store's versions
  std::string authorization_json{};      // empty: everybody may do everything
  Conditions conditions{};               // of the store
  std::string fault{};                   // id of a faulty store; empty: the right one
  std::uint64_t seed = 1;                // of the random choices in the wrong one
  std::string right{};   // decisions of another conforming store; empty: the reference store
  std::string record{};  // the plugin appends all traffic to this file
  // A file that keeps what the store holds, also when the broker is killed; empty: memory alone.
  std::string database{};
  bool cluster = false;  // of several brokers with one database: publish() says which one serves
  // Every subscriber sees requests and notifications, and observers have to subscribe.
  bool open_routing = false;
  bool control = false;  // clients may change fault and conditions: served/control.h
  std::optional<PasswordFile> passwords{};  // without: anybody may connect
  std::optional<TlsListener> tls{};
  // No port at all: a socket in a folder that other users cannot enter, for a proxy of ours.
  bool private_socket = false;
  bool with_store = true;    // false: a plain broker without the plugin
  bool forward_log = false;  // the broker's log goes to standard error
  // The kernel ends the broker together with the thread that starts it. False: the plugin alone
  // sees to it that the broker does not outlive this process.
  bool ends_with_thread = true;
};

// Where this machine reaches what listens at `bind`: "127.0.0.1" for "0.0.0.0".
[[nodiscard]] std::string address_to_reach(const std::string& bind);

enum class StartErrorKind {
  kPortInUse,
  kMissingProgram,
  kBadValue,  // an option whose value no configuration can hold, or a file that is no good
  kFailed
};
struct StartError {
  StartErrorKind kind = StartErrorKind::kFailed;
  std::string text;
};

class BrokerProcess {
 public:
  // Returns when the broker accepts connections, after at most 10 s. To be called from a thread
  // that lives as long as the broker has to: the kernel ends the child together with that thread.
  [[nodiscard]] static Result<std::unique_ptr<BrokerProcess>, StartError> start(
      const BrokerOptions& options);

  // Ends the child with SIGTERM, then SIGKILL after 2 s, and waits for it.
  ~BrokerProcess();
  BrokerProcess(const BrokerProcess&) = delete;
  BrokerProcess& operator=(const BrokerProcess&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::uint16_t tls_port() const { return tls_port_; }
  // Where it is reached that has a private socket, for as long as this object lives; else empty.
  [[nodiscard]] std::string private_socket() const;
  [[nodiscard]] pid_t pid() const { return child_->pid(); }

  // False once the child has ended, for any reason.
  [[nodiscard]] bool running();

  void stop();
  // SIGSTOP, and SIGCONT: it does nothing in between. Where it has ended, nothing happens.
  void pause();
  void resume();

  // The end of its log, without line ends behind it; empty when that goes to standard error.
  [[nodiscard]] std::string log_tail() const;

  // Ends the child, whose sessions and store are lost (but for its database), and starts another
  // one on the same port, which does not depend on the calling thread's life. For brokers with a
  // store and without TLS. After an error none is running. Not while another thread uses this
  // object.
  [[nodiscard]] Result<void, StartError> restart();
  // SIGKILL; then only restart() is of use.
  void kill_now();

  // Returns when the broker has acknowledged that message, after at most 12 s: else false. For
  // brokers that anybody may use without TLS.
  [[nodiscard]] bool publish(std::string_view topic, std::string_view payload) const;

 private:
  class OwnSocket;
  BrokerProcess(BrokerOptions options, ChildProcess child, std::uint16_t port,
                std::uint16_t tls_port);

  BrokerOptions options_;
  std::optional<ChildProcess> child_;  // nothing: it is another object's
  std::uint16_t port_;
  std::uint16_t tls_port_;
  std::vector<Socket> reserved_{};           // its ports, also while none listens there
  std::unique_ptr<OwnSocket> own_socket_{};  // null: it has none
  std::unique_ptr<MemoryFile> log_{};        // what it says; null: not here
};

}  // namespace fencepost::endpoint
