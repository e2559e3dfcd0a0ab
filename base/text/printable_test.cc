#include "base/text/printable.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/command_line.h"

namespace fencepost::text {
namespace {

TEST(Printable, KeepsWhatXmlCanHoldAndNamesOtherBytes) {
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x01\x1f\x7f\r"), "\\x01\\x1f\\x7f\\x0d");
  EXPECT_EQ(printable("\t\n <&\"'"), "\t\n <&\"'");
  EXPECT_EQ(printable(""), "");
}

// What a terminal would take for a command, or for another order of the line.
TEST(Printable, NamesControlCharactersAndTurnedLines) {
  EXPECT_EQ(printable("\x1b]0;x\x07"), "\\x1b]0;x\\x07");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb");
  EXPECT_EQ(printable("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");
}

TEST(Printable, KeepsRightUtf8Only) {
  for (const char* good : {"\xc2\xa0", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(printable(good), good);
  }
  // Lone, overlong, surrogate, beyond Unicode, cut, and the two that XML leaves out.
  EXPECT_EQ(printable("\x80"), "\\x80");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xc1\xbf"), "\\xc1\\xbf");
  EXPECT_EQ(printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xe2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(printable("\xef\xbf\xbe\xef\xbf\xbf"), "\\xef\\xbf\\xbe\\xef\\xbf\\xbf");
}

TEST(Printable, MakesOneLine) { EXPECT_EQ(one_line("a\nb\tc\r"), "a b c\\x0d"); }

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc…");
  EXPECT_EQ(shortened("ab\xc3\xa9xyz", 6), "ab…");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9", 5), "\xc3\xa9…");
  EXPECT_EQ(shortened("abcdef", 3), "…");
}

TEST(WordsOf, TakesWordsAsShellWordWritesThem) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of("fencepost"), Words{"fencepost"});
  EXPECT_EQ(words_of("/a/b/fencepost-2 --seed 7"), (Words{"/a/b/fencepost-2", "--seed", "7"}));
  EXPECT_EQ(words_of("'/my tools/fencepost' 'a'\\''b' ''"),
            (Words{"/my tools/fencepost", "a'b", ""}));
  for (const char* bad : {"", "fencepost certify | sh", "fencepost  certify", "fencepost ",
                          " fencepost", "fencepost 'plain'", "fencepost 'a b", "fencepost 'a b'c",
                          "fencepost $(x)", "fencepost a\nb", "fencepost a;b", "fencepost `x`",
                          "fencepost '' ''x", "fencepost ''x", "A=b fencepost"}) {
    EXPECT_FALSE(words_of(bad)) << bad;
  }
}

TEST(ShellWord, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_word("set.nx-1"), "set.nx-1");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("set.*"), "'set.*'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("/a b/c"), "'/a b/c'");
  EXPECT_EQ(shell_word("A=b"), "'A=b'");
  EXPECT_EQ(shell_word("\xc3\xa9\n"), "'\xc3\xa9\n'");
}

TEST(WithoutSecrets, HasStarsInTheirPlace) {
  EXPECT_EQ(without_secrets("a pw, b pw", {"pw"}), "a ***, b ***");
  EXPECT_EQ(without_secrets("password", {"pass", "password", ""}), "***");
  EXPECT_EQ(without_secrets("****", {"*"}), "************");
  EXPECT_EQ(without_secrets("text", {}), "text");
}

TEST(CommandLine, LeavesOutWhatWasNotGiven) {
  CommandLine line("/my tools/fencepost", "stress");
  line.option("--endpoint", "inproc:?fault=L13").option("--driver", "").flag("--strict", false);
  line.option("--timeout-scale", 2.5, 1).option("--rate", 0, 0).flag("--shuffle", true).word("a b");
  EXPECT_EQ(line.text(),
            "'/my tools/fencepost' stress --endpoint 'inproc:?fault=L13' "
            "--timeout-scale 2.5 --shuffle 'a b'");
}

}  // namespace
}  // namespace fencepost::text
