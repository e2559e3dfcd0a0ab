#include "endpoint/wire/raw_publish.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace fencepost::wire {
namespace {

constexpr unsigned kLengthBits = 7;  // of a byte of a length (1.5.5)

// How many bytes the length at the beginning of `bytes` has.
std::size_t size_of_length(std::string_view bytes) {
  std::size_t out = 0;
  while ((static_cast<unsigned char>(bytes[out]) & 0x80U) != 0) ++out;
  return out + 1;
}

std::string length_bytes(std::size_t length) {
  std::string out;
  do {
    const std::size_t low = length & 0x7fU;
    length >>= kLengthBits;
    out += static_cast<char>(length > 0 ? low | 0x80U : low);
  } while (length > 0);
  return out;
}

}  // namespace

std::string encode(const Property& property) {
  Properties one;
  if (property.id == PropertyId::kUserProperty) {
    one.add_user(property.text, property.value);
  } else if (property.text.empty()) {
    one.add(property.id, property.number);
  } else {
    one.add(property.id, property.text);
  }
  // A PUBLISH of QoS 0 without topic and payload ends with its properties.
  const auto packet = encode(Packet(Publish{.properties = std::move(one)}));
  if (!packet) return {};
  const std::string_view body = std::string_view(*packet).substr(1);
  const std::string_view properties = body.substr(size_of_length(body) + 2);
  return std::string(properties.substr(size_of_length(properties)));
}

Result<std::string, std::string> encode(const RawPublish& odd) {
  const auto whole = encode(Packet(odd.packet));
  if (!whole) return fail(whole.error());
  // The same without properties and payload: all that stands before them, and their length, 0.
  Publish bare = odd.packet;
  bare.properties = {};
  bare.payload.clear();
  const auto before = encode(Packet(std::move(bare)));
  if (!before) return fail(before.error());
  const std::string_view first = std::string_view(*before).substr(1);
  const std::string_view head = first.substr(size_of_length(first));
  const std::string_view body = std::string_view(*whole).substr(1);
  const std::string_view rest = body.substr(size_of_length(body) + head.size() - 1);
  const std::size_t own = size_of_length(rest);
  const std::size_t properties = rest.size() - own - odd.packet.payload.size();

  const auto length =
      static_cast<std::int64_t>(properties + odd.more_properties.size()) + odd.wrong_length;
  std::string out(head.substr(0, head.size() - 1));
  out += length_bytes(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)));
  out += rest.substr(own, properties);
  out += odd.more_properties;
  out += odd.packet.payload;
  if (out.size() > kLargestPacket - 5) return fail(std::string("the packet is too large"));
  return whole->substr(0, 1) + length_bytes(out.size()) + out;
}

}  // namespace fencepost::wire
