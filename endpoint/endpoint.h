// How a message reaches a store: the one seam between the suite and the store under test. Nothing
// above it knows whether the store is a function call away with a hand-cranked clock, a child
// process on loopback, or a cluster.
//
//   std::unique_ptr<Endpoint> endpoint = make_in_process_endpoint({});  // or make_mqtt_endpoint()
//   auto session = endpoint->open_session();
//   auto client = (*session)->connect({.client_id = "c1"});
//   (*client)->subscribe("replies/c1");  // returns when the subscription is in force
//   (*client)->publish(request);         // returns when the message is on its way
//   std::optional<Event> event = (*client)->receive(2s);  // nothing: none has come in time
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/message.h"
#include "endpoint/disturbance.h"
#include "endpoint/durability.h"
#include "endpoint/mqtt_extras.h"

namespace fencepost::endpoint {

// All times and time-outs at this seam are microseconds.
using Duration = std::chrono::microseconds;

enum class ErrorKind {
  kInvalid,      // the endpoint's description makes no sense: nothing was tried
  kUnreachable,  // no connection: refused, no route, no such host, no answer in time, TLS handshake
                 // failed
  kNotAllowed,   // the broker answered and refused the client or the subscription
  kLost,         // there was a connection, and it is gone
  kTimeout,      // connected, but the broker did not acknowledge in time
  kInternal,     // the client library or the child process misbehaved
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string text;                  // what was tried, what happened, for people
  std::optional<int> reason_code{};  // MQTT 5 reason code, when there is one
};

struct MessageReceived {
  codec::Message message;
};
struct PublishRefused {
  int reason_code = 0;           // of a PUBREC, 0x80 or greater; of a PUBACK, no success
  std::string correlation_data;  // of the message that was refused
};
struct Disconnected {
  std::optional<int> reason_code{};  // of a DISCONNECT packet; brokers may close without one
  std::string text{};     // the protocol error of the broker; empty: it just ended the connection
  std::string section{};  // of MQTT 5, which forbids a server what `text` says: "4.3.2"; or empty
};

struct Event {
  std::variant<MessageReceived, PublishRefused, Disconnected> what;
  Duration time{0};  // on the session's clock, taken when the event reached the client library
};

// The endpoint's time. A stepped clock moves only when somebody waits.
class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since the Unix epoch, as a client near the store would read them.
  [[nodiscard]] virtual std::uint64_t wall_ms() const = 0;
  // Monotonic; only differences are meaningful.
  [[nodiscard]] virtual Duration now() const = 0;
  // Returns when `now()` has reached `time`.
  virtual void wait_until(Duration time) = 0;
};

// How the packet of a message differs from what a client library makes of it.
struct RawPacket {
  bool duplicate = false;                    // the DUP flag
  bool qos_3 = false;                        // there is none
  std::optional<std::uint16_t> packet_id{};  // this one, regardless of what is unacknowledged
  std::string more_properties{};             // bytes behind the properties of the message
  std::int32_t wrong_length = 0;  // so much too great is the length of the properties, or too small
  friend bool operator==(const RawPacket&, const RawPacket&) = default;
};

// One MQTT connection. Used by one thread at a time. Destroying it disconnects.
class Client {
 public:
  virtual ~Client() = default;

  // Waits for the SUBACK. A refusal is kNotAllowed with its reason code, and so is a grant of
  // another QoS than 1, the requested one.
  [[nodiscard]] virtual Result<void, Error> subscribe(const std::string& filter) = 0;

  // Ends a subscription; waits for the UNSUBACK.
  [[nodiscard]] virtual Result<void, Error> unsubscribe(const std::string& filter) = 0;

  // Hands the message over; the broker's answer arrives through receive(). kLost after the
  // connection has ended, kInvalid for what the client library cannot put into a packet.
  [[nodiscard]] virtual Result<void, Error> publish(const codec::Message& message) = 0;

  // The same in such a packet. kInvalid without Capabilities::raw_packets.
  [[nodiscard]] virtual Result<void, Error> publish_raw(const codec::Message& /*message*/,
                                                        const RawPacket& /*odd*/) {
    return fail(Error{ErrorKind::kInvalid, "this client cannot send raw packets"});
  }

  // The next event, in order of arrival; nothing when none came within `timeout` of the session's
  // clock.
  [[nodiscard]] virtual std::optional<Event> receive(Duration timeout) = 0;

  // The next event that has been read from the connection already: costs no system call.
  [[nodiscard]] virtual std::optional<Event> take() { return receive(Duration::zero()); }

  // The bytes that a packet to the broker may have on this connection: the Maximum Packet Size of
  // its CONNACK, else Capabilities::max_packet_size. Nothing when neither is known.
  [[nodiscard]] virtual std::optional<std::uint32_t> packet_limit() const { return std::nullopt; }

  // Does the broker continue the session of an earlier connection of this client id? Then the
  // subscriptions of that are in force. (MQTT 5, 3.2.2.1.1)
  [[nodiscard]] virtual bool has_resumed() const { return false; }

  // Returns when the broker has acknowledged what was published with QoS 1 or 2, but for raw
  // packets. What it has not within `timeout` of our time ends the connection, with
  // Disconnected::section. A client without acknowledgements, or of a library that does not tell of
  // them, returns immediately.
  virtual void await_acknowledgements(Duration /*timeout*/) {}

  // Between gather(true) and gather(false) what is published is kept back, and then written
  // together: the broker reads it in as few pieces as can be. A client that cannot do that
  // publishes as ever.
  virtual void gather(bool /*on*/) {}

  // May ClientOptions::on_event use the client itself?
  [[nodiscard]] virtual bool serves_in_place() const { return false; }

  // Ends the connection with a DISCONNECT packet.
  virtual void disconnect() = 0;

  // Ends the connection as a broken network does: no DISCONNECT packet.
  virtual void drop() = 0;
};

// What the broker publishes, with QoS 1, when the connection is lost.
struct Will {
  std::string topic;
  std::string payload;
};

struct ClientOptions {
  std::string client_id;
  std::string role{};  // whose credentials to use; empty: the endpoint's own
  bool clean_start = true;
  std::uint32_t session_expiry_seconds = 0;
  // Messages of QoS 1 that may be unacknowledged, and bytes of a packet to this client; 0: what the
  // client library takes, and any. A client that is a function call away ignores these and the
  // will.
  std::uint16_t receive_maximum = 0;
  std::uint32_t max_packet_size = 0;
  std::optional<Will> will{};
  MqttExtras extras{};  // needs Capabilities::raw_packets
  // For such a client, publish() sends only topic and payload, and nothing is received but the end
  // of the connection; subscribe() shows that what was published has been read. A broker that does
  // not take it is kNotAllowed. Needs Capabilities::raw_packets.
  bool mqtt_3_1_1 = false;
  // What comes while nobody waits for it may be read at the next call, or within a second or two,
  // and has that time: saves system calls.
  bool read_late = false;
  bool droppable = false;  // drop() will be called; some client libraries have to prepare for it
  // Called when something has come for receive() and nobody waits there: from a thread of the
  // client library, for many clients one after the other, and once more perhaps while the client is
  // being destroyed. It has to be quick. Where Client::serves_in_place() it may call publish() and
  // take(), else nothing of the client. A client that is a function call away
  // does not call it.
  std::function<void()> on_event{};
};

// One case's view of the endpoint. Sessions of one endpoint may be used by different threads at the
// same time.
class Session {
 public:
  virtual ~Session() = default;
  [[nodiscard]] virtual Clock& clock() = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Client>, Error> connect(
      const ClientOptions& options) = 0;

  // Makes a client ready for its caller, e.g. subscribes; what fails is an error of its connect.
  using Prepare = std::function<Result<void, Error>(std::size_t number, Client& client)>;

  // Connects each of these and calls `prepare` with it: one result for each, in their order. Over a
  // network some do so in parallel, on several threads, as each takes several round trips. When one
  // has failed, no other is begun: those are kInvalid, and behind it.
  [[nodiscard]] virtual std::vector<Result<std::unique_ptr<Client>, Error>> connect_all(
      const std::vector<ClientOptions>& all, const Prepare& prepare) {
    std::vector<Result<std::unique_ptr<Client>, Error>> out(all.size());
    bool failed = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      out[i] = failed ? fail(not_begun()) : connect_and_prepare(i, all[i], prepare);
      failed = !out[i];
    }
    return out;
  }

  // A time that the caller has measured in other sessions, and goes by in this one. A session that
  // is judged again, from a file, gives back what was measured then.
  [[nodiscard]] virtual Duration measured(Duration time) { return time; }

  // Does this to the broker behind the endpoint, for all sessions. Returns when it answers a
  // CONNECT with `client_id` again. kInvalid for a kind that is not in Capabilities::disturbances.
  [[nodiscard]] virtual Result<void, Error> disturb(const Disturbance& disturbance) {
    return fail(Error{ErrorKind::kInvalid,
                      "this endpoint cannot be " + std::string(disturbance.kind.done)});
  }

 protected:
  [[nodiscard]] static Error not_begun() {
    return {ErrorKind::kInvalid, "another client could not be connected before"};
  }
  [[nodiscard]] Result<std::unique_ptr<Client>, Error> connect_and_prepare(
      std::size_t number, const ClientOptions& options, const Prepare& prepare) {
    auto client = connect(options);
    if (!client) return client;
    if (auto done = prepare(number, **client); !done) return fail(done.error());
    return client;
  }
};

// What an endpoint offers beyond the protocol itself; cases name what they need with `requires:`.
struct Capabilities {
  bool transport = true;               // real MQTT connections
  std::optional<std::size_t> quota{};  // keys that fit, when known and small enough to be filled
  bool has_isolated_broker = false;    // SessionRequest::isolated is on a broker of its own
  bool ephemeral = false;              // it and its keys are gone when the run ends
  bool exact_clock = false;            // the store reads the very clock of the sessions
  std::vector<std::string> roles{};    // more than the default ones, e.g. "restricted"
  // By role: the only client id that has its rights. One client at a time can use it.
  std::map<std::string, std::string> client_ids{};
  std::optional<std::uint32_t> max_packet_size{};     // bytes that a PUBLISH may have, when known
  std::set<std::string, std::less<>> disturbances{};  // that can be done to it: names of kinds
  Durability durability = Durability::kNone;  // that it declares; see target::durability_of()
  // The store sees who sends a request, with which QoS, and the end of a connection, and it can end
  // one: it is in the broker. False: it is a client of the broker.
  bool store_in_broker = true;
  bool raw_packets = false;              // Client::publish_raw(), mqtt_3_1_1 and extras can be used
  std::string key_prefix = "fencepost";  // what all keys of the suite begin with

  [[nodiscard]] bool has_role(std::string_view role) const;
};

struct SessionRequest {
  // The caller, e.g. "SET-1/2", each one once: endpoints that write evidence, or judge it, find
  // what belongs to him by it. Empty: nobody whose session is looked for again.
  std::string caller{};
  // For a case that disturbs others: that fills the quota, sends the largest packets or restarts
  // the broker. An endpoint may keep a broker with low limits for those, so that they disturb
  // nobody; see Capabilities::has_isolated_broker.
  bool isolated = false;
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  [[nodiscard]] virtual const std::string& url() const = 0;  // without password
  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Session>, Error> open_session(
      const SessionRequest& request = {}) = 0;

  // May a client be used with the clock of another session, and when its own session is gone? True
  // where sessions are views of one broker and one clock.
  [[nodiscard]] virtual bool sessions_share_clients() const { return false; }

  // Is the endpoint still there? Called after a connection broke; answers within `timeout`. For
  // `caller` see SessionRequest.
  [[nodiscard]] virtual Result<void, Error> check_reachable(Duration timeout,
                                                            const std::string& caller = {}) = 0;
};

}  // namespace fencepost::endpoint
