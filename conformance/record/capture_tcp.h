// The bytes of TCP connections in a packet capture, in the order in which their programs had them.
//
//   TcpReader reader(1883);
//   while (has_printed()) reader.add(some_of_it());  // tshark, see tcp_fields()
//   for (const TcpEvent& event : reader.take()) use(event);
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "conformance/record/capture_pcap.h"

namespace fencepost::record {

struct TcpEvent {
  enum class Kind {
    kOpened,
    kToBroker,
    kToClient,
    kLost,  // of what follows on this connection, bytes are missing; it has no more events
    kClosed,
  };
  std::uint64_t connection = 0;  // from 1
  Kind kind = Kind::kOpened;
  std::chrono::microseconds time{0};  // since the Unix epoch; never goes back
  std::string bytes{};
};

// What tshark has to print of each packet, in columns. Pure, as is the reader.
[[nodiscard]] std::vector<std::string> tcp_fields(std::uint16_t port);

class TcpReader {
 public:
  // The port of the broker.
  explicit TcpReader(std::uint16_t port);
  ~TcpReader();
  TcpReader(const TcpReader&) = delete;
  TcpReader& operator=(const TcpReader&) = delete;

  // What was printed next, a line for each packet. The error says what is wrong with a line, or
  // that it is too long; those before it were read, and nothing may be added any more.
  [[nodiscard]] Result<void, std::string> add(std::string_view printed);
  // After the last one: connections of which something is still missing are lost.
  void finish();
  // What is new since the last call.
  [[nodiscard]] std::vector<TcpEvent> take();

  // What a connection may have in wait for a packet that is missing.
  static constexpr std::size_t kMostHeldBytes = std::size_t{4} << 20U;
  static constexpr std::size_t kMostHeldPackets = 2'000;
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Runs tshark; calls `use` with each event. The error says what it has complained about, or that it
// is not there.
[[nodiscard]] Result<void, std::string> read_tcp(const PcapOptions& options,
                                                 const std::function<void(const TcpEvent&)>& use);

}  // namespace fencepost::record
