#include "base/text/text_wrap.h"

#include <gtest/gtest.h>

namespace fencepost::text {
namespace {

TEST(TextWrap, CountsColumnsWithoutColoursAndByCharacter) {
  EXPECT_EQ(columns(""), 0U);
  EXPECT_EQ(columns("✓ one"), 5U);
  EXPECT_EQ(columns("\033[31mred\033[0m !"), 5U);
}

TEST(TextWrap, BreaksAtBlanksAndIndents) {
  EXPECT_EQ(wrap("one two three", {.width = 7, .indent = 2}), "one two\n  three");
  EXPECT_EQ(wrap("one two three", {.width = 8, .indent = 0, .first = 4}), "one\ntwo\nthree");
  EXPECT_EQ(wrap("a-word-that-is-longer x", {.width = 5}), "a-word-that-is-longer\nx");
  EXPECT_EQ(wrap("\033[1mone two\033[0m three", {.width = 7}), "\033[1mone two\033[0m\nthree");
}

TEST(TextWrap, CutsAtACharacterWithAnEllipsis) {
  EXPECT_EQ(cut("four", 4), "four");
  EXPECT_EQ(cut("five5", 4), "fiv…");
  EXPECT_EQ(cut("✓✓✓", 2), "✓…");
  EXPECT_EQ(cut("ab", 1), "…");
}

TEST(TextWrap, CountsInWords) {
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(2, "case"), "2 cases");
  EXPECT_EQ(counted(2069, "case"), "2069 cases");
  EXPECT_EQ(counted(52'378, "case"), "52,378 cases");
  EXPECT_EQ(counted(1'234'567, "case"), "1,234,567 cases");
}

}  // namespace
}  // namespace fencepost::text
