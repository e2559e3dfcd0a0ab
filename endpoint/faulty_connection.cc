#include "endpoint/faulty_connection.h"

#include <algorithm>
#include <utility>

#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {
namespace {

constexpr std::chrono::milliseconds kBetweenFaults{100};
constexpr std::size_t kHeaderBytes = 5;  // of a packet, at most (MQTT 5, 2.1)

// (MQTT 5, 2.1.2)
constexpr unsigned kTypeConnect = 1;
constexpr unsigned kTypePublish = 3;
constexpr unsigned kTypePuback = 4;

// With "rate": the bytes of a write, and of a second in each direction.
constexpr std::size_t kBurst = 64;
constexpr std::size_t kBytesPerSecond = std::size_t{32} << 10U;

// With "jitter", the bytes of a direction are held for some of these, at random.
constexpr std::chrono::milliseconds kJitterSlot{4};

// The finalizer of SplitMix64: bits that look random.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

unsigned type_of_packet(std::string_view packet) {
  return static_cast<unsigned char>(packet[0]) >> 4U;
}

}  // namespace

void FaultyConnection::begin(Moment now) {
  waits_ = false;
  until_ = now + strike_->length;
  effect_ = strike_->fault;
}

bool FaultyConnection::strike(const Strike& strike, Moment now) {
  if (strike_ || end_ != End::kNone || now < free_from_) return false;
  const bool takes_over = strike.fault == NetworkFault::kTakeover;
  if (takes_over && connect_.empty()) return false;
  strike_ = strike;
  acknowledged_ = withheld_ = false;
  waits_ = kind_of(strike.fault).needs_packets && !takes_over;
  taken_over_ = taken_over_ || takes_over;
  if (!waits_) begin(now);
  if (strike.fault == NetworkFault::kClose) end_ = End::kClose;
  const bool resets = strike.fault == NetworkFault::kReset || strike.fault == NetworkFault::kRefuse;
  if (resets) end_ = End::kReset;
  return true;
}

std::optional<NetworkFault> FaultyConnection::take_effect() {
  return std::exchange(effect_, std::nullopt);
}

void FaultyConnection::stop_waiting() {
  if (waits_) strike_.reset();
  waits_ = false;
}

bool FaultyConnection::is_active(NetworkFault fault, Moment now) const {
  return strike_ && strike_->fault == fault && !waits_ && now < until_;
}

bool FaultyConnection::holds(bool up, Moment now) const {
  const bool one_way = is_active(NetworkFault::kDelay, now) || is_active(NetworkFault::kStall, now);
  if (one_way) return strike_->up == up;
  if (is_active(NetworkFault::kRate, now)) return now < next_write_.at(up ? 1 : 0);
  if (is_active(NetworkFault::kJitter, now)) {
    const auto slot = static_cast<std::uint64_t>((until_ - now) / kJitterSlot);
    return (mixed(strike_->pick + 2 * slot + (up ? 1 : 0)) & 1U) != 0;
  }
  return is_active(NetworkFault::kHalfOpen, now) ||
         (!up && is_active(NetworkFault::kWithholdPuback, now));
}

std::size_t FaultyConnection::most_to_write(Moment now) const {
  if (is_active(NetworkFault::kSplit, now)) return 1;
  return is_active(NetworkFault::kRate, now) ? kBurst : std::string::npos;
}

void FaultyConnection::wrote(bool up, std::size_t bytes, Moment now) {
  next_write_.at(up ? 1 : 0) = now + std::chrono::microseconds{1'000'000 * bytes / kBytesPerSecond};
}

std::string FaultyConnection::pass(bool up, std::string_view bytes, Moment now) {
  if (!has_packets_) return std::string(bytes);
  std::string& begun = begun_.at(up ? 1 : 0);
  begun += bytes;
  std::string out;
  std::size_t at = 0;
  while (at < begun.size() && end_ == End::kNone) {
    const std::string_view rest = std::string_view(begun).substr(at);
    const std::size_t size = wire::size_of_first(rest);
    // What is no packet reaches the peer, which has to object to it.
    const bool is_none = size == 0 && rest.size() >= kHeaderBytes;
    if (is_none) has_packets_ = false;
    if (!is_none && (size == 0 || size > rest.size())) break;
    at += is_none ? rest.size() : size;
    out += is_none ? rest : pass_packet(up, rest.substr(0, size), now);
  }
  begun.erase(0, at);
  return out;
}

std::string_view FaultyConnection::pass_packet(bool up, std::string_view packet, Moment now) {
  if (up && type_of_packet(packet) == kTypeConnect) connect_ = packet;
  if (!strike_) return packet;
  const bool publish = type_of_packet(packet) == kTypePublish;
  switch (strike_->fault) {
    case NetworkFault::kCutPacket:
      if (up != strike_->up) break;
      begin(now);
      end_ = End::kReset;
      return packet.substr(0, packet.size() / 2);
    case NetworkFault::kWithholdPuback:
      if (waits_ && up && publish) begin(now);
      break;
    case NetworkFault::kWithholdResponse:
      if (waits_ && up && publish) {
        begin(now);
        break;
      }
      // Which of the two comes first is up to the broker. Other messages are withheld, too.
      if (waits_ || up) break;
      acknowledged_ = acknowledged_ || type_of_packet(packet) == kTypePuback;
      withheld_ = withheld_ || publish;
      if (acknowledged_ && withheld_) end_ = End::kReset;
      return publish ? std::string_view() : packet;
    default:
      break;
  }
  return packet;
}

FaultyConnection::End FaultyConnection::end(Moment now) {
  if (end_ != End::kNone || !strike_ || waits_ || now < until_) return end_;
  const NetworkFault fault = strike_->fault;
  // What was held has not been lost before the end: a peer must not miss single bytes.
  const bool resets = fault == NetworkFault::kHalfOpen || fault == NetworkFault::kWithholdPuback ||
                      fault == NetworkFault::kWithholdResponse;
  if (resets) {
    end_ = End::kReset;
  } else {
    strike_.reset();
    free_from_ = now + kBetweenFaults;
  }
  return end_;
}

std::optional<FaultyConnection::Moment> FaultyConnection::next_due(Moment now) const {
  if (!strike_ || waits_) return std::nullopt;
  Moment out = until_;
  if (is_active(NetworkFault::kJitter, now)) {
    out = until_ - (until_ - now) / kJitterSlot * kJitterSlot;
    if (out <= now) out = std::min(until_, now + kJitterSlot);
  }
  for (const Moment next : next_write_) {
    if (is_active(NetworkFault::kRate, now) && next > now) out = std::min(out, next);
  }
  return out;
}

}  // namespace fencepost::endpoint
