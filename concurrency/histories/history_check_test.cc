#include "concurrency/histories/history_check.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "suite/testing/built_in_library.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::histories {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kSteps = 5'000'000;
constexpr const char* kStarted = "2026-01-01T00:00:00Z";

const scenario::Catalogue& rules() { return test::built_in_requirements().catalogue; }

std::string version(int counter) { return "001696374425000:0000" + std::to_string(counter) + ":S"; }

json call(int number, std::int64_t at, const std::string& request, const json& more = {}) {
  json out{{"type", "call"}, {"id", number},       {"at", at},
           {"client", 0},    {"request", request}, {"key", "k"}};
  if (!more.is_null()) out.update(more);
  return out;
}
json reply(int number, std::int64_t at, const std::string& said, const json& more = {}) {
  json out{{"type", "return"}, {"id", number}, {"at", at}, {"reply", said}};
  if (!more.is_null()) out.update(more);
  return out;
}

const std::vector<json> kRight = {
    call(8, 100, "KEYNOTIFY", {{"client", 1}}),
    reply(8, 200, "ok"),
    call(1, 1000, "SET", {{"value", "a"}}),
    reply(1, 2000, "ok", {{"version", version(1)}}),
    {{"type", "notification"},
     {"at", 2100},
     {"client", 1},
     {"key", "k"},
     {"operation", "SET"},
     {"value", "a"},
     {"version", version(1)}},
    call(2, 3000, "GET", {{"client", 1}}),
    reply(2, 4000, "value", {{"read", "a"}, {"version", version(1)}}),
};
const std::vector<json> kWrong = {
    call(1, 1000, "SET", {{"value", "a"}, {"condition", "NX"}}),
    call(2, 1200, "SET", {{"client", 1}, {"value", "b"}, {"condition", "NX"}}),
    reply(1, 3'001'000, "ok", {{"version", version(1)}}),
    reply(2, 3'100'000, "ok", {{"version", version(2)}}),
};

class HistoryCheck : public testing::Test {
 protected:
  std::string write(const std::vector<json>& lines, const std::string& name = "history.jsonl",
                    const std::string& end = "") {
    std::string text = R"({"type":"history","format":1})"
                       "\n";
    for (const json& line : lines) text += line.dump() + "\n";
    return folder_.write(name, text + end).string();
  }
  CheckedHistory checked(const std::vector<json>& lines, std::size_t steps = kSteps) {
    auto out = check_history(write(lines), steps);
    EXPECT_TRUE(out) << out.error();
    return out ? std::move(*out) : CheckedHistory{};
  }
  // What the screen has of it.
  std::string text(const std::vector<json>& lines, std::size_t steps = kSteps) {
    return checked_text(checked(lines, steps), rules());
  }

  test::TemporaryFolder folder_;
};

TEST_F(HistoryCheck, CountsWhatIsInTheFile) {
  const CheckedHistory one = checked(kRight);
  EXPECT_EQ(one.operations, 3U);
  EXPECT_EQ(one.clients.size(), 2U);
  EXPECT_EQ(one.notifications, 1U);
  EXPECT_FALSE(one.cut);
  EXPECT_THAT(text(kRight), AllOf(HasSubstr("history.jsonl: 3 operations of 2 clients on 1 key, "),
                                  EndsWith("  1 key ok, 0 violations, 0 unknown: linearizable\n"),
                                  Not(HasSubstr("\n\n"))));
  EXPECT_EQ(exit_code({one}), run::ExitCode::kConformant);
}

TEST_F(HistoryCheck, TellsAViolationOnOneScreen) {
  const std::string out = text(kWrong);
  EXPECT_THAT(out, HasSubstr("\n  VIOLATION  SET-NX-2  key \"k\"\n    rule  SET with NX does not "
                             "set a key that exists."));
  EXPECT_THAT(out, testing::ContainsRegex("client 0 +0\\.000 ms \\.\\. 3\\.000 ms +SET \"a\" NX  "
                                          "->  ok  version 1696374425000:1:"));
  EXPECT_THAT(out, HasSubstr("\n          no order of these requests explains the answers"));
  EXPECT_THAT(out, EndsWith("\n\n  0 keys ok, 1 violation, 0 unknown: not linearizable\n"));
  EXPECT_LT(std::count(out.begin(), out.end(), '\n'), 13);
}

// A store that forgets the clock of a key with the key is right by the documents.
TEST_F(HistoryCheck, NamesTheProfileOfARuleThatTheDocumentsDoNotHave) {
  const std::vector<json> same = {
      call(1, 1000, "SET", {{"value", "a"}}),
      reply(1, 2000, "ok", {{"version", version(2)}}),
      call(2, 3000, "SET", {{"value", "b"}}),
      reply(2, 4000, "ok", {{"version", version(1)}}),
  };
  EXPECT_THAT(text(same),
              AllOf(HasSubstr("VIOLATION  VER-UPDATE-3"),
                    HasSubstr("--profile\n          documented judges by the documents")));
  EXPECT_THAT(text(kWrong), Not(HasSubstr("--profile")));
}

TEST_F(HistoryCheck, HasTheOperationsOfAViolationInItsJson) {
  const json document = json::parse(to_json({checked(kWrong)}, run::ExitCode::kFailed));
  EXPECT_EQ(document["exit_code"], 1);
  const json& key = document["histories"][0]["keys"][0];
  EXPECT_EQ(key["witness"][0]["number"], 0);
  EXPECT_EQ(key["witness"][1]["number"], 1);
  EXPECT_EQ(key["witness"][1]["value"], "b");
  EXPECT_EQ(key["requirement"], "SET-NX-2");
}

TEST_F(HistoryCheck, PointsAtTheInitialValueThatALogDoesNotHave) {
  const std::string log =
      folder_.write("history.txt", "0 :invoke :read nil\n0 :ok :read 5\n").string();
  const auto without = check_history(log, kSteps, std::nullopt);
  ASSERT_TRUE(without);
  EXPECT_THAT(checked_text(*without, rules()), HasSubstr("--initial VALUE"));
  const auto other = check_history(log, kSteps, "6");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->count(history::Answer::kViolation), 1U);
  EXPECT_THAT(checked_text(*other, rules()), Not(HasSubstr("--initial VALUE")));
  // A store of this protocol has no keys at first.
  EXPECT_THAT(text({call(1, 0, "GET"), reply(1, 1, "value", {{"read", "5"}})}),
              Not(HasSubstr("--initial")));
}

TEST_F(HistoryCheck, SaysThatASmallerCounterExampleMayExist) {
  CheckedHistory one = checked(kWrong);
  EXPECT_THAT(checked_text(one, rules()), HasSubstr("\n    minimal counter-example:\n"));
  EXPECT_FALSE(to_json(one.keys.front()).contains("not_minimal"));
  one.keys.front().verdict.minimal = false;
  EXPECT_THAT(checked_text(one, rules()),
              AllOf(HasSubstr("\n    counter-example (the search for a smaller one reached its "
                              "limits):\n"),
                    Not(HasSubstr("minimal"))));
  EXPECT_EQ(to_json(one.keys.front())["not_minimal"], true);
}

TEST_F(HistoryCheck, GivesUpAfterSoManySteps) {
  std::vector<json> lines;
  for (int i = 0; i < 7; ++i) {
    lines.push_back(call(i, 0, "SET", {{"client", i}, {"value", std::to_string(i)}}));
  }
  for (int i = 0; i < 7; ++i) lines.push_back(reply(i, 10, "ok"));
  lines.push_back(call(20, 20, "GET"));
  lines.push_back(reply(20, 21, "value", {{"read", "nobody's"}}));
  const CheckedHistory one = checked(lines, 50);
  EXPECT_EQ(exit_code({one}), run::ExitCode::kInconclusive);
  EXPECT_THAT(checked_text(one, rules()),
              HasSubstr("\n  UNKNOWN    key \"k\"\n    the search ended undecided after 50 steps"));
  EXPECT_EQ(exit_code({checked(lines)}), run::ExitCode::kFailed);
}

TEST_F(HistoryCheck, LeavesOutALastLineThatIsNotComplete) {
  const auto one = check_history(write(kRight, "cut.jsonl", R"({"type": "ret)"), kSteps);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->cut);
  EXPECT_THAT(checked_text(*one, rules()),
              HasSubstr("  the last line is incomplete and was left out\n"));
}

TEST_F(HistoryCheck, SaysWhatCannotBeRead) {
  const std::string nowhere = (folder_.path() / "none").string();
  const auto missing = check_history(nowhere, kSteps);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error(), HasSubstr("cannot read " + nowhere));
  const auto wrong = check_history(write({reply(1, 2, "ok")}), kSteps);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error(), HasSubstr("history.jsonl: line 2: /id: 1 was not called"));
}

TEST_F(HistoryCheck, TellsWhatTheClockAndTheOrderSay) {
  const std::vector<json> clock = {call(1, 0, "SET", {{"value", "a"}}),
                                   reply(1, 1, "ok", {{"version", version(2)}}),
                                   call(2, 2, "SET", {{"value", "b"}}),
                                   reply(2, 3, "ok", {{"version", version(1)}}),
                                   call(3, 4, "SET", {{"value", "c"}, {"key", "other"}}),
                                   reply(3, 5, "ok", {{"version", version(1)}})};
  EXPECT_THAT(
      text(clock),
      AllOf(HasSubstr("without the versions, one does"),
            HasSubstr("  not one clock for all keys: 1 of 1 SET got no greater version than "
                      "one of another key\n")));
  const auto notified = [](int at, const std::string& value, int number) {
    return json{{"type", "notification"},
                {"at", at},
                {"client", 1},
                {"key", "k"},
                {"operation", "SET"},
                {"value", value},
                {"version", version(number)}};
  };
  const std::vector<json> changes = {
      call(1, 0, "KEYNOTIFY", {{"client", 1}}), reply(1, 1, "ok"),
      call(2, 2, "SET", {{"value", "a"}}),      reply(2, 3, "ok", {{"version", version(1)}}),
      call(3, 4, "SET", {{"value", "b"}}),      reply(3, 5, "ok", {{"version", version(2)}})};
  std::vector<json> in_order = changes;
  in_order.insert(in_order.end(), {notified(6, "a", 1), notified(7, "b", 2)});
  EXPECT_THAT(
      text(in_order),
      HasSubstr("  notified in order: 1 notification, none after one with a greater version\n"));
  std::vector<json> against = changes;
  against.insert(against.end(), {notified(6, "b", 2), notified(7, "a", 1)});
  EXPECT_THAT(text(against),
              HasSubstr("  not notified in order: 1 of 1 notification came after one "
                        "with a greater version\n"));
}

TEST_F(HistoryCheck, SaysThatARequestWasCarriedOutTwice) {
  const std::vector<json> lines = {call(1, 0, "SET", {{"value", "a"}}),
                                   {{"type", "resent"}, {"id", 1}, {"at", 1}},
                                   reply(1, 2, "ok", {{"version", version(1)}}),
                                   call(2, 3, "SET", {{"value", "b"}}),
                                   reply(2, 4, "ok", {{"version", version(2)}}),
                                   call(3, 5, "GET"),
                                   reply(3, 6, "value", {{"read", "a"}, {"version", version(3)}})};
  EXPECT_THAT(text(lines), HasSubstr("  1 request sent again (DUP) and carried out twice\n"));
  const json document = json::parse(to_json({checked(lines)}, run::ExitCode::kConformant));
  EXPECT_EQ(document["histories"][0]["keys"][0]["repeated"], json::array({0}));
}

TEST_F(HistoryCheck, NoReplyIsNoGreen) {
  const std::vector<json> silent = {call(1, 1, "SET", {{"value", "a"}}),
                                    call(2, 2, "GET"),
                                    {{"type", "return"}, {"id", 2}, {"reply", "unknown"}}};
  const CheckedHistory one = checked(silent);
  EXPECT_EQ(one.without_reply, 2U);
  EXPECT_EQ(exit_code({one}), run::ExitCode::kInconclusive);
  EXPECT_EQ(exit_code({checked(kRight), one}), run::ExitCode::kInconclusive);
  EXPECT_THAT(text(silent),
              AllOf(HasSubstr("  without a response: 2 of 2 operations\n"),
                    EndsWith("  0 keys ok, 0 violations, 0 unknown: not decided\n"),
                    HasSubstr("  unknown: no operation has a response that tells what the store "
                              "did\n")));
  const json document = json::parse(to_json({one}, run::ExitCode::kInconclusive))["histories"][0];
  EXPECT_EQ(document["without_reply"], 2);
  EXPECT_EQ(document["whole"][0]["answer"], "unknown");
  EXPECT_THAT(junit({one}, rules(), ""), HasSubstr("errors=\"1\""));
  const CheckedHistory refused =
      checked({call(1, 1, "SET", {{"value", "a"}}), reply(1, 2, "refused")});
  EXPECT_EQ(refused.refused, 1U);
  EXPECT_EQ(exit_code({refused}), run::ExitCode::kInconclusive);
  // One that says something is enough to be judged by; the others are counted.
  std::vector<json> some = kRight;
  some.insert(some.end(), {call(9, 90, "SET", {{"value", "z"}, {"key", "other"}})});
  EXPECT_EQ(exit_code({checked(some)}), run::ExitCode::kConformant);
  EXPECT_THAT(text(some), HasSubstr("  without a response: 1 of 4 operations\n"));
}

TEST_F(HistoryCheck, CountsTheWorstOfSeveralFiles) {
  const CheckedHistory right = checked(kRight);
  const CheckedHistory wrong = checked(kWrong);
  CheckedHistory unknown = right;
  unknown.keys[0].verdict.answer = history::Answer::kUnknown;
  EXPECT_EQ(exit_code({right, unknown, wrong}), run::ExitCode::kFailed);
  EXPECT_EQ(exit_code({unknown, right}), run::ExitCode::kInconclusive);
  EXPECT_EQ(exit_code({right, checked({})}), run::ExitCode::kConformant);
  EXPECT_EQ(exit_code({checked({})}), run::ExitCode::kNothingSelected);
  EXPECT_EQ(exit_code(std::vector<CheckedHistory>()), run::ExitCode::kNothingSelected);
}

TEST_F(HistoryCheck, NamesAFewKeysAndCountsTheOthers) {
  CheckedHistory one = checked(kWrong);
  one.keys.resize(12, one.keys[0]);
  const std::string out = checked_text(one, rules());
  EXPECT_THAT(
      out,
      HasSubstr(
          "\n\n  and 2 more keys\n\n  0 keys ok, 12 violations, 0 unknown: not linearizable\n"));
  EXPECT_EQ(findings_text(one, rules(), 12), findings_text(one, rules(), 100));
  one.keys[0].verdict.operations.assign(9, 0);
  one.keys[0].verdict.others = {1};
  EXPECT_THAT(finding_text(one, one.keys[0], rules()),
              HasSubstr("      and 1 more; --json lists all\n      (1 other operation at the same "
                        "time, which does not explain it either)\n"));
}

TEST_F(HistoryCheck, WritesTheReportsThatHaveAName) {
  const std::vector<CheckedHistory> all = {checked(kWrong)};
  const auto path = [&](const char* name) { return (folder_.path() / name).string(); };
  const run::ExitCode code = exit_code(all);
  EXPECT_TRUE(write_checked(all, {}, code, rules(), kStarted));
  ASSERT_TRUE(write_checked(
      all, {{"json", path("v.json")}, {"junit", path("v.xml")}, {"html", path("v.html")}}, code,
      rules(), kStarted));
  EXPECT_EQ(folder_.read("v.json"), to_json(all, code));
  EXPECT_EQ(folder_.read("v.xml"), junit(all, rules(), kStarted));
  EXPECT_THAT(folder_.read("v.html"),
              AllOf(HasSubstr("Check again"), HasSubstr("fencepost check " + all[0].file)));
  for (const report::ReportFiles& files :
       {report::ReportFiles{{"json", path("no/x")}}, report::ReportFiles{{"junit", path("no/x")}},
        report::ReportFiles{{"html", path("no/x")}}}) {
    const auto written = write_checked(all, files, code, rules(), kStarted);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error(), HasSubstr(path("no/x")));
  }
}

TEST_F(HistoryCheck, TellsTimesOfALogOfRegistersAsLines) {
  const std::string log =
      "INFO  jepsen.util - 0\t:invoke\t:write\t1\nINFO  jepsen.util - 0\t:ok\t:write\t1\n"
      "INFO  jepsen.util - 1\t:invoke\t:read\tnil\nINFO  jepsen.util - 1\t:ok\t:read\t2\n";
  const auto one = check_history(folder_.write("log", log).string(), kSteps);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->counts_lines);
  EXPECT_THAT(checked_text(*one, rules()), HasSubstr("line 3 .. line 4"));
  EXPECT_EQ(json::parse(to_json({*one}, run::ExitCode::kFailed))["histories"][0]["time_unit"],
            "lines");
}

}  // namespace
}  // namespace fencepost::histories
