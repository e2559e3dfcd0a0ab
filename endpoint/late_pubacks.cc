#include "endpoint/late_pubacks.h"

#include <utility>

namespace fencepost::endpoint {
namespace {

constexpr unsigned kPubackType = 4;
constexpr std::size_t kMaxLengthBytes = 4;

// The size of the packet that begins the bytes; nothing: its length is not there yet. (2.1.4)
std::optional<std::size_t> size_of_packet(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kMaxLengthBytes && i + 1 < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i + 1]);
    length |= std::size_t{byte & 0x7FU} << (7 * i);
    if ((byte & 0x80U) == 0) return i + 2 + length;
  }
  // Five bytes are no length: what is no MQTT passes.
  if (bytes.size() > kMaxLengthBytes) return bytes.size();
  return std::nullopt;
}

}  // namespace

std::string LatePubacks::add(std::string_view bytes, Moment now) {
  std::string out;
  if (dropped_) return out;
  begun_ += bytes;
  std::size_t at = 0;
  while (at < begun_.size()) {
    const std::string_view rest = std::string_view(begun_).substr(at);
    const auto size = size_of_packet(rest);
    if (!size || *size > rest.size()) break;
    at += *size;
    const std::string_view packet = rest.substr(0, *size);
    if (static_cast<unsigned char>(packet[0]) >> 4U != kPubackType) {
      out += packet;
      continue;
    }
    ++counted_;
    if (error_.drop_every > 0 && counted_ % error_.drop_every == 0) {
      dropped_ = true;
      held_.clear();
      return out;
    }
    if (error_.hold.count() > 0) {
      held_.push_back({now + error_.hold, std::string(packet)});
    } else {
      out += packet;
    }
  }
  begun_.erase(0, at);
  return out;
}

std::string LatePubacks::due(Moment now) {
  std::string out;
  for (; !held_.empty() && held_.front().until <= now; held_.pop_front()) {
    out += held_.front().packet;
  }
  return out;
}

std::optional<LatePubacks::Moment> LatePubacks::next_due() const {
  if (held_.empty()) return std::nullopt;
  return held_.front().until;
}

}  // namespace fencepost::endpoint
