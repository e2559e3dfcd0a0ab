// The bytes of TCP connections in a packet capture, in the order in which their programs had them.
//
//   record::TcpReader reader;
//   reader.add(segment);  // as they were captured: see capture_segments.h
//   for (const record::TcpEvent& event : reader.take()) use(event.bytes);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "traffic/record/capture_segments.h"

namespace fencepost::record {

struct TcpEvent {
  enum class Kind {
    kOpened,
    kBytes,   // what one segment has brought
    kLost,    // bytes are missing here; what comes next may begin anywhere
    kEnding,  // there is no more of this direction
    kClosed,
  };
  std::uint64_t connection = 0;  // from 1
  Kind kind = Kind::kOpened;
  bool to_broker = false;  // the direction; of kClosed, that of what has ended it
  // Since the Unix epoch. Never goes back, but on a connection that has lost something.
  std::chrono::microseconds time{0};
  std::string bytes{};
};

// Pure. A connection that does not begin like MQTT is lost in both directions, and has no more
// events.
class TcpReader {
 public:
  TcpReader();
  ~TcpReader();
  TcpReader(const TcpReader&) = delete;
  TcpReader& operator=(const TcpReader&) = delete;

  void add(Segment segment);
  // After the last one: nothing waits for what is missing any more.
  void finish();
  // What is new since the last call.
  [[nodiscard]] std::vector<TcpEvent> take();
  // What cannot be read, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;

  // What a connection may have in wait for a packet that is missing.
  static constexpr std::size_t kMaxHeldBytes = std::size_t{4} << 20U;
  static constexpr std::size_t kMaxHeldPackets = 2'000;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct PcapOptions {
  std::string file{};
  std::uint16_t port = 1883;  // of the broker
};

// Reads a capture file, calls `use` with each event, and returns what it has that was not read, a
// sentence each. The error has the path.
[[nodiscard]] Result<std::vector<std::string>, std::string> read_tcp(
    const PcapOptions& options, const std::function<void(const TcpEvent&)>& use);

}  // namespace fencepost::record
