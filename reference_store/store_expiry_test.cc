// PX: when a key goes, what goes with it, and what moves the moment.
#include <chrono>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference_store/store_fixture.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using codec::Condition;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StoreExpiry, HidesTheKeyFromItsDeadlineOn) {
  for (const auto px : {1ms, 100ms, 999ms, 1500ms, 86'400'000ms}) {
    SteppedStore store;
    store.set("k", "v", {.px = px});
    store.step(px - 1us);
    EXPECT_EQ(store.get("k").reply, "value v") << px.count();
    store.step(1us);
    EXPECT_EQ(store.get("k"), (Answer{"missing"})) << px.count();
  }
}

TEST(StoreExpiry, OfZeroMillisecondsLetsTheSetSucceedAndTheKeyGoAtOnce) {
  SteppedStore store;
  EXPECT_EQ(store.set("k", "v", {.px = 0ms}).reply, "OK");
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, TakesTheLongestLegalTime) {
  SteppedStore store;
  store.step(24h * 365 * 200);
  EXPECT_EQ(store.set("k", "v", {.px = codec::kMaxExpiry}).reply, "OK");
  store.step(codec::kMaxExpiry - 1us);
  EXPECT_EQ(store.get("k").reply, "value v");
  store.step(1us);
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, CountsAnExpiredKeyAsAbsentForDeletes) {
  SteppedStore store;
  store.set("d", "v", {.px = 10ms});
  store.set("v", "v", {.px = 10ms});
  store.set("w", "v", {.px = 10ms});
  store.step(10ms);
  EXPECT_EQ(store.del("d"), (Answer{"count 0"}));
  EXPECT_EQ(store.vdel("v", "v"), (Answer{"count 0"}));
  EXPECT_EQ(store.vdel("w", "other"), (Answer{"count 0"}));
}

TEST(StoreExpiry, IsReplacedByTheNextSet) {
  SteppedStore store;
  store.set("longer", "v", {.px = 100ms});
  store.set("shorter", "v", {.px = 1000ms});
  store.set("permanent", "v", {.px = 100ms});
  store.set("longer", "v", {.px = 10'000ms});
  store.set("shorter", "v", {.px = 100ms});
  store.set("permanent", "v");
  store.step(300ms);
  EXPECT_EQ(store.get("longer").reply, "value v");
  EXPECT_EQ(store.get("shorter").reply, "missing");
  EXPECT_EQ(store.get("permanent").reply, "value v");
  store.step(10s);
  EXPECT_EQ(store.get("longer").reply, "missing");
  EXPECT_EQ(store.get("permanent").reply, "value v");
}

TEST(StoreExpiry, IsExtendedByARenewal) {
  SteppedStore store;
  const SetOptions lock = {.condition = Condition::kIfAbsentOrEqual, .px = 100ms};
  store.set("k", "holder", lock);
  store.step(70ms);
  EXPECT_EQ(store.set("k", "holder", lock).reply, "OK");
  store.step(70ms);
  EXPECT_EQ(store.get("k").reply, "value holder");
  store.step(30ms);
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, EndsWithARenewalThatNamesNone) {
  SteppedStore store;
  store.set("k", "holder", {.px = 100ms});
  store.set("k", "holder", {.condition = Condition::kIfAbsentOrEqual});
  store.step(1h);
  EXPECT_EQ(store.get("k").reply, "value holder");
}

TEST(StoreExpiry, IsNotMovedByARenewalThatIsNotApplied) {
  SteppedStore store;
  store.set("k", "holder", {.px = 100ms});
  store.step(70ms);
  store.set("k", "other", {.condition = Condition::kIfAbsentOrEqual, .px = 100ms});
  store.set("k", "other", {.condition = Condition::kIfAbsentOrEqual});
  store.step(30ms);
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, IsNotMovedByARefusedSet) {
  SteppedStore store;
  store.set("k", "v", {.px = 100ms});
  store.set("k", "v", {.px = 1000ms, .timestamp = std::nullopt});
  store.set("k", "v", {.timestamp = "bad"});
  store.step(100ms);
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, IsNotInheritedByARecreatedKey) {
  SteppedStore store;
  store.set("k", "v", {.px = 200ms});
  store.del("k");
  store.set("k", "v");
  store.step(400ms);
  EXPECT_EQ(store.get("k").reply, "value v");
}

TEST(StoreExpiry, IsNotExtendedByReading) {
  SteppedStore store;
  store.set("k", "v", {.px = 90ms});
  for (int i = 0; i < 2; ++i) {
    store.step(30ms);
    EXPECT_EQ(store.get("k").reply, "value v");
  }
  store.step(30ms);
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, CountsFromTheStoresClockNotFromTheTimestamp) {
  SteppedStore store;
  store.set("behind", "v", {.px = 1000ms, .timestamp = at(-50'000)});
  store.set("ahead", "v", {.px = 1000ms, .timestamp = at(50'000)});
  store.step(999ms);
  EXPECT_EQ(store.get("behind").reply, "value v");
  EXPECT_EQ(store.get("ahead").reply, "value v");
  store.step(1ms);
  EXPECT_EQ(store.get("behind").reply, "missing");
  EXPECT_EQ(store.get("ahead").reply, "missing");
}

TEST(StoreExpiry, DoesNotCareWhenSomebodySetsTheWallClock) {
  SteppedStore store;
  store.set("k", "v", {.px = 100ms});
  store.set_wall(86'400'000);
  EXPECT_EQ(store.get("k").reply, "value v");
  store.set_wall(-2 * 86'400'000LL);
  store.step(100ms);
  EXPECT_EQ(store.get("k").reply, "missing");
}

TEST(StoreExpiry, TakesTheFencingTokenAlong) {
  SteppedStore store;
  store.set("k", "v", {.px = 100ms, .token = at(5)});
  store.step(99ms);
  EXPECT_EQ(store.set("k", "v").reply, "error token-required");
  store.step(1ms);
  EXPECT_EQ(store.set("k", "v", {.token = at(1)}).reply, "OK");
}

TEST(StoreExpiry, LeavesTheNeighbours) {
  SteppedStore store;
  for (int i = 0; i < 100; ++i) {
    SetOptions with;
    if (i == 42) with.px = 10ms;
    store.set("k" + std::to_string(i), "v", with);
  }
  store.step(10ms);
  EXPECT_EQ(store.get("k42").reply, "missing");
  EXPECT_EQ(store->size(), 99U);
}

TEST(StoreExpiry, TellsWhenTheNextKeyGoes) {
  SteppedStore store;
  EXPECT_EQ(store->next_expiry(), std::nullopt);
  store.set("permanent", "v");
  EXPECT_EQ(store->next_expiry(), std::nullopt);
  store.step(5ms);
  store.set("late", "v", {.px = 100ms});
  EXPECT_EQ(store->next_expiry(), 105ms);
  store.set("early", "v", {.px = 10ms});
  EXPECT_EQ(store->next_expiry(), 15ms);
  store.del("early");
  EXPECT_EQ(store->next_expiry(), 105ms);
  store.set("late", "v");
  EXPECT_EQ(store->next_expiry(), std::nullopt);
}

TEST(StoreExpiry, ByTimerRemovesWhatIsDueEarliestFirst) {
  SteppedStore store;
  for (const std::string key : {"a", "b", "c", "d"}) store.observe("o", key);
  const auto late = store.set("a", "v", {.px = 30ms}).version;
  const auto early = store.set("b", "v", {.px = 10ms}).version;
  store.set("c", "v", {.px = 31ms});
  store.set("d", "v");
  store.step(9ms);
  EXPECT_THAT(store.expire(), IsEmpty());
  store.step(21ms);
  EXPECT_THAT(store.expire(),
              ElementsAre(delete_event("o", "b", early), delete_event("o", "a", late)));
  EXPECT_THAT(store.expire(), IsEmpty());
  EXPECT_EQ(store->size(), 2U);
}

TEST(StoreExpiry, IsReportedByTheRequestThatComesFirstWhateverItsKey) {
  SteppedStore store;
  store.observe("o", "k");
  const auto version = store.set("k", "v", {.px = 10ms}).version;
  store.step(10ms);
  const Answer refused = store.set("other", "v", {.timestamp = std::nullopt});
  EXPECT_EQ(refused.reply, "error missing-timestamp");
  EXPECT_THAT(refused.events, ElementsAre(delete_event("o", "k", version)));
}

TEST(StoreExpiry, ComesBeforeTheEventOfTheRequestThatFindsIt) {
  SteppedStore store;
  store.observe("o", "k");
  const auto old_version = store.set("k", "old", {.px = 10ms}).version;
  store.step(10ms);
  const Answer set = store.set("k", "new");
  EXPECT_GT(set.version, old_version);
  EXPECT_THAT(set.events, ElementsAre(delete_event("o", "k", old_version),
                                      set_event("o", "k", "new", set.version)));
}

TEST(StoreExpiry, OfADeletedKeyReportsNothingMore) {
  SteppedStore store;
  store.observe("o", "k");
  store.set("k", "v", {.px = 10ms});
  store.del("k");
  store.step(10ms);
  EXPECT_THAT(store.expire(), IsEmpty());
}

}  // namespace
}  // namespace fencepost::store
