#include "endpoint/wire/messages.h"

#include <gtest/gtest.h>

namespace fencepost::wire {
namespace {

const codec::Message kWhole{.topic = "t",
                            .payload = {"a\0b", 3},
                            .qos = 1,
                            .retain = true,
                            .duplicate = true,
                            .response_topic = "r",
                            .correlation_data = std::string(1, '\0'),
                            .content_type = "",
                            .payload_format = 1,
                            .expiry_seconds = 7,
                            .user_properties = {{"__ts", "1:0:n"}, {"__ts", "2:0:n"}}};

TEST(Messages, ThereAndBackOverTheWireIsTheSame) {
  for (const codec::Message& message : {kWhole, codec::Message{}, codec::Message{.topic = "t"}}) {
    Publish packet = publish_of(message);
    EXPECT_EQ(packet.packet_id, 0);
    if (packet.qos > 0) packet.packet_id = 9;
    if (packet.topic.empty()) packet.topic = "t";
    const auto decoded = decode(encode(packet).value(), kLargestPacket);
    ASSERT_TRUE(decoded && *decoded);
    codec::Message back = message_of(std::get<Publish>((*decoded)->packet));
    if (message.topic.empty()) back.topic.clear();
    EXPECT_EQ(back, message);
  }
}

TEST(Messages, LeavesOutWhatNoMessageHas) {
  Publish packet{.topic = "t"};
  packet.properties.add(PropertyId::kTopicAlias, 1U);
  packet.properties.add(PropertyId::kSubscriptionId, 5U);
  EXPECT_EQ(message_of(packet), (codec::Message{.topic = "t", .qos = 0}));
}

}  // namespace
}  // namespace fencepost::wire
