#include "suite/scenario/source_excerpt.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace fencepost::scenario {
namespace {

constexpr const char* kFile = "area: a\r\n      - sett: {key: k}\n\n\t- get: k";

// What is said of an error at this place of a file that has this content.
std::string excerpt(int line, int column, const std::string& text = "wrong",
                    const std::string& content = kFile) {
  return with_excerpt({.position = {"s.yaml", line, column}, .text = text},
                      {{"other.yaml", "x"}, {"s.yaml", content}});
}

TEST(SourceExcerpt, ShowsTheLineWithACaretBelowThePlace) {
  EXPECT_EQ(excerpt(2, 9),
            "s.yaml:2:9: wrong\n"
            "    2 |       - sett: {key: k}\n"
            "      |         ^");
  EXPECT_EQ(excerpt(1, 1),
            "s.yaml:1:1: wrong\n"
            "    1 | area: a\n"
            "      | ^");
  EXPECT_EQ(excerpt(4, 2),
            "s.yaml:4:2: wrong\n"
            "    4 | \t- get: k\n"
            "      | \t^");
}

TEST(SourceExcerpt, ThePlaceMayBeBeyondTheLine) {
  EXPECT_EQ(excerpt(1, 50), "s.yaml:1:50: wrong\n    1 | area: a\n      |        ^");
  EXPECT_EQ(excerpt(1, 0), "s.yaml:1:0: wrong\n    1 | area: a\n      | ^");
}

TEST(SourceExcerpt, LeavesOutALineThatIsNotThereOrEmpty) {
  EXPECT_EQ(excerpt(3, 1), "s.yaml:3:1: wrong");
  EXPECT_EQ(excerpt(5, 1), "s.yaml:5:1: wrong");
  const LoadError nowhere{.position = {"s.yaml", 0, 0}, .text = "wrong"};
  EXPECT_EQ(with_excerpt(nowhere, {{"s.yaml", kFile}}), describe(nowhere));
  const LoadError elsewhere{.position = {"none.yaml", 1, 1}, .text = "wrong"};
  EXPECT_EQ(with_excerpt(elsewhere, {{"s.yaml", kFile}}), "none.yaml:1:1: wrong");
}

TEST(SourceExcerpt, LeavesOutALineThatMayHoldAPasswordOrControlATerminal) {
  EXPECT_EQ(excerpt(1, 1, "wrong", std::string(200, 'x')).find('\n'),
            std::string("s.yaml:1:1: wrong").size());
  for (const std::string& line :
       {std::string("url: mqtt://me:xyzzy@host"), std::string("password: xyzzy"),
        std::string("a\x1b[1m"), std::string("a\x7f"), std::string(201, 'x')}) {
    EXPECT_EQ(excerpt(1, 1, "wrong", line), "s.yaml:1:1: wrong") << line;
  }
}

TEST(SourceExcerpt, SaysWhatToDoWhereYamlDoesNot) {
  for (const auto& [words, advice] : std::vector<std::pair<std::string, std::string>>{
           {"illegal map value", "a colon and a space inside text: put the text in quotes"},
           {"end of map not found", "a line here is not indented like those before it"},
           {"end of sequence not found", "a line here is not indented like those before it"},
           {"end of sequence flow not found", "a list that begins with [ ends with ]"},
           {"end of map flow not found", "a mapping that begins with { ends with }"}}) {
    EXPECT_EQ(excerpt(1, 1, "this is not YAML: " + words),
              "s.yaml:1:1: this is not YAML: " + words +
                  "\n    1 | area: a\n      | ^\n      = " + advice);
    EXPECT_EQ(excerpt(3, 1, "this is not YAML: " + words),
              "s.yaml:3:1: this is not YAML: " + words + "\n      = " + advice);
    EXPECT_EQ(excerpt(3, 1, words), "s.yaml:3:1: " + words);
  }
  EXPECT_EQ(excerpt(3, 1, "this is not YAML: anything"), "s.yaml:3:1: this is not YAML: anything");
  EXPECT_EQ(excerpt(4, 2, "this is not YAML: end of map not found"),
            "s.yaml:4:2: this is not YAML: end of map not found\n    4 | \t- get: k\n      | \t^\n"
            "      = there is a tab here; indent YAML with spaces");
}

}  // namespace
}  // namespace fencepost::scenario
