// What clients may change of a store that runs, and what the answer to a malformed message is.
#include "reference_store/served/control.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::served {
namespace {

using ::testing::HasSubstr;

TEST(PluginControl, ChangesOneThingAtATime) {
  Options options;
  EXPECT_EQ(apply_control("fault nx-overwrites+D02", options), std::nullopt);
  EXPECT_EQ(apply_control(" response_delay_ms  200\n", options), std::nullopt);
  EXPECT_EQ(apply_control("response_jitter_ms 50", options), std::nullopt);
  EXPECT_EQ(apply_control("clock_offset_ms -600000", options), std::nullopt);
  EXPECT_EQ(apply_control("state", options), std::nullopt);
  EXPECT_EQ(control_state(options),
            "fault S01+D02, response_delay_ms 200, response_jitter_ms 50, clock_offset_ms -600000");
  EXPECT_EQ(apply_control("fault none", options), std::nullopt);
  EXPECT_THAT(control_state(options), HasSubstr("fault none, response_delay_ms 200"));
}

TEST(PluginControl, SaysWhatWasExpectedAndChangesNothing) {
  for (const auto& [message, said] :
       {std::pair{"", "\"\" is not a control message; expected state, or one of fault"},
        {"fault", "option fault is \"\"; expected"},
        {"fault S0", "option fault is \"S0\"; expected"},
        {"response_delay_ms 200ms", "expected milliseconds from 0 to 60000"},
        {"quota 3", "\"quota 3\" is not a control message"},
        {"a\x01\xff", "\"a\\x01\\xff\" is not a control message"}}) {
    Options options;
    const auto wrong = apply_control(message, options);
    ASSERT_TRUE(wrong.has_value()) << message;
    EXPECT_THAT(*wrong, HasSubstr(said));
    EXPECT_EQ(control_state(options), control_state({}));
  }
}

}  // namespace
}  // namespace fencepost::served
