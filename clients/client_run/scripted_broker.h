// A broker of MQTT 5 with a conforming store, which answers requests as the case says: late, twice,
// in another order, with other bytes, or not at all. Bytes in, bytes out: no sockets, and the time
// is an argument.
//
//   ScriptedBroker broker({.dialect = codec::DialectId::kDeployed});
//   const std::size_t ticket = broker.expect({.command = get, .answer = {PubackAct{}, CutAct{}}});
//   broker.received(1, bytes, now);
//   for (const Outgoing& each : broker.take_due(now)) send(each);
//   broker.awaited(ticket).came;
//
// Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clients/client_run/client_case.h"
#include "clients/finding.h"
#include "codec/dialect.h"
#include "codec/message.h"
#include "endpoint/wire/packet.h"
#include "endpoint/wire/packet_reader.h"
#include "reference_store/service.h"

namespace fencepost::client_run {

using clients::Time;

// What goes to a client.
struct Outgoing {
  std::uint64_t connection = 0;
  std::string bytes{};
  bool close = false;  // after the bytes
};

// A request that has to come.
struct Awaited {
  Command command{};
  Answer answer{};
  bool came = false;
  bool answered = false;  // a reply is on its way, or sent
  bool again = false;     // it has come once more, and was answered as by a conforming store
  std::optional<std::string> token{};         // that it had
  std::string payload_sent{};                 // of the first reply
  std::optional<std::string> version_sent{};  // its `__ts`
  // For a lock that was requested again: the replies of the conforming store.
  std::vector<codec::Message> replies_again{};
};

struct BrokerOptions {
  codec::DialectId dialect = codec::DialectId::kDeployed;
  Milliseconds clock_ahead{0};  // the store's clock, of the times
};

class ScriptedBroker {
 public:
  explicit ScriptedBroker(const BrokerOptions& options);

  // --- instructions of the case ---

  // Applies to connections from now on.
  void set_limits(const BrokerStep& limits) { limits_ = limits; }
  // The first request that equals the command, and has not come for another ticket, is answered so.
  std::size_t expect(Awaited request);
  // The replies of these wait until all have come, and go out in this order.
  void hold(std::vector<std::size_t> tickets) { held_tickets_ = std::move(tickets); }
  // Another client changes a key, now or later.
  void change(const OtherStep& change, Time now);
  void notify(const NotifyStep& message, Time now);
  // To the response topic of the last request.
  void unmatched(const UnmatchedStep& message, Time now);
  // All connections end.
  void cut(const CutStep& step, Time now);

  // --- what it has seen ---

  [[nodiscard]] const Awaited& awaited(std::size_t ticket) const { return awaited_.at(ticket); }
  // What an SDK that names itself has called the holder of its locks; empty: nothing yet.
  [[nodiscard]] const std::string& own_name() const { return own_name_; }
  // How many connections have been accepted so far, and is there one now?
  [[nodiscard]] std::size_t accepted() const { return accepted_; }
  [[nodiscard]] bool is_connected() const;
  // Has the connected client registered for notifications of the key on this connection?
  [[nodiscard]] bool is_observed(std::string_view key) const;
  // Payloads of unexpected requests; the last ones.
  [[nodiscard]] const std::deque<std::string>& others() const { return others_; }
  void forget_others() { others_.clear(); }
  // All packets, a line each, in the order in which they came and went: the last ones.
  [[nodiscard]] const std::deque<std::string>& trace() const { return trace_; }

  // --- the network ---

  void opened(std::uint64_t connection);
  void received(std::uint64_t connection, std::string_view bytes, Time now);
  void closed(std::uint64_t connection);
  // What has to be sent by now, in order.
  [[nodiscard]] std::vector<Outgoing> take_due(Time now);
  // When there is more of that; nothing: nothing waits.
  [[nodiscard]] std::optional<Time> next_due() const;

 private:
  struct Session {
    std::map<std::string, std::uint8_t> subscriptions{};  // filter -> QoS
    std::map<std::uint16_t, wire::Publish> unacknowledged{};
    std::vector<codec::Message> queued{};  // while no client was connected
    std::uint16_t last_id = 0;
    bool persists = false;  // after its connection
  };
  struct Connection {
    wire::PacketReader reader;
    std::string client_id{};
    bool accepted = false;
    bool ended = false;
    std::size_t largest_packet = 0;  // that the client takes; 0: no limit
    std::set<std::string, std::less<>> observed{};
  };
  struct Arrival {
    std::uint64_t connection;
    const wire::Publish& publish;
    Time now;
  };

  void handle(std::uint64_t number, const wire::Packet& packet, Time now);
  void on_connect(std::uint64_t number, const wire::Connect& connect, Time now);
  void on_subscribe(std::uint64_t number, const wire::Subscribe& subscribe, Time now);
  void on_unsubscribe(std::uint64_t number, const wire::Unsubscribe& unsubscribe, Time now);
  void on_publish(const Arrival& arrival);
  void on_request(const Arrival& arrival);
  // What a conforming store answers to it, if anything; what is sent may differ.
  std::optional<codec::Message> answer(const Arrival& arrival, Awaited* awaited);
  void carry_out_change(const OtherStep& change, Time now);
  // To its own connection, or to the session of a client that is away.
  void deliver_to_sessions(const codec::Message& message, Time at);
  // A message in transit and its receiver. `awaited`: whose reply it is; may be null.
  static void note_answer(const codec::Message& message, Awaited* awaited);
  // The same, and sends it.
  void reply(codec::Message message, Awaited* awaited, Time at);
  // The expected reply; nothing where a conforming store sends no response.
  std::optional<codec::Message> carry_out(const Arrival& arrival, const codec::Message& request);
  struct Match {
    Awaited* awaited = nullptr;  // null: it is not expected
    bool again = false;          // it has come before
  };
  [[nodiscard]] Match find_awaited(const wire::Publish& publish);
  [[nodiscard]] bool equals(const Command& command, const codec::Command& seen) const;
  void note_observation(Connection& connection, const wire::Publish& publish);
  void change_reply(codec::Message& reply, const ReplyScript& script, const wire::Publish& request);
  void deliver(const store::Delivery& delivery, Time at);
  void publish(std::uint64_t number, const codec::Message& message, Time at);
  void queue(std::uint64_t number, const wire::Packet& packet, Time at);
  void refuse(std::uint64_t number, std::uint8_t reason, Time now);
  void release_held(Time now);
  [[nodiscard]] std::optional<std::uint64_t> connection_of(std::string_view client_id) const;
  [[nodiscard]] store::Instant instant(Time now) const;
  void note(char direction, std::string_view bytes);

  codec::DialectId dialect_;
  Milliseconds clock_ahead_;
  BrokerStep limits_{};
  store::Service service_;
  std::map<std::uint64_t, Connection> connections_{};
  std::map<std::string, Session, std::less<>> sessions_{};
  std::deque<Awaited> awaited_{};
  std::vector<std::size_t> held_tickets_{};
  std::map<std::size_t, codec::Message> held_{};  // ticket -> reply
  std::multimap<Time, Outgoing> due_{};
  std::multimap<Time, codec::Message> late_{};  // for the clients that are subscribed then
  std::multimap<Time, OtherStep> later_{};      // changes by others
  std::string response_topic_{};                // of the last request
  std::uint64_t changes_ = 0;                   // by others
  std::string own_name_{};
  bool duplicate_ = false;  // what is published now
  std::size_t accepted_ = 0;
  std::deque<std::string> others_{};
  std::deque<std::string> trace_{};
};

}  // namespace fencepost::client_run
