// One direction of a connection: bytes as they come, packets as they are whole.
//
//   wire::PacketReader reader(1000);
//   reader.add({"\xc0\x00", 2});
//   const auto packet = reader.next();  // bytes of a PINGREQ, and what they mean
//
// Used by one thread at a time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "endpoint/wire/packet.h"

namespace fencepost::wire {

// The reason of the error that a CONNECT of another version of MQTT is, and each packet behind it.
inline constexpr std::uint8_t kOlderVersion = 0x84;

struct ReadPacket {
  std::string bytes{};
  Result<Packet, DecodeError> packet{};  // the error says why these bytes are not a packet
};

class PacketReader {
 public:
  // A packet larger than that ends the reading: nothing is held that is.
  explicit PacketReader(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string_view bytes);

  // The next packet that is whole. Nothing until there is one; after bytes that are no packet, and
  // after one that is too large, nothing for ever.
  [[nodiscard]] std::optional<ReadPacket> next();

  // It has met a packet of more than most_bytes.
  [[nodiscard]] bool gave_up() const { return gave_up_; }

 private:
  void end();
  std::optional<ReadPacket> give_up();

  std::size_t most_bytes_;
  std::string held_{};
  std::size_t at_ = 0;  // of what is held, read so far
  bool ended_ = false;
  bool gave_up_ = false;
  bool older_version_ = false;
};

}  // namespace fencepost::wire
