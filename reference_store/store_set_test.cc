// SET with its conditions, GET, DEL and VDEL: what they answer and what they leave behind.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference_store/store_fixture.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using codec::Condition;
using ::testing::IsEmpty;

TEST(StoreSet, StoresTheValueUnderTheVersionItReturns) {
  SteppedStore store;
  const Answer set = store.set("k", "v");
  EXPECT_EQ(set.reply, "OK");
  ASSERT_TRUE(set.version.has_value());
  EXPECT_EQ(store.get("k"), (Answer{"value v", set.version}));
}

TEST(StoreSet, OverwritesWithAGreaterVersion) {
  SteppedStore store;
  const Answer first = store.set("k", "old");
  const Answer second = store.set("k", "new");
  EXPECT_GT(second.version, first.version);
  EXPECT_EQ(store.get("k"), (Answer{"value new", second.version}));
  EXPECT_EQ(store->size(), 1U);
}

TEST(StoreSet, OfAnEqualValueIsStillANewVersion) {
  SteppedStore store;
  const Answer first = store.set("k", "v");
  const Answer second = store.set("k", "v");
  EXPECT_GT(second.version, first.version);
  EXPECT_EQ(store.get("k").version, second.version);
}

TEST(StoreSet, KeepsAnEmptyValueAsAValue) {
  SteppedStore store;
  const Answer set = store.set("k", "");
  EXPECT_EQ(store.get("k"), (Answer{"value ", set.version}));
  EXPECT_EQ(store.set("k", "v", {.condition = Condition::kIfAbsent}).reply, "not applied");
}

TEST(StoreSet, WithoutAVersionChangesNothing) {
  StoreOptions options;
  options.rules.version_of_set = [](hlc::Clock&, const hlc::Timestamp&, const Instant&) {
    return Result<hlc::Timestamp, hlc::ClockErrorCode>(fail(hlc::ClockErrorCode::kOverflow));
  };
  SteppedStore store(options);
  store.observe("o", "k");
  EXPECT_EQ(store.set("k", "v"), (Answer{.reply = "error malformed-timestamp"}));
  EXPECT_EQ(store->size(), 0U);
}

TEST(StoreSet, KeepsValuesByteForByte) {
  SteppedStore store;
  const std::vector<std::string> values = {std::string("a\0b", 3), "\r\n\n\r", "\xff\xfe\xc0",
                                           "\xc3\xa9", std::string(65'537, 'x')};
  for (const std::string& value : values) {
    store.set("k", value);
    EXPECT_EQ(store.get("k").reply, "value " + value) << escape(value, 20);
  }
}

TEST(StoreSet, TellsKeysApartByEveryByte) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"K", "k"},
      {"k", "k "},
      {"k", "k2"},
      {"k", std::string("k\0", 2)},
      {std::string("k\0a", 3), std::string("k\0b", 3)},
      {std::string(255, 'x') + "a", std::string(255, 'x') + "b"},
      {"\xc3\xa9", "\xe9"}};
  for (const auto& [one, other] : pairs) {
    SteppedStore store;
    store.set(one, "v");
    EXPECT_EQ(store.get(other).reply, "missing") << escape(one) << " " << escape(other);
    EXPECT_EQ(store.del(other).reply, "count 0") << escape(one) << " " << escape(other);
    EXPECT_EQ(store.get(one).reply, "value v") << escape(one) << " " << escape(other);
  }
}

TEST(StoreSet, KeepsEveryOneOfManyKeys) {
  SteppedStore store;
  constexpr int kKeys = 70'000;
  for (int i = 0; i < kKeys; ++i) store.set("key" + std::to_string(i), std::to_string(i));
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_EQ(store.get("key" + std::to_string(i)).reply, "value " + std::to_string(i));
  }
}

// ---- NX

TEST(StoreSetNx, CreatesAnAbsentKey) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.condition = Condition::kIfAbsent}).reply, "OK");
  EXPECT_EQ(store.get("k").reply, "value v");
}

TEST(StoreSetNx, AnswersTheStoredVersionAndChangesNothingWhenTheKeyExists) {
  SteppedStore store;
  const Answer first = store.set("k", "v");
  store.step(1s);
  for (const std::string value : {"other", "v"}) {
    const Answer second = store.set("k", value, {.condition = Condition::kIfAbsent});
    EXPECT_EQ(second, (Answer{"not applied", first.version})) << value;
    EXPECT_EQ(store.get("k"), (Answer{"value v", first.version})) << value;
  }
}

TEST(StoreSetNx, SeesAnExpiredKeyAsAbsent) {
  SteppedStore store;
  store.set("k", "v", {.px = 50ms});
  store.step(50ms);
  EXPECT_EQ(store.set("k", "new", {.condition = Condition::kIfAbsent}).reply, "OK");
  EXPECT_EQ(store.get("k").reply, "value new");
}

TEST(StoreSetNx, DoesNotTouchTheExpiryWhenItIsNotApplied) {
  SteppedStore store;
  store.set("permanent", "v");
  store.set("short", "v", {.px = 100ms});
  store.set("permanent", "v", {.condition = Condition::kIfAbsent, .px = 50ms});
  store.set("short", "v", {.condition = Condition::kIfAbsent, .px = 1000ms});
  store.step(100ms);
  EXPECT_EQ(store.get("permanent").reply, "value v");
  EXPECT_EQ(store.get("short").reply, "missing");
}

TEST(StoreSetNx, WinsAgainAfterADelete) {
  SteppedStore store;
  store.set("k", "v");
  store.del("k");
  EXPECT_EQ(store.set("k", "new", {.condition = Condition::kIfAbsent}).reply, "OK");
}

// ---- NEX

TEST(StoreSetNex, CreatesAnAbsentKey) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.condition = Condition::kIfAbsentOrEqual}).reply, "OK");
}

TEST(StoreSetNex, RenewsWithTheValueThatIsStored) {
  SteppedStore store;
  const Answer first = store.set("k", "v");
  const Answer second = store.set("k", "v", {.condition = Condition::kIfAbsentOrEqual});
  EXPECT_EQ(second.reply, "OK");
  EXPECT_GT(second.version, first.version);
  EXPECT_EQ(store.get("k").version, second.version);
}

TEST(StoreSetNex, RefusesEveryOtherValue) {
  SteppedStore store;
  const Answer first = store.set("k", "Client1");
  const std::vector<std::string> others = {
      "", "Client", "Client2", "Client10", "client1", std::string("Client1\0", 8), "1tneilC"};
  for (const std::string& other : others) {
    const Answer second = store.set("k", other, {.condition = Condition::kIfAbsentOrEqual});
    EXPECT_EQ(second, (Answer{"not applied", first.version})) << escape(other);
    EXPECT_EQ(store.get("k"), (Answer{"value Client1", first.version})) << escape(other);
  }
}

TEST(StoreSetNex, ForgetsTheValueOfADeletedKey) {
  SteppedStore store;
  store.set("k", "a");
  store.del("k");
  EXPECT_EQ(store.set("k", "b", {.condition = Condition::kIfAbsentOrEqual}).reply, "OK");
}

TEST(StoreSetNex, LetsAnotherHolderInOnceTheLockHasExpired) {
  SteppedStore store;
  const SetOptions lock = {.condition = Condition::kIfAbsentOrEqual, .px = 10'000ms};
  const Answer first = store.set("LockName", "Client1", lock);
  EXPECT_EQ(store.set("LockName", "Client2", lock), (Answer{"not applied", first.version}));
  store.step(10s);
  const Answer second = store.set("LockName", "Client2", lock);
  EXPECT_EQ(second.reply, "OK");
  EXPECT_GT(second.version, first.version);
}

// ---- DEL

TEST(StoreDel, RemovesTheKeyAndAnswersItsVersion) {
  SteppedStore store;
  const Answer set = store.set("k", "v");
  store.step(1s);
  EXPECT_EQ(store.del("k"), (Answer{"count 1", set.version}));
  EXPECT_EQ(store.get("k"), (Answer{"missing"}));
  EXPECT_EQ(store->size(), 0U);
}

TEST(StoreDel, OfAnAbsentKeyCountsZeroAndHasNoVersion) {
  SteppedStore store;
  EXPECT_EQ(store.del("k"), (Answer{"count 0"}));
  store.set("k", "v");
  store.del("k");
  EXPECT_EQ(store.del("k"), (Answer{"count 0"}));
}

TEST(StoreDel, LeavesKeysThatShareAPrefix) {
  SteppedStore store;
  store.set("k", "v");
  store.set("k2", "v");
  store.del("k");
  EXPECT_EQ(store.get("k2").reply, "value v");
}

// ---- VDEL

TEST(StoreVdel, RemovesTheKeyWhenTheValueIsTheSame) {
  SteppedStore store;
  const Answer set = store.set("k", "v");
  EXPECT_EQ(store.vdel("k", "v"), (Answer{"count 1", set.version}));
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreVdel, KeepsTheKeyForEveryOtherValue) {
  SteppedStore store;
  const Answer set = store.set("k", "abc");
  for (const std::string other : {"", "ab", "abcd", "ABC", "abd"}) {
    EXPECT_EQ(store.vdel("k", other), (Answer{"not applied"})) << other;
    EXPECT_EQ(store.get("k"), (Answer{"value abc", set.version})) << other;
  }
}

TEST(StoreVdel, OfAnAbsentKeyCountsZero) {
  SteppedStore store;
  EXPECT_EQ(store.vdel("k", "v"), (Answer{"count 0"}));
  EXPECT_EQ(store.vdel("k", ""), (Answer{"count 0"}));
}

TEST(StoreVdel, ComparesWithTheNewestValue) {
  SteppedStore store;
  store.set("k", "old");
  store.set("k", "new");
  EXPECT_EQ(store.vdel("k", "old").reply, "not applied");
  EXPECT_EQ(store.vdel("k", "new").reply, "count 1");
}

TEST(StoreVerb, ThatNobodyKnowsIsRefused) {
  SteppedStore store;
  EXPECT_EQ(store.apply({.verb = static_cast<codec::Verb>(99), .key = "k"}, {}),
            (Answer{.reply = "error unknown-command"}));
}

TEST(StoreGet, NeverChangesAnything) {
  SteppedStore store;
  const Answer set = store.set("k", "v");
  store.observe("o", "k");
  for (int i = 0; i < 3; ++i) {
    store.step(1s);
    EXPECT_EQ(store.get("k"), (Answer{"value v", set.version}));
  }
  EXPECT_THAT(store.get("absent").events, IsEmpty());
  EXPECT_EQ(store->size(), 1U);
}

}  // namespace
}  // namespace fencepost::store
