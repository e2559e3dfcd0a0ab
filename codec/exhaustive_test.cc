// Small scope, completely: every short input over the alphabet that the grammar is made of, against
// the second decoder.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/gate.h"
#include "codec/resp3.h"
#include "codec/testing/naive_decoder.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kAlphabet = "$*+-:01\r\n";
constexpr std::size_t kMaxLength = 6;

// Steps to the next string of the same length, like an odometer. False after the last one.
bool advance(std::string& text) {
  for (char& c : text) {
    const std::size_t next = kAlphabet.find(c) + 1;
    if (next < kAlphabet.size()) {
      c = kAlphabet[next];
      return true;
    }
    c = kAlphabet.front();
  }
  return false;
}

struct Tally {
  std::size_t inputs = 0;
  std::size_t accepted = 0;
  std::size_t disagreements = 0;
  std::string first{};  // the shortest disagreement, for the message
};

template <typename Agree, typename Accepts>
Tally try_all(const Agree& agree, const Accepts& accepts, std::size_t max_length = kMaxLength) {
  Tally tally;
  for (std::size_t length = 0; length <= max_length; ++length) {
    std::string text(length, kAlphabet.front());
    do {
      ++tally.inputs;
      if (accepts(text)) ++tally.accepted;
      if (agree(text)) continue;
      if (tally.disagreements++ == 0) tally.first = text;
    } while (advance(text));
  }
  return tally;
}

constexpr std::size_t kInputs = 1 + 9 + 81 + 729 + 6561 + 59049 + 531441;

// The shortest command, `*1 $0`, has ten bytes: up to six there is none.
TEST(Resp3Exhaustive, CommandsAgreeOnEveryShortInput) {
  const Tally tally =
      try_all([](const std::string& text) { return naive::agree_on_command(text); },
              [](const std::string& text) { return decode_command(text).has_value(); });
  EXPECT_EQ(tally.inputs, kInputs);
  EXPECT_EQ(tally.accepted, 0U);
  EXPECT_EQ(tally.disagreements, 0U) << "first: " << escape(tally.first);
}

// Counted by hand. Lines: `+` or `-` before at most three of the seven bytes that are not CR or LF,
// so 2 * (1 + 7 + 49 + 343). Integers: 2 of one digit, 2 of two, 4 of three, and -1 -10 -11. Then
// `$-1`, `$0`, `*0`.
TEST(Resp3Exhaustive, ValuesAgreeOnEveryShortInput) {
  const Tally tally =
      try_all([](const std::string& text) { return naive::agree_on_value(text); },
              [](const std::string& text) { return decode_value(text).has_value(); });
  EXPECT_EQ(tally.inputs, kInputs);
  EXPECT_EQ(tally.accepted, 800U + 11U + 3U);
  EXPECT_EQ(tally.disagreements, 0U) << "first: " << escape(tally.first);
}

// Behind a fixed beginning the same alphabet reaches what six bytes alone cannot: whole commands
// and nested arrays.
TEST(Resp3Exhaustive, AgreesBehindEveryBeginning) {
  const std::vector<std::string> all = {"*1\r\n$1\r\n", "*1\r\n", "*2\r\n$0\r\n\r\n",
                                        "*1\r\n*1\r\n"};
  const std::size_t max_length = all_or_in_gate(kMaxLength, kMaxLength - 1);
  for (const std::string& beginning : all) {
    const auto agree = [&](const std::string& text) {
      return naive::agree_on_command(beginning + text) && naive::agree_on_value(beginning + text);
    };
    const auto accepts = [&](const std::string& text) {
      return decode_value(beginning + text).has_value();
    };
    const Tally tally = try_all(agree, accepts, max_length);
    EXPECT_GT(tally.accepted, 0U) << escape(beginning);
    EXPECT_EQ(tally.disagreements, 0U) << "first: " << escape(beginning + tally.first);
  }
}

}  // namespace
}  // namespace fencepost::codec
