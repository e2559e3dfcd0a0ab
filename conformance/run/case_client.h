// One MQTT client of a running case: sends requests, matches responses to them by correlation data,
// keeps notifications in order, and remembers whatever arrived unasked.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/message.h"
#include "codec/notification.h"
#include "conformance/run/transcript.h"
#include "endpoint/endpoint.h"

namespace fencepost::run {

struct Notified {
  codec::Message message;
  std::string key;  // decoded from the topic
  endpoint::Duration time{0};
};

// A request on its way.
struct Pending {
  std::string response_topic;
  std::optional<std::string> correlation_data;
  endpoint::Duration sent{0};
  std::optional<codec::Message> reply{};
  endpoint::Duration replied{0};
  std::optional<int> refused{};  // reason code of a PUBACK that refused it
  bool closed = false;           // must not be answered, and was not when it was judged
};

// What a client id has received, also over earlier connections: MQTT lets a broker deliver a
// message of QoS 1 again, marked as a duplicate, when it was not acknowledged before the connection
// ended.
using Received = std::vector<codec::Message>;

class CaseClient {
 public:
  // `received` is shared by all connections of this client id.
  CaseClient(std::string name, std::unique_ptr<endpoint::Client> client, std::string client_id,
             endpoint::Clock& clock, endpoint::Duration start,
             std::vector<TranscriptEntry>& transcript, std::shared_ptr<Received> received);

  // Sends; the returned request lives as long as this object.
  [[nodiscard]] Result<Pending*, endpoint::Error> send(const codec::Message& message);

  // Takes events until `done` holds, the connection ends, or `timeout` is over. True when `done`
  // holds.
  bool pump_until(const std::function<bool()>& done, endpoint::Duration timeout);
  // Takes what has arrived already.
  void drain();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& client_id() const { return client_id_; }
  [[nodiscard]] std::string response_topic() const;
  [[nodiscard]] endpoint::Client& raw() { return *client_; }
  [[nodiscard]] std::deque<Notified>& notifications() { return notifications_; }
  [[nodiscard]] const std::optional<endpoint::Disconnected>& disconnected() const {
    return disconnected_;
  }
  [[nodiscard]] std::vector<std::string>& surprises() { return surprises_; }
  [[nodiscard]] const std::deque<Pending>& requests() const { return requests_; }
  void note(std::string summary);
  // The broker has a reason to end this connection.
  void expect_end() { end_expected_ = true; }
  [[nodiscard]] bool ended_unexpectedly() const { return disconnected_ && !end_expected_; }

 private:
  void take(const endpoint::Event& event);
  void take_refusal(const endpoint::PublishRefused& refused);
  void take_message(const codec::Message& message, endpoint::Duration time);
  [[nodiscard]] Pending* find_request(const codec::Message& message);
  [[nodiscard]] bool is_redelivery(const codec::Message& message) const;

  std::string name_;
  std::unique_ptr<endpoint::Client> client_;
  std::string client_id_;
  endpoint::Clock& clock_;
  endpoint::Duration start_;
  std::vector<TranscriptEntry>& transcript_;
  std::shared_ptr<Received> received_;
  std::deque<Pending> requests_;  // which are pointed to
  std::size_t answered_ = 0;      // so many from the front on
  std::deque<Notified> notifications_;
  std::vector<std::string> surprises_;  // messages that nobody asked for, described
  std::optional<endpoint::Disconnected> disconnected_;
  bool end_expected_ = false;
};

}  // namespace fencepost::run
