#include "clients/client_report/recorded_clients.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/play_fixture.h"

namespace fencepost::client_report {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kAnswers =
    "clients/me/services/statestore/_any_/command/invoke/response";

// A log, message by message.
class Log {
 public:
  Log() { capture_.from_start = true; }
  Log& known_clock(std::int64_t offset_ms) {
    capture_.clock = judge::ClockBounds{offset_ms - 3, offset_ms + 3};
    return *this;
  }
  Log& wait(milliseconds time) {
    now_ += time;
    return *this;
  }
  Log& request(codec::Message message) {
    capture_.events.emplace_back(
        record::CapturedMessage{.client_id = "me", .time = now_, .message = std::move(message)});
    return *this;
  }
  Log& set(std::string_view correlation, std::int64_t later_ms = 0, std::string token = {}) {
    return request(message("SET", correlation, later_ms, std::move(token)));
  }
  Log& answer(std::string_view correlation, std::string version) {
    codec::Message out{.topic = std::string(kAnswers),
                       .payload = "+OK\r\n",
                       .correlation_data = std::string(correlation),
                       .user_properties = {{"__ts", std::move(version)}}};
    capture_.events.emplace_back(record::CapturedMessage{
        .direction = record::CaptureDirection::kToClient, .time = now_, .message = std::move(out)});
    return *this;
  }
  Log& disconnect() {
    capture_.events.emplace_back(record::CapturedConnection{.client_id = "me", .time = now_});
    return *this;
  }

  [[nodiscard]] codec::Message message(std::string_view verb, std::string_view correlation,
                                       std::int64_t later_ms = 0, std::string token = {}) const {
    std::vector<std::string_view> words{verb, "key"};
    if (verb == "SET") words.emplace_back("value");
    codec::Message out{.topic = std::string(codec::kRequestTopic),
                       .payload = codec::encode_command(words),
                       .response_topic = std::string(kAnswers),
                       .correlation_data = std::string(correlation)};
    const auto wall = now_.count() / 1000 + later_ms;
    out.user_properties.emplace_back("__ts", std::to_string(wall) + ":0:me");
    if (!token.empty()) out.user_properties.emplace_back("__ft", std::move(token));
    return out;
  }

  [[nodiscard]] std::vector<std::string> broken() const {
    clients::Judge judge(options_for(capture_, "StateStore"));
    judge_messages(capture_, judge);
    std::vector<std::string> out;
    for (const clients::Finding& each : judge.take_findings()) out.emplace_back(each.rule->id);
    return out;
  }

 private:
  record::Capture capture_{};
  microseconds now_{milliseconds(clients::kNoonMs)};
};

std::string version(std::int64_t later_ms, int counter = 1) {
  return std::to_string(static_cast<std::int64_t>(clients::kNoonMs) + later_ms) + ":" +
         std::to_string(counter) + ":StateStore";
}

TEST(JudgedLog, FindsNothingInAConformingClient) {
  Log log;
  log.known_clock(0)
      .set("1")
      .answer("1", version(0))
      .wait(seconds(2))
      .set("2")
      .answer("2", version(2000));
  log.disconnect().wait(seconds(1)).set("1").answer("1", version(3000));
  log.request(log.message("GET", "3")).answer("3", version(3000));
  EXPECT_THAT(log.broken(), IsEmpty());
}

// It has waited for its connection for five minutes, and has DUP, which no log shows.
TEST(JudgedLog, ARequestThatMayHaveBeenSentBeforeIsNotLate) {
  Log log;
  log.known_clock(0).set("1").answer("1", version(0)).disconnect().wait(seconds(300));
  log.set("2", -299'000).answer("2", version(300'000));
  log.set("3").answer("3", version(300'001)).wait(seconds(2)).set("4", -299'000);
  EXPECT_THAT(log.broken(), IsEmpty());
}

TEST(JudgedLog, MessagesAreJudged) {
  Log plain;
  auto at_most_once = plain.message("SET", "1");
  at_most_once.qos = 0;
  auto alone = plain.message("set", "2");
  alone.response_topic.reset();
  plain.request(at_most_once).request(alone);
  EXPECT_THAT(plain.broken(), ElementsAre("ENV-QOS-2", "ENV-RESPONSE-TOPIC-5", "CASE-VERB-1"));
}

TEST(JudgedLog, CorrelationDataIsFreeWhenTheStoreHasAnswered) {
  Log log;
  log.set("1").answer("1", version(0)).request(log.message("GET", "1"));
  EXPECT_THAT(log.broken(), IsEmpty());
  EXPECT_THAT(log.request(log.message("DEL", "1")).broken(), ElementsAre("ENV-CORRELATION-3"));
}

TEST(JudgedLog, TokensAndClocksAreComparedWithTheStores) {
  Log token;
  token.set("1").answer("1", version(0, 7)).set("2", 10, version(0, 8));
  EXPECT_THAT(token.broken(), ElementsAre("LOCK-TOKEN-2"));
  EXPECT_THAT(Log().known_clock(0).set("1", 62'000).broken(), ElementsAre("ENV-CLOCK-1"));
  EXPECT_THAT(Log().known_clock(30'000).set("1", 62'000).broken(), IsEmpty());
  EXPECT_THAT(Log().set("1", 62'000).broken(), IsEmpty());
}

TEST(JudgedCapture, BytesThatAreMissingAreNoFinding) {
  const auto traffic = [](bool lost) {
    clients::Judge judge({.store_node = "StateStore", .from_start = false});
    clients::Play play;
    const auto give = [&](record::TcpEvent::Kind kind, std::uint64_t connection,
                          const std::string& bytes, bool to_broker = true) {
      judge_event({connection, kind, to_broker, milliseconds(clients::kNoonMs), bytes}, judge);
    };
    using enum record::TcpEvent::Kind;
    const auto ask = [&](std::uint64_t connection) {
      const auto publish = play.publish_of({.id = 7});
      give(kBytes, connection, *wire::encode(wire::Packet(publish)));
    };
    for (const std::uint64_t connection : {1U, 2U}) {
      give(kOpened, connection, {});
      give(kBytes, connection, *wire::encode(wire::Packet(wire::Connect{.client_id = "me"})));
      give(kBytes, connection,
           *wire::encode(wire::Packet(wire::Connack{.session_present = connection == 2})), false);
      ask(connection);
      give(connection == 1 && lost ? kLost : kClosed, connection, {});
    }
    std::vector<std::string> out;
    for (const clients::Finding& each : judge.take_findings()) out.emplace_back(each.rule->id);
    EXPECT_EQ(judge.tally().not_judged, lost ? 1U : 0U);
    return out;
  };
  // Its PUBACK may be among them.
  EXPECT_THAT(traffic(true), IsEmpty());
  EXPECT_THAT(traffic(false), ElementsAre("MQTT-3.3.1-1"));
}

}  // namespace
}  // namespace fencepost::client_report
