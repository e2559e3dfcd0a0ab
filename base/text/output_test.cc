#include "base/text/output.h"

#include <string>

#include <gtest/gtest.h>

#include "base/text/colour.h"

namespace fencepost::text {
namespace {

// What a call writes to a stream that is no terminal.
template <typename Function>
std::string written(const Function& function) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  function(stream);
  std::fclose(stream);
  std::string out(text, size);
  std::free(text);  // NOLINT: what open_memstream wants
  return out;
}

TEST(ForOutput, LetsNoControlCharacterThroughButLineEndsAndTabs) {
  EXPECT_EQ(for_output("a\tb\n", false), "a\tb\n");
  for (int c = 0; c < 0x20; ++c) {
    if (c == '\n' || c == '\t') continue;
    const std::string out = for_output(std::string(1, static_cast<char>(c)) + "]0;x\a", true);
    EXPECT_EQ(out.find_first_not_of("\\x0123456789abcdef];"), std::string::npos) << out;
  }
  EXPECT_EQ(for_output("\xc2\x9b"
                       "2J",
                       true),
            "\\xc2\\x9b"
            "2J");
  EXPECT_EQ(for_output("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae", true),
            "\\xe2\\x80\\xa8\\xe2\\x80\\xa9\\xe2\\x80\\xae");
}

TEST(ForOutput, KeepsOurStylesWhereThereAreAny) {
  const std::string red = Paint(true)(Colour::kRed, "failed");
  EXPECT_EQ(for_output(red + kEraseLine, true), red + kEraseLine);
  EXPECT_EQ(for_output(red, false), "\\x1b[31mfailed\\x1b[0m");
  EXPECT_EQ(for_output("\033[35m\033[2J\r\n", true), "\\x1b[35m\\x1b[2J\\x0d\n");
}

// https://docs.github.com/actions: `::name` begins a line; Azure's `##[` and `##vso[` need not.
TEST(ForOutput, EscapesCommandsOfCiWhereverTheyStand) {
  EXPECT_EQ(for_output("::error title=x::y\n  ::warning::z", false),
            ":\\x3aerror title=x:\\x3ay\n  :\\x3awarning:\\x3az");
  EXPECT_EQ(for_output("a ##[error]b ##vso[task.setvariable variable=c]d", false),
            "a #\\x23[error]b #\\x23vso[task.setvariable variable=c]d");
  EXPECT_EQ(for_output("###[x] ####vso[y]", false), "##\\x23[x] ###\\x23vso[y]");
  EXPECT_EQ(for_output("mqtt://[::1]:1883 fe80::a std", false), "mqtt://[::1]:1883 fe80::a std");
  EXPECT_EQ(for_output("## a #[b] a: :b", false), "## a #[b] a: :b");
}

TEST(DocumentForOutput, MeansTheSame) {
  EXPECT_EQ(document_for_output(R"({"a": "::error::##[x]"})"),
            R"({"a": ":\u003aerror::#\u0023[x]"})");
  EXPECT_EQ(document_for_output("[\"##vso[\"]"), "[\"#\\u0023vso[\"]");
  EXPECT_EQ(document_for_output("[\"\x7f\u009b\u202e\u2028\u00e9\U0001f600\"]"),
            "[\"\\u007f\\u009b\\u202e\\u2028\u00e9\U0001f600\"]");
  EXPECT_EQ(document_for_output("<a b=\"##[x]\">::error</a>"),
            "<a b=\"#&#35;[x]\">:&#58;error</a>");
  EXPECT_EQ(document_for_output("plain ##[x]"), "plain ##[x]");
  // Its policy names the checksum of its style.
  EXPECT_EQ(document_for_output("<!DOCTYPE html>\n<style>a::before</style>"),
            "<!DOCTYPE html>\n<style>a::before</style>");
  EXPECT_EQ(document_for_output(""), "");
}

TEST(Print, TakesStringsForOneLine) {
  EXPECT_EQ(written([](std::FILE* stream) {
              print(stream, "{}: {:>4} {}\n", std::string("a\nfencepost: conformant"), 7,
                    "\033[31m");
            }),
            "a fencepost: conformant:    7 \\x1b[31m\n");
  EXPECT_EQ(written([](std::FILE* stream) { print(stream, "{}", Lines("a\nb\n")); }), "a\nb\n");
}

}  // namespace
}  // namespace fencepost::text
