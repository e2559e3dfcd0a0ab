#include "endpoint/network_faults.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {

Result<std::unique_ptr<NetworkFaults>, std::string> NetworkFaults::start(
    const NetworkFaultOptions& options, const ProxiedBroker& broker) {
  std::vector<NetworkFault> kinds = options.kinds;
  if (broker.tls) {
    std::erase_if(kinds, [](NetworkFault fault) { return kind_of(fault).needs_packets; });
  }
  if (kinds.empty()) return fail(std::string("faults of packets are not available with TLS"));
  std::unique_ptr<NetworkFaults> out(new NetworkFaults(options, std::move(kinds), broker.tls));
  auto tap =
      Tap::start({.to_address = broker.host, .to_port = broker.port, .faults = out.get()}, *out);
  if (!tap) return fail("cannot start the proxy: " + tap.error());
  out->tap_ = std::move(*tap);
  return out;
}

NetworkFaults::NetworkFaults(const NetworkFaultOptions& options, std::vector<NetworkFault> kinds,
                             bool tls)
    : tls_(tls), schedule_(options.seed, std::move(kinds), options.every) {}

std::vector<InjectedFault> NetworkFaults::take_log() {
  const std::lock_guard lock(mutex_);
  return std::exchange(log_, {});
}

void NetworkFaults::on_opened(std::uint64_t connection) { clients_[connection] = {}; }
void NetworkFaults::on_closed(std::uint64_t connection) { clients_.erase(connection); }

void NetworkFaults::on_sent(std::uint64_t connection, std::string_view bytes) {
  std::string& id = clients_[connection];
  if (tls_ || !id.empty()) return;
  // The first packet of a connection; what passes the tap is whole packets.
  const auto first = wire::decode(bytes, wire::kLargestPacket);
  if (!first || !*first) return;
  if (const auto* connect = std::get_if<wire::Connect>(&(*first)->packet)) id = connect->client_id;
}

std::optional<Strike> NetworkFaults::due(Moment now) {
  if (!on_) return std::nullopt;
  if (!begun_) begun_ = now;
  return schedule_.due(now - *begun_);
}

NetworkFaults::Moment NetworkFaults::next_due(Moment now) const {
  // While it is off, nobody wakes the tap when it is turned on.
  constexpr std::chrono::milliseconds kLookAgain{50};
  if (!on_ || !begun_) return now + kLookAgain;
  return *begun_ + std::chrono::duration_cast<Moment::duration>(schedule_.next_at());
}

void NetworkFaults::on_effect(std::uint64_t connection, NetworkFault fault, Moment now) {
  const std::lock_guard lock(mutex_);
  log_.push_back({.at = now, .kind = fault, .client_id = clients_[connection]});
}

}  // namespace fencepost::endpoint
