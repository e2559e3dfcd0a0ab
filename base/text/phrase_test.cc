#include "base/text/phrase.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::text {
namespace {

using testing::HasSubstr;
using testing::Lt;
using testing::SizeIs;

const RunNames kRun{"fencepost", "3ec1d66b"};
const RunNames kOther{"fencepost", "0badcafe"};
constexpr std::size_t kMany = 1'000;

std::string key_of(const RunNames& run, const std::string& tag = "7c54f5e2") {
  return run.key_prefix + "/" + run.run_id + "/" + tag + "/k";
}

std::string base16(const std::string& bytes, bool upper) {
  std::string out;
  for (const char c : bytes) {
    constexpr const char* kUpper = "0123456789ABCDEF";
    constexpr const char* kLower = "0123456789abcdef";
    const char* digits = upper ? kUpper : kLower;
    out += digits[static_cast<unsigned char>(c) >> 4U];
    out += digits[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

TEST(Phrase, SaysWhatPeopleRead) {
  EXPECT_EQ(Phrase("nothing within ").milliseconds(2'000).text(), "nothing within 2000 ms");
  EXPECT_EQ(Phrase("client ").name("a").words(" got ").quoted("x\r\n", 10).text(),
            "client a got \"x\\r\\n\"");
  EXPECT_EQ(Phrase().bytes("abcdef", 3).text(), "abc... (6 bytes)");
  EXPECT_EQ(Phrase("with ").correlation_data(std::string("\0a", 2), 10).text(), "with \"\\x00a\"");
  EXPECT_TRUE(Phrase().empty());
  EXPECT_TRUE(Phrase("").empty());
}

TEST(Phrase, IsSteadyWhereAnotherRunHasOtherNamesAndTimes) {
  const auto bytes = [](const std::string& text) { return Phrase().bytes(text, kMany); };
  const std::string client = "fp-3ec1d66b-7c54f5e2-a";
  const std::string other_client = "fp-0badcafe-7c54f5e2-a";
  struct Pair {
    const char* what;
    Phrase one;
    Phrase other;
    const char* steady;
  };
  const std::vector<Pair> pairs = {
      {"key", bytes(key_of(kRun)), bytes(key_of(kOther)), "fencepost/*/*/k"},
      {"key of another case", bytes(key_of(kRun, "00000000")), bytes(key_of(kOther)),
       "fencepost/*/*/k"},
      {"key with other bytes in it", bytes("fencepost_3ec1d66b_k"), bytes("fencepost_0badcafe_k"),
       "fencepost_*_k"},
      {"client id", bytes(client), bytes(other_client), "fp-*-*-a"},
      {"topic", bytes(base16(key_of(kRun), true)), bytes(base16(key_of(kOther), true)),
       "fencepost/*/*/ in Base16, then 6B"},
      {"lower-case topic", bytes(base16(client, false)), bytes(base16(other_client, false)),
       "fp-*-*- in Base16, then 61"},
      {"names in words of others", Phrase("refused: " + client), Phrase("refused: " + other_client),
       "refused: fp-*-*-a"},
      {"correlation data", Phrase("with ").correlation_data("a\"b", 10),
       Phrase("with ").correlation_data("zz", 1), "with *"},
      {"version", Phrase("__ts = ").version("001767225600000:00001:S"),
       Phrase("__ts = ").version("1899999999999:20:S"), "__ts = *:*:S"},
      {"malformed version", Phrase().version("1767225600000;1;S"),
       Phrase().version("1767225600777;22;S"), "*;*;S"},
      {"version in hexadecimal", Phrase().version("19b77f5cc00:0:S"),
       Phrase().version("19b77f5ccab:f0:S"), "*:*:S"},
      {"duration", Phrase("nothing within ").milliseconds(3'000),
       Phrase("nothing within ").milliseconds(15), "nothing within * ms"},
      {"duration in words", Phrase("no CONNACK within 3000 ms."),
       Phrase("no CONNACK within 5.5 ms."), "no CONNACK within * ms."},
      {"wall clock in a value", bytes("at 1767225600000:1:S"), bytes("at 1767225600001:12:S"),
       "at *:S"},
  };
  for (const Pair& pair : pairs) {
    EXPECT_EQ(pair.one.steady(kRun), pair.steady) << pair.what;
    EXPECT_EQ(pair.other.steady(kOther), pair.steady) << pair.what;
  }
}

TEST(Phrase, KeepsWhatTellsOneFaultFromAnother) {
  const auto steady = [](const std::string& text) {
    return Phrase().bytes(text, kMany).steady(kRun);
  };
  EXPECT_NE(steady(key_of(kRun)), steady(key_of(kRun) + "2"));
  EXPECT_EQ(steady("fencepost/another/7c54f5e2/k"), "fencepost/another/7c54f5e2/k");
  EXPECT_EQ(steady("fencepost/3ec1d66b/short/k"), "fencepost/*/short/k");
  EXPECT_EQ(steady(":1\r\n"), ":1\\r\\n");
  EXPECT_EQ(steady("12 msg, a12 ms"), "12 msg, a12 ms");
  EXPECT_EQ(steady("123456789"), "123456789");
  EXPECT_EQ(Phrase().version("ab:cd:S").steady(kRun), "ab:cd:S");
}

TEST(Phrase, IsSteadyWithTheKeysOfAnotherPrefix) {
  const RunNames run{"acme/ci", "17"};
  EXPECT_EQ(Phrase().bytes("acme/ci/17/7c54f5e2/k", kMany).steady(run), "acme/ci/*/*/k");
  EXPECT_EQ(Phrase("no names").steady({}), "no names");
}

TEST(Phrase, LeavesOutWhatMayBeHalfOfANameBeforeACut) {
  const std::string begin(100, 'a');
  const auto cut = [&](const RunNames& run) {
    return Phrase().bytes(begin + key_of(run) + std::string(kMany, 'x'), 114).steady(run);
  };
  EXPECT_EQ(cut(kRun), std::string(50, 'a') + "... (1129 bytes)");
  EXPECT_EQ(cut(kRun), cut(kOther));
}

TEST(Phrase, EndsALongOneInAHashOfTheWhole) {
  const std::string common(155, 'a');
  EXPECT_EQ(Phrase(common + "bcdef").steady({}), common + "bcdef");
  const std::string one = Phrase(common + "bcdefg").steady({});
  EXPECT_THAT(one, SizeIs(140 + 4 + 8));
  EXPECT_THAT(one, HasSubstr("...#"));
  EXPECT_NE(one, Phrase(common + "bcdefh").steady({}));
}

TEST(Phrase, IsPrintableAsciiOnOneLine) {
  EXPECT_EQ(Phrase("a\nb\xc3\xa9\x7f").steady({}), R"(a\x0ab\xc3\xa9\x7f)");
  EXPECT_EQ(Phrase("a\nb\x7f").general(), "a?b?");
}

TEST(Phrase, IsGeneralWhereAnotherCaseHasOtherNamesAndNumbers) {
  EXPECT_EQ(Phrase("client ").name("writer").words(" waits").general(), "client * waits");
  EXPECT_EQ(Phrase("key ").quoted("k1", 10).words(" of 12").general(), "key \"*\" of #");
  EXPECT_EQ(Phrase("QoS 2").general(), "QoS #");
  EXPECT_EQ(Phrase("$3 and more").means("a value").general(), "a value");
  EXPECT_THAT(Phrase(std::string(1'000'000, '"')).general(), SizeIs(Lt(130U)));
}

TEST(Phrase, HasEachAlternativeOnce) {
  const Phrase one = Phrase("+OK").means("done");
  const Phrase two = Phrase(":1").means("done");
  const Phrase all = Phrase::any_of({one, two, one, "other"});
  EXPECT_EQ(all.text(), "+OK  or  :1  or  other");
  EXPECT_EQ(all.general(), "done or other");
}

TEST(Phrase, SurvivesAPeerThatSendsMuch) {
  EXPECT_THAT(Phrase(std::string(1'000'000, '1')).steady(kRun), SizeIs(Lt(200U)));
  EXPECT_THAT(Phrase().version(std::string(1'000'000, '7')).steady(kRun), SizeIs(Lt(200U)));
}

}  // namespace
}  // namespace fencepost::text
