// Any bytes as what clients send to our broker over a few connections, in pieces of any size. The
// broker of certify-client answers; the judge of clients sees both sides. Neither depends on how
// the bytes were cut into pieces: a second pair gets them one by one, and says the same.
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "clients/client_run/scripted_broker.h"
#include "clients/judge.h"
#include "fuzz/input_reader.h"

using fencepost::clients::Finding;
using fencepost::clients::Judge;
using fencepost::clients::Time;
using namespace fencepost::client_run;

namespace {

constexpr Time kBegin = std::chrono::seconds{1'700'000'000};
constexpr Time kStep = std::chrono::milliseconds{50};
constexpr std::uint64_t kConnections = 4;

class Table {
 public:
  explicit Table(bool one_by_one) : one_by_one_(one_by_one) {}

  void send(std::uint64_t connection, std::string_view bytes, Time now) {
    if (open_.insert(connection).second) {
      judge_.opened(connection, now);
      broker_.opened(connection);
    }
    const std::size_t piece = one_by_one_ ? 1 : bytes.size();
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      judge_.sent(connection, bytes.substr(at, piece), now);
      broker_.received(connection, bytes.substr(at, piece), now);
    }
    pass_on(now);
  }

  void close(std::uint64_t connection, Time now) {
    if (open_.erase(connection) == 0) return;
    judge_.closed(connection, now);
    broker_.closed(connection);
  }

  // What the broker has to say by now.
  void pass_on(Time now) {
    for (const Outgoing& out : broker_.take_due(now)) {
      if (!open_.contains(out.connection)) continue;
      if (!out.bytes.empty()) judge_.delivered(out.connection, out.bytes, now);
      if (out.close) close(out.connection, now);
    }
  }

  [[nodiscard]] bool is_open(std::uint64_t connection) const { return open_.contains(connection); }
  [[nodiscard]] const ScriptedBroker& broker() const { return broker_; }
  [[nodiscard]] Judge& judge() { return judge_; }

 private:
  bool one_by_one_;
  ScriptedBroker broker_{{}};
  Judge judge_{{.store_node = "StateStore"}};
  std::set<std::uint64_t> open_{};
};

// Where bytes are no packet, nobody knows where it ends: what has come by then is shown.
bool is_same(const Finding& whole, const Finding& piece) {
  return whole.rule == piece.rule && whole.client_id == piece.client_id &&
         whole.connection == piece.connection && whole.at == piece.at &&
         whole.packet.starts_with(piece.packet);
}

std::vector<std::string> packets_of(const ScriptedBroker& broker) {
  std::vector<std::string> out;
  for (const std::string& line : broker.trace()) {
    if (line.find(", not a packet") == std::string::npos) out.push_back(line);
  }
  return out;
}

void must_agree(Table& whole, Table& pieces) {
  FENCEPOST_CHECK(packets_of(whole.broker()) == packets_of(pieces.broker()));
  FENCEPOST_CHECK(whole.broker().accepted() == pieces.broker().accepted());
  const auto& tally = whole.judge().tally();
  const auto& other = pieces.judge().tally();
  FENCEPOST_CHECK(tally.requests == other.requests && tally.broken == other.broken);
  FENCEPOST_CHECK(tally.clients == other.clients && tally.connections == other.connections);
  const std::vector<Finding> found = whole.judge().take_findings();
  const std::vector<Finding> same = pieces.judge().take_findings();
  FENCEPOST_CHECK(found.size() == same.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    FENCEPOST_CHECK(is_same(found[i], same[i]));
    FENCEPOST_CHECK(found[i].rule != nullptr && !found[i].because.empty());
    // What is found is counted.
    FENCEPOST_CHECK(tally.broken.contains(found[i].rule->id));
  }
}

}  // namespace

// Records: a byte, whose upper half is a connection and whose lower half says what happens.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  Table whole(false);
  Table pieces(true);
  Time now = kBegin;
  std::array<std::uint64_t, kConnections> numbers{};  // of the connections that are open
  std::uint64_t last = 0;
  while (!in.at_end()) {
    constexpr std::uint8_t kCloses = 14;
    constexpr std::uint8_t kPasses = 15;
    const std::uint8_t record = in.byte();
    std::uint64_t& number = numbers.at(record >> 4U & 3U);
    const std::uint8_t act = record & 15U;
    if (act == kPasses) {
      now += kStep * in.byte();
      whole.pass_on(now);
      pieces.pass_on(now);
    } else if (act == kCloses) {
      whole.close(number, now);
      pieces.close(number, now);
    } else {
      if (!whole.is_open(number)) number = ++last;
      const std::string_view bytes = in.text();
      whole.send(number, bytes, now);
      pieces.send(number, bytes, now);
    }
  }
  for (const std::uint64_t number : numbers) {
    whole.close(number, now);
    pieces.close(number, now);
  }
  must_agree(whole, pieces);
  return 0;
}
