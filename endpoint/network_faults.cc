#include "endpoint/network_faults.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {

std::vector<NetworkFault> kinds_of(const NetworkFaultOptions& options) {
  if (!options.plan) return options.kinds;
  std::vector<NetworkFault> out;
  for (const Strike& strike : options.plan->strikes) out.push_back(strike.fault);
  return out;
}

Result<std::unique_ptr<NetworkFaults>, std::string> NetworkFaults::start(
    const NetworkFaultOptions& options, const ProxiedBroker& broker) {
  std::vector<NetworkFault> kinds = options.kinds;
  std::optional<FaultPlan> plan = options.plan;
  if (broker.tls) {
    std::erase_if(kinds, [](NetworkFault fault) { return kind_of(fault).needs_packets; });
    if (plan) {
      std::erase_if(plan->strikes,
                    [](const Strike& strike) { return kind_of(strike.fault).needs_packets; });
    }
  }
  if (plan ? plan->strikes.empty() : kinds.empty()) {
    return fail(std::string("faults of packets are not available with TLS"));
  }
  FaultSchedule schedule = plan ? FaultSchedule(std::move(*plan))
                                : FaultSchedule(options.seed, std::move(kinds), options.every);
  std::unique_ptr<NetworkFaults> out(new NetworkFaults(options, std::move(schedule), broker.tls));
  auto tap =
      Tap::start({.to_address = broker.host, .to_port = broker.port, .faults = out.get()}, *out);
  if (!tap) return fail("cannot start the proxy: " + tap.error());
  out->tap_ = std::move(*tap);
  if (options.disturb_broker) {
    out->disturber_ = std::jthread(
        [here = out.get()](const std::stop_token& stopped) { here->disturb_broker(stopped); });
  }
  return out;
}

NetworkFaults::NetworkFaults(const NetworkFaultOptions& options, FaultSchedule schedule, bool tls)
    : tls_(tls), disturb_(options.disturb_broker), schedule_(std::move(schedule)) {}

void NetworkFaults::set_on(bool on) {
  on_ = on;
  std::unique_lock lock(mutex_);
  if (!on) changed_.wait(lock, [this] { return !of_broker_; });
}

void NetworkFaults::set_around(Around before, Around after) {
  const std::lock_guard lock(mutex_);
  before_ = std::move(before);
  after_ = std::move(after);
}

bool NetworkFaults::disturbs_broker() const {
  const std::lock_guard lock(mutex_);
  return of_broker_.has_value();
}

std::string NetworkFaults::broker_error() const {
  const std::lock_guard lock(mutex_);
  return broker_error_;
}

// In a thread of its own: the broker takes its time, and the other connections of the tap do not
// wait for it.
void NetworkFaults::disturb_broker(const std::stop_token& stopped) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stopped, [this] { return of_broker_.has_value(); })) {
    const Strike strike = *of_broker_;
    const NetworkFaultKind& kind = kind_of(strike.fault);
    const Around before = before_;
    const Around after = after_;
    lock.unlock();
    if (before) before(strike.fault);
    const auto begun_at = std::chrono::steady_clock::now();
    auto done = disturb_(kind.name);
    lock.lock();
    // What lasts has an effect from here on; else the broker is there again.
    log_.push_back({.at = kind.undo.empty() ? begun_at : std::chrono::steady_clock::now(),
                    .kind = strike.fault});
    lock.unlock();
    if (done && !kind.undo.empty()) {
      lock.lock();
      // Also undone where the run ends before its time.
      changed_.wait_for(lock, stopped, strike.length, [] { return false; });
      lock.unlock();
      done = disturb_(kind.undo);
    }
    if (done && after) after(strike.fault);
    lock.lock();
    if (!done) broker_error_ = done.error();
    of_broker_.reset();
    broker_back_at_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
}

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
  const auto strike = schedule_.due(now - *begun_);
  if (!strike || !kind_of(strike->fault).of_broker) return strike;
  const std::lock_guard lock(mutex_);
  if (!of_broker_ && broker_error_.empty()) of_broker_ = strike;  // else it is down already
  changed_.notify_all();
  return std::nullopt;
}

void NetworkFaults::on_ended_itself() {
  // The end of a connection is seen after that of the broker.
  constexpr std::chrono::seconds kSeenWithin{1};
  const std::lock_guard lock(mutex_);
  const bool disturbed =
      of_broker_ || std::chrono::steady_clock::now() < broker_back_at_ + kSeenWithin;
  if (!disturbed) ++ended_themselves_;
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
