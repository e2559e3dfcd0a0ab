// Reads a packet capture of plain MQTT. What packets say is asked of tshark (Debian: tshark), whose
// PDML this understands; see https://wiki.wireshark.org/PDML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "conformance/record/capture.h"

namespace fencepost::record {

struct PcapOptions {
  std::string file{};
  std::uint16_t port = 1883;  // of the broker
};

// Runs tshark. The error says what it has complained about, or that it is not there.
[[nodiscard]] Result<Capture, std::string> read_pcap(const PcapOptions& options);

// What tshark prints with -T pdml, packet by packet. Pure.
class PdmlReader {
 public:
  explicit PdmlReader(std::uint16_t port);
  ~PdmlReader();
  PdmlReader(const PdmlReader&) = delete;
  PdmlReader& operator=(const PdmlReader&) = delete;

  // One element <packet>; the error says why it is none.
  [[nodiscard]] Result<void, std::string> add_packet(const std::string& xml);
  [[nodiscard]] Capture finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fencepost::record
