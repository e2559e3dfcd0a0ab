// The store as a client of a broker: what it sends, what it refuses, and the ends of its
// connection.
#include "clients/serve/store_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::serve {
namespace {

using namespace std::chrono_literals;
using endpoint::ErrorKind;
using test::Effects;
using test::Published;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kId = "store";

codec::Message sent_request(const std::string& payload, const std::string& response_topic) {
  codec::Message out;
  out.topic = codec::kRequestTopic;
  out.payload = payload;
  out.qos = 1;
  out.response_topic = response_topic;
  out.correlation_data = "c";
  out.user_properties.emplace_back("__ts", std::to_string(test::kEpochMs) + ":0:client");
  return out;
}

codec::Message set(const std::string& options = "") {
  return sent_request("*" + std::to_string(options.empty() ? 3 : 5) +
                          "\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\none\r\n" + options,
                      "clients/writer/r");
}
codec::Message get() { return sent_request("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", "clients/writer/r"); }
codec::Message keynotify(const std::string& response_topic) {
  return sent_request("*2\r\n$9\r\nKEYNOTIFY\r\n$1\r\nk\r\n", response_topic);
}

// What the broker sends to the store after the question that it asks when it connects.
class StoreClientTest : public ::testing::Test {
 protected:
  void broker_sends(std::vector<decltype(endpoint::Event::what)> events) {
    script_.behaviour = [this, events](const Published& published) {
      Effects out;
      if (published.message.payload.find("fencepost-serve/") == std::string::npos) return out;
      if (questions_++ > 0) {
        if (second_) out.push_back({.what = *second_, .after = 1s});
        return out;
      }
      // After its patience for another store.
      for (std::size_t i = 0; i < events.size(); ++i) {
        out.push_back({.what = events[i], .after = 1s + static_cast<int>(i) * 1ms});
      }
      return out;
    };
  }

  StoreClient& start(const served::Options& options = {}) {
    endpoint_.emplace(script_);
    store_.emplace(*endpoint_, StoreClientOptions{.client_id = kId, .store = options}, std::nullopt,
                   [this](const std::string& text) { told_.push_back(text); });
    return *store_;
  }

  // Opens the store and serves for this time.
  void serve(endpoint::Duration time = 2s, const served::Options& options = {}) {
    start(options);
    ASSERT_TRUE(store_->open());
    const auto served = store_->serve(time);
    ASSERT_TRUE(served) << served.error().text;
  }

  // Topic and payload of what it has published after its question.
  std::vector<std::pair<std::string, std::string>> sent() {
    std::vector<std::pair<std::string, std::string>> out;
    for (const Published& each : endpoint_->published()) {
      if (each.message.topic == codec::kRequestTopic) continue;
      out.emplace_back(each.message.topic, each.message.payload);
    }
    return out;
  }

  test::Script script_;
  std::optional<test::FakeEndpoint> endpoint_;
  std::optional<StoreClient> store_;
  std::vector<std::string> told_;
  int questions_ = 0;
  std::optional<decltype(endpoint::Event::what)> second_{};  // behind the second question
};

endpoint::MessageReceived received(codec::Message message) { return {std::move(message)}; }

TEST_F(StoreClientTest, AnswersAndNotifies) {
  broker_sends({received(keynotify("clients/me/r")), received(set()), received(get())});
  serve();
  EXPECT_THAT(sent(), ElementsAre(std::pair("clients/me/r", "+OK\r\n"),
                                  std::pair(*codec::notification_topic("me", "k"),
                                            "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n"
                                            "$3\r\none\r\n"),
                                  std::pair("clients/writer/r", "+OK\r\n"),
                                  std::pair("clients/writer/r", "$3\r\none\r\n")));
  EXPECT_THAT(endpoint_->filters(), ElementsAre(codec::recommended_response_topic(kId),
                                                std::string(codec::kRequestTopic)));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(StoreClientTest, NotifiesOfAnExpiryWhenItIsDue) {
  broker_sends({received(keynotify("clients/me/r")), received(set("$2\r\nPX\r\n$3\r\n500\r\n"))});
  serve(400ms + 500ms);
  EXPECT_EQ(sent().size(), 3U);  // the SET came after 500 ms
  ASSERT_TRUE(store_->serve(200ms));
  EXPECT_EQ(sent().size(), 4U);
  EXPECT_EQ(sent().back().second, "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n");
}

TEST_F(StoreClientTest, IsSlowOnRequest) {
  broker_sends({received(get())});
  served::Options options;
  options.delay.delay = 300ms;
  serve(700ms, options);
  EXPECT_THAT(sent(), IsEmpty());
  ASSERT_TRUE(store_->serve(200ms));
  EXPECT_EQ(sent().size(), 1U);
}

TEST_F(StoreClientTest, RefusesAnObserverThatItDoesNotKnow) {
  broker_sends({received(keynotify("me/r")), received(set())});
  serve();
  ASSERT_EQ(sent().size(), 2U);
  EXPECT_EQ(sent()[0].first, "me/r");
  EXPECT_THAT(sent()[0].second, HasSubstr("-ERR the client id is unknown"));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("a KEYNOTIFY is refused")));
}

TEST_F(StoreClientTest, IgnoresAForbiddenResponseTopicAndSaysSoOnce) {
  auto forbidden = get();
  forbidden.response_topic = codec::kRequestTopic;
  broker_sends({received(forbidden), received(forbidden)});
  serve();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(told_, ElementsAre(HasSubstr("a client of the broker cannot do that")));
}

TEST_F(StoreClientTest, SendsNothingThatIsTooLargeForTheBroker) {
  script_.packet_limit = 60;
  broker_sends({received(get())});
  serve();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(told_, ElementsAre(HasSubstr("packets of at most 60 bytes")));
}

TEST_F(StoreClientTest, LeavesTheRequestsToAnotherStoreThatAnswers) {
  script_.behaviour = [](const Published& question) {
    return Effects{test::reply(question, "$-1\r\n")};
  };
  const auto opened = start().open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::kInvalid);
  EXPECT_THAT(opened.error().text, HasSubstr("another state store"));
}

TEST_F(StoreClientTest, EndsWhenAnotherStoreAnswersLate) {
  script_.behaviour = [](const Published& question) {
    auto late = test::reply(question, "$-1\r\n");
    late.after = 2s;
    return Effects{late};
  };
  ASSERT_TRUE(start().open());
  const auto served = store_->serve(5s);
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().kind, ErrorKind::kInvalid);
}

TEST_F(StoreClientTest, ConnectsAgainAndKeepsItsKeys) {
  int attempts = 0;
  script_.on_connect = [&](const auto&) -> std::optional<endpoint::Error> {
    // The first one, and the one after two that fail.
    if (++attempts == 1 || attempts == 4) return std::nullopt;
    return endpoint::Error{.kind = ErrorKind::kUnreachable, .text = "nobody there"};
  };
  broker_sends({received(set()), endpoint::Disconnected{}});
  second_ = received(get());
  serve(4s);
  EXPECT_EQ(attempts, 4);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("the broker ended the connection"),
                                 HasSubstr("cannot connect again: nobody there"),
                                 HasSubstr("connected again")));
  EXPECT_EQ(questions_, 2);
  EXPECT_EQ(sent().back().second, "$3\r\none\r\n");
}

TEST_F(StoreClientTest, EndsWhenAnotherClientTakesItsId) {
  broker_sends({endpoint::Disconnected{.reason_code = 0x8e}});
  ASSERT_TRUE(start().open());
  const auto served = store_->serve(2s);
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().kind, ErrorKind::kLost);
  EXPECT_THAT(served.error().text, HasSubstr("--client-id"));
}

}  // namespace
}  // namespace fencepost::serve
