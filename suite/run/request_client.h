// One MQTT client of a store: sends requests, finds the reply of each by its topic and correlation
// data, keeps notifications in order, and remembers unsolicited messages. Cases use it, and so does
// everything else in the suite that sends requests.
//
//   RequestClient client("a", std::move(connection), client_id, session.clock());
//   if (!client.raw().subscribe(client.response_topic())) return;
//   auto exchange = client.send(client.request({"GET", "key"}));
//   if (exchange && client.await(**exchange, kReplyTimeout)) use(*(*exchange)->reply);
//
// Used by one thread at a time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text/phrase.h"
#include "codec/message.h"
#include "endpoint/endpoint.h"
#include "endpoint/held_bytes.h"
#include "suite/judge/attribution.h"
#include "suite/run/client_pool.h"
#include "suite/run/transcript.h"

namespace fencepost::run {

// What the public client SDKs send, and some stores insist on.
inline constexpr std::size_t kCorrelationBytes = 16;

// A notification on the topic that this client's notifications come on.
struct Notified {
  codec::Message message;
  std::string key;  // decoded from the topic
  endpoint::Duration time{0};
  bool before_response = false;                     // the last request was not answered yet
  std::optional<endpoint::Duration> told_before{};  // when the same came, last
};

// A message that is neither the reply to an open request nor a notification of this client, or a
// PUBACK that contradicts a reply.
struct UnsolicitedMessage {
  text::Phrase text;
  std::string rule{};  // that it breaks; empty where the case alone can tell
  std::optional<codec::Message> message{};
  endpoint::Duration time{0};
};

// What a client id has received, also over earlier connections: MQTT lets a broker deliver a
// message of QoS 1 again, marked as a duplicate, when it was not acknowledged before the connection
// ended. (MQTT 5, 3.3.1.1 and 4.4) Of each message a digest: the bytes may be many.
using Received = std::unordered_set<std::size_t>;

// Where a client writes down what it sends and receives. Both must outlive the client.
struct Recording {
  std::vector<TranscriptEntry>& transcript;
  endpoint::Duration start{0};         // on the session's clock: entries count from here
  TranscriptBudget* budget = nullptr;  // null: no limit. Must outlive the client
};

class RequestClient {
 public:
  // `received` is shared by all connections of this client id; null: this is the only one. `clock`
  // must outlive the client.
  RequestClient(std::string name, std::unique_ptr<endpoint::Client> client, std::string client_id,
                endpoint::Clock& clock, std::optional<Recording> recording = std::nullopt,
                std::shared_ptr<Received> received = nullptr);

  // The same on a connection that has served others. Responses to their requests that come late are
  // left out.
  RequestClient(std::string name, SpareClient spare, endpoint::Clock& clock,
                std::optional<Recording> recording = std::nullopt,
                std::shared_ptr<Received> received = nullptr);

  // A request for the store with this client's response topic and correlation data of its own.
  [[nodiscard]] codec::Message request(const std::vector<std::string_view>& arguments);

  // Ends what well-formed requests have registered, so that the connection can be clean. False when
  // something else may be registered, or the store does not confirm it within `timeout`.
  bool end_registrations(endpoint::Duration timeout);
  // Can another use the connection? Each request was answered and had correlation data of its own,
  // nothing is registered, and nothing else has come. `unique_bytes`: correlation data of this
  // length is never chosen again, either.
  [[nodiscard]] bool is_clean(std::size_t unique_bytes = kCorrelationBytes) const;
  // Gives up a clean connection, which stays open. Only the name and the exchanges' replies can be
  // used then.
  [[nodiscard]] SpareClient release();

  // Sends, in such a packet if there is one. The exchange lives as long as this object; on failure
  // there is none.
  [[nodiscard]] Result<judge::Exchange*, endpoint::Error> send(
      codec::Message request, const std::optional<endpoint::RawPacket>& odd = std::nullopt);

  // Waits for the end of an exchange. False when there is none within `timeout`, or the connection
  // has ended.
  bool await(const judge::Exchange& exchange, endpoint::Duration timeout);

  // The same for callers that judge envelopes themselves: what has only the topic or only the
  // correlation data of the exchange is also its reply, and not unsolicited.
  bool await_loosely(judge::Exchange& exchange, endpoint::Duration timeout);

  // Takes events until `done` holds, the connection ends, or `timeout` is over. True when `done`
  // holds.
  bool pump_until(const std::function<bool()>& done, endpoint::Duration timeout);
  // Takes what has arrived already.
  void drain();
  // The same of what has been read from the connection already.
  void take_read();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& client_id() const { return client_id_; }
  [[nodiscard]] std::string response_topic() const;
  [[nodiscard]] endpoint::Client& raw() { return *client_; }
  [[nodiscard]] std::deque<Notified>& notifications() { return notifications_; }
  [[nodiscard]] const std::optional<endpoint::Disconnected>& disconnected() const {
    return disconnected_;
  }
  [[nodiscard]] std::deque<UnsolicitedMessage>& unsolicited() { return unsolicited_; }
  [[nodiscard]] const judge::Exchanges& exchanges() const { return exchanges_; }
  // Drops the exchanges at the front that were answered, and their replies: of many thousands all
  // would be held. What points to them ends.
  void forget_answered();
  // Adds a line of our own to the transcript.
  void note(std::string summary);
  // The broker has a reason to end this connection.
  void expect_end() { end_expected_ = true; }
  [[nodiscard]] bool ended_unexpectedly() const { return disconnected_ && !end_expected_; }

 private:
  void record(endpoint::Duration time, Direction direction, const codec::Message& message);
  void keep(TranscriptEntry entry);
  void take(endpoint::Event event);
  void take_refusal(const endpoint::PublishRefused& refused, endpoint::Duration time);
  void take_message(codec::Message message, endpoint::Duration time);
  void take_notification(codec::Message message, endpoint::Duration time);
  [[nodiscard]] bool floods(const codec::Message& message);
  [[nodiscard]] judge::Exchange* find_request(const codec::Message& message);
  [[nodiscard]] bool is_of_earlier(const codec::Message& message) const;
  [[nodiscard]] bool is_redelivery(const codec::Message& message) const;
  [[nodiscard]] std::int64_t wall_at(endpoint::Duration time) const;

  std::string name_;
  std::unique_ptr<endpoint::Client> client_;
  std::string client_id_;
  endpoint::Clock& clock_;
  std::optional<Recording> recording_;
  std::shared_ptr<Received> received_;
  judge::Exchanges exchanges_;  // which are pointed to
  std::size_t answered_ = 0;    // how many from the front on
  std::size_t own_requests_ = 0;
  std::set<std::string> earlier_;  // correlation data of those who had the connection before
  std::set<std::string, std::less<>> earlier_keys_{};  // that they have observed
  bool registrations_ended_ = false;
  std::deque<Notified> notifications_;
  std::unordered_map<std::size_t, endpoint::Duration> notified_;  // by their digests
  std::deque<UnsolicitedMessage> unsolicited_;
  std::optional<endpoint::Disconnected> disconnected_;
  bool end_expected_ = false;
  std::size_t unasked_bytes_ = 0;
  endpoint::HeldBytes held_;  // replies and unsolicited messages
};

}  // namespace fencepost::run
