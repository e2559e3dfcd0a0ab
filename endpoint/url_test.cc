// Endpoint URLs: what is understood, what is refused and why, what people get to see.
#include "endpoint/url.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::endpoint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Query = std::map<std::string, std::string>;

struct GoodUrl {
  std::string text;
  Scheme scheme = Scheme::kMqtt;
  std::string host{};
  std::uint16_t port = 0;
  std::string user{};
  std::string password{};
  Query query{};
};

const std::vector<GoodUrl>& good_urls() {
  static const std::vector<GoodUrl> urls = {
      {.text = "embedded", .scheme = Scheme::kEmbedded},
      {.text = "embedded:", .scheme = Scheme::kEmbedded},
      {.text = "embedded?quota=7&dialect=documented",
       .scheme = Scheme::kEmbedded,
       .query = {{"quota", "7"}, {"dialect", "documented"}}},
      {.text = "inproc", .scheme = Scheme::kInProcess},
      {.text = "inproc:", .scheme = Scheme::kInProcess},
      {.text = "inproc:?dialect=deployed",
       .scheme = Scheme::kInProcess,
       .query = {{"dialect", "deployed"}}},
      {.text = "mqtt://broker.example", .host = "broker.example", .port = 1883},
      {.text = "mqtt://broker.example/", .host = "broker.example", .port = 1883},
      {.text = "mqtt://10.0.0.1:1", .host = "10.0.0.1", .port = 1},
      {.text = "mqtt://h:65535/", .host = "h", .port = 65535},
      {.text = "mqtts://h", .scheme = Scheme::kMqtts, .host = "h", .port = 8883},
      {.text = "mqtts://h:443", .scheme = Scheme::kMqtts, .host = "h", .port = 443},
      {.text = "mqtt://[::1]", .host = "::1", .port = 1883},
      {.text = "mqtt://[fe80::2]:1884/", .host = "fe80::2", .port = 1884},
      {.text = "mqtts://[::1]", .scheme = Scheme::kMqtts, .host = "::1", .port = 8883},
      {.text = "mqtt://ann@h", .host = "h", .port = 1883, .user = "ann"},
      {.text = "mqtt://ann:@h", .host = "h", .port = 1883, .user = "ann"},
      {.text = "mqtt://ann:pw@h:99", .host = "h", .port = 99, .user = "ann", .password = "pw"},
      {.text = "mqtt://a%3Ab%40c:%25%2f%3F%00x@[::1]:99",
       .host = "::1",
       .port = 99,
       .user = "a:b@c",
       .password = std::string("%/?\0x", 5)},
      {.text = "mqtt://ann:p:q@r@h",  // only the last @ separates, and only the first colon
       .host = "h",
       .port = 1883,
       .user = "ann",
       .password = "p:q@r"},
      {.text = "mqtt://h?a=1&b=&c&a=2&d=e=f",  // the last of equal names counts
       .host = "h",
       .port = 1883,
       .query = {{"a", "2"}, {"b", ""}, {"c", ""}, {"d", "e=f"}}},
      {.text = "mqtts://u:p@h:9/?x=y@z:1",  // what stands in the query is no user name
       .scheme = Scheme::kMqtts,
       .host = "h",
       .port = 9,
       .user = "u",
       .password = "p",
       .query = {{"x", "y@z:1"}}},
  };
  return urls;
}

TEST(ParseUrl, UnderstandsEveryPart) {
  for (const GoodUrl& expected : good_urls()) {
    SCOPED_TRACE(expected.text);
    const auto url = parse_url(expected.text);
    ASSERT_TRUE(url) << url.error();
    EXPECT_EQ(url->scheme, expected.scheme);
    EXPECT_EQ(url->host, expected.host);
    EXPECT_EQ(url->port, expected.port);
    EXPECT_EQ(url->user, expected.user);
    EXPECT_EQ(url->password, expected.password);
    EXPECT_EQ(url->query, expected.query);
  }
}

struct BadUrl {
  std::string text;
  std::string diagnostic;
};

std::vector<BadUrl> bad_urls() {
  const std::string host_or_port = "the host or port";
  const std::string credentials = "the user name or password";
  const std::string unknown = "is not an endpoint";
  return {
      {"", unknown},
      {"Embedded", unknown},
      {"embedded:x", unknown},
      {"inproc://", unknown},
      {"inproc:fault=S01", "are written inproc:?fault=S01"},
      {"embedded:fault=S01", "are written embedded?fault=S01"},
      {"mqtt:", unknown},
      {"mqtt:/h", unknown},
      {"MQTT://h", unknown},
      {"two words", unknown},
      {"mqtt://", host_or_port},
      {"mqtt:///", host_or_port},
      {"mqtt://:1883", host_or_port},
      {"mqtt://h:", host_or_port},
      {"mqtt://h:0", host_or_port},
      {"mqtt://h:65536", host_or_port},
      {"mqtt://h:99999999999999999999", host_or_port},
      {"mqtt://h:-1", host_or_port},
      {"mqtt://h:+1", host_or_port},
      {"mqtt://h: 1", host_or_port},
      {"mqtt://h:1x", host_or_port},
      {"mqtt://h:1:2", host_or_port},
      {"mqtt://::1", host_or_port},  // an IPv6 address needs its brackets
      {"mqtt://[::1", host_or_port},
      {"mqtt://[]", host_or_port},
      {"mqtt://[[]", host_or_port},
      {"mqtt://[[:]", host_or_port},
      {"mqtt://[h]", host_or_port},  // brackets are for IPv6
      {"mqtt://h]", host_or_port},
      {"mqtt://[::1]]", host_or_port},
      {"mqtt://[::1]:", host_or_port},
      {"mqtt://[::1]1883", host_or_port},
      {"mqtts://u:p@", host_or_port},
      {"mqtt://@h", credentials},
      {"mqtt://:pw@h", credentials},
      {"mqtt://u%@h", credentials},
      {"mqtt://u%4@h", credentials},
      {"mqtt://u%4g@h", credentials},
      {"mqtt://u:%-1@h", credentials},
      {"mqtt://u:%+1@h", credentials},
  };
}

TEST(ParseUrl, SaysWhatIsWrong) {
  for (const BadUrl& bad : bad_urls()) {
    SCOPED_TRACE(bad.text);
    const auto url = parse_url(bad.text);
    ASSERT_FALSE(url) << url->display();
    EXPECT_THAT(url.error(), AllOf(HasSubstr(bad.diagnostic), HasSubstr("expected embedded")));
  }
}

TEST(ParseUrl, NamesWhatWasMeant) {
  const std::pair<const char*, const char*> rows[] = {
      {"h:1883", "\"h:1883\" is not an endpoint; did you mean mqtt://h:1883?"},
      {"127.0.0.1:1883", "did you mean mqtt://127.0.0.1:1883?"},
      {"localhost", "did you mean mqtt://localhost?"},
      {"me:secret@broker.example", "did you mean mqtt://***@broker.example?"},
      {"tcp://h", "did you mean mqtt://h?"},
      {"tcp://h:8883", "did you mean mqtts://h:8883?"},
      {"ssl://h", "did you mean mqtts://h?"},
      {"http://h:80", "did you mean mqtt://h:80?"},
      {"https://h", "did you mean mqtts://h?"},
      {"mqtt://h:1/topic",
       "nothing may follow host and port of an endpoint: did you mean mqtt://h:1?"},
      {"mqtt://u:secret@h/topic", "did you mean mqtt://u:***@h:1883?"},
      {"two words.yaml", "\"two words.yaml\" is not an endpoint; did you mean --descriptor?"},
      {"[::1]:1883", "did you mean mqtt://[::1]:1883?"}};
  for (const auto& [given, meant] : rows) {
    EXPECT_THAT(parse_url(given).error(), AllOf(HasSubstr(meant), Not(HasSubstr("secret"))));
  }
}

TEST(ParseUrl, RefusesAPathBehindTheHost) {
  EXPECT_FALSE(parse_url("mqtt://broker.example/topic"));
  EXPECT_FALSE(parse_url("mqtt://broker.example//"));
}

TEST(ParseUrl, RefusesWebSocketsWithAReason) {
  for (const std::string text : {"ws://h:8080/mqtt", "wss://h"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error(), AllOf(HasSubstr("not supported"), HasSubstr("mqtts://"))) << text;
  }
}

TEST(ParseUrl, KeepsPasswordsOutOfItsErrors) {
  for (const std::string text :
       {"mqtt://ann:s3cret%zz@h", "mqtt://ann:s3cret@h:0", "ws://ann:s3cret@h",
        "http://ann:s3cret@h", "mqtt:/ann:s3cret@h", "mqtt://ann:s3cret?x@h",
        "mqtt://ann:x?s3cret@h", "mqtt://ann:s3cret", "mqtt:ann:s3cret", "mqtt:/ann:s3cret",
        "mqtt://[::1]:s3cret", "http://ann:s3cret"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error(), Not(HasSubstr("s3cret"))) << text;
  }
}

TEST(DisplayUrl, ShowsEverythingButThePassword) {
  const std::vector<std::pair<std::string, std::string>> urls = {
      {"embedded", "embedded"},
      {"inproc", "inproc:"},
      {"embedded?response-delay=200ms&clock-offset=-10m",
       "embedded?clock-offset=-10m&response-delay=200ms"},
      {"inproc?dialect=documented", "inproc:?dialect=documented"},
      {"mqtt://h", "mqtt://h:1883"},
      {"mqtts://h/", "mqtts://h:8883"},
      {"mqtt://[::1]:7", "mqtt://[::1]:7"},
      {"mqtt://ann@h", "mqtt://ann@h:1883"},
      {"mqtt://ann:s3cret@h:7?x=y", "mqtt://ann:***@h:7"},
      {"mqtts://ann:s3%63ret@[fe80::2]", "mqtts://ann:***@[fe80::2]:8883"},
      {"mqtt://a%25%40%3ab%00@h", "mqtt://a%25%40%3Ab%00@h:1883"},
  };
  for (const auto& [text, shown] : urls) {
    const auto url = parse_url(text);
    ASSERT_TRUE(url) << text << ": " << url.error();
    EXPECT_EQ(url->display(), shown) << text;
    EXPECT_TRUE(parse_url(url->display())) << text;
  }
}

TEST(Redacted, LeavesOutThePasswordOfALegalUrl) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"embedded", "embedded"},
      {"inproc:?dialect=deployed", "inproc:?dialect=deployed"},
      {"mqtt://h:1883", "mqtt://h:1883"},
      {"mqtt://ann@h", "mqtt://ann@h"},
      {"mqtt://ann:@h", "mqtt://ann:@h"},
      {"mqtt://ann:s3cret@h", "mqtt://ann:***@h"},
      {"mqtts://ann:s3%40cr:et@[::1]:7/", "mqtts://ann:***@[::1]:7/"},
      {"mqtt://ann:p@ss@h", "mqtt://ann:***@h"},
      {"mqtt://ann:s3cret@h?token=s3cret", "mqtt://ann:***@h?***"},
      {"mqtt://h?token=s3cret", "mqtt://h?***"},
  };
  for (const auto& [text, shown] : texts) EXPECT_EQ(redacted(text), shown);
}

TEST(Redacted, LeavesOutAllThatCouldBeAPasswordOfAnythingElse) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"mqtt://ann:s3cret@h:0", "mqtt://***@h:0"},
      {"--endpoint=mqtt://ann:s3cret@h", "--endpoint=mqtt://***@h"},
      {"ann:s3cret@h", "***@h"},
      {"mqtt://ann:s3cret", "mqtt://ann:***"},
      {"mqtt://h:1883/topic", "mqtt://h:***"},
      {"mqtt://h:99999", "mqtt://h:99999"},
      {"http://h/path", "http://h/path"},
      {"mqtt:/h", "mqtt:/h"},
      {"mqtt:", "mqtt:"},
      {"set.nx", "set.nx"},
      {"", ""},
  };
  for (const auto& [text, shown] : texts) EXPECT_EQ(redacted(text), shown);
}

TEST(PasswordsIn, GivesThePasswordAsItStandsAndAsItIs) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(passwords_in("mqtt://ann:s3cret@h"), Texts({"s3cret"}));
  EXPECT_EQ(passwords_in("mqtt://ann:s3%40cret@h"), Texts({"s3%40cret", "s3@cret"}));
  EXPECT_EQ(passwords_in("mqtt://ann:p:q@r@h"), Texts({"p:q@r"}));
  for (const char* none : {"mqtt://ann@h", "mqtt://ann:@h", "mqtt://h:1883", "embedded", "", "x"}) {
    EXPECT_EQ(passwords_in(none), Texts());
  }
}

}  // namespace
}  // namespace fencepost::endpoint
