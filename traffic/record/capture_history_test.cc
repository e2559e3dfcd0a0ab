#include "traffic/record/capture_history.h"

#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "concurrency/history/checker.h"
#include "concurrency/history/history_file.h"

namespace fencepost::record {
namespace {

using history::Answer;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr milliseconds kDay{1'767'225'600'000};

// What somebody has seen; times in milliseconds.
class Seen {
 public:
  explicit Seen(bool from_start = true) {
    capture.from_start = from_start;
    capture.sees_replies = true;
  }

  Seen& asks(const std::string& client, int at, const std::vector<std::string_view>& arguments,
             const std::string& correlation) {
    codec::Message message;
    message.topic = codec::kRequestTopic;
    message.payload = codec::encode_command(arguments);
    message.response_topic = codec::recommended_response_topic(client);
    message.correlation_data = correlation;
    return add(CaptureDirection::kToStore, client, at, std::move(message));
  }

  Seen& gets(const std::string& client, int at, const std::string& correlation, std::string payload,
             const std::string& version = {}) {
    codec::Message message;
    message.topic = codec::recommended_response_topic(client);
    message.payload = std::move(payload);
    message.correlation_data = correlation;
    if (!version.empty()) message.user_properties = {{"__ts", version}};
    return add(CaptureDirection::kToClient, "", at, std::move(message));
  }

  Capture capture{};

 private:
  Seen& add(CaptureDirection direction, const std::string& client, int at, codec::Message message) {
    capture.events.emplace_back(CapturedMessage{.direction = direction,
                                                .client_id = client,
                                                .time = kDay + milliseconds(at),
                                                .message = std::move(message)});
    return *this;
  }
};

history::Verdict verdict_of(const CaptureHistory& made) {
  history::Checker checker;
  history::HistoryReader reader([&](const history::Event& event) { checker.add(event); });
  std::istringstream lines(made.text);
  for (std::string line; std::getline(lines, line);) {
    const auto read = reader.line(line);
    EXPECT_TRUE(read) << read.error();
  }
  reader.finish();
  const auto keys = checker.finish();
  return keys.empty() ? history::Verdict{} : keys.front().verdict;
}

Answer answer_of(const Seen& seen, milliseconds slack = {}) {
  return verdict_of(capture_history(seen.capture, {.slack = slack})).answer;
}

Seen stale_read(bool from_start = true) {
  Seen seen(from_start);
  seen.asks("a", 0, {"SET", "k", "1"}, "1").gets("a", 1, "1", "+OK\r\n", "5:0:s");
  seen.asks("a", 10, {"SET", "k", "2"}, "2").gets("a", 11, "2", "+OK\r\n", "5:1:s");
  seen.asks("b", 20, {"GET", "k"}, "3").gets("b", 21, "3", "$1\r\n1\r\n", "5:0:s");
  return seen;
}

TEST(CaptureHistory, ShowsWhatConcurrentRequestsMustNot) {
  EXPECT_EQ(answer_of(stale_read()), Answer::kViolation);
  const CaptureHistory made = capture_history(stale_read().capture, {});
  EXPECT_EQ(made.operations, 3U);
  EXPECT_EQ(made.keys, 1U);
  EXPECT_THAT(made.notes, IsEmpty());
}

// Nobody knows how long a subscriber waits for a request that the store has carried out.
TEST(CaptureHistory, TakesARequestForCalledEarlierThanSeen) {
  EXPECT_EQ(answer_of(stale_read(), milliseconds{5}), Answer::kViolation);
  EXPECT_EQ(answer_of(stale_read(), milliseconds{10}), Answer::kOk);
}

TEST(CaptureHistory, BeginsWhereTheStateOfAKeyIsKnown) {
  Seen seen(false);
  seen.asks("a", 0, {"GET", "k"}, "1").gets("a", 1, "1", "$1\r\n7\r\n", "4:0:s");
  seen.asks("a", 5, {"SET", "k", "8", "NX"}, "2").gets("a", 6, "2", ":-1\r\n", "4:0:s");
  const CaptureHistory nothing = capture_history(seen.capture, {});
  EXPECT_EQ(nothing.operations, 0U);
  EXPECT_THAT(nothing.notes, ElementsAre(HasSubstr("1 key left out of the history")));
  seen.asks("a", 10, {"DEL", "k"}, "3").gets("a", 11, "3", ":1\r\n");
  seen.asks("a", 20, {"SET", "k", "8", "NX"}, "4").gets("a", 21, "4", "+OK\r\n", "6:0:s");
  EXPECT_EQ(capture_history(seen.capture, {}).operations, 1U);
  EXPECT_EQ(answer_of(seen), Answer::kOk);
  seen.asks("b", 30, {"SET", "k", "9", "NX"}, "5").gets("b", 31, "5", "+OK\r\n", "6:1:s");
  EXPECT_EQ(answer_of(seen), Answer::kViolation);
  // From the first SET on all is known; what overlaps with another says nothing.
  EXPECT_EQ(answer_of(stale_read(false)), Answer::kViolation);
  EXPECT_EQ(capture_history(stale_read(false).capture, {.slack = milliseconds{30}}).operations, 0U);
}

TEST(CaptureHistory, LetsAKeyExpireThatMayHaveHadATime) {
  Seen seen(false);
  seen.asks("a", 0, {"SET", "k", "1"}, "1").gets("a", 1, "1", "+OK\r\n", "5:0:s");
  seen.asks("a", 9, {"GET", "k"}, "2").gets("a", 10, "2", "$-1\r\n");
  EXPECT_EQ(answer_of(seen), Answer::kOk);
  seen.capture.from_start = true;
  EXPECT_EQ(answer_of(seen), Answer::kViolation);
}

TEST(CaptureHistory, ARequestWithoutReplyMayHaveHappened) {
  Seen seen;
  seen.asks("a", 0, {"SET", "k", "1"}, "1");
  seen.asks("b", 20, {"GET", "k"}, "2").gets("b", 21, "2", "$1\r\n1\r\n", "5:0:s");
  EXPECT_EQ(answer_of(seen), Answer::kOk);
  // Two with one name: the reply may be that of either.
  Seen twice;
  twice.asks("a", 0, {"SET", "k", "1", "NX"}, "1").asks("a", 1, {"SET", "k", "2", "NX"}, "1");
  twice.gets("a", 2, "1", "+OK\r\n", "5:0:s").gets("a", 3, "1", "+OK\r\n", "5:1:s");
  const CaptureHistory made = capture_history(twice.capture, {});
  EXPECT_NE(verdict_of(made).answer, Answer::kViolation);
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("2 requests without a response in the history")));
}

TEST(CaptureHistory, LeavesAKeyOutOfWhichNobodyKnowsWhatWasWritten) {
  Seen seen = stale_read();
  seen.asks("a", 30, {"set", "k", "3"}, "9").gets("a", 31, "9", "+OK\r\n", "5:3:s");
  EXPECT_EQ(capture_history(seen.capture, {}).operations, 0U);
  Seen refused = stale_read();
  refused.asks("a", 30, {"set", "k", "3"}, "9").gets("a", 31, "9", "-ERR unknown command\r\n");
  EXPECT_EQ(answer_of(refused), Answer::kViolation);
  Seen observed = stale_read();
  observed.asks("b", 30, {"KEYNOTIFY", "k"}, "9").gets("b", 31, "9", "+OK\r\n");
  EXPECT_EQ(capture_history(observed.capture, {}).operations, 3U);
}

TEST(CaptureHistory, WritesWhatWasAskedAndAnswered) {
  Seen seen;
  seen.asks("a", 0, {"SET", "k", "1", "NX", "PX", "50"}, "1");
  auto& asked = std::get<CapturedMessage>(seen.capture.events[0]).message;
  asked.user_properties = {{"__ts", "7:0:a"}, {"__ft", "8:0:a"}};
  seen.gets("a", 1, "1", "+OK\r\n", "9:0:s");
  seen.asks("b", 2, {"VDEL", "k", "1"}, "2").gets("b", 3, "2", ":-1\r\n");
  const CaptureHistory made = capture_history(seen.capture, {});
  std::istringstream lines(made.text);
  history::Checker checker;
  history::HistoryReader reader([&](const history::Event& event) { checker.add(event); });
  for (std::string line; std::getline(lines, line);) ASSERT_TRUE(reader.line(line)) << line;
  for (const char* part : {"NX", "7:00000:a", "8:00000:a", "9:00000:s", "50"}) {
    EXPECT_THAT(made.text, HasSubstr(part));
  }
}

// A capture on several queues may have packets in another order than that of their times.
TEST(CaptureHistory, TakesTimesThatGoBack) {
  Seen seen;
  seen.asks("b", 20, {"GET", "k"}, "3").gets("b", 21, "3", "$-1\r\n");
  seen.asks("a", 0, {"SET", "k", "1"}, "1").gets("a", 1, "1", "+OK\r\n", "5:0:s");
  EXPECT_EQ(answer_of(seen), Answer::kViolation);
}

TEST(CaptureHistory, OfNothingIsEmpty) {
  const CaptureHistory made = capture_history({}, {});
  EXPECT_EQ(made.operations, 0U);
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST(CaptureHistory, SaysThatWithoutRepliesItSaysNothing) {
  Seen seen;
  seen.asks("a", 0, {"SET", "k", "1"}, "1").asks("a", 2, {"GET", "k"}, "2");
  EXPECT_THAT(capture_history(seen.capture, {}).notes,
              ElementsAre("no response was seen: a history without responses shows nothing"));
}

TEST(CaptureHistory, IsEmptyWhereNobodyKnowsWhichKeyWasWritten) {
  Seen seen = stale_read();
  seen.asks("a", 30, {"FROB"}, "9").gets("a", 31, "9", "+OK\r\n");
  const CaptureHistory made = capture_history(seen.capture, {});
  EXPECT_EQ(made.operations, 0U);
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("whose key cannot be read")));
}

// A token may stay when its key goes: only a SET shows the whole state of a fenced key.
TEST(CaptureHistory, BeginsAFencedKeyAtASetAlone) {
  Seen seen(false);
  seen.asks("a", 0, {"DEL", "k"}, "1").gets("a", 1, "1", ":1\r\n");
  seen.asks("a", 10, {"GET", "k"}, "2").gets("a", 11, "2", "$-1\r\n");
  EXPECT_EQ(capture_history(seen.capture, {}).operations, 1U);
  seen.asks("a", 20, {"DEL", "k"}, "3")
      .gets("a", 21, "3", "-ERR a fencing token is required for this request\r\n");
  EXPECT_EQ(capture_history(seen.capture, {}).operations, 0U);
  seen.asks("a", 30, {"SET", "k", "1"}, "4").gets("a", 31, "4", "+OK\r\n", "5:0:s");
  EXPECT_EQ(capture_history(seen.capture, {}).operations, 1U);
}

}  // namespace
}  // namespace fencepost::record
