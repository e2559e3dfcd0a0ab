#include "base/text/yaml_quote.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace fencepost::text {
namespace {

struct Row {
  std::string_view text;
  std::string_view scalar;
};

// That YAML readers take them for the text is a property of writer_prop.cc.
TEST(YamlQuote, IsPlainWhereNothingElseIsMeant) {
  const Row kTable[] = {
      {"k", "k"},
      {"What was recorded happens again", "What was recorded happens again"},
      {"mqtt://broker:1883/a=b", "mqtt://broker:1883/a=b"},
      {"k/?", "\"k/?\""},
      {"now + 5s", "now + 5s"},
      {"", "\"\""},
      {"1.20", "\"1.20\""},
      {"yes", "\"yes\""},
      {"a: b", "\"a: b\""},
      {"a #b", "\"a #b\""},
      {"- a", "\"- a\""},
      {"a,b", "\"a,b\""},
      {"$name", "\"$name\""},
      {"it's", "\"it's\""},
      {"v1 node \"B\"", "'v1 node \"B\"'"},
      {"it's \\ \"both\"", "'it''s \\ \"both\"'"},
      {"a\r\n\t", "\"a\\r\\n\\t\""},
      {"\"\n", "\"\\\"\\n\""},
      {"é", "\"é\""},
      {"\u0085\u2028\ufeff", "\"\\x85\\u2028\\ufeff\""},
      {"\xff", "\"\\xff\""},
  };
  for (const Row& row : kTable) EXPECT_EQ(yaml_scalar(row.text), row.scalar);
}

TEST(YamlQuote, QuotesOnOneLine) {
  EXPECT_EQ(yaml_quoted("it's"), "'it''s'");
  EXPECT_EQ(yaml_quoted("a\nb"), "\"a\\nb\"");
  EXPECT_EQ(yaml_quoted(std::string_view("\0", 1)), "\"\\x00\"");
}

TEST(Utf8, IsCheckedStrictly) {
  EXPECT_TRUE(is_utf8("it's\r\n \"é\" 😀"));
  for (const std::string_view text :
       {"\xff", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "a\xc3"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace fencepost::text
