// Brokers with the reference store that are one endpoint: one broker, or the nodes of a cluster
// that share a database. All nodes run, each with a node id and a clock of its own; one of them
// leads and serves. In front is one address, which forwards new connections to the leader.
//
//   auto cluster = BrokerCluster::start({.database = "store.db"}, 3);
//   connect_to("127.0.0.1", (*cluster)->port());
//   (*cluster)->disturb("failover");
//
// disturb() is of one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "endpoint/broker_process.h"
#include "endpoint/tap.h"

namespace fencepost::endpoint {

class BrokerCluster final : private TapWatcher, private TapFaults {
 public:
  // As BrokerProcess::start(). `nodes`: at least 1; more than one need a database.
  [[nodiscard]] static Result<std::unique_ptr<BrokerCluster>, StartError> start(
      const BrokerOptions& options, std::size_t nodes);
  ~BrokerCluster() override = default;
  BrokerCluster(const BrokerCluster&) = delete;
  BrokerCluster& operator=(const BrokerCluster&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }

  // "restart", "kill", "stop" and "continue" are for the broker that serves, and it serves
  // afterwards. "failover": it is killed, the next node leads, and the killed one is a follower.
  // "partition": the next node leads, of which the former leader is not notified. Half of its
  // clients are on the side of the new one, and half of them keep their connections; "heal" makes
  // it a follower. The last three need several nodes. The error says what has failed.
  [[nodiscard]] Result<void, std::string> disturb(std::string_view what);

 private:
  BrokerCluster() = default;

  void on_opened(std::uint64_t /*connection*/) override { ++connections_; }
  void on_sent(std::uint64_t /*connection*/, std::string_view /*bytes*/) override {}
  void on_delivered(std::uint64_t /*connection*/, std::string_view /*bytes*/) override {}
  void on_closed(std::uint64_t /*connection*/) override { --connections_; }
  void on_no_handshake(std::uint64_t /*connection*/, std::string_view /*why*/) override {}
  [[nodiscard]] bool has_packets() const override { return false; }
  [[nodiscard]] bool is_on() const override { return true; }
  [[nodiscard]] std::optional<Strike> due(Moment now) override;
  [[nodiscard]] Moment next_due(Moment now) const override;
  void on_effect(std::uint64_t /*connection*/, NetworkFault /*fault*/, Moment /*now*/) override {}
  void on_ended_itself() override {}

  [[nodiscard]] Result<void, std::string> lead(std::size_t node);
  [[nodiscard]] Result<void, std::string> restart(std::size_t node);

  std::vector<std::unique_ptr<BrokerProcess>> nodes_{};
  std::size_t leader_ = 0;
  std::size_t cut_off_ = 0;                 // by the last partition
  std::atomic<std::uint16_t> leads_at_{0};  // its port
  std::atomic<std::uint64_t> connections_{0};
  std::atomic<std::uint64_t> to_be_cut_{0};  // of these
  std::unique_ptr<Tap> address_{};           // null: that of the only broker
};

}  // namespace fencepost::endpoint
