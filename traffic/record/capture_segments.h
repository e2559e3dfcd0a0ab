// The TCP segments that a capture file has of the connections to one port.
//
//   record::SegmentReader reader(1883);
//   const bool more = reader.add(bytes);  // of the file, as they come
//   while (const auto segment = reader.next()) use(segment->bytes);
//   const auto notes = reader.finish();
//
// Files are pcap and pcapng; links are Ethernet, with VLAN tags, those of Linux (SLL, SLL2), BSD's
// loopback, and IP alone. Pure; for one thread at a time. It holds one packet.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::record {

struct Segment {
  std::string connection{};  // addresses and the client's port; the same in both directions
  bool to_broker = false;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;  // what its sender has had of the other direction
  unsigned flags = 0;
  std::size_t length = 0;  // of what was sent; the capture may have less
  std::string bytes{};
  std::chrono::microseconds time{0};  // since the Unix epoch
};

// Adds "3 packets were left out" for what was found at all.
void note(std::vector<std::string>& notes, std::size_t count, std::string_view noun,
          std::string_view what);

class SegmentReader {
 public:
  // The port of the broker.
  explicit SegmentReader(std::uint16_t port);
  ~SegmentReader();
  SegmentReader(const SegmentReader&) = delete;
  SegmentReader& operator=(const SegmentReader&) = delete;

  // False: the bytes after these are of no use, see finish().
  [[nodiscard]] bool add(std::string_view bytes);
  // The next one; nothing where more bytes are needed.
  [[nodiscard]] std::optional<Segment> next();
  // After the last one: what the file has that was not read, a sentence each. The error says why
  // nothing could be.
  [[nodiscard]] Result<std::vector<std::string>, std::string> finish() const;

  static constexpr std::size_t kLargestPacket = std::size_t{1} << 20U;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fencepost::record
