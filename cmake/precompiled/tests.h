// The same as common.h, of what tests use: assertions and matchers of texts, numbers and lists.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/precompiled/common.h"

namespace fencepost::precompiled {

inline void use_assertions(const std::string& text, std::string_view view, std::size_t number) {
  EXPECT_EQ(text, text);
  EXPECT_EQ(text, "");
  EXPECT_EQ(view, text);
  EXPECT_EQ(view, view);
  EXPECT_EQ(number, number);
  EXPECT_EQ(number, 1U);
  EXPECT_EQ(static_cast<int>(number), 1);
  EXPECT_NE(number, 1U);
  EXPECT_NE(text, text);
  EXPECT_GT(number, number);
  EXPECT_GT(number, 1U);
  EXPECT_GE(number, number);
  EXPECT_LE(number, number);
  EXPECT_LT(number, number);
  EXPECT_TRUE(text.empty()) << text << view << number << "text" << 1 << '\n';
  EXPECT_EQ(nlohmann::json(), nlohmann::json());
  const std::vector<std::string> texts{text};
  EXPECT_EQ(texts, texts);
  EXPECT_EQ(std::set<std::string>(), std::set<std::string>());
}

template <typename List>
void use_matchers_of(const List& list) {
  using testing::ElementsAre;
  EXPECT_THAT(list, testing::IsEmpty());
  EXPECT_THAT(list, testing::SizeIs(1));
  EXPECT_THAT(list, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(list, testing::Contains("a"));
  EXPECT_THAT(list, testing::Contains(testing::HasSubstr("a")));
  EXPECT_THAT(list, ElementsAre("a"));
  EXPECT_THAT(list, ElementsAre("a", "b"));
  EXPECT_THAT(list, ElementsAre("a", "b", "c"));
  EXPECT_THAT(list, ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(list, ElementsAre(testing::HasSubstr("a")));
  EXPECT_THAT(list, ElementsAre(testing::HasSubstr("a"), testing::HasSubstr("b")));
  EXPECT_THAT(list, testing::UnorderedElementsAre("a", "b"));
}

inline void use_matchers(const std::string& text, std::string_view view) {
  using testing::HasSubstr;
  EXPECT_THAT(text, HasSubstr("a"));
  EXPECT_THAT(text, HasSubstr(text));
  EXPECT_THAT(text, testing::StartsWith("a"));
  EXPECT_THAT(text, testing::EndsWith("a"));
  EXPECT_THAT(text, testing::IsEmpty());
  EXPECT_THAT(text, testing::Not(HasSubstr("a")));
  EXPECT_THAT(text, testing::AllOf(HasSubstr("a"), HasSubstr("b")));
  EXPECT_THAT(text, testing::AllOf(HasSubstr("a"), HasSubstr("b"), HasSubstr("c")));
  EXPECT_THAT(view, HasSubstr("a"));
  use_matchers_of(std::vector<std::string>());
  use_matchers_of(std::set<std::string>());
}

}  // namespace fencepost::precompiled
