// The naive model on the examples and tables of the protocol documents. Traces are written as in
// trace_text.h; each prediction is one line.
#include "workload/testing/naive_model.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "workload/testing/model_run.h"
#include "workload/trace_text.h"

namespace fencepost::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The wall clock of the article's example.
constexpr std::uint64_t kNoon = 1'696'374'425'000;

NaiveOptions options() { return {.clients = {"a", "b", "c", "d"}}; }

std::string text_of(const Prediction& prediction) {
  using codec::ReplyKind;
  switch (prediction.kind) {
    case ReplyKind::kOk:
      return prediction.fresh ? "new" : "ok";
    case ReplyKind::kNotApplied:
      return "not applied";
    case ReplyKind::kValue:
      return "value " + escape(prediction.value) + " of " + std::to_string(prediction.origin);
    case ReplyKind::kMissing:
      return "missing";
    case ReplyKind::kCount:
      return "count " + std::to_string(prediction.count);
    case ReplyKind::kError:
      return std::string(codec::name(prediction.error));
  }
  return "unknown";
}

std::string text_of(const ExpectedNotification& notification) {
  const bool set = notification.operation == codec::Operation::kSet;
  return "c" + std::to_string(notification.client) + (set ? " SET " : " DELETE ") +
         (set ? escape(notification.value) + " " : "") + "of " +
         std::to_string(notification.origin);
}

// A model and the lines that its last predictions were.
struct ModelOutput {
  explicit ModelOutput(const std::string& text, NaiveOptions with = options())
      : model(std::move(with)) {
    ModelRun run(model, kNoon);
    const Result<Trace, std::string> trace = parse_trace(text);
    EXPECT_TRUE(trace.has_value()) << trace.error();
    if (!trace) return;
    for (const Operation& operation : *trace) {
      last = run.step(operation);
      for (const ExpectedNotification& notification : last.notifications) {
        notifications.push_back(text_of(notification));
      }
      if (is_request(operation.kind)) replies.push_back(text_of(last));
    }
    now = run.now();
  }

  NaiveModel model;
  Clocks now;
  Prediction last;
  std::vector<std::string> replies{};
  std::vector<std::string> notifications{};
};

TEST(NaiveModel, GivesTheVersionOfTheArticlesExample) {
  const ModelOutput run("c0 SET k0 \"v\"");
  EXPECT_THAT(run.replies, ElementsAre("new"));
  EXPECT_EQ(run.last.version, (hlc::Timestamp{kNoon, 1, "StateStore"}));
}

TEST(NaiveModel, FollowsTheReceiptRuleOfThePaper) {
  const auto version = [](const std::string& text) { return ModelOutput(text).last.version; };
  const auto at = [](std::int64_t ms, std::uint64_t counter) {
    return hlc::Timestamp{kNoon + static_cast<std::uint64_t>(ms), counter, "StateStore"};
  };
  EXPECT_EQ(version("c0 SET k0 \"v\" ts=now-5/9"), at(0, 0));
  EXPECT_EQ(version("c0 SET k0 \"v\" ts=now+5/9"), at(5, 10));
  EXPECT_EQ(version("c0 SET k0 \"v\" ts=now/9\nc0 SET k1 \"v\" ts=now/3"), at(0, 11));
  EXPECT_EQ(version("c0 SET k0 \"v\" ts=now/3\nc0 SET k1 \"v\" ts=now/9"), at(0, 10));
  EXPECT_EQ(version("c0 SET k0 \"v\" ts=now+5/9\nc0 SET k1 \"v\""), at(5, 11));
  EXPECT_EQ(version("c0 SET k0 \"v\" ts=now+5/9\nc0 SET k1 \"v\" ts=now+6/2"), at(6, 3));
  EXPECT_EQ(version("c0 SET k0 \"v\"\nwall -1000\nc0 SET k0 \"v\""), at(0, 2));
  EXPECT_EQ(version("c0 SET k0 \"v\"\nwait 7\nc0 SET k0 \"v\" ts=start"), at(7, 0));
}

TEST(NaiveModel, AppliesConditions) {
  EXPECT_THAT(ModelOutput("c0 SET k0 \"v\" NX\nc1 SET k0 \"w\" NX\nc0 GET k0").replies,
              ElementsAre("new", "not applied", "value v of 0"));
  EXPECT_THAT(ModelOutput("c0 SET k0 \"v\" NEX\nc1 SET k0 \"w\" NEX\nc0 SET k0 \"v\" NEX").replies,
              ElementsAre("new", "not applied", "new"));
  const ModelOutput refused("c0 SET k0 \"v\"\nc1 SET k0 \"w\" NX");
  EXPECT_EQ(refused.last.origin, 0U);
  EXPECT_EQ(refused.last.version, (hlc::Timestamp{kNoon, 1, "StateStore"}));
}

TEST(NaiveModel, DeletesAndComparesValues) {
  EXPECT_THAT(
      ModelOutput("c0 DEL k0\nc0 SET k0 \"v\"\nc0 VDEL k0 \"w\"\nc0 VDEL k0 \"v\"\nc0 GET k0\n"
                  "c0 VDEL k0 \"v\"\nc0 SET k0 \"\"\nc0 GET k0\nc0 DEL k0")
          .replies,
      ElementsAre("count 0", "new", "not applied", "count 1", "missing", "count 0", "new",
                  "value  of 6", "count 1"));
}

TEST(NaiveModel, WantsATimestampNotMoreThanAMinuteAhead) {
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\" ts=none\nc0 SET k0 \"v\" ts=bad0\nc0 SET k0 \"v\" ts=now+60001\n"
                  "c0 SET k0 \"v\" ts=now+60000\nc0 SET k0 \"v\" ts=epoch\n"
                  "c0 SET k0 \"v\" ts=now/9223372036854775807\n"
                  "c0 SET k0 \"v\" ts=now/9223372036854775808")
          .replies,
      ElementsAre("missing-timestamp", "malformed-timestamp", "timestamp-too-far-ahead", "new",
                  "new", "new", "malformed-timestamp"));
  // It has no meaning on other verbs.
  EXPECT_THAT(ModelOutput("c0 GET k0 ts=bad0\nc0 DEL k0 ts=max\nc0 KEYNOTIFY k0 ts=bad1").replies,
              ElementsAre("missing", "count 0", "ok"));
}

TEST(NaiveModel, Fences) {
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\" ft=now\nc1 SET k0 \"w\"\nc1 SET k0 \"w\" ft=token-1\n"
                  "c1 SET k0 \"w\" ft=token\nc1 SET k0 \"x\" ft=token/1\nc0 SET k0 \"v\" ft=start\n"
                  "c0 GET k0")
          .replies,
      ElementsAre("new", "token-required", "token-lower", "new", "new", "token-lower",
                  "value x of 4"));
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\" ft=now\nc0 DEL k0\nc0 VDEL k0 \"v\"\nc0 DEL k0 ft=token#1\n"
                  "c0 VDEL k0 \"w\" ft=token\nc0 DEL k0 ft=token\nc0 SET k0 \"v\" ft=epoch")
          .replies,
      ElementsAre("new", "token-required", "token-required", "token-lower", "not applied",
                  "count 1", "new"));
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\" ft=now+60001\nc0 SET k0 \"v\" ft=bad1\nc0 DEL k0 ft=bad0\n"
                  "c0 GET k0 ft=bad0")
          .replies,
      ElementsAre("token-too-far-ahead", "malformed-timestamp", "malformed-timestamp", "missing"));
  // The fencing rule comes before the condition, and what is not applied leaves no token.
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\" ft=now\nc1 SET k0 \"v\" NX\nc1 SET k0 \"v\" NX ft=token+5\n"
                  "c1 SET k0 \"v\" ft=start")
          .replies,
      ElementsAre("new", "token-required", "not applied", "new"));
}

TEST(NaiveModel, ExpiresOnTheSteadyClock) {
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\" PX 50\nwait 49\nc0 GET k0\nwall 1000\nc0 GET k0\nwait 1\n"
                  "c0 GET k0")
          .replies,
      ElementsAre("new", "value v of 0", "value v of 0", "missing"));
  EXPECT_THAT(ModelOutput("c0 SET k0 \"v\" PX 50\nc0 SET k0 \"w\"\nwait 60\nc0 GET k0\n").replies,
              ElementsAre("new", "new", "value w of 1"));
  EXPECT_THAT(ModelOutput("c0 KEYNOTIFY k0\nc0 SET k0 \"v\" PX 0\nc0 GET k0").notifications,
              ElementsAre("c0 SET v of 1", "c0 DELETE of 1"));
}

TEST(NaiveModel, TellsObserversInOrder) {
  const ModelOutput run(
      "c1 KEYNOTIFY k0\nc0 KEYNOTIFY k0\nc2 KEYNOTIFY k1\nc0 SET k0 \"v\"\nc1 disconnect\n"
      "c0 SET k0 \"w\" PX 50\nc0 VDEL k0 \"x\"\nwait 50\nc0 STOP k0\nc0 STOP k0\nc0 SET k0 \"y\"");
  EXPECT_THAT(run.notifications,
              ElementsAre("c1 SET v of 3", "c0 SET v of 3", "c0 SET w of 5", "c0 DELETE of 5"));
  EXPECT_THAT(run.replies,
              ElementsAre("ok", "ok", "ok", "new", "new", "not applied", "ok", "count 0", "new"));
}

TEST(NaiveModel, ReadsPayloads) {
  const auto reply = [](const std::string& payload) {
    return ModelOutput("c0 raw \"" + escape(payload) + "\" ts=now").replies.at(0);
  };
  using codec::encode_command;
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "05", "NX"})), "new");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "1.5"})), "new");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "1."})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "3155760000000"})), "new");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "3155760000001"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "18446744073709551617"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "-1"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "NX", "NEX"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "1", "PX"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "PX", "1", "PX", "2"})), "wrong-argument-count");
  EXPECT_EQ(reply(encode_command({"SET", "k", "v", "nx"})), "syntax");
  EXPECT_EQ(reply(encode_command({"SET", "", "v"})), "empty-key");
  EXPECT_EQ(reply(encode_command({"GET"})), "wrong-argument-count");
  EXPECT_EQ(reply(encode_command({"GET", "k"})), "missing");
  EXPECT_EQ(reply(encode_command({"DEL", "k"})), "count 0");
  EXPECT_EQ(reply(encode_command({"VDEL", "k"})), "wrong-argument-count");
  EXPECT_EQ(reply(encode_command({"KEYNOTIFY", "k", "STOP"})), "count 0");
  EXPECT_EQ(reply(encode_command({"KEYNOTIFY", "k", "stop"})), "syntax");
  EXPECT_EQ(reply(encode_command({"get", "k"})), "unknown-command");
  EXPECT_EQ(reply(encode_command({"GET", "k"}) + "x"), "syntax");
  for (const char* wrong : {"", "*", "*0\r\n", "*-1\r\n", "*01\r\n$3\r\nGET\r\n", "*1\r\n$3\r\nGE",
                            "*1\r\n:3\r\n", "*1\r\n$-1\r\n", "*1\r\n$3\r\nGETxx", "GET k\r\n",
                            "*1\r\n$9999999999\r\n", "*2000000\r\n", "*1\n$3\nGET\n"}) {
    EXPECT_EQ(reply(wrong), "syntax") << wrong;
  }
}

TEST(NaiveModel, KeepsToQuotaRightsAndTopics) {
  NaiveOptions with = options();
  with.quota = 1;
  EXPECT_THAT(
      ModelOutput("c0 SET k0 \"v\"\nc0 SET k1 \"v\"\nc0 SET k0 \"w\"\nc0 DEL k0\nc0 SET k1 \"v\"",
                  with)
          .replies,
      ElementsAre("new", "quota-exceeded", "new", "count 1", "new"));
  with = options();
  with.restrictions = {{.client = 1, .readable = {keys()[0]}, .writable = {keys()[1]}}};
  EXPECT_THAT(
      ModelOutput("c1 SET k0 \"v\"\nc1 GET k0\nc1 SET k1 \"v\"\nc1 KEYNOTIFY k1\nc0 GET k1", with)
          .replies,
      ElementsAre("not-authorized", "missing", "new", "not-authorized", "value v of 2"));
  with = options();
  with.clients[0] = std::string(32'729, 'c');
  EXPECT_THAT(ModelOutput("c0 KEYNOTIFY k0\nc0 KEYNOTIFY k4\nc0 STOP k4", with).replies,
              ElementsAre("ok", "syntax", "count 0"));
}

TEST(NaiveModel, NamesTheRequirementsThatLeaveAPointOpen) {
  const auto open = [](const std::string& text) {
    return std::string(ModelOutput(text).last.open);
  };
  EXPECT_EQ(open("c0 SET k0 \"v\""), "");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=now+60000"), "HLC-SKEW-OPEN-1");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=now+59999"), "");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=bad0"), "");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=bad7"), "HLC-PARSE-OPEN-1");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=now#6"), "HLC-PARSE-OPEN-1");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=now/2147483648"), "HLC-PARSE-OPEN-2");
  EXPECT_EQ(open("c0 SET k0 \"v\" PX 50\nc0 SET k0 \"v\"\nc0 GET k0"), "SET-PX-OPEN-6");
  EXPECT_EQ(open("c0 SET k0 \"v\" PX 50\nc0 SET k0 \"v\" NEX\nc0 GET k0"), "SET-NEX-OPEN-2");
  EXPECT_EQ(open("c0 KEYNOTIFY k0\nc0 KEYNOTIFY k0"), "NTF-REPEAT-OPEN-1");
  EXPECT_EQ(open("c0 SET k0 \"v\" PX 0"), "SET-PX-OPEN-1");
  EXPECT_EQ(open("c0 SET k0 \"v\" PX 864000000"), "");
  EXPECT_EQ(open("c0 SET k0 \"v\" PX 864000001"), "SET-PX-OPEN-5");
  EXPECT_EQ(open("c0 SET k0 \"v\"\nc0 SET k0 \"w\" NX ts=none"), "ERR-ORDER-OPEN-2");
  EXPECT_EQ(open("c0 SET k0 \"v\" ts=none ft=bad0"), "FT-OPEN-3");
  EXPECT_EQ(open("c0 SET k0 \"v\" ft=now\nc0 SET k0 \"w\" NX"), "FT-OPEN-3");
  EXPECT_EQ(open("c0 SET k0 \"v\" ft=now\nc0 VDEL k0 \"w\""), "FT-OPEN-3");
  EXPECT_EQ(open("c0 SET k0 \"v\" ft=now\nc0 DEL k0"), "");
  EXPECT_EQ(open("c0 GET k0 ts=now"), "");
  EXPECT_EQ(open("c0 GET k0 ts=bad0"), "HLC-REQUIRED-OPEN-1");
  EXPECT_EQ(open("c0 GET k0 ft=bad0"), "FT-OPEN-1");
  EXPECT_EQ(open("c0 DEL k0 ft=now"), "FT-OPEN-2");
  EXPECT_EQ(open("c0 DEL k0 ft=bad0"), "FT-OPEN-1");
  EXPECT_EQ(open("c0 SET k0 \"v\" ft=now\nc0 SET k0 \"w\" ft=token#2"), "FT-OPEN-6");
  EXPECT_EQ(open("c0 SET k0 \"v\" ft=now\nc0 SET k0 \"w\" NX ft=token+1\nc0 DEL k0 ft=token"),
            "FT-OPEN-4");
}

TEST(NaiveModel, ListsItsState) {
  ModelOutput run("c0 KEYNOTIFY k1\nc0 SET k0 \"v\" PX 50 ft=now\nc0 SET k1 \"w\"\nwait 20");
  const std::vector<KeyState> state = run.model.state(run.now);
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state[0].key, "k");
  EXPECT_EQ(state[0].value, "v");
  EXPECT_EQ(state[0].origin, 1U);
  EXPECT_EQ(state[0].token, (hlc::Timestamp{kNoon, 0, "Client1"}));
  EXPECT_EQ(state[0].remaining, std::chrono::milliseconds{30});
  EXPECT_EQ(state[1].token, std::nullopt);
  EXPECT_EQ(state[1].remaining, std::nullopt);
  ASSERT_EQ(run.model.observers().size(), 1U);
  EXPECT_EQ(run.model.observers()[0].key, "K");
  EXPECT_EQ(run.model.next_expiry(), std::chrono::milliseconds{50});
}

}  // namespace
}  // namespace fencepost::workload
