// Judges clients by what passes between them and a broker with a store: the passive judge.
//
//   clients::Judge judge({.store_node = "StateStore"});
//   judge.opened(1, now);
//   judge.sent(1, bytes, now);  // as they come; packets may be cut anywhere
//   for (const clients::Finding& finding : judge.take_findings()) use(finding.because);
//
// It never reports a conforming client: if there is a conforming explanation, it reports nothing.
// So packets in transit may be late, twice, or lost; threads may send in another order than they
// have stamped; a packet may be sent again after a reconnect. It sees all connections to the broker
// from the broker's start on, or says less (from_start). Pure: times are arguments, and never go
// back. For one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/finding.h"

namespace fencepost::clients {

struct JudgeOptions {
  std::string store_node{};  // of its versions; empty: not known
  // How far the store's clock is ahead of the times; nothing: not known.
  std::optional<std::chrono::milliseconds> clock_offset = std::chrono::milliseconds{0};
  bool from_start =
      true;  // of the broker: all subscriptions and all versions of the store are seen
  // Otherwise packets are made from messages: earlier packets and subscriptions are unknown.
  bool sees_packets = true;
  std::size_t most_packet_bytes = 16U << 20U;  // connections with larger ones are judged no further
};

// What may be wrong, and may be right: what was seen has both explanations.
struct Doubt {
  std::size_t times = 0;
  std::string because{};  // of the first one
};

// What has been looked at.
struct Tally {
  std::size_t connections = 0;
  std::size_t clients = 0;
  std::size_t requests = 0;
  std::size_t not_judged = 0;                        // connections that went beyond a limit
  std::map<std::string_view, std::size_t> broken{};  // id of a rule -> how often
  std::map<std::string_view, Doubt> undecided{};     // id of a rule
};

class Judge {
 public:
  explicit Judge(JudgeOptions options);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  // Each connection has its own number.
  void opened(std::uint64_t connection, Time at);
  // Bytes of the client, before the broker has them.
  void sent(std::uint64_t connection, std::string_view bytes, Time at);
  // Bytes of the broker, before the client has them.
  void delivered(std::uint64_t connection, std::string_view bytes, Time at);
  void closed(std::uint64_t connection, Time at);
  // From now on bytes are missing: it is judged no further, and what its client has done meanwhile
  // is not known.
  void lost(std::uint64_t connection);

  // What is new since the last call, in the order in which it came. It has the first kMaxOfARule
  // findings of a rule for each client; all are counted.
  [[nodiscard]] std::vector<Finding> take_findings();
  [[nodiscard]] const Tally& tally() const;

  static constexpr std::size_t kMaxOfARule = 10;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace fencepost::clients
