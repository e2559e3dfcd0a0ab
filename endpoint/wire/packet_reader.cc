#include "endpoint/wire/packet_reader.h"

namespace fencepost::wire {

void PacketReader::add(std::string_view bytes) {
  if (ended_) return;
  // Not after each packet, as all that is behind it would be moved each time.
  if (at_ == held_.size()) {
    held_.clear();
    at_ = 0;
  } else if (at_ > most_bytes_) {
    held_.erase(0, at_);
    at_ = 0;
  }
  held_ += bytes;
}

std::optional<ReadPacket> PacketReader::next() {
  if (ended_) return std::nullopt;
  const std::string_view rest = std::string_view(held_).substr(at_);
  const std::size_t size = size_of_first(rest);
  // Packets of MQTT 3.1.1 have the same header, and can be distinguished still; what is in them is
  // not read by the rules of MQTT 5.
  if (older_version_) {
    if (size > most_bytes_) return give_up();
    if (size == 0 || rest.size() < size) return std::nullopt;
    at_ += size;
    return ReadPacket{std::string(rest.substr(0, size)), fail(DecodeError{kOlderVersion, {}})};
  }
  auto decoded = decode(rest, kLargestPacket);
  if (!decoded) {
    ReadPacket out{std::string(rest.substr(0, size == 0 ? rest.size() : size)),
                   fail(decoded.error())};
    older_version_ = decoded.error().reason == kOlderVersion && size > 0 && size <= rest.size();
    at_ += out.bytes.size();
    // Where the next packet would begin is not known then, and the connection is over by 4.13.1.
    if (!older_version_) end();
    return out;
  }
  // Behind what is wrong with it: its first byte alone may have come before.
  if (size > most_bytes_) return give_up();
  if (!*decoded) return std::nullopt;
  at_ += (*decoded)->size;
  return ReadPacket{std::string(rest.substr(0, (*decoded)->size)), std::move((*decoded)->packet)};
}

std::optional<ReadPacket> PacketReader::give_up() {
  gave_up_ = true;
  end();
  return std::nullopt;
}

void PacketReader::end() {
  ended_ = true;
  // Nobody reads on: however much still comes, nothing is kept.
  held_.clear();
  at_ = 0;
}

}  // namespace fencepost::wire
