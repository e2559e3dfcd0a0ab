#include "report/report.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "report/report_sample.h"
#include "suite/run/transcript.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

ReportContext context(bool strict = false) { return sample_context(strict); }

// A message with bytes that neither XML nor JSON can hold as they are.
constexpr char kBytes[] = "a\0b\x01\x1b\r\n\t\x7f\xff\xc3<&>\"']]>\xef\xbf\xbe\xc3\xa9";
const std::string kBinary(kBytes, sizeof(kBytes) - 1);

// --- JUnit -------------------------------------------------------------------------------------

pugi::xml_document parsed(const std::string& text) {
  pugi::xml_document document;
  const auto outcome = document.load_buffer(text.data(), text.size());
  EXPECT_TRUE(outcome) << outcome.description();
  return document;
}

// What consumers count, from the children themselves.
std::string counted(pugi::xml_node suite) {
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  for (const pugi::xml_node test : suite.children("testcase")) {
    ++tests;
    failures += test.child("failure") ? 1 : 0;
    errors += test.child("error") ? 1 : 0;
    skipped += test.child("skipped") ? 1 : 0;
  }
  return fmt::format("{} {} {} {}", tests, failures, errors, skipped);
}

std::string claimed(pugi::xml_node node) {
  return fmt::format("{} {} {} {}", node.attribute("tests").as_int(-1),
                     node.attribute("failures").as_int(-1), node.attribute("errors").as_int(-1),
                     node.attribute("skipped").as_int(-1));
}

// With what would make lines too long for this file cut short.
std::string normalised(std::string text) {
  replace_all(text, " timestamp=\"2026-01-01T00:00:00\"", 0, "\ntimestamp=NOW");
  replace_all(text, "mqtt://host:1883", 0, "HOST");
  replace_all(text, "&#10;", 0, "\n");
  replace_all(text, " hostname=", 0, "\nhostname=");
  replace_all(text, " classname=", 0, "\nclassname=");
  replace_all(text, " value=\"judged", 0, "\nvalue=\"judged");
  replace_all(text, "fencepost certify --seed 7 --run ", 0, "");
  return text;
}

constexpr const char* kEveryVerdict =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="set" tests="4" failures="1" errors="0" skipped="1" time="0.006"
timestamp=NOW
hostname="host" package="statestore" id="0">
    <properties>
      <property name="endpoint" value="HOST" />
      <property name="profile" value="auto" />
      <property name="wording" value="auto" />
      <property name="judged_by"
value="judged by the article and the deployed service (ga edition): 2 rules apply" />
      <property name="dialect_observed" value="deployed" />
      <property name="seed" value="7" />
      <property name="file" value="t.yaml" />
      <property name="good: title" value="A case" />
      <property name="good: place" value="t.yaml:3" />
      <property name="good: requirement" value="R-MUST-1" />
      <property name="good: level" value="must" />
      <property name="bad: title" value="A case" />
      <property name="bad: place" value="t.yaml:3" />
      <property name="bad: requirement" value="R-MUST-1" />
      <property name="bad: level" value="must" />
      <property name="bad: difference" value="D1" />
      <property name="bad: explained_by" value="R-MUST-1" />
      <property name="warns: title" value="A case" />
      <property name="warns: place" value="t.yaml:3" />
      <property name="warns: requirement" value="R-SHOULD-1" />
      <property name="warns: level" value="should" />
      <property name="warns: difference" value="D2" />
      <property name="warns: explained_by" value="R-SHOULD-1" />
      <property name="cannot: title" value="A case" />
      <property name="cannot: place" value="t.yaml:3" />
      <property name="cannot: requirement" value="R-MUST-1" />
      <property name="cannot: level" value="must" />
    </properties>
    <testcase name="good"
classname="statestore.set" time="0.002" />
    <testcase name="bad"
classname="statestore.set" time="0.002">
      <failure type="MUST" message=")"
    R"(R-MUST-1: wrong: expected $-1, got +OK (step 1); root cause D1">R-MUST-1: The first rule.
step 1 at t.yaml:7
expected: $-1\r\n
actual:   +OK\r\n
reproduce: bad
</failure>
    </testcase>
    <testcase name="warns"
classname="statestore.set" time="0.002" />
    <testcase name="cannot"
classname="statestore.set" time="0.002">
      <skipped message="quota: none" />
    </testcase>
    <system-out>bad: packets
     1.000 ms  a    * connected

warns: warning
R-SHOULD-1: A recommendation.
step 1 at t.yaml:7
expected: $-1\r\n
actual:   -
reproduce: warns

</system-out>
    <system-err />
  </testsuite>
  <testsuite name="time" tests="3" failures="0" errors="3" skipped="0" time="0.004"
timestamp=NOW
hostname="host" package="statestore" id="1">
    <properties>
      <property name="endpoint" value="HOST" />
      <property name="profile" value="auto" />
      <property name="wording" value="auto" />
      <property name="judged_by"
value="judged by the article and the deployed service (ga edition): 2 rules apply" />
      <property name="dialect_observed" value="deployed" />
      <property name="seed" value="7" />
      <property name="file" value="t.yaml" />
      <property name="late: title" value="A case" />
      <property name="late: place" value="t.yaml:3" />
      <property name="late: requirement" value="R-MUST-1" />
      <property name="late: level" value="must" />
      <property name="gone: title" value="A case" />
      <property name="gone: place" value="t.yaml:3" />
      <property name="gone: requirement" value="R-MUST-1" />
      <property name="gone: level" value="must" />
      <property name="after: title" value="A case" />
      <property name="after: place" value="t.yaml:3" />
      <property name="after: requirement" value="R-MUST-1" />
      <property name="after: level" value="must" />
    </properties>
    <testcase name="late"
classname="statestore.time" time="0.002">
      <error type="inconclusive" message="too late">R-MUST-1: The first rule.
step 1 at t.yaml:7
expected: $-1\r\n
reproduce: late
</error>
    </testcase>
    <testcase name="gone"
classname="statestore.time" time="0.002">
      <error type="lost" message="no connection">reproduce: gone
</error>
    </testcase>
    <testcase name="after"
classname="statestore.time" time="0.002">
      <error type="not-run" message="the run ended before this case">reproduce: after
</error>
    </testcase>
    <system-out></system-out>
    <system-err />
  </testsuite>
</testsuites>
)";

TEST(JunitReport, IsThisTextForARunWithEveryVerdict) {
  Sample run = every_verdict();
  run.result.cases[1].transcript.push_back({.time = 1ms,
                                            .client = "a",
                                            .direction = run::Direction::kEvent,
                                            .summary = "connected",
                                            .payload_bytes = 0});
  EXPECT_EQ(normalised(to_junit(run.result, catalogue(), context())), kEveryVerdict);
}

TEST(JunitReport, HasCountsThatAgreeWithItsChildren) {
  const Sample run = every_verdict();
  const auto document = parsed(to_junit(run.result, catalogue(), context()));
  const pugi::xml_node root = document.child("testsuites");
  std::vector<std::string> suites;
  for (const pugi::xml_node suite : root.children("testsuite")) {
    suites.push_back(suite.attribute("name").as_string() + (": " + claimed(suite)));
    EXPECT_EQ(claimed(suite), counted(suite));
  }
  EXPECT_THAT(suites, ElementsAre("set: 4 1 0 1", "time: 3 0 3 0"));
}

TEST(JunitReport, GivesEveryTestANameOfItsOwnAndAtMostOneOutcome) {
  const Sample run = every_verdict();
  const auto document = parsed(to_junit(run.result, catalogue(), context()));
  std::set<std::string> names;
  for (const auto& found : document.select_nodes("//testcase")) {
    const pugi::xml_node test = found.node();
    EXPECT_STRNE(test.attribute("name").as_string(), "");
    EXPECT_STRNE(test.attribute("classname").as_string(), "");
    names.insert(test.attribute("name").as_string());
    int outcomes = 0;
    for (const char* kind : {"skipped", "failure", "error"}) outcomes += test.child(kind) ? 1 : 0;
    EXPECT_LE(outcomes, 1);
  }
  EXPECT_THAT(names, SizeIs(7));
}

TEST(JunitReport, KeepsSuitesTogetherWhoseCasesAreApart) {
  const Sample run(
      {{.id = "one", .area = "b"}, {.id = "two", .area = "a"}, {.id = "three", .area = "b"}});
  const auto document = parsed(to_junit(run.result, catalogue(), context()));
  const pugi::xml_node root = document.child("testsuites");
  EXPECT_EQ(counted(root.find_child_by_attribute("testsuite", "name", "b")), "2 0 0 0");
  EXPECT_EQ(counted(root.find_child_by_attribute("testsuite", "name", "a")), "1 0 0 0");
}

TEST(JunitReport, NamesTheLevelOfAFailure) {
  const auto type = [](const std::string& requirement, bool strict) -> std::string {
    const Sample run({{.id = "x", .verdict = run::Verdict::kFailed, .requirements = requirement}});
    const auto document = parsed(to_junit(run.result, catalogue(), context(strict)));
    return document.select_node("//failure").node().attribute("type").as_string("none");
  };
  EXPECT_EQ(type("R-MUST-1", false), "MUST");
  EXPECT_EQ(type("R-SHOULD-1", false), "none");
  EXPECT_EQ(type("R-SHOULD-1", true), "SHOULD");
}

// Is this the UTF-8 of characters that XML 1.0 may hold? Only the lengths that the test sends.
bool is_xml_text(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') return false;
    if (byte < 0x80) continue;
    const std::size_t more = byte >= 0xf0 ? 3U : byte >= 0xe0 ? 2U : 1U;
    if (byte < 0xc2 || byte > 0xf4 || text.substr(i, 3) == "\xef\xbf\xbe") return false;
    for (std::size_t next = 0; next < more; ++next) {
      if (++i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80) return false;
    }
  }
  return true;
}

TEST(JunitReport, SurvivesAnyBytes) {
  for (const run::Verdict verdict :
       {run::Verdict::kFailed, run::Verdict::kSkipped, run::Verdict::kLost}) {
    Sample run({{.id = "x", .verdict = verdict, .message = kBinary, .actual = kBinary}});
    run.cases[0].title = kBinary;
    run.result.cases[0].transcript.push_back(
        {.time = 1ms, .client = "a", .direction = run::Direction::kEvent, .summary = kBinary});
    ReportContext strange = context();
    strange.endpoint = kBinary;
    const std::string text = to_junit(run.result, catalogue(), strange);
    EXPECT_TRUE(is_xml_text(text));
    const auto document = parsed(text);
    EXPECT_EQ(claimed(document.child("testsuites").first_child()),
              counted(document.select_node("//testsuite").node()));
    const pugi::xml_node outcome = document.select_node("//failure | //skipped | //error").node();
    if (verdict == run::Verdict::kFailed) {
      EXPECT_THAT(outcome.attribute("message").as_string(),
                  testing::StartsWith("R-MUST-1: a\\x00b"));
      continue;
    }
    EXPECT_THAT(outcome.attribute("message").as_string(),
                testing::AllOf(testing::StartsWith("a\\x00b\\x01\\x1b\\x0d\n\t\\x7f"),
                               HasSubstr("<&>\"']]>"), testing::EndsWith("\xc3\xa9")));
  }
}

// --- JSON --------------------------------------------------------------------------------------

json report(const Sample& run, const ReportContext& given = context()) {
  return json::parse(to_json(run.result, catalogue(), given));
}

TEST(JsonReport, HasEveryMemberOfTheContract) {
  const json out = report(every_verdict());
  for (const char* member :
       {"suite_version", "endpoint", "profile", "dialect_observed", "seed", "summary", "cases"}) {
    EXPECT_TRUE(out.contains(member)) << member;
  }
  for (const char* member : {"passed", "failed", "skipped", "inconclusive", "expected_failures"}) {
    EXPECT_TRUE(out["summary"].contains(member)) << member;
  }
  ASSERT_THAT(out["cases"], SizeIs(7));
  for (const json& entry : out["cases"]) {
    for (const char* member : {"id", "title", "requirements", "level", "verdict", "duration_ms",
                               "message", "file", "line", "reproduce", "transcript"}) {
      EXPECT_TRUE(entry.contains(member)) << member;
    }
  }
}

TEST(JsonReport, SaysHowTheRunWas) {
  json out = report(every_verdict());
  out.erase("cases");
  EXPECT_EQ(out, json::parse(R"({
    "suite_version": ")" + std::string(suite_version()) +
                             R"(", "suite_commit": ")" + std::string(suite_commit()) +
                             R"(", "endpoint": "mqtt://host:1883",
    "profile": "auto", "wording": "auto",
    "judged_by": {"dialect": "deployed", "wording": "ga", "binding_rules": 2},
    "dialect_observed": "deployed",
    "differences": [
      {"id": "D1", "requirement": "R-MUST-1", "verdict": "failed",
       "causes": ["wrong; want no such key, got +OK"], "cases": ["bad"], "blocked": [],
       "warnings": 0},
      {"id": "D2", "requirement": "R-SHOULD-1", "verdict": "warning",
       "causes": ["not nice; want no such key, got -"], "cases": ["warns"], "blocked": [],
       "warnings": 0}],
    "requirements": [
      {"id": "R-MUST-1", "state": "broken", "note": "D1: 1 case"},
      {"id": "R-SHOULD-1", "state": "warning", "note": "D2: 1 case"}],
    "forms_observed": {"set-not-applied": ["deployed"]},
    "open_points_observed": {"R-MAY-1": ["a", "b"]},
    "seed": 7, "strict": false,
    "selection": {"run": [], "skip": [], "tags": [], "requirements": []},
    "shard": {"index": 1, "of": 1}, "transcripts": "all", "command": "fencepost certify --seed 7",
    "started": "2026-01-01T00:00:00Z", "duration_ms": 12.0,
    "latency_ms": {"round_trips": 3, "p50": 2.0, "p99": 3.0, "unloaded_p50": 1.0,
                   "unloaded_p99": 2.0},
    "clock_offset_ms": -3,
    "clock_offset_bounds_ms": {"low": -5, "high": -1, "source": "refusals"}, "exit_code": 1,
    "endpoint_lost": true,
    "summary": {"passed": 1, "failed": 1, "warnings": 1, "skipped": 1, "inconclusive": 1,
                "expected_failures": 0, "not_run": 2}})"));
}

TEST(JsonReport, SaysWhatBecameOfEachCase) {
  const json cases = report(every_verdict())["cases"];
  std::vector<std::string> verdicts;
  for (const json& entry : cases) verdicts.push_back(entry["verdict"]);
  EXPECT_THAT(verdicts, ElementsAre("passed", "failed", "warning", "inconclusive", "skipped",
                                    "lost", "not-run"));
  EXPECT_EQ(cases[1], json::parse(R"({
    "id": "bad", "area": "set", "title": "A case", "requirements": ["R-MUST-1"], "divergences": [],
    "level": "must", "verdict": "failed", "duration_ms": 1.5, "message": "wrong", "file": "t.yaml",
    "line": 3, "failure": {"requirement": "R-MUST-1", "kind": "other", "step": 1,
    "line": 7, "message": "wrong", "expected": "$-1\\r\\n", "actual": "+OK\\r\\n",
    "signature": "R-MUST-1: wrong | want $-1\\r\\n (no such key) | got +OK\\r\\n",
    "cause": "wrong; want no such key, got +OK"},
    "reproduce": "fencepost certify --seed 7 --run bad", "forms_observed": {},
    "open_points_observed": {}, "round_trips_ms": [], "transcript": []})"));
  EXPECT_FALSE(cases[0].contains("failure"));
  EXPECT_EQ(report(every_verdict(), context(true))["cases"][2]["verdict"], "failed");
}

TEST(JsonReport, HasTheSignatureOfAFailure) {
  Sample run = every_verdict();
  run.result.cases[1].failure.steady = "wrong";
  const json cases = report(run)["cases"];
  EXPECT_EQ(cases[1]["failure"]["signature"], "R-MUST-1: wrong");
  EXPECT_EQ(cases[3]["verdict"], "inconclusive");
  EXPECT_FALSE(cases[3]["failure"].contains("signature"));
}

TEST(JsonReport, SaysWhatTheBaselineMadeOfACase) {
  Sample run({{.id = "known", .verdict = run::Verdict::kExpectedFailure},
              {.id = "outdated", .verdict = run::Verdict::kFailed}});
  run.result.cases[0].baseline = "not yet, T-1";
  run.result.cases[1].unexpected_pass = true;
  run.result.baseline_errors = {"known.yaml:5: outdated passes"};
  const json out = report(run);
  EXPECT_EQ(out["cases"][0]["verdict"], "expected-failure");
  EXPECT_EQ(out["cases"][0]["baseline"], "not yet, T-1");
  EXPECT_FALSE(out["cases"][0].contains("unexpected_pass"));
  EXPECT_EQ(out["cases"][1]["unexpected_pass"], true);
  EXPECT_EQ(out["baseline_complaints"], json::parse(R"(["known.yaml:5: outdated passes"])"));
  EXPECT_EQ(out["exit_code"], 1);
}

TEST(JsonReport, SaysWhyTheRunStopped) {
  ReportContext stopped = context();
  stopped.stopped_because = "interrupted";
  EXPECT_EQ(report(every_verdict(), stopped)["stopped_because"], "interrupted");
}

TEST(JsonReport, TellsEveryMessageInFull) {
  Message message;
  message.topic = "t/\xff";
  message.payload = std::string("+O\0\xfe", 4);
  message.qos = 2;
  message.retain = true;
  message.response_topic = "r";
  message.correlation_data = std::string("\0\x9f", 2);
  message.content_type = "\xff";
  message.payload_format = 1;
  message.expiry_seconds = 10;
  message.user_properties = {{"k\xff", "one"}, {"k\xff", "two"}};
  Sample run({{.id = "x"}});
  run.result.cases[0].transcript = {
      make_entry(1500us, "a", run::Direction::kSent, message),
      make_entry(2ms, "a", run::Direction::kReceived, Message{}),
      {.time = 3ms, .client = "a", .direction = run::Direction::kEvent, .summary = "connected"}};
  const json transcript = report(run)["cases"][0]["transcript"];
  ASSERT_THAT(transcript, SizeIs(3));
  EXPECT_EQ(transcript[0], json::parse(R"({
    "ms": 1.5, "client": "a", "direction": "sent", "summary": "+O\\x00\\xfe", "topic": "t/\\xff",
    "payload": "+O\\x00\\xfe", "payload_bytes": 4, "qos": 2, "retain": true, "response_topic": "r",
    "correlation_data": "009F", "content_type": "\\xff", "payload_format": 1, "expiry_seconds": 10,
    "user_properties": [["k\\xff", "one"], ["k\\xff", "two"]]})"));
  EXPECT_FALSE(transcript[1].contains("correlation_data"));
  EXPECT_EQ(transcript[1]["direction"], "received");
  EXPECT_EQ(
      transcript[2],
      json::parse(R"({"ms": 3.0, "client": "a", "direction": "event", "summary": "connected"})"));
}

TEST(JsonReport, HasTheMessagesOfWhatDidNotPassAlwaysAndOfTheRestWhenAsked) {
  ReportContext failures = context();
  failures.transcripts = Transcripts::kFailures;
  const json out = report(every_verdict(), failures);
  EXPECT_EQ(out["transcripts"], "failures");
  for (const json& entry : out["cases"]) {
    EXPECT_EQ(entry.contains("transcript"), entry["verdict"] != "passed") << entry["id"];
  }
  const json all = report(every_verdict());
  for (const json& entry : all["cases"]) {
    EXPECT_TRUE(entry.contains("transcript")) << entry["id"];
  }
}

TEST(JsonReport, SurvivesAnyBytes) {
  Sample run(
      {{.id = "x", .verdict = run::Verdict::kFailed, .message = kBinary, .actual = kBinary}});
  run.cases[0].title = kBinary;
  const json out = report(run);
  EXPECT_THAT(out["cases"][0]["message"].get<std::string>(),
              testing::StartsWith(std::string("a\0b\x01\x1b\r\n\t\x7f", 9)));
}

// --- transcript --------------------------------------------------------------------------------

std::string summary_of(const std::string& payload, const std::string& topic = "t") {
  Message message;
  message.topic = topic;
  message.payload = payload;
  return run::summarize(message);
}

TEST(Transcript, ShowsACommandAReplyOrBytes) {
  EXPECT_EQ(summary_of(codec::encode_command({"SET", "k\n", "V", "NX"})), R"(SET "k\n" V NX)");
  EXPECT_EQ(summary_of(codec::encode_command({"get", ""})), R"("get" "")");
  EXPECT_EQ(summary_of(":-1\r\n"), R"(:-1\r\n)");
  EXPECT_EQ(summary_of(""), "");
  EXPECT_EQ(summary_of("*1\r\n$9\r\nx"), R"(*1\r\n$9\r\nx)");
}

TEST(Transcript, NamesTheKeyOfANotification) {
  const Effect effect = set_notification("id", "k", "v");
  EXPECT_EQ(run::summarize(std::get<endpoint::MessageReceived>(effect.what).message),
            R"(NOTIFY SET VALUE "v" of key "k")");
}

TEST(Transcript, CutsWhatIsLong) {
  const std::string long_value(5000, 'v');
  EXPECT_LT(summary_of(codec::encode_command({"SET", "k", long_value})).size(), 120U);
  EXPECT_LT(summary_of(long_value).size(), 200U);
  Message message;
  message.payload = long_value;
  const run::TranscriptEntry entry = make_entry(0ms, "a", run::Direction::kSent, message);
  EXPECT_EQ(entry.payload_bytes, 5000U);
  EXPECT_EQ(entry.message.payload.size(), run::kMaxTranscriptPayload);
  message.payload.resize(run::kMaxTranscriptPayload);
  EXPECT_EQ(make_entry(0ms, "a", run::Direction::kSent, message).message, message);
}

TEST(Transcript, MakesOneLineOfAnEntry) {
  Message message;
  message.payload = codec::encode_command({"GET", "k"});
  message.user_properties = {{"__ts", "1:0:\x1b"}};
  EXPECT_EQ(to_line(make_entry(12'345us, "a", run::Direction::kSent, message)),
            R"(    12.345 ms  a    > GET "k"  __ts=1:0:\x1b)");
  message.qos = 0;
  EXPECT_THAT(to_line(make_entry(0us, "a", run::Direction::kSent, message)), HasSubstr("  qos=0"));
  EXPECT_THAT(to_line(make_entry(0us, "a", run::Direction::kReceived, message)),
              Not(HasSubstr("qos")));
  EXPECT_THAT(to_line(make_entry(0us, "a", run::Direction::kReceived, message)),
              HasSubstr(" < GET"));
  EXPECT_EQ(run::to_line({.time = 1ms, .client = "a", .summary = "connected"}),
            "     1.000 ms  a    * connected");
}

}  // namespace
}  // namespace fencepost::report
