#include "suite/judge/judge.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/error_code.h"
#include "codec/reply.h"

namespace fencepost::judge {
namespace {

using codec::DialectId;
using codec::Divergence;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

scenario::BytesSpec literal(std::string bytes) {
  return {scenario::LiteralBytes{std::move(bytes)}};
}

scenario::Outcome ok() { return {scenario::PlainReply{ReplyKind::kOk}}; }
scenario::Outcome not_applied() { return {scenario::PlainReply{ReplyKind::kNotApplied}}; }
scenario::Outcome missing() { return {scenario::PlainReply{ReplyKind::kMissing}}; }
scenario::Outcome value(std::string bytes) {
  return {scenario::ValueReply{literal(std::move(bytes))}};
}
scenario::Outcome count(std::int64_t number) { return {scenario::CountReply{number}}; }
scenario::Outcome error(ErrorCode code) { return {scenario::ErrorReply{code}}; }
scenario::Outcome exact(std::string bytes) {
  return {scenario::ExactBytes{literal(std::move(bytes))}};
}
scenario::Outcome any_error() { return {scenario::AnyError{}}; }

ReplyContext context(codec::Profile profile, Verb verb = Verb::kSet) {
  return {.verb = verb, .profile = profile, .key_prefix = "p/"};
}

ReceivedReply received(std::string_view payload) {
  codec::Message message;
  message.payload = payload;
  return ReceivedReply(std::move(message));
}

// "no", "yes", or "yes, " and the form that was seen.
std::string judged(const scenario::Outcome& outcome, std::string_view payload,
                   const ReplyContext& context) {
  const std::vector<scenario::Outcome> expected = {outcome};
  const auto match = match_reply(expected, received(payload), context);
  if (!match) return "no";
  EXPECT_EQ(match->outcome, &expected.front());
  if (!match->form) return "yes";
  return "yes, " + std::string(codec::name(match->form->first)) + " " +
         std::string(codec::dialect(match->form->second).name);
}

struct Row {
  scenario::Outcome outcome;
  std::string payload;
  Verb verb = Verb::kSet;
  std::string in_auto{};
  std::string in_documented{};
  std::string in_deployed{};
};

void check(const std::vector<Row>& table) {
  for (const Row& row : table) {
    SCOPED_TRACE(row.payload);
    EXPECT_EQ(judged(row.outcome, row.payload, context(codec::Profile::kAuto, row.verb)),
              row.in_auto);
    EXPECT_EQ(judged(row.outcome, row.payload, context(codec::Profile::kDocumented, row.verb)),
              row.in_documented);
    EXPECT_EQ(judged(row.outcome, row.payload, context(codec::Profile::kDeployed, row.verb)),
              row.in_deployed);
  }
}

void check_alike(const scenario::Outcome& outcome, const std::string& payload, bool matches) {
  const std::string result = matches ? "yes" : "no";
  check({{outcome, payload, Verb::kSet, result, result, result}});
}

TEST(JudgeMatch, ComparesRepliesThatBothDialectsSpellAlikeByteByByte) {
  check_alike(ok(), "+OK\r\n", true);
  check_alike(ok(), "+OK", false);
  check_alike(ok(), "+ok\r\n", false);
  check_alike(ok(), "+OK\r\n\r\n", false);
  check_alike(ok(), "", false);
  check_alike(missing(), "$-1\r\n", true);
  check_alike(missing(), "$0\r\n\r\n", false);
  check_alike(missing(), ":-1\r\n", false);
  check_alike(value("one"), "$3\r\none\r\n", true);
  check_alike(value("one"), "$3\r\none", false);
  check_alike(value("one"), "$03\r\none\r\n", false);
  check_alike(value("one"), "$3\r\ntwo\r\n", false);
  check_alike(value(""), "$0\r\n\r\n", true);
  check_alike(value(std::string("\0\xff\r\n", 4)), std::string("$4\r\n\0\xff\r\n\r\n", 10), true);
  check_alike(count(1), ":1\r\n", true);
  check_alike(count(1), ":01\r\n", false);
  check_alike(count(1), ":+1\r\n", false);
  check_alike(count(0), ":1\r\n", false);
  check_alike(exact("anything"), "anything", true);
  check_alike(exact("anything"), "anything ", false);
}

TEST(JudgeMatch, ReportsTheFormOfARefusedSetOrVdel) {
  check({{not_applied(), "-1\r\n", Verb::kSet, "yes, set-not-applied documented",
          "yes, set-not-applied documented", "no"},
         {not_applied(), ":-1\r\n", Verb::kSet, "yes, set-not-applied deployed", "no",
          "yes, set-not-applied deployed"},
         {not_applied(), "-1\r\n", Verb::kVdel, "yes, vdel-mismatch documented",
          "yes, vdel-mismatch documented", "no"},
         {not_applied(), ":-1\r\n", Verb::kVdel, "yes, vdel-mismatch deployed", "no",
          "yes, vdel-mismatch deployed"},
         {not_applied(), ":0\r\n", Verb::kVdel, "no", "no", "no"},
         {not_applied(), "$-1\r\n", Verb::kSet, "no", "no", "no"},
         {not_applied(), "-1", Verb::kSet, "no", "no", "no"}});
}

TEST(JudgeMatch, ReportsTheFormOfErrorsThatTheDialectsSpellDifferently) {
  const std::string that =
      "-ERR the request fencing token is a lower version that the fencing token protecting the "
      "resource\r\n";
  std::string than = that;
  than.replace(than.find("that the"), 4, "than");
  check({{error(ErrorCode::kTokenLower), that, Verb::kSet, "yes, lower-token-text documented",
          "yes, lower-token-text documented", "no"},
         {error(ErrorCode::kTokenLower), than, Verb::kSet, "yes, lower-token-text deployed", "no",
          "yes, lower-token-text deployed"},
         {error(ErrorCode::kSyntax), "-ERR: syntax error\r\n", Verb::kKeynotify,
          "yes, keynotify-error documented", "yes, keynotify-error documented", "no"},
         // NTF-ERROR-OPEN-1: a payload that is not valid has the plain form in both dialects.
         {error(ErrorCode::kSyntax), "-ERR syntax error\r\n", Verb::kKeynotify, "yes", "yes",
          "yes, keynotify-error deployed"},
         {error(ErrorCode::kSyntax), "-ERR: syntax error\r\n", Verb::kSet, "no", "no", "no"}});
}

TEST(JudgeMatch, KnowsTheTextOfEveryError) {
  for (const ErrorCode code : codec::kErrorCodes) {
    SCOPED_TRACE(codec::name(code));
    for (const DialectId id : codec::kDialects) {
      const codec::Profile profile =
          id == DialectId::kDocumented ? codec::Profile::kDocumented : codec::Profile::kDeployed;
      const std::string text(codec::text(code, codec::dialect(id)));
      EXPECT_NE(judged(error(code), "-ERR " + text + "\r\n", context(profile)), "no");
      EXPECT_EQ(judged(error(code), "-ERR " + text + ".\r\n", context(profile)), "no");
      EXPECT_EQ(judged(error(code), "-ERR  " + text + "\r\n", context(profile)), "no");
      EXPECT_EQ(judged(error(code), text, context(profile)), "no");
    }
  }
  check_alike(error(ErrorCode::kSyntax), "-ERR unknown command\r\n", false);
}

TEST(JudgeMatch, AcceptsAnErrorWithoutItsLastTwoBytesOnlyAsDocumented) {
  check({{error(ErrorCode::kSyntax), "-ERR syntax error", Verb::kSet, "yes", "yes", "no"},
         {error(ErrorCode::kSyntax), "-ERR: syntax error", Verb::kKeynotify,
          "yes, keynotify-error documented", "yes, keynotify-error documented", "no"},
         {error(ErrorCode::kSyntax), "-ERR syntax error\r", Verb::kSet, "no", "no", "no"}});
}

TEST(JudgeMatch, TakesAnyErrorForAnyError) {
  check_alike(any_error(), "-ERR syntax error\r\n", true);
  check_alike(any_error(), "-ERR something that no document lists\r\n", true);
  check_alike(any_error(), "-1\r\n", false);
  check_alike(any_error(), "+OK\r\n", false);
  check_alike(any_error(), "-WRONG x\r\n", false);
  check_alike(any_error(), "", false);
}

// An error is an error whether the case names it or not.
TEST(JudgeMatch, AcceptsAnyErrorWithoutItsLastTwoBytesOnlyAsDocumented) {
  check({{any_error(), "-ERR syntax error", Verb::kSet, "yes", "yes", "no"},
         {any_error(), "-ERR", Verb::kSet, "no", "no", "no"}});
}

TEST(JudgeMatch, NeverTakesAReplyForSilenceOrADisconnection) {
  for (const std::string payload : {"", "+OK\r\n", "no reply"}) {
    check_alike({scenario::NoReply{}}, payload, false);
    check_alike({scenario::Disconnection{}}, payload, false);
  }
}

TEST(JudgeMatch, JudgesAnOutcomeOfOneDialectByThatDialectAlone) {
  scenario::Outcome documented = exact("a");
  documented.only_in = DialectId::kDocumented;
  scenario::Outcome deployed = exact("b");
  deployed.only_in = DialectId::kDeployed;
  check({{documented, "a", Verb::kSet, "yes", "yes", "no"},
         {deployed, "b", Verb::kSet, "yes", "no", "yes"}});
  scenario::Outcome refused = not_applied();
  refused.only_in = DialectId::kDocumented;
  check({{refused, ":-1\r\n", Verb::kSet, "no", "no", "no"}});
}

TEST(JudgeMatch, ChoosesTheFirstOutcomeThatFits) {
  const std::vector<scenario::Outcome> expected = {ok(), any_error(), error(ErrorCode::kSyntax)};
  const auto first = match_reply(expected, received("+OK\r\n"), context(codec::Profile::kAuto));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->outcome, &expected[0]);
  const auto second =
      match_reply(expected, received("-ERR syntax error\r\n"), context(codec::Profile::kAuto));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->outcome, &expected[1]);
  EXPECT_FALSE(match_reply(expected, received(":1\r\n"), context(codec::Profile::kAuto)));
  EXPECT_FALSE(match_reply({}, received("+OK\r\n"), context(codec::Profile::kAuto)));
}

TEST(JudgeMatch, TakesARequestWithoutAVerbForNoKeynotify) {
  const ReplyContext unknown{.verb = {}, .profile = codec::Profile::kAuto, .key_prefix = {}};
  EXPECT_EQ(judged(error(ErrorCode::kSyntax), "-ERR syntax error\r\n", unknown), "yes");
  EXPECT_EQ(judged(not_applied(), ":-1\r\n", unknown), "yes, set-not-applied deployed");
}

TEST(JudgeMatch, PutsTheCasePrefixIntoExpectedKeys) {
  const scenario::Outcome outcome{scenario::ValueReply{{scenario::KeyBytes{"k", ""}}}};
  EXPECT_EQ(judged(outcome, "$3\r\np/k\r\n", context(codec::Profile::kAuto)), "yes");
  EXPECT_EQ(judged(outcome, "$1\r\nk\r\n", context(codec::Profile::kAuto)), "no");
}

TEST(JudgeDescribe, SaysWhatPeopleShouldHaveSeen) {
  struct Line {
    std::vector<scenario::Outcome> expected;
    codec::Profile profile;
    std::string text;
  };
  scenario::Outcome documented = exact("x");
  documented.only_in = DialectId::kDocumented;
  const std::vector<Line> table = {
      {{}, codec::Profile::kAuto, "any well-formed reply"},
      {{ok()}, codec::Profile::kAuto, R"(+OK\r\n)"},
      {{missing()}, codec::Profile::kAuto, R"($-1\r\n (no such key))"},
      {{value("\x01")}, codec::Profile::kAuto, R"($1\r\n\x01\r\n)"},
      {{count(2)}, codec::Profile::kDeployed, R"(:2\r\n)"},
      {{not_applied()}, codec::Profile::kDocumented, R"(-1\r\n (not applied))"},
      {{not_applied()}, codec::Profile::kDeployed, R"(:-1\r\n (not applied))"},
      {{not_applied()},
       codec::Profile::kAuto,
       R"(-1\r\n (not applied)  or  :-1\r\n (not applied))"},
      {{error(ErrorCode::kSyntax)}, codec::Profile::kDeployed, R"(-ERR syntax error\r\n)"},
      {{error(ErrorCode::kSyntax)},
       codec::Profile::kDocumented,
       R"(-ERR syntax error\r\n  or  -ERR syntax error)"},
      {{any_error()}, codec::Profile::kAuto, R"(-ERR <any text>\r\n)"},
      {{{scenario::NoReply{}}, {scenario::Disconnection{}}},
       codec::Profile::kAuto,
       "no reply  or  disconnection by the broker"},
      {{ok(), ok(), count(0)}, codec::Profile::kAuto, R"(+OK\r\n  or  :0\r\n)"},
      {{documented, ok()}, codec::Profile::kDeployed, R"(+OK\r\n)"},
  };
  for (const Line& line : table) {
    EXPECT_EQ(describe(line.expected, context(line.profile)).text(), line.text);
  }
}

TEST(JudgeDescribe, CutsLongExpectations) {
  const std::string text =
      describe({value(std::string(5000, 'v'))}, context(codec::Profile::kAuto)).text();
  EXPECT_LT(text.size(), 300U);
  EXPECT_THAT(text, testing::HasSubstr("bytes)"));
}

TEST(JudgeDescribe, ShowsAReplyInBytesAndWords) {
  EXPECT_EQ(describe_reply("+OK\r\n"), R"(+OK\r\n)");
  EXPECT_EQ(describe_reply(":-1\r\n"), R"(:-1\r\n (not applied))");
  EXPECT_EQ(describe_reply("-1\r\n"), R"(-1\r\n (not applied))");
  EXPECT_EQ(describe_reply("$-1\r\n"), R"($-1\r\n (no such key))");
  EXPECT_EQ(describe_reply("-ERR odd\r\n"), R"(-ERR odd\r\n)");
  EXPECT_THAT(describe_reply("\xff"), testing::StartsWith(R"(\xff ()"));
  EXPECT_THAT(describe_reply(""), testing::StartsWith(" ("));
}

TEST(JudgeResolve, MakesBytesOfEverySpec) {
  const scenario::BytesSpec key{scenario::KeyBytes{"k", ""}};
  const scenario::BytesSpec long_key{scenario::KeyBytes{"k", std::string("\0/", 2)}};
  const scenario::BytesSpec joined{
      scenario::JoinedBytes{{literal("<"), key, literal(">"), {scenario::JoinedBytes{}}}}};
  EXPECT_EQ(resolve(literal(std::string("a\0b", 3)), "p/"), std::string("a\0b", 3));
  EXPECT_EQ(resolve(literal(""), "p/"), "");
  EXPECT_EQ(resolve(key, "p/"), "p/k");
  EXPECT_EQ(resolve(long_key, "p/"), std::string("p/k\0/", 5));
  EXPECT_EQ(resolve(joined, "p/"), "<p/k>");
  EXPECT_EQ(resolve({scenario::CommandBytes{{literal("GET"), key}}}, "p/"),
            "*2\r\n$3\r\nGET\r\n$3\r\np/k\r\n");
  EXPECT_EQ(resolve({scenario::CommandBytes{{joined, literal("")}}}, "p/"),
            "*2\r\n$5\r\n<p/k>\r\n$0\r\n\r\n");
  EXPECT_EQ(resolve({scenario::CommandBytes{}}, "p/"), "*0\r\n");
  EXPECT_EQ(
      resolve({scenario::JoinedBytes{{{scenario::CommandBytes{{literal("x")}}}, literal("!")}}},
              "p/"),
      "*1\r\n$1\r\nx\r\n!");
}

TEST(JudgeProfile, HasNamesAndDialects) {
  for (const codec::Profile profile :
       {codec::Profile::kAuto, codec::Profile::kDocumented, codec::Profile::kDeployed}) {
    EXPECT_EQ(codec::profile_named(name(profile)), profile);
  }
  EXPECT_FALSE(codec::profile_named("Auto"));
  EXPECT_FALSE(codec::profile_named(""));
  using testing::ElementsAre;
  EXPECT_THAT(codec::dialects_of(codec::Profile::kDocumented), ElementsAre(DialectId::kDocumented));
  EXPECT_THAT(codec::dialects_of(codec::Profile::kDeployed), ElementsAre(DialectId::kDeployed));
  EXPECT_THAT(codec::dialects_of(codec::Profile::kAuto),
              ElementsAre(DialectId::kDocumented, DialectId::kDeployed));
}

}  // namespace
}  // namespace fencepost::judge
