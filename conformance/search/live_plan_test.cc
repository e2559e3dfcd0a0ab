#include "conformance/search/live_plan.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "conformance/search/trace_scenario.h"
#include "workload/trace_text.h"

namespace fencepost::search {
namespace {

using workload::Kind;

LivePlan planned(const std::string& text, bool closing = false) {
  const auto trace = workload::parse_trace(text);
  EXPECT_TRUE(trace) << trace.error();
  LiveOptions options;
  options.closing = closing;
  return plan_live(*trace, options);
}

std::string steps_of(const LivePlan& plan) {
  const std::string text = scenario_text(plan, {.id = "x", .title = "x"});
  return text.substr(text.find("    steps:\n") + 11);
}

TEST(LivePlan, LeavesOutWhatTheArticleLeavesOpen) {
  // PX 0; a timestamp of one minute exactly; a second KEYNOTIFY; a SET without PX of a key with a
  // time; a token with another node id.
  const LivePlan plan = planned(
      "c0 SET k0 \"v\" PX 0\n"
      "c0 KEYNOTIFY k1\n"
      "c0 KEYNOTIFY k1\n"
      "c0 SET k2 \"v\" PX 100000\n"
      "c0 SET k2 \"w\"\n"
      "c0 SET k3 \"v\" ft=start\n"
      "c0 SET k3 \"v\" ft=start#1\n");
  EXPECT_EQ(plan.steps.size(), 3U);
}

TEST(LivePlan, LeavesOutWhatHasTwoFaults) {
  const LivePlan plan = planned(
      "c0 SET k0 \"v\" ft=start\n"
      "c0 SET k0 \"w\" ts=none\n"            // and no token
      "c0 SET k1 \"w\" ts=none\n"            // the timestamp alone
      "c0 SET k0 \"w\" NX ft=start-1000\n"   // an older token, and it would not apply
      "c0 SET k0 \"w\" NEX ts=now+100000\n"  // no token either
      "c0 raw \"*3\\r\\n$3\\r\\nSET\\r\\n$0\\r\\n\\r\\n$1\\r\\nv\\r\\n\"\n");  // no key either
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[1].expected.error, codec::ErrorCode::kMissingTimestamp);
}

TEST(LivePlan, KeepsOffTheLimitOfAMinute) {
  const LivePlan plan = planned(
      "c0 SET k0 \"v\" ts=now+59999\n"
      "c0 SET k0 \"v\" ts=now+60000\n"
      "c0 SET k0 \"v\" ts=now+60001\n"
      "c0 SET k0 \"v\" ts=now+30000\n");
  EXPECT_EQ(steps_of(plan),
            "      - set: {key: \"k\", value: \"v\", ts: 'skew-limit - 1s'}\n"
            "        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}, cites: SET-OK-1}\n"
            "      - set: {key: \"k\", value: \"v\", ts: 'skew-limit - 1s'}\n"
            "        expect: {reply: ok, ts: {save: v2, greater_than: [sent, v1]}, cites: "
            "SET-WRITE-2}\n"
            "      - set: {key: \"k\", value: \"v\", ts: 'skew-limit + 1s'}\n"
            "        expect: {reply: {error: timestamp-too-far-ahead}, cites: HLC-SKEW-1}\n"
            "      - set: {key: \"k\", value: \"v\", ts: 'now + 30s'}\n"
            "        expect: {reply: ok, ts: {save: v4, greater_than: [sent, v2]}, cites: "
            "SET-WRITE-2}\n");
}

TEST(LivePlan, TokensKeepTheirOrderAndAreNotAhead) {
  const LivePlan plan = planned(
      "c0 SET k0 \"v\" ft=now+20000\n"
      "c0 SET k0 \"w\" ft=token-1000\n"
      "c0 DEL k0 ft=now+90000\n"
      "c0 DEL k0 ft=token/1\n");
  EXPECT_EQ(steps_of(plan),
            "      - set: {key: start, value: start}\n"
            "        expect: {reply: ok, ts: {save: t0}, cites: SET-OK-1}\n"
            "      - set: {key: \"k\", value: \"v\", ft: 't0 counter = 0 node \"Client1\"'}\n"
            "        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}, cites: FT-STORE-1}\n"
            "      - set: {key: \"k\", value: \"w\", ft: 't0 - 1s counter = 0 node \"Client1\"'}\n"
            "        expect: {reply: {error: token-lower}, cites: FT-LOWER-1}\n"
            "      - del: {key: \"k\", ft: 'now + 90s counter = 0 node \"Client1\"'}\n"
            "        expect: {reply: {error: token-too-far-ahead}, cites: HLC-SKEW-2}\n"
            "      - del: {key: \"k\", ft: 't0 counter = 1 node \"Client1\"'}\n"
            "        expect: {reply: {count: 1}, ts: present, cites: FT-ACCEPT-2}\n");
}

TEST(LivePlan, WhatReliesOnAKeyThatExpiresHasItsWindow) {
  const LivePlan plan = planned(
      "c0 SET k0 \"v\" PX 50\n"
      "c0 GET k0\n"
      "wait 1\n"
      "wait 1\n"  // nothing expires any more
      "c0 GET k0\n");
  EXPECT_EQ(steps_of(plan),
            "      - set: {key: \"k\", value: \"v\", options: [PX, \"300\"], mark: m1}\n"
            "        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}, cites: SET-OK-1}\n"
            "      - get: {key: \"k\"}\n"
            "        expect: {reply: {value: \"v\"}, ts: {equals: v1}, before: m1 + 300ms, cites: "
            "SET-PX-2}\n"
            "      - wait: {until: m1.reply + 550ms}\n"
            "      - get: {key: \"k\"}\n"
            "        expect: {reply: missing, ts: absent, cites: SET-PX-4}\n");
}

TEST(LivePlan, NothingComesBetweenAnExpiryAndItsNotification) {
  const LivePlan plan = planned(
      "c1 KEYNOTIFY k0\n"
      "c0 SET k0 \"v\" PX 50\n"
      "c0 SET k1 \"v\"\n");
  ASSERT_EQ(plan.steps.size(), 4U);
  EXPECT_EQ(plan.steps[2].operation.kind, Kind::kWait);
  ASSERT_EQ(plan.steps[2].expected.notifications.size(), 1U);
  EXPECT_EQ(plan.steps[2].expected.notifications[0].operation, codec::Operation::kDelete);
}

// A wrong store could take these for requests that change keys which are not ours.
TEST(LivePlan, KeysOutsideOfThePrefixAreSafe) {
  const LivePlan plan = planned(
      "c0 raw \"*2\\r\\n$3\\r\\nDEL\\r\\n$1\\r\\nk\\r\\nX\"\n"
      "c0 raw \"*3\\r\\n$3\\r\\nsEt\\r\\n$1\\r\\nk\\r\\n$1\\r\\nv\"\n"
      "c0 raw \"*3\\r\\n$4\\r\\nvdel\\r\\n$1\\r\\nk\\r\\n$1\\r\\nv\"\n"
      "c0 raw \"*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\nkX\\r\\n\"\n"
      "c0 raw \"*3\\r\\n$3\\r\\nSET\\r\\n$1\\r\\nk\\r\\n$1\\r\\nv\\r\\n\" ts=now\n");
  EXPECT_EQ(steps_of(plan),
            "      - send: {payload: {escaped: '*2\\r\\n$3\\r\\nGET\\r\\n$1\\r\\nkX\\r\\n'}}\n"
            "        expect: {reply: {error: syntax}, cites: ERR-SYNTAX-1}\n"
            "      - send: {command: [\"SET\", {key: \"k\"}, \"v\"], writes: [\"k\"], ts: now}\n"
            "        expect: {reply: ok, ts: {save: v2, greater_than: [sent]}, cites: SET-OK-1}\n");
}

TEST(LivePlan, ClosingShowsValueTokenAndObservers) {
  const LivePlan plan = planned(
      "c1 KEYNOTIFY k0\n"
      "c0 SET k0 \"v\" ft=start\n",
      true);
  ASSERT_EQ(plan.closing_from, 2U);
  ASSERT_EQ(plan.steps.size(), 7U);
  EXPECT_EQ(plan.steps[2].expected.value, "v");
  EXPECT_EQ(plan.steps[3].expected.error, codec::ErrorCode::kTokenLower);
  EXPECT_EQ(plan.steps[4].expected.notifications.size(), 1U);
  EXPECT_NE(plan.steps[5].operation.client, plan.steps[6].operation.client);
  EXPECT_EQ(plan.opening().size(), 2U);
}

TEST(LivePlan, IsNoLongerThanItMayBe) {
  LiveOptions options;
  options.max_operations = 3;
  options.closing = false;
  EXPECT_EQ(plan_live(workload::Trace(9), options).steps.size(), 3U);
}

}  // namespace
}  // namespace fencepost::search
