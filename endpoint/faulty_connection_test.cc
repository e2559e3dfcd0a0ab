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
    EXPECT_EQ(connection.next_due(), after(200ms));
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
  EXPECT_TRUE(connection.splits(after(199ms)));
  EXPECT_FALSE(connection.splits(after(200ms)));
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
