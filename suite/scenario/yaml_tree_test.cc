#include "suite/scenario/yaml_tree.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/scenario/library.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {
namespace {

using testing::IsEmpty;

// The same documents at the same places.
void expect_same(YamlNode a, YamlNode b) {
  ASSERT_EQ(a.is_null(), b.is_null());
  ASSERT_EQ(a.is_list(), b.is_list());
  ASSERT_EQ(a.is_map(), b.is_map());
  ASSERT_EQ(a.scalar(), b.scalar());
  ASSERT_EQ(a.is_quoted(), b.is_quoted());
  ASSERT_EQ(a.is_flow(), b.is_flow());
  ASSERT_EQ(a.place().line, b.place().line);
  ASSERT_EQ(a.place().column, b.place().column);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.items().size(); ++i) expect_same(a.items()[i], b.items()[i]);
  auto other = b.entries().begin();
  for (const auto& [key, value] : a.entries()) {
    expect_same(key, (*other).key);
    expect_same(value, (*other).value);
    ++other;
  }
}

class YamlTreeTest : public testing::Test {
 protected:
  YamlNode parsed(const std::string& text) {
    const auto root = reader_.parse(text);
    EXPECT_TRUE(root) << text;
    return root.value_or(YamlNode());
  }

  std::vector<LoadError> errors_;
  YamlReader reader_{"f", errors_};
  YamlTree tree_;
};

TEST_F(YamlTreeTest, UndefinedHasNothing) {
  const YamlNode node;
  EXPECT_FALSE(node.is_defined());
  EXPECT_FALSE(node.is_null());
  EXPECT_EQ(node.size(), 0U);
  EXPECT_TRUE(node.items().empty());
  EXPECT_EQ(node.entries().begin(), node.entries().end());
  EXPECT_FALSE(node.member("a").is_defined());
  EXPECT_EQ(node.scalar(), "");
  EXPECT_EQ(node.place().line, 1);
  EXPECT_EQ(node.place().column, 1);
}

TEST_F(YamlTreeTest, IsWhatTheTextSays) {
  const YamlNode root = parsed("a: {b: [x, 'y']}\nc: ~\na: twice\n");
  EXPECT_TRUE(root.is_map());
  EXPECT_FALSE(root.is_flow());
  EXPECT_EQ(root.size(), 3U);
  const YamlNode list = root.member("a").member("b");
  EXPECT_TRUE(root.member("a").is_flow());
  ASSERT_EQ(list.items().size(), 2U);
  EXPECT_FALSE(list.items()[0].is_quoted());
  EXPECT_TRUE(list.items()[1].is_quoted());
  EXPECT_EQ(list.items()[1].scalar(), "y");
  EXPECT_EQ(list.items()[1].place().column, 12);
  EXPECT_TRUE(root.member("c").is_null());
  EXPECT_EQ(root.member("c").place().line, 2);
}

TEST_F(YamlTreeTest, NodesStayWhenOthersAreAdded) {
  const YamlNode first = tree_.add_text("first", {2, 3});
  for (int i = 0; i < 10'000; ++i) (void)tree_.add_text(std::to_string(i), {1, 1});
  EXPECT_EQ(first.scalar(), "first");
  EXPECT_EQ(first.place().column, 3);
}

TEST_F(YamlTreeTest, EncodesAnything) {
  const std::string long_text(100'000, 'x');
  for (const std::string& text :
       {std::string("a"), std::string("''"), std::string("~"), std::string(), std::string("{}"),
        std::string("[]"), std::string("- a\n-\n- {b: [c, \"\\0\\xff\"]}\n"),
        "k: " + long_text + "\n", std::string(200, '\n') + std::string(300, ' ') + "far: away\n"}) {
    const YamlNode root = parsed(text);
    const auto decoded = tree_.decode(encode(root));
    ASSERT_TRUE(decoded) << text;
    expect_same(root, *decoded);
  }
  EXPECT_THAT(errors_, IsEmpty());
}

TEST_F(YamlTreeTest, DecodesNothingElse) {
  const std::string whole = encode(parsed("- a\n- {b: [c, 1]}\n"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(tree_.decode(std::string_view(whole).substr(0, size))) << size;
  }
  EXPECT_FALSE(tree_.decode(whole + "x"));
  const std::string head = {'\x02', '\x01', '\x01'};  // a list in line 1, column 1
  EXPECT_FALSE(tree_.decode(head + "\xff\xff\xff\xff\xff"));
  EXPECT_FALSE(tree_.decode(head + "\x7f"));
  std::string deep;
  for (int i = 0; i < 1'000; ++i) deep += head + "\x01";
  EXPECT_FALSE(tree_.decode(deep));
}

// What the program loads when it starts is what it would parse.
TEST_F(YamlTreeTest, BuiltInFilesAreEncodedAsTheyAreWritten) {
  ASSERT_FALSE(built_in_files().empty());
  for (const SourceFile& file : built_in_files()) {
    ASSERT_FALSE(file.encoded.empty()) << file.name;
    EXPECT_EQ(file.encoded, encode(parsed(file.content))) << file.name;
    YamlReader reader(file.name, errors_);
    const auto loaded = reader.parse(file);
    ASSERT_TRUE(loaded) << file.name;
    expect_same(*loaded, parsed(file.content));
  }
  EXPECT_THAT(errors_, IsEmpty());
}

TEST_F(YamlTreeTest, BuiltInCasesAreThoseOfTheBuiltInFiles) {
  std::vector<std::string_view> ids;
  const Library library = load_library(built_in_files(), errors_);
  for (const Case& each : library.cases) ids.push_back(each.id);
  EXPECT_FALSE(ids.empty());
  EXPECT_EQ(ids, built_in_cases());
}

}  // namespace
}  // namespace fencepost::scenario
