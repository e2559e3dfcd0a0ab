#include "concurrency/stress/restart_expectation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using history::Action;
using history::Operation;
using history::Outcome;

const hlc::Timestamp kVersion{.wall_ms = 1'000, .counter = 3, .node = "a"};

// Sent at 1 s, answered at 2 s.
Operation done(Operation operation, Outcome outcome) {
  operation.called = 1s;
  operation.returned = 2s;
  operation.outcome = outcome;
  if (!operation.version) operation.version = kVersion;
  return operation;
}

Operation set(std::optional<std::chrono::milliseconds> time = std::nullopt) {
  return done({.action = Action::kSet, .value = "one", .expires_after = time}, Outcome::kOk);
}

Operation read(history::Time at, const std::string& value, hlc::Timestamp version = kVersion) {
  return {.action = Action::kGet,
          .called = at,
          .returned = at,
          .outcome = Outcome::kValue,
          .read = value,
          .version = std::move(version)};
}

Operation missed(history::Time at) {
  return {.action = Action::kGet, .called = at, .returned = at, .outcome = Outcome::kMissing};
}

// The rule and the text of what is wrong; empty for nothing.
std::string flaw(const std::vector<Operation>& before, const Operation& get) {
  RestartExpectation expected("k");
  for (const Operation& each : before) expected.take(each, {});
  const auto out = expected.flaw_of(get);
  return out ? std::string(out->requirement) + ": " + out->text : "";
}

TEST(RestartExpectation, AValueStaysWithItsVersion) {
  EXPECT_EQ(flaw({set()}, read(9s, "one")), "");
  EXPECT_EQ(flaw({set()}, missed(9s)), "LIFE-DURABLE-1: a key that was set is gone");
  EXPECT_EQ(flaw({set()}, read(9s, "")),
            "LIFE-DURABLE-1: a key that was set has another value, of 0 bytes in place of 3 bytes");
  EXPECT_EQ(flaw({set()}, read(9s, "one", {.wall_ms = 1'000, .counter = 2, .node = "a"})),
            "LIFE-DURABLE-1: a key that was set has the version 1000:2:a in place of 1000:3:a");
  EXPECT_EQ(flaw({set()}, {.action = Action::kGet, .outcome = Outcome::kRefused}), "");
}

TEST(RestartExpectation, WhatIsGoneStaysGone) {
  const Operation del = done({.action = Action::kDel}, Outcome::kDeleted);
  const Operation vdel = done({.action = Action::kVdel, .value = "one"}, Outcome::kDeleted);
  EXPECT_EQ(flaw({set(), del}, missed(9s)), "");
  EXPECT_EQ(flaw({set(), del}, read(9s, "one")),
            "LIFE-DURABLE-2: a key that was deleted by DEL is there again");
  EXPECT_EQ(flaw({set(), vdel}, read(9s, "")),
            "LIFE-DURABLE-2: a key that was deleted by VDEL is there again");
  EXPECT_EQ(flaw({set(30ms), missed(3s)}, read(9s, "one")),
            "LIFE-DURABLE-2: a key that was set with PX 30, and had expired is there again");
  EXPECT_EQ(flaw({set(), del, set()}, read(9s, "one")), "");
}

TEST(RestartExpectation, AnExpiryIsNeitherEarlyNorLate) {
  // Sent at 1 s, so not before 4 s less 50 ms; answered at 2 s, so at 5 s and one more at the
  // latest.
  EXPECT_EQ(flaw({set(3s)}, missed(3'900ms)),
            "LIFE-DURABLE-5: a key that was set with PX 3000 is gone before its time");
  EXPECT_EQ(flaw({set(3s)}, missed(3'950ms)), "");
  EXPECT_EQ(flaw({set(3s)}, read(6s, "one")), "");
  EXPECT_EQ(flaw({set(3s)}, read(6'001ms, "one")),
            "LIFE-DURABLE-5: a key that was set with PX 3000 is there after its time");
  EXPECT_EQ(flaw({set(3s), set()}, read(99s, "one")), "");
  RestartExpectation expected("k");
  EXPECT_FALSE(expected.expires());
  expected.take(set(3s), {});
  EXPECT_TRUE(expected.expires());
  EXPECT_EQ(expected.gone_by(), 6s);
}

TEST(RestartExpectation, ATokenStays) {
  const hlc::Timestamp held{.wall_ms = 5'000, .node = "a"};
  const auto of_token = [&](std::optional<hlc::Timestamp> token, Outcome outcome) {
    Operation set{.action = Action::kSet, .outcome = outcome};
    set.token = std::move(token);
    const auto out = flaw_of_token(held, set);
    return out ? std::string(out->requirement) : "";
  };
  const hlc::Timestamp lower{.wall_ms = 4'999, .node = "a"};
  EXPECT_EQ(of_token(std::nullopt, Outcome::kOk), "LIFE-DURABLE-4");
  EXPECT_EQ(of_token(std::nullopt, Outcome::kTokenRequired), "");
  EXPECT_EQ(of_token(lower, Outcome::kOk), "LIFE-DURABLE-4");
  EXPECT_EQ(of_token(lower, Outcome::kTokenLower), "");
  EXPECT_EQ(of_token(held, Outcome::kTokenLower), "LIFE-DURABLE-4");
  EXPECT_EQ(of_token(held, Outcome::kOk), "");
  EXPECT_EQ(of_token(held, Outcome::kUnknown), "");
}

TEST(RestartExpectation, VersionsGrow) {
  const auto of_version = [](std::uint64_t wall_ms, std::uint64_t counter) {
    Operation set{.action = Action::kSet, .outcome = Outcome::kOk};
    set.version = {.wall_ms = wall_ms, .counter = counter, .node = "b"};
    const auto out = flaw_of_version(kVersion, set);
    return out ? std::string(out->requirement) : "";
  };
  EXPECT_EQ(of_version(1'000, 4), "");
  EXPECT_EQ(of_version(1'001, 0), "");
  EXPECT_EQ(of_version(1'000, 3), "LIFE-DURABLE-3");
  EXPECT_EQ(of_version(999, 9), "LIFE-DURABLE-3");
  EXPECT_FALSE(flaw_of_version(kVersion, {.action = Action::kSet}));
}

TEST(RestartExpectation, ARuleThatARestartHasBrokenHasACounterpart) {
  EXPECT_EQ(rule_of_restarts("SET-WRITE-2"), "LIFE-DURABLE-1");
  EXPECT_EQ(rule_of_restarts("DEL-REMOVE-1"), "LIFE-DURABLE-2");
  EXPECT_EQ(rule_of_restarts("VER-UPDATE-3"), "LIFE-DURABLE-3");
  EXPECT_EQ(rule_of_restarts("FT-REQUIRED-1"), "LIFE-DURABLE-4");
  EXPECT_EQ(rule_of_restarts("SET-PX-1"), "LIFE-DURABLE-5");
}

TEST(RestartExpectation, RequestsMayBeOnBothSidesOfAnEnd) {
  const Operation before = set();
  const Operation after = read(9s, "one");
  Operation lost = set();
  lost.returned = history::kNever;
  EXPECT_TRUE(are_on_both_sides({before, after}, 5s));
  EXPECT_FALSE(are_on_both_sides({before, after}, 1'500ms));
  EXPECT_FALSE(are_on_both_sides({before, after}, 10s));
  EXPECT_FALSE(are_on_both_sides({lost, after}, 5s));
  EXPECT_FALSE(are_on_both_sides({}, 5s));
}

}  // namespace
}  // namespace fencepost::stress
