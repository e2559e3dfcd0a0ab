#include "endpoint/broker_cluster.h"

#include <utility>

#include "base/check.h"

namespace fencepost::endpoint {
namespace {

// What the plugin says of it is in reference_store/served/control.h.
constexpr std::string_view kClusterTopic = "fencepost/cluster";

}  // namespace

Result<std::unique_ptr<BrokerCluster>, StartError> BrokerCluster::start(
    const BrokerOptions& options, std::size_t nodes) {
  FENCEPOST_CHECK(nodes == 1 || (nodes > 1 && !options.database.empty()));
  // As those of a cluster, clocks differ.
  constexpr std::chrono::milliseconds kClocksDifferBy{30};
  std::unique_ptr<BrokerCluster> out(new BrokerCluster());
  for (std::size_t i = 0; i < nodes; ++i) {
    BrokerOptions own = options;
    own.cluster = nodes > 1;
    if (i > 0) own.node_id += "-" + std::to_string(i + 1);
    own.conditions.clock_offset += kClocksDifferBy * (i % 2 == 0 ? -1 : 1) * ((i + 1) / 2);
    auto node = BrokerProcess::start(own);
    if (!node) return fail(node.error());
    out->nodes_.push_back(std::move(*node));
  }
  if (nodes == 1) return out;
  // A broker that is new refuses for its database only.
  if (auto led = out->lead(0); !led) {
    return fail(StartError{StartErrorKind::kBadValue, std::move(led.error())});
  }
  auto address = Tap::start({.to_changing_port = &out->leads_at_, .faults = out.get()}, *out);
  if (!address) return fail(StartError{StartErrorKind::kFailed, address.error()});
  out->address_ = std::move(*address);
  return out;
}

std::uint16_t BrokerCluster::port() const {
  return address_ ? address_->port() : nodes_.front()->port();
}

Result<void, std::string> BrokerCluster::lead(std::size_t node) {
  if (nodes_.size() > 1 && !nodes_[node]->publish(kClusterTopic, "lead")) {
    return fail(nodes_[node]->log_tail());
  }
  leader_ = node;
  leads_at_ = nodes_[node]->port();
  return {};
}

Result<void, std::string> BrokerCluster::restart(std::size_t node) {
  const auto done = nodes_[node]->restart();
  if (!done) return fail(done.error().text);
  return {};
}

// Every second connection. Those that are new meanwhile are behind the others.
std::optional<Strike> BrokerCluster::due(Moment /*now*/) {
  if (to_be_cut_ == 0) return std::nullopt;
  return Strike{.fault = NetworkFault::kReset, .pick = 2 * --to_be_cut_};
}

BrokerCluster::Moment BrokerCluster::next_due(Moment now) const {
  return now + std::chrono::milliseconds{20};
}

Result<void, std::string> BrokerCluster::disturb(std::string_view what) {
  const std::size_t before = leader_;
  const std::size_t next = (before + 1) % nodes_.size();
  BrokerProcess& serving = *nodes_[before];
  if (what == "stop") {
    serving.pause();
  } else if (what == "continue") {
    serving.resume();
  } else if (what == "partition") {
    cut_off_ = before;
    if (auto led = lead(next); !led) return led;
    to_be_cut_ = connections_ / 2;
  } else if (what == "heal") {
    if (!nodes_[cut_off_]->publish(kClusterTopic, "follow")) {
      return fail(nodes_[cut_off_]->log_tail());
    }
  } else {
    if (what != "restart") serving.kill_now();
    const bool fails_over = what == "failover";
    if (fails_over) {
      if (auto led = lead(next); !led) return led;
    }
    if (auto started = restart(before); !started || fails_over) return started;
    return lead(before);
  }
  return {};
}

}  // namespace fencepost::endpoint
