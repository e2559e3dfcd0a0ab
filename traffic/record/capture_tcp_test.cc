#include "traffic/record/capture_tcp.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::record {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

// What was reported, in a word each: `open`, `>bytes` to the broker, `<bytes` to the client, ...;
// of the second connection with its number.
class Captured {
 public:
  Captured& add(const Packet& packet) {
    ++number_;
    const std::uint32_t first = packet.up ? 5000 : 1000;
    const std::uint32_t had = packet.had.value_or(added_.at(packet.up ? 0 : 1));
    added_.at(packet.up ? 1 : 0) += static_cast<std::uint32_t>(packet.bytes.size());
    reader_.add({.connection = "c",
                 .to_broker = packet.up,
                 .sequence = packet.sequence,
                 .acknowledged = first + had,
                 .flags = packet.flags,
                 .length = packet.bytes.size(),
                 .bytes = packet.bytes.substr(0, packet.bytes.size() - packet.cut),
                 .time = std::chrono::microseconds{number_}});
    return *this;
  }
  // The client's first byte has the number 1000, the broker's 5000.
  Captured& begin() {
    add({.sequence = 999, .flags = kSyn});
    return add({.up = false, .sequence = 4999, .flags = kSynAnswer});
  }
  [[nodiscard]] std::vector<std::string> events(bool to_the_end = false) {
    if (to_the_end) reader_.finish();
    for (TcpEvent& event : reader_.take()) {
      using enum TcpEvent::Kind;
      const std::string to = event.to_broker ? ">" : "<";
      const std::string number = event.connection == 1 ? "" : std::to_string(event.connection);
      words_.push_back(number + (event.kind == kOpened   ? "open"
                                 : event.kind == kBytes  ? to + event.bytes
                                 : event.kind == kLost   ? "lost" + to
                                 : event.kind == kEnding ? "end" + to
                                                         : "closed" + to));
    }
    return words_;
  }
  [[nodiscard]] std::vector<std::int64_t> times() {
    std::vector<std::int64_t> out;
    reader_.finish();
    for (const TcpEvent& event : reader_.take()) out.push_back(event.time.count());
    return out;
  }

 private:
  TcpReader reader_{};
  int number_ = 0;
  std::array<std::uint32_t, 2> added_{};  // bytes of the broker, of the client
  std::vector<std::string> words_{};
};

TEST(TcpReader, TellsBothDirectionsInTheirOrder) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10one"});
  all.add({.up = false, .sequence = 5000, .bytes = "two"});
  all.add({.sequence = 1004, .bytes = "three", .flags = kFin});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10one", "<two", ">three", "end>"));
  all.add({.up = false, .sequence = 5003, .flags = kFin});
  EXPECT_THAT(all.events(),
              ElementsAre("open", ">\x10one", "<two", ">three", "end>", "end<", "closed<"));
}

TEST(TcpReader, LeavesOutWhatWasSentAgain) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10one"});
  all.add({.sequence = 1000, .bytes = "\x10one"}).add({.sequence = 1002, .bytes = "netwo"});
  all.add({.sequence = 1006, .bytes = "o"});  // a probe
  EXPECT_THAT(all.events(true), ElementsAre("open", ">\x10one", ">two"));
}

TEST(TcpReader, PutsPacketsInTheirOrderAndLetsTheOtherDirectionWait) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  all.add({.sequence = 1003, .bytes = "c"}).add({.sequence = 1002, .bytes = "b"});
  all.add({.up = false, .sequence = 5000, .bytes = "reply"});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10"));
  all.add({.sequence = 1001, .bytes = "a", .had = 0});
  EXPECT_THAT(all.events(true), ElementsAre("open", ">\x10", ">a", ">b", ">c", "<reply"));
}

TEST(TcpReader, SaysWhatItHasLostAndGoesOn) {
  Captured reply_never_came;
  reply_never_came.begin().add({.sequence = 1000, .bytes = "\x10"});
  reply_never_came.add({.sequence = 1001, .bytes = "and thanks", .had = 5});
  EXPECT_THAT(reply_never_came.events(true), ElementsAre("open", ">\x10", "lost<", ">and thanks"));

  Captured never_came;
  never_came.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1009, .bytes = "x"});
  never_came.add({.up = false, .sequence = 5000, .bytes = "reply", .had = 10});
  EXPECT_THAT(never_came.events(true), ElementsAre("open", ">\x10", "lost>", ">x", "<reply"));

  Captured both;  // what the client has had by then does not come behind it
  both.begin().add({.sequence = 1000, .bytes = "\x10"});
  both.add({.sequence = 1009, .bytes = "x", .had = 9});
  both.add({.up = false, .sequence = 5005, .bytes = "last", .had = 5});
  EXPECT_THAT(both.events(true), ElementsAre("open", ">\x10", "lost>", "lost<", ">x"));

  Captured cut;
  cut.begin().add({.sequence = 1000, .bytes = "\x10 and more", .cut = 3});
  cut.add({.sequence = 1010, .bytes = "x"});
  EXPECT_THAT(cut.events(true), ElementsAre("open", "lost>", ">x"));
}

TEST(TcpReader, ReadsAConnectionFromItsMiddle) {
  Captured late;
  late.add({.up = false, .sequence = 5000});  // has no bytes, but says how far the client is
  late.add({.sequence = 1000, .bytes = "a"}).add({.sequence = 1001, .bytes = "b"});
  late.add({.up = false, .sequence = 5000, .bytes = "c"});
  EXPECT_THAT(late.events(true), ElementsAre("open", "lost>", "lost<", ">a", ">b", "<c"));

  Captured end;
  end.add({.sequence = 1000, .flags = kReset | 0x10});
  EXPECT_THAT(end.events(true), ElementsAre("open", "lost>", "lost<", "closed>"));

  Captured answer_only;
  answer_only.add({.up = false, .sequence = 4999, .flags = kSynAnswer});
  EXPECT_THAT(answer_only.events(true), ElementsAre("open", "lost>"));
}

TEST(TcpReader, KnowsWhatIsNoMqtt) {
  for (const auto& [bytes, note] :
       {std::pair("\x16\x03\x01", "1 connection encrypted with TLS"),
        std::pair("GET /mqtt", "1 connection without MQTT at the start")}) {
    TcpReader reader;
    reader.add({.connection = "c", .to_broker = true, .sequence = 9, .flags = kSyn});
    reader.add({.connection = "c", .to_broker = true, .sequence = 10, .length = 3, .bytes = bytes});
    ASSERT_EQ(reader.take().size(), 3U);  // opened, lost in both directions
    EXPECT_THAT(reader.notes(), ElementsAre(HasSubstr(note)));
    EXPECT_THAT(reader.notes(), ElementsAre(HasSubstr("serve --record")));
  }
}

TEST(TcpReader, TellsConnectionsOfTheSamePortsApart) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1005, .bytes = "x"});
  all.add({.sequence = 7999, .flags = kSyn});
  all.add({.up = false, .sequence = 8999, .flags = kSynAnswer, .had = 7000});
  all.add({.sequence = 8000, .bytes = "\x10two", .had = 4000});
  EXPECT_THAT(all.events(true), ElementsAre("open", ">\x10", "lost>", ">x", "2open", "2>\x10two"));
}

TEST(TcpReader, CountsBeyondTheLargestNumber) {
  Captured all;
  all.add({.sequence = 0xFFFF'FFFC, .flags = kSyn});
  all.add({.up = false, .sequence = 4999, .flags = kSynAnswer});
  all.add({.sequence = 0xFFFF'FFFD, .bytes = "\x10one"}).add({.sequence = 1, .bytes = "two"});
  EXPECT_THAT(all.events(true), ElementsAre("open", ">\x10one", ">two"));
}

TEST(TcpReader, AResetEndsAConnection) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1001, .flags = kReset});
  all.add({.up = false, .sequence = 5000, .bytes = "late"});
  EXPECT_THAT(all.events(true), ElementsAre("open", ">\x10", "closed>"));
}

TEST(TcpReader, HoldsNoMoreThanItsLimit) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  for (std::uint32_t i = 0; i <= TcpReader::kMaxHeldPackets; ++i) {
    all.add({.sequence = 1002 + i, .bytes = "x"});
    if (i + 1 == TcpReader::kMaxHeldPackets) {
      EXPECT_THAT(all.events(), ElementsAre("open", ">\x10"));
    }
  }
  const std::vector<std::string> events = all.events();
  ASSERT_THAT(events, SizeIs(3 + TcpReader::kMaxHeldPackets + 1));
  EXPECT_EQ(events[2], "lost>");
}

TEST(TcpReader, HoldsNoMoreBytesThanItsLimit) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  const std::string large(TcpReader::kMaxHeldBytes / 16, 'x');
  std::uint32_t next = 1002;  // one byte is missing
  for (int i = 0; i < 16; ++i, next += static_cast<std::uint32_t>(large.size())) {
    all.add({.sequence = next, .bytes = large});
  }
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10"));
  all.add({.sequence = next, .bytes = "x"});
  const std::vector<std::string> events = all.events();
  ASSERT_THAT(events, SizeIs(3 + 17));
  EXPECT_EQ(events[2], "lost>");
}

TEST(TcpReader, TakesTheSameEndOnce) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10", .flags = kFin});
  all.add({.sequence = 1000, .bytes = "\x10", .flags = kFin});  // sent again
  all.add({.sequence = 1001, .flags = kFin});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10", "end>"));
  // The end of the client had a number of its own, which the broker has had.
  all.add({.up = false, .sequence = 5000, .flags = kFin, .had = 2});
  all.add({.up = false, .sequence = 5001, .bytes = "late"});
  EXPECT_THAT(all.events(true), ElementsAre("open", ">\x10", "end>", "end<", "closed<"));
}

TEST(TcpReader, WaitsForWhatIsMissingBeforeAnEnd) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"});
  all.add({.up = false, .sequence = 5000, .flags = kFin});
  all.add({.sequence = 1002, .flags = kFin, .had = 1});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10", "end<"));
  all.add({.sequence = 1001, .bytes = "a", .had = 1});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10", "end<", ">a", "end>", "closed>"));
}

TEST(TcpReader, AResetWhileSomethingIsMissingLosesIt) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1002, .bytes = "b"});
  all.add({.sequence = 1003, .flags = kReset});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10", "lost>", ">b", "closed>"));
}

TEST(TcpReader, TakesASynThatWasSentAgain) {
  Captured all;
  all.begin().begin().add({.sequence = 1000, .bytes = "\x10"});
  EXPECT_THAT(all.events(), ElementsAre("open", ">\x10"));
}

TEST(TcpReader, KeepsConnectionsApartAndTimeGoing) {
  using std::chrono::seconds;
  TcpReader reader;
  const auto add = [&](const char* connection, bool up, unsigned flags, std::string bytes,
                       int time) {
    reader.add({.connection = connection,
                .to_broker = up,
                .sequence = bytes.empty() ? 99U : 100U,
                .acknowledged = 100,
                .flags = flags,
                .length = bytes.size(),
                .bytes = bytes,
                .time = seconds{time}});
  };
  add("one", true, kSyn, "", 5);
  add("two", true, kSyn, "", 4);
  add("two", false, kSynAnswer, "", 6);
  add("two", true, kData, "\x10\xff", 7);
  const std::vector<TcpEvent> events = reader.take();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].connection, 1U);
  EXPECT_EQ(events[1].connection, 2U);
  EXPECT_EQ(events[1].time, seconds{5});
  EXPECT_EQ(events[2].connection, 2U);
  EXPECT_EQ(events[2].bytes, "\x10\xff");
  EXPECT_EQ(events[2].time, seconds{7});
  EXPECT_THAT(reader.take(), IsEmpty());
}

// Else it would seem that a client has sent its request later than it did.
TEST(TcpReader, WhatWaitedInVainHasItsOwnTime) {
  Captured all;
  all.begin().add({.sequence = 1000, .bytes = "\x10"}).add({.sequence = 1005, .bytes = "x"});
  for (std::uint32_t i = 0; i < 3; ++i) all.add({.sequence = 1006 + i, .bytes = "y"});
  EXPECT_THAT(all.times(), ElementsAre(1, 3, 3, 4, 5, 6, 7));
}

}  // namespace
}  // namespace fencepost::record
