// Reads a packet capture of plain MQTT. What packets say is asked of tshark (Debian: tshark), whose
// PDML this understands; see https://wiki.wireshark.org/PDML.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "conformance/record/capture.h"

namespace fencepost::record {

struct PcapOptions {
  std::string file{};
  std::uint16_t port = 1883;  // of the broker
};

// Runs tshark. The error says what it has complained about, or that it is not there.
[[nodiscard]] Result<Capture, std::string> read_pcap(const PcapOptions& options);

// What tshark prints with -T pdml. Pure.
class PdmlReader {
 public:
  explicit PdmlReader(std::uint16_t port);
  ~PdmlReader();
  PdmlReader(const PdmlReader&) = delete;
  PdmlReader& operator=(const PdmlReader&) = delete;

  // What was printed next, piece by piece. The error says why an element <packet> is none, or that
  // it is too large; those before it were read, and nothing may be added any more.
  [[nodiscard]] Result<void, std::string> add(std::string_view printed);
  [[nodiscard]] Capture finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fencepost::record
