#include "concurrency/stress/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

history::Operation called(history::Time at) { return {.key = "k", .called = at}; }

std::vector<std::string> rules(const Delivery& delivery) {
  std::vector<std::string> out;
  for (const DeliveryFinding& each : delivery.findings()) out.push_back(each.requirement);
  return out;
}

// Req: ENV-RESPONSE-1
TEST(Delivery, ARequestThatLaterOnesHaveOvertakenIsUnanswered) {
  Delivery delivery;
  delivery.answered(1s);
  delivery.without_reply(7, called(2s), Delivery::Without::kTime);
  EXPECT_THAT(delivery.findings(), IsEmpty());
  EXPECT_EQ(delivery.doubts().silent, 1U);
  delivery.answered(3s);
  ASSERT_THAT(rules(delivery), ElementsAre("ENV-RESPONSE-1"));
  EXPECT_EQ(delivery.findings()[0].operation->called, 2s);
  EXPECT_EQ(delivery.doubts().all(), 0U);
}

// MQTT 5, 4.9: perhaps they were never sent.
TEST(Delivery, BehindABrokerThatDoesNotAcknowledgeNoRequestIsCalledUnanswered) {
  Delivery delivery;
  delivery.without_reply(7, called(2s), Delivery::Without::kTime);
  delivery.answered(3s);
  delivery.wrong("ENV-MQTT5-3", "MQTT 5, 4.3.2: no acknowledgement", nullptr);
  EXPECT_THAT(rules(delivery), ElementsAre("ENV-MQTT5-3"));
}

TEST(Delivery, AReplyThatComesLateIsADoubtAndNoFinding) {
  Delivery delivery;
  delivery.without_reply(7, called(1s), Delivery::Without::kTime);
  delivery.answered(2s);
  delivery.unmatched_reply(7, false, "+OK");
  EXPECT_THAT(delivery.findings(), IsEmpty());
  EXPECT_EQ(delivery.doubts().late, 1U);
  delivery.unmatched_reply(7, false, "+OK");
  EXPECT_THAT(rules(delivery), ElementsAre("ENV-RESPONSE-1"));  // the second one is one too many
}

TEST(Delivery, WhatEndsWithItsConnectionProvesNothing) {
  Delivery delivery;
  delivery.without_reply(7, called(1s), Delivery::Without::kLost);
  delivery.answered(2s);
  EXPECT_THAT(delivery.findings(), IsEmpty());
  EXPECT_EQ(delivery.doubts().lost, 1U);
  EXPECT_THAT(describe(delivery.doubts()), HasSubstr("1 request lost with a connection"));
  delivery.unmatched_reply(7, false, "+OK");  // by the connection that came after it
  EXPECT_THAT(delivery.findings(), IsEmpty());
}

TEST(Delivery, RepliesToNothingAndSecondOnesAreFound) {
  Delivery delivery;
  delivery.unmatched_reply(std::nullopt, false, "+OK");
  delivery.unmatched_reply(3, true, "+OK");  // MQTT may deliver a message again, and says so
  EXPECT_THAT(rules(delivery), ElementsAre("ENV-CORRELATION-1"));
  delivery.unmatched_reply(3, false, "+OK");
  delivery.unmatched_reply(4, false, "+OK");
  ASSERT_THAT(rules(delivery), ElementsAre("ENV-CORRELATION-1", "ENV-RESPONSE-1"));
  EXPECT_EQ(delivery.findings()[1].times, 2U);
  EXPECT_THAT(verdict_of(delivery.findings()[1]).verdict.text, HasSubstr("(2 times)"));
}

// Req: ENV-PUBACK-1
TEST(Delivery, ARefusedRequestThatIsAnsweredIsFound) {
  Delivery delivery;
  delivery.without_reply(7, called(1s), Delivery::Without::kRefused);
  EXPECT_EQ(delivery.doubts().refused, 1U);
  delivery.unmatched_reply(7, false, "+OK");
  EXPECT_THAT(rules(delivery), ElementsAre("ENV-PUBACK-1"));
  EXPECT_EQ(delivery.doubts().all(), 0U);
}

TEST(Delivery, WhatTheNetworkHasLostIsNobodysFault) {
  Delivery delivery;
  delivery.excuse(7);
  delivery.without_reply(7, called(1s), Delivery::Without::kTime);
  delivery.answered(2s);
  EXPECT_THAT(delivery.findings(), IsEmpty());
  EXPECT_EQ(delivery.doubts().all(), 0U);
}

}  // namespace
}  // namespace fencepost::stress
