#include "traffic/search/saved_workload.h"

#include <string>

#include <gtest/gtest.h>

#include "workload/trace_text.h"

namespace fencepost::search {
namespace {

constexpr std::string_view kTrace =
    "c0 SET k1 \"v\" NX PX 50 ft=token@k0-1\n"
    "c1 raw \"*1\\r\\n$3\\r\\nGET\\r\\n\"\n"
    "wait 50 timer\n";

TEST(SavedWorkload, IsReadAsItWasWritten) {
  const SavedWorkload saved{.requirement = "FT-LOWER-1",
                            .comments = {"two\nlines, and \x01", "requirement: none"},
                            .trace = *workload::parse_trace(kTrace)};
  const auto read = parse_saved_workload(to_text(saved));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->requirement, "FT-LOWER-1");
  EXPECT_EQ(read->trace, saved.trace);
}

TEST(SavedWorkload, TakesTracesThatSayNothingOfARequirement) {
  const auto read = parse_saved_workload("# By hand.\n" + std::string(kTrace));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->requirement, "");
  EXPECT_EQ(read->trace.size(), 3U);
}

TEST(SavedWorkload, SaysWhichLineIsWrong) {
  const auto read = parse_saved_workload("# requirement: FT-LOWER-1\nc0 SET\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(), "line 2: expected a key");
}

}  // namespace
}  // namespace fencepost::search
