#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "concurrency/histories/checked_history.h"

namespace fencepost::histories {
namespace {

using history::Answer;

history::KeyVerdict verdict(const std::string& key, Answer answer) {
  return {.key = key, .verdict = {.answer = answer, .text = std::string("a\x01 \xFF", 4)}};
}

pugi::xml_document read(const std::vector<CheckedHistory>& all) {
  pugi::xml_document document;
  const std::string text = junit(all, {}, "2026-01-01T00:00:00Z");
  EXPECT_TRUE(document.load_buffer(text.data(), text.size()));
  return document;
}

TEST(HistoryJunit, EachKeyIsATest) {
  CheckedHistory checked{.file = "run.jsonl", .seconds = 0.5};
  checked.keys = {verdict("good", Answer::kOk), verdict("bad", Answer::kViolation),
                  verdict("open", Answer::kUnknown)};
  checked.keys[1].verdict.requirement = "SET-NX-2";
  checked.keys[1].verdict.operations = {7};
  checked.keys[1].verdict.shown = {{.client = 3, .key = "bad", .value = "v"}};
  const pugi::xml_document document = read({checked, checked});
  const pugi::xml_node root = document.child("testsuites");
  const pugi::xml_node suite = root.child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 3);
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_EQ(suite.attribute("errors").as_int(), 1);
  EXPECT_STREQ(suite.attribute("time").value(), "0.500");
  EXPECT_STREQ(suite.attribute("timestamp").value(), "2026-01-01T00:00:00");
  EXPECT_STREQ(suite.attribute("name").value(), "run.jsonl");
  const pugi::xml_node good = suite.child("testcase");
  EXPECT_STREQ(good.attribute("name").value(), "key \"good\"");
  EXPECT_FALSE(good.first_child());
  const pugi::xml_node failure = good.next_sibling().child("failure");
  EXPECT_STREQ(failure.attribute("type").value(), "MUST");
  EXPECT_STREQ(failure.attribute("message").value(), "SET-NX-2: a\\x01 \\xff");
  EXPECT_NE(std::string(failure.text().get()).find("client 3"), std::string::npos);
  EXPECT_TRUE(suite.select_node("testcase[last()]/error"));
}

TEST(HistoryJunit, ManyKeysThatAreOkAreOneTest) {
  CheckedHistory checked;
  for (int i = 0; i < 1001; ++i) checked.keys.push_back(verdict(std::to_string(i), Answer::kOk));
  checked.keys.push_back(verdict("open", Answer::kUnknown));
  const pugi::xml_document document = read({checked});
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 2);
  EXPECT_STREQ(suite.child("testcase").attribute("name").value(), "1001 keys that are ok");
  EXPECT_TRUE(suite.select_node("testcase[last()]/error"));
}

TEST(HistoryJunit, NamesAreUnique) {
  CheckedHistory checked;
  checked.keys = {verdict(std::string(300, 'a'), Answer::kOk),
                  verdict(std::string(300, 'a') + "b", Answer::kOk),
                  verdict(std::string(300, 'a') + "c", Answer::kOk)};
  const pugi::xml_document document = read({checked});
  std::set<std::string> names;
  for (const auto test : document.child("testsuites").child("testsuite").children("testcase")) {
    names.insert(test.attribute("name").value());
  }
  EXPECT_EQ(names.size(), 3U);
}

}  // namespace
}  // namespace fencepost::histories
