#include "endpoint/wire/mqtt_3_1_1.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/wire/packet.h"

namespace fencepost::wire::v3 {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

// From the tables of chapter 3.
TEST(Mqtt311, WritesWhatTheStandardSays) {
  EXPECT_EQ(encode(Connect{.client_id = "c"}).value(), "\x10\x0d\0\4MQTT\4\2\0\x3c\0\1c"s);
  EXPECT_EQ(encode(Connect{.client_id = "c", .user = "u", .password = "p"}).value(),
            "\x10\x13\0\4MQTT\4\xc2\0\x3c\0\1c\0\1u\0\1p"s);
  EXPECT_EQ(encode(Connect{.client_id = "c", .password = "p"}).value(),
            encode(Connect{.client_id = "c"}).value());
  EXPECT_EQ(encode(Publish{.packet_id = 258, .topic = "t", .payload = "p"}).value(),
            "\x32\6\0\1t\1\2p"s);
  EXPECT_EQ(encode(Publish{.topic = "t", .payload = std::string(200, 'x')}).value().substr(0, 3),
            "\x32\xcd\1"s);
  EXPECT_EQ(encode(Subscribe{.packet_id = 2, .filter = "f"}).value(), "\x82\6\0\2\0\1f\1"s);
  EXPECT_EQ(farewell(), "\xe0\0"s);
}

TEST(Mqtt311, WritesNoTextThatIsTooLong) {
  const std::string longest(kMaxText, 'x');
  EXPECT_TRUE(encode(Publish{.topic = longest}));
  EXPECT_THAT(encode(Publish{.topic = longest + "x"}).error(), HasSubstr("topic"));
  EXPECT_THAT(encode(Subscribe{.filter = longest + "x"}).error(), HasSubstr("filter"));
  EXPECT_THAT(encode(Connect{.client_id = longest + "x"}).error(), HasSubstr("client id"));
  EXPECT_THAT(encode(Connect{.user = longest + "x"}).error(), HasSubstr("user name"));
  EXPECT_THAT(encode(Connect{.user = "u", .password = longest + "x"}).error(),
              HasSubstr("password"));
}

TEST(Mqtt311, ReadsAnswers) {
  const auto read = [](const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto part = decode(bytes.substr(0, i));
      EXPECT_TRUE(part && !*part) << i;
    }
    const auto out = decode(bytes + "more");
    EXPECT_TRUE(out && *out);
    EXPECT_EQ((*out)->size, bytes.size());
    return **out;
  };
  EXPECT_EQ(read("\x20\2\0\5"s).kind, AnswerKind::kConnack);
  EXPECT_EQ(read("\x20\2\0\5"s).code, 5);
  EXPECT_EQ(read("\x40\2\1\2"s).kind, AnswerKind::kPuback);
  EXPECT_EQ(read("\x40\2\1\2"s).packet_id, 258);
  EXPECT_EQ(read("\x90\3\0\1\x80"s).code, 0x80);
  EXPECT_EQ(read("\xd0\0"s).kind, AnswerKind::kOther);
  EXPECT_EQ(read("\x30\x80\1"s + std::string(128, 'x')).size, 131U);
}

TEST(Mqtt311, RefusesWhatNoBrokerMaySend) {
  for (const std::string& bytes :
       {"\x20\1x"s, "\x40\3xxx"s, "\x90\2xx"s, "\x30\xff\xff\xff\xff\1"s}) {
    EXPECT_FALSE(decode(bytes)) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace fencepost::wire::v3
