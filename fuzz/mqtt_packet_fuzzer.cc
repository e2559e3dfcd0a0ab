// Any bytes as what a peer sends over a connection: packets are read one after the other, each
// takes what its length says, and written again and read it is the same packet. A packet is not
// read before its last byte has come.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "endpoint/wire/packet.h"
#include "fuzz/input_reader.h"

using namespace fencepost::wire;

namespace {

constexpr std::size_t kLimit = 300;

// As 2.1.4 has it, by a reading of its own: the bytes of the first packet, or 0 while its length is
// not whole.
std::size_t size_by_length(std::string_view bytes) {
  std::size_t length = 0;
  std::size_t factor = 1;
  for (std::size_t i = 1; i < bytes.size() && i <= 4; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    length += byte % 128 * factor;
    factor *= 128;
    if (byte < 128) return 1 + i + length;
  }
  return 0;
}

void must_be_the_same(const Packet& packet) {
  const auto again = encode(packet);
  FENCEPOST_CHECK(again.has_value());
  const auto same = decode(*again, kLargestPacket);
  FENCEPOST_CHECK(same.has_value() && same->has_value());
  FENCEPOST_CHECK((*same)->packet == packet && (*same)->size == again->size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fencepost::fuzz::as_text(data, size);
  while (true) {
    const auto read = decode(input, kLimit);
    const std::size_t first = size_by_length(input);
    if (!read) {
      const std::uint8_t reason = read.error().reason;
      FENCEPOST_CHECK(reason == 0x81 || reason == 0x82 || reason == 0x84 || reason == 0x95);
      FENCEPOST_CHECK(!read.error().text.empty());
      FENCEPOST_CHECK(first <= kLimit || reason == 0x95 || reason == 0x81);
      return 0;
    }
    if (!*read) {
      FENCEPOST_CHECK(first == 0 || first > input.size());
      return 0;
    }
    FENCEPOST_CHECK((*read)->size == first && first <= kLimit);
    const auto early = decode(input.substr(0, first - 1), kLimit);
    FENCEPOST_CHECK(early.has_value() && !early->has_value());
    must_be_the_same((*read)->packet);
    input.remove_prefix(first);
  }
}
