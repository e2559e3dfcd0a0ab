#include "traffic/record/capture_segments.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text/text_wrap.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html
constexpr std::uint64_t kPcap = 0xa1b2'c3d4;
constexpr std::uint64_t kPcapOfNanoseconds = 0xa1b2'3c4d;
constexpr std::size_t kPcapHeader = 24;
constexpr std::size_t kPacketHeader = 16;
// https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html
constexpr std::uint64_t kSection = 0x0a0d'0d0a;
constexpr std::uint64_t kByteOrder = 0x1a2b'3c4d;
constexpr std::uint64_t kInterface = 1;
constexpr std::uint64_t kSimplePacket = 3;
constexpr std::uint64_t kPacket = 6;
constexpr std::uint64_t kResolution = 9;  // an option of an interface
constexpr std::size_t kBlockHeader = 8;
constexpr std::size_t kAroundBlock = 12;

constexpr std::uint64_t kTcp = 6;
constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;

// In network order; 0 where there are no such bytes.
std::uint64_t big(std::string_view bytes, std::size_t at, std::size_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return 0;
  std::uint64_t out = 0;
  for (const char c : bytes.substr(at, size)) out = out << 8U | static_cast<unsigned char>(c);
  return out;
}

std::string_view behind(std::string_view bytes, std::size_t at) {
  return bytes.substr(std::min(at, bytes.size()));
}

microseconds time_of(std::uint64_t value, std::uint64_t ticks) {
  constexpr std::uint64_t kMaxSeconds = 1'000'000'000'000;  // microseconds of it do not overflow
  const auto part = static_cast<long double>(value % ticks) / static_cast<long double>(ticks);
  return seconds{std::min(value / ticks, kMaxSeconds)} +
         microseconds{static_cast<std::int64_t>(part * 1e6L)};
}

struct Interface {
  std::uint64_t link = 0;
  std::uint64_t most_bytes = 0;     // of a packet, that are kept; 0: all
  std::uint64_t ticks = 1'000'000;  // a second
};

struct Frame {
  std::uint64_t link = 0;
  microseconds time{0};
  std::string_view bytes{};
  std::size_t length = 0;  // when it was sent
};

// Where a frame says what it has, if it does, and where that is.
// https://www.tcpdump.org/linktypes.html
struct Link {
  std::uint64_t number = 0;
  std::optional<std::size_t> type_at{};
  std::size_t content_at = 0;
};
constexpr std::array kLinks = {
    Link{1, 12, 14},  Link{113, 14, 16}, Link{276, 0, 20},  // Ethernet; Linux's two
    Link{0, {}, 4},   Link{108, {}, 4},                     // BSD's loopback
    Link{12, {}, 0},  Link{14, {}, 0},   Link{101, {}, 0},  // IP alone
    Link{228, {}, 0}, Link{229, {}, 0}};

// Empty: it has none.
std::string_view ip_of(std::string_view frame, const Link& link) {
  std::size_t at = link.content_at;
  if (!link.type_at) return behind(frame, at);
  auto type = big(frame, *link.type_at, 2);
  for (; type == 0x8100 || type == 0x88a8 || type == 0x9100; at += 4) {  // VLAN tags
    type = big(frame, at + 2, 2);
  }
  return type == 0x0800 || type == 0x86dd ? behind(frame, at) : std::string_view();
}

struct IpHeader {
  std::size_t size = 0;
  std::size_t length = 0;  // of the packet; 0: as long as the frame
  std::uint64_t protocol = 0;
  bool fragment = false;
  std::string_view source{};
  std::string_view target{};
};

IpHeader read_ipv4(std::string_view packet) {
  return {.size = 4 * (big(packet, 0, 1) & 0xfU),
          .length = big(packet, 2, 2),
          .protocol = big(packet, 9, 1),
          .fragment = (big(packet, 6, 2) & 0x3fffU) != 0,  // more of them, or an offset
          .source = packet.substr(12, 4),
          .target = packet.substr(16, 4)};
}

IpHeader read_ipv6(std::string_view packet) {
  const std::size_t length = big(packet, 4, 2);
  IpHeader out{.size = kIpv6Header,
               .length = length == 0 ? 0 : length + kIpv6Header,
               .protocol = big(packet, 6, 1),
               .source = packet.substr(8, 16),
               .target = packet.substr(24, 16)};
  while (out.size < packet.size() && !out.fragment) {
    const auto words = big(packet, out.size + 1, 1);
    std::size_t size = 8 * (words + 1);
    if (out.protocol == 44) {
      size = 8;
      out.fragment = (big(packet, out.size + 2, 2) & 0xfff9U) != 0;
    } else if (out.protocol == 51) {  // authentication
      size = 4 * (words + 2);
    } else if (out.protocol != 0 && out.protocol != 43 && out.protocol != 60) {
      break;  // neither options, for each hop or for the last, nor routing
    }
    out.protocol = big(packet, out.size, 1);
    out.size += size;
  }
  return out;
}

}  // namespace

struct SegmentReader::State {
  std::uint16_t port;
  enum class Format { kUnknown, kPcap, kPcapng } format = Format::kUnknown;
  bool big_endian = false;
  std::vector<Interface> interfaces{};
  std::string held{};
  std::size_t at = 0;      // of what is held, read so far
  std::uint64_t skip = 0;  // of what comes next
  microseconds last{0};
  bool any = false;
  std::string error{};
  std::size_t fragments = 0;
  std::size_t untimed = 0;
  std::map<std::uint64_t, std::size_t> other_links{};  // how many packets

  std::nullopt_t end(std::string why) {
    error = std::move(why);
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t number(std::string_view bytes, std::size_t from,
                                     std::size_t size = 4) const {
    if (big_endian || from > bytes.size()) return big(bytes, from, size);
    const std::string_view wanted = bytes.substr(from, size);
    return big(std::string(wanted.rbegin(), wanted.rend()), 0, size);
  }
  [[nodiscard]] bool begin(std::string_view rest);
  [[nodiscard]] std::size_t size_of_next(std::string_view rest);
  [[nodiscard]] std::optional<Frame> next_frame();
  [[nodiscard]] std::optional<Frame> read_block(std::string_view block);
  void add_interface(std::string_view body);
  [[nodiscard]] std::optional<Segment> segment_of(const Frame& frame);
};

// Reads the header of a pcap file; for pcapng there is only the first block.
bool SegmentReader::State::begin(std::string_view rest) {
  if (rest.size() < 4) return false;
  const auto is = [&](std::uint64_t a_magic) {
    return a_magic == kPcap || a_magic == kPcapOfNanoseconds;
  };
  big_endian = is(big(rest, 0, 4));
  if (big(rest, 0, 4) == kSection) {
    format = Format::kPcapng;
  } else if (is(number(rest, 0))) {
    if (rest.size() < kPcapHeader) return false;
    format = Format::kPcap;
    interfaces = {{.link = number(rest, 20) & 0xffffU,
                   .ticks = number(rest, 0) == kPcap ? 1'000'000U : 1'000'000'000U}};
    at += kPcapHeader;
  } else if (rest.starts_with("\x1f\x8b") || rest.starts_with("\x28\xb5\x2f\xfd") ||
             rest.starts_with("\x04\x22\x4d\x18")) {
    end("it is compressed: decompress it first (gunzip, unzstd or unlz4)");
  } else {
    end("it is neither a pcap nor a pcapng file");
  }
  return error.empty();
}

// 0: more bytes are needed to know it, or it is passed over.
std::size_t SegmentReader::State::size_of_next(std::string_view rest) {
  std::uint64_t size = 0;
  if (format == Format::kPcap) {
    if (rest.size() < kPacketHeader) return 0;
    size = number(rest, 8) + kPacketHeader;
  } else {
    if (rest.size() < kAroundBlock) return 0;
    const bool section = big(rest, 0, 4) == kSection;
    if (section) big_endian = big(rest, 8, 4) == kByteOrder;
    const auto type = number(rest, 0);
    size = number(rest, 4);
    if ((section && number(rest, 8) != kByteOrder) || size < kAroundBlock || size % 4 != 0) {
      end("the next block is not a pcapng block");
    } else if (!section && type != kInterface && type != kSimplePacket && type != kPacket) {
      skip = size;
      return 0;
    }
  }
  if (size > kLargestPacket) end("a packet is larger than this program accepts");
  return size;
}

std::optional<Frame> SegmentReader::State::next_frame() {
  while (error.empty()) {
    const auto skipped = std::min<std::uint64_t>(skip, held.size() - at);
    at += skipped;
    skip -= skipped;
    const std::string_view rest = behind(held, at);
    if (format == Format::kUnknown) {
      if (begin(rest)) continue;
      return std::nullopt;
    }
    const std::size_t size = size_of_next(rest);
    if (size == 0 && skip > 0 && !rest.empty()) continue;
    if (size == 0 || rest.size() < size || !error.empty()) return std::nullopt;
    at += size;
    if (format == Format::kPcapng) {
      if (auto frame = read_block(rest.substr(0, size))) return frame;
      continue;
    }
    const Interface& of = interfaces.front();
    return Frame{.link = of.link,
                 .time = seconds{number(rest, 0)} + time_of(number(rest, 4), of.ticks),
                 .bytes = rest.substr(kPacketHeader, size - kPacketHeader),
                 .length = number(rest, 12)};
  }
  return std::nullopt;
}

std::optional<Frame> SegmentReader::State::read_block(std::string_view block) {
  const auto type = number(block, 0);
  const std::string_view body = block.substr(kBlockHeader, block.size() - kAroundBlock);
  if (type == kSection) interfaces.clear();
  if (type == kInterface) add_interface(body);
  if (type != kPacket && type != kSimplePacket) return std::nullopt;
  const bool simple = type == kSimplePacket;
  const std::size_t header = simple ? 4 : 20;
  const std::size_t index = simple ? 0 : number(body, 0);
  if (body.size() < header || index >= interfaces.size()) {
    return end("a packet belongs to an interface that the file does not describe");
  }
  const Interface& of = interfaces[index];
  Frame out{.link = of.link, .time = last, .length = number(body, simple ? 0 : 16)};
  std::size_t kept = number(body, 12);
  if (simple) {
    ++untimed;
    kept = std::min(out.length, body.size() - header);
    if (of.most_bytes != 0) kept = std::min(kept, of.most_bytes);
  } else {
    out.time = time_of(number(body, 4) << 32U | number(body, 8), of.ticks);
    if (kept > body.size() - header) return end("a packet is longer than its block");
  }
  out.bytes = body.substr(header, kept);
  return out;
}

void SegmentReader::State::add_interface(std::string_view body) {
  Interface out{.link = number(body, 0, 2), .most_bytes = number(body, 4)};
  for (std::string_view rest = behind(body, 8); rest.size() > 4;) {
    const std::size_t size = number(rest, 2, 2);
    if (number(rest, 0, 2) == kResolution && size == 1) {
      const auto exponent = number(rest, 4, 1);
      const bool binary = exponent >= 0x80;
      const auto most = std::min<std::uint64_t>(exponent & 0x7fU, binary ? 63 : 19);
      out.ticks = 1;
      for (std::uint64_t i = 0; i < most; ++i) out.ticks *= binary ? 2 : 10;
    }
    rest = behind(rest, 4 + (size + 3) / 4 * 4);
  }
  interfaces.push_back(out);
}

std::optional<Segment> SegmentReader::State::segment_of(const Frame& frame) {
  const auto* link = std::find_if(kLinks.begin(), kLinks.end(),
                                  [&](const Link& each) { return each.number == frame.link; });
  if (link == kLinks.end()) {
    ++other_links[frame.link];
    return std::nullopt;
  }
  const std::string_view packet = ip_of(frame.bytes, *link);
  const auto version = big(packet, 0, 1) >> 4U;
  const std::size_t least = version == 6 ? kIpv6Header : kIpv4Header;
  if (packet.size() < least || (version != 4 && version != 6)) return std::nullopt;
  IpHeader ip = version == 6 ? read_ipv6(packet) : read_ipv4(packet);
  if (ip.protocol != kTcp) return std::nullopt;
  if (ip.fragment) ++fragments;
  const std::string_view tcp = behind(packet, ip.size);
  if (ip.fragment || ip.size < least || tcp.size() < kTcpHeader) return std::nullopt;
  const auto source = big(tcp, 0, 2);
  const auto target = big(tcp, 2, 2);
  const std::size_t header = 4 * (big(tcp, 12, 1) >> 4U);
  // What the network card is to cut into packets has no length.
  if (ip.length == 0) ip.length = frame.length - (frame.bytes.size() - packet.size());
  if ((source != port && target != port) || header < kTcpHeader || ip.length < ip.size + header) {
    return std::nullopt;
  }
  Segment out{.to_broker = target == port,
              .sequence = static_cast<std::uint32_t>(big(tcp, 4, 4)),
              .acknowledged = static_cast<std::uint32_t>(big(tcp, 8, 4)),
              .flags = static_cast<unsigned>(big(tcp, 13, 1)),
              .length = ip.length - ip.size - header,
              .time = frame.time};
  out.bytes = behind(tcp, header).substr(0, out.length);
  out.connection = out.to_broker ? ip.source : ip.target;
  out.connection += out.to_broker ? ip.target : ip.source;
  out.connection += tcp.substr(out.to_broker ? 0 : 2, 2);
  return out;
}

void note(std::vector<std::string>& notes, std::size_t count, std::string_view noun,
          std::string_view what) {
  if (count > 0) notes.push_back(fmt::format("{} {}", text::counted(count, noun), what));
}

SegmentReader::SegmentReader(std::uint16_t port)
    : state_(std::make_unique<State>(State{.port = port})) {}
SegmentReader::~SegmentReader() = default;

bool SegmentReader::add(std::string_view bytes) {
  state_->held.erase(0, std::exchange(state_->at, 0));
  state_->held += bytes;
  return state_->error.empty();
}

std::optional<Segment> SegmentReader::next() {
  while (const auto frame = state_->next_frame()) {
    state_->any = true;
    state_->last = frame->time;
    if (auto segment = state_->segment_of(*frame)) return segment;
  }
  return std::nullopt;
}

Result<std::vector<std::string>, std::string> SegmentReader::finish() const {
  const State& seen = *state_;
  if (!seen.any && !seen.error.empty()) return fail(seen.error);
  if (seen.format == State::Format::kUnknown) {
    return fail(std::string("it ends before its first packet"));
  }
  std::vector<std::string> out;
  if (!seen.error.empty()) {
    out.push_back(seen.error + ": the rest of the file was not read");
  } else if (seen.skip > 0 || seen.at < seen.held.size()) {
    out.emplace_back("the file ends within a packet: the packets before it were read");
  }
  for (const auto& [link, packets] : seen.other_links) {
    note(out, packets, "packet", fmt::format("of the link type {}: not read", link));
  }
  note(out, seen.fragments, "fragment", "of IP packets: left out");
  note(out, seen.untimed, "packet", "without a time: the time of the previous packet is used");
  return out;
}

}  // namespace fencepost::record
