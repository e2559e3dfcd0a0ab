#include "endpoint/late_pubacks.h"

#include <string>

#include <gtest/gtest.h>

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string kPuback1 = "\x40\x02\x00\x01"s;
const std::string kPuback2 = "\x40\x02\x00\x02"s;
const std::string kPublish = "\x30\x04\x00\x01tx"s;

LatePubacks::Moment at(std::chrono::milliseconds time) { return LatePubacks::Moment{} + time; }

TEST(LatePubacks, HoldsPubacksAndNothingElse) {
  std::uint64_t counted = 0;
  LatePubacks pubacks({.hold = 200ms}, counted);
  EXPECT_EQ(pubacks.next_due(), std::nullopt);
  EXPECT_EQ(pubacks.add(kPuback1 + kPublish, at(0ms)), kPublish);
  EXPECT_EQ(pubacks.add(kPuback2, at(50ms)), "");
  EXPECT_EQ(pubacks.next_due(), at(200ms));
  EXPECT_EQ(pubacks.due(at(199ms)), "");
  EXPECT_EQ(pubacks.due(at(200ms)), kPuback1);
  EXPECT_EQ(pubacks.due(at(300ms)), kPuback2);
  EXPECT_EQ(pubacks.next_due(), std::nullopt);
}

TEST(LatePubacks, TakesPacketsThatComeInPieces) {
  std::uint64_t counted = 0;
  LatePubacks pubacks({.hold = 1ms}, counted);
  const std::string large = "\x30\x80\x01"s + std::string(128, '\x40');
  std::string passed;
  for (const char c : large + kPuback1 + kPublish) {
    passed += pubacks.add(std::string_view(&c, 1), at(0ms));
  }
  EXPECT_EQ(passed, large + kPublish);
  EXPECT_EQ(pubacks.due(at(1ms)), kPuback1);
}

TEST(LatePubacks, EndsTheConnectionOfEachSoManieth) {
  std::uint64_t counted = 0;
  LatePubacks one({.drop_every = 2}, counted);
  EXPECT_EQ(one.add(kPuback1 + kPublish, at(0ms)), kPuback1 + kPublish);
  EXPECT_FALSE(one.dropped());
  EXPECT_EQ(one.add(kPublish + kPuback2 + kPublish, at(0ms)), kPublish);
  EXPECT_TRUE(one.dropped());
  EXPECT_EQ(one.add(kPublish, at(0ms)), "");
  LatePubacks other({.drop_every = 2}, counted);
  EXPECT_EQ(other.add(kPuback1, at(0ms)), kPuback1);
  EXPECT_FALSE(other.dropped());
}

TEST(LatePubacks, NothingIsHeldBehindTheEnd) {
  std::uint64_t counted = 0;
  LatePubacks pubacks({.hold = 1ms, .drop_every = 2}, counted);
  EXPECT_EQ(pubacks.add(kPuback1 + kPuback2, at(0ms)), "");
  EXPECT_TRUE(pubacks.dropped());
  EXPECT_EQ(pubacks.due(at(1s)), "");
}

TEST(LatePubacks, PassesWhatIsNoMqtt) {
  std::uint64_t counted = 0;
  LatePubacks pubacks({.hold = 1ms}, counted);
  EXPECT_EQ(pubacks.add("\x40\xff\xff\xff\xff", at(0ms)), "");
  EXPECT_EQ(pubacks.due(at(1ms)), "\x40\xff\xff\xff\xff");
  EXPECT_EQ(pubacks.add("\x30\xff\xff\xff\xff and more", at(0ms)), "\x30\xff\xff\xff\xff and more");
}

}  // namespace
}  // namespace fencepost::endpoint
