// KEYNOTIFY: who receives what, in which order, and until when.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "reference_store/store_fixture.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using codec::Condition;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StoreNotification, CarriesTheNewValueAndTheVersionOfASet) {
  SteppedStore store;
  EXPECT_EQ(store.observe("o", "k"), (Answer{"OK"}));
  const Answer first = store.set("k", "old");
  EXPECT_THAT(first.events, ElementsAre(set_event("o", "k", "old", first.version)));
  const Answer second = store.set("k", "new");
  EXPECT_THAT(second.events, ElementsAre(set_event("o", "k", "new", second.version)));
  const Answer empty = store.set("k", "");
  EXPECT_THAT(empty.events, ElementsAre(set_event("o", "k", "", empty.version)));
}

TEST(StoreNotification, CarriesTheVersionThatWasDeleted) {
  SteppedStore store;
  store.observe("o", "k");
  const auto first = store.set("k", "v").version;
  EXPECT_THAT(store.del("k").events, ElementsAre(delete_event("o", "k", first)));
  const auto second = store.set("k", "v").version;
  EXPECT_THAT(store.vdel("k", "v").events, ElementsAre(delete_event("o", "k", second)));
}

TEST(StoreNotification, ReportsExpiryAsADelete) {
  SteppedStore store;
  store.observe("o", "k");
  const auto version = store.set("k", "v", {.px = 10ms}).version;
  store.step(10ms);
  EXPECT_THAT(store.expire(), ElementsAre(delete_event("o", "k", version)));
}

TEST(StoreNotification, ReportsEverySetEvenOfTheSameValue) {
  SteppedStore store;
  store.observe("o", "k");
  store.set("k", "v");
  EXPECT_EQ(store.set("k", "v").events.size(), 1U);
  EXPECT_EQ(store.set("k", "v", {.condition = Condition::kIfAbsentOrEqual}).events.size(), 1U);
  EXPECT_EQ(store.set("k", "v", {.px = 1000ms}).events.size(), 1U);
}

TEST(StoreNotification, IsSilentWhereNothingChanges) {
  SteppedStore store;
  store.observe("o", "k");
  EXPECT_THAT(store.del("k").events, IsEmpty());
  EXPECT_THAT(store.vdel("k", "v").events, IsEmpty());
  store.set("k", "v", {.token = at(5)});
  const std::string token = at(5);
  EXPECT_THAT(store.set("k", "w", {.condition = Condition::kIfAbsent, .token = token}).events,
              IsEmpty());
  EXPECT_THAT(
      store.set("k", "w", {.condition = Condition::kIfAbsentOrEqual, .token = token}).events,
      IsEmpty());
  EXPECT_THAT(store.vdel("k", "w", {.token = token}).events, IsEmpty());
  EXPECT_THAT(store.set("k", "w").events, IsEmpty());
  EXPECT_THAT(store.del("k", {.token = at(4)}).events, IsEmpty());
  EXPECT_THAT(store.get("k").events, IsEmpty());
  EXPECT_THAT(store.observe("p", "k").events, IsEmpty());
  EXPECT_THAT(store.stop("p", "k").events, IsEmpty());
}

TEST(StoreNotification, GoesToEveryObserverOnceInOrderOfRegistration) {
  SteppedStore store;
  for (const std::string client : {"c", "a", "b", "a", "c"}) {
    EXPECT_EQ(store.observe(client, "k").reply, "OK");
  }
  const Answer set = store.set("k", "v", {.client = "a"});
  EXPECT_THAT(set.events, ElementsAre(set_event("c", "k", "v", set.version),
                                      set_event("a", "k", "v", set.version),
                                      set_event("b", "k", "v", set.version)));
}

TEST(StoreNotification, GoesToNobodyElse) {
  SteppedStore store;
  EXPECT_THAT(store.set("k", "v").events, IsEmpty());
  store.observe("o", "k");
  EXPECT_THAT(store.set("other", "v", {.client = "o"}).events, IsEmpty());
}

TEST(StoreNotification, IsForTheExactKey) {
  SteppedStore store;
  store.observe("o", "ab");
  for (const std::string& key :
       {std::string("a"), std::string("abc"), std::string("AB"), std::string("ab\0", 3)}) {
    EXPECT_THAT(store.set(key, "v").events, IsEmpty()) << escape(key);
  }
  // Nor is the key of an observer a pattern.
  store.observe("o", "*");
  EXPECT_THAT(store.set("x", "v").events, IsEmpty());
}

TEST(StoreNotification, WorksForKeysOfAnyBytes) {
  SteppedStore store;
  const std::string key("\0\r\n\xff", 4);
  store.observe("o", key);
  const Answer set = store.set(key, "v");
  EXPECT_THAT(set.events, ElementsAre(set_event("o", key, "v", set.version)));
}

TEST(StoreNotification, MayBeAskedForBeforeTheKeyExists) {
  SteppedStore store;
  EXPECT_EQ(store.observe("o", "k"), (Answer{"OK"}));
  EXPECT_EQ(store.get("k").reply, "missing");
  EXPECT_EQ(store->size(), 0U);
  EXPECT_EQ(store.set("k", "v").events.size(), 1U);
}

TEST(StoreNotification, SurvivesDeleteAndExpiryOfTheKey) {
  SteppedStore store;
  store.observe("o", "k");
  store.set("k", "v");
  store.del("k");
  EXPECT_EQ(store.set("k", "v", {.px = 10ms}).events.size(), 1U);
  store.step(10ms);
  EXPECT_EQ(store.expire().size(), 1U);
  EXPECT_EQ(store.set("k", "v").events.size(), 1U);
}

TEST(StoreNotification, LosesNothingInABurst) {
  SteppedStore store;
  store.observe("o", "k");
  std::optional<hlc::Timestamp> last;
  for (int i = 0; i < 1000; ++i) {
    const Answer set = store.set("k", std::to_string(i));
    ASSERT_GT(set.version, last);
    ASSERT_THAT(set.events, ElementsAre(set_event("o", "k", std::to_string(i), set.version)));
    last = set.version;
  }
}

// ---- STOP

TEST(StoreStop, EndsTheNotifications) {
  SteppedStore store;
  store.observe("o", "k");
  EXPECT_EQ(store.stop("o", "k"), (Answer{"OK"}));
  EXPECT_THAT(store.set("k", "v").events, IsEmpty());
  EXPECT_EQ(store.stop("o", "k"), (Answer{"count 0"}));
}

TEST(StoreStop, EndsThemAtOnceHoweverOftenTheyWereAskedFor) {
  SteppedStore store;
  store.observe("o", "k");
  store.observe("o", "k");
  EXPECT_EQ(store.stop("o", "k").reply, "OK");
  EXPECT_THAT(store.set("k", "v").events, IsEmpty());
}

TEST(StoreStop, WithoutRegistrationCountsZero) {
  SteppedStore store;
  EXPECT_EQ(store.stop("o", "k"), (Answer{"count 0"}));
  store.set("k", "v");
  EXPECT_EQ(store.stop("o", "k"), (Answer{"count 0"}));
  store.observe("other", "k");
  store.observe("o", "k2");
  EXPECT_EQ(store.stop("o", "k"), (Answer{"count 0"}));
}

TEST(StoreStop, LeavesOtherClientsAndOtherKeys) {
  SteppedStore store;
  store.observe("a", "k");
  store.observe("b", "k");
  store.observe("a", "k2");
  store.stop("a", "k");
  const Answer set = store.set("k", "v");
  EXPECT_THAT(set.events, ElementsAre(set_event("b", "k", "v", set.version)));
  EXPECT_EQ(store.set("k2", "v").events.size(), 1U);
}

TEST(StoreStop, MayBeTakenBack) {
  SteppedStore store;
  store.observe("o", "k");
  store.stop("o", "k");
  EXPECT_EQ(store.observe("o", "k").reply, "OK");
  EXPECT_EQ(store.set("k", "v").events.size(), 1U);
}

// ---- The end of a connection

TEST(StoreDisconnect, ForgetsEveryRegistrationOfTheClientAndOfNoOther) {
  SteppedStore store;
  for (const std::string key : {"k1", "k2", "k3"}) {
    store.observe("o", key);
    store.observe("ob", key);
  }
  store.observe("o", "alone");
  store->disconnect("o");
  for (const std::string key : {"k1", "k2", "k3"}) {
    const Answer set = store.set(key, "v");
    EXPECT_THAT(set.events, ElementsAre(set_event("ob", key, "v", set.version)));
    EXPECT_EQ(store.stop("o", key).reply, "count 0");
  }
  EXPECT_THAT(store.set("alone", "v").events, IsEmpty());
}

TEST(StoreDisconnect, OfAnUnknownClientChangesNothing) {
  SteppedStore store;
  store.observe("o", "k");
  store->disconnect("p");
  store->disconnect("");
  EXPECT_EQ(store.set("k", "v").events.size(), 1U);
}

TEST(StoreDisconnect, LeavesWhatTheClientWrote) {
  SteppedStore store;
  store.set("k", "v", {.px = 100ms, .token = at(5), .client = "w"});
  store->disconnect("w");
  EXPECT_EQ(store.get("k").reply, "value v");
  EXPECT_EQ(store.set("k", "v").reply, "error token-required");
  store.step(100ms);
  EXPECT_EQ(store.get("k").reply, "missing");
}

// ---- Keys that no topic can name

TEST(StoreNotification, IsRefusedForKeysTooLongForATopic) {
  // 75 bytes of topic stand beside client and key, each byte of which takes two digits.
  const std::string client = "client";
  const std::size_t longest = (codec::kMaxTopicBytes - 75) / 2 - client.size();
  SteppedStore store;
  EXPECT_EQ(store.observe(client, std::string(longest, 'k')).reply, "OK");
  EXPECT_EQ(store.observe(client, std::string(longest + 1, 'k')).reply, "error syntax");
  EXPECT_EQ(store.set(std::string(longest, 'k'), "v").events.size(), 1U);
  const Answer set = store.set(std::string(longest + 1, 'k'), "v");
  EXPECT_EQ(set.reply, "OK");
  EXPECT_THAT(set.events, IsEmpty());
  EXPECT_EQ(store.stop(client, std::string(longest + 1, 'k')).reply, "count 0");
}

}  // namespace
}  // namespace fencepost::store
