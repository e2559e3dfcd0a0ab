// Slowness without sleeping: when messages are due, in which order they go out, and what is lost.
#include "reference_store/delay_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Delivery notification(const std::string& client, const std::string& text) {
  Delivery out{.client_id = client, .message = {}};
  out.message.payload = text;
  return out;
}
Delivery response(const std::string& text) { return notification("", text); }

std::vector<std::string> due(DelayQueue& queue, microseconds now) {
  std::vector<Delivery> taken;
  queue.take_due(now, taken);
  std::vector<std::string> out;
  for (const Delivery& delivery : taken) out.push_back(delivery.message.payload);
  return out;
}

TEST(DelayQueue, WithoutDelayEverythingIsDueAtOnce) {
  DelayQueue queue({});
  EXPECT_FALSE(queue.delays());
  EXPECT_EQ(queue.next_due(), std::nullopt);
  EXPECT_TRUE(queue.add("a", response("one"), 5ms));
  EXPECT_EQ(queue.next_due(), 5ms);
  EXPECT_THAT(due(queue, 5ms), ElementsAre("one"));
}

TEST(DelayQueue, HoldsMessagesBackForTheDelayAndNotLonger) {
  DelayQueue queue({.delay = 200ms});
  EXPECT_TRUE(queue.delays());
  EXPECT_TRUE(queue.add("a", response("one"), 1ms));
  EXPECT_TRUE(queue.add("b", notification("c", "two"), 3ms));
  EXPECT_EQ(queue.next_due(), 201ms);
  EXPECT_THAT(due(queue, 201ms - 1us), IsEmpty());
  EXPECT_THAT(due(queue, 201ms), ElementsAre("one"));
  EXPECT_EQ(queue.next_due(), 203ms);
  EXPECT_THAT(due(queue, 1s), ElementsAre("two"));
  EXPECT_EQ(queue.next_due(), std::nullopt);
}

TEST(DelayQueue, MessagesOfOneMomentKeepTheirOrder) {
  DelayQueue queue({.delay = 1ms});
  for (const char* text : {"1", "2", "3"}) EXPECT_TRUE(queue.add("a", response(text), 0ms));
  EXPECT_TRUE(queue.add("a", notification("b", "4"), 0ms));
  EXPECT_THAT(due(queue, 1ms), ElementsAre("1", "2", "3", "4"));
}

TEST(DelayQueue, JitterNeverReordersWhatGoesToOneClient) {
  DelayQueue queue({.delay = 10ms, .jitter = 50ms});
  constexpr int kMessages = 200;
  for (int i = 0; i < kMessages; ++i) {
    const std::string text = std::to_string(i);
    // Responses to a client and notifications for it take the same way.
    const bool odd = i % 2 == 1;
    EXPECT_TRUE(queue.add("a", odd ? notification("a", text) : response(text), i * 100us));
  }
  const std::vector<std::string> out = due(queue, 1s);
  ASSERT_EQ(out.size(), kMessages);
  for (int i = 0; i < kMessages; ++i)
    EXPECT_EQ(out[static_cast<std::size_t>(i)], std::to_string(i));
}

// A client's turn is remembered for as long as anything waits for anybody.
TEST(DelayQueue, JitterNeverReordersWhileMessagesAreTaken) {
  DelayQueue queue({.delay = 10ms, .jitter = 50ms});
  constexpr std::size_t kMessages = 200;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const microseconds now = i * 500us;
    EXPECT_TRUE(queue.add("a", response(std::to_string(i)), now));
    for (std::string& text : due(queue, now)) out.push_back(std::move(text));
  }
  EXPECT_GT(out.size(), 0U);
  for (std::string& text : due(queue, 1s)) out.push_back(std::move(text));
  ASSERT_EQ(out.size(), kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) EXPECT_EQ(out[i], std::to_string(i));
}

// Enough draws from 0 to 1000 us that both ends come up.
TEST(DelayQueue, JitterReachesItsBoundsAndNothingBeyond) {
  DelayQueue queue({.delay = 10ms, .jitter = 1ms});
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_TRUE(queue.add("client-" + std::to_string(i), response(""), 0ms));
  }
  EXPECT_THAT(due(queue, 10ms - 1us), IsEmpty());
  EXPECT_EQ(queue.next_due(), 10ms);
  EXPECT_GT(due(queue, 11ms - 1us).size(), 0U);
  EXPECT_EQ(queue.next_due(), 11ms);
  EXPECT_GT(due(queue, 11ms).size(), 0U);
  EXPECT_EQ(queue.next_due(), std::nullopt);
}

TEST(DelayQueue, DelaysForAMillisecondOfEither) {
  EXPECT_TRUE(DelayQueue({.delay = 1ms}).delays());
  EXPECT_TRUE(DelayQueue({.jitter = 1ms}).delays());
}

TEST(DelayQueue, JitterIsAtMostWhatWasAskedForAndDiffersBetweenClients) {
  DelayQueue queue({.delay = 10ms, .jitter = 5ms});
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(queue.add("client-" + std::to_string(i), response(std::to_string(i)), 0ms));
  }
  EXPECT_THAT(due(queue, 10ms - 1us), IsEmpty());
  const std::size_t early = due(queue, 12500us).size();
  EXPECT_GT(early, 0U);
  EXPECT_LT(early, 100U);
  EXPECT_EQ(early + due(queue, 15ms).size(), 100U);
}

TEST(DelayQueue, AConnectionThatEndsLosesItsNotificationsAndNoResponses) {
  DelayQueue queue({.delay = 10ms});
  EXPECT_TRUE(queue.add("b", notification("a", "notification for a"), 0ms));
  EXPECT_TRUE(queue.add("a", notification("b", "notification for b"), 0ms));
  EXPECT_TRUE(queue.add("a", response("response to a"), 0ms));
  queue.disconnect("a");
  EXPECT_THAT(due(queue, 1s), ElementsAre("notification for b", "response to a"));
}

TEST(DelayQueue, HoldsSoManyAndLosesTheRest) {
  DelayQueue queue({.delay = 10ms, .most = 2});
  EXPECT_TRUE(queue.add("a", response("1"), 0ms));
  EXPECT_TRUE(queue.add("a", response("2"), 0ms));
  EXPECT_FALSE(queue.add("a", response("3"), 0ms));
  EXPECT_THAT(due(queue, 10ms), ElementsAre("1", "2"));
  EXPECT_TRUE(queue.add("a", response("4"), 20ms));
}

TEST(DelayQueue, HoldsAHundredThousandByDefault) {
  DelayQueue queue({.delay = 1ms});
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(queue.add("a", response(""), 0ms)) << i;
  EXPECT_FALSE(queue.add("a", response(""), 0ms));
}

}  // namespace
}  // namespace fencepost::store
