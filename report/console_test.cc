#include "report/console.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/text_wrap.h"
#include "suite/testing/fake_endpoint.h"
#include "suite/testing/paper.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::Verb;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ReportContext context(bool strict = false) {
  return {.endpoint = "mqtt://host:1883",
          .seed = 7,
          .strict = strict,
          .command = "fencepost certify --seed 7",
          .started = {},
          .preflight = {.round_trip_p50 = 1ms,
                        .round_trip_p99 = 2ms,
                        .clock_offset_ms = -3,
                        .clock_bounds = {-5, -1},
                        .clock_source = judge::ClockSource::kVersions}};
}

constexpr const char* kGood = "- get: k\n  expect: missing\n";
constexpr const char* kNotApplied = R"(
- set: {key: k, value: "one"}
  expect: ok
- set: {key: k, value: "one", options: [NX]}
  expect: not-applied
)";
constexpr const char* kBad = R"(
- set: {key: k, value: "one"}
  expect: ok
- get: k
  expect: {reply: {value: "two"}, cites: R-MUST-2}
)";

// Fails on any store, against the first requirement of the case.
constexpr const char* kBadAdvice = "- get: k\n  expect: {reply: {value: \"two\"}}\n";

struct Shown {
  ConsoleOptions options{};
  bool strict = false;
  std::string stopped_because{};
};

// What a run of these cases on the reference store prints.
std::string printed(const std::vector<CaseText>& texts, const Shown& shown = {}) {
  std::vector<scenario::Case> cases;
  for (const CaseText& text : texts) cases.push_back(case_of(text));
  std::vector<const scenario::Case*> pointers;
  for (const scenario::Case& test_case : cases) pointers.push_back(&test_case);
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const Paper paper;
  Console console(paper.file(), shown.options);
  ReportContext sample = context(shown.strict);
  sample.stopped_because = shown.stopped_because;
  const scenario::Catalogue rules = catalogue();
  console.begin(sample, rules, cases.size(), 1);
  const std::atomic<bool> stop{false};
  const run::SuiteResult result = run::run_suite(
      endpoint, pointers, catalogue(), {.settings = settings(), .strict = shown.strict}, stop,
      [&](const run::CaseResult& entry, std::size_t done, std::size_t total) {
        console.progress(entry, done, total);
      });
  console.end(result, catalogue(), sample);
  return shortened(paper.text());
}

// The lines from the first that begins like this to the next empty one.
std::string block(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find("\n\n", at + 1) - at);
}

TEST(Console, TellsAllOfAFailure) {
  const std::string text = block(printed({{.id = "bad", .steps = kBad}}), "FAILED");
  const std::string version = "__ts=001767225600000:0000";
  // The signature is one line, ready to be copied into a baseline.
  EXPECT_THAT(text, testing::StartsWith(R"(FAILED bad  A case
  rule      R-MUST-2 (must): The second rule.
  because   the reply is not the expected one
  step      2 at t.yaml:9  (get)
  expected  $3\r\ntwo\r\n
  actual    $3\r\none\r\n
  signature 'R-MUST-2: the reply is not the expected one | want)"
                                        R"( $3\r\ntwo\r\n | got $3\r\none\r\n'
  packets
)"));
  EXPECT_THAT(text, HasSubstr(R"( a    > SET "@k" "one"  )" + version));
  EXPECT_THAT(text, HasSubstr(R"( a    < +OK\r\n  __stat=200)"));
  EXPECT_THAT(text, HasSubstr(R"( a    > GET "@k")"));
  EXPECT_THAT(text, HasSubstr(R"( a    < $3\r\none\r\n)"));
  EXPECT_THAT(text, testing::EndsWith("\n  reproduce fencepost certify --seed 7 --run bad\n"));
}

TEST(Console, TellsTheLastPacketsUnlessAskedForAll) {
  std::string steps;
  for (int i = 0; i < 10; ++i) steps += "- get: k" + std::to_string(i) + "\n  expect: missing\n";
  steps += "- get: last\n  expect: {reply: {value: \"v\"}}\n";
  const std::string last = printed({{.id = "bad", .steps = steps}});
  EXPECT_THAT(last, HasSubstr("\n  last packets\n"));
  EXPECT_THAT(last, Not(HasSubstr("\"@k0\"")));
  EXPECT_THAT(last, HasSubstr("\"@last\""));
  const std::string all = printed({{.id = "bad", .steps = steps}}, {.options = {.trace = true}});
  EXPECT_THAT(all, HasSubstr("\n  packets\n"));
  EXPECT_THAT(all, HasSubstr("\"@k0\""));
}

TEST(Console, TellsWarningsAndWhatCouldNotBeDecided) {
  const CaseText warns{
      .id = "warns", .requirements = "R-SHOULD-1", .steps = "- get: k\n  expect: ok\n"};
  const CaseText late{.id = "late", .steps = R"(
- get: {key: j, mark: t}
- get: k
  expect: {reply: missing, before: t + 0ms}
)"};
  const std::string text = printed({warns, late});
  EXPECT_THAT(block(text, "WARNING"),
              HasSubstr("warns  A case\n  rule      R-SHOULD-1 (should): "));
  EXPECT_THAT(block(text, "INCONCLUSIVE"), HasSubstr("because   the reply came 0 ms after t, "));
  EXPECT_THAT(text, HasSubstr("\n2 cases: 0 passed, 1 warning, 1 inconclusive\n"));
  EXPECT_THAT(text, HasSubstr("\nno failure, but not everything could be decided\n"));
  EXPECT_THAT(block(printed({warns}, {.strict = true}), "FAILED"), HasSubstr("warns  A case"));
}

TEST(Console, EndsWithASummary) {
  const std::string text =
      printed({{.id = "good", .area = "get", .steps = kGood},
               {.id = "bad", .area = "set", .steps = kBad},
               {.id = "skipped", .more = "requires: [quota]", .steps = kGood}});
  EXPECT_THAT(text, HasSubstr("\n3 cases: 1 passed, 1 failed, 1 skipped\n"));
  EXPECT_THAT(text, HasSubstr(", longest wait of one case 0.00 s; 3 requests\n"));
  EXPECT_THAT(printed({{.steps = kGood}}, {.options = {.verbose = true}}),
              HasSubstr("\nround trip 0.020 ms (p50), 0.020 ms (p99) under load\n"));
  EXPECT_THAT(text, HasSubstr("\ndialect unknown\n"));
  EXPECT_THAT(text, testing::EndsWith("\nNOT conformant\n"));
  EXPECT_THAT(printed({{.steps = "- wait: 700ms\n- get: k\n  expect: missing\n"}}),
              HasSubstr(", longest wait of one case 0.70 s; "));
  EXPECT_THAT(printed({{.steps = kGood}}),
              testing::EndsWith("\nconformant: every case that ran passed\n"));
}

// A warning is no failure, and no pass either.
TEST(Console, SaysNotThatEverythingPassedWhenThereAreWarnings) {
  const std::string text =
      printed({{.requirements = "R-SHOULD-1", .steps = "- get: k\n  expect: ok\n"}});
  EXPECT_THAT(text, HasSubstr("1 case: 0 passed, 1 warning\n"));
  EXPECT_THAT(text, HasSubstr("\nconformant"));
  EXPECT_THAT(text, Not(HasSubstr("every case that ran passed")));
}

// A run of one case with this result.
std::string ended(run::CaseResult entry, const std::vector<std::string>& diagnostics = {},
                  const std::vector<std::string>& notes = {}) {
  const scenario::Case test_case = case_of({.id = "known", .steps = kGood});
  entry.test_case = &test_case;
  run::SuiteResult result;
  result.cases = {std::move(entry)};
  result.baseline_errors = diagnostics;
  result.baseline_notes = notes;
  run::summarize(result, catalogue(), false);
  const Paper paper;
  Console(paper.file(), {.verbose = true}).end(result, catalogue(), context());
  return paper.text();
}

TEST(Console, TellsAnExpectedFailureInOneLineWithItsReason) {
  const std::string text =
      ended({.verdict = run::Verdict::kExpectedFailure,
             .failure = {.requirement = "R-MUST-1", .message = "wrong", .steady = "wrong"},
             .baseline = "not yet, T-1"});
  EXPECT_THAT(text, HasSubstr("  x known      0.0 ms  expected failure: not yet, T-1\n"));
  EXPECT_THAT(text, Not(HasSubstr("FAILED")));
  EXPECT_THAT(text, Not(HasSubstr("signature")));
  EXPECT_THAT(text, HasSubstr("\n1 case: 0 passed, 1 expected failure\n"));
  EXPECT_THAT(text,
              testing::EndsWith("\nconformant, except for the known failures of the baseline\n"));
}

TEST(Console, TellsAPassThatTheBaselineDoesNotExpect) {
  run::CaseResult entry{.verdict = run::Verdict::kFailed,
                        .failure = {.message = "it passes"},
                        .unexpected_pass = true};
  entry.transcript = {{.client = "a", .summary = "connected"}};
  const std::string text = ended(std::move(entry));
  EXPECT_EQ(block(text, "UNEXPECTED PASS"),
            "UNEXPECTED PASS known  A case\n  because   it passes\n  case      t.yaml:3\n"
            "  reproduce fencepost certify --seed 7 --run known\n");
  EXPECT_THAT(text, testing::EndsWith("\nNOT conformant\n"));
}

TEST(Console, EndsWithWhatIsWrongWithTheBaseline) {
  const std::string text = ended({.verdict = run::Verdict::kPassed},
                                 {"known.yaml:5: gone", "known.yaml:6: late"}, {"noted"});
  EXPECT_THAT(text, HasSubstr("\nbaseline: noted\nthe baseline is out of date:\n"
                              "  known.yaml:5: gone\n  known.yaml:6: late\n"));
  EXPECT_THAT(text, testing::EndsWith("\nno new failure, but the baseline is out of date\n"));
  EXPECT_THAT(ended({.verdict = run::Verdict::kPassed}), Not(HasSubstr("baseline")));
}

TEST(Console, NamesTheFormsOfTheDialect) {
  const std::string text =
      printed({{.more = "divergence: [set-not-applied]", .steps = kNotApplied}},
              {.options = {.verbose = true}});
  EXPECT_THAT(text, HasSubstr("\ndialect deployed (set-not-applied deployed)\n"));
  EXPECT_THAT(printed({{.more = "divergence: [set-not-applied]", .steps = kNotApplied}}),
              HasSubstr("\ndialect deployed\n"));
}

TEST(Console, SaysWhyTheRunStopped) {
  EXPECT_THAT(printed({{.steps = kGood}}, {.stopped_because = "interrupted"}),
              HasSubstr("\ninterrupted\n"));
}

TEST(Console, SaysThatNothingHasShownWhatTheStoreIsJudgedBy) {
  constexpr const char* kDefault = "dialect not determined, set --profile";
  EXPECT_THAT(printed({{.id = "good", .steps = kGood}}), HasSubstr(kDefault));
  EXPECT_THAT(printed({{.more = "divergence: [set-not-applied]", .steps = kNotApplied}}),
              Not(HasSubstr(kDefault)));
}

TEST(Console, SaysWhatBecameOfACaseBeforeItRanAgain) {
  const scenario::Case test_case = case_of({.id = "slow", .steps = kGood});
  run::SuiteResult result;
  result.cases.push_back({.test_case = &test_case, .verdict = run::Verdict::kPassed});
  result.cases[0].first_attempt = run::Attempt{.failure = {.message = "no response in time"}};
  const Paper paper;
  Console console(paper.file(), {.verbose = true});
  console.end(result, catalogue(), context());
  EXPECT_THAT(paper.text(), HasSubstr("(rerun in isolation; at first inconclusive: no response in "
                                      "time)"));
}

TEST(Console, ShowsATreeOfCasesInTheirOrder) {
  const std::string text =
      printed({{.id = "one", .area = "b", .steps = kGood},
               {.id = "two", .area = "a", .steps = kBad},
               {.id = "three", .area = "b", .more = "requires: [quota]", .steps = kGood}},
              {.options = {.verbose = true}});
  const std::size_t b = text.find("\nb\n  ✓ one ");
  const std::size_t three = text.find("\n  - three ");
  const std::size_t a = text.find("\na\n  ✗ two ");
  EXPECT_LT(b, three);
  EXPECT_LT(three, a);
  EXPECT_LT(a, text.size());
  EXPECT_THAT(text, HasSubstr("skipped  quota: name the endpoint's number of keys"));
}

TEST(Console, HasALineForEachAreaUnlessAskedForAllCases) {
  const std::string text =
      printed({{.id = "one", .area = "set", .steps = kGood},
               {.id = "two", .area = "get", .steps = kGood},
               {.id = "three", .area = "set", .more = "requires: [quota]", .steps = kGood}});
  EXPECT_THAT(text, HasSubstr("\n  ✓ set  1 passed, 1 skipped\n  ✓ get  1 passed\n"));
  EXPECT_THAT(text, Not(HasSubstr("three")));
}

TEST(Console, HasNoTickForAnAreaOfWhichNothingWasSeen) {
  const std::string text =
      printed({{.id = "one", .area = "set", .steps = kGood},
               {.id = "two", .area = "quota", .more = "requires: [quota]", .steps = kGood}});
  EXPECT_THAT(text, HasSubstr("\n  ✓ set    1 passed\n  - quota  1 skipped\n"));
  const scenario::Case test_case = case_of({.id = "late", .steps = kGood});
  run::SuiteResult result;
  result.cases.push_back({.test_case = &test_case, .verdict = run::Verdict::kNotRun});
  const Paper paper;
  Console(paper.file(), {}).end(result, catalogue(), context());
  EXPECT_THAT(paper.text(), HasSubstr("  1 not run\n"));
  EXPECT_THAT(paper.text(), HasSubstr("\n  · "));
}

// A case that fails as `kBad` does, regardless of its key and value.
CaseText bad_like_the_others(const std::string& id) {
  return {.id = id,
          .steps = "- set: {key: " + id + ", value: \"" + id + "\"}\n  expect: ok\n- get: " + id +
                   "\n  expect: {reply: {value: \"two\"}, cites: R-MUST-2}\n"};
}

TEST(Console, TellsOneDifferenceOnceWithTheOtherCasesInALine) {
  std::vector<CaseText> texts;
  for (const char* id : {"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"}) {
    texts.push_back(bad_like_the_others(id));
  }
  const std::string text = printed(texts);
  EXPECT_THAT(text, HasSubstr("\n1 root cause explains 8 failures\n\nFAILED b1  A case\n"));
  EXPECT_THAT(text, HasSubstr("\n  also      7 others: b2, b3, b4, and 4 more: see a report\n"));
  EXPECT_THAT(text, Not(HasSubstr("FAILED b2")));
  const std::string all = printed(texts, {.options = {.verbose = true}});
  EXPECT_THAT(all, HasSubstr("\n  also      7 others: b2, b3, b4, b5, b6, b7, b8\n"));
}

TEST(Console, BeginsWithWhatIsAboutToHappen) {
  EXPECT_THAT(printed({{.steps = kGood}}),
              testing::StartsWith(
                  "fencepost certify " + std::string(suite_version()) +
                  "  endpoint mqtt://host:1883  profile auto  1 case, 1 in parallel  seed 7\n"
                  "preflight: round trip p50 1.000 ms, p99 2.000 ms; clock offset -3 ms (-5 to -1 "
                  "ms, from versions)\n"));
}

TEST(Console, PrintsOnlyFailuresAndTheSummaryWhenQuiet) {
  const std::string text = printed({{.id = "good", .steps = kGood}, {.id = "bad", .steps = kBad}},
                                   {.options = {.quiet = true}});
  EXPECT_THAT(text, testing::StartsWith(
                        "fencepost certify " + std::string(suite_version()) +
                        "  endpoint mqtt://host:1883  profile auto  2 cases, 1 in parallel  "
                        "seed 7\n\n1 root cause explains 1 failure\n\nFAILED bad  A case\n"));
  EXPECT_THAT(text, Not(HasSubstr("good")));
  EXPECT_THAT(text, HasSubstr("\n2 cases: 1 passed, 1 failed\n"));
}

TEST(Console, UsesEscapeCodesOnlyInColour) {
  const std::vector<CaseText> cases = {{.id = "good", .area = "get", .steps = kGood},
                                       {.id = "bad", .steps = kBad}};
  for (const bool trace : {false, true}) {
    const std::string plain = printed(cases, {.options = {.trace = trace}});
    EXPECT_THAT(plain, Not(HasSubstr("\033")));
    EXPECT_THAT(plain, Not(HasSubstr("\r")));
  }
  const std::string coloured = printed(cases, {.options = {.colour = true}});
  EXPECT_THAT(coloured, HasSubstr("\033[31mFAILED\033[0m"));
  EXPECT_THAT(coloured, HasSubstr("\033[32m✓\033[0m"));
}

TEST(Console, RewritesOneLineWhileItIsLive) {
  const std::string text = printed({{.id = "bad", .steps = kBad}, {.id = "good", .steps = kGood}},
                                   {.options = {.live = true}});
  EXPECT_THAT(text, HasSubstr("\r\033[K  1/2 done, 1 failed  bad"));
  EXPECT_THAT(text, HasSubstr("\r\033[K  2/2 done, 1 failed  good\r\033[K\n"));
}

TEST(Console, CountsWarningsApartFromFailuresWhileItIsLive) {
  const std::vector<CaseText> cases = {
      {.id = "warns", .requirements = "R-SHOULD-1", .steps = kBadAdvice},
      {.id = "bad", .steps = kBad}};
  const std::string text = printed(cases, {.options = {.live = true}});
  EXPECT_THAT(text, HasSubstr("\r\033[K  1/2 done, 1 warning  warns"));
  EXPECT_THAT(text, HasSubstr("\r\033[K  2/2 done, 1 failed, 1 warning  bad\r\033[K\n"));
  const std::string strict = printed(cases, {.options = {.live = true}, .strict = true});
  EXPECT_THAT(strict, HasSubstr("\r\033[K  2/2 done, 2 failed  bad\r\033[K\n"));
}

// A log that stands still for minutes looks like a run that does.
TEST(Console, SaysNowAndThenHowFarItIsWhereThereIsNoLiveLine) {
  const std::vector<CaseText> cases = {
      {.id = "bad", .steps = kBad}, {.id = "good", .steps = kGood}, {.id = "last", .steps = kGood}};
  EXPECT_THAT(printed(cases, {.options = {.heartbeat = 0ms}}),
              HasSubstr("\n  1/3 done, 1 failed\n  2/3 done, 1 failed\n\n"));
  EXPECT_THAT(printed(cases), Not(HasSubstr(" done")));
  EXPECT_THAT(printed(cases, {.options = {.quiet = true, .heartbeat = 0ms}}),
              Not(HasSubstr(" done")));
}

TEST(Console, SaysWhatCasesThatDidNotRunNeed) {
  const std::string text =
      printed({{.id = "ran", .steps = kGood},
               {.id = "one", .more = "requires: [quota]", .steps = kGood},
               {.id = "two", .more = "requires: [restart]", .steps = kGood},
               {.id = "three", .more = "requires: [restart]", .steps = kGood}});
  EXPECT_THAT(text, HasSubstr("\n4 cases: 1 passed, 3 skipped\nskipped: 2 need restart, 1 needs "
                              "quota: docs/DESCRIPTORS.md\n"));
  EXPECT_THAT(text,
              testing::EndsWith("\nconformant: every case that ran passed; 3 cases did not run\n"));
  EXPECT_THAT(printed({{.steps = kGood}}), Not(HasSubstr("skipped")));
}

TEST(Console, BreaksLinesAtTheWidthOfTheTerminalButForWhatIsCopied) {
  constexpr std::size_t kWidth = 60;
  const std::vector<CaseText> cases = {
      {.id = "bad", .steps = kBad}, {.id = "skipped", .more = "requires: [quota]", .steps = kGood}};
  for (const bool verbose : {false, true}) {
    std::istringstream lines(
        printed(cases, {.options = {.screen = true, .width = kWidth, .verbose = verbose}}));
    bool broken = false;
    for (std::string line; std::getline(lines, line);) {
      broken = broken || line.starts_with("    ");
      const bool whole = line.starts_with("  signature ") || line.starts_with("  reproduce ");
      if (!whole) {
        EXPECT_LE(text::columns(line), kWidth) << line;
      }
    }
    EXPECT_TRUE(broken);
  }
}

TEST(Console, ShowsNothingThatAStoreSendsUnescaped) {
  scenario::Case test_case = case_of({.steps = kGood});
  FakeEndpoint endpoint({.behaviour = answering(Verb::kGet, "\033[2J\r\n")});
  const std::atomic<bool> stop{false};
  const run::SuiteResult result =
      run::run_suite(endpoint, {&test_case}, catalogue(), {.settings = settings()}, stop,
                     [](const auto&, auto, auto) {});
  const Paper paper;
  Console(paper.file(), {}).end(result, catalogue(), context());
  EXPECT_THAT(paper.text(), HasSubstr("\\x1b[2J"));
  EXPECT_THAT(paper.text(), Not(HasSubstr("\033")));
}

TEST(Console, IsPlainWhenItWritesToAFile) {
  const Paper paper;
  const ConsoleOptions options = console_options(paper.file());
  EXPECT_FALSE(options.colour);
  EXPECT_FALSE(options.live);
  EXPECT_FALSE(options.screen);
  EXPECT_EQ(options.width, 100U);
  EXPECT_FALSE(options.quiet);
  EXPECT_FALSE(options.trace);
}

}  // namespace
}  // namespace fencepost::report
