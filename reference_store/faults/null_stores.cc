// Stores that do no work: a case that one of them passes proves nothing.

#include <random>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

// Answers every request in the same way, and stores nothing.
class NullStore : public Handler {
 public:
  void expire(const Instant& /*now*/, std::vector<Delivery>& /*out*/) override {}
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    return std::nullopt;
  }
  void disconnect(std::string_view /*client_id*/) override {}

 protected:
  // A response with this payload to where the request wants it; nothing without a response topic.
  static void respond(const codec::Message& request, std::string payload,
                      std::vector<Delivery>& out) {
    if (!request.response_topic) return;
    codec::Message message;
    message.topic = *request.response_topic;
    message.payload = std::move(payload);
    message.correlation_data = request.correlation_data;
    message.user_properties.emplace_back(codec::kStatusProperty, "200");
    out.push_back({.client_id = {}, .message = std::move(message)});
  }
};

class Silent final : public NullStore {
  Handling handle(const Caller& /*caller*/, const codec::Message& /*request*/,
                  const Instant& /*now*/, std::vector<Delivery>& /*out*/) override {
    return Handling::kIgnored;
  }
};

class Echo final : public NullStore {
  Handling handle(const Caller& /*caller*/, const codec::Message& request, const Instant& /*now*/,
                  std::vector<Delivery>& out) override {
    respond(request, request.payload, out);
    return Handling::kAnswered;
  }
};

class AlwaysOk final : public NullStore {
  Handling handle(const Caller& /*caller*/, const codec::Message& request, const Instant& /*now*/,
                  std::vector<Delivery>& out) override {
    respond(request, "+OK\r\n", out);
    return Handling::kAnswered;
  }
};

class AlwaysError final : public NullStore {
  Handling handle(const Caller& /*caller*/, const codec::Message& request, const Instant& /*now*/,
                  std::vector<Delivery>& out) override {
    respond(request, "-ERR syntax error\r\n", out);
    return Handling::kAnswered;
  }
};

class DropsConnection final : public NullStore {
  Handling handle(const Caller& /*caller*/, const codec::Message& /*request*/,
                  const Instant& /*now*/, std::vector<Delivery>& /*out*/) override {
    return Handling::kDisconnect;
  }
};

// A conforming store whose responses go to a topic without subscribers.
class WrongTopic final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void after(Exchange& exchange) override {
    if (codec::Message* response = exchange.response()) response->topic += "/elsewhere";
  }
};

// Throws clients out at one request in three, by chance, and answers none of the others either.
class ClosesAtRandom final : public NullStore {
 public:
  explicit ClosesAtRandom(std::uint64_t seed) : random_(seed) {}

 private:
  Handling handle(const Caller& /*caller*/, const codec::Message& /*request*/,
                  const Instant& /*now*/, std::vector<Delivery>& /*out*/) override {
    constexpr std::uint64_t kOneIn = 3;
    return random_() % kOneIn == 0 ? Handling::kDisconnect : Handling::kIgnored;
  }

  std::mt19937_64 random_;
};

Fault null_store(std::string_view id, std::string_view name, std::string_view text,
                 MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .requirements = {},
          .needs = FaultNeeds::kNothing,
          .kind = FaultKind::kNull,
          .make = std::move(make)};
}

template <typename Type>
MakeHandler plain() {
  return [](const ServiceOptions& /*options*/, std::uint64_t /*seed*/) {
    return std::make_unique<Type>();
  };
}

}  // namespace

std::vector<Fault> null_stores() {
  return {
      null_store("Z01", "silent", "sends no response", plain<Silent>()),
      null_store("Z02", "echo", "answers every request with the payload of the request",
                 plain<Echo>()),
      null_store("Z03", "always-ok", "answers +OK to everything", plain<AlwaysOk>()),
      null_store("Z04", "always-error", "answers a syntax error to everything",
                 plain<AlwaysError>()),
      null_store("Z05", "drops-connection", "disconnects every client that sends a request",
                 plain<DropsConnection>()),
      null_store("Z06", "wrong-topic", "sends its responses to another topic",
                 with_decorator<WrongTopic>()),
      null_store("Z07", "closes-at-random",
                 "disconnects the client at about every third request, and answers none",
                 [](const ServiceOptions& /*options*/, std::uint64_t seed) {
                   return std::make_unique<ClosesAtRandom>(seed);
                 }),
  };
}

}  // namespace fencepost::store
