#include "report/report_read.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/gate.h"
#include "report/merge.h"
#include "suite/target/target.h"
#include "suite/testing/built_in_library.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::DialectId;
using codec::Verb;
using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

ReportContext context() {
  return {.endpoint = "mqtt://host:1883",
          .profile = codec::Profile::kAuto,
          .seed = 18'446'744'073'709'551'615U,
          .strict = false,
          .command = "fencepost certify --seed 18446744073709551615",
          .started = "2026-01-01T00:00:00Z",
          .preflight = {.round_trip_p50 = 1001us, .round_trip_p99 = 2ms, .clock_offset_ms = -3}};
}

// Cases that pass, fail, warn, cannot be decided or are skipped on the conforming store.
scenario::Library sample_library() {
  scenario::Library out;
  out.catalogue = catalogue();
  const CaseText texts[] = {
      {.id = "good", .steps = R"(
- set: {key: k, value: {hex: "00017f80ff0d0a5c22"}, correlation: {hex: "00ff"}, expiry: 10,
        content_type: "a/b", payload_format: 1, properties: [["a", "b"], ["a", "c"]]}
  expect: ok
- {get: k, expect: {reply: {value: {hex: "00017f80ff0d0a5c22"}}}}
)"},
      {.id = "refused", .more = "divergence: [set-not-applied]", .steps = R"(
- {set: {key: k, value: "v"}, expect: ok}
- {set: {key: k, value: "w", options: [NX]}, expect: not-applied}
)"},
      {.id = "bad", .steps = R"(
- {set: {key: k, value: "one"}, expect: ok}
- {get: k, expect: {reply: {value: "two"}, cites: R-MUST-2}}
)"},
      {.id = "warns", .requirements = "R-SHOULD-1", .steps = "- get: k\n  expect: error\n"},
      {.id = "late", .steps = R"(
- {get: {key: k, mark: t}, expect: missing}
- {get: k, expect: {reply: missing, before: t + 0ms}}
)"},
      {.id = "cannot", .more = "requires: [quota]", .steps = "- get: k\n  expect: missing\n"},
      {.id = "open", .requirements = "R-MAY-1", .steps = R"(
- get: k
  expect: {reply: {open: {executed: missing, refused: error}}, cites: R-MAY-1}
)"}};
  for (const CaseText& text : texts) out.cases.push_back(case_of(text));
  return out;
}

struct Sample {
  scenario::Library library = sample_library();
  run::SuiteResult result{};
  ReportContext context = report::context();

  [[nodiscard]] std::string json() const { return to_json(result, library.catalogue, context); }
};

void run(Sample& sample, endpoint::Endpoint& endpoint, std::atomic<bool>& stop,
         std::size_t stop_after = 1000) {
  std::vector<const scenario::Case*> cases;
  for (const scenario::Case& test_case : sample.library.cases) cases.push_back(&test_case);
  sample.result = run::run_suite(
      endpoint, cases, sample.library.catalogue,
      {.settings = settings(sample.context.profile), .strict = sample.context.strict}, stop,
      [&](const auto&, std::size_t done, auto) { stop = done >= stop_after; });
}

// What the sample's cases find in this store.
Sample run_on_store(Script script) {
  Sample sample;
  FakeEndpoint endpoint(std::move(script));
  std::atomic<bool> stop{false};
  run(sample, endpoint, stop);
  return sample;
}
Sample run_on_store(Behaviour behaviour) {
  return run_on_store(Script{.behaviour = std::move(behaviour)});
}

// Asserts the property and returns what was read; its cases point into the sample's library.
Report expect_the_same(const Sample& sample) {
  const std::string text = sample.json();
  auto report = read_report(scenario::SourceFile{"r.json", text}, sample.library);
  if (!report) {
    ADD_FAILURE() << report.error();
    return {.file = "r.json", .result = sample.result, .context = sample.context};
  }
  EXPECT_EQ(to_json(report->result, sample.library.catalogue, report->context), text);
  return std::move(*report);
}

std::string verdicts(const run::SuiteResult& result) {
  std::string out;
  for (const run::CaseResult& entry : result.cases) {
    out += std::string(name(entry.verdict)) + (&entry == &result.cases.back() ? "" : " ");
  }
  return out;
}

// --- what was written is read --------------------------------------------------------------------

TEST(ReportRead, GivesEveryRunBackByteForByte) {
  const std::pair<std::string, Behaviour> stores[] = {
      {"right", reference_store()},
      {"documented", reference_store({.dialect = DialectId::kDocumented})},
      {"same reply", always("+OK\r\n")},
      {"bytes", always(std::string("\0\x01\xff\"\\\r\n\t", 8))},
      {"echo", echo()},
      {"silent", silent_on(Verb::kGet)},
      {"refusing", refusing(Verb::kSet, 0x97)},
      {"unexpected", with_spurious({.verb = Verb::kSet, .observer = "a"})},
      {"throws out", kicking(Verb::kGet, {0x82})}};
  for (const auto& [what, store] : stores) {
    SCOPED_TRACE(what);
    expect_the_same(run_on_store(store));
  }
}

TEST(ReportRead, GivesTheBuiltInCasesBackByteForByte) {
  scenario::Library library = test::built_in_library();
  std::size_t number = 0;
  const std::size_t every = all_or_in_gate<std::size_t>(1, 25);
  std::erase_if(library.cases, [&](const scenario::Case&) { return number++ % every != 0; });
  for (const codec::Profile profile : {codec::Profile::kAuto, codec::Profile::kDeployed}) {
    for (const DialectId spoken : codec::kDialects) {
      Sample sample{.library = library};
      sample.context.profile = profile;
      auto target = target::open_target({.url = "inproc:"}, spoken);
      ASSERT_TRUE(target);
      std::atomic<bool> stop{false};
      run(sample, *target->endpoint, stop);
      const Report report = expect_the_same(sample);
      EXPECT_EQ(report.result.longest_wait, sample.result.longest_wait);
      EXPECT_EQ(exit_code(report.result), exit_code(sample.result));
    }
  }
}

TEST(ReportRead, KnowsEveryVerdict) {
  const Sample sample = run_on_store(reference_store());
  ASSERT_EQ(verdicts(sample.result), "passed passed failed failed inconclusive skipped passed");
  const Report report = expect_the_same(sample);
  EXPECT_EQ(verdicts(report.result), verdicts(sample.result));
  EXPECT_EQ(report.result.summary.warnings, 1U);
  EXPECT_EQ(report.result.round_trips, sample.result.round_trips);
  EXPECT_EQ(report.result.unspecified_points, sample.result.unspecified_points);
  EXPECT_EQ(report.result.forms, sample.result.forms);
  const run::CaseResult& bad = report.result.cases[2];
  EXPECT_EQ(bad.test_case, &sample.library.cases[2]);
  EXPECT_EQ(bad.failure.step, 2U);
  EXPECT_EQ(bad.failure.position.line, bad.test_case->steps[1].position.line);
  EXPECT_EQ(bad.failure.requirement, "R-MUST-2");
  EXPECT_EQ(bad.failure.actual, sample.result.cases[2].failure.actual);
  EXPECT_EQ(report.result.cases[5].failure.message, sample.result.cases[5].failure.message);
}

TEST(ReportRead, KeepsEachMessageOfATranscript) {
  Sample sample = run_on_store(reference_store());
  codec::Message odd;
  odd.topic = std::string(6000, '\xff') + "\"\\";
  odd.payload = std::string("\0\xfe", 2);
  odd.qos = 2;
  odd.retain = true;
  odd.duplicate = true;
  odd.response_topic = std::string(5000, 'r');
  odd.correlation_data = "";
  odd.content_type = "";
  odd.payload_format = 0;
  odd.expiry_seconds = 4'294'967'295U;
  odd.user_properties = {{"k\xff", std::string(5000, 'v')}, {"", ""}};
  auto& transcript = sample.result.cases[0].transcript;
  transcript.push_back(make_entry(1us, "a", run::Direction::kReceived, odd));
  odd.payload = std::string(run::kMaxTranscriptPayload + 1, '\r');
  transcript.push_back(make_entry(999'999'999us, "b", run::Direction::kSent, odd));
  const Report report = expect_the_same(sample);
  ASSERT_EQ(report.result.cases[0].transcript.size(), transcript.size());
  for (std::size_t i = 0; i < transcript.size(); ++i) {
    const run::TranscriptEntry& entry = report.result.cases[0].transcript[i];
    EXPECT_EQ(entry.message, transcript[i].message);
    EXPECT_EQ(to_line(entry), to_line(transcript[i]));
    EXPECT_EQ(entry.time, transcript[i].time);
    EXPECT_EQ(entry.payload_bytes, transcript[i].payload_bytes);
  }
}

TEST(ReportRead, TakesReportsWithAllTranscriptsAndWithThoseOfFailures) {
  Sample sample = run_on_store(reference_store());
  sample.context.transcripts = Transcripts::kFailures;
  const Report report = expect_the_same(sample);
  EXPECT_EQ(report.context.transcripts, Transcripts::kFailures);
  EXPECT_THAT(report.result.cases[0].transcript, IsEmpty());  // passed
  EXPECT_EQ(report.result.cases[2].transcript.size(), sample.result.cases[2].transcript.size());
  EXPECT_THAT(report.result.cases[2].transcript, Not(IsEmpty()));
}

// As reports were before there was a choice.
TEST(ReportRead, TakesAReportThatDoesNotSayWhoseTranscriptsItHas) {
  const Sample sample = run_on_store(reference_store());
  ordered_json old = ordered_json::parse(sample.json());
  old.erase("transcripts");
  const auto report = read_report(scenario::SourceFile{"r.json", old.dump()}, sample.library);
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->context.transcripts, Transcripts::kAll);
  EXPECT_EQ(to_json(report->result, sample.library.catalogue, report->context), sample.json());
}

TEST(ReportRead, KeepsHowARunEnded) {
  const auto dies = [](const Published& request, Effects& effects) {
    if (verb_of(request) == Verb::kSet) effects = {{endpoint::Disconnected{}}};
  };
  const Sample lost =
      run_on_store({.behaviour = changed(reference_store(), dies), .on_reach = [] {
                      return endpoint::Error{endpoint::ErrorKind::kUnreachable, "gone"};
                    }});
  const Report read_lost = expect_the_same(lost);
  EXPECT_TRUE(read_lost.result.endpoint_lost);
  EXPECT_EQ(read_lost.result.lost_message, lost.result.lost_message);
  EXPECT_THAT(verdicts(read_lost.result), StartsWith("lost not-run"));

  Sample interrupted;
  FakeEndpoint endpoint({.behaviour = reference_store()});
  std::atomic<bool> stop{false};
  run(interrupted, endpoint, stop, 2);
  interrupted.context.stopped_because = "interrupted";
  const Report read_interrupted = expect_the_same(interrupted);
  EXPECT_TRUE(read_interrupted.result.interrupted);
  EXPECT_EQ(read_interrupted.context.stopped_because, "interrupted");
  EXPECT_EQ(exit_code(read_interrupted.result), run::ExitCode::kInterrupted);
}

TEST(ReportRead, KeepsWhatABaselineSays) {
  Sample sample = run_on_store(reference_store());
  sample.result.cases[0].verdict = run::Verdict::kFailed;
  sample.result.cases[0].unexpected_pass = true;
  sample.result.cases[0].baseline = "known since 2025";
  sample.result.cases[2].verdict = run::Verdict::kExpectedFailure;
  sample.result.cases[2].baseline = "JIRA-7";
  sample.context.command += " --baseline b.yaml";
  sample.result.baseline_errors = {"b.yaml:1: no such case"};
  run::summarize(sample.result, sample.library.catalogue, false);
  const Report report = expect_the_same(sample);
  EXPECT_EQ(report.result.summary.expected_failures, 1U);
  EXPECT_TRUE(report.result.cases[0].unexpected_pass);
  EXPECT_EQ(report.result.cases[2].baseline, "JIRA-7");
  EXPECT_NE(signature(report.result.cases[2].failure), "");
  EXPECT_EQ(signature(report.result.cases[2].failure), signature(sample.result.cases[2].failure));
  EXPECT_EQ(report.result.cases[2].failure.cause, sample.result.cases[2].failure.cause);
  EXPECT_EQ(report.result.baseline_errors, sample.result.baseline_errors);
}

TEST(ReportRead, KeepsWhatTheRunWas) {
  Sample sample = run_on_store(reference_store());
  sample.context.profile = codec::Profile::kDocumented;
  sample.context.strict = true;
  sample.context.selection = {.run = {"a*", "b"},
                              .skip = {"c"},
                              .tags = {"d"},
                              .requirements = {"R-MUST-1"},
                              .shard = 2,
                              .shards = 5};
  run::summarize(sample.result, sample.library.catalogue, true);
  const Report report = expect_the_same(sample);
  EXPECT_EQ(report.context.profile, codec::Profile::kDocumented);
  EXPECT_TRUE(report.context.strict);
  EXPECT_EQ(report.context.selection.run, sample.context.selection.run);
  EXPECT_EQ(report.context.selection.skip, sample.context.selection.skip);
  EXPECT_EQ(report.context.selection.tags, sample.context.selection.tags);
  EXPECT_EQ(report.context.selection.requirements, sample.context.selection.requirements);
  EXPECT_EQ(report.context.selection.shard, 2U);
  EXPECT_EQ(report.context.selection.shards, 5U);
  EXPECT_EQ(report.context.seed, sample.context.seed);
  EXPECT_EQ(report.context.preflight.round_trip_p50, 1001us);
  EXPECT_EQ(report.context.preflight.clock_offset_ms, -3);
}

TEST(ReportRead, KeepsWhatAMergedReportWasMadeOf) {
  Sample sample = run_on_store(reference_store());
  sample.context.parts = {{.file = "a.json",
                           .shard = 2,
                           .seed = 9,
                           .started = "2026-01-01T00:00:00Z",
                           .duration = 5us,
                           .exit_code = 3,
                           .stopped_because = "gone"},
                          {.file = "b.json"}};
  sample.context.commands = {{"bad", "fencepost certify --seed 9"}};
  const Report report = expect_the_same(sample);
  EXPECT_EQ(report.context.commands, sample.context.commands);
  EXPECT_EQ(report.context.parts.size(), 2U);
}

// The one case that fails for mixed forms is neither forgotten nor joined by a second one.
TEST(ReportRead, KeepsTheFirstCaseOfMixedForms) {
  Sample sample = run_on_store(reference_store());
  auto& cases = sample.result.cases;
  cases[0].forms = {{codec::Divergence::kSetNotApplied, DialectId::kDocumented}};
  run::summarize(sample.result, sample.library.catalogue, false);
  ASSERT_EQ(cases[0].failure.requirement, "RESP-INVALID-1");
  const Report report = expect_the_same(sample);
  EXPECT_EQ(report.result.cases[0].verdict, run::Verdict::kFailed);
  EXPECT_EQ(report.result.cases[1].verdict, run::Verdict::kPassed);
}

TEST(ReportRead, TakesTheCasesAtAnotherPathForTheSame) {
  Sample sample = run_on_store(reference_store());
  const std::string text = sample.json();
  for (scenario::Case& test_case : sample.library.cases)
    test_case.position.file = "elsewhere/t.yaml";
  EXPECT_TRUE(read_report(scenario::SourceFile{"r.json", text}, sample.library));
}

// --- what is no report is refused ----------------------------------------------------------------

std::string error_of(const Sample& sample, const std::string& text) {
  const auto report = read_report(scenario::SourceFile{"r.json", text}, sample.library);
  return report ? "read" : report.error();
}

TEST(ReportReadError, SaysWhatToDoWithSomethingElse) {
  const Sample sample = run_on_store(reference_store());
  const std::string good = sample.json();
  const std::string advice = "name a file that `fencepost certify --json FILE` has written";
  const std::pair<std::string, std::string> table[] = {
      {"", "r.json:1:1: is not valid JSON: "},
      {"url: embedded\n", "r.json:1:1: is not valid JSON: "},
      {"{\n \"a\": 1,\n}", "r.json:3:1: is not valid JSON: "},
      {good.substr(0, 100), "r.json:"},
      {"{\"seed\": 1e999}", "r.json: is not valid JSON: number overflow"},
      {"[]", "r.json: is JSON, but not a report of this suite; "},
      {"7", "r.json: is JSON, but not a report of this suite; "},
      {R"({"suite_version": 1, "cases": []})", "r.json: is JSON, but not a report of this suite; "},
      {R"({"suite_version": "0"})", "r.json: is JSON, but not a report of this suite; "},
      {std::string(99, '['), "r.json:1:"}};
  for (const auto& [text, start] : table) {
    EXPECT_THAT(error_of(sample, text), AllOf(StartsWith(start), HasSubstr(advice)));
  }
}

// What reads, copies and compares values calls itself for each level.
TEST(ReportReadError, RefusesValuesWithinValuesToNoEnd) {
  const Sample sample = run_on_store(reference_store());
  std::string deep = sample.json();
  std::string value;
  for (int i = 0; i < 75'000; ++i) value += R"({"a":)";
  deep.insert(1, "\"unknown\": " + value + "1" + std::string(75'000, '}') + ",");
  EXPECT_THAT(error_of(sample, deep), StartsWith("r.json: its values are nested"));
}

// They are printed for people to run.
TEST(ReportReadError, RefusesCommandsThatAreNotOurs) {
  const Sample sample = run_on_store(reference_store());
  for (const char* command :
       {"curl https://e.example | sh #", "fencepost certify; rm -rf ~", "fencepost $(x)",
        "fencepost certify\nrm", "fencepost serve -- sh -c 'touch x'", "fencepost certify --json x",
        "fencepost certify-client -- sh", "fencepost certify -- sh", "fencepost certify --run",
        "fencepost certify --endpoint --json", "curl certify", "'curl x | sh #' certify",
        "/fencepost/curl certify", "A=b fencepost certify", "fencepost"}) {
    nlohmann::json changed = nlohmann::json::parse(sample.json());
    changed["command"] = command;
    EXPECT_THAT(
        error_of(sample, changed.dump()),
        StartsWith("r.json: /command: must be a command of fencepost certify, stress or explore"));
  }
}

// Else they would be lines of their own on a terminal.
TEST(ReportReadError, RefusesTextsOfMoreThanALineWhereALineIsMeant) {
  const Sample sample = run_on_store(reference_store());
  for (const char* member : {"endpoint", "started"}) {
    nlohmann::json changed = nlohmann::json::parse(sample.json());
    changed[member] = "a\nfencepost: conformant";
    EXPECT_THAT(error_of(sample, changed.dump()),
                HasSubstr("must be one line without control characters"));
  }
}

TEST(ReportReadError, NamesTheVersionThatWroteIt) {
  const Sample sample = run_on_store(reference_store());
  ordered_json report = ordered_json::parse(sample.json());
  report["suite_version"] = "9.8.7";
  EXPECT_EQ(error_of(sample, report.dump()),
            "r.json: was written by fencepost 9.8.7, and this is " + std::string(suite_version()) +
                ": use that version, or run the cases again");
}

TEST(ReportReadError, SaysWhichFileCannotBeRead) {
  const Sample sample;
  const auto report = read_report("/nowhere/r.json", sample.library);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error(), HasSubstr("cannot read /nowhere/r.json: No such file"));
}

struct Change {
  std::string pointer;  // what is set; with a value of null it is taken away
  ordered_json value;
  std::string error;
};

ordered_json changed_report(const ordered_json& good, const Change& change) {
  ordered_json out = good;
  const ordered_json::json_pointer pointer(change.pointer);
  if (change.value.is_null()) {
    out[pointer.parent_pointer()].erase(pointer.back());
  } else {
    out[pointer] = change.value;
  }
  return out;
}

void expect_errors(const std::vector<Change>& changes) {
  const Sample sample = run_on_store(reference_store());
  const ordered_json good = ordered_json::parse(sample.json());
  for (const Change& change : changes) {
    EXPECT_THAT(error_of(sample, changed_report(good, change).dump()),
                StartsWith("r.json: " + change.error))
        << change.pointer << " = " << change.value;
  }
}

TEST(ReportReadError, NamesThePlaceOfAWrongTypeOrWord) {
  const std::string entry = "/cases/0/transcript/1";
  expect_errors({
      {"/seed", nullptr, R"(/: has no member "seed")"},
      {"/seed", -1, "/seed: must be a whole number, 0 or greater, not -1"},
      {"/seed", 1.5, "/seed: must be a whole number, 0 or greater, not 1.5"},
      {"/endpoint", 7, "/endpoint: must be a string, not 7"},
      {"/strict", "yes", R"(/strict: must be true or false, not "yes")"},
      {"/profile", "both", R"(/profile: must be auto, documented or deployed, not "both")"},
      {"/transcripts", "some", R"(/transcripts: must be failures or all, not "some")"},
      {"/profile", nullptr, R"(/: has no member "profile")"},
      {"/duration_ms", -1, "/duration_ms: must be a number of milliseconds, not -1"},
      {"/duration_ms", 1e200, "/duration_ms: must be a number of milliseconds, not 1e+200"},
      {"/latency_ms", "fast", R"(/latency_ms: must be an object, not "fast")"},
      {"/clock_offset_ms", "0", R"(/clock_offset_ms: must be a whole number, not "0")"},
      {"/selection/run", "a", R"(/selection/run: must be an array, not "a")"},
      {"/selection/run", {1}, "/selection/run/0: must be a string, not 1"},
      {"/shard/index", 0, "/shard/index: must be a whole number, 1 or greater, not 0"},
      {"/shard/index", 2, "/shard/index: must be at most 1, not 2"},
      {"/cases", ordered_json::object(), "/cases: must be an array, not an object"},
      {"/cases/1", 7, "/cases/1: must be an object, not 7"},
      {"/cases/1/id", "bed", R"(/cases/1/id: there is no case "bed" here)"},
      {"/cases/1/id", "good", "/cases/1/id: the case good is twice in this report"},
      {"/cases/1/verdict", "ok", "/cases/1/verdict: must be one of warning, passed, failed, "},
      {"/cases/2/failure/step", 3, "/cases/2/failure/step: is 3, and the case has 2 steps"},
      {"/cases/1/forms_observed/set-not-applied", {"other"}, "/cases/1/forms_observed: "},
      {"/cases/1/round_trips_ms/0", "1",
       R"(/cases/1/round_trips_ms/0: must be a number of milliseconds, not "1")"},
      {entry + "/direction", "sideways",
       entry + R"(/direction: must be sent, received or event, not "sideways")"},
      {entry + "/payload", "\\x0", entry + "/payload: has an escape that is not one of "},
      {entry + "/correlation_data", "0a", entry + "/correlation_data: must be upper-case Base16"},
      {entry + "/payload_format", 256, entry + "/payload_format: must be a whole number up to 255"},
      {entry + "/user_properties/0", {"a"}, entry + "/user_properties: must be a list of"},
      {entry + "/topic", nullptr, entry + R"(: has no member "topic")"},
  });
}

TEST(ReportReadError, RefusesAReportThatContradictsItselfOrTheCases) {
  expect_errors({
      {"/transcripts", "failures", "/cases/0/transcript: must not be there: "},
      {"/extra", 1, "/extra: must not be there: "},
      {"/summary/passed", 5, "/summary/passed: is 5, and 3 is expected: "},
      {"/exit_code", 0, "/exit_code: is 0, and 1 is expected: "},
      {"/cases/0/verdict", "failed", "/summary/failed: is 1, and 2 is expected"},
      {"/cases/2/verdict", "passed", "/cases/2/failure: must not be there"},
      {"/cases/2/verdict", "expected-failure", "/cases/2/verdict: a failure is expected by a bas"},
      {"/cases/3/verdict", "failed", R"(/cases/3/verdict: is "failed", and "warning" is expected)"},
      {"/cases/0/title", "Another", R"(/cases/0/title: is "Another", and "A case" is expected: )"},
      {"/cases/0/line", 4, "/cases/0/line: is 4, and 3 is expected: "},
      {"/cases/0/requirements", {"R-MUST-1"}, "/cases/0/requirements: has 1 entries, and 2 are"},
      {"/cases/2/failure/line", 1, "/cases/2/failure/line: is 1, and "},
      {"/cases/0/transcript/1/extra", {{"deep", {1}}}, "/cases/0/transcript/1/extra: must not"},
      {"/forms_observed", ordered_json::object(), R"(/forms_observed: has no member "set-not-)"},
      {"/latency_ms/p50", 1, "/latency_ms/p50: is 1, and "},
      {"/cases/0/reproduce", "rm", R"(/cases/0/reproduce: is "rm", and "fencepost certify)"},
  });
}

}  // namespace
}  // namespace fencepost::report
