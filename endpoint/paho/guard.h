// What a broker must not be able to do to Paho: an acknowledgement of another kind than the PUBLISH
// requires makes it free memory twice, and it keeps a packet of any size. The guard looks at the
// beginnings of all packets of one connection, and says which bytes Paho must not get.
//
//   PahoGuard guard;
//   guard.on_written(bytes);               // of Paho's
//   if (!guard.on_read(more).empty()) ...  // of the broker's: the connection has to end
//
// Everything else that MQTT 5 forbids is for Paho to judge: it is there as a second opinion.
// Pure; of one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "endpoint/held_bytes.h"

namespace fencepost::endpoint {

// Paho has a packet four times: as it came, its payload, its message, and ours.
inline constexpr std::size_t kMaxPahoPacket = std::size_t{32} << 20U;
// The limit for anything but a PUBLISH: Paho keeps the properties of a CONNACK as long as the
// connection.
inline constexpr std::size_t kMaxPahoControlPacket = std::size_t{16} << 10U;
// A property of five bytes takes Paho a hundred.
inline constexpr std::size_t kMaxPahoPropertyBytes = std::size_t{1} << 20U;

// How a packet begins: as much of it as its kind needs to be known.
struct PacketHead {
  std::uint8_t first = 0;      // kind and flags
  std::size_t length = 0;      // of what follows the fixed header
  std::uint16_t id = 0;        // of an acknowledgement, and of a PUBLISH of QoS 1 or 2
  std::uint8_t reason = 0;     // of an acknowledgement; 0 where it has none
  std::size_t properties = 0;  // bytes of a PUBLISH's
  bool whole = true;           // false: it is too short for its kind

  [[nodiscard]] unsigned kind() const { return first >> 4U; }
  [[nodiscard]] unsigned qos() const { return (first >> 1U) & 3U; }
};

// The heads of the packets of one direction, as their bytes come, in any pieces.
class PacketHeads {
 public:
  // Takes bytes from the front of `bytes` up to the end of the next head. False: that is not in
  // them, and all are taken. After a length of more than four bytes there is no head any more.
  [[nodiscard]] bool next(std::string_view& bytes);
  [[nodiscard]] const PacketHead& head() const { return head_; }  // after true
  [[nodiscard]] bool is_malformed() const { return malformed_; }
  // The length of the packet that began with the last head and has not ended; 0: it has ended.
  [[nodiscard]] std::size_t bytes_under_way() const { return skip_ > 0 ? head_.length : 0; }

 private:
  [[nodiscard]] bool is_whole();
  void read_length();
  void read_publish();
  [[nodiscard]] std::uint8_t byte(std::size_t at) const;

  PacketHead head_{};
  std::string begun_{};         // of a head that is not whole
  std::size_t fixed_ = 0;       // bytes of its fixed header, once these are known
  std::size_t needed_ = 2;      // how many bytes of it are known to be needed
  std::size_t properties_ = 0;  // where the length of a PUBLISH's begins; 0: not known yet
  std::size_t skip_ = 0;        // what is left of a packet behind its head
  bool malformed_ = false;
};

// Counts what Paho holds of packets among what all endpoints have sent (held_bytes.h).
class PahoGuard {
 public:
  // Bytes that Paho writes.
  void on_written(std::string_view bytes);
  // Bytes that Paho is to read. Empty: it may have them; else what the broker did. What follows
  // then says nothing.
  [[nodiscard]] std::string on_read(std::string_view bytes);

 private:
  [[nodiscard]] std::string refused(const PacketHead& head);

  PacketHeads written_;
  PacketHeads read_;
  HeldBytes held_;                        // packets that Paho has not read to their ends
  std::set<std::uint16_t> exactly_once_;  // ids of PUBLISHes of QoS 2 on their way
};

}  // namespace fencepost::endpoint
