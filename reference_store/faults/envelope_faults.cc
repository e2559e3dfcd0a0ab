// Faults of the MQTT envelope: topics, correlation data, properties, QoS.

#include <map>
#include <set>

#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

// ---- correlation data

template <typename Change>
MakeHandler with_correlation(Change change) {
  return with_exchange([change](Exchange& exchange) {
    codec::Message* response = exchange.response();
    if (response != nullptr && response->correlation_data) change(*response->correlation_data);
  });
}

// M02: while requests are in flight, two of them get each other's correlation data. A response
// waits for the next request, but not for long.
class MixesCorrelationData final : public Decorator {
 public:
  using Decorator::Decorator;

  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    auto next = Decorator::next_expiry();
    if (held_ && (!next || until_ < *next)) next = until_;
    return next;
  }
  void expire(const Instant& now, std::vector<Delivery>& out) override {
    Decorator::expire(now, out);
    if (held_ && until_ <= now.steady) release(out);
  }

 private:
  void after(Exchange& exchange) override {
    codec::Message* response = exchange.response();
    if (response == nullptr) return;
    if (held_) {
      std::swap(held_->message.correlation_data, response->correlation_data);
      release(exchange.out);
      return;
    }
    held_ = exchange.out.back();
    exchange.out.pop_back();
    until_ = exchange.now.steady + kPatience;
  }
  void release(std::vector<Delivery>& out) {
    out.push_back(std::move(*held_));
    held_.reset();
  }

  static constexpr std::chrono::milliseconds kPatience{5};
  std::optional<Delivery> held_;
  std::chrono::microseconds until_{0};
};

// M09: a request with correlation data that was seen before gets the old response.
class RemembersCorrelationData final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    old_.reset();
    if (!request.correlation_data) return;
    const auto found = seen_.find(*request.correlation_data);
    if (found == seen_.end()) return;
    old_ = found->second;
    request.payload = codec::encode_command({"GET", "-"});
  }
  void after(Exchange& exchange) override {
    codec::Message* response = exchange.response();
    if (response == nullptr || !response->correlation_data) return;
    if (old_) {
      response->payload = *old_;
      return;
    }
    seen_[*response->correlation_data] = response->payload;
  }

  std::map<std::string, std::string> seen_;
  std::optional<std::string> old_;
};

// ---- response topics

// M03: the response goes to where the request before wanted its own.
class AnswersAtThePreviousTopic {
 public:
  void operator()(Exchange& exchange) {
    codec::Message* response = exchange.response();
    if (response == nullptr) return;
    const std::string wanted = response->topic;
    if (!before_.empty()) response->topic = before_;
    before_ = wanted;
  }

 private:
  std::string before_;
};

// M06: without a response topic, or correlation data, a request is carried out all the same.
class CarriesOutIncomplete final : public Decorator {
 public:
  enum class Lacking { kResponseTopic, kCorrelationData, kQos };
  CarriesOutIncomplete(const ServiceOptions& options, Lacking lacking)
      : Decorator(options), lacking_(lacking) {}

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    mute_ = false;
    if (lacking_ == Lacking::kQos) request.qos = 1;
    if (lacking_ == Lacking::kCorrelationData && !request.correlation_data) {
      request.correlation_data = "";
    }
    mute_ = lacking_ == Lacking::kResponseTopic && !request.response_topic;
    if (mute_) request.response_topic = "nowhere";
  }
  void after(Exchange& exchange) override {
    if (mute_ && !exchange.out.empty()) exchange.out.pop_back();
  }

  Lacking lacking_;
  bool mute_ = false;
};

MakeHandler carries_out(CarriesOutIncomplete::Lacking lacking) {
  return [lacking](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<CarriesOutIncomplete>(options, lacking);
  };
}

// M07: a forbidden response topic makes a request fail, and the client may stay.
void forbidden_topic_tolerated(Exchange& exchange) {
  if (exchange.handling == Handling::kDisconnect) exchange.handling = Handling::kIgnored;
}

// A forbidden response topic is served.
class ServesForbiddenTopics final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    wanted_.reset();
    if (!request.response_topic || !codec::response_topic_fault(*request.response_topic)) return;
    if (!request.response_topic->starts_with(codec::kStorePrefix)) return;
    wanted_ = request.response_topic;
    request.response_topic = "nowhere";
  }
  void after(Exchange& exchange) override {
    if (wanted_ && exchange.response() != nullptr) exchange.response()->topic = *wanted_;
  }

  std::optional<std::string> wanted_;
};

// M26: the store's prefix is looked for with a slash behind it.
class ServesThePrefixItself final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    asked_ = request.response_topic == codec::kStorePrefix;
    if (asked_) request.response_topic = "nowhere";
  }
  void after(Exchange& exchange) override {
    if (asked_ && exchange.response() != nullptr) exchange.response()->topic = codec::kStorePrefix;
  }

  bool asked_ = false;
};

// Only the response topic that the article recommends is served.
void serves_the_recommended_topic_only(Exchange& exchange) {
  codec::Message* response = exchange.response();
  if (response == nullptr) return;
  if (response->topic != codec::recommended_response_topic(exchange.caller.client_id)) {
    exchange.out.pop_back();
  }
}

// ---- properties

bool is_known(const std::string& name) { return name == "__ts" || name == "__ft"; }

// M11: a user property that the store does not know makes the request invalid.
void unknown_property_refused(codec::Message& request) {
  for (const auto& [name, value] : request.user_properties) {
    if (!is_known(name)) request.payload = "*1\r\n$1\r\n?\r\n";
  }
}

// Only the first user property is looked at.
void only_the_first_property(codec::Message& request) {
  if (request.user_properties.size() > 1) request.user_properties.resize(1);
}

void persistence_refused(codec::Message& request) {
  if (request.property("aio-persistence") != nullptr) request.payload = "*1\r\n$1\r\n?\r\n";
}

void without_status(Exchange& exchange) {
  if (codec::Message* response = exchange.response()) {
    remove_property(*response, codec::kStatusProperty);
  }
}

void status_of_errors_is_500(Exchange& exchange) {
  codec::Message* response = exchange.response();
  if (response != nullptr && response->payload.starts_with("-ERR")) {
    set_property(*response, codec::kStatusProperty, "500");
  }
}

void long_response_topics_cut(Exchange& exchange) {
  constexpr std::size_t kMax = 255;
  codec::Message* response = exchange.response();
  if (response != nullptr && response->topic.size() > kMax) response->topic.resize(kMax);
}

void content_type_of_text(Exchange& exchange) {
  if (codec::Message* response = exchange.response()) response->content_type = "text/plain";
}

void answers_twice(Exchange& exchange) {
  if (exchange.response() != nullptr) exchange.out.push_back(exchange.out.back());
}

// M12: everything below the request topic is a request.
class ServesBelowTheTopic final : public Decorator {
 public:
  using Decorator::Decorator;
  [[nodiscard]] bool serves(std::string_view topic) const override {
    return topic.starts_with(codec::kRequestTopic) || Decorator::serves(topic);
  }
};

// M13: with many requests in flight responses are lost.
class LosesResponsesOfManyInFlight {
 public:
  void operator()(Exchange& exchange) {
    constexpr std::chrono::milliseconds kInFlight{1};
    constexpr std::size_t kMax = 20;
    if (exchange.now.steady - begin_ > kInFlight) {
      begin_ = exchange.now.steady;
      count_ = 0;
    }
    if (++count_ > kMax && exchange.response() != nullptr) exchange.out.pop_back();
  }

 private:
  std::chrono::microseconds begin_{0};
  std::size_t count_ = 0;
};

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> envelope_faults() {
  using Lacking = CarriesOutIncomplete::Lacking;
  return {
      {.id = "M01",
       .name = "correlation-cut-at-nul",
       .text = "correlation data is cut at its first NUL",
       .requirements = {"ENV-CORRELATION-1"},
       .make = with_correlation(
           [](std::string& data) { data.resize(std::min(data.size(), data.find('\0'))); })},
      {.id = "M14",
       .name = "correlation-cut-at-16-bytes",
       .text = "correlation data is cut to 16 bytes",
       .requirements = {"ENV-CORRELATION-1"},
       .make = with_correlation(
           [](std::string& data) { data.resize(std::min<std::size_t>(data.size(), 16)); })},
      {.id = "M02",
       .name = "mixes-correlation-data",
       .text = "the responses to two requests in flight have each other's correlation data",
       .requirements = {"ENV-CORRELATION-1"},
       .make = with_decorator<MixesCorrelationData>()},
      {.id = "M03",
       .name = "answers-at-the-previous-topic",
       .text = "a response goes to the response topic of the previous request",
       .requirements = {"ENV-RESPONSE-TOPIC-1"},
       .make = with_state<AnswersAtThePreviousTopic>()},
      {.id = "M05",
       .name = "qos-0-carried-out",
       .text = "a request of QoS 0 is carried out",
       .requirements = {"ENV-QOS-1"},
       .make = carries_out(Lacking::kQos)},
      {.id = "M25",
       .name = "get-of-any-qos",
       .text = "a GET of QoS 0 or 2 is answered",
       .requirements = {"ENV-QOS-1"},
       .make = with_request([](codec::Message& request) {
         const std::vector<std::string> arguments = arguments_of(request);
         if (!arguments.empty() && arguments.front() == "GET") request.qos = 1;
       })},
      {.id = "M06",
       .name = "carried-out-without-response-topic",
       .text = "a request without a response topic is carried out",
       .requirements = {"ENV-RESPONSE-TOPIC-5"},
       .make = carries_out(Lacking::kResponseTopic)},
      {.id = "M15",
       .name = "carried-out-without-correlation-data",
       .text = "a request without correlation data is carried out",
       .requirements = {"ENV-CORRELATION-2"},
       .make = carries_out(Lacking::kCorrelationData)},
      {.id = "M07",
       .name = "forbidden-topic-tolerated",
       .text = "a client that names a forbidden response topic stays connected",
       .requirements = {"ENV-RESPONSE-TOPIC-4"},
       .make = with_exchange(forbidden_topic_tolerated)},
      {.id = "M16",
       .name = "forbidden-topic-served",
       .text = "a response topic below the store's own prefix is served",
       .requirements = {"ENV-RESPONSE-TOPIC-3", "ENV-RESPONSE-TOPIC-4"},
       .make = with_decorator<ServesForbiddenTopics>()},
      {.id = "M26",
       .name = "prefix-itself-served",
       .text = "the store's own prefix, without a suffix, is served as a response topic",
       .requirements = {"ENV-RESPONSE-TOPIC-3", "ENV-RESPONSE-TOPIC-4"},
       .make = with_decorator<ServesThePrefixItself>()},
      {.id = "M17",
       .name = "recommended-topic-only",
       .text = "only the recommended response topic is served",
       .requirements = {"ENV-RESPONSE-TOPIC-7"},
       .make = with_exchange(serves_the_recommended_topic_only)},
      {.id = "M09",
       .name = "remembers-correlation-data",
       .text =
           "a request with correlation data that any client has used before gets the old response",
       .requirements = {"ENV-CORRELATION-1", "SET-WRITE-1", "ENV-CORRELATION-OPEN-2"},
       .make = with_decorator<RemembersCorrelationData>()},
      {.id = "M11",
       .name = "unknown-property-refused",
       .text = "a request with an unknown user property is refused",
       .requirements = {"ENV-PROPERTY-1"},
       .make = with_request(unknown_property_refused)},
      {.id = "M18",
       .name = "only-the-first-property",
       .text = "only the first user property is read",
       .requirements = {"ENV-PROPERTY-1"},
       .make = with_request(only_the_first_property)},
      {.id = "M19",
       .name = "persistence-refused",
       .text = "a request for persistence is refused",
       .requirements = {"ENV-PERSIST-1"},
       .make = with_request(persistence_refused)},
      {.id = "M12",
       .name = "serves-below-the-topic",
       .text = "a message to a topic below the request topic is also treated as a request",
       .requirements = {"ENV-TOPIC-2"},
       .make = with_decorator<ServesBelowTheTopic>()},
      {.id = "M20",
       .name = "no-status",
       .text = "responses have no __stat",
       .requirements = {"ENV-STATUS-1"},
       .make = with_exchange(without_status)},
      {.id = "M21",
       .name = "status-of-errors-is-500",
       .text = "the __stat of an error is 500",
       .requirements = {"ENV-STATUS-1"},
       .make = with_exchange(status_of_errors_is_500)},
      {.id = "M22",
       .name = "content-type-of-text",
       .text = "responses are text/plain",
       .requirements = {"ENV-CONTENT-TYPE-1"},
       .make = with_exchange(content_type_of_text)},
      {.id = "M23",
       .name = "answers-twice",
       .text = "every response is sent twice",
       .requirements = {"ENV-RESPONSE-1"},
       .make = with_exchange(answers_twice)},
      {.id = "M24",
       .name = "long-response-topics-cut",
       .text = "a response topic of more than 255 bytes is cut",
       .requirements = {"ENV-RESPONSE-TOPIC-1", "ENV-RESPONSE-1", "ENV-RESPONSE-TOPIC-7"},
       .make = with_exchange(long_response_topics_cut)},
      {.id = "M13",
       .name = "loses-responses-of-many-in-flight",
       .text = "if more than 20 requests arrive within a millisecond, only 20 are answered",
       .requirements = {"ENV-RESPONSE-1"},
       .make = with_state<LosesResponsesOfManyInFlight>()},
  };
}

}  // namespace fencepost::store
