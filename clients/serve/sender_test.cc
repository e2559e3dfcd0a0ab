// Who sent a request, by what it says.
#include "clients/serve/sender.h"

#include <gtest/gtest.h>

namespace fencepost::serve {
namespace {

codec::Message request(const char* response_topic, const char* source = nullptr) {
  codec::Message out;
  if (response_topic != nullptr) out.response_topic = response_topic;
  if (source != nullptr) out.user_properties.emplace_back("__srcId", source);
  return out;
}

TEST(Sender, IsInTheResponseTopicsThatAreInUse) {
  for (const char* behind : {"/services/statestore/_any_/command/invoke/response",
                             "/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke",
                             "/anything", "/response"}) {
    EXPECT_EQ(sender_of(request((std::string("clients/me") + behind).c_str())), "me") << behind;
  }
}

TEST(Sender, MayHaveSlashesBeforeAnEndingInUse) {
  EXPECT_EQ(sender_of(request("clients/a/b/services/statestore/_any_/command/invoke/response")),
            "a/b");
  EXPECT_EQ(sender_of(request("clients/a/b/response")), "a");
}

TEST(Sender, IsTheSourceWhereTheTopicSpellsItInBase16) {
  EXPECT_EQ(sender_of(request("clients/6D65/statestore/v1/FA9A/command/invoke/response", "me")),
            "me");
  EXPECT_EQ(sender_of(request("clients/6D65/statestore/v1/FA9A/command/invoke/response")), "6D65");
}

TEST(Sender, IsByTheTopicWhereTheSourceDiffers) {
  EXPECT_EQ(sender_of(request("clients/me/response", "another")), "me");
}

TEST(Sender, IsTheSourceWhereTheTopicHasNone) {
  EXPECT_EQ(sender_of(request("me/response", "me")), "me");
  EXPECT_EQ(sender_of(request(nullptr, "me")), "me");
}

TEST(Sender, MayBeUnknown) {
  for (const char* topic : {"me/response", "clients/", "clients/me", "clients//response", ""}) {
    EXPECT_EQ(sender_of(request(topic)), "") << topic;
  }
  EXPECT_EQ(sender_of(request(nullptr)), "");
}

}  // namespace
}  // namespace fencepost::serve
