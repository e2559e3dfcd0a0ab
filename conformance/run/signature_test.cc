#include "conformance/run/signature.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/scenario/yaml_reader.h"
#include "conformance/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using codec::Verb;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

CaseResult failed(const std::string& message, const std::string& expected = "",
                  const std::string& actual = "") {
  CaseResult result{.verdict = Verdict::kFailed};
  result.requirement = "R-MUST-1";
  result.message = message;
  result.expected = expected;
  result.actual = actual;
  return result;
}

std::string actual(const std::string& text) { return signature(failed("m", "", text)); }

TEST(Signature, SaysTheRequirementTheMismatchAndBothSides) {
  EXPECT_EQ(signature(failed("the reply is not the expected one", ":-1\\r\\n", "+OK\\r\\n")),
            R"(R-MUST-1: the reply is not the expected one | want :-1\r\n | got +OK\r\n)");
  EXPECT_EQ(signature(failed("no response")), "R-MUST-1: no response");
}

TEST(Signature, IsEmptyWhereTheStoreBrokeNoRule) {
  EXPECT_EQ(signature(CaseResult{.verdict = Verdict::kPassed}), "");
  CaseResult pass = failed("it passes");
  pass.unexpected_pass = true;
  EXPECT_EQ(signature(pass), "");
}

TEST(Signature, IsTheOneThatTheResultHasAlready) {
  CaseResult result = failed("the message, with words of the baseline behind it");
  result.signature = "R-MUST-1: the message";
  EXPECT_EQ(signature(result), "R-MUST-1: the message");
}

TEST(Signature, TellsEachKindOfDifference) {
  const CaseResult one = failed("m", "e", "a");
  CaseResult requirement = one;
  requirement.requirement = "R-MUST-2";
  CaseResult message = one;
  message.message = "n";
  CaseResult expected = one;
  expected.expected = "f";
  CaseResult seen = one;
  seen.actual = "b";
  for (const CaseResult& other : {requirement, message, expected, seen}) {
    EXPECT_NE(signature(other), signature(one)) << signature(other);
  }
  // Where the case stands in its file is no part of what is wrong.
  CaseResult moved = one;
  moved.step = 7;
  moved.position = {"other.yaml", 99, 1};
  EXPECT_EQ(signature(moved), signature(one));
}

struct Pair {
  const char* what;
  std::string one;
  std::string other;
};

TEST(Signature, IsTheSameInEveryRun) {
  const std::string topic = "a notification on the topic \\\"clients/statestore/v1/X/";
  const std::vector<Pair> pairs = {
      {"key", "\"fencepost/3ec1d66b/7c54f5e2/k\"", "\"fencepost/00000000/7c54f5e2/k\""},
      {"client id", "fp-3ec1d66b-7c54f5e2-a", "fp-ffffffff-7c54f5e2-a"},
      {"id of a client of several cases", "fp-3ec1d66b-0000001f-shared",
       "fp-ffffffff-00000002-shared"},
      {"key in Base16", topic + "66656E6365706F73742F33656331643636622F37633534663565322F6B",
       topic + "66656E6365706F73742F30303030303030302F37633534663565322F6B"},
      {"client id in Base16", topic + "66702D33656331643636622D37633534663565322D61",
       topic + "66702D30303030303030302D37633534663565322D61"},
      {"lower-case Base16", "66702d33656331643636622d37633534663565322d61",
       "66702d30303030303030302d37633534663565322d61"},
      {"correlation data", R"(with correlation data "\x00a\"b\\" that)",
       R"x(with correlation data "zz... (60 bytes)" that)x"},
      {"version", "__ts = 1767225600000:1:StateStore", "__ts = 1767225600999:20:StateStore"},
      {"padded version", "__ts equal to 001767225600000:00001:S",
       "__ts equal to 001899999999999:00007:S"},
      {"illegal version", "__ts = 1767225600000;1;S", "__ts = 1767225600777;2;S"},
      {"version in hexadecimal", "__ts = 19b77f5cc00:0:S", "__ts = 19b77f5ccab:0:S"},
      {"short version", "__ts greater than 1767:0:S", "__ts greater than 1899:0:S"},
      {"wall clock elsewhere", "value 1767225600000 here", "value 1767225600001 here"},
      {"time with counter", "1767225600000:1:StateStore", "1767225600001:12:StateStore"},
      {"duration", "nothing within 3000 ms", "nothing within 15000 ms"},
      {"part of a key before a cut", "aaaaaaa fencepost/3ec1d6... (500 bytes)",
       "aaaaaaa fencepost/00c1d6... (500 bytes)"},
  };
  for (const Pair& pair : pairs) {
    EXPECT_EQ(actual(pair.one), actual(pair.other)) << pair.what;
    EXPECT_NE(actual(pair.one), actual("")) << pair.what;
    EXPECT_EQ(signature(failed(pair.one)), signature(failed(pair.other))) << pair.what;
    EXPECT_EQ(signature(failed("m", pair.one)), signature(failed("m", pair.other))) << pair.what;
  }
}

TEST(Signature, KeepsWhatTellsOneFaultFromAnother) {
  const std::vector<Pair> pairs = {
      {"name of the key", "fencepost/3ec1d66b/7c54f5e2/k", "fencepost/3ec1d66b/7c54f5e2/l"},
      {"prefix or not", "\"fencepost/3ec1d66b/7c54f5e2/k\"", "\"k\""},
      {"name of the client", "fp-3ec1d66b-7c54f5e2-a", "fp-3ec1d66b-7c54f5e2-b"},
      {"key in Base16", "66656E6365706F73742F33656331643636622F37633534663565322F6B",
       "66656E6365706F73742F33656331643636622F37633534663565322F6C"},
      {"correlation data or none", "correlation data \"a\" that", "correlation data absent that"},
      {"node id", "__ts = 1767225600000:1:S", "__ts = 1767225600000:1:T"},
      {"form of the version", "__ts = 1767225600000:1:S", "__ts = 1767225600000;1;S"},
      {"reason code", "reason code 0x87", "reason code 0x82"},
      {"length", "aaa... (500 bytes)", "aaa... (501 bytes)"},
      {"small numbers", ":1\\r\\n", ":2\\r\\n"},
  };
  for (const Pair& pair : pairs) EXPECT_NE(actual(pair.one), actual(pair.other)) << pair.what;
}

TEST(Signature, EndsLongPartsInAHashOfAllOfThem) {
  const std::string common(155, 'a');
  EXPECT_EQ(actual(common + "bcdef"), "R-MUST-1: m | got " + common + "bcdef");
  const std::string one = actual(common + "bcdefg");
  EXPECT_THAT(one, HasSubstr("...#"));
  EXPECT_THAT(one, SizeIs(std::string("R-MUST-1: m | got ").size() + 140 + 4 + 8));
  EXPECT_NE(one, actual(common + "bcdefh"));
  EXPECT_EQ(one, actual(common + "bcdefg"));
}

TEST(Signature, SurvivesAPeerThatSendsMuch) {
  EXPECT_THAT(actual(std::string(1'000'000, '1')), SizeIs(testing::Lt(200U)));
  EXPECT_THAT(actual("correlation data \"" + std::string(1'000'000, 'x')),
              SizeIs(testing::Lt(250U)));
  EXPECT_THAT(actual("__ts = " + std::string(1'000'000, '7')), SizeIs(testing::Lt(250U)));
}

TEST(Signature, IsPrintableAsciiOnOneLine) {
  EXPECT_EQ(actual("a\nb\xc3\xa9\x7f"), R"(R-MUST-1: m | got a\x0ab\xc3\xa9\x7f)");
}

TEST(Signature, IsReadBackFromYamlAsItIsPrinted) {
  for (const std::string text :
       {R"(R-1: it's "so" | got $4\r\nit's\r\n # {[,: *&!|>%@`)", "'", ""}) {
    std::vector<scenario::LoadError> errors;
    scenario::YamlReader reader("f", errors);
    const auto read = reader.parse("signature: " + quoted_signature(text) + "\n");
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->member("signature").scalar(), text);
  }
}

// Runs of the same fault with other run ids, seeds and clocks.
TEST(Signature, OfARealFailureDependsNotOnTheRun) {
  const scenario::Case test_case = case_of({.steps = R"(
- keynotify: k
  expect: ok
- set: {key: k, value: "one"}
  expect: ok
)"});
  const Behaviour twice =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        if (verb_of(request) == Verb::kSet) effects.push_back(effects.back());
      });
  const Behaviour late = answering(Verb::kSet, "+OK\r\n", std::chrono::minutes{1});
  const Behaviour stale = on_reply(reference_store(), [](const Published& request, Message& reply) {
    reply.correlation_data = "\x01" + request.message.correlation_data.value_or("");
  });
  for (const Behaviour& behaviour : {twice, late, stale, echo()}) {
    RunSettings one = settings();
    RunSettings other{.run_id = "4a11ce5f", .seed = 99, .timeout_scale = 2.0};
    one.run_id = "0badcafe";
    const CaseResult first = run_on(behaviour, test_case, one);
    const CaseResult second = run_on(behaviour, test_case, other);
    EXPECT_EQ(first.verdict, Verdict::kFailed);
    EXPECT_EQ(signature(first), signature(second));
    EXPECT_THAT(signature(first), Not(HasSubstr("badcafe")));
  }
}

}  // namespace
}  // namespace fencepost::run
