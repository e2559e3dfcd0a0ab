#include "base/json_reader.h"

#include <string>

#include <gtest/gtest.h>

namespace fencepost {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ReadJson, TakesADocumentWithinTheLimits) {
  EXPECT_EQ(read_json(R"({"a": [1, "]"]})")["a"][1], "]");
  EXPECT_TRUE(read_json(nested(kMaxJsonDepth)).is_array());
  EXPECT_TRUE(read_json("{").is_discarded());
  EXPECT_TRUE(read_json("").is_discarded());
}

// What copies or writes such a value would call itself until the stack ends.
TEST(ReadJson, RefusesValuesWithinValuesToNoEnd) {
  EXPECT_TRUE(read_json(nested(kMaxJsonDepth + 1)).is_discarded());
  EXPECT_EQ(json_limit_broken(nested(kMaxJsonDepth + 1)), kTooDeep);
  EXPECT_EQ(json_limit_broken(nested(1'000'000)), kTooDeep);
  std::string objects;
  for (int i = 0; i < 75'000; ++i) objects += R"({"a":)";
  EXPECT_EQ(json_limit_broken(objects), kTooDeep);
}

TEST(ReadJson, BracketsInStringsAreNoLevels) {
  const std::string brackets(10'000, '[');
  EXPECT_EQ(read_json("[\"" + brackets + "\"]")[0], brackets);
  EXPECT_EQ(read_json("[\"\\\"" + brackets + "\"]")[0], "\"" + brackets);
  EXPECT_EQ(json_limit_broken("[\"\\\\\"" + brackets), kTooDeep);
}

TEST(ReadJson, RefusesMoreValuesThanMemoryHasRoomFor) {
  EXPECT_EQ(json_limit_broken("[" + std::string(6'000'001, ',')), kTooManyValues);
}

}  // namespace
}  // namespace fencepost
