// What is written can be read again, and bytes of any kind do no harm.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "endpoint/wire/packet.h"

namespace fencepost::wire {
namespace {

std::string any_text() { return *rc::gen::container<std::string>(rc::gen::arbitrary<char>()); }

std::uint16_t any_id() { return *rc::gen::inRange<std::uint16_t>(1, 65'535); }

Properties message_properties() {
  Properties out;
  if (*rc::gen::arbitrary<bool>()) out.add(PropertyId::kPayloadFormat, *rc::gen::inRange(0U, 2U));
  if (*rc::gen::arbitrary<bool>()) {
    out.add(PropertyId::kMessageExpiry, *rc::gen::arbitrary<std::uint32_t>());
  }
  for (const PropertyId id :
       {PropertyId::kContentType, PropertyId::kResponseTopic, PropertyId::kCorrelationData}) {
    if (*rc::gen::arbitrary<bool>()) out.add(id, any_text());
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) out.add_user(any_text(), any_text());
  return out;
}

Packet any_packet() {
  const auto reason = *rc::gen::arbitrary<std::uint8_t>();
  switch (*rc::gen::inRange(0, 8)) {
    case 0: {
      Connect out{.clean_start = *rc::gen::arbitrary<bool>(),
                  .keep_alive_s = *rc::gen::arbitrary<std::uint16_t>(),
                  .client_id = any_text()};
      if (*rc::gen::arbitrary<bool>()) {
        out.will = Will{.qos = *rc::gen::inRange<std::uint8_t>(0, 3),
                        .properties = message_properties(),
                        .topic = any_text(),
                        .payload = any_text()};
      }
      if (*rc::gen::arbitrary<bool>()) out.user = any_text();
      if (*rc::gen::arbitrary<bool>()) out.password = any_text();
      return out;
    }
    case 1:
      return Connack{.session_present = *rc::gen::arbitrary<bool>(), .reason = reason};
    case 2: {
      const auto qos = *rc::gen::inRange<std::uint8_t>(0, 3);
      return Publish{.duplicate = qos > 0 && *rc::gen::arbitrary<bool>(),
                     .qos = qos,
                     .retain = *rc::gen::arbitrary<bool>(),
                     .packet_id = qos == 0 ? std::uint16_t{0} : any_id(),
                     .topic = any_text(),
                     .properties = message_properties(),
                     .payload = any_text()};
    }
    case 3:
      return Ack{.kind = *rc::gen::element(AckKind::kPuback, AckKind::kPubrec, AckKind::kPubrel,
                                           AckKind::kPubcomp),
                 .packet_id = any_id(),
                 .reason = reason};
    case 4:
      return Subscribe{.packet_id = any_id(), .subscriptions = {{any_text(), 1}, {any_text(), 2}}};
    case 5:
      return Unsubscribe{.packet_id = any_id(), .filters = {any_text(), any_text()}};
    case 6:
      return Suback{.packet_id = any_id(), .reasons = {reason, 0}};
    default:
      return Disconnect{.reason = reason};
  }
}

RC_GTEST_PROP(Packet, IsReadAsItWasWritten, ()) {
  const Packet packet = any_packet();
  const auto bytes = encode(packet);
  RC_ASSERT(bytes.has_value());
  const auto back = decode(*bytes, kLargestPacket);
  RC_ASSERT(back.has_value() && back->has_value());
  RC_ASSERT((*back)->packet == packet);
  RC_ASSERT((*back)->size == bytes->size());
}

// A packet with some of its bytes changed is refused, or it is another packet, which can be written
// again.
RC_GTEST_PROP(Packet, WithOtherBytesDoesNoHarm, ()) {
  std::string bytes = encode(any_packet()).value();
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
  }
  const auto read = decode(bytes, kLargestPacket);
  if (!read || !*read) return;
  RC_ASSERT((*read)->size <= bytes.size());
  const auto again = encode((*read)->packet);
  RC_ASSERT(again.has_value());
  const auto same = decode(*again, kLargestPacket);
  RC_ASSERT(same.has_value() && same->has_value());
  RC_ASSERT((*same)->packet == (*read)->packet);
}

RC_GTEST_PROP(Bytes, OfAnyKindDoNoHarm, (const std::string& bytes)) {
  const auto read = decode(bytes, 1000);
  if (read && *read) RC_ASSERT((*read)->size <= bytes.size());
}

}  // namespace
}  // namespace fencepost::wire
