// The clients of a stress run, without their connections: which request each sends when, what a
// message to it means, and the history of it all.
//
//   Traffic traffic(options, journal);
//   traffic.connected(0, now);
//   while (auto request = traffic.next(0, now, wall_ms)) client->publish(*request);
//   traffic.received(0, message, now);
//
// A request is in the journal before next() returns it. Times are of one steady clock;
// what they enclose is in docs/decisions/0021-times-of-requests.md. Pure; not thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codec/message.h"
#include "concurrency/history/history.h"
#include "concurrency/stress/delivery.h"
#include "concurrency/stress/script.h"

namespace fencepost::stress {

using history::Time;

// What happens, in the order in which it does.
class Journal {
 public:
  virtual ~Journal() = default;
  // `id` names an operation until it has returned.
  virtual void called(std::uint64_t id, const history::Operation& operation) = 0;
  virtual void returned(std::uint64_t id, const history::Operation& operation) = 0;
  virtual void notified(const history::Notification& notification) = 0;
  virtual void linked(const history::Connection& connection) = 0;
};

// Requests in the order in which they were sent, each with its client.
using Plan = std::vector<history::Operation>;

struct ReplyProblem {
  std::string requirement{};
  std::string text{};
};

struct TrafficOptions {
  ScriptOptions script{};
  std::string client_prefix{};              // of client ids
  Time patience = std::chrono::seconds{5};  // then a request has no reply
  double rate = 0;  // requests per second of all clients; 0: each sends the next after a response
  // Requests of the first client in flight, instead of what the mix says: the others send on
  // while its connection carries more messages than there are packet ids, 65,535. 0: as the mix
  // says. (MQTT 5, 2.2.1)
  std::size_t first_window = 0;
  Time renew_every{0};  // all keys, where the mix does not say how often; 0: never
  // Connections are ended from outside: what was given up on one that was silent from then on is
  // lost with it.
  bool ends_are_injected = false;
  // The requests, instead of those of the script: each client sends its own in this order, and
  // then for nothing. Must outlive the traffic.
  const Plan* plan = nullptr;
  // What is wrong with the properties and the form of a reply, regardless of the other requests;
  // empty: not checked. Called for each.
  std::function<std::optional<ReplyProblem>(const codec::Message& request,
                                            const codec::Message& reply)>
      check_reply{};
};

struct TrafficCounts {
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t refused = 0;  // -ERR, but for those of fencing
  std::uint64_t timed_out = 0;
  std::uint64_t lost = 0;         // with a connection
  std::uint64_t not_taken = 0;    // by the broker
  std::uint64_t meaningless = 0;  // malformed responses
  std::uint64_t notifications = 0;
  std::uint64_t unmatched = 0;  // messages that belong to nothing
  std::uint64_t longest = 0;    // messages to the client of one connection, of that with the most

  [[nodiscard]] std::uint64_t unknown() const { return timed_out + lost + not_taken + meaningless; }
};

class Traffic {
 public:
  // The journal must outlive this.
  Traffic(const TrafficOptions& options, Journal& journal);

  [[nodiscard]] std::uint32_t clients() const { return options_.script.clients; }
  [[nodiscard]] std::string client_id(std::uint32_t client) const;

  void connected(std::uint32_t client, Time now);
  // What was in flight has no response.
  void disconnected(std::uint32_t client, Time now);

  // What the client is to send now, if anything. `wall_ms`: of the client's clock, which versions
  // begin with.
  [[nodiscard]] std::optional<codec::Message> next(std::uint32_t client, Time now,
                                                   std::uint64_t wall_ms);

  void received(std::uint32_t client, const codec::Message& message, Time at);
  // The broker has not taken the request with this correlation data.
  void not_taken(std::uint32_t client, std::string_view correlation, Time now);
  // The connection of a client ended because the broker did what MQTT 5 forbids a server. To be
  // reported before disconnected().
  void broker_is_wrong(const std::string& section, const std::string& text) {
    delivery_.wrong("ENV-MQTT5-3", "MQTT 5, " + section + ": " + text, nullptr);
  }
  // The network has lost this request of a client, or the reply to it.
  void excuse(std::string_view correlation);
  // The same for all requests in flight.
  void excuse_all();
  // Gives up what has waited for too long.
  void give_up(Time now);

  // Requests from now on are for new keys.
  void renew() { script_.renew(); }

  // No new requests are sent while this is set.
  void hold(bool on) { held_ = on; }
  [[nodiscard]] std::size_t under_way() const { return under_way_; }

  // Generations of keys without requests in flight, each once; those for which there are no more
  // requests, unless `all`.
  [[nodiscard]] std::vector<std::size_t> closed(bool all = false);
  [[nodiscard]] std::string prefix_of(std::size_t generation) const {
    return script_.prefix_of(generation);
  }
  // All keys of a generation that was closed; they are forgotten.
  [[nodiscard]] std::set<std::string> take_keys(std::size_t generation);

  [[nodiscard]] const TrafficCounts& counts() const { return counts_; }
  [[nodiscard]] const Delivery& delivery() const { return delivery_; }

 private:
  struct UnderWay {
    std::uint64_t id = 0;
    std::size_t generation = 0;
    history::Operation operation{};
  };
  struct ClientState {
    bool connected = false;
    std::string id{};
    std::string response_topic{};
    std::map<std::string, UnderWay, std::less<>> under_way{};  // by correlation data
    std::uint64_t wall_ms = 0;                                 // of its clock, at its last request
    std::uint64_t last_wall_ms = 0;
    std::uint64_t counter = 0;
    std::size_t planned = 0;                // requests of the plan that this client has sent
    std::uint64_t messages = 0;             // that came on its connection
    std::vector<std::uint64_t> given_up{};  // requests, since the last response on it
  };
  struct Generation {
    std::size_t under_way = 0;
    std::set<std::string> keys{};
  };

  [[nodiscard]] std::optional<history::Operation> next_operation(std::uint32_t client);
  [[nodiscard]] bool may_ask(std::uint32_t client, Time now);
  [[nodiscard]] codec::Message message_of(ClientState& state, const UnderWay& request,
                                          const std::string& correlation) const;
  void end(ClientState& state, const std::string& correlation, history::Operation& operation);
  void without_reply(ClientState& state, const std::string& correlation, std::string_view reason,
                     Delivery::Without why);
  void unmatched(const ClientState& state, const codec::Message& message);
  static void take_into_clock(ClientState& state, const hlc::Timestamp& version);
  void notified(std::uint32_t client, const codec::Message& message, Time at);

  TrafficOptions options_;
  Journal& journal_;
  Script script_;
  std::vector<ClientState> states_;
  std::map<std::size_t, Generation> generations_{};
  // Requests in the order in which they were sent, for give_up().
  struct Sent {
    Time called{0};
    std::uint32_t client = 0;
    std::string correlation{};
  };
  std::deque<Sent> sent_{};
  TrafficCounts counts_{};
  Delivery delivery_{};
  std::size_t under_way_ = 0;
  std::uint64_t next_id_ = 0;
  bool held_ = false;
  std::optional<Time> started_{};
  Time renewed_{0};
};

// Completes an operation by the reply to it. True when the reply says what became of it.
[[nodiscard]] bool read_reply(const codec::Message& reply, history::Operation& operation);

}  // namespace fencepost::stress
