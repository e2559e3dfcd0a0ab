#include "traffic/record/capture_tcp.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;

constexpr unsigned kFin = 0x01;
constexpr unsigned kSyn = 0x02;
constexpr unsigned kReset = 0x04;
constexpr unsigned kAcknowledges = 0x10;
// First bytes of a client.
constexpr char kConnectOfMqtt = 0x10;
constexpr char kHandshakeOfTls = 0x16;

}  // namespace

// One direction of a connection. It belongs to a State, which has a name: these have one, too.
struct Flow {
  std::optional<std::uint32_t> first{};  // the sequence number behind its SYN
  std::optional<std::uint32_t> next{};   // of the next byte
  bool ended = false;                    // FIN

  // How far the number is ahead of the next byte.
  [[nodiscard]] std::int32_t ahead(std::uint32_t number) const {
    return static_cast<std::int32_t>(number - *next);
  }
};

struct TcpConnection {
  std::uint64_t number = 0;
  microseconds time{0};  // of the last event
  Flow up{};
  Flow down{};
  std::deque<Segment> held{};  // before them something is missing
  std::size_t held_bytes = 0;
  bool begun = false;  // its client has sent something, or it is not known what
  bool over = false;

  Flow& flow(bool to_broker) { return to_broker ? up : down; }

  // Is all here that comes before it: in its direction, and what its sender had read by then?
  [[nodiscard]] bool fits(const Segment& segment) {
    const Flow& other = flow(!segment.to_broker);
    if (flow(segment.to_broker).ahead(segment.sequence) > 0) return false;
    return (segment.flags & kAcknowledges) == 0 || other.ahead(segment.acknowledged) <= 0;
  }
};

struct TcpReader::State {
  std::map<std::string, TcpConnection> connections{};
  std::uint64_t count = 0;
  std::vector<TcpEvent> events{};
  microseconds last{0};
  std::size_t encrypted = 0;
  std::size_t not_mqtt = 0;

  using Kind = TcpEvent::Kind;

  void tell(const TcpConnection& connection, Kind kind, bool to_broker, std::string bytes = {}) {
    events.push_back({connection.number, kind, to_broker, connection.time, std::move(bytes)});
  }
  void lose(TcpConnection& connection, bool to_broker) {
    connection.begun = connection.begun || to_broker;
    tell(connection, Kind::kLost, to_broker);
  }
  void close(TcpConnection& connection, bool to_broker) {
    connection.over = true;
    tell(connection, Kind::kClosed, to_broker);
  }
  void add(Segment segment);
  // What the first segments of a connection say of where its directions begin.
  void begin(const Segment& segment, TcpConnection& connection);
  void deliver(const Segment& segment, TcpConnection& connection);
  void deliver_bytes(std::string bytes, bool to_broker, TcpConnection& connection);
  void deliver_held(TcpConnection& connection);
  void give_up_first(TcpConnection& connection);
  void flush(TcpConnection& connection) {
    while (!connection.held.empty() && !connection.over) give_up_first(connection);
  }
};

void TcpReader::State::begin(const Segment& segment, TcpConnection& connection) {
  Flow& own = connection.flow(segment.to_broker);
  Flow& other = connection.flow(!segment.to_broker);
  // A number that was met in the middle: what was before is not in the capture.
  const auto meet = [&](Flow& flow, std::uint32_t number, bool to_broker) {
    if (flow.next) return;
    flow.next = number;
    lose(connection, to_broker);
  };
  if ((segment.flags & kSyn) != 0) {
    if (!own.next) own.first = own.next = segment.sequence + 1;
  } else if (segment.length > 0 || (segment.flags & (kFin | kReset)) != 0) {
    meet(own, segment.sequence, segment.to_broker);
  }
  if ((segment.flags & kAcknowledges) != 0) {
    meet(other, segment.acknowledged, !segment.to_broker);
  }
}

void TcpReader::State::add(Segment segment) {
  last = segment.time = std::max(last, segment.time);
  TcpConnection& connection = connections[segment.connection];
  const Flow& own = connection.flow(segment.to_broker);
  // The ports may be used again.
  const bool again = (segment.flags & kSyn) != 0 && own.next && own.first != segment.sequence + 1;
  if (connection.number == 0 || again) {
    flush(connection);
    connection = {.number = ++count, .time = last};
    tell(connection, Kind::kOpened, true);
  }
  if (connection.over) return;
  begin(segment, connection);
  if ((segment.flags & kReset) != 0) {
    flush(connection);
    connection.time = last;
    if (!connection.over) close(connection, segment.to_broker);
    return;
  }
  if ((segment.flags & kSyn) != 0) ++segment.sequence;
  if (segment.length == 0 && (segment.flags & kFin) == 0) return;
  connection.held_bytes += segment.bytes.size();
  connection.held.push_back(std::move(segment));
  deliver_held(connection);
  while (!connection.over &&
         (connection.held_bytes > kMaxHeldBytes || connection.held.size() > kMaxHeldPackets)) {
    give_up_first(connection);
  }
}

void TcpReader::State::deliver(const Segment& segment, TcpConnection& connection) {
  connection.time = std::max(connection.time, segment.time);
  Flow& own = connection.flow(segment.to_broker);
  const auto old = static_cast<std::size_t>(-std::int64_t{own.ahead(segment.sequence)});
  if (old < segment.length) {
    *own.next += static_cast<std::uint32_t>(segment.length - old);
    if (segment.bytes.size() < segment.length) {
      lose(connection, segment.to_broker);  // The capture has less than was sent.
    } else {
      deliver_bytes(segment.bytes.substr(old), segment.to_broker, connection);
    }
  }
  // The end has a number, too.
  if (connection.over || (segment.flags & kFin) == 0 || std::exchange(own.ended, true)) return;
  ++*own.next;
  tell(connection, Kind::kEnding, segment.to_broker);
  if (connection.up.ended && connection.down.ended) close(connection, segment.to_broker);
}

void TcpReader::State::deliver_bytes(std::string bytes, bool to_broker, TcpConnection& connection) {
  if (to_broker && !std::exchange(connection.begun, true) && bytes.front() != kConnectOfMqtt) {
    ++(bytes.front() == kHandshakeOfTls ? encrypted : not_mqtt);
    lose(connection, true);
    lose(connection, false);
    connection.over = true;
    connection.held.clear();
    return;
  }
  tell(connection, Kind::kBytes, to_broker, std::move(bytes));
}

void TcpReader::State::deliver_held(TcpConnection& connection) {
  auto& held = connection.held;
  while (!connection.over && !held.empty()) {
    const auto found = std::find_if(held.begin(), held.end(), [&connection](const Segment& each) {
      return connection.fits(each);
    });
    if (found == held.end()) return;
    const Segment segment = std::move(*found);
    held.erase(found);
    connection.held_bytes -= segment.bytes.size();
    deliver(segment, connection);
  }
}

// The first one that is held waits no longer.
void TcpReader::State::give_up_first(TcpConnection& connection) {
  const Segment& first = connection.held.front();
  const auto pass_over = [&](bool to_broker, std::uint32_t number) {
    Flow& flow = connection.flow(to_broker);
    if (flow.ahead(number) <= 0) return;
    flow.next = number;
    lose(connection, to_broker);
  };
  pass_over(first.to_broker, first.sequence);
  if ((first.flags & kAcknowledges) != 0) pass_over(!first.to_broker, first.acknowledged);
  deliver_held(connection);
}

TcpReader::TcpReader() : state_(std::make_unique<State>()) {}
TcpReader::~TcpReader() = default;

void TcpReader::add(Segment segment) { state_->add(std::move(segment)); }

void TcpReader::finish() {
  for (auto& [name, connection] : state_->connections) state_->flush(connection);
}

std::vector<TcpEvent> TcpReader::take() { return std::exchange(state_->events, {}); }

std::vector<std::string> TcpReader::notes() const {
  const std::string what_to_do =
      ": not read; record their messages in the broker (serve --record, serve --judge-clients) or "
      "as a subscriber (record --endpoint)";
  std::vector<std::string> out;
  note(out, state_->encrypted, "connection", "encrypted with TLS" + what_to_do);
  note(out, state_->not_mqtt, "connection",
       "without MQTT at the start (WebSockets, for example)" + what_to_do);
  return out;
}

Result<std::vector<std::string>, std::string> read_tcp(
    const PcapOptions& options, const std::function<void(const TcpEvent&)>& use) {
  const FileDescriptor file(options.file);
  if (!file.error().empty()) return fail(file.error());
  SegmentReader segments(options.port);
  TcpReader reader;
  const auto tell = [&] {
    for (const TcpEvent& event : reader.take()) use(event);
  };
  std::array<char, 65536> some{};
  std::ptrdiff_t got = 1;
  while (got > 0) {
    got = file.read(some.data(), some.size());
    if (got <= 0 || !segments.add({some.data(), static_cast<std::size_t>(got)})) break;
    while (auto segment = segments.next()) {
      reader.add(std::move(*segment));
      tell();
    }
  }
  if (got < 0) {
    return fail("cannot read " + options.file + ": " + std::generic_category().message(errno));
  }
  auto notes = segments.finish();
  if (!notes) return fail("cannot read " + options.file + ": " + notes.error());
  reader.finish();
  tell();
  for (std::string& each : reader.notes()) notes->push_back(std::move(each));
  return notes;
}

}  // namespace fencepost::record
