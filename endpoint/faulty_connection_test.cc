#include "endpoint/faulty_connection.h"

#include <string>

#include <gtest/gtest.h>

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using End = FaultyConnection::End;

const std::string kAcknowledgement = "\x40\x02\x00\x01"s;
const std::string kMessage = "\x30\x04\x00\x01tx"s;
const std::string kPing = "\xc0\x00"s;

FaultyConnection::Moment after(std::chrono::milliseconds time) {
  return FaultyConnection::Moment{} + 1h + time;
}

FaultyConnection struck_by(NetworkFault fault, bool up = false) {
  FaultyConnection out(true);
  EXPECT_TRUE(out.strike({.fault = fault, .length = 200ms, .up = up}, after(0ms)));
  return out;
}

TEST(FaultyConnection, HoldsOneDirectionForAWhile) {
  for (const auto fault : {NetworkFault::kDelay, NetworkFault::kStall}) {
    FaultyConnection connection = struck_by(fault, true);
    EXPECT_EQ(connection.take_effect(), fault);
    EXPECT_EQ(connection.take_effect(), std::nullopt);
    EXPECT_TRUE(connection.holds(true, after(199ms)));
    EXPECT_FALSE(connection.holds(false, after(199ms)));
    EXPECT_EQ(connection.next_due(after(0ms)), after(200ms));
    EXPECT_FALSE(connection.holds(true, after(200ms)));
    EXPECT_EQ(connection.end(after(200ms)), End::kNone);
    // What was held gets through before the next fault.
    EXPECT_FALSE(connection.strike({.fault = fault}, after(299ms)));
    EXPECT_TRUE(connection.strike({.fault = fault}, after(300ms)));
  }
}

TEST(FaultyConnection, IsHalfOpenAndThenReset) {
  FaultyConnection connection = struck_by(NetworkFault::kHalfOpen);
  EXPECT_TRUE(connection.holds(true, after(199ms)));
  EXPECT_TRUE(connection.holds(false, after(199ms)));
  EXPECT_EQ(connection.end(after(199ms)), End::kNone);
  EXPECT_EQ(connection.end(after(200ms)), End::kReset);
}

TEST(FaultyConnection, EndsImmediately) {
  EXPECT_EQ(struck_by(NetworkFault::kClose).end(after(0ms)), End::kClose);
  EXPECT_EQ(struck_by(NetworkFault::kReset).end(after(0ms)), End::kReset);
  EXPECT_EQ(struck_by(NetworkFault::kRefuse).end(after(0ms)), End::kReset);
}

TEST(FaultyConnection, SplitsForAWhile) {
  const FaultyConnection connection = struck_by(NetworkFault::kSplit);
  EXPECT_EQ(connection.most_to_write(after(199ms)), 1U);
  EXPECT_EQ(connection.most_to_write(after(200ms)), std::string::npos);
}

TEST(FaultyConnection, LimitsTheRateForAWhile) {
  FaultyConnection connection = struck_by(NetworkFault::kRate);
  std::size_t written = 0;
  auto now = after(0ms);
  while (now < after(200ms)) {
    const std::size_t most = connection.most_to_write(now);
    ASSERT_LE(most, 64U);
    connection.wrote(true, most, now);
    written += most;
    EXPECT_TRUE(connection.holds(true, now));
    EXPECT_FALSE(connection.holds(false, now)) << "the other direction has a rate of its own";
    now = *connection.next_due(now);
    EXPECT_FALSE(connection.holds(true, now));
  }
  EXPECT_NEAR(static_cast<double>(written), 32'768.0 / 5, 128);
  EXPECT_EQ(connection.most_to_write(now), std::string::npos);
}

TEST(FaultyConnection, JittersForAWhile) {
  FaultyConnection connection = struck_by(NetworkFault::kJitter);
  std::size_t held = 0;
  std::size_t changes = 0;
  for (auto now = after(0ms); now < after(200ms); now = *connection.next_due(now)) {
    ASSERT_GT(*connection.next_due(now), now) << "nobody waits for what has been";
    const bool up = connection.holds(true, now);
    held += up ? 1 : 0;
    changes += up != connection.holds(false, now) ? 1 : 0;
  }
  EXPECT_GT(held, 10U) << "of 50";
  EXPECT_LT(held, 40U);
  EXPECT_GT(changes, 10U) << "each direction by itself";
  EXPECT_FALSE(connection.holds(true, after(200ms)));
  EXPECT_FALSE(connection.holds(false, after(200ms)));
}

TEST(FaultyConnection, IsTakenOverByWhatTheClientHasConnectedWith) {
  const std::string connect = "\x10\x0f\x00\x04MQTT\x05\x02\x00\x3c\x00\x00\x02me"s;
  FaultyConnection connection(true);
  const Strike takeover{.fault = NetworkFault::kTakeover, .length = 200ms};
  EXPECT_FALSE(connection.strike(takeover, after(0ms))) << "nothing is known of the client";
  EXPECT_FALSE(connection.is_taken_over());
  EXPECT_EQ(connection.pass(true, connect + kPing, after(1ms)), connect + kPing);
  EXPECT_TRUE(connection.strike(takeover, after(2ms)));
  EXPECT_EQ(connection.connect(), connect);
  EXPECT_EQ(connection.take_effect(), NetworkFault::kTakeover);
  EXPECT_TRUE(connection.is_taken_over());
  EXPECT_FALSE(connection.holds(true, after(3ms)));
  EXPECT_EQ(connection.end(after(202ms)), End::kNone) << "that is the broker's to do";
  EXPECT_TRUE(connection.is_taken_over()) << "however late a busy broker does it";
}

TEST(FaultyConnection, CutsAPacketInHalf) {
  FaultyConnection connection = struck_by(NetworkFault::kCutPacket, true);
  EXPECT_EQ(connection.take_effect(), std::nullopt);
  EXPECT_EQ(connection.pass(false, kMessage, after(1ms)), kMessage);
  EXPECT_EQ(connection.pass(true, kMessage.substr(0, 4), after(1ms)), "");
  EXPECT_EQ(connection.end(after(1h)), End::kNone);
  EXPECT_EQ(connection.pass(true, kMessage.substr(4) + kPing, after(2ms)), kMessage.substr(0, 3));
  EXPECT_EQ(connection.take_effect(), NetworkFault::kCutPacket);
  EXPECT_EQ(connection.end(after(2ms)), End::kReset);
}

TEST(FaultyConnection, WithholdsAPuback) {
  FaultyConnection connection = struck_by(NetworkFault::kWithholdPuback);
  EXPECT_EQ(connection.pass(true, kPing, after(1ms)), kPing);
  EXPECT_FALSE(connection.holds(false, after(1ms)));
  EXPECT_EQ(connection.pass(true, kMessage, after(2ms)), kMessage);
  EXPECT_EQ(connection.take_effect(), NetworkFault::kWithholdPuback);
  EXPECT_TRUE(connection.holds(false, after(201ms)));
  EXPECT_FALSE(connection.holds(true, after(201ms)));
  EXPECT_EQ(connection.end(after(202ms)), End::kReset);
}

TEST(FaultyConnection, WithholdsAResponseWhicheverComesFirst) {
  for (const bool response_first : {false, true}) {
    FaultyConnection connection = struck_by(NetworkFault::kWithholdResponse);
    EXPECT_EQ(connection.pass(false, kMessage, after(1ms)), kMessage) << "of an earlier request";
    EXPECT_EQ(connection.pass(true, kMessage, after(2ms)), kMessage);
    EXPECT_EQ(connection.pass(false, response_first ? kMessage : kAcknowledgement, after(3ms)),
              response_first ? "" : kAcknowledgement);
    EXPECT_EQ(connection.end(after(3ms)), End::kNone);
    EXPECT_EQ(connection.pass(false, response_first ? kAcknowledgement : kMessage, after(4ms)),
              response_first ? kAcknowledgement : "");
    EXPECT_EQ(connection.end(after(4ms)), End::kReset);
  }
}

TEST(FaultyConnection, EndsWithoutAResponse) {
  FaultyConnection connection = struck_by(NetworkFault::kWithholdResponse);
  EXPECT_EQ(connection.pass(true, kMessage, after(2ms)), kMessage);
  EXPECT_EQ(connection.end(after(201ms)), End::kNone);
  EXPECT_EQ(connection.end(after(202ms)), End::kReset);
}

TEST(FaultyConnection, StopsWaitingForAPacket) {
  FaultyConnection connection = struck_by(NetworkFault::kCutPacket, true);
  connection.stop_waiting();
  EXPECT_EQ(connection.pass(true, kMessage, after(1ms)), kMessage);
  EXPECT_EQ(connection.end(after(1h)), End::kNone);
}

TEST(FaultyConnection, PassesWhatIsNoPacket) {
  FaultyConnection connection = struck_by(NetworkFault::kCutPacket, true);
  const std::string malformed = "\x30\xff\xff\xff\xff\xff"s;
  EXPECT_EQ(connection.pass(true, malformed, after(1ms)), malformed);
  EXPECT_EQ(connection.pass(true, "more", after(1ms)), "more");
  FaultyConnection of_tls(false);
  EXPECT_EQ(of_tls.pass(true, "half", after(1ms)), "half");
}

}  // namespace
}  // namespace fencepost::endpoint
