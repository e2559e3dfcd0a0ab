#include "clients/client_run/adapter_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::client_run {
namespace {

using ::testing::HasSubstr;

TEST(AdapterProtocol, CommandsAreLinesOfJson) {
  const CommandContext context{
      .id = 7, .port = 1883, .client_id = "me", .timeout = Milliseconds(9)};
  EXPECT_EQ(command_line({.kind = CommandKind::kConnect}, context),
            "{\"id\":7,\"command\":\"connect\",\"host\":\"127.0.0.1\",\"port\":1883,"
            "\"client_id\":\"me\",\"timeout_ms\":9}\n");
  EXPECT_EQ(command_line({.kind = CommandKind::kGet, .key = std::string("k\0\xff", 3)}, context),
            "{\"id\":7,\"command\":\"get\",\"key\":\"6b00ff\",\"timeout_ms\":9}\n");
  CommandContext with_token = context;
  with_token.token = "1:2:n";
  EXPECT_EQ(command_line({.kind = CommandKind::kSet,
                          .key = "k",
                          .value = "",
                          .condition = codec::Condition::kIfAbsentOrEqual,
                          .expires_after = Milliseconds(5)},
                         with_token),
            "{\"id\":7,\"command\":\"set\",\"key\":\"6b\",\"value\":\"\",\"condition\":\"nex\","
            "\"px_ms\":5,\"token\":\"1:2:n\",\"timeout_ms\":9}\n");
}

TEST(AdapterProtocol, ResultsAreRead) {
  const auto set =
      read_report(R"({"id":1,"ok":{"applied":true,"version":"1:0:n"}})", CommandKind::kSet);
  ASSERT_TRUE(set);
  EXPECT_EQ(set->kind, ResultKind::kApplied);
  EXPECT_EQ(set->version, "1:0:n");
  const auto value =
      read_report(R"({"id":1,"ok":{"value":"00FF","version":null}})", CommandKind::kGet);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->value, std::string("\0\xff", 2));
  EXPECT_EQ(value->version, std::nullopt);
  const auto missing = read_report(R"({"id":1,"ok":{"value":null}})", CommandKind::kGet);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->kind, ResultKind::kMissing);
  const auto other = read_report(R"({"id":1,"ok":{"deleted":-1}})", CommandKind::kVdel);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->count, -1);
  const auto note =
      read_report(R"({"id":1,"ok":{"key":"6b","operation":"set","value":"","version":"1:0:n"}})",
                  CommandKind::kNotification);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->kind, ResultKind::kChanged);
  EXPECT_EQ(note->key, "k");
  const auto failed =
      read_report(R"({"id":1,"error":{"kind":"service","text":"no"}})", CommandKind::kSet);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, ResultKind::kError);
  EXPECT_EQ(failed->error_text, "no");
}

struct BadLine {
  const char* line;
  CommandKind command;
  const char* diagnostic;
};

class BadReport : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadReport, IsRefused) {
  const auto report = read_report(GetParam().line, GetParam().command);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error(), HasSubstr(GetParam().diagnostic));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadReport,
    ::testing::Values(BadLine{"", CommandKind::kGet, "not a JSON object on one line"},
                      BadLine{"[1]", CommandKind::kGet, "not a JSON object on one line"},
                      BadLine{R"({"id":1})", CommandKind::kGet, "must have either ok or error"},
                      BadLine{R"({"id":1,"ok":{},"error":{}})", CommandKind::kGet,
                              "must have either ok or error"},
                      BadLine{R"({"id":1,"ok":true})", CommandKind::kGet, "must be objects"},
                      BadLine{R"({"id":1,"ok":{}})", CommandKind::kGet, "\"value\""},
                      BadLine{R"({"id":1,"ok":{"value":"0"}})", CommandKind::kGet, "hexadecimal"},
                      BadLine{R"({"id":1,"ok":{"value":"zz"}})", CommandKind::kGet, "hexadecimal"},
                      BadLine{R"({"id":1,"ok":{"applied":1}})", CommandKind::kSet, "/ok/applied"},
                      BadLine{R"({"id":1,"ok":{"deleted":"1"}})", CommandKind::kDel, "/ok/deleted"},
                      BadLine{R"({"id":1,"ok":{"token":"1:0:s"}})", CommandKind::kLock, "\"held\""},
                      BadLine{R"({"id":1,"ok":{}})", CommandKind::kHolder, "\"holder\""},
                      BadLine{R"({"id":1,"ok":{"key":"","operation":"x","value":""}})",
                              CommandKind::kNotification, "set or delete"},
                      BadLine{R"({"id":1,"error":{"kind":"k"}})", CommandKind::kSet, "\"text\""}));

TEST(AdapterProtocol, LocksAreReportedWithTheirHolderAndLease) {
  const Command lock{.kind = CommandKind::kLock,
                     .key = "l",
                     .value = "me",
                     .expires_after = Milliseconds(3'000),
                     .renewed_each = Milliseconds(500)};
  EXPECT_EQ(command_line(lock, {.id = 7, .timeout = Milliseconds(1'000)}),
            R"({"id":7,"command":"lock","key":"6c","holder":"6d65","lease_ms":3000,"wait":false,)"
            R"("renew_ms":500,"timeout_ms":1000})"
            "\n");
  const auto held = read_report(R"({"id":7,"ok":{"held":true,"token":"1:0:s"}})", lock.kind);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->kind, ResultKind::kHeld);
  EXPECT_EQ(held->version, "1:0:s");
  EXPECT_EQ(read_report(R"({"id":7,"ok":{"held":false}})", lock.kind)->kind, ResultKind::kNotHeld);
  const auto owner = read_report(R"({"id":8,"ok":{"holder":"6d65"}})", CommandKind::kHolder);
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->value, "me");
  EXPECT_EQ(read_report(R"({"id":8,"ok":{"holder":null}})", CommandKind::kHolder)->kind,
            ResultKind::kMissing);
}

TEST(AdapterProtocol, GreetingsAreChecked) {
  const auto good =
      read_greeting(R"({"fencepost_adapter":1,"name":"n","capabilities":["set","get"]})");
  ASSERT_TRUE(good);
  EXPECT_TRUE(good->capabilities.contains("get"));
  EXPECT_THAT(read_greeting("hello").error(), HasSubstr("not a JSON object"));
  EXPECT_THAT(read_greeting(R"({"fencepost_adapter":2,"name":"n","capabilities":[]})").error(),
              HasSubstr("version 2"));
  EXPECT_THAT(read_greeting(R"({"fencepost_adapter":1,"name":"n","capabilities":[1]})").error(),
              HasSubstr("a list of texts"));
}

TEST(AdapterProtocol, TheTextOfAnErrorCountsWhereTheSdkHasIt) {
  const Report report{.kind = ResultKind::kError, .error_text = "it failed"};
  const Expected expected{.kind = ResultKind::kError, .error = codec::ErrorCode::kSyntax};
  EXPECT_FALSE(is_expected(report, expected, codec::DialectId::kDeployed, true));
  EXPECT_TRUE(is_expected(report, expected, codec::DialectId::kDeployed, false));
  EXPECT_TRUE(is_expected({.kind = ResultKind::kError, .error_text = "store: syntax error"},
                          expected, codec::DialectId::kDeployed, true));
  EXPECT_FALSE(
      is_expected({.kind = ResultKind::kApplied}, expected, codec::DialectId::kDeployed, false));
}

}  // namespace
}  // namespace fencepost::client_run
