// The quota, who may touch what, and the order in which the store finds fault.
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
using codec::Verb;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StoreQuota, RefusesTheKeyThatIsOneTooMany) {
  SteppedStore store({.quota = 2});
  EXPECT_EQ(store.set("a", "v").reply, "OK");
  EXPECT_EQ(store.set("b", "v").reply, "OK");
  EXPECT_EQ(store.set("c", "v"), (Answer{"error quota-exceeded"}));
  EXPECT_EQ(store.get("c").reply, "missing");
  EXPECT_EQ(store->size(), 2U);
}

TEST(StoreQuota, OfZeroIsNoLimit) {
  SteppedStore store({.quota = 0});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(store.set("k" + std::to_string(i), "v").reply, "OK");
  }
}

TEST(StoreQuota, LetsAFullStoreOverwrite) {
  SteppedStore store({.quota = 1});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(store.set("k", std::to_string(i)).reply, "OK");
  EXPECT_EQ(store.set("k", "999", {.condition = Condition::kIfAbsentOrEqual}).reply, "OK");
}

TEST(StoreQuota, IsFreedByDeletes) {
  SteppedStore store({.quota = 1});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(store.set("k" + std::to_string(i), "v").reply, "OK");
    ASSERT_EQ(store.del("k" + std::to_string(i)).reply, "count 1");
  }
}

TEST(StoreQuota, IsFreedByExpiry) {
  SteppedStore store({.quota = 1});
  store.set("a", "v", {.px = 10ms});
  EXPECT_EQ(store.set("b", "v").reply, "error quota-exceeded");
  store.step(10ms);
  EXPECT_EQ(store.set("b", "v").reply, "OK");
}

TEST(StoreMemory, RefusesWhatIsBeyondItsLimit) {
  SteppedStore store({.max_bytes = 2 * kBytesOfAKey + 10});
  EXPECT_EQ(store.set("a", "1234").reply, "OK");
  EXPECT_EQ(store.set("b", "12345").reply, "error quota-exceeded");
  EXPECT_EQ(store.set("b", "1234").reply, "OK");
  EXPECT_EQ(store.set("b", "12345"), (Answer{"error quota-exceeded"}));  // overwriting, too
  EXPECT_EQ(store.set("a", "").reply, "OK");
  EXPECT_EQ(store.set("b", "12345678").reply, "OK");
  EXPECT_EQ(store.del("a").reply, "count 1");
  EXPECT_EQ(store.set("c", "1").reply, "error quota-exceeded");
  EXPECT_EQ(store.del("b").reply, "count 1");
  EXPECT_EQ(store.set("c", "").reply, "OK");
}

TEST(StoreRegistrations, OfAClientHaveALimit) {
  SteppedStore store({.max_registrations = 2});
  EXPECT_EQ(store.observe("o", "a").reply, "OK");
  EXPECT_EQ(store.observe("o", "b").reply, "OK");
  EXPECT_EQ(store.observe("o", "c").reply, "error quota-exceeded");
  EXPECT_EQ(store.observe("o", "a").reply, "OK");  // which it has
  EXPECT_EQ(store.observe("p", "c").reply, "OK");
  store->disconnect("o");
  EXPECT_EQ(store.observe("o", "c").reply, "OK");
}

// It took 69 ms at 300,000 registrations of others, for each client that went away.
TEST(StoreRegistrations, OfOthersCostNothingWhenAClientGoes) {
  SteppedStore store;
  for (int i = 0; i < 100'000; ++i) store.observe("o", "k" + std::to_string(i));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10'000; ++i) {
    store.observe("p", "k1");
    store->disconnect("p");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);  // of all of them, it would be 1,000
  store.set("k1", "v");
  store->disconnect("o");
}

TEST(StoreQuota, DoesNotCountObservedKeys) {
  SteppedStore store({.quota = 1});
  store.observe("o", "a");
  store.observe("o", "b");
  EXPECT_EQ(store.set("a", "v").reply, "OK");
}

TEST(StoreQuota, RefusalLeavesTheClockTheTokenAndTheObserversAlone) {
  SteppedStore store({.quota = 1});
  store.observe("o", "b");
  store.set("a", "v");
  EXPECT_THAT(store.set("b", "v", {.timestamp = at(50'000), .token = at(5)}).events, IsEmpty());
  store.del("a");
  EXPECT_EQ(store.set("b", "v").version, (hlc::Timestamp{kNoon, 2, "StateStore"}));
  EXPECT_EQ(store.set("b", "v").reply, "OK");
}

TEST(StoreQuota, IsTheLastThingASetFailsOn) {
  SteppedStore store({.quota = 1});
  store.set("a", "v");
  EXPECT_EQ(store.set("b", "v", {.timestamp = std::nullopt}).reply, "error missing-timestamp");
  EXPECT_EQ(store.set("b", "v", {.token = "bad"}).reply, "error malformed-timestamp");
  EXPECT_EQ(store.set("a", "v", {.condition = Condition::kIfAbsent}).reply, "not applied");
}

// ---- Authorization, as the store applies it

StoreOptions only(Method method) {
  const Rule rule = {.method = method, .key_type = KeyType::kPattern, .keys = {"open/*"}};
  return {.authorization = Authorization({{{"writer", "o"}, {}, {rule}}})};
}

TEST(StoreAuthorization, AsksEveryVerbForTheRightItNeeds) {
  struct Case {
    Method method;
    std::vector<std::string> replies;  // SET GET VDEL DEL KEYNOTIFY STOP
  };
  const std::string no = "error not-authorized";
  const std::vector<Case> cases = {
      {Method::kReadWrite, {"OK", "value v", "not applied", "count 1", "OK", "OK"}},
      {Method::kRead, {no, "missing", no, no, "OK", "OK"}},
      {Method::kWrite, {"OK", no, "not applied", "count 1", no, no}}};
  for (const auto& [method, replies] : cases) {
    SteppedStore store(only(method));
    EXPECT_THAT((std::vector<std::string>{
                    store.set("open/k", "v").reply, store.get("open/k").reply,
                    store.vdel("open/k", "w").reply, store.del("open/k").reply,
                    store.observe("o", "open/k").reply, store.stop("o", "open/k").reply}),
                ::testing::ElementsAreArray(replies))
        << static_cast<int>(method);
  }
}

TEST(StoreAuthorization, RefusesKeysAndClientsThatNoRuleNames) {
  SteppedStore store(only(Method::kReadWrite));
  const Answer no = {"error not-authorized"};
  EXPECT_EQ(store.set("closed/k", "v"), no);
  EXPECT_EQ(store.get("closed/k"), no);
  EXPECT_EQ(store.set("open/k", "v", {.client = "stranger"}), no);
  EXPECT_EQ(store.get("open/k", {.client = "stranger"}), no);
  EXPECT_EQ(store.observe("stranger", "open/k"), no);
}

TEST(StoreAuthorization, RefusalComesBeforeEveryOtherAndChangesNothing) {
  SteppedStore store(only(Method::kReadWrite));
  const Answer set = store.set("open/k", "v", {.token = at(5)});
  const std::string no = "error not-authorized";
  EXPECT_EQ(store.set("open/k", "w", {.timestamp = std::nullopt, .client = "stranger"}).reply, no);
  EXPECT_EQ(store.del("open/k", {.token = "bad", .client = "stranger"}).reply, no);
  EXPECT_EQ(store.get("open/k"), (Answer{"value v", set.version}));
}

TEST(StoreAuthorization, LooksAtTheUserName) {
  const Rule rule = {.keys = {"*"}};
  Store store({.authorization = Authorization({{{}, {"user"}, {rule}}})});
  std::vector<Event> events;
  const codec::Command get = {.verb = Verb::kGet, .key = "k"};
  const auto reply = [&](const Caller& caller) {
    return describe(store.apply(caller, {.command = get}, {}, events).reply);
  };
  EXPECT_EQ(reply({.client_id = "c", .user_name = "user"}), "missing");
  EXPECT_EQ(reply({.client_id = "user"}), "error not-authorized");
}

// ---- The rules alone

TEST(Rules, ReadersReadAndTheRestWrites) {
  EXPECT_EQ(access_needed(Verb::kGet), Access::kRead);
  EXPECT_EQ(access_needed(Verb::kKeynotify), Access::kRead);
  EXPECT_EQ(access_needed(Verb::kSet), Access::kWrite);
  EXPECT_EQ(access_needed(Verb::kDel), Access::kWrite);
  EXPECT_EQ(access_needed(Verb::kVdel), Access::kWrite);
  EXPECT_EQ(access_needed(static_cast<Verb>(99)), Access::kWrite);
}

TEST(Rules, OfTimeBeginAtZeroAndLeaveTheStoreHalfOfAllCounters) {
  EXPECT_EQ(Instant{}.wall_ms, 0U);
  EXPECT_EQ(Instant{}.steady.count(), 0);
  EXPECT_EQ(kMaxRequestCounter, 9'223'372'036'854'775'807U);
}

TEST(Rules, HaveRoomBelowTheQuotaOnly) {
  EXPECT_TRUE(has_room(0, 1));
  EXPECT_FALSE(has_room(1, 1));
  EXPECT_FALSE(has_room(2, 1));
  EXPECT_TRUE(has_room(1'000'000, 0));
}

TEST(Rules, ConditionsLookAtTheStoredValue) {
  const std::string stored = "v";
  struct Case {
    Condition condition;
    const std::string* stored;
    const char* offered;
    bool holds;
  };
  const std::vector<Case> cases = {{Condition::kAlways, nullptr, "v", true},
                                   {Condition::kAlways, &stored, "w", true},
                                   {Condition::kIfAbsent, nullptr, "v", true},
                                   {Condition::kIfAbsent, &stored, "v", false},
                                   {Condition::kIfAbsent, &stored, "w", false},
                                   {Condition::kIfAbsentOrEqual, nullptr, "v", true},
                                   {Condition::kIfAbsentOrEqual, &stored, "v", true},
                                   {Condition::kIfAbsentOrEqual, &stored, "w", false}};
  for (const Case& c : cases) {
    EXPECT_EQ(condition_holds(c.condition, c.stored, c.offered), c.holds)
        << static_cast<int>(c.condition) << " " << c.offered;
  }
}

TEST(Rules, FencingTellsAMissingTokenFromALowerOne) {
  const hlc::Timestamp low{1, 0, "n"};
  const hlc::Timestamp high{2, 0, "n"};
  EXPECT_EQ(fencing_error(nullptr, nullptr), std::nullopt);
  EXPECT_EQ(fencing_error(nullptr, &low), std::nullopt);
  EXPECT_EQ(fencing_error(&low, &low), std::nullopt);
  EXPECT_EQ(fencing_error(&low, &high), std::nullopt);
  EXPECT_EQ(fencing_error(&low, nullptr), codec::ErrorCode::kTokenRequired);
  EXPECT_EQ(fencing_error(&high, &low), codec::ErrorCode::kTokenLower);
}

TEST(Rules, AnAbsentTokenIsFineAndAnAbsentTimestampIsNot) {
  EXPECT_EQ(check_timestamp(nullptr, kNoon).error(), codec::ErrorCode::kMissingTimestamp);
  const auto token = check_token(nullptr, kNoon);
  ASSERT_TRUE(token.has_value());
  EXPECT_EQ(*token, std::nullopt);
}

}  // namespace
}  // namespace fencepost::store
