#include "base/bytes.h"

#include <gtest/gtest.h>

namespace fencepost {
namespace {

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

TEST(Escape, KeepsPrintableTextAndNamesTheRest) {
  EXPECT_EQ(escape("+OK\r\n"), "+OK\\r\\n");
  EXPECT_EQ(escape(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape("\"\\\t\x7f\xff"), "\\\"\\\\\\t\\x7f\\xff");
}

TEST(Escape, SaysHowMuchItCut) { EXPECT_EQ(escape("abcdef", 2), "ab... (6 bytes)"); }

TEST(Unescape, ReversesEscapeForEveryByte) {
  EXPECT_EQ(unescape(escape(all_bytes())), all_bytes());
}

TEST(Unescape, RefusesWhatIsNoEscape) {
  for (const char* text : {"\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x0g"}) {
    EXPECT_EQ(unescape(text), std::nullopt) << text;
  }
}

TEST(StableHash, IsThePublishedFunction) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace fencepost
