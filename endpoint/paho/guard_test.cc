#include "endpoint/paho/guard.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::string publish(std::uint8_t qos, std::uint16_t id, std::string topic = "t") {
  return wire::encode(wire::Publish{.qos = qos, .packet_id = id, .topic = std::move(topic)})
      .value();
}

std::string ack(wire::AckKind kind, std::uint16_t id, std::uint8_t reason = 0) {
  return wire::encode(wire::Ack{.kind = kind, .packet_id = id, .reason = reason}).value();
}

// The guard's word on bytes that come one by one, and on all together.
std::string word_on(std::string_view written, std::string_view bytes) {
  PahoGuard at_once;
  PahoGuard one_by_one;
  at_once.on_written(written);
  for (std::size_t i = 0; i < written.size(); ++i) one_by_one.on_written(written.substr(i, 1));
  std::string word;
  for (std::size_t i = 0; i < bytes.size() && word.empty(); ++i) {
    word = one_by_one.on_read(bytes.substr(i, 1));
  }
  EXPECT_EQ(at_once.on_read(bytes), word);
  return word;
}

TEST(PahoGuard, LetsWhatIsAskedForPass) {
  const std::string written =
      publish(1, 7) + publish(2, 8) + publish(0, 0) + publish(2, 9, "longer");
  const std::string answers =
      "\x20\3\0\0\0"s + ack(wire::AckKind::kPuback, 7) + ack(wire::AckKind::kPubrec, 8) +
      ack(wire::AckKind::kPubcomp, 8) + ack(wire::AckKind::kPubrec, 9, 0x10) +
      ack(wire::AckKind::kPubcomp, 9) + publish(1, 7) + publish(0, 0, std::string(60'000, 't'));
  EXPECT_EQ(word_on(written, answers), "");
}

TEST(PahoGuard, RefusesAnAcknowledgementOfAnotherKind) {
  const std::string written = publish(1, 7) + publish(2, 8);
  EXPECT_EQ(word_on(written, ack(wire::AckKind::kPubrec, 7)), "a PUBREC for no PUBLISH of QoS 2");
  EXPECT_EQ(word_on(written, ack(wire::AckKind::kPubrec, 7, 0x87)),
            "a PUBREC for no PUBLISH of QoS 2");
  EXPECT_EQ(word_on(written, ack(wire::AckKind::kPubcomp, 7)), "a PUBCOMP for no PUBLISH of QoS 2");
  EXPECT_EQ(word_on(written, ack(wire::AckKind::kPuback, 8)), "a PUBACK for a PUBLISH of QoS 2");
}

// MQTT 5, 4.3.3: a PUBREC with an error ends the delivery, and so does a PUBCOMP.
TEST(PahoGuard, RefusesWhatComesAfterTheEndOfADelivery) {
  const std::string written = publish(2, 8);
  const std::string refused = ack(wire::AckKind::kPubrec, 8, 0x87);
  EXPECT_EQ(word_on(written, refused + ack(wire::AckKind::kPubcomp, 8)),
            "a PUBCOMP for no PUBLISH of QoS 2");
  const std::string done = ack(wire::AckKind::kPubrec, 8) + ack(wire::AckKind::kPubcomp, 8);
  EXPECT_EQ(word_on(written, done + ack(wire::AckKind::kPubrec, 8)),
            "a PUBREC for no PUBLISH of QoS 2");
}

TEST(PahoGuard, RefusesWhatIsTooLargeByItsHead) {
  struct Row {
    std::string bytes;
    std::string word;
  };
  for (const Row& row : std::vector<Row>{
           {"\x30\x80\x80\x80\x10"s, ""},       // 32 MiB
           {"\x30\x81\x80\x80\x10\0\1t"s, ""},  // its head is not whole yet
           {"\x30\x81\x80\x80\x10\0\1t\0"s, "a packet of 33554433 bytes"},
           {"\x20\x80\x80\1"s, ""},  // 16 KiB
           {"\x20\x81\x80\1"s, "a packet of 16385 bytes"},
           {"\x30\x80\x80\x80\1\0\1t\x80\x80\x40"s, ""},  // 1 MiB of properties
           {"\x30\x80\x80\x80\1\0\1t\x81\x80\x40"s, "1048577 bytes of properties"},
           {"\x30\xff\xff\xff\xff"s, "more than four bytes"},
           {"\x40\1\0"s, "too short"},
           {"\x50\0"s, "too short"},
           {"\x30\1\0"s, "too short"},
           {"\x32\4\0\1t\0"s, "too short"},
           {"\x30\4\0\4ab"s, "too short"},
       }) {
    const std::string word = word_on("", row.bytes);
    if (row.word.empty()) {
      EXPECT_EQ(word, "");
    } else {
      EXPECT_THAT(word, HasSubstr(row.word));
    }
  }
}

TEST(PahoGuard, CountsThePacketsOfAllThatAreUnderWay) {
  const std::string large = "\x30\x80\x80\x80\x08\0\1t\0"s;  // 16 MiB
  std::vector<PahoGuard> guards(3);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(guards[i].on_read(large), "");
  EXPECT_THAT(guards[2].on_read(large), HasSubstr("hold 96 MiB at most"));
  const std::string rest((std::size_t{16} << 20U) - 4, 'x');
  EXPECT_EQ(guards[0].on_read(rest), "");
  PahoGuard another;
  EXPECT_EQ(another.on_read(large), "");
}

TEST(PacketHeads, FindsEachPacketWhateverThePieces) {
  const std::string bytes = publish(1, 3, std::string(300, 't')) + ack(wire::AckKind::kPuback, 5) +
                            "\xd0\0"s + publish(2, 6);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    PacketHeads heads;
    std::vector<unsigned> kinds;
    std::vector<unsigned> ids;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      std::string_view part = std::string_view(bytes).substr(at, piece);
      while (heads.next(part)) {
        kinds.push_back(heads.head().kind());
        ids.push_back(heads.head().id);
      }
    }
    EXPECT_THAT(kinds, ::testing::ElementsAre(3, 4, 13, 3)) << piece;
    EXPECT_THAT(ids, ::testing::ElementsAre(3, 5, 0, 6)) << piece;
  }
}

}  // namespace
}  // namespace fencepost::endpoint
