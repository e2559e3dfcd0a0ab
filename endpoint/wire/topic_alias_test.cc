#include "endpoint/wire/topic_alias.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::wire {
namespace {

using testing::HasSubstr;
using testing::Optional;

Publish publish(const std::string& topic, std::optional<std::uint32_t> alias = std::nullopt) {
  Publish out{.topic = topic};
  if (alias) out.properties.add(PropertyId::kTopicAlias, *alias);
  return out;
}

TEST(TopicAliases, StandForTheTopicThatWasGivenLast) {
  TopicAliases aliases(2);
  Publish plain = publish("t");
  EXPECT_EQ(aliases.resolve(plain), std::nullopt);
  EXPECT_EQ(plain, publish("t"));
  for (const std::string topic : {"one", "other"}) {
    Publish given = publish(topic, 2);
    EXPECT_EQ(aliases.resolve(given), std::nullopt);
    Publish used = publish("", 2);
    EXPECT_EQ(aliases.resolve(used), std::nullopt);
    EXPECT_EQ(used.topic, topic);
  }
}

// Req: MQTT 5, 3.3.2.3.4
TEST(TopicAliases, AreRefusedThatNobodyTakesOrKnows) {
  Publish any = publish("t", 1);
  EXPECT_THAT(TopicAliases().resolve(any), Optional(HasSubstr("of which we take none")));
  TopicAliases aliases(2);
  for (const std::uint32_t wrong : {0U, 3U, 65'535U}) {
    Publish bad = publish("t", wrong);
    EXPECT_THAT(aliases.resolve(bad), Optional(HasSubstr("where our maximum is 2"))) << wrong;
  }
  Publish second = publish("t", 2);
  EXPECT_EQ(aliases.resolve(second), std::nullopt);
  Publish first = publish("", 1);
  EXPECT_THAT(aliases.resolve(first), Optional(HasSubstr("alias 1, which stands for no topic")));
}

TEST(TopicAliases, AreUsedAsFarAsTheyGo) {
  TopicAliases aliases(1);
  const auto used = [&](const std::string& topic) {
    Publish out = publish(topic);
    aliases.use(out);
    return out;
  };
  EXPECT_EQ(used("t"), publish("t", 1));
  EXPECT_EQ(used("t"), publish("", 1));
  EXPECT_EQ(used("other"), publish("other")) << "there is no second alias";
  EXPECT_EQ(used("t"), publish("", 1));
  Publish none = publish("t");
  TopicAliases().use(none);
  EXPECT_EQ(none, publish("t"));
}

// What one side sends is what the other one reads.
TEST(TopicAliases, AreResolvedAsTheyWereUsed) {
  TopicAliases sender(3);
  TopicAliases receiver(3);
  for (const std::string topic : {"a", "b", "a", "c", "d", "b", "d"}) {
    Publish sent = publish(topic);
    sender.use(sent);
    ASSERT_EQ(receiver.resolve(sent), std::nullopt);
    EXPECT_EQ(sent.topic, topic);
  }
}

}  // namespace
}  // namespace fencepost::wire
