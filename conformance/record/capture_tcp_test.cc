#include "conformance/record/capture_tcp.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::record {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr unsigned kFin = 0x11;
constexpr unsigned kSyn = 0x02;
constexpr unsigned kSynAnswer = 0x12;
constexpr unsigned kReset = 0x04;
constexpr unsigned kData = 0x18;

struct Packet {
  bool up = true;
  std::uint32_t sequence = 0;
  std::string bytes{};
  unsigned flags = kData;
  std::size_t cut = 0;                 // of its bytes, that the capture does not have
  std::optional<std::uint32_t> had{};  // bytes of the other direction; nothing: all that were added
};

// What was told, in a word each: `open`, `>bytes` to the broker, `<bytes` to the client, ...
class Captured {
 public:
  Captured& add(const Packet& packet) {
    std::string hex;
    const std::string kept = packet.bytes.substr(0, packet.bytes.size() - packet.cut);
    for (const char c : kept) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    ++number_;
    const std::uint32_t first = packet.up ? 5000 : 1000;
    const std::uint32_t had = packet.had.value_or(added_.at(packet.up ? 0 : 1));
    added_.at(packet.up ? 1 : 0) += static_cast<std::uint32_t>(packet.bytes.size());
    const auto added = reader_.add(fmt::format(
        "1795435200.{:06}789\t0\t{}\t{}\t{}\t0x{:04x}\t{}\t{}\n", number_, packet.up ? 1883 : 20001,
        packet.sequence, first + had, packet.flags, packet.bytes.size(), hex));
    EXPECT_TRUE(added.has_value());
    return *this;
  }
  // The client's first byte has the number 1000, the broker's 5000.
  Captured& begin() {
    add({.sequence = 999, .flags = kSyn});
    return add({.up = false, .sequence = 4999, .flags = kSynAnswer});
  }
  [[nodiscard]] std::vector<std::string> told(bool to_the_end = false) {
    if (to_the_end) reader_.finish();
    for (TcpEvent& event : reader_.take()) {
      using enum TcpEvent::Kind;
      EXPECT_EQ(event.connection, 1U);
      words_.push_back(event.kind == kOpened     ? "open"
                       : event.kind == kToBroker ? ">" + event.bytes
                       : event.kind == kToClient ? "<" + event.bytes
                       : event.kind == kLost     ? "lost"
                                                 : "closed");
    }
    return words_;
  }

 private:
  TcpReader reader_{1883};
  int number_ = 0;
  std::array<std::uint32_t, 2> added_{};  // bytes of the broker, of the client
  std::vector<std::string> words_{};
};

TEST(TcpReader, TellsBothDirectionsInTheirOrder) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10one"});
  all.add({.up = false, .sequence = 5000, .bytes = "two"});
  all.add({.sequence = 1004, .bytes = "three", .flags = kFin});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10one", "<two", ">three"));
  all.add({.up = false, .sequence = 5003, .flags = kFin});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10one", "<two", ">three", "closed"));
}

TEST(TcpReader, LeavesOutWhatWasSentAgain) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10one"});
  all.add({.sequence = 1000, .bytes = "\x10one"}).add({.sequence = 1002, .bytes = "netwo"});
  all.add({.sequence = 1006, .bytes = "o"});  // a probe
  EXPECT_THAT(all.told(true), ElementsAre("open", ">\x10one", ">two"));
}

TEST(TcpReader, PutsPacketsInTheirOrderAndLetsTheOtherDirectionWait) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  all.add({.sequence = 1003, .bytes = "c"}).add({.sequence = 1002, .bytes = "b"});
  all.add({.up = false, .sequence = 5000, .bytes = "reply"});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10"));
  all.add({.sequence = 1001, .bytes = "a", .had = 0});
  EXPECT_THAT(all.told(true), ElementsAre("open", ">\x10", ">a", ">b", ">c", "<reply"));
}

TEST(TcpReader, SaysWhatItHasLost) {
  Captured reply_never_came;
  reply_never_came.begin().add({.sequence = 1000, .bytes = "\x10"});
  reply_never_came.add({.sequence = 1001, .bytes = "and thanks", .had = 5});
  EXPECT_THAT(reply_never_came.told(true), ElementsAre("open", ">\x10", "lost"));

  Captured never_came;
  never_came.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1009, .bytes = "x"});
  never_came.add({.up = false, .sequence = 5000, .bytes = "reply", .had = 10});
  EXPECT_THAT(never_came.told(true), ElementsAre("open", ">\x10", "lost"));

  Captured late;
  late.add({.sequence = 7, .bytes = "\x10"}).add({.sequence = 8, .bytes = "x"});
  EXPECT_THAT(late.told(true), ElementsAre("open", "lost"));

  Captured answer_only;
  answer_only.add({.up = false, .sequence = 4999, .flags = kSynAnswer});
  EXPECT_THAT(answer_only.told(true), ElementsAre("open", "lost"));

  Captured cut;
  cut.begin().add({.sequence = 1000, .bytes = "\x10 and more", .cut = 3});
  EXPECT_THAT(cut.told(true), ElementsAre("open", "lost"));
}

TEST(TcpReader, KnowsWhatIsNoMqtt) {
  Captured tls;
  tls.begin().add({.sequence = 1000, .bytes = "\x16\x03\x01"});
  EXPECT_THAT(tls.told(true), ElementsAre("open", "lost"));
}

TEST(TcpReader, CountsBeyondTheLargestNumber) {
  Captured all;
  all.add({.sequence = 0xFFFF'FFFC, .flags = kSyn});
  all.add({.up = false, .sequence = 4999, .flags = kSynAnswer});
  all.add({.sequence = 0xFFFF'FFFD, .bytes = "\x10one"}).add({.sequence = 1, .bytes = "two"});
  EXPECT_THAT(all.told(true), ElementsAre("open", ">\x10one", ">two"));
}

TEST(TcpReader, AResetEndsAConnection) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1001, .flags = kReset});
  all.add({.up = false, .sequence = 5000, .bytes = "late"});
  EXPECT_THAT(all.told(true), ElementsAre("open", ">\x10", "closed"));
}

TEST(TcpReader, HoldsNoMoreThanItsLimit) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  for (std::uint32_t i = 0; i <= TcpReader::kMostHeldPackets; ++i) {
    all.add({.sequence = 1002 + i, .bytes = "x"});
    if (i + 1 == TcpReader::kMostHeldPackets) EXPECT_THAT(all.told(), ElementsAre("open", ">\x10"));
  }
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10", "lost"));
}

TEST(TcpReader, HoldsNoMoreBytesThanItsLimit) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  const std::string large(TcpReader::kMostHeldBytes / 16, 'x');
  std::uint32_t next = 1002;  // one byte is missing
  for (int i = 0; i < 16; ++i, next += static_cast<std::uint32_t>(large.size())) {
    all.add({.sequence = next, .bytes = large});
  }
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10"));
  all.add({.sequence = next, .bytes = "x"});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10", "lost"));
}

TEST(TcpReader, TakesTheSameEndOnce) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10", .flags = kFin});
  all.add({.sequence = 1000, .bytes = "\x10", .flags = kFin});  // sent again
  all.add({.sequence = 1001, .flags = kFin});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10"));
  // The end of the client had a number of its own, which the broker has had.
  all.add({.up = false, .sequence = 5000, .flags = kFin, .had = 2});
  all.add({.up = false, .sequence = 5001, .bytes = "late"});
  EXPECT_THAT(all.told(true), ElementsAre("open", ">\x10", "closed"));
}

TEST(TcpReader, WaitsForWhatIsMissingBeforeAnEnd) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  all.add({.up = false, .sequence = 5000, .flags = kFin});
  all.add({.sequence = 1002, .flags = kFin, .had = 1});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10"));
  all.add({.sequence = 1001, .bytes = "a", .had = 1});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10", ">a", "closed"));
}

TEST(TcpReader, AResetWhileSomethingIsMissingLosesIt) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1002, .bytes = "b"});
  all.add({.sequence = 1003, .flags = kReset});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10", "lost"));
}

TEST(TcpReader, TakesASynThatWasSentAgain) {
  Captured all;
  all.begin().begin().add({.sequence = 1000, .bytes = "\x10"});
  EXPECT_THAT(all.told(), ElementsAre("open", ">\x10"));
}

std::string line(std::string_view time, int stream, std::string_view bytes_and_more) {
  return fmt::format("{}\t{}\t1883\t{}\n", time, stream, bytes_and_more);
}

TEST(TcpReader, KeepsConnectionsApartAndTimeGoing) {
  TcpReader reader(1883);
  ASSERT_TRUE(reader.add(line("5.0", 0, "999\t0\t0x0002\t0\t")));
  ASSERT_TRUE(reader.add(line("4.0", 3, "99\t0\t0x0002\t0\t")));
  ASSERT_TRUE(reader.add("6.5\t3\t20001\t49\t100\t0x0012\t0\t\n"));
  ASSERT_TRUE(reader.add(line("7.0", 3, "100\t50\t0x0018\t2\t10:ff")));  // of some versions
  const std::vector<TcpEvent> events = reader.take();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].connection, 1U);
  EXPECT_EQ(events[1].connection, 4U);
  EXPECT_EQ(events[1].time, std::chrono::seconds{5});
  EXPECT_EQ(events[2].connection, 4U);
  EXPECT_EQ(events[2].bytes, "\x10\xff");
  EXPECT_EQ(events[2].time, std::chrono::seconds{7});
  EXPECT_THAT(reader.take(), IsEmpty());
}

TEST(TcpReader, ReadsPiecesOfAnySize) {
  const std::string all = line("5.0", 0, "999\t0\t0x0002\t0\t") +
                          "5.1\t0\t20001\t49\t1000\t0x0012\t0\t\n" +
                          line("5.2", 0, "1000\t50\t0x0018\t2\t1001") + "no line yet";
  for (std::size_t size = 1; size <= all.size(); ++size) {
    TcpReader reader(1883);
    for (std::size_t at = 0; at < all.size(); at += size) {
      ASSERT_TRUE(reader.add(std::string_view(all).substr(at, size)));
    }
    const std::vector<TcpEvent> events = reader.take();
    ASSERT_EQ(events.size(), 2U) << size;
    ASSERT_EQ(events[1].bytes, "\x10\x01");
  }
}

TEST(TcpReader, RefusesALineWithoutAnEnd) {
  TcpReader reader(1883);
  EXPECT_TRUE(reader.add(std::string(TcpReader::kLongestLine, 'x')));
  EXPECT_EQ(reader.add("x").error(), "a packet is larger than this program takes");
}

TEST(TcpReader, RefusesWhatIsNoPacket) {
  for (const char* line : {"", "1795435200.0\t0", "x\t0\t1883\t1\t1\t0x18\t0\t",
                           "1.0\t0\t1883\t1\t1\t0x18\t1\t0", "1.0\t0\t1883\t1\t1\t0x18\t1\tzz"}) {
    TcpReader reader(1883);
    const auto added = reader.add(line + std::string("\n"));
    ASSERT_FALSE(added.has_value()) << line;
    EXPECT_THAT(added.error(), HasSubstr("no packet"));
    EXPECT_THAT(reader.take(), IsEmpty());
  }
}

}  // namespace
}  // namespace fencepost::record
