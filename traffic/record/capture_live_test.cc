#include "traffic/record/capture_live.h"

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"

namespace fencepost::record {
namespace {

using namespace std::chrono_literals;
using endpoint::Client;
using endpoint::Duration;
using endpoint::Error;
using endpoint::ErrorKind;
using endpoint::Event;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kRequests(codec::kRequestTopic);
const std::string kNotifications = std::string(codec::kStorePrefix) + "/+/command/notify/+";
constexpr const char* kSubscriber =
    "recorded as a subscriber: client ids are derived from response topics, ends of connections, "
    "QoS and flags were not seen";

// A broker with messages for its only client, which has a clock that stands but for its waits.
struct Broker {
  std::deque<decltype(Event::what)> events{};
  std::set<std::string> refused{};  // filters
  ErrorKind refusal = ErrorKind::kNotAllowed;
  std::optional<Error> opens{};
  std::optional<Error> connects{};
  std::function<void()> on_nothing{};  // nothing came in time

  std::vector<std::string> filters{};
  std::string client_id{};
};

class BrokerClient final : public Client {
 public:
  BrokerClient(Broker& broker, Duration& now) : broker_(broker), now_(now) {}
  Result<void, Error> subscribe(const std::string& filter) override {
    if (broker_.refused.contains(filter)) return fail(Error{broker_.refusal, "no"});
    broker_.filters.push_back(filter);
    return {};
  }
  Result<void, Error> unsubscribe(const std::string& /*filter*/) override { return {}; }
  Result<void, Error> publish(const codec::Message& /*message*/) override { return {}; }
  std::optional<Event> receive(Duration timeout) override {
    if (broker_.events.empty()) {
      now_ += timeout;
      if (broker_.on_nothing) broker_.on_nothing();
      return std::nullopt;
    }
    Event out{std::move(broker_.events.front()), now_ += 1ms};
    broker_.events.pop_front();
    return out;
  }
  void disconnect() override {}
  void drop() override {}

 private:
  Broker& broker_;
  Duration& now_;
};

class BrokerSession final : public endpoint::Session, public endpoint::Clock {
 public:
  explicit BrokerSession(Broker& broker) : broker_(broker) {}
  Clock& clock() override { return *this; }
  Result<std::unique_ptr<Client>, Error> connect(const endpoint::ClientOptions& options) override {
    broker_.client_id = options.client_id;
    if (broker_.connects) return fail(*broker_.connects);
    return std::make_unique<BrokerClient>(broker_, now_);
  }
  [[nodiscard]] std::uint64_t wall_ms() const override { return 0; }
  [[nodiscard]] Duration now() const override { return now_; }
  void wait_until(Duration time) override { now_ = time; }

 private:
  Broker& broker_;
  Duration now_{0};
};

class BrokerEndpoint final : public endpoint::Endpoint {
 public:
  explicit BrokerEndpoint(Broker& broker) : broker_(broker) {}
  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] const endpoint::Capabilities& capabilities() const override { return offers_; }
  Result<std::unique_ptr<endpoint::Session>, Error> open_session(
      const endpoint::SessionRequest& /*request*/) override {
    if (broker_.opens) return fail(*broker_.opens);
    return std::make_unique<BrokerSession>(broker_);
  }
  Result<void, Error> check_reachable(Duration /*timeout*/,
                                      const std::string& /*caller*/) override {
    return {};
  }

 private:
  Broker& broker_;
  std::string url_ = "mqtt://host";
  endpoint::Capabilities offers_{};
};

codec::Message request(const std::string& response_topic, const std::string& payload = "p") {
  return {.topic = kRequests, .payload = payload, .response_topic = response_topic};
}

Result<LiveCapture, Error> recorded(Broker& broker, LiveCaptureOptions options = {}) {
  BrokerEndpoint endpoint(broker);
  options.client_id = "recorder";
  if (!options.time) options.time = 1s;
  const std::atomic<bool> stop = false;
  return capture_live(
      endpoint, options, stop, [] {}, [](const Capture&) {});
}

TEST(CaptureLive, SubscribesToRequestsAndAllClients) {
  Broker broker;
  broker.events = {endpoint::MessageReceived{request("clients/c/r")},
                   endpoint::MessageReceived{{.topic = "clients/c/r", .payload = "reply"}}};
  const auto live = recorded(broker, {.filters = {"extra/#"}});
  ASSERT_TRUE(live) << live.error().text;
  EXPECT_EQ(broker.client_id, "recorder");
  EXPECT_THAT(broker.filters, ElementsAre(kRequests, "extra/#", "clients/#"));
  EXPECT_FALSE(live->lost);
  const Capture& capture = live->capture;
  EXPECT_TRUE(capture.sees_notifications);
  EXPECT_FALSE(capture.sees_replies);
  EXPECT_FALSE(capture.in_order);
  EXPECT_FALSE(capture.sees_packets);
  EXPECT_THAT(capture.unknown, ElementsAre(kSubscriber));
  ASSERT_THAT(capture.events, SizeIs(2));
  const auto& asked = std::get<CapturedMessage>(capture.events[0]);
  EXPECT_EQ(asked.direction, CaptureDirection::kToStore);
  EXPECT_FALSE(asked.client_known);
  EXPECT_EQ(asked.client_id, "");
  const auto& notified = std::get<CapturedMessage>(capture.events[1]);
  EXPECT_EQ(notified.direction, CaptureDirection::kToClient);
  EXPECT_EQ(notified.message.payload, "reply");
  EXPECT_EQ(notified.time - asked.time, 1ms);
}

TEST(CaptureLive, SubscribesToNoMoreThanItNeeds) {
  Broker broker;
  ASSERT_TRUE(recorded(broker, {.filters = {"#"}}));
  EXPECT_THAT(broker.filters, ElementsAre(kRequests, "#"));
}

TEST(CaptureLive, LearnsResponseTopicsWhereItMayNotSeeAll) {
  Broker broker{.refused = {"clients/#", "clients/secret/r"}};
  broker.events = {endpoint::MessageReceived{request("clients/c/r", "1")},
                   endpoint::MessageReceived{request("clients/c/r", "2")},
                   endpoint::MessageReceived{request("clients/secret/r", "3")},
                   endpoint::MessageReceived{request("clients/secret/r", "4")},
                   endpoint::MessageReceived{request("not/a/response/topic/#", "5")},
                   endpoint::MessageReceived{{.topic = kRequests, .payload = "6"}}};
  const auto live = recorded(broker);
  ASSERT_TRUE(live);
  EXPECT_THAT(broker.filters, ElementsAre(kRequests, kNotifications, "clients/c/r"));
  EXPECT_THAT(
      live->capture.unknown,
      ElementsAre(
          kSubscriber, "responses to clients/c/r are recorded only after the first request",
          "responses to clients/secret/r are not recorded: the broker refuses the subscription"));
  EXPECT_THAT(live->capture.events, SizeIs(6));
}

TEST(CaptureLive, SaysThatItSeesNoNotifications) {
  Broker broker{.refused = {"clients/#", kNotifications}};
  const auto live = recorded(broker);
  ASSERT_TRUE(live);
  EXPECT_FALSE(live->capture.sees_notifications);
  EXPECT_THAT(live->capture.unknown, testing::Contains(HasSubstr("subscribe to notifications")));
}

TEST(CaptureLive, HasALimitOfTopics) {
  Broker broker{.refused = {"clients/#"}};
  for (int i = 0; i < 1000; ++i) {
    broker.events.emplace_back(
        endpoint::MessageReceived{request("clients/c" + std::to_string(i) + "/r")});
  }
  const auto live = recorded(broker);
  ASSERT_TRUE(live);
  EXPECT_THAT(broker.filters, SizeIs(1000));
  EXPECT_THAT(live->capture.unknown.back(), HasSubstr("are not recorded: too many topics"));
  EXPECT_THAT(live->capture.events, SizeIs(1000));
}

TEST(CaptureLive, IsAnErrorWhereNothingCanBeSeen) {
  const auto kind_of = [](Broker broker, const LiveCaptureOptions& options = {}) {
    const auto live = recorded(broker, options);
    return live ? ErrorKind::kInternal : live.error().kind;
  };
  const Error gone{ErrorKind::kUnreachable, "gone"};
  EXPECT_EQ(kind_of({.opens = gone}), ErrorKind::kUnreachable);
  EXPECT_EQ(kind_of({.connects = gone}), ErrorKind::kUnreachable);
  EXPECT_EQ(kind_of({.refused = {kRequests}}), ErrorKind::kNotAllowed);
  EXPECT_EQ(kind_of({.refused = {"mine"}}, {.filters = {"mine"}}), ErrorKind::kNotAllowed);
  // Not refused, but failed.
  EXPECT_EQ(kind_of({.refused = {"clients/#"}, .refusal = ErrorKind::kLost}), ErrorKind::kLost);
}

TEST(CaptureLive, LeavesOutWhatIsOfThePastAndWhatCameTwice) {
  Broker broker;
  codec::Message retained = request("clients/c/r");
  retained.retain = true;
  const codec::Message once = request("clients/c/r", "once");
  broker.events = {endpoint::MessageReceived{retained},
                   endpoint::MessageReceived{once},
                   endpoint::PublishRefused{0x97, ""},
                   endpoint::MessageReceived{once},
                   endpoint::MessageReceived{request("clients/c/r", "other")},
                   endpoint::MessageReceived{once}};
  // Some brokers send a message for each of several overlapping subscriptions.
  const auto live = recorded(broker, {.filters = {"extra/#"}});
  ASSERT_TRUE(live);
  EXPECT_THAT(live->capture.events, SizeIs(3));
  broker.events = {endpoint::MessageReceived{once}, endpoint::MessageReceived{once}};
  EXPECT_THAT(recorded(broker)->capture.events, SizeIs(2));
}

TEST(CaptureLive, KeepsWhatCameBeforeTheConnectionWasLost) {
  Broker broker;
  broker.events = {endpoint::MessageReceived{request("clients/c/r")}, endpoint::Disconnected{},
                   endpoint::MessageReceived{request("clients/c/r", "never")}};
  const auto live = recorded(broker);
  ASSERT_TRUE(live);
  ASSERT_TRUE(live->lost);
  EXPECT_EQ(live->lost->kind, ErrorKind::kLost);
  EXPECT_EQ(live->lost->text, "the broker ended the connection");
  EXPECT_THAT(live->capture.events, SizeIs(1));
}

TEST(CaptureLive, SaysWhatTheBrokerDidThatMqttForbids) {
  Broker broker;
  broker.events = {endpoint::Disconnected{.text = "a PUBLISH without a topic", .section = "4.13"}};
  EXPECT_EQ(recorded(broker)->lost->text,
            "the broker does what MQTT 5 forbids a server, section 4.13 (ENV-MQTT5-3): a PUBLISH "
            "without a topic");
}

TEST(CaptureLive, EndsWhereItsMemoryDoes) {
  Broker broker;
  const std::string large(std::size_t{16} << 20U, 'x');
  for (int i = 0; i < 6; ++i) {
    broker.events.emplace_back(endpoint::MessageReceived{request("clients/c/r", large)});
  }
  const auto live = recorded(broker);
  ASSERT_TRUE(live);
  EXPECT_FALSE(live->lost);
  EXPECT_THAT(
      live->capture.unknown,
      testing::Contains("the recording ended after 64 MiB of messages, which is the limit"));
  EXPECT_THAT(broker.events, SizeIs(2));
}

TEST(CaptureLive, GoesOnUntilItIsStoppedAndShowsWhatItHas) {
  Broker broker;
  broker.events = {endpoint::MessageReceived{request("clients/c/r")}};
  std::atomic<bool> stop = false;
  int nothing = 0;
  broker.on_nothing = [&] { stop = ++nothing == 30; };
  BrokerEndpoint endpoint(broker);
  bool ready = false;
  int watched = 0;
  const auto live = capture_live(
      endpoint, {}, stop,
      [&] {
        ready = true;
        EXPECT_THAT(broker.filters, ElementsAre(kRequests, "clients/#"));
      },
      [&](const Capture& so_far) {
        ++watched;
        EXPECT_THAT(so_far.events, SizeIs(1));
      });
  ASSERT_TRUE(live);
  EXPECT_TRUE(ready);
  EXPECT_EQ(watched, 30);  // three seconds, without an end of its own
}

}  // namespace
}  // namespace fencepost::record
