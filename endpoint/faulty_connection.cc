#include "endpoint/faulty_connection.h"

#include <utility>

#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {
namespace {

constexpr std::chrono::milliseconds kBetweenFaults{100};
constexpr std::size_t kHeaderBytes = 5;  // of a packet, at most (MQTT 5, 2.1)

// (MQTT 5, 2.1.2)
constexpr unsigned kTypePublish = 3;
constexpr unsigned kTypePuback = 4;

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
  strike_ = strike;
  acknowledged_ = withheld_ = false;
  waits_ = kind_of(strike.fault).needs_packets;
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
  return is_active(NetworkFault::kHalfOpen, now) ||
         (!up && is_active(NetworkFault::kWithholdPuback, now));
}

bool FaultyConnection::splits(Moment now) const { return is_active(NetworkFault::kSplit, now); }

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

std::optional<FaultyConnection::Moment> FaultyConnection::next_due() const {
  if (!strike_ || waits_) return std::nullopt;
  return until_;
}

}  // namespace fencepost::endpoint
