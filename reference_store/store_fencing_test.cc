// Fencing tokens: which keys require one, which ones they accept and how long they remember.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference_store/rules.h"
#include "reference_store/store_fixture.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using codec::Condition;

// Tells whether the key holds exactly `token`: it is accepted, and what is just below it is not.
// The probe is a VDEL with another value, which stores nothing.
bool holds(SteppedStore& store, const std::string& token, const std::string& just_below) {
  const std::string other = "a value that no test sets";
  return store.vdel("k", other, {.token = token}).reply == "not applied" &&
         store.vdel("k", other, {.token = just_below}).reply == "error token-lower";
}

TEST(StoreFencing, IsStoredByTheFirstSetThatBringsAToken) {
  for (const bool existed : {false, true}) {
    SteppedStore store;
    if (existed) store.set("k", "v");
    EXPECT_EQ(store.set("k", "v", {.token = at(5)}).reply, "OK");
    EXPECT_TRUE(holds(store, at(5), at(4)));
  }
}

TEST(StoreFencing, RefusesChangesWithoutAToken) {
  SteppedStore store;
  const Answer set = store.set("k", "v", {.token = at(5)});
  EXPECT_EQ(store.set("k", "w"), (Answer{"error token-required"}));
  EXPECT_EQ(store.del("k"), (Answer{"error token-required"}));
  EXPECT_EQ(store.vdel("k", "v"), (Answer{"error token-required"}));
  EXPECT_EQ(store.get("k"), (Answer{"value v", set.version}));
}

TEST(StoreFencing, RefusesChangesWithALowerToken) {
  SteppedStore store;
  const Answer set = store.set("k", "v", {.token = at(5)});
  for (const std::string& lower : {at(4), at(4, 99, "zzz"), std::string("0:0:n")}) {
    EXPECT_EQ(store.set("k", "w", {.token = lower}), (Answer{"error token-lower"})) << lower;
    EXPECT_EQ(store.del("k", {.token = lower}), (Answer{"error token-lower"})) << lower;
    EXPECT_EQ(store.vdel("k", "v", {.token = lower}), (Answer{"error token-lower"})) << lower;
    EXPECT_EQ(store.get("k"), (Answer{"value v", set.version})) << lower;
  }
}

TEST(StoreFencing, AcceptsAnEqualToken) {
  SteppedStore store;
  store.set("k", "v", {.token = at(5, 1)});
  EXPECT_EQ(store.set("k", "w", {.token = at(5, 1)}).reply, "OK");
  EXPECT_EQ(store.vdel("k", "v", {.token = at(5, 1)}).reply, "not applied");
  EXPECT_EQ(store.vdel("k", "w", {.token = at(5, 1)}).reply, "count 1");
  store.set("k", "v", {.token = at(5, 1)});
  EXPECT_EQ(store.del("k", {.token = at(5, 1)}).reply, "count 1");
}

TEST(StoreFencing, ComparesWallClockThenCounterThenNodeByNumberAndByte) {
  struct Pair {
    const char* lower;
    const char* higher;
  };
  const std::vector<Pair> pairs = {
      {"9:0:n", "10:0:n"},        {"000000000000009:00000:n", "10:0:n"},
      {"5:9:n", "5:10:n"},        {"5:00009:n", "5:10:n"},
      {"5:9:z", "5:10:a"},        {"5:4294967295:n", "5:4294967296:n"},
      {"5:65535:n", "5:65536:n"}, {"5:0:A", "5:0:B"},
      {"5:0:B", "5:0:a"},         {"5:0:a", "5:0:aa"},
      {"5:0:a", "5:0:\xc3\xa9"},  {"4:9:z", "5:0:a"}};
  for (const auto& [lower, higher] : pairs) {
    SteppedStore store;
    store.set("k", "v", {.token = higher});
    EXPECT_EQ(store.set("k", "v", {.token = lower}).reply, "error token-lower") << lower;
    store.del("k", {.token = higher});
    store.set("k", "v", {.token = lower});
    EXPECT_EQ(store.set("k", "v", {.token = higher}).reply, "OK") << higher;
  }
}

TEST(StoreFencing, TakesDifferentSpellingsOfATokenForTheSame) {
  SteppedStore store;
  store.set("k", "v", {.token = "5:1:n"});
  EXPECT_EQ(store.set("k", "v", {.token = "000000000000005:00001:n"}).reply, "OK");
  EXPECT_EQ(store.set("k", "v", {.token = "5:1:n"}).reply, "OK");
}

TEST(StoreFencing, RemembersTheHighestToken) {
  SteppedStore store;
  store.set("k", "v", {.token = at(1)});
  store.set("k", "v", {.token = at(3)});
  EXPECT_EQ(store.set("k", "v", {.token = at(2)}).reply, "error token-lower");
  store.set("k", "v", {.token = at(3)});
  EXPECT_TRUE(holds(store, at(3), at(2)));
}

TEST(StoreFencing, ComparesWithTheTokenNotWithTheVersion) {
  SteppedStore store;
  store.set("k", "v", {.token = at(-1000)});
  EXPECT_EQ(store.set("k", "v", {.token = at(-500)}).reply, "OK");
  EXPECT_EQ(store.del("k", {.token = at(-500)}).reply, "count 1");
}

TEST(StoreFencing, TakesAVersionAsAToken) {
  SteppedStore store;
  const Answer lock = store.set("lock", "me", {.condition = Condition::kIfAbsentOrEqual});
  ASSERT_TRUE(lock.version.has_value());
  const std::string token = hlc::format(*lock.version);
  EXPECT_EQ(store.set("k", "v", {.token = token}).reply, "OK");
  const Answer next = store.set("lock", "me", {.condition = Condition::kIfAbsentOrEqual});
  EXPECT_EQ(store.set("k", "v", {.token = hlc::format(*next.version)}).reply, "OK");
  EXPECT_EQ(store.set("k", "v", {.token = token}).reply, "error token-lower");
}

TEST(StoreFencing, NeverAsksAReaderForAToken) {
  SteppedStore store;
  store.set("k", "v", {.token = at(5)});
  EXPECT_EQ(store.get("k").reply, "value v");
  EXPECT_EQ(store.observe("o", "k").reply, "OK");
  EXPECT_EQ(store.stop("o", "k").reply, "OK");
}

TEST(StoreFencing, DoesNotLookAtTheTokenOfAReader) {
  SteppedStore store;
  store.set("k", "v", {.token = at(5)});
  for (const std::string& token : {at(1), at(60'001), std::string("bad"), std::string()}) {
    EXPECT_EQ(store.get("k", {.token = token}).reply, "value v") << token;
    EXPECT_EQ(store.apply({.verb = codec::Verb::kKeynotify, .key = "k"}, {.token = token}).reply,
              "OK");
  }
}

TEST(StoreFencing, RefusesMalformedTokensEvenWhereNoneIsNeeded) {
  for (const std::string token : {"", "bad", "1:0", "1:0:", "1:2:3:4", "-1:0:n"}) {
    SteppedStore store;
    EXPECT_EQ(store.set("k", "v", {.token = token}).reply, "error malformed-timestamp") << token;
    EXPECT_EQ(store.get("k").reply, "missing") << token;
    EXPECT_EQ(store.del("k", {.token = token}).reply, "error malformed-timestamp") << token;
    store.set("k", "v");
    EXPECT_EQ(store.del("k", {.token = token}).reply, "error malformed-timestamp") << token;
    EXPECT_EQ(store.vdel("k", "v", {.token = token}).reply, "error malformed-timestamp") << token;
    EXPECT_EQ(store.get("k").reply, "value v") << token;
  }
}

TEST(StoreFencing, RefusesTokensMoreThanAMinuteAhead) {
  SteppedStore store;
  const SetOptions future = {.token = at(60'001)};
  EXPECT_EQ(store.set("k", "v", future).reply, "error token-too-far-ahead");
  EXPECT_EQ(store.get("k").reply, "missing");
  EXPECT_EQ(store.del("k", future).reply, "error token-too-far-ahead");
  store.set("k", "v");
  EXPECT_EQ(store.del("k", future).reply, "error token-too-far-ahead");
  EXPECT_EQ(store.vdel("k", "v", future).reply, "error token-too-far-ahead");
  EXPECT_EQ(store.get("k").reply, "value v");
  EXPECT_EQ(store.set("k", "v", {.token = at(60'000)}).reply, "OK");
}

TEST(StoreFencing, AcceptsTheLargestCounterInAToken) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.token = "5:18446744073709551615:n"}).reply, "OK");
  EXPECT_EQ(store.set("k", "v", {.token = "5:18446744073709551614:n"}).reply, "error token-lower");
}

TEST(StoreFencing, DoesNotMoveTheStoresClock) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.token = at(60'000, 7)}).version,
            (hlc::Timestamp{kNoon, 1, "StateStore"}));
}

TEST(StoreFencing, StoresNothingWhenTheSetIsNotApplied) {
  SteppedStore store;
  store.set("k", "v");
  for (const Condition condition : {Condition::kIfAbsent, Condition::kIfAbsentOrEqual}) {
    EXPECT_EQ(store.set("k", "w", {.condition = condition, .token = at(5)}).reply, "not applied");
  }
  EXPECT_EQ(store.set("k", "w").reply, "OK");
}

TEST(StoreFencing, DoesNotRaiseTheTokenWhenTheSetIsNotApplied) {
  SteppedStore store;
  store.set("k", "v", {.token = at(5)});
  store.set("k", "w", {.condition = Condition::kIfAbsent, .token = at(9)});
  EXPECT_TRUE(holds(store, at(5), at(4)));
}

TEST(StoreFencing, StoresNothingOfAVdelThatIsNotApplied) {
  SteppedStore store;
  store.set("free", "v");
  store.vdel("free", "w", {.token = at(9)});
  EXPECT_EQ(store.set("free", "w").reply, "OK");
  store.set("k", "v", {.token = at(5)});
  store.vdel("k", "w", {.token = at(9)});
  EXPECT_TRUE(holds(store, at(5), at(4)));
}

TEST(StoreFencing, EndsWithTheKey) {
  SteppedStore store;
  store.set("k", "v", {.token = at(5)});
  store.del("k", {.token = at(9)});
  EXPECT_EQ(store.set("k", "v").reply, "OK");
  EXPECT_EQ(store.set("k", "v").reply, "OK");
  store.set("k", "v", {.token = at(5)});
  store.vdel("k", "v", {.token = at(5)});
  EXPECT_EQ(store.set("k", "v", {.token = at(1)}).reply, "OK");
}

TEST(StoreFencing, SurvivesARenewal) {
  SteppedStore store;
  const SetOptions renewal = {.condition = Condition::kIfAbsentOrEqual, .token = at(5)};
  store.set("k", "v", renewal);
  EXPECT_EQ(store.set("k", "v", renewal).reply, "OK");
  EXPECT_EQ(store.set("k", "v").reply, "error token-required");
  EXPECT_TRUE(holds(store, at(5), at(4)));
}

TEST(StoreFencing, IsAMatterOfEachKey) {
  SteppedStore store;
  store.set("k1", "v", {.token = at(5)});
  EXPECT_EQ(store.set("k2", "v").reply, "OK");
  EXPECT_EQ(store.set("k2", "v", {.token = at(1)}).reply, "OK");
  EXPECT_EQ(store.set("k1", "v", {.token = at(1)}).reply, "error token-lower");
}

TEST(StoreFencing, NeedsNoTokenToDeleteWhatIsNotThereOrNotFenced) {
  SteppedStore store;
  EXPECT_EQ(store.del("absent", {.token = at(5)}).reply, "count 0");
  EXPECT_EQ(store.vdel("absent", "v", {.token = at(5)}).reply, "count 0");
  store.set("k", "v");
  EXPECT_EQ(store.del("k", {.token = at(5)}).reply, "count 1");
}

TEST(StoreFencing, IsJudgedBeforeTheConditionAndBeforeTheValue) {
  SteppedStore store;
  store.set("k", "v", {.token = at(5)});
  EXPECT_EQ(store.set("k", "w", {.condition = Condition::kIfAbsent}).reply, "error token-required");
  EXPECT_EQ(store.set("k", "w", {.condition = Condition::kIfAbsentOrEqual, .token = at(4)}).reply,
            "error token-lower");
  EXPECT_EQ(store.vdel("k", "w", {.token = at(4)}).reply, "error token-lower");
}

TEST(StoreFencing, ASetThatIsRefusedMovesNeitherVersionNorToken) {
  SteppedStore store;
  const Answer set = store.set("k", "v", {.token = at(5)});
  store.set("k", "w", {.token = at(4)});
  store.set("k", "w", {.timestamp = at(60'001), .token = at(9)});
  store.set("k", "w", {.timestamp = std::nullopt, .token = at(9)});
  EXPECT_EQ(store.get("k"), (Answer{"value v", set.version}));
  EXPECT_TRUE(holds(store, at(5), at(4)));
}

}  // namespace
}  // namespace fencepost::store
