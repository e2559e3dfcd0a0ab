#include "suite/scenario/yaml_reader.h"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::scenario {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::string_view_literals;

class YamlReaderTest : public testing::Test {
 protected:
  YamlNode parsed(const std::string& text) {
    const auto node = reader_.parse(text);
    EXPECT_TRUE(node) << text;
    return node.value_or(YamlNode());
  }

  [[nodiscard]] std::vector<std::string> diagnostics() const {
    std::vector<std::string> out;
    for (const LoadError& error : errors_) out.push_back(describe(error));
    return out;
  }

  std::vector<LoadError> errors_;
  YamlReader reader_{"f", errors_};
};

TEST(IsRetyped, KnowsWhatAnyYamlReaderTakesForSomethingElseThanText) {
  const std::string_view kRetyped[] = {"",
                                       "~",
                                       "null",
                                       "Null",
                                       "NULL",
                                       "true",
                                       "True",
                                       "false",
                                       "yes",
                                       "YES",
                                       "no",
                                       "on",
                                       "Off",
                                       "y",
                                       "N",
                                       "0",
                                       "42",
                                       "-1",
                                       "+1",
                                       "007",
                                       "1_000",
                                       "0x10",
                                       "0o17",
                                       "0b101",
                                       "-0x1F",
                                       "1.20",
                                       ".5",
                                       "-.5",
                                       "1.",
                                       "1e3",
                                       "1E-3",
                                       "1.5e+3",
                                       ".inf",
                                       "-.Inf",
                                       "+.INF",
                                       ".nan",
                                       ".NaN",
                                       "12:30",
                                       "1:30:00.5",
                                       "2001-12-14",
                                       "2001-12-14t21:59:43.10-05:00",
                                       "2001-12-14 21:59:43Z",
                                       "=",
                                       "<<"};
  for (const std::string_view text : kRetyped) EXPECT_TRUE(text::is_retyped(text)) << text;
}

TEST(IsRetyped, LeavesTextAlone) {
  const std::string_view kText[] = {"k",  "ok",  "nothing", "yes please",  "nulls", "1s",  "150ms",
                                    "1a", "0xg", "e3",      "now + 61s",   "-",     ".",   "v1.20",
                                    "NX", "a-1", "inf",     "not-applied", "==",    "<<a", "10 T"};
  for (const std::string_view text : kText) EXPECT_FALSE(text::is_retyped(text)) << text;
}

TEST(ParseDuration, ReadsAWholeNumberAndAUnit) {
  const struct {
    std::string_view text;
    std::optional<std::int64_t> ms;
  } kTable[] = {
      {"0ms", 0},
      {"150ms", 150},
      {"2s", 2'000},
      {"1m", 60'000},
      {"1h", 3'600'000},
      {"1000000000ms", 1'000'000'000},
      {"1000000000h", 3'600'000'000'000'000},
      {"1000000001ms", {}},
      {"99999999999999999999ms", {}},
      {"", {}},
      {"ms", {}},
      {"150", {}},
      {"1d", {}},
      {"1 s", {}},
      {" 1s", {}},
      {"1s ", {}},
      {"1.5s", {}},
      {"-1s", {}},
      {"-0s", {}},
      {"+1s", {}},
      {"1S", {}},
      {"1min", {}},
      {"0x1s", {}},
  };
  for (const auto& row : kTable) {
    const auto wanted = row.ms ? std::optional(milliseconds{*row.ms}) : std::nullopt;
    EXPECT_EQ(parse_duration(row.text), wanted) << row.text;
  }
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  constexpr std::array kWords = {"set"sv, "get"sv, "value"sv, "requirements"sv, "content_type"sv};
  const struct {
    std::string_view word;
    std::string_view nearest;
  } kTable[] = {
      {"set", "set"},
      {"Set", "set"},
      {"vlaue", "value"},
      {"requirement", "requirements"},
      {"geet", "get"},
      {"values", "value"},
      {"content-type", "content_type"},
      {"requiers", ""},
      {"publish", ""},
      {"connection", ""},
  };
  for (const auto& row : kTable) EXPECT_EQ(nearest(row.word, kWords), row.nearest) << row.word;
  EXPECT_EQ(nearest("set", {}), "");
}

TEST_F(YamlReaderTest, ReadsText) {
  const YamlNode node =
      parsed("[plain, 'single', \"dou\\x41ble\", '1.20', \"yes\", '', now + 61s, \"~\"]");
  EXPECT_THAT(reader_.texts(node, "x"),
              ElementsAre("plain", "single", "douAble", "1.20", "yes", "", "now + 61s", "~"));
  EXPECT_EQ(reader_.text(parsed("|\n  true\n"), "x"), "true\n");
  EXPECT_THAT(diagnostics(), IsEmpty());
}

TEST_F(YamlReaderTest, RefusesPlainScalarsThatAreRetyped) {
  const YamlNode node = parsed("[a, 1.20, yes, 0x10, [b], {c: d}]");
  EXPECT_THAT(reader_.texts(node, "name"), ElementsAre("a"));
  constexpr std::string_view kWhy = " as text; write ";
  EXPECT_THAT(diagnostics(),
              ElementsAre("f:1:5: name: YAML does not read 1.20" + std::string(kWhy) + "\"1.20\"",
                          "f:1:11: name: YAML does not read yes" + std::string(kWhy) + "\"yes\"",
                          "f:1:16: name: YAML does not read 0x10" + std::string(kWhy) + "\"0x10\"",
                          "f:1:22: name must be text, not a list",
                          "f:1:27: name must be text, not a mapping"));
}

// The parser marks a value that is missing at the end of a line with the position of the next
// token.
TEST_F(YamlReaderTest, PointsAtTheLineWhereAValueIsMissing) {
  const struct {
    std::string text;
    std::string position;
  } kTable[] = {
      {"v:\nw: x\n", "f:1:1: "},    {"a: b\nv:\n", "f:2:1: "},
      {"a: b\nv:", "f:2:1: "},      {"v:   # why\n\n  # more\nw: x\n", "f:1:1: "},
      {"v: null\n", "f:1:4: "},     {"v: ~\n", "f:1:4: "},
      {"v:\n  Null\n", "f:2:3: "},  {"{a: b, v: }\n", "f:1:11: "},
      {"{v: , a: b}\n", "f:1:5: "}, {"v:\r\nw: x\r\n", "f:1:1: "},
  };
  for (const auto& row : kTable) {
    const YamlNode node = parsed(row.text);
    EXPECT_FALSE(reader_.text(node.member("v"), "v"));
    ASSERT_EQ(errors_.size(), 1U) << row.text;
    EXPECT_THAT(diagnostics().front(), HasSubstr(row.position)) << row.text;
    EXPECT_THAT(diagnostics().front(), HasSubstr("write \"\", or put the word in quotes"));
    errors_.clear();
  }
}

TEST_F(YamlReaderTest, PointsAtAnItemThatIsMissing) {
  const std::string text = "a:\n  - x\n  -\n  - w\nb:\n  - z\n  -\nc: [d, ~, e]\nf:\n-";
  const YamlNode node = parsed(text);
  for (const std::string_view key : {"a", "b", "c", "f"}) {
    (void)reader_.texts(node.member(key), "x");
  }
  std::vector<std::pair<int, int>> positions;
  for (const LoadError& error : errors_) {
    positions.emplace_back(error.position.line, error.position.column);
  }
  EXPECT_THAT(positions, ElementsAre(testing::Pair(3, 3), testing::Pair(7, 3), testing::Pair(8, 8),
                                     testing::Pair(10, 1)));
}

TEST_F(YamlReaderTest, ReadsWholeNumbers) {
  for (const std::string text : {"0", "7", "-3", "10"}) {
    EXPECT_EQ(reader_.integer(parsed(text), "n", -3, 10), std::stoll(text));
  }
  EXPECT_THAT(diagnostics(), IsEmpty());
  for (const std::string text : {"11", "-4", "'7'", "7.0", "0x7", "07", "+7", "1e1", "x", "[7]",
                                 "~", "99999999999999999999"}) {
    EXPECT_FALSE(reader_.integer(parsed(text), "n", -3, 10)) << text;
    ASSERT_EQ(errors_.size(), 1U) << text;
    EXPECT_THAT(errors_.front().text,
                HasSubstr("n must be a whole number from -3 to 10 without quotes, not "));
    errors_.clear();
  }
}

TEST_F(YamlReaderTest, ReadsTrueAndFalse) {
  EXPECT_EQ(reader_.boolean(parsed("true"), "b"), true);
  EXPECT_EQ(reader_.boolean(parsed("false"), "b"), false);
  EXPECT_THAT(diagnostics(), IsEmpty());
  for (const std::string text : {"yes", "True", "'true'", "1", "~", "[true]"}) {
    EXPECT_FALSE(reader_.boolean(parsed(text), "b")) << text;
    ASSERT_EQ(errors_.size(), 1U) << text;
    EXPECT_THAT(errors_.front().text, HasSubstr("b must be true or false, not "));
    errors_.clear();
  }
}

TEST_F(YamlReaderTest, ReadsDurationsUpToTheLongest) {
  EXPECT_EQ(reader_.duration(parsed("60m"), "wait"), kMaxDuration);
  EXPECT_FALSE(reader_.duration(parsed("3600001ms"), "wait"));
  EXPECT_FALSE(reader_.duration(parsed("150"), "wait"));
  EXPECT_FALSE(reader_.duration(parsed("[1s]"), "wait"));
  EXPECT_THAT(diagnostics(),
              ElementsAre("f:1:1: wait must be at most 1h, not \"3600001ms\"",
                          "f:1:1: wait must be a duration such as 150ms, 2s or 1m, not \"150\"",
                          "f:1:1: wait must be a duration such as 150ms, 2s or 1m, not a list"));
}

TEST_F(YamlReaderTest, ChecksTheKeysOfAMapping) {
  constexpr std::array kAllowed = {"key"sv, "value"sv};
  EXPECT_TRUE(reader_.check_map(parsed("{key: a, 'value': b}"), "thing", kAllowed, {"key"}));
  EXPECT_TRUE(reader_.check_map(parsed("{}"), "thing", kAllowed));
  EXPECT_THAT(diagnostics(), IsEmpty());
  EXPECT_FALSE(reader_.check_map(
      parsed("vlaue: a\nkey: b\nkey: c\npublish: d\n[e]: f\n? {g: h}\n: i\n"), "thing", kAllowed));
  EXPECT_FALSE(reader_.check_map(parsed("\n{value: a}"), "thing", kAllowed, {"key"}));
  EXPECT_FALSE(reader_.check_map(parsed("[key]"), "thing", kAllowed));
  EXPECT_THAT(diagnostics(),
              ElementsAre("f:1:1: thing has no key \"vlaue\"; did you mean \"value\"?",
                          "f:3:1: the key \"key\" is twice in thing; remove one",
                          "f:4:1: thing has no key \"publish\"; allowed: key, value",
                          "f:5:1: thing has no key a list; allowed: key, value",
                          "f:6:3: thing has no key a mapping; allowed: key, value",
                          "f:2:1: thing needs the key \"key\"",
                          "f:1:1: thing must be a mapping, not a list"));
}

TEST_F(YamlReaderTest, ChecksNamesOfTheWritersChoice) {
  EXPECT_TRUE(reader_.check_names(parsed("{a: 1, 'b': 2, \"yes\": 3}"), "names"));
  EXPECT_THAT(diagnostics(), IsEmpty());
  EXPECT_FALSE(reader_.check_names(parsed("a: 1\nno: 2\na: 3\n"), "names"));
  EXPECT_FALSE(reader_.check_names(parsed("[a]"), "names"));
  EXPECT_THAT(diagnostics(),
              ElementsAre("f:2:1: a name in names: YAML does not read no as text; write \"no\"",
                          "f:3:1: the key \"a\" is twice in names; remove one",
                          "f:1:1: names must be a mapping, not a list"));
}

TEST_F(YamlReaderTest, ALongLineIsNotShownAsAWhole) {
  const std::string_view allowed[] = {"key"};
  EXPECT_FALSE(reader_.check_map(parsed(std::string(1'000'000, 'x')), "thing", allowed));
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_LT(diagnostics()[0].size(), 300U);
}

TEST_F(YamlReaderTest, RefusesWhatMeansMoreThanItShows) {
  const struct {
    std::string text;
    std::string diagnostic;
  } kTable[] = {
      {"a: [b", "this is not YAML: end of sequence flow not found"},
      {"\"\\Un", "f:2:1: this is not YAML: bad character found while scanning hex number"},
      {"a: b: c", "f:1:5: this is not YAML: illegal map value"},
      {"a:\n\tb: c", "f:2:3: this is not YAML: "},
      {"a: *b", "f:1:4: this is not YAML: the referenced anchor is not defined"},
      {"a: &x b", "f:1:4: anchors (&name) are not allowed; write the value out"},
      {"a: !int b", "f:1:4: tags such as !int are not allowed; quote the value"},
      {"a: !!str 1", "f:1:4: tags such as tag:yaml.org,2002:str are not allowed"},
      {"a: b\n---\nc: d\n", "f:2:1: a second document starts here; a file is one document"},
      {"a: b\n...\nc: d\n", "f:3:1: a second document starts here"},
      // The parser stays where it is, and makes documents of nothing.
      {",", "f:1:1: this is not YAML: no value begins like this"},
      {"\n, x", "f:2:1: this is not YAML: no value begins like this"},
      {"!, ![,]", "f:1:2: a second document starts here"},
      {std::string(51, '[') + std::string(51, ']'),
       "f:1:51: lists and mappings are nested more than 50 deep here"},
      {std::string(100'000, '[') + std::string(100'000, ']'),
       "f:1:51: lists and mappings are nested more than 50 deep here"},
      {std::string(100'000, '{'), "f:1:50: lists and mappings are nested more than 50 deep here"},
  };
  for (const auto& row : kTable) {
    EXPECT_FALSE(reader_.parse(row.text)) << row.text.substr(0, 100);
    ASSERT_FALSE(errors_.empty());
    EXPECT_THAT(diagnostics().front(), HasSubstr(row.diagnostic)) << row.text.substr(0, 100);
    errors_.clear();
  }
}

// Each of these took more than a gigabyte, or minutes.
TEST_F(YamlReaderTest, RefusesWhatIsTooMuch) {
  const auto repeated = [](std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const struct {
    std::string text;
    std::string diagnostic;
  } kTable[] = {
      {repeated("\n", 4'000'001), "f:1:1: the file has more than 4,000,000 lines"},
      {"a: b\nc: " + repeated("[", 100'001),
       "f:2:1: this line has more than 100,000 opening brackets and braces"},
      {"[" + repeated("1,", 500'001), "f:1:1: this line has more than 500,000 commas"},
      {repeated("[\n", 100'000), "lists and mappings are nested more than 50 deep here"},
  };
  for (const auto& row : kTable) {
    EXPECT_FALSE(reader_.parse(row.text)) << row.diagnostic;
    ASSERT_EQ(errors_.size(), 1U) << row.diagnostic;
    EXPECT_THAT(diagnostics().front(), HasSubstr(row.diagnostic));
    errors_.clear();
  }
  EXPECT_FALSE(reader_.parse(repeated("- &a x\n", 1'000)));
  EXPECT_EQ(errors_.size(), 100U);
}

// Following an alias into the node that contains it would never end.
TEST_F(YamlReaderTest, RefusesAliasesOfTheirOwnAncestors) {
  EXPECT_FALSE(reader_.parse("a: &x {join: [*x]}\n"));
  EXPECT_THAT(diagnostics(),
              ElementsAre("f:1:4: anchors (&name) are not allowed; write the value out",
                          "f:1:15: aliases are not allowed; write the value out"));
}

TEST_F(YamlReaderTest, HasAPositionForAnEmptyFile) {
  EXPECT_FALSE(reader_.check_map(parsed(""), "the file", std::array{"a"sv}));
  EXPECT_THAT(diagnostics(), ElementsAre("f:1:1: the file must be a mapping, not nothing"));
}

TEST_F(YamlReaderTest, RefusesOtherEncodings) {
  for (const std::string_view text : {"\xff\xfe\n"sv, "\xfe\xff\n"sv, "\0a"sv, "a\0:"sv,
                                      "a: b\n\0"sv, "a: \xe9t\xe9"sv, "# \xc3\xa9\n# \xc3\n"sv}) {
    EXPECT_FALSE(reader_.parse(std::string(text)));
  }
  EXPECT_THAT(diagnostics(),
              ElementsAre("f:1:1: this is not text in UTF-8; save the file as UTF-8",
                          "f:1:1: this is not text in UTF-8; save the file as UTF-8",
                          "f:1:1: this is not text in UTF-8; save the file as UTF-8",
                          "f:1:2: this is not text in UTF-8; save the file as UTF-8",
                          "f:2:1: this is not text in UTF-8; save the file as UTF-8",
                          "f:1:4: this is not text in UTF-8; save the file as UTF-8",
                          "f:2:3: this is not text in UTF-8; save the file as UTF-8"));
}

TEST_F(YamlReaderTest, TakesByteOrderMarkAndCarriageReturns) {
  const YamlNode node = parsed(
      "\xef\xbb\xbf"
      "a: b\r\nc: d\r\n");
  EXPECT_EQ(reader_.text(node.member("a"), "a"), "b");
  EXPECT_EQ(reader_.text(node.member("c"), "c"), "d");
}

}  // namespace
}  // namespace fencepost::scenario
