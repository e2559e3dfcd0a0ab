#include "base/glob.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fencepost {
namespace {

using namespace std::chrono_literals;

struct GlobCase {
  std::string pattern;
  std::string text;
  bool matches;
};

void expect_all(const std::vector<GlobCase>& cases) {
  for (const auto& [pattern, text, matches] : cases) {
    EXPECT_EQ(glob_matches(pattern, text), matches) << pattern << " on " << text;
  }
}

TEST(Glob, TakesOrdinaryBytesForThemselves) {
  expect_all({{"", "", true},
              {"", "a", false},
              {"a", "", false},
              {"a", "a", true},
              {"a", "A", false},
              {"a", "aa", false},
              {"ab", "a", false},
              {"a.c", "abc", false},
              {"a]", "a]", true},
              {"\\*", "*", false},
              {"{x}", "{x}", true},
              {std::string("a\0b", 3), std::string("a\0b", 3), true},
              {std::string("a\0b", 3), std::string("a\0c", 3), false}});
}

TEST(Glob, LetsAStarStandForAnyBytes) {
  expect_all({{"*", "", true},
              {"*", "anything / at all", true},
              {"**", "", true},
              {"colors/*", "colors/red", true},
              {"colors/*", "colors/", true},
              {"colors/*", "colors", false},
              {"colors/*", "colors/dark/red", true},
              {"*red", "dark red", true},
              {"*red", "redder", false},
              {"a*b*c", "aXbXbXc", true},
              {"a*b*c", "aXcXb", false},
              {"*ab", "aab", true},
              {"*a*", "bab", true},
              {"*a*", "bbb", false},
              {"*", std::string("\0\r\n\xff", 4), true}});
}

TEST(Glob, LetsAQuestionMarkStandForOneByte) {
  expect_all({{"char?", "charX", true},
              {"char?", "char", false},
              {"char?", "charXY", false},
              {"?", std::string("\0", 1), true},
              {"?", "\xc3\xa9", false},
              {"??", "\xc3\xa9", true},
              {"*?", "", false},
              {"*?", "a", true}});
}

TEST(Glob, LetsASetStandForOneOfItsBytes) {
  expect_all({{"number[0-9]", "number5", true},
              {"number[0-9]", "number", false},
              {"number[0-9]", "numberx", false},
              {"number[0-9]", "number55", false},
              {"[0-9]", "0", true},
              {"[0-9]", "9", true},
              {"[0-9]", "/", false},
              {"[0-9]", ":", false},
              {"[abc]", "b", true},
              {"[abc]", "d", false},
              {"[a-cx-z]", "y", true},
              {"[a-cx-z]", "m", false},
              {"[a-cx-z]", "-", false},
              {"[a-c-z]", "m", false},
              {"[a-c-z]", "-", true},
              {"[a-a]", "a", true},
              {"[c-a]", "b", false},
              {"[ab-]", "-", true},
              {"[-ab]", "-", true},
              {"[*]", "*", true},
              {"[*]", "x", false},
              {"[?]", "x", false},
              {"[]]", "]", true},
              {"[]a]", "a", true},
              {"[\x80-\xff]", "\xc0", true},
              {"[\x01-\xff]", "a", true},
              {"*[0-9]z", "a1b2z", true}});
}

TEST(Glob, LetsANegatedSetStandForOneOfTheOthers) {
  expect_all({{"[!0-9]", "a", true},
              {"[!0-9]", "!", true},
              {"[!0-9]", "5", false},
              {"[!0-9]", "", false},
              {"[!abc]x", "dx", true},
              {"[!abc]x", "ax", false},
              {"[a!]", "!", true},
              {"[a!]", "a", true},
              {"[^a]", "^", true}});
}

TEST(Glob, TakesABracketThatNeverClosesForItself) {
  expect_all({{"a[b", "a[b", true},
              {"a[b", "ab", false},
              {"[", "[", true},
              {"[]", "[]", true},
              {"[0-9", "5", false},
              {"*[", "x[", true}});
}

TEST(Glob, StaysFastWithManyStarsOnLongText) {
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "a*";
  const std::string text(100'000, 'a');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(glob_matches(stars, text));
  EXPECT_FALSE(glob_matches(stars + "b", text));
  EXPECT_FALSE(glob_matches(stars + "[0-9]", text));
  // Backtracking over every star would take longer than the age of the universe.
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

}  // namespace
}  // namespace fencepost
