#include "clients/client_run/attribution.h"

#include <string>

#include <gtest/gtest.h>

namespace fencepost::client_run::attribution {
namespace {

using std::chrono::milliseconds;

std::string payload(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return out;
}

Command set_of(codec::Condition condition, std::optional<milliseconds> time = {}) {
  return {.kind = CommandKind::kSet,
          .key = "k",
          .value = "v",
          .condition = condition,
          .expires_after = time};
}

TEST(Attribution, ARequestIsAttributedToWhatItsBytesGotWrong) {
  using enum codec::Condition;
  struct Row {
    Command wanted;
    std::vector<std::string> sent;
    std::string_view rule;
  };
  const Command get{.kind = CommandKind::kGet, .key = "k"};
  const Command vdel{.kind = CommandKind::kVdel, .key = "k", .value = "v"};
  const Command stop{.kind = CommandKind::kUnobserve, .key = "k"};
  const Command lock{
      .kind = CommandKind::kLock, .key = "l", .value = "me", .expires_after = milliseconds(1'000)};
  const Command unlock{.kind = CommandKind::kUnlock, .key = "l", .value = "me"};
  const Row rows[] = {
      {get, {"get", "k"}, "CASE-VERB-1"},
      {lock, {"SET", "l", "me", "NEX"}, "LOCK-ACQUIRE-3"},
      {lock, {"SET", "l", "me", "PX", "1000"}, "LOCK-ACQUIRE-1"},
      {lock, {"SET", "l", "me", "NEX", "PX", "1"}, "LOCK-ACQUIRE-1"},
      {unlock, {"DEL", "l"}, "LOCK-RELEASE-1"},
      {unlock, {"VDEL", "l", "you"}, "LOCK-RELEASE-1"},
      {get, {"GET", "K"}, "KEY-BINARY-1"},
      {get, {"GET", "k", "x"}, "GET-GRAMMAR-1"},
      {vdel, {"DEL", "k"}, "VDEL-GRAMMAR-1"},
      {vdel, {"VDEL", "k"}, "VDEL-GRAMMAR-1"},
      {stop, {"KEYNOTIFY", "k"}, "NTF-STOP-1"},
      {stop, {"KEYNOTIFY", "k", "stop"}, "CASE-OPTION-1"},
      {set_of(kAlways), {"SET", "k", "w"}, "SET-VALUE-1"},
      {set_of(kAlways), {"SET", "k", "v", "NX"}, "SET-WRITE-2"},
      {set_of(kIfAbsent), {"SET", "k", "v", "nx"}, "CASE-OPTION-1"},
      {set_of(kIfAbsent), {"SET", "k", "v"}, "SET-NX-2"},
      {set_of(kIfAbsentOrEqual), {"SET", "k", "v", "NX"}, "SET-NEX-2"},
      {set_of(kIfAbsentOrEqual), {"SET", "k", "v"}, "SET-NEX-3"},
      {set_of(kIfAbsentOrEqual), {"SET", "k", "v", "NEX", "v"}, "SET-NEX-4"},
      {set_of(kAlways, milliseconds(1500)), {"SET", "k", "v", "PX", "1"}, "SET-PX-1"},
      {set_of(kAlways, milliseconds(1500)), {"SET", "k", "v"}, "SET-PX-1"},
      {set_of(kAlways), {"SET", "k", "v", "PX", "9"}, "SET-PX-3"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(of_request(row.wanted, {payload(row.sent)}), row.rule) << payload(row.sent);
  }
}

TEST(Attribution, TheNearestOfSeveralRequestsCounts) {
  const Command get{.kind = CommandKind::kGet, .key = "k"};
  EXPECT_EQ(of_request(get, {payload({"GET", "K2"}), payload({"KEYNOTIFY", "z"})}), "KEY-BINARY-1");
  EXPECT_EQ(of_request(get, {}), "GET-GRAMMAR-1");
  EXPECT_EQ(of_request(get, {"*2\r\n$3\r\nGET\r\n$9\r\nk\r\n"}), "RESP-INVALID-4");
}

CommandStep get_step(Expected expected, std::optional<Answer> answer = {}) {
  return {.command = {.kind = CommandKind::kGet, .key = "k"},
          .answer = std::move(answer),
          .expected = {std::move(expected)}};
}

Answer reply_of(ReplyScript script) { return {PubackAct{}, ReplyAct{std::move(script)}}; }

TEST(Attribution, AResultIsAttributedToTheReplyThatItMisreads) {
  using enum ResultKind;
  const Expected missing{.kind = kMissing};
  const Expected error{.kind = kError};
  EXPECT_EQ(of_reply(get_step(missing), nullptr), "GET-MISS-1");
  EXPECT_EQ(of_reply(get_step({.kind = kValue, .value = "v"}), nullptr), "GET-HIT-3");
  EXPECT_EQ(of_reply(get_step({.kind = kValue}), nullptr), "GET-HIT-4");
  EXPECT_EQ(of_reply(get_step(error, reply_of({.payload = "*0\r\n"})), nullptr), "GET-HIT-1");
  EXPECT_EQ(of_reply(get_step(error, reply_of({.payload = "-ERR moon\r\n"})), nullptr),
            "ERR-UNKNOWN-1");
  EXPECT_EQ(of_reply(get_step(error, reply_of({.version_ahead = milliseconds(1)})), nullptr),
            "VER-DRIFT-1");
  EXPECT_EQ(of_reply(get_step(error, Answer{PubackAct{}}), nullptr), "ENV-ASYNC-1");
  EXPECT_EQ(of_reply(get_step(error, Answer{PubackAct{.reason = 0x87}}), nullptr), "ENV-PUBACK-1");
  EXPECT_EQ(of_reply(get_step(error, Answer{CutAct{}}), nullptr), "LIFE-KEY-1");
  EXPECT_EQ(of_reply(get_step(missing, Answer{ReplyAct{}, PubackAct{}}), nullptr), "ENV-ASYNC-1");
  EXPECT_EQ(of_reply(get_step(missing, Answer{PubackAct{}, ReplyAct{}, ReplyAct{}}), nullptr),
            "ENV-CORRELATION-1");
}

TEST(Attribution, AnErrorWithAnotherTextBreaksTheRuleOfTheText) {
  const Expected denied{.kind = ResultKind::kError, .error = codec::ErrorCode::kNotAuthorized};
  const CommandStep step = get_step(denied, reply_of({.error = codec::ErrorCode::kNotAuthorized}));
  const Report other_text{.kind = ResultKind::kError, .error_text = "no"};
  const Report success{.kind = ResultKind::kMissing};
  EXPECT_EQ(of_reply(step, &other_text), "ERR-TEXT-7");
  EXPECT_EQ(of_reply(step, &success), "RESP-ERROR-FORM-1");
}

TEST(Attribution, ANotificationIsAttributedToWhatDiffersInIt) {
  const NotificationStep wanted{.key = "k", .value = "v"};
  const Report none{.kind = ResultKind::kMissing};
  const Report other_key{.kind = ResultKind::kChanged, .value = "v", .key = "6b"};
  const Report stranger{.kind = ResultKind::kChanged, .value = "w", .key = "l"};
  const Report other_value{.kind = ResultKind::kChanged, .value = "w", .key = "k"};
  EXPECT_EQ(of_notification(wanted, {none}), "NTF-SEND-1");
  EXPECT_EQ(of_notification(wanted, {other_key}), "NTF-TOPIC-1");
  EXPECT_EQ(of_notification(wanted, {stranger}), "NTF-SEND-3");
  EXPECT_EQ(of_notification(wanted, {other_value, true}), "NTF-VALUE-1");
  EXPECT_EQ(of_notification(wanted, {other_value, true, true}), "NTF-SEND-1");
}

TEST(Attribution, AStepFromWhichNoRuleFollowsHasToCiteOne) {
  Step step{.what =
                get_step({.kind = ResultKind::kMissing}, reply_of({.properties = {{"x", "y"}}}))};
  EXPECT_FALSE(is_attributed(step));
  step.cites = "ENV-STATUS-1";
  EXPECT_TRUE(is_attributed(step));
}

TEST(Attribution, TheRulesOfACaseAreThoseThatItNamesAndThatFollow) {
  ClientCase test_case{.requirements = {"GET-MISS-1"}};
  test_case.steps.push_back({.what = get_step({.kind = ResultKind::kValue, .value = "v"})});
  test_case.steps.push_back({.cites = "NTF-KEEP-1", .what = CutStep{}});
  EXPECT_EQ(rules_of(test_case), (std::set<std::string, std::less<>>{"GET-HIT-3", "GET-MISS-1",
                                                                     "LIFE-KEY-1", "NTF-KEEP-1"}));
}

}  // namespace
}  // namespace fencepost::client_run::attribution
