#include "conformance/record/tshark.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "conformance/record/capture_pcap.h"
#include "conformance/record/capture_tcp.h"
#include "conformance/testing/temporary_folder.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Tshark, NumbersAreNothingButNumbers) {
  EXPECT_EQ(number_in<std::uint32_t>("4294967295"), 4'294'967'295U);
  EXPECT_EQ(number_in<unsigned>("1f", 16), 31U);
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "4294967296", "0x1"}) {
    EXPECT_FALSE(number_in<std::uint32_t>(text)) << text;
  }
}

TEST(Tshark, TimesAreSecondsWithAFraction) {
  const std::vector<std::pair<std::string, std::int64_t>> rows = {
      {"0", 0},
      {"7", 7'000'000},
      {"7.", 7'000'000},
      {"7.5", 7'500'000},
      {"1795435200.000001999", 1'795'435'200'000'001},
      {"1000000000000", 1'000'000'000'000'000'000}};
  for (const auto& [text, time] : rows) EXPECT_EQ(time_in(text), microseconds{time}) << text;
  for (const char* text : {"", ".5", "-1", "-0.5", "1.-5", "1.5x", "x", "1.5.5", "1000000000001",
                           "9223372036854775807", "18446744073709551616"}) {
    EXPECT_FALSE(time_in(text)) << text;
  }
}

// Which takes a minute to say so of a large file.
TEST(Tshark, IsNotAskedForWhatIsNoCapture) {
  const test::TemporaryFolder folder;
  const auto error_of = [](const std::string& path) {
    const auto ended = run_tshark(path, {}, [](std::string_view) { FAIL(); });
    return ended ? "" : ended.error();
  };
  const std::string text = folder.write("text", "no capture");
  EXPECT_EQ(error_of(text), "cannot read " + text + ": it is neither a pcap nor a pcapng file");
  EXPECT_EQ(error_of(folder.path()), "cannot read " + folder.path().string() + ": it is a folder");
  EXPECT_EQ(error_of("/dev/null"), "cannot read /dev/null: it is no file");
  EXPECT_THAT(error_of(folder.path() / "none"), HasSubstr("No such file"));
}

// --- a capture file

std::string big(std::uint32_t number, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((number >> (8 * i)) & 0xffU);
  return out;
}

std::string little(std::uint32_t number) {
  const std::string out = big(number, 4);
  return {out.rbegin(), out.rend()};
}

struct Frame {
  bool up = true;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;
  std::uint32_t flags = 0x18;
  std::string bytes{};
};

// Ethernet, IEEE 802.1Q, IPv6, TCP.
std::string ethernet(const Frame& frame) {
  const std::string tcp = big(frame.up ? 20'000 : 1883, 2) + big(frame.up ? 1883 : 20'000, 2) +
                          big(frame.sequence, 4) + big(frame.acknowledged, 4) + "\x50" +
                          big(frame.flags, 1) + big(65'535, 2) + big(0, 4) + frame.bytes;
  const std::string address = std::string(15, '\0') + "\x01";
  return std::string(12, '\0') + big(0x8100, 2) + big(42, 2) + big(0x86dd, 2) +
         big(0x6000'0000, 4) + big(static_cast<std::uint32_t>(tcp.size()), 2) + "\x06\x40" +
         address + address + tcp;
}

std::string pcap(const std::vector<Frame>& frames) {
  std::string out = little(0xa1b2'c3d4) + std::string("\x02\0\x04\0", 4) + std::string(8, '\0') +
                    little(262'144) + little(1);
  std::uint32_t number = 0;
  for (const Frame& each : frames) {
    const std::string bytes = ethernet(each);
    const auto size = static_cast<std::uint32_t>(bytes.size());
    out += little(1'767'225'600 + ++number) + little(0) + little(size) + little(size) + bytes;
  }
  return out;
}

std::string text(std::string_view words) {
  return big(static_cast<std::uint32_t>(words.size()), 2) + std::string(words);
}

// A CONNECT as "me", its CONNACK, and a GET, with VLAN tags over IPv6; out of order, sent again.
std::string session() {
  const std::string connect = text("MQTT") + "\x05\x02" + std::string(3, '\0') + text("me");
  const std::string publish =
      text(codec::kRequestTopic) + std::string(1, '\0') + "*2\r\n$3\r\nGET\r\n";
  const std::string first = "\x10" + big(static_cast<std::uint32_t>(connect.size()), 1) + connect;
  const std::string connack("\x20\x03\0\0\0", 5);
  const std::string request = "\x30" + big(static_cast<std::uint32_t>(publish.size()), 1) + publish;
  const auto behind_first = 1000 + static_cast<std::uint32_t>(first.size());
  return pcap({{.sequence = 999, .flags = 0x02},
               {.up = false, .sequence = 4999, .acknowledged = 1000, .flags = 0x12},
               {.sequence = 1000, .acknowledged = 5000, .bytes = first.substr(0, 4)},
               {.sequence = 1004, .acknowledged = 5000, .bytes = first.substr(4)},
               {.sequence = 1004, .acknowledged = 5000, .bytes = first.substr(4)},
               {.sequence = behind_first, .acknowledged = 5005, .bytes = request},
               {.up = false, .sequence = 5000, .acknowledged = behind_first, .bytes = connack}});
}

bool has_tshark(const Result<void, std::string>& read) {
  return read || read.error().find("is not installed") == std::string::npos;
}

TEST(Tshark, ReadsConnectionsThatAreTaggedOverIpv6) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("packets.pcap", session());
  std::string up;
  std::string down;
  const auto read = read_tcp({.file = file}, [&](const TcpEvent& event) {
    EXPECT_NE(event.kind, TcpEvent::Kind::kLost);
    if (event.kind == TcpEvent::Kind::kToBroker) up += event.bytes;
    if (event.kind == TcpEvent::Kind::kToClient) down += event.bytes;
  });
  if (!has_tshark(read)) GTEST_SKIP() << read.error();
  ASSERT_TRUE(read) << read.error();
  EXPECT_THAT(up, testing::StartsWith("\x10"));
  EXPECT_THAT(up, HasSubstr("GET"));
  EXPECT_THAT(down, SizeIs(5));

  const auto capture = read_pcap({.file = file});
  ASSERT_TRUE(capture) << capture.error();
  ASSERT_THAT(capture->events, SizeIs(1));
  const auto& request = std::get<CapturedMessage>(capture->events[0]);
  EXPECT_EQ(request.client_id, "me");
  EXPECT_EQ(request.message.payload, "*2\r\n$3\r\nGET\r\n");
}

TEST(Tshark, SaysWhatItHasComplainedAbout) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("cut.pcap", session().substr(0, 20));
  const auto read = read_tcp({.file = file}, [](const TcpEvent&) {});
  if (!has_tshark(read)) GTEST_SKIP() << read.error();
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error(), testing::StartsWith("tshark: "));
}

}  // namespace
}  // namespace fencepost::record
