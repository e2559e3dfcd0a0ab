// The requests, replies and notifications in a packet capture of plain MQTT 5.
//
//   record::PcapMessages messages(1883);
//   messages.add(event);  // of TCP connections: see capture_tcp.h
//   const record::Capture capture = messages.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "endpoint/wire/packet_reader.h"
#include "traffic/record/capture.h"
#include "traffic/record/capture_tcp.h"

namespace fencepost::record {

// Reads a file. The error says why it cannot be read.
[[nodiscard]] Result<Capture, std::string> read_pcap(const PcapOptions& options);

// Pure. Where bytes are missing, it reads on at the next packet that a segment begins with and has
// whole.
class PcapMessages {
 public:
  // The port of the broker.
  explicit PcapMessages(std::uint16_t port) : port_(port) {}

  void add(const TcpEvent& event);
  [[nodiscard]] Capture finish();

  static constexpr std::size_t kLargestPacket = std::size_t{16} << 20U;

 private:
  struct Flow {
    wire::PacketReader reader{kLargestPacket};
    bool in_step = true;  // its next byte begins a packet, or continues one
    std::map<std::uint32_t, std::string> topics{};  // by alias
  };
  struct Connection {
    std::string client_id{};
    bool known = false;
    bool ended = false;
    bool older = false;  // than MQTT 5
    bool has_bytes = false;
    Flow up{};
    Flow down{};
  };

  void read(const TcpEvent& event, Connection& connection);
  void take(const TcpEvent& event, Connection& connection, wire::Packet packet);
  void publish(const TcpEvent& event, Connection& connection, wire::Publish publish);
  void end(const TcpEvent& event, Connection& connection);

  std::uint16_t port_;
  Capture capture_{.sees_replies = true, .sees_notifications = true, .sees_packets = true};
  std::map<std::uint64_t, Connection> connections_{};
  std::size_t packets_ = 0;
  std::size_t repeated_ = 0;
  std::size_t gaps_ = 0;
  std::size_t older_ = 0;
  std::size_t strange_ = 0;
};

}  // namespace fencepost::record
