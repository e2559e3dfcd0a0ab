#include "traffic/record/capture_keys.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture_sample.h"

namespace fencepost::record {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// One exchange; `text` is the payload of the reply, or empty when there is none.
class Exchange {
 public:
  Exchange(const std::vector<std::string_view>& arguments, const std::string& text) {
    traffic_.request("c", arguments);
    if (!text.empty()) traffic_.reply("c", text);
    timeline_ = timeline_of(traffic_.capture);
  }
  [[nodiscard]] const TimelineItem& item() const { return timeline_.items.front(); }
  [[nodiscard]] codec::Message& request() {
    return std::get<CapturedMessage>(traffic_.capture.events.front()).message;
  }

 private:
  Traffic traffic_;
  Timeline timeline_;
};

TEST(ReadExchange, TypesARequestAndItsReply) {
  const Exchange exchange({"GET", "k"}, "$1\r\nv\r\n");
  const ReadExchange typed = read(exchange.item());
  EXPECT_THAT(typed.arguments, ElementsAre("GET", "k"));
  EXPECT_EQ(typed.command->verb, Verb::kGet);
  EXPECT_EQ(typed.verb(), Verb::kGet);
  EXPECT_EQ(typed.key(), "k");
  EXPECT_TRUE(typed.answered(ReplyKind::kValue));
  EXPECT_FALSE(typed.answered(ReplyKind::kOk));
  EXPECT_FALSE(typed.error);
}

TEST(ReadExchange, KeepsWhatCanBeKnownOfAWrongRequest) {
  const Exchange wrong({"SET", "k"}, "-ERR wrong number of arguments\r\n");
  const ReadExchange typed = read(wrong.item());
  EXPECT_FALSE(typed.command);
  EXPECT_EQ(typed.verb(), Verb::kSet);
  EXPECT_EQ(typed.key(), "k");
  EXPECT_TRUE(typed.answered(ReplyKind::kError));
  const Exchange unknown({"FROB"}, "+OK\r\n");
  EXPECT_FALSE(read(unknown.item()).verb());
  EXPECT_EQ(read(unknown.item()).key(), "");
  Exchange bytes({"GET", "k"}, "no reply");
  bytes.request().payload = "hello";
  EXPECT_THAT(read(bytes.item()).arguments, IsEmpty());
  EXPECT_FALSE(read(bytes.item()).verb());
  EXPECT_FALSE(read(bytes.item()).reply);
}

TEST(ReadExchange, NamesTheErrorOfAReply) {
  const Exchange known({"SET", "k", "v"}, "-ERR missing timestamp\r\n");
  EXPECT_TRUE(read(known.item()).refused(ErrorCode::kMissingTimestamp));
  EXPECT_FALSE(read(known.item()).refused(ErrorCode::kSyntax));
  const Exchange unknown({"SET", "k", "v"}, "-ERR something new\r\n");
  EXPECT_TRUE(read(unknown.item()).answered(ReplyKind::kError));
  EXPECT_FALSE(read(unknown.item()).error);
  const Exchange none({"SET", "k", "v"}, "");
  EXPECT_FALSE(read(none.item()).reply);
}

struct Shows {
  std::vector<std::string_view> arguments;
  std::string reply;
  bool key = false;
  bool gone = false;
};

TEST(ReadExchange, KnowsWhatShowsThatAKeyIsThereOrGone) {
  const std::vector<Shows> rows = {{{"GET", "k"}, "$1\r\nv\r\n", true, false},
                                   {{"GET", "k"}, "$-1\r\n", false, true},
                                   {{"DEL", "k"}, ":1\r\n", true, false},
                                   {{"DEL", "k"}, ":0\r\n", false, true},
                                   {{"VDEL", "k", "v"}, ":-1\r\n", true, false},
                                   {{"SET", "k", "v"}, "+OK\r\n", false, false},
                                   {{"SET", "k", "v", "NX"}, "+OK\r\n", false, true},
                                   {{"SET", "k", "v", "NEX"}, "+OK\r\n", false, false},
                                   {{"SET", "k", "v", "NX"}, ":-1\r\n", true, false},
                                   {{"GET", "k"}, "-ERR syntax error\r\n", false, false}};
  for (const Shows& row : rows) {
    const Exchange exchange(row.arguments, row.reply);
    EXPECT_EQ(read(exchange.item()).shows_key(), row.key) << row.arguments[0] << row.reply;
    EXPECT_EQ(read(exchange.item()).shows_gone(), row.gone) << row.arguments[0] << row.reply;
  }
}

// --- how keys were before

// What is said of `k` by these exchanges of client c.
KeyBeginning beginning_of(
    const std::vector<std::pair<std::vector<std::string_view>, std::string>>& exchanges) {
  Traffic traffic;
  for (const auto& [arguments, reply] : exchanges) {
    traffic.request("c", arguments);
    traffic.reply("c", reply);
  }
  const Timeline timeline = timeline_of(traffic.capture);
  return beginnings(pointers_to(timeline), false)["k"];
}

TEST(KeyBeginnings, AreWhatTheFirstAnswersShow) {
  EXPECT_EQ(beginning_of({{{"GET", "k"}, "$1\r\nv\r\n"}}).value, "v");
  EXPECT_TRUE(beginning_of({{{"GET", "k"}, "$1\r\nv\r\n"}}).exists);
  EXPECT_FALSE(beginning_of({{{"GET", "k"}, "$-1\r\n"}}).exists);
  EXPECT_TRUE(beginning_of({{{"SET", "k", "w", "NX"}, ":-1\r\n"}}).exists);
  EXPECT_TRUE(beginning_of({{{"DEL", "k"}, ":1\r\n"}}).exists);
  EXPECT_FALSE(beginning_of({{{"DEL", "k"}, ":0\r\n"}}).exists);
  EXPECT_EQ(beginning_of({{{"VDEL", "k", "v"}, ":1\r\n"}}).value, "v");
  const KeyBeginning mismatch = beginning_of({{{"VDEL", "k", "v"}, ":-1\r\n"}});
  EXPECT_TRUE(mismatch.exists);
  EXPECT_FALSE(mismatch.value);
}

TEST(KeyBeginnings, DoNotDependOnWhatCameAfterAChange) {
  EXPECT_FALSE(
      beginning_of({{{"SET", "k", "w"}, "+OK\r\n"}, {{"GET", "k"}, "$1\r\nw\r\n"}}).exists);
  EXPECT_FALSE(beginning_of({{{"DEL", "k"}, ":0\r\n"}, {{"GET", "k"}, "$1\r\nw\r\n"}}).exists);
  // The value was seen after it was known that there is one.
  const KeyBeginning later = beginning_of({{{"SET", "k", "w", "NX"}, ":-1\r\n"},
                                           {{"GET", "k"}, "$1\r\nv\r\n"},
                                           {{"GET", "k"}, "$-1\r\n"}});
  EXPECT_TRUE(later.exists);
  EXPECT_EQ(later.value, "v");
}

TEST(KeyBeginnings, KnowTheTokenOfAKey) {
  const KeyBeginning required =
      beginning_of({{{"DEL", "k"}, "-ERR a fencing token is required for this request\r\n"}});
  EXPECT_TRUE(required.exists);
  EXPECT_TRUE(required.fenced);
  EXPECT_FALSE(required.fenced_high);
  const std::string lower = "-ERR " +
                            std::string(codec::text(ErrorCode::kTokenLower,
                                                    codec::dialect(codec::DialectId::kDeployed))) +
                            "\r\n";
  EXPECT_TRUE(beginning_of({{{"DEL", "k"}, lower}}).fenced_high);
  EXPECT_FALSE(beginning_of({{{"SET", "k", "w"}, "+OK\r\n"}, {{"DEL", "k"}, lower}}).fenced);
  EXPECT_FALSE(beginning_of({{{"DEL", "k"}, "-ERR syntax error\r\n"}}).exists);
}

TEST(KeyBeginnings, KnowWhoObservedAKey) {
  EXPECT_THAT(beginning_of({{{"KEYNOTIFY", "k", "STOP"}, "+OK\r\n"}}).observers, ElementsAre("c"));
  EXPECT_THAT(beginning_of({{{"KEYNOTIFY", "k", "STOP"}, ":0\r\n"}}).observers, IsEmpty());
  EXPECT_THAT(
      beginning_of({{{"KEYNOTIFY", "k"}, "+OK\r\n"}, {{"KEYNOTIFY", "k", "STOP"}, "+OK\r\n"}})
          .observers,
      IsEmpty());
  Traffic traffic;
  traffic.notification("o", "k", "*2\r\n", stamp(kBegin));
  traffic.request("p", {"KEYNOTIFY", "k"});
  traffic.reply("p", "+OK\r\n");
  traffic.notification("p", "k", "*2\r\n", stamp(kBegin));
  const Timeline timeline = timeline_of(traffic.capture);
  const auto items = pointers_to(timeline);
  EXPECT_THAT(beginnings(items, false)["k"].observers, ElementsAre("o"));
  EXPECT_THAT(beginnings(items, true), IsEmpty());
}

// --- names

TEST(KeyNames, AreTheKeysWhereTheseAreSimple) {
  Traffic traffic;
  const std::string longest(48, 'x');
  for (const std::string& key : {std::string("plain key"), std::string("\xff"), longest,
                                 longest + "x", std::string("a\"b"), std::string("plain key")}) {
    traffic.request("c", {"GET", key});
  }
  traffic.request("c", {"GET", ""});
  traffic.notification("o", "seen only here", "?", stamp(kBegin));
  const Timeline timeline = timeline_of(traffic.capture);
  EXPECT_THAT(
      key_names(pointers_to(timeline)),
      testing::UnorderedElementsAre(Pair("plain key", "plain key"), Pair("\xff", "k2"),
                                    Pair(longest, longest), Pair(longest + "x", "k4"),
                                    Pair("a\"b", "k5"), Pair("seen only here", "seen only here")));
}

TEST(KeyNames, AreDistinct) {
  Traffic traffic;
  for (const char* key : {"k2", "\xff", "k2-"}) traffic.request("c", {"GET", key});
  const Timeline timeline = timeline_of(traffic.capture);
  EXPECT_THAT(
      key_names(pointers_to(timeline)),
      testing::UnorderedElementsAre(Pair("k2", "k2"), Pair("\xff", "k2-"), Pair("k2-", "k2--")));
}

// --- how keys are

KeyNow after(KeyNow key, const std::vector<std::string_view>& arguments, const std::string& reply,
             bool with_token = false) {
  Exchange exchange(arguments, reply);
  if (with_token) exchange.request().user_properties.emplace_back("__ft", "1:0:c");
  follow(key, exchange.item(), read(exchange.item()));
  return key;
}

TEST(KeyNow, FollowsWhatChangesIt) {
  const KeyNow set = after({.expired = true}, {"SET", "k", "v", "PX", "100"}, "+OK\r\n");
  EXPECT_TRUE(set.exists);
  EXPECT_FALSE(set.expired);
  EXPECT_FALSE(set.fenced);
  EXPECT_EQ(set.expires_after, milliseconds{100});
  EXPECT_EQ(set.sent, kBegin + milliseconds{1});
  EXPECT_EQ(set.received, kBegin + milliseconds{2});
  EXPECT_FALSE(after(set, {"SET", "k", "w"}, "+OK\r\n").expires_after);
  EXPECT_TRUE(after(set, {"SET", "k", "w", "NX"}, ":-1\r\n").expires_after);
  EXPECT_TRUE(after({}, {"SET", "k", "v"}, "+OK\r\n", true).fenced);
  EXPECT_TRUE(after({.fenced = true}, {"SET", "k", "v"}, "+OK\r\n").fenced);
  EXPECT_TRUE(after({}, {"GET", "k"}, "$1\r\nv\r\n").exists);
  EXPECT_FALSE(after({}, {"GET", "k"}, "$-1\r\n").exists);
}

TEST(KeyNow, FollowsRemovals) {
  const KeyNow there{
      .exists = true, .fenced = true, .expires_after = milliseconds{1}, .observers = {"o"}};
  for (const KeyNow& removed :
       {after(there, {"DEL", "k"}, ":1\r\n"), after(there, {"VDEL", "k", "v"}, ":1\r\n")}) {
    EXPECT_FALSE(removed.exists);
    EXPECT_FALSE(removed.fenced);
    EXPECT_FALSE(removed.expired);
    EXPECT_FALSE(removed.expires_after);
    EXPECT_THAT(removed.pending_observers, ElementsAre("o"));
  }
  EXPECT_TRUE(after(there, {"DEL", "k"}, ":0\r\n").exists);
  EXPECT_TRUE(after(there, {"VDEL", "k", "v"}, ":-1\r\n").exists);
  EXPECT_TRUE(after(there, {"DEL", "k"}, "-ERR syntax error\r\n").exists);
  EXPECT_TRUE(after(there, {"DEL", "k"}, "").exists);
  KeyNow expired = there;
  remove(expired, true);
  EXPECT_TRUE(expired.expired);
}

TEST(KeyNow, FollowsObservers) {
  const KeyNow observed = after({}, {"KEYNOTIFY", "k"}, "+OK\r\n");
  EXPECT_THAT(observed.observers, ElementsAre("c"));
  EXPECT_THAT(after({}, {"KEYNOTIFY", "k"}, "-ERR syntax error\r\n").observers, IsEmpty());
  EXPECT_THAT(after(observed, {"KEYNOTIFY", "k", "STOP"}, "+OK\r\n").observers, IsEmpty());
  EXPECT_THAT(after(observed, {"KEYNOTIFY", "k", "STOP"}, ":0\r\n").observers, IsEmpty());
}

}  // namespace
}  // namespace fencepost::record
