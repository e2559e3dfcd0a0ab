#include "fuzz/service_driver.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/base16.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/message.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "codec/topics.h"
#include "hlc/hlc.h"
#include "reference_store/service.h"
#include "workload/byte_reader.h"
#include "workload/operation.h"
#include "workload/rendering.h"
#include "workload/testing/model_run.h"
#include "workload/testing/naive_model.h"

namespace fencepost::fuzz {

namespace {

using codec::Message;
using store::Handling;
using workload::Kind;
using workload::Offered;
using workload::Operation;
using workload::Prediction;
using namespace std::string_literals;

constexpr std::uint64_t kNoon = 1'696'374'425'000;
// Enough for state to build up; each message is followed by a look at all of it.
constexpr std::size_t kMaxMessages = 16;
constexpr std::uint8_t kProbe = 2;  // the client that must be served regardless of what others send
constexpr std::uint8_t kLong = 3;   // the client that cannot observe keys above ten bytes
const std::string kProbeKey = "probe";

const std::array<std::string, workload::kClients>& clients() {
  static const std::array<std::string, workload::kClients> ids = {"c", "d/+#", "probe",
                                                                  std::string(32'720, 'l')};
  return ids;
}

// What the topics of their notifications begin with: the key follows.
const std::array<std::string, workload::kClients>& topic_prefixes() {
  static const auto prefixes = [] {
    std::array<std::string, workload::kClients> out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out.at(i) = std::string(codec::kStorePrefix) + "/" + codec::base16_encode(clients().at(i)) +
                  "/command/notify/";
    }
    return out;
  }();
  return prefixes;
}

// Response topics: absent, legal ones, and those that the documents refuse.
const std::vector<std::optional<std::string>>& response_topics() {
  static const std::vector<std::optional<std::string>> topics = {
      "clients/c/response",
      std::nullopt,
      "",
      "clients/+/response",
      "clients/c/#",
      "$SYS/response",
      std::string(codec::kRequestTopic),
      std::string(codec::kStorePrefix),
      std::string(codec::kStorePrefix) + "X/y",
      "clients/STATESTORE/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8",
      "a\0b"s,
      "//",
      "c"};
  return topics;
}

// Written from the article, without a look at codec/topics.cc.
bool may_be_response_topic(const std::string& topic) {
  for (const char c : topic) {
    if (c == '+' || c == '#' || c == '\0') return false;
  }
  return !topic.empty() && topic[0] != '$' && topic != codec::kRequestTopic &&
         topic.rfind(codec::kStorePrefix, 0) != 0;
}

const std::vector<std::string>& payloads() {
  using codec::encode_command;
  static const std::vector<std::string> pool = {
      encode_command({"SET", "k", "v"}),
      encode_command({"GET", "k"}),
      encode_command({"DEL", "k"}),
      encode_command({"VDEL", "k", "v"}),
      encode_command({"KEYNOTIFY", "k"}),
      encode_command({"KEYNOTIFY", "k", "STOP"}),
      encode_command({"SET", "k", "w", "NX"}),
      encode_command({"SET", "k", "v", "NEX", "PX", "50"}),
      encode_command({"SET", "a longer key", "", "PX", "0"}),
      encode_command({"KEYNOTIFY", "a longer key"}),
      encode_command({"KEYNOTIFY", "a longer key", "STOP"}),
      encode_command({"SET", "k", "v", "PX", "1.5"}),
      encode_command({"SET", "", "v"}),
      encode_command({"set", "k", "v"})};
  return pool;
}

const std::vector<std::string>& property_names() {
  static const std::vector<std::string> names = {
      "__ts", "__ft", "__TS", "__stat", "__protVer", "aio-persistence", "", "__ts "};
  return names;
}

constexpr std::array<std::int32_t, 8> kWaits = {0, 1, 49, 50, 51, 100, 1'000, 60'001};
constexpr unsigned kDisconnects = 0xF8;   // first byte of a message
constexpr unsigned kFreeProperty = 0xC0;  // first byte of a property's value
constexpr unsigned kFreePayload = 0x80;   // first byte of a payload

std::string property_value(workload::ByteReader& reader, std::uint64_t now_ms) {
  constexpr std::array<std::int64_t, 8> kOffsets = {0, 1, -1, 59'999, 60'000, 60'001, -60'001, 5};
  constexpr unsigned kTimestamps = 0x40;
  constexpr unsigned kMalformed = 0x80;
  const unsigned first = reader.byte();
  if (first >= kFreeProperty) {
    return std::string(reader.bytes(first - kFreeProperty));
  };
  if (first >= kMalformed) {
    return workload::malformed_texts()[first % workload::malformed_texts().size()].text;
  }
  hlc::Timestamp timestamp{.wall_ms = now_ms, .counter = 0, .node = "n"};
  timestamp.wall_ms += static_cast<std::uint64_t>(kOffsets.at(first % kOffsets.size()));
  if (first >= kTimestamps) timestamp.counter = reader.byte();
  return format(timestamp, hlc::Padding::kNone);
}

Offered read(const std::string* text) {
  Offered offered;
  if (text == nullptr) return offered;
  Result<hlc::Timestamp, hlc::ParseErrorCode> timestamp = hlc::parse(*text);
  offered.form = timestamp ? Offered::Form::kTimestamp : Offered::Form::kMalformed;
  if (timestamp) offered.timestamp = std::move(*timestamp);
  return offered;
}

class Driver {
 public:
  Driver(codec::DialectId id, const store::Rules& rules)
      : dialect_(codec::dialect(id)),
        service_({.dialect = id, .store = {.rules = rules}}),
        model_({.clients = clients(), .fractional_expiry = dialect_.fractional_expiry}) {}

  std::optional<std::string> run(workload::ByteReader& reader) {
    for (std::size_t i = 0; i < kMaxMessages && !reader.at_end() && !wrong_; ++i) {
      message(reader);
      if (wrong_) *wrong_ = "message " + std::to_string(i) + ": " + *wrong_;
    }
    return wrong_;
  }

 private:
  void message(workload::ByteReader& reader) {
    constexpr std::array<std::uint8_t, 4> kSenders = {0, 1, 0, kLong};
    const unsigned first = reader.byte();
    const unsigned second = reader.byte();
    const std::uint8_t client = kSenders.at(second % kSenders.size());
    pass(kWaits.at((second >> 5U) % kWaits.size()));
    if (first >= kDisconnects) {
      service_.disconnect(clients()[client]);
      predict({.kind = Kind::kDisconnect, .client = client}, nullptr, nullptr);
      return look_at_all();
    }
    Message request;
    request.topic = std::string(codec::kRequestTopic);
    constexpr std::array<int, 8> kQos = {1, 1, 1, 1, 1, 1, 0, 2};
    request.qos = kQos.at(first % kQos.size());
    request.response_topic = response_topics()[(first >> 3U) % response_topics().size()];
    if (first % 16 != 5) request.correlation_data = first % 16 == 3 ? "" : "correlation";
    request.retain = second % 8 == 7;
    const std::size_t properties = (second >> 2U) % 8;
    for (std::size_t i = 0; i < properties; ++i) {
      const std::string& name = property_names()[reader.below(property_names().size())];
      request.user_properties.emplace_back(name, property_value(reader, now_.wall_ms));
    }
    request.payload = payload(reader);
    exchange(client, request);
    probe();
    look_at_all();
  }

  static std::string payload(workload::ByteReader& reader) {
    const unsigned first = reader.byte();
    if (first < kFreePayload) return payloads()[first % payloads().size()];
    const std::size_t size = (first - kFreePayload) * 256 + reader.byte();
    return std::string(reader.bytes(size));
  }

  // Time passes, and the store's timer runs.
  void pass(std::int32_t ms) {
    now_.wall_ms += static_cast<std::uint64_t>(ms);
    now_.steady += std::chrono::milliseconds{ms};
    out_.clear();
    service_.expire(now_, out_);
    const Operation wait{.kind = Kind::kWait, .by_ms = ms, .timer = true};
    expect_notifications(predict(wait, nullptr, nullptr), out_.size());
  }

  const Prediction& predict(const Operation& operation, const std::string* timestamp,
                            const std::string* token) {
    timestamp_ = read(timestamp);
    token_ = read(token);
    return model_.apply({.index = count_++,
                         .operation = operation,
                         .timestamp = timestamp_,
                         .token = token_,
                         .now = {now_.wall_ms, now_.steady}});
  }

  // A message through the service, and what has to come of it.
  void exchange(std::uint8_t client, const Message& request) {
    out_.clear();
    const Handling handling =
        service_.handle({.client_id = clients()[client]}, request, now_, out_);
    const bool bad_topic =
        request.response_topic && !may_be_response_topic(*request.response_topic);
    const bool silent = request.qos != 1 || !request.correlation_data || !request.response_topic;
    if (bad_topic || silent) {
      expect(handling != Handling::kAnswered, "an illegal envelope is answered");
      expect(silent || handling == Handling::kDisconnect, "an illegal response topic is borne");
      expect(bad_topic || handling == Handling::kIgnored, "disconnected without a reason");
      return expect(out_.empty(), "an illegal envelope has effects");
    }
    const Prediction& expected = predict(
        {.kind = Kind::kRawPayload, .client = client, .value = request.payload},
        request.property(codec::kTimestampProperty), request.property(codec::kTokenProperty));
    expect(handling == Handling::kAnswered, "a request is not answered");
    if (out_.empty()) return expect(false, "a request has no response");
    // What PX 0 stored may be notified as deleted before the response, or with the next timer.
    const Message response = std::move(out_.back().message);
    expect(out_.back().client_id.empty(), "the response is sent to one client alone");
    out_.pop_back();
    service_.expire(now_, out_);
    expect_notifications(expected, out_.size());
    expect_response(request, response, expected);
  }

  void expect_response(const Message& request, const Message& response,
                       const Prediction& expected) {
    Message right;
    right.topic = *request.response_topic;
    right.correlation_data = request.correlation_data;
    right.content_type = std::string(codec::kContentType);
    right.payload_format = std::uint8_t{0};
    append_reply(right.payload,
                 {.kind = expected.kind,
                  .value = expected.value,
                  .count = expected.count,
                  .error = expected.error},
                 codec::verb_of(request.payload), dialect_);
    expect(response.topic == right.topic, "the response goes elsewhere");
    if (response.payload != right.payload) {
      expect(false, "payload \"" + escape(response.payload) + "\" rather than \"" +
                        escape(right.payload) + "\"");
    }
    const std::string* version = response.property(codec::kTimestampProperty);
    expect((version != nullptr) == expected.version.has_value(), "presence of a version");
    if (version != nullptr && expected.version) {
      const std::string text = text_of(*expected.version);
      if (*version != text) expect(false, "version " + *version + " rather than " + text);
    }
    const std::string* status = response.property(codec::kStatusProperty);
    expect(status != nullptr && *status == "200", "the status is not 200");
    right.user_properties = response.user_properties;
    expect(response == right, "the envelope of the response");
    expect(response.user_properties.size() == (expected.version ? 2U : 1U), "user properties");
  }

  void expect_notifications(const Prediction& expected, std::size_t count) {
    expect(count == expected.notifications.size(), "number of notifications");
    for (std::size_t i = 0; i < count && !wrong_; ++i) {
      const workload::ExpectedNotification& notification = expected.notifications[i];
      const store::Delivery& delivery = out_[i];
      const std::string& client = clients()[notification.client];
      expect(delivery.client_id == client, "the client of a notification");
      const std::string& prefix = topic_prefixes()[notification.client];
      expect(delivery.message.topic.starts_with(prefix) &&
                 delivery.message.topic.compare(prefix.size(), std::string::npos,
                                                codec::base16_encode(notification.key)) == 0,
             "the topic of a notification");
      std::string payload;
      append_notification(
          payload, {.operation = notification.operation, .value = notification.value}, dialect_);
      expect(delivery.message.payload == payload, "the payload of a notification");
      const std::string* version = delivery.message.property(codec::kTimestampProperty);
      expect(version != nullptr && *version == text_of(notification.version),
             "the version of a notification");
      expect(delivery.message.qos == 1 && !delivery.message.retain, "QoS of a notification");
    }
  }

  // A client that does everything right is served.
  void probe() {
    const hlc::Timestamp now{.wall_ms = now_.wall_ms, .counter = 0, .node = "probe"};
    set_.user_properties.front().second = text_of(now);
    exchange(kProbe, set_);
    get(kProbeKey);
  }

  void get(const std::string& key) {
    get_.payload = codec::encode_command({"GET", key});
    exchange(kProbe, get_);
  }

  static Message request_of_probe() {
    Message request;
    request.topic = std::string(codec::kRequestTopic);
    request.response_topic = "clients/probe/response";
    request.correlation_data = "0123456789abcdef";
    return request;
  }

  static Message set_of_probe() {
    Message request = request_of_probe();
    request.payload = codec::encode_command({"SET", kProbeKey, "alive"});
    request.user_properties.emplace_back(codec::kTimestampProperty, "");
    return request;
  }

  // The store holds what the model holds, and nothing else.
  void look_at_all() {
    expect(service_.key_count() == model_.size(), "number of keys");
    expect(service_.next_expiry() == model_.next_expiry(), "next expiry");
    for (const workload::KeyState& state : model_.state({now_.wall_ms, now_.steady})) {
      get(state.key);
    }
  }

  [[nodiscard]] std::string text_of(const hlc::Timestamp& version) const {
    return format(version,
                  dialect_.padded_versions ? hlc::Padding::kCanonical : hlc::Padding::kNone);
  }

  // The text is a view, and what has to be put together is put together only when it is needed:
  // this is called more often than all else.
  void expect(bool right, std::string_view what) {
    if (!right && !wrong_) wrong_ = what;
  }

  const codec::Dialect& dialect_;
  store::Service service_;
  workload::NaiveModel model_;
  store::Instant now_{.wall_ms = kNoon, .steady = std::chrono::microseconds{0}};
  Message set_ = set_of_probe();
  Message get_ = request_of_probe();
  std::vector<store::Delivery> out_;
  Offered timestamp_;
  Offered token_;
  std::size_t count_ = 0;
  std::optional<std::string> wrong_;
};

}  // namespace

std::string encode(const RawMessage& message) {
  std::string out;
  const auto put = [&out](std::size_t byte) { out += static_cast<char>(byte); };
  put(message.disconnect ? kDisconnects : message.envelope);
  put(message.client | (message.properties.size() << 2U) | (message.wait << 5U));
  if (message.disconnect) return out;
  for (const auto& [name, text] : message.properties) {
    put(name);
    put(kFreeProperty + text.size());
    out += text;
  }
  put(kFreePayload + message.payload.size() / 256);
  put(message.payload.size() % 256);
  return out + message.payload;
}

std::string service_input(const workload::Trace& trace) {
  constexpr std::size_t kMaxText = 63;
  workload::NaiveModel model({.clients = clients()});
  workload::ModelRun run(model, kNoon);
  std::string out(1, '\x01');  // the deployed dialect
  unsigned wait = 0;
  for (const Operation& operation : trace) {
    if (operation.kind == Kind::kWallStep) continue;  // The service's clocks only pass.
    run.step(operation);
    if (operation.kind == Kind::kWait) {
      wait = 0;
      while (wait + 1 < kWaits.size() && kWaits.at(wait) < operation.by_ms) ++wait;
      continue;
    }
    RawMessage message{.disconnect = operation.kind == Kind::kDisconnect,
                       .client = operation.client,
                       .wait = std::exchange(wait, 0U)};
    if (message.disconnect) {
      out += encode(message);
      continue;
    }
    message.payload = operation.kind == Kind::kRawPayload
                          ? operation.value
                          : encode(command_of(operation, workload::keys()[operation.key]));
    const auto offer = [&](unsigned name, const workload::Stamp& stamp, const Offered& offered) {
      std::string text;
      append_text(text, stamp, offered);
      if (offered.form == Offered::Form::kAbsent || text.size() > kMaxText) return;
      message.properties.emplace_back(name, text);
    };
    offer(0, operation.timestamp, run.timestamp());
    offer(1, operation.token, run.token());
    out += encode(message);
  }
  return out;
}

std::optional<std::string> drive_service(std::string_view bytes, const store::Rules& rules) {
  workload::ByteReader reader(bytes);
  return Driver(codec::kDialects.at(reader.below(codec::kDialects.size())), rules).run(reader);
}

}  // namespace fencepost::fuzz
