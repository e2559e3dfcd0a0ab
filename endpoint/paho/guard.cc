#include "endpoint/paho/guard.h"

#include <algorithm>

namespace fencepost::endpoint {
namespace {

constexpr unsigned kPublish = 3;
constexpr unsigned kPuback = 4;
constexpr unsigned kPubrec = 5;
constexpr unsigned kPubcomp = 7;
constexpr unsigned kMore = 0x80;                 // of a byte of a length: another one follows
constexpr std::size_t kMaxLength = 4;            // MQTT 5, 1.5.5
constexpr std::uint8_t kFirstRefusal = 0x80;     // among reason codes
constexpr std::size_t kCopies = 3;               // of a packet that is held
constexpr std::size_t kAcknowledgementHead = 3;  // id and reason

std::string in_bytes(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

}  // namespace

std::uint8_t PacketHeads::byte(std::size_t at) const {
  return static_cast<std::uint8_t>(begun_[at]);
}

bool PacketHeads::next(std::string_view& bytes) {
  while (!bytes.empty() && !malformed_) {
    if (skip_ > 0) {
      const std::size_t skipped = std::min(skip_, bytes.size());
      bytes.remove_prefix(skipped);
      skip_ -= skipped;
      continue;
    }
    const std::size_t taken = std::min(needed_ - begun_.size(), bytes.size());
    begun_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (begun_.size() == needed_ && is_whole()) {
      skip_ = fixed_ + head_.length - begun_.size();
      begun_.clear();
      fixed_ = 0;
      needed_ = 2;
      properties_ = 0;
      return true;
    }
  }
  bytes = {};
  return false;
}

// Raises needed_ when it is not.
bool PacketHeads::is_whole() {
  if (fixed_ == 0) read_length();
  if (malformed_ || begun_.size() < needed_) return false;
  const unsigned kind = head_.kind();
  if (kind == kPublish) {
    read_publish();
    return begun_.size() == needed_;
  }
  head_.whole = true;
  if (kind >= kPuback && kind <= kPubcomp) {
    head_.whole = head_.length >= 2;
    if (head_.length >= 2) {
      head_.id = static_cast<std::uint16_t>(byte(fixed_) << 8U | byte(fixed_ + 1));
    }
    head_.reason = head_.length > 2 ? byte(fixed_ + 2) : std::uint8_t{0};
  }
  return true;
}

void PacketHeads::read_length() {
  if ((byte(begun_.size() - 1) & kMore) != 0) {
    malformed_ = begun_.size() > kMaxLength;
    ++needed_;
    return;
  }
  head_ = {.first = byte(0)};
  fixed_ = begun_.size();
  for (std::size_t at = fixed_ - 1; at > 0; --at) {
    head_.length = head_.length << 7U | (byte(at) & ~kMore);
  }
  std::size_t first_part = 0;
  if (head_.kind() == kPublish) first_part = 2;
  if (head_.kind() >= kPuback && head_.kind() <= kPubcomp) first_part = kAcknowledgementHead;
  needed_ = fixed_ + std::min(first_part, head_.length);
}

// Topic, id, and the length of the properties.
void PacketHeads::read_publish() {
  const std::size_t end = fixed_ + head_.length;
  const std::size_t id_bytes = head_.qos() == 0 ? 0 : 2;
  head_.whole = head_.length >= 2;
  if (!head_.whole) return;
  if (properties_ == 0) {
    const std::size_t topic = std::size_t{byte(fixed_)} << 8U | byte(fixed_ + 1);
    properties_ = fixed_ + 2 + topic + id_bytes;
    head_.whole = properties_ < end;
    needed_ = std::min(properties_ + 1, end);
    if (begun_.size() < needed_) return;
  }
  head_.whole = properties_ < end;
  if (!head_.whole) return;
  if (id_bytes != 0) {
    head_.id = static_cast<std::uint16_t>(byte(properties_ - 2) << 8U | byte(properties_ - 1));
  }
  const std::size_t length_bytes = begun_.size() - properties_;
  if ((byte(begun_.size() - 1) & kMore) != 0 && length_bytes < kMaxLength && needed_ < end) {
    ++needed_;
    return;
  }
  head_.properties = 0;
  for (std::size_t at = begun_.size(); at > properties_; --at) {
    head_.properties = head_.properties << 7U | (byte(at - 1) & ~kMore);
  }
}

void PahoGuard::on_written(std::string_view bytes) {
  while (written_.next(bytes)) {
    const PacketHead& head = written_.head();
    if (head.kind() == kPublish && head.qos() == 2) exactly_once_.insert(head.id);
  }
}

std::string PahoGuard::on_read(std::string_view bytes) {
  while (read_.next(bytes)) {
    std::string why = refused(read_.head());
    if (!why.empty()) return why;
  }
  held_.remove(held_.own());
  if (!held_.try_add(kCopies * read_.bytes_under_way())) {
    return in_bytes(read_.bytes_under_way()) +
           " in a packet, where all connections and cases together hold " +
           std::to_string(kMaxHeldOfAll >> 20U) + " MiB at most";
  }
  return read_.is_malformed() ? "a packet whose length has more than four bytes" : std::string();
}

std::string PahoGuard::refused(const PacketHead& head) {
  const unsigned kind = head.kind();
  const std::size_t most = kind == kPublish ? kMaxPahoPacket : kMaxPahoControlPacket;
  if (head.length > most) {
    return "a packet of " + in_bytes(head.length) + ", where Paho gets at most " + in_bytes(most);
  }
  if (head.properties > kMaxPahoPropertyBytes) {
    return in_bytes(head.properties) + " of properties, where Paho gets at most " +
           in_bytes(kMaxPahoPropertyBytes);
  }
  if (!head.whole) return "a packet that is too short for its kind";
  if (kind != kPuback && kind != kPubrec && kind != kPubcomp) return {};
  const bool asked = exactly_once_.contains(head.id);
  if (kind == kPuback) return asked ? "a PUBACK for a PUBLISH of QoS 2" : "";
  if (!asked) {
    return std::string(kind == kPubrec ? "a PUBREC" : "a PUBCOMP") + " for no PUBLISH of QoS 2";
  }
  if (kind == kPubcomp || head.reason >= kFirstRefusal) exactly_once_.erase(head.id);
  return {};
}

}  // namespace fencepost::endpoint
