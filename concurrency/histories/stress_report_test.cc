#include "concurrency/histories/stress_report.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "suite/testing/temporary_folder.h"

namespace fencepost::histories {
namespace {

using history::Answer;
using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const scenario::Catalogue kNoRules{};

history::Operation set(std::uint32_t client, const std::string& key) {
  return {.client = client,
          .action = history::Action::kSet,
          .key = key,
          .value = "v",
          .returned = history::Time(0),
          .outcome = history::Outcome::kOk};
}
history::KeyVerdict violation(const std::string& key = "k") {
  return {.key = key,
          .operations = 2,
          .verdict = {.answer = Answer::kViolation,
                      .operations = {0},
                      .shown = {set(1, "k")},
                      .requirement = "SET-NX-2",
                      .text = "twice"}};
}
history::KeyVerdict unknown() {
  return {.key = "u", .operations = 9, .verdict = {.text = "given up after 50 steps"}};
}

// A run in which all was well.
StressRun right() {
  return {.endpoint = "embedded",
          .mix = stress::find_mix("hot-key"),
          .clients = 3,
          .seed = 6,
          .again = "fencepost stress --seed 6",
          .judged = {.operations = 100, .keys_ok = 7, .decided = 100},
          .counts = {.requests = 101, .replies = 100, .notifications = 5},
          .seconds = 2,
          .judging = 0.25};
}
StressRun wrong() {
  StressRun out = right();
  out.judged.violations = {violation()};
  out.history = "stress-6.jsonl";
  return out;
}

std::string text(const StressRun& run) { return stress_text(run, kNoRules); }

// --- verdicts ------------------------------------------------------------------------------------

TEST(StressReport, ConcludesWithTheWorst) {
  using run::ExitCode;
  const struct {
    std::function<void(StressRun&)> change;
    ExitCode code;
    const char* conclusion;
  } table[] = {
      {[](StressRun&) {}, ExitCode::kConformant, "linearizable, no rule is broken"},
      {[](StressRun& run) { run.counts.refused = 100; }, ExitCode::kInconclusive,
       "every request was refused"},
      {[](StressRun& run) { run.counts.refused = 99; }, ExitCode::kConformant,
       "linearizable, no rule is broken"},
      {[](StressRun& run) { run.judged.unknown_keys = 1; }, ExitCode::kInconclusive,
       "no rule is broken, but 1 key could not be decided"},
      {[](StressRun& run) { run.interrupted = true; }, ExitCode::kInterrupted,
       "interrupted; no rule was broken until then"},
      {[](StressRun& run) { run.counts.replies = 0; }, ExitCode::kUnreachable,
       "no request was answered: is there a state store?"},
      {[](StressRun& run) { run.lost = "gone"; }, ExitCode::kUnreachable,
       "the endpoint was lost: gone"},
      {[](StressRun& run) { run.error = "the disk is full"; }, ExitCode::kInternal,
       "the disk is full"},
      {[](StressRun& run) { run.judged.violations = {violation()}; }, ExitCode::kFailed,
       "the store breaks a rule"},
  };
  for (const auto& row : table) {
    StressRun run = right();
    row.change(run);
    const std::string end = std::string(" unknown: ") + row.conclusion + "\n";
    EXPECT_EQ(exit_code(run), row.code) << row.conclusion;
    EXPECT_THAT(text(run), EndsWith(end));
    EXPECT_EQ(json::parse(to_json(run))["exit_code"], static_cast<int>(row.code));
  }
}

TEST(StressReport, ViolationsCountMoreThanWhatWentWrong) {
  StressRun run = wrong();
  run.judged.unknown_keys = 1;
  run.counts.replies = 0;
  run.interrupted = true;
  run.lost = "gone";
  run.error = "the disk is full";
  EXPECT_EQ(exit_code(run), run::ExitCode::kFailed);
  run.judged.violations.clear();
  EXPECT_EQ(exit_code(run), run::ExitCode::kInternal);
  run.error.clear();
  EXPECT_EQ(exit_code(run), run::ExitCode::kUnreachable);
  run.lost.clear();
  EXPECT_EQ(exit_code(run), run::ExitCode::kInterrupted);
  run.interrupted = false;
  EXPECT_EQ(exit_code(run), run::ExitCode::kUnreachable);
}

TEST(StressReport, KeepsTheHistoryOfWhatIsNotOk) {
  EXPECT_FALSE(has_findings(right().judged));
  EXPECT_TRUE(has_findings(wrong().judged));
  EXPECT_TRUE(has_findings({.unknown_keys = 1}));
}

// --- the screen ----------------------------------------------------------------------------------

TEST(StressReport, SaysLittleWhenAllIsWell) {
  EXPECT_EQ(text(right()),
            "\n101 requests in 2.0 s (50/s), 5 notifications, judged in 0.25 s\n"
            "7 keys ok, 0 violations, 0 unknown: linearizable, no rule is broken\n");
  StressRun kept = right();
  kept.history = "mine.jsonl";  // nothing is in it that anybody has to judge again
  EXPECT_EQ(text(kept), text(right()));
  StressRun at_once = right();
  at_once.seconds = 0;
  at_once.simulated = true;
  EXPECT_THAT(text(at_once), HasSubstr(" in 0.0 s of simulated time (0/s), "));
}

TEST(StressReport, SaysHowFarThePacketIdsOfAConnectionWent) {
  StressRun run = right();
  EXPECT_THAT(text(run), Not(HasSubstr("packet identifiers")));
  run.counts.longest = 65'535;
  EXPECT_THAT(
      text(run),
      HasSubstr("\n  to one client: 65,535 messages, within its 65535 packet identifiers\n"));
  run.counts.longest = 65'536;
  EXPECT_THAT(text(run), HasSubstr(" 65,536 messages, more than its 65535 packet identifiers\n"));
  EXPECT_EQ(json::parse(to_json(run)).at("longest_connection"), 65'536);
  run.simulated = true;
  EXPECT_THAT(text(run), Not(HasSubstr("packet identifiers")));
}

TEST(StressReport, TellsAViolationAndHowToSeeItAgain) {
  EXPECT_EQ(text(wrong()),
            "\n  VIOLATION  SET-NX-2  key \"k\"\n    seen  twice\n"
            "    minimal counter-example:\n"
            "      client 1       0.000 ms .. 0.000 ms     SET \"v\"  ->  ok\n"
            "\n  history   stress-6.jsonl\n  check     fencepost check stress-6.jsonl\n"
            "  reproduce fencepost stress --seed 6\n"
            "\n101 requests in 2.0 s (50/s), 5 notifications, judged in 0.25 s\n"
            "7 keys ok, 1 violation, 0 unknown: the store breaks a rule\n");
  StressRun gone = wrong();
  gone.judged.decided = gone.judged.operations - 40;
  EXPECT_THAT(text(gone), EndsWith("the store breaks a rule; 40 operations not judged any more\n"));
  gone.history.clear();
  EXPECT_THAT(text(gone), Not(HasSubstr("  check ")));
}

TEST(StressReport, NamesThreeKeysAndCountsTheOthers) {
  StressRun run = wrong();
  run.judged.violations = {violation("a"), violation("b")};
  run.judged.unknown = {unknown(), unknown(), unknown()};
  run.judged.unknown_keys = 3;
  EXPECT_THAT(text(run), AllOf(HasSubstr("key \"b\""), HasSubstr("UNKNOWN    key \"u\""),
                               HasSubstr("\n  and 2 more keys\n")));
}

TEST(StressReport, SaysWhatWasNotAnswered) {
  StressRun run = right();
  EXPECT_THAT(text(run), Not(HasSubstr("without a response")));
  run.counts.timed_out = 1;
  EXPECT_THAT(text(run), HasSubstr("  without a response: 1 timed out\n"));
  run.counts.lost = 2;
  run.counts.not_taken = 3;
  run.counts.meaningless = 4;
  run.counts.refused = 5;
  run.reconnected = 6;
  EXPECT_THAT(text(run),
              HasSubstr("  without a response: 1 timed out, 2 lost with the connection, 3 "
                        "not taken by the broker, 4 answered with something that is not a "
                        "response\n  refused: 5\n  reconnections: 6\n"));
  run.injected = {{endpoint::NetworkFault::kReset, 2}, {endpoint::NetworkFault::kStall, 1}};
  EXPECT_THAT(text(run), HasSubstr("  disturbances  3: stall 1, reset 2; 6 reconnections\n"));
}

TEST(StressReport, TellsTheSmallestRunThatShowsIt) {
  StressRun run = wrong();
  run.shrunk = {.size = {.mix = stress::find_mix("hot-key"), .clients = 2},
                .runs = 5,
                .failed = 3,
                .operations = 40};
  EXPECT_THAT(text(run), HasSubstr("\n  smallest  2 clients, workload hot-key: 3 of 5 new runs "
                                   "break a rule, after 40 operations\n"));
  run.shrunk->failed = 0;
  EXPECT_THAT(text(run), HasSubstr("\n  seen once: not reproduced in 5 more runs\n"));
  run.shrunk->runs = 0;
  EXPECT_THAT(text(run), HasSubstr("\n  seen once: no time was left to try again\n"));
  run.shrunk->runs = 5;
  EXPECT_EQ(json::parse(to_json(run))["shrunk"],
            json::parse(R"({"workload": "hot-key", "clients": 2, "runs": 5, "failed": 0,
                            "operations": 40})"));
}

TEST(StressReport, TellsTheRequestsThatAreEnough) {
  StressRun run = wrong();
  run.enough.emplace();
  run.enough->asked = 300;
  run.enough->tries = 25;
  run.enough->plan.assign(13, set(2, "k\n"));
  EXPECT_THAT(text(run), AllOf(HasSubstr("\n  enough    13 of 300 requests for one key, found in "
                                         "25 runs:\n            client 2    SET \"v\"\n"),
                               HasSubstr("            and 1 more; --json lists all\n")));
  const json document = json::parse(to_json(run))["enough"];
  EXPECT_EQ(document["of"], 300);
  EXPECT_EQ(document["runs"], 25);
  EXPECT_EQ(document["requests"].size(), 13U);
  EXPECT_EQ(document["requests"][0],
            json::parse(R"({"client": 2, "key": "k\\n", "request": "SET \"v\""})"));
  run.enough->plan.resize(12);
  EXPECT_THAT(text(run), Not(HasSubstr(" more; --json")));
}

TEST(StressReport, TellsHowFarItHasCome) {
  EXPECT_EQ(
      progress_text(2, {.requests = 301, .replies = 300}, {.operations = 300, .decided = 250}),
      "2.0 s  301 requests (150/s)  250 judged, 50 not yet");
  EXPECT_EQ(progress_text(0, {.requests = 1, .timed_out = 1, .lost = 2}, {.decided = 1}),
            "0.0 s  1 request (0/s)  1 judged, 0 not yet  3 without a response");
}

// --- the command ---------------------------------------------------------------------------------

TEST(StressReport, RepeatsARunByItsCommand) {
  const stress::RunSize size{.mix = stress::find_mix("hot-key"), .clients = 4};
  EXPECT_EQ(stress_command({.duration = "10s"}, size, 6),
            "fencepost stress --workload hot-key --clients 4 --seed 6 --duration 10s");
  EXPECT_EQ(stress_command({.program = "/my tools/fencepost",
                            .endpoint = "inproc:?fault=L13",
                            .descriptor = "a b.yaml",
                            .driver = "paho",
                            .profile = "documented",
                            .clock_offset = "5ms",
                            .on_the_way = "7ms",
                            .timeout_scale = 2.5,
                            .duration = "1s",
                            .rate = 200,
                            .disturb = "reset,stall",
                            .disturb_every = "1s"},
                           size, 6),
            "'/my tools/fencepost' stress --endpoint 'inproc:?fault=L13' --descriptor 'a b.yaml' "
            "--driver paho --profile documented --clock-offset 5ms --network-delay 7ms "
            "--timeout-scale 2.5 --workload hot-key --clients 4 --seed 6 --duration 1s --rate 200 "
            "--disturb reset,stall --disturb-every 1s");
}

// --- files ---------------------------------------------------------------------------------------

TEST(StressReport, HasItsFiguresAsJson) {
  const json right_document = json::parse(to_json(right()));
  EXPECT_EQ(right_document["requests"], 101);
  EXPECT_EQ(right_document["replies_per_second"], 50.0);
  EXPECT_EQ(right_document["keys"], json::parse(R"({"ok": 7, "violations": 0, "unknown": 0})"));
  EXPECT_EQ(right_document["commands"], json::parse(R"({"again": "fencepost stress --seed 6"})"));
  EXPECT_EQ(right_document["findings"], json::array());
  for (const char* member : {"history", "shrunk", "enough"}) {
    EXPECT_FALSE(right_document.contains(member)) << member;
  }
  const json document = json::parse(to_json(wrong()));
  EXPECT_EQ(document["findings"][0]["requirement"], "SET-NX-2");
  EXPECT_EQ(document["history"], "stress-6.jsonl");
  EXPECT_EQ(document["commands"]["judge"], "fencepost check stress-6.jsonl");
}

class StressFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const {
    return (folder_.path() / name).string();
  }

  test::TemporaryFolder folder_;
  std::string history_ = folder_
                             .write("run.jsonl",
                                    R"({"type":"history","format":1}
{"type":"call","id":1,"at":1,"client":1,"request":"GET","key":"k"}
{"type":"return","id":1,"at":2,"reply":"missing"}
)")
                             .string();
};

TEST_F(StressFiles, AreWrittenWhereTheyHaveAName) {
  StressRun run = wrong();
  run.history = history_;
  EXPECT_TRUE(write_stress(run, {}, kNoRules));
  ASSERT_TRUE(write_stress(
      run, {{"json", path("r.json")}, {"junit", path("r.xml")}, {"html", path("r.html")}},
      kNoRules));
  EXPECT_EQ(folder_.read("r.json"), to_json(run));
  EXPECT_THAT(folder_.read("r.html"),
              AllOf(HasSubstr("fencepost check " + history_), HasSubstr(run.again)));
  for (const report::ReportFiles& files :
       {report::ReportFiles{{"json", path("no/x")}}, report::ReportFiles{{"junit", path("no/x")}},
        report::ReportFiles{{"html", path("no/x")}}}) {
    const auto written = write_stress(run, files, kNoRules);
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error(), HasSubstr(path("no/x")));
  }
  run.history = path("none.jsonl");
  EXPECT_FALSE(write_stress(run, {{"html", path("r.html")}}, kNoRules));
}

// One test stands for all keys that are ok.
TEST_F(StressFiles, JunitHasATestForEachFinding) {
  for (const std::size_t ok : {std::size_t{7}, std::size_t{0}}) {
    StressRun run = wrong();
    run.judged.keys_ok = ok;
    ASSERT_TRUE(write_stress(run, {{"junit", path("r.xml")}}, kNoRules));
    pugi::xml_document document;
    ASSERT_TRUE(document.load_file(path("r.xml").c_str()));
    const pugi::xml_node root = document.child("testsuites").child("testsuite");
    EXPECT_STREQ(root.attribute("name").value(), "embedded");
    EXPECT_EQ(root.attribute("failures").as_int(), 1);
    EXPECT_EQ(root.attribute("tests").as_int(), ok == 0 ? 1 : 2);
  }
}

// JUnit is as green as the exit code.
TEST_F(StressFiles, JunitHasWhatIsWrongOfTheRunAsAWhole) {
  StressRun unanswered = right();
  unanswered.counts = {.requests = 9};
  StressRun lost = right();
  lost.lost = "connection refused";
  StressRun cut = right();
  cut.interrupted = true;
  StressRun doubtful = right();
  doubtful.doubts = {.silent = 2};
  StressRun doubled = right();
  doubled.deliveries = {{.requirement = "ENV-RESPONSE-1", .text = "a second reply", .times = 2}};
  const std::vector<std::pair<StressRun, std::string>> rows = {
      {unanswered, "no request was answered: is there a state store?"},
      {lost, "the endpoint was lost: connection refused"},
      {cut, "interrupted; no rule was broken until then"},
      {doubtful, "not decided: 2 requests without a response when no client received one any more"},
      {doubled, "ENV-RESPONSE-1: a second reply (2 times)"}};
  for (const auto& [run, message] : rows) {
    ASSERT_TRUE(write_stress(run, {{"junit", path("r.xml")}}, kNoRules));
    pugi::xml_document document;
    ASSERT_TRUE(document.load_file(path("r.xml").c_str()));
    const pugi::xml_node root = document.child("testsuites").child("testsuite");
    const bool failed = exit_code(run) == run::ExitCode::kFailed;
    EXPECT_EQ(root.attribute("failures").as_int(), failed ? 1 : 0) << message;
    EXPECT_EQ(root.attribute("errors").as_int(), failed ? 0 : 1) << message;
    EXPECT_EQ(root.attribute("tests").as_int(), 2) << message;
    EXPECT_EQ(root.select_node("//error/@message | //failure/@message").attribute().value(),
              message);
  }
}

}  // namespace
}  // namespace fencepost::histories
