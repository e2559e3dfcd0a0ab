#include "suite/run/change_log.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/resp3.h"

namespace fencepost::run {
namespace {

using codec::Operation;
using judge::Cause;
using std::chrono::milliseconds;

constexpr milliseconds kLater{10'000};

struct Answered {
  milliseconds sent;
  std::string writer;
  std::vector<std::string_view> command;
  std::string reply = "+OK\r\n";
};

void note(ChangeLog& log, const Answered& answered) {
  codec::Message request;
  request.payload = codec::encode_command(answered.command);
  judge::Exchange exchange(std::move(request), answered.sent, 0);
  codec::Message reply;
  reply.payload = answered.reply;
  exchange.reply.emplace(std::move(reply), answered.sent, 0);
  log.note(exchange, answered.writer);
}

TEST(ChangeLog, TellsOnesOwnChangeFromThatOfAnother) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v"}});
  EXPECT_EQ(log.take({.observer = "a", .key = "k"}, kLater), Cause::kOwnChange);
  EXPECT_EQ(log.take({.observer = "b", .key = "k"}, kLater), Cause::kOthersChange);
}

TEST(ChangeLog, TellsOfEachChangeOnce) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v"}});
  EXPECT_TRUE(log.has({.observer = "a", .key = "k"}, kLater));
  (void)log.take({.observer = "a", .key = "k"}, kLater);
  EXPECT_FALSE(log.has({.observer = "a", .key = "k"}, kLater));
  EXPECT_EQ(log.take({.observer = "a", .key = "k"}, kLater), Cause::kUnknown);
}

TEST(ChangeLog, KnowsNoChangeThatDidNotHappen) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v", "NX"}, ":-1\r\n"});
  note(log, {milliseconds{1}, "a", {"DEL", "k"}, ":0\r\n"});
  note(log, {milliseconds{1}, "a", {"GET", "k"}, "$1\r\nv\r\n"});
  EXPECT_FALSE(log.has({.observer = "a", .key = "k"}, kLater));
  EXPECT_FALSE(log.has({.observer = "a", .key = "k", .operation = Operation::kDelete}, kLater));
}

TEST(ChangeLog, FindsTheChangeToAValue) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "one"}});
  note(log, {milliseconds{2}, "b", {"SET", "k", "two"}});
  EXPECT_EQ(log.take({.observer = "a", .key = "k", .value = "two"}, kLater), Cause::kOthersChange);
  EXPECT_EQ(log.take({.observer = "a", .key = "k", .value = "two"}, kLater), Cause::kUnknown);
}

constexpr Operation kDelete = Operation::kDelete;

TEST(ChangeLog, KnowsAnExpiryWhenItsTimeHasCome) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v", "PX", "100"}});
  const ChangeLog::Notification wanted{.observer = "a", .key = "k", .operation = kDelete};
  EXPECT_FALSE(log.has(wanted, milliseconds{100}));
  EXPECT_EQ(log.take(wanted, milliseconds{101}), Cause::kExpiry);
}

TEST(ChangeLog, ForgetsAnExpiryThatANewSetHasTakenAway) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v", "PX", "100"}});
  note(log, {milliseconds{50}, "a", {"SET", "k", "v"}});
  EXPECT_FALSE(log.has({.observer = "a", .key = "k", .operation = kDelete}, kLater));
}

TEST(ChangeLog, KeepsAnExpiryThatCameBeforeTheNewSet) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v", "PX", "100"}});
  note(log, {milliseconds{500}, "a", {"SET", "k", "v"}});
  EXPECT_EQ(log.take({.observer = "a", .key = "k", .operation = kDelete}, kLater), Cause::kExpiry);
}

TEST(ChangeLog, TellsADeletionByACommandFromAnExpiry) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"SET", "k", "v", "PX", "100"}});
  note(log, {milliseconds{50}, "b", {"DEL", "k"}, ":1\r\n"});
  EXPECT_EQ(log.take({.observer = "a", .key = "k", .operation = kDelete}, kLater),
            Cause::kOthersChange);
}

TEST(ChangeLog, KnowsTheStopsOfOtherClientsAndOfOtherKeys) {
  ChangeLog log;
  note(log, {milliseconds{1}, "a", {"KEYNOTIFY", "k"}});
  note(log, {milliseconds{2}, "a", {"KEYNOTIFY", "k", "STOP"}});
  note(log, {milliseconds{3}, "c", {"KEYNOTIFY", "l", "STOP"}, "-ERR syntax error\r\n"});
  EXPECT_FALSE(log.has_other_stop("a", "k"));
  EXPECT_TRUE(log.has_other_stop("b", "k"));
  EXPECT_TRUE(log.has_other_stop("a", "l"));
  EXPECT_FALSE(log.has_other_stop("b", "l"));
}

}  // namespace
}  // namespace fencepost::run
