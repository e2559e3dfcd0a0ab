#include "suite/run/selection.h"

#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TEST(ParseShard, TakesAPartThatThereIs) {
  for (const auto& [text, index, total] :
       {std::tuple{"1/1", 1U, 1U}, std::tuple{"2/5", 2U, 5U}, std::tuple{"5/5", 5U, 5U}}) {
    const auto shard = parse_shard(text);
    ASSERT_TRUE(shard) << text;
    EXPECT_EQ(shard->index, index);
    EXPECT_EQ(shard->total, total);
  }
}

TEST(ParseShard, RefusesAnythingElse) {
  for (const char* text : {"", "2", "2/", "/5", "0/5", "6/5", "0/0", "-1/5", "2/-5", " 2/5", "2/5 ",
                           "2:5", "2/5/7", "x/5", "2/x", "1/99999999999999999999999"}) {
    EXPECT_FALSE(parse_shard(text)) << text;
  }
}

TEST(IsFiltered, WhereAnyOptionLeavesOutCases) {
  EXPECT_FALSE(is_filtered({}));
  EXPECT_FALSE(is_filtered({.shard = 2, .shards = 5}));
  EXPECT_TRUE(is_filtered({.run = {"x"}}));
  EXPECT_TRUE(is_filtered({.skip = {"x"}}));
  EXPECT_TRUE(is_filtered({.tags = {"x"}}));
  EXPECT_TRUE(is_filtered({.requirements = {"x"}}));
}

TEST(SelectionText, IsTheOptionsThatSelectThis) {
  EXPECT_EQ(selection_text({}), "");
  EXPECT_EQ(selection_text({.run = {"a.*"},
                            .skip = {"b"},
                            .tags = {"large"},
                            .requirements = {"R-1", "R-2"},
                            .shard = 2,
                            .shards = 5}),
            " --run 'a.*' --skip b --tag large --requirement R-1 --requirement R-2 --shard 2/5");
}

class WhyEmptyTest : public testing::Test {
 protected:
  WhyEmptyTest() {
    library_.catalogue = test::catalogue();
    const std::string steps = "- get: k\n  expect: missing\n";
    library_.cases.push_back(
        test::case_of({.id = "set.one", .more = "tags: [large]\n", .steps = steps}));
    library_.cases.push_back(
        test::case_of({.id = "get.one", .more = "tags: [smoke]\n", .steps = steps}));
  }

  [[nodiscard]] std::string why(const Selection& selection) const {
    EXPECT_TRUE(select(library_.cases, selection).empty());
    std::string out = why_empty(selection, library_);
    EXPECT_THAT(out, StartsWith("no case selected; there are 2: "));
    return out;
  }

  scenario::Library library_;
};

TEST_F(WhyEmptyTest, NamesATagThatNoCaseHas) {
  EXPECT_THAT(why({.run = {"set.*"}, .tags = {"nope"}, .requirements = {"R-NO"}}),
              EndsWith(": none has the tag nope; the tags are large, smoke"));
}

TEST_F(WhyEmptyTest, NamesARequirementThatThereIsNotAndTheNearest) {
  EXPECT_THAT(why({.run = {"no"}, .requirements = {"R-MUST-1", "R-MUST-9"}}),
              EndsWith(": there is no requirement R-MUST-9; did you mean R-MUST-1?"));
  EXPECT_THAT(why({.requirements = {"nothing-like-it"}}),
              EndsWith(": there is no requirement nothing-like-it"));
}

TEST_F(WhyEmptyTest, NamesAGlobThatMatchesNothing) {
  EXPECT_THAT(why({.run = {"no.such.*", "neither"}}),
              EndsWith(": no id matches --run no.such.*; see fencepost list cases"));
  EXPECT_THAT(why({.run = {"set.ones"}}),
              EndsWith(": no id matches --run set.ones; did you mean set.one?"));
}

TEST_F(WhyEmptyTest, ElseSaysThatNothingMatchesAllOfIt) {
  EXPECT_THAT(why({.run = {"set.*"}, .tags = {"smoke"}}),
              EndsWith(": none matches --run 'set.*' --tag smoke"));
}

}  // namespace
}  // namespace fencepost::run
