// A proxy of this program that injects faults of the network into the connections through it, on
// a seeded schedule: it delays bytes, holds them, and ends connections in several ways.
//
//   auto network = NetworkFaults::start({.kinds = *parse_network_faults("all")}, target);
//   options.proxy_port = (*network)->port();  // of MqttOptions
//   (*network)->set_on(true);
//   ...
//   for (const InjectedFault& fault : (*network)->take_log()) print(kind_of(fault.kind).name);
//
// Thread safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "endpoint/fault_schedule.h"
#include "endpoint/tap.h"

namespace fencepost::endpoint {

// Does that to the broker: the name of a kind, "kill", after which it is there again, or what
// undoes one, "continue". The error says what has failed.
using DisturbBroker = std::function<Result<void, std::string>(std::string_view what)>;

struct NetworkFaultOptions {
  // At least one, or a plan; those that need packets are left out with TLS.
  std::vector<NetworkFault> kinds{};
  std::optional<FaultPlan> plan{};       // instead of what follows from `every` and `seed`
  std::chrono::milliseconds every{250};  // the mean time between two; positive
  std::uint64_t seed = 1;
  DisturbBroker disturb_broker{};  // needed for kinds of the broker
};

// Those that may strike, each at least once.
[[nodiscard]] std::vector<NetworkFault> kinds_of(const NetworkFaultOptions& options);

struct ProxiedBroker {
  std::string host;
  std::uint16_t port = 0;
  bool tls = false;  // the handshake is that of the clients with the broker
};

struct InjectedFault {
  std::chrono::steady_clock::time_point at{};
  NetworkFault kind = NetworkFault::kDelay;
  std::string client_id{};  // of the connection; empty: not known, because of TLS
};

class NetworkFaults final : private TapWatcher, private TapFaults {
 public:
  // Clients can connect to port() of 127.0.0.1 when it returns; faults are off. The error says why
  // there is no port or no thread, or that all kinds need packets.
  [[nodiscard]] static Result<std::unique_ptr<NetworkFaults>, std::string> start(
      const NetworkFaultOptions& options, const ProxiedBroker& broker);
  // Ends all connections.
  ~NetworkFaults() override = default;
  NetworkFaults(const NetworkFaults&) = delete;
  NetworkFaults& operator=(const NetworkFaults&) = delete;

  [[nodiscard]] std::uint16_t port() const { return tap_->port(); }
  // Off: no new faults. Those that are at work last no longer than their time, at most 2 s; it
  // waits until the broker, if that is being disturbed, is there again.
  void set_on(bool on);
  // Called before and after each disturbance of the broker, by another thread; null: nothing. To be
  // set while faults are off.
  using Around = std::function<void(NetworkFault)>;
  void set_around(Around before, Around after);
  // Is it being disturbed, so that nobody can connect?
  [[nodiscard]] bool disturbs_broker() const;
  // Why the broker could not be started again; empty: it could.
  [[nodiscard]] std::string broker_error() const;
  // What was injected since the last call, in that order.
  [[nodiscard]] std::vector<InjectedFault> take_log();
  // Connections that the broker ended, without a fault and not because it was disturbed. Those that
  // a client ended are its own affair: a probe has connections for a moment only.
  [[nodiscard]] std::uint64_t ended_themselves() const { return ended_themselves_; }

 private:
  NetworkFaults(const NetworkFaultOptions& options, FaultSchedule schedule, bool tls);

  void on_opened(std::uint64_t connection) override;
  void on_sent(std::uint64_t connection, std::string_view bytes) override;
  void on_delivered(std::uint64_t /*connection*/, std::string_view /*bytes*/) override {}
  void on_closed(std::uint64_t connection) override;
  void on_no_handshake(std::uint64_t /*connection*/, std::string_view /*why*/) override {}

  [[nodiscard]] bool has_packets() const override { return !tls_; }
  [[nodiscard]] bool is_on() const override { return on_; }
  [[nodiscard]] std::optional<Strike> due(Moment now) override;
  [[nodiscard]] Moment next_due(Moment now) const override;
  void on_effect(std::uint64_t connection, NetworkFault fault, Moment now) override;
  void on_ended_itself() override;
  void disturb_broker(const std::stop_token& stopped);

  const bool tls_;
  const DisturbBroker disturb_;
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> ended_themselves_{0};
  mutable std::mutex mutex_;  // of what follows
  std::vector<InjectedFault> log_{};
  std::condition_variable_any changed_;
  std::optional<Strike> of_broker_{};  // that is at work, or is to begin
  Moment broker_back_at_{};            // when the last one was over
  std::string broker_error_{};
  Around before_{};
  Around after_{};

  // Of the tap's thread.
  FaultSchedule schedule_;
  std::optional<Moment> begun_{};
  std::map<std::uint64_t, std::string> clients_{};  // by connection; empty: not known yet

  std::unique_ptr<Tap> tap_{};  // its thread uses all of the above
  std::jthread disturber_{};    // and so does this one
};

}  // namespace fencepost::endpoint
