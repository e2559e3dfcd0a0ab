#include "conformance/record/capture_tcp.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "conformance/record/tshark.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kFields = 8;
constexpr unsigned kFin = 0x01;
constexpr unsigned kSyn = 0x02;
constexpr unsigned kReset = 0x04;
constexpr unsigned kAcknowledges = 0x10;
constexpr char kFirstByteOfMqtt = 0x10;  // a CONNECT

// Pairs of hexadecimal digits; some versions have colons between them.
std::optional<std::string> bytes_of(std::string_view digits) {
  std::string out;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    if (digits[at] == ':') ++at;
    const auto byte = number_in<unsigned>(digits.substr(at, 2), 16);
    if (!byte || at + 2 > digits.size()) return std::nullopt;
    out += static_cast<char>(*byte);
  }
  return out;
}

}  // namespace

// Of a State, which has a name: these have one, too.
struct Segment {
  std::uint64_t stream = 0;
  bool to_broker = false;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledged = 0;  // what its sender has had of the other direction
  unsigned flags = 0;
  std::size_t length = 0;  // of what was sent; the capture may have less
  std::string bytes{};
  microseconds time{0};
};

namespace {

std::optional<Segment> parse_segment(std::string_view line, std::uint16_t port) {
  std::array<std::string_view, kFields> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  const auto time = time_in(fields[0]);
  const auto stream = number_in<std::uint64_t>(fields[1]);
  const auto to_port = number_in<std::uint32_t>(fields[2]);
  const auto sequence = number_in<std::uint32_t>(fields[3]);
  const auto acknowledged = number_in<std::uint32_t>(fields[4]);
  const std::string_view hex = fields[5].substr(fields[5].starts_with("0x") ? 2 : 0);
  const auto flags = number_in<unsigned>(hex, 16);
  const auto length = number_in<std::size_t>(fields[6]);
  auto bytes = bytes_of(fields[7]);
  if (!time || !stream || !to_port || !sequence || !acknowledged || !flags || !length || !bytes) {
    return std::nullopt;
  }
  return Segment{.stream = *stream,
                 .to_broker = *to_port == port,
                 .sequence = *sequence,
                 .acknowledged = *acknowledged,
                 .flags = *flags,
                 .length = *length,
                 .bytes = std::move(*bytes),
                 .time = *time};
}

}  // namespace

// One direction of a connection.
struct Flow {
  std::optional<std::uint32_t> next{};  // the sequence number of the next byte
  bool ended = false;                   // FIN

  // How far the number is ahead of the next byte.
  [[nodiscard]] std::int32_t ahead(std::uint32_t number) const {
    return static_cast<std::int32_t>(number - *next);
  }
};

struct TcpConnection {
  Flow up{};
  Flow down{};
  std::deque<Segment> held{};  // before them something is missing
  std::size_t held_bytes = 0;
  bool began = false;  // its client has sent something
  bool over = false;

  Flow& flow(const Segment& segment) { return segment.to_broker ? up : down; }

  // Is all here that comes before it: in its direction, and what its sender had read by then?
  [[nodiscard]] bool fits(const Segment& segment) const {
    const Flow& own = segment.to_broker ? up : down;
    const Flow& other = segment.to_broker ? down : up;
    if (own.ahead(segment.sequence) > 0) return false;
    return (segment.flags & kAcknowledges) == 0 ||
           (other.next && other.ahead(segment.acknowledged) <= 0);
  }
};

struct TcpReader::State {
  std::uint16_t port;
  std::map<std::uint64_t, TcpConnection> connections{};
  std::vector<TcpEvent> events{};
  microseconds last{0};
  std::string pending{};  // the beginning of a line

  void tell(std::uint64_t stream, TcpEvent::Kind kind, std::string bytes = {}) {
    events.push_back({stream + 1, kind, last, std::move(bytes)});
  }
  void end(std::uint64_t stream, TcpConnection& connection, TcpEvent::Kind kind) {
    if (std::exchange(connection.over, true)) return;
    connection.held.clear();
    tell(stream, kind);
  }
  [[nodiscard]] Result<void, std::string> add_line(std::string_view line);
  void add(Segment segment);
  void open(const Segment& segment, TcpConnection& connection);
  void deliver(Segment segment, TcpConnection& connection);
  void deliver_held(TcpConnection& connection);
};

void TcpReader::State::open(const Segment& segment, TcpConnection& connection) {
  const bool first = segment.to_broker && (segment.flags & kAcknowledges) == 0;
  Flow& flow = connection.flow(segment);
  if (!flow.next) flow.next = segment.sequence + 1;
  if (first) return;
  // The answer to a SYN that is not in the capture.
  if (!connection.up.next) end(segment.stream, connection, TcpEvent::Kind::kLost);
}

void TcpReader::State::add(Segment segment) {
  last = std::max(last, segment.time);
  const auto [found, is_new] = connections.try_emplace(segment.stream);
  TcpConnection& connection = found->second;
  if (is_new) tell(segment.stream, TcpEvent::Kind::kOpened);
  if (connection.over) return;
  if ((segment.flags & kSyn) != 0) return open(segment, connection);
  // What it began with is not in the capture.
  if (!connection.flow(segment).next || segment.bytes.size() < segment.length) {
    return end(segment.stream, connection, TcpEvent::Kind::kLost);
  }
  if ((segment.flags & kReset) != 0) {
    return end(segment.stream, connection,
               connection.held.empty() ? TcpEvent::Kind::kClosed : TcpEvent::Kind::kLost);
  }
  if (segment.bytes.empty() && (segment.flags & kFin) == 0) return;
  connection.held_bytes += segment.bytes.size();
  connection.held.push_back(std::move(segment));
  deliver_held(connection);
  if (connection.held_bytes > kMostHeldBytes || connection.held.size() > kMostHeldPackets) {
    end(found->first, connection, TcpEvent::Kind::kLost);
  }
}

void TcpReader::State::deliver(Segment segment, TcpConnection& connection) {
  Flow& flow = connection.flow(segment);
  const auto old = static_cast<std::size_t>(-std::int64_t{flow.ahead(segment.sequence)});
  if (old < segment.bytes.size()) {
    *flow.next += static_cast<std::uint32_t>(segment.bytes.size() - old);
    if (segment.to_broker && !std::exchange(connection.began, true) &&
        segment.bytes[old] != kFirstByteOfMqtt) {
      return end(segment.stream, connection, TcpEvent::Kind::kLost);  // TLS, WebSockets, others
    }
    tell(segment.stream, segment.to_broker ? TcpEvent::Kind::kToBroker : TcpEvent::Kind::kToClient,
         segment.bytes.substr(old));
  }
  // The end has a number, too.
  if ((segment.flags & kFin) != 0 && !std::exchange(flow.ended, true)) ++*flow.next;
  if (connection.up.ended && connection.down.ended) {
    end(segment.stream, connection, TcpEvent::Kind::kClosed);
  }
}

void TcpReader::State::deliver_held(TcpConnection& connection) {
  auto& held = connection.held;
  while (!connection.over && !held.empty()) {
    const auto found = std::find_if(held.begin(), held.end(), [&connection](const Segment& each) {
      return connection.fits(each);
    });
    if (found == held.end()) return;
    Segment segment = std::move(*found);
    held.erase(found);
    connection.held_bytes -= segment.bytes.size();
    deliver(std::move(segment), connection);
  }
}

std::vector<std::string> tcp_fields(std::uint16_t port) {
  const std::string number = std::to_string(port);
  return {"-T", "fields",
          "-E", "separator=/t",
          "-E", "occurrence=f",
          "-e", "frame.time_epoch",
          "-e", "tcp.stream",
          "-e", "tcp.dstport",
          "-e", "tcp.seq",
          "-e", "tcp.ack",
          "-e", "tcp.flags",
          "-e", "tcp.len",
          "-e", "tcp.payload",
          "-o", "tcp.relative_sequence_numbers:FALSE",
          "-o", "tcp.desegment_tcp_streams:FALSE",
          "-Y", "tcp.port==" + number + " && !icmp && !icmpv6"};
}

TcpReader::TcpReader(std::uint16_t port) : state_(std::make_unique<State>(State{.port = port})) {}
TcpReader::~TcpReader() = default;

Result<void, std::string> TcpReader::State::add_line(std::string_view line) {
  auto segment = parse_segment(line, port);
  if (!segment) {
    return fail("tshark has printed what is no packet: " + std::string(line.substr(0, 80)));
  }
  add(std::move(*segment));
  return {};
}

Result<void, std::string> TcpReader::add(std::string_view printed) {
  std::string& pending = state_->pending;
  pending += printed;
  std::size_t begin = 0;
  for (std::size_t end = pending.find('\n'); end != std::string::npos;
       end = pending.find('\n', begin)) {
    auto added = state_->add_line(std::string_view(pending).substr(begin, end - begin));
    if (!added) return added;
    begin = end + 1;
  }
  pending.erase(0, begin);
  if (pending.size() <= kLongestLine) return {};
  return fail(std::string("a packet is larger than this program takes"));
}

void TcpReader::finish() {
  for (auto& [stream, connection] : state_->connections) {
    if (!connection.held.empty()) state_->end(stream, connection, TcpEvent::Kind::kLost);
  }
}

std::vector<TcpEvent> TcpReader::take() { return std::exchange(state_->events, {}); }

Result<void, std::string> read_tcp(const PcapOptions& options,
                                   const std::function<void(const TcpEvent&)>& use) {
  TcpReader reader(options.port);
  Result<void, std::string> read;
  const auto tell = [&] {
    for (const TcpEvent& event : reader.take()) use(event);
  };
  auto ended = run_tshark(options.file, tcp_fields(options.port), [&](std::string_view some) {
    if (!read) return;
    read = reader.add(some);
    tell();
  });
  if (!ended) return ended;
  if (!read) return read;
  reader.finish();
  tell();
  return {};
}

}  // namespace fencepost::record
