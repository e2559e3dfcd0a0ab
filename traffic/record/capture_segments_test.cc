#include "traffic/record/capture_segments.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "endpoint/wire/packet.h"
#include "suite/testing/temporary_folder.h"
#include "traffic/record/capture_pcap.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string big(std::uint64_t number, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((number >> (8 * i)) & 0xffU);
  return out;
}

std::string little(std::uint64_t number, int bytes) {
  const std::string out = big(number, bytes);
  return {out.rbegin(), out.rend()};
}

std::string zeros(std::size_t count) { return std::string(count, '\0'); }

// From port 20000 to 1883; a client's PSH and ACK.
std::string tcp(const std::string& bytes, int source = 20'000, int target = 1883) {
  return big(static_cast<std::uint64_t>(source), 2) + big(static_cast<std::uint64_t>(target), 2) +
         big(7, 4) + big(9, 4) + "\x60\x18" + zeros(6) + "\1\1\1\1" + bytes;
}

std::string ipv4(const std::string& content, std::uint64_t fragment = 0, bool has_length = true) {
  return "\x46" + zeros(1) + big(has_length ? 24 + content.size() : 0, 2) + zeros(2) +
         big(fragment, 2) + "\x40\x06" + zeros(2) + "\x0a\1\1\1\x0a\2\2\2" + "\1\1\1\1" + content;
}

std::string ipv6(const std::string& content, int protocol = 6) {
  return "\x60" + zeros(3) + big(content.size(), 2) + big(static_cast<std::uint64_t>(protocol), 1) +
         "\x40" + std::string(16, 'a') + std::string(16, 'b') + content;
}

std::string ethernet(const std::string& packet, const std::string& type = "\x08" + zeros(1)) {
  return zeros(12) + type + packet;
}

using Number = std::string (*)(std::uint64_t, int);

std::string pcap_header(std::uint64_t link, Number number, std::uint64_t magic) {
  return number(magic, 4) + number(2, 2) + number(4, 2) + zeros(8) + number(262'144, 4) +
         number(link, 4);
}

std::string pcap(std::uint64_t link, const std::vector<std::string>& frames, Number number = little,
                 std::uint64_t magic = 0xa1b2'c3d4, std::size_t cut = 0) {
  std::string out = pcap_header(link, number, magic);
  for (const std::string& each : frames) {
    out += number(1'767'225'600, 4) + number(1'999, 4) + number(each.size() - cut, 4) +
           number(each.size(), 4) + each.substr(0, each.size() - cut);
  }
  return out;
}

std::string block(std::uint64_t type, std::string body, Number number) {
  body.resize((body.size() + 3) / 4 * 4);
  const std::string size = number(body.size() + 12, 4);
  return number(type, 4) + size + body + size;
}

std::string section(Number number) {
  return block(0x0a0d'0d0a,
               number(0x1a2b'3c4d, 4) + number(1, 2) + zeros(2) + std::string(8, '\xff'), number);
}

// An interface of Ethernet; of the resolution, when there is one.
std::string interface(Number number, int resolution = -1, std::uint64_t most_bytes = 0) {
  std::string body = number(1, 2) + zeros(2) + number(most_bytes, 4) + number(2, 2) + number(3, 2) +
                     "eth" + zeros(1);
  if (resolution >= 0) {
    body += number(9, 2) + number(1, 2) + big(static_cast<std::uint64_t>(resolution), 1) + zeros(3);
  }
  return block(1, body + zeros(4), number);
}

std::string enhanced(std::uint64_t time, const std::string& frame, Number number,
                     std::uint64_t index = 0) {
  return block(6,
               number(index, 4) + number(time >> 32U, 4) + number(time & 0xffff'ffffU, 4) +
                   number(frame.size(), 4) + number(frame.size(), 4) + frame,
               number);
}

std::string simple(const std::string& frame, Number number) {
  return block(3, number(frame.size(), 4) + frame, number);
}

struct All {
  std::vector<Segment> segments{};
  std::vector<std::string> notes{};
  std::string error{};
};

All read(const std::string& file, std::size_t piece = 65'536) {
  All out;
  SegmentReader reader(1883);
  for (std::size_t at = 0; at < file.size(); at += piece) {
    if (!reader.add(std::string_view(file).substr(at, piece))) break;
    while (auto segment = reader.next()) out.segments.push_back(std::move(*segment));
  }
  auto notes = reader.finish();
  if (notes) {
    out.notes = std::move(*notes);
  } else {
    out.error = notes.error();
  }
  return out;
}

std::vector<std::string> bytes_of(const All& all) {
  std::vector<std::string> out;
  for (const Segment& each : all.segments) out.push_back(each.bytes);
  return out;
}

TEST(SegmentReader, ReadsWhatTcpSaysOfBothDirections) {
  // Behind the packet, Ethernet fills up; a card that computes checksums leaves them out.
  const All all =
      read(pcap(1, {ethernet(ipv4(tcp("up"))) + zeros(6), ethernet(ipv4(tcp("down", 1883, 20'000))),
                    ethernet(ipv4(tcp("other", 20'000, 80)))}));
  ASSERT_THAT(bytes_of(all), ElementsAre("up", "down"));
  const Segment& up = all.segments[0];
  EXPECT_TRUE(up.to_broker);
  EXPECT_EQ(up.sequence, 7U);
  EXPECT_EQ(up.acknowledged, 9U);
  EXPECT_EQ(up.flags, 0x18U);
  EXPECT_EQ(up.length, 2U);
  EXPECT_EQ(up.connection, "\x0a\1\1\1\x0a\2\2\2\x4e\x20");
  EXPECT_EQ(up.time, microseconds{1'767'225'600'001'999});
  EXPECT_FALSE(all.segments[1].to_broker);
  EXPECT_EQ(all.segments[1].connection, "\x0a\2\2\2\x0a\1\1\1\x4e\x20");
  EXPECT_THAT(all.notes, IsEmpty());
}

TEST(SegmentReader, ReadsBothByteOrdersAndResolutionsOfPcap) {
  for (const Number order : {Number{little}, Number{big}}) {
    const auto time = [&](std::uint64_t magic) {
      return read(pcap(101, {ipv4(tcp("x"))}, order, magic)).segments.at(0).time;
    };
    EXPECT_EQ(time(0xa1b2'c3d4), microseconds{1'767'225'600'001'999});
    EXPECT_EQ(time(0xa1b2'3c4d), microseconds{1'767'225'600'000'001});
  }
}

TEST(SegmentReader, ReadsAllLinkTypes) {
  const std::string v4 = ipv4(tcp("x"));
  const std::string v6 = ipv6(tcp("x"));
  const std::string type4 = "\x08" + zeros(1);
  const std::string type6 = "\x86\xdd";
  const std::string tag = "\x81" + zeros(3);
  const std::vector<std::pair<int, std::string>> rows = {
      {1, ethernet(v4)},
      {1, ethernet(v6, type6)},
      {1, ethernet(v4, tag + type4)},
      {1, ethernet(v6, "\x88\xa8" + zeros(2) + tag + type6)},
      {113, zeros(14) + type4 + v4},
      {113, zeros(14) + tag + type6 + v6},
      {276, type6 + zeros(18) + v6},
      {0, "\x1e" + zeros(3) + v6},
      {108, zeros(3) + "\x02" + v4},
      {12, v4},
      {14, v6},
      {101, v6},
      {228, v4},
      {229, v6}};
  for (const auto& [link, frame] : rows) {
    EXPECT_THAT(bytes_of(read(pcap(static_cast<std::uint64_t>(link), {frame}))), ElementsAre("x"))
        << link;
  }
  const All other = read(pcap(105, {v4, v4}));
  EXPECT_THAT(other.segments, IsEmpty());
  EXPECT_THAT(other.notes, ElementsAre("2 packets of the link type 105: not read"));
  EXPECT_THAT(read(pcap(1, {ethernet(v4, "\x08\x06")})).segments, IsEmpty());
}

TEST(SegmentReader, ReadsHeadersOfIpv6AndLeavesOutFragments) {
  const std::string one = ipv6(tcp("x"));
  const std::string whole(8, '\0');  // a fragment that is all
  const auto extended = [](int first, const std::string& headers) {
    return ipv6(headers + tcp("x"), first);
  };
  EXPECT_THAT(bytes_of(read(pcap(
                  101, {extended(0, "\x3c" + zeros(7) + "\x2b\1" + zeros(14) + "\x06" + zeros(7)),
                        extended(44, "\x06" + zeros(7)), extended(51, "\x06\1" + zeros(10))}))),
              ElementsAre("x", "x", "x"));
  const All parts =
      read(pcap(101, {extended(44, "\x06" + zeros(2) + "\1" + zeros(4)), ipv4(tcp("x"), 0x2000),
                      ipv4(tcp("x"), 0x0001), ipv4(tcp("y"), 0x4000)}));
  EXPECT_THAT(bytes_of(parts), ElementsAre("y"));
  EXPECT_THAT(parts.notes, ElementsAre("3 fragments of IP packets: left out"));
}

TEST(SegmentReader, SaysHowLongASegmentWasThatIsCutShort) {
  const All all = read(pcap(101, {ipv4(tcp("0123456789"))}, little, 0xa1b2'c3d4, 4));
  ASSERT_THAT(bytes_of(all), ElementsAre("012345"));
  EXPECT_EQ(all.segments[0].length, 10U);
  // If a network card cuts the packets, the header has no length.
  const All large = read(pcap(101, {ipv4(tcp("0123456789"), 0, false)}, little, 0xa1b2'c3d4, 4));
  ASSERT_THAT(bytes_of(large), ElementsAre("012345"));
  EXPECT_EQ(large.segments[0].length, 10U);
}

TEST(SegmentReader, ReadsBlocksOfPcapng) {
  const std::string frame = ethernet(ipv4(tcp("x")));
  const std::uint64_t time = 1'767'225'600;
  for (const Number order : {Number{little}, Number{big}}) {
    const Number others = order == Number{little} ? Number{big} : Number{little};
    // Names and statistics are passed over, also large ones; a second section has another order.
    const std::string file =
        section(order) + interface(order) + interface(order, 9) + interface(order, 0x8a) +
        block(5, zeros(1 << 21), order) + enhanced(time * 1'000'000 + 7, frame, order) +
        enhanced(time * 1'000'000'000 + 7'999, frame, order, 1) +
        enhanced(time * 1024 + 512, frame, order, 2) + section(others) +
        interface(others, -1, frame.size() - 1) + simple(frame, others) + block(4, "", others);
    for (const std::size_t piece : {1U, 13U, 65'536U}) {
      const All all = read(file, piece);
      std::vector<std::int64_t> times;
      for (const Segment& each : all.segments) times.push_back(each.time.count());
      const std::int64_t start = static_cast<std::int64_t>(time) * 1'000'000;
      EXPECT_THAT(times, ElementsAre(start + 7, start + 7, start + 500'000, start + 500'000));
      EXPECT_THAT(bytes_of(all), ElementsAre("x", "x", "x", ""));
      EXPECT_THAT(all.notes,
                  ElementsAre("1 packet without a time: the time of the previous packet is used"));
    }
  }
}

TEST(SegmentReader, SaysWhyAFileCannotBeRead) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "it ends before its first packet"},
      {"\x0a\x0d", "it ends before its first packet"},
      {pcap(1, {}).substr(0, 20), "it ends before its first packet"},
      {"no capture", "it is neither a pcap nor a pcapng file"},
      {"\x1f\x8b\x08" + zeros(9), "it is compressed: decompress it first"},
      {"\x28\xb5\x2f\xfd", "it is compressed: decompress it first"},
      {"\x0a\x0d\x0d\x0a" + zeros(20), "not a pcapng block"},
      {section(little) + block(6, zeros(20), little), "interface that the file does not describe"},
      {section(little) + interface(little) + block(6, zeros(12), little), "file does not describe"},
      {section(little) + interface(little) + block(6, zeros(12) + little(9, 4) + zeros(4), little),
       "a packet is longer than its block"},
      {section(little) + little(6, 4) + little(0xffff'fffc, 4) + zeros(4),
       "larger than this program accepts"},
      {section(little) + little(5, 4) + little(13, 4) + zeros(4), "not a pcapng block"},
      {pcap(1, {}) + zeros(8) + std::string(8, '\xff'), "larger than this program accepts"}};
  for (const auto& [file, error] : rows) EXPECT_THAT(read(file).error, HasSubstr(error));
}

TEST(SegmentReader, KeepsWhatCameBeforeTheEndAndBeforeDamage) {
  const std::string file = pcap(101, {ipv4(tcp("a")), ipv4(tcp("b"))});
  const All cut = read(file.substr(0, file.size() - 1));
  EXPECT_THAT(bytes_of(cut), ElementsAre("a"));
  EXPECT_THAT(cut.notes,
              ElementsAre("the file ends within a packet: the packets before it were read"));
  const All damaged = read(file + std::string(16, '\xff') + file);
  EXPECT_THAT(bytes_of(damaged), ElementsAre("a", "b"));
  EXPECT_THAT(
      damaged.notes,
      ElementsAre(
          "a packet is larger than this program accepts: the rest of the file was not read"));
  const All skipping =
      read(section(big) + interface(big) + enhanced(0, ethernet(ipv4(tcp("x"))), big) + big(5, 4) +
           big(0xffff'fffc, 4) + zeros(4));
  EXPECT_THAT(skipping.segments, SizeIs(1));
  EXPECT_THAT(skipping.notes, ElementsAre(HasSubstr("ends within a packet")));
}

// Each byte of a file with all kinds of headers is another one, and each header ends early.
TEST(SegmentReader, TakesAnyBytes) {
  const std::string tagged =
      ethernet(ipv6("\x06" + zeros(7) + tcp("x"), 0), "\x81" + zeros(3) + "\x86\xdd");
  const std::string file = section(little) + interface(little, 6) + enhanced(1, tagged, little) +
                           simple(ethernet(ipv4(tcp("y"))), little);
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (const char other : {'\0', '\x01', '\x0f', '\x7f', '\xff'}) {
      std::string changed = file;
      changed[at] = other;
      EXPECT_LE(read(changed).segments.size(), 2U);
    }
  }
  for (std::size_t size = 0; size < tagged.size(); ++size) {
    EXPECT_LE(read(pcap(1, {tagged.substr(0, size)})).segments.size(), 1U);
  }
}

// A client's first packets, and a request.
std::string session() {
  return pcap(
      101, {ipv4(tcp(*wire::encode(wire::Connect{.client_id = "me"}) +
                     *wire::encode(wire::Publish{.topic = std::string(codec::kRequestTopic)})))});
}

TEST(ReadPcap, ReadsASession) {
  const test::TemporaryFolder folder;
  const auto capture = read_pcap({.file = folder.write("packets.pcap", session())});
  ASSERT_TRUE(capture) << capture.error();
  ASSERT_THAT(capture->events, SizeIs(1));
  EXPECT_EQ(std::get<CapturedMessage>(capture->events[0]).client_id, "me");
  EXPECT_TRUE(capture->sees_replies);
  EXPECT_THAT(capture->unknown, IsEmpty());
}

TEST(ReadPcap, SaysWhatItHasNotRead) {
  const test::TemporaryFolder folder;
  const auto capture = read_pcap({.file = folder.write("cut.pcap", session() + zeros(9))});
  ASSERT_TRUE(capture) << capture.error();
  EXPECT_THAT(capture->events, SizeIs(1));
  EXPECT_FALSE(capture->sees_replies);
  EXPECT_THAT(capture->unknown, ElementsAre(HasSubstr("ends within a packet")));
}

TEST(ReadPcap, SaysWhyThereIsNone) {
  const test::TemporaryFolder folder;
  const auto error_of = [](const std::string& path) {
    const auto read = read_pcap({.file = path});
    return read ? "" : read.error();
  };
  const std::string text = folder.write("text", "no capture");
  EXPECT_EQ(error_of(text), "cannot read " + text + ": it is neither a pcap nor a pcapng file");
  EXPECT_EQ(error_of(folder.path()), "cannot read " + folder.path().string() + ": it is a folder");
  EXPECT_EQ(error_of("/dev/null"), "cannot read /dev/null: it ends before its first packet");
  EXPECT_THAT(error_of(folder.path() / "none"), HasSubstr("No such file"));
}

}  // namespace
}  // namespace fencepost::record
