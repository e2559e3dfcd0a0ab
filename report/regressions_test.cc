#include "report/regressions.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using run::Verdict;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

constexpr const char* kOldest = "2026-11-18T10:00:00Z";
constexpr const char* kOlder = "2026-11-19T10:00:00Z";
constexpr const char* kNewest = "2026-11-20T10:00:00Z";

SampleCase failed(const std::string& id, const std::string& actual = "+OK\\r\\n") {
  return {.id = id,
          .verdict = Verdict::kFailed,
          .message = "the reply is not the expected one",
          .actual = actual};
}

Sample run_of(const std::vector<SampleCase>& cases) {
  Sample out(cases);
  run::summarize(out.result, test::catalogue(), false);
  return out;
}

// The report of a run that began then.
Column report_of(const Sample& run, const std::string& started = kNewest) {
  ReportContext context = sample_context();
  context.started = started;
  auto out = read_column({started + ".json", to_json(run.result, test::catalogue(), context)}, "");
  EXPECT_TRUE(out) << (out ? "" : out.error());
  return out ? *out : Column{};
}

Column report_of(const std::vector<SampleCase>& cases, const std::string& started = kNewest) {
  return report_of(run_of(cases), started);
}

Regressions compared(const std::vector<Column>& earlier, const Sample& now, bool strict = false) {
  auto out = regressions(earlier, now.result, test::catalogue(), sample_context(strict));
  EXPECT_TRUE(out) << (out ? "" : out.error());
  return out ? std::move(*out) : Regressions{};
}

std::string text_of(const Regressions& found) {
  return regressions_text(found, test::catalogue(), sample_context(), 200);
}

std::string comment_of(const Regressions& found) {
  return regressions_comment(found, test::catalogue(), sample_context());
}

TEST(Regressions, AFailureThatWasKnownFailsNothing) {
  const Sample now = run_of({failed("a"), {.id = "b"}, {.id = "c"}});
  const Regressions found = compared({report_of({failed("a"), failed("b"), {.id = "c"}})}, now);
  EXPECT_EQ(found.exit, run::ExitCode::kConformant);
  EXPECT_EQ(regressions_verdict(found), "no new failure since 2026-11-20 (1 known, 1 fixed)");
  EXPECT_THAT(found.fixed, ElementsAre(Pair("R-MUST-1", ElementsAre("b"))));
  EXPECT_THAT(text_of(found), AllOf(HasSubstr("  known      R-MUST-1; case a; since " +
                                              std::string(kNewest) + "\n"),
                                    HasSubstr("  fixed      R-MUST-1; case b\n")));
  EXPECT_THAT(comment_of(found), Not(HasSubstr("conformant")));
}

TEST(Regressions, WhatPassedOrWasNotThereIsNew) {
  const Sample now = run_of({failed("a"), failed("b"), failed("c")});
  const Regressions found = compared(
      {report_of({{.id = "a"}, {.id = "b", .verdict = Verdict::kSkipped, .message = "no"}})}, now);
  EXPECT_EQ(found.exit, run::ExitCode::kFailed);
  EXPECT_EQ(regressions_verdict(found), "3 new failures since 2026-11-20 (0 known, 0 fixed)");
  EXPECT_THAT(found.notes,
              ElementsAre("the report does not decide 2 cases of this run: their failures count "
                          "as new"));
  EXPECT_THAT(comment_of(found),
              AllOf(HasSubstr("### New failures (3)\n"), HasSubstr("| a, b, c |"),
                    HasSubstr("<code>fencepost certify --seed 7 --run a</code>")));
}

// As in a baseline: a second fault must not hide behind the first.
TEST(Regressions, AFailureThatLooksDifferentIsNew) {
  const Column then = report_of({failed("a"), failed("b", "-ERR x\\r\\n")});
  EXPECT_EQ(compared({then}, run_of({failed("a", "-ERR x\\r\\n"), failed("b")})).fresh, 0U);
  const Sample now = run_of({failed("a", ":7\\r\\n"), failed("b")});
  const Regressions found = compared({then}, now);
  EXPECT_EQ(found.fresh, 1U);
  EXPECT_THAT(text_of(found), HasSubstr("failed before in another way"));
  Column other = then;
  other.suite_version = "0.0.9";  // whose texts may be others
  EXPECT_EQ(compared({other}, now).fresh, 0U);
}

TEST(Regressions, SaysHowOftenAFlakyCaseFailed) {
  const Sample now = run_of({failed("a"), {.id = "b"}, failed("c")});
  const Regressions found = compared({report_of({failed("a"), {.id = "b"}, failed("c")}, kOldest),
                                      report_of({{.id = "a"}, failed("b"), failed("c")}, kOlder),
                                      report_of({{.id = "a"}, {.id = "b"}, failed("c")})},
                                     now);
  EXPECT_EQ(found.exit, run::ExitCode::kFailed);
  EXPECT_EQ(regressions_verdict(found),
            "1 new failure, 1 of them flaky, since 2026-11-20 (1 known, 0 fixed)");
  EXPECT_THAT(text_of(found),
              AllOf(HasSubstr("flaky: failed 1 of 3 runs before"),
                    HasSubstr("  flaky      failed 1 of 3 runs, failed now; case a\n"),
                    HasSubstr("  flaky      failed 1 of 3 runs, passed now; case b\n"),
                    HasSubstr("case c; since " + std::string(kOldest)),
                    HasSubstr("2026-11-20T10:00:00Z.json, the newest of 3 reports\n")));
}

TEST(Regressions, WhatIsUndecidedNowIsNoPass) {
  const std::vector<Column> then = {report_of({{.id = "a"}, failed("b"), {.id = "c"}})};
  const Sample skipped = run_of(
      {{.id = "a", .verdict = Verdict::kSkipped, .message = "no"}, failed("b"), {.id = "c"}});
  Regressions found = compared(then, skipped);
  EXPECT_EQ(found.exit, run::ExitCode::kInconclusive);
  EXPECT_THAT(found.undecided, ElementsAre(Pair("passed then, skipped now", ElementsAre("a"))));
  EXPECT_EQ(regressions_verdict(found),
            "no new failure since 2026-11-20 (1 known, 0 fixed), but not everything could be "
            "decided");
  const Sample late = run_of({{.id = "a"},
                              {.id = "b", .verdict = Verdict::kInconclusive, .message = "late"},
                              {.id = "c"}});
  found = compared(then, late);
  EXPECT_EQ(found.exit, run::ExitCode::kInconclusive);
  EXPECT_THAT(found.undecided,
              ElementsAre(Pair("failed then, inconclusive now", ElementsAre("b"))));
  EXPECT_THAT(found.fixed, IsEmpty());
}

TEST(Regressions, AnEndpointThatIsLostHasNoVerdict) {
  Sample now = run_of({{.id = "a"}, {.id = "b", .verdict = Verdict::kLost, .message = "gone"}});
  now.result.endpoint_lost = true;
  const Regressions found = compared({report_of({{.id = "a"}, {.id = "b"}})}, now);
  EXPECT_EQ(found.exit, run::ExitCode::kUnreachable);
  EXPECT_THAT(regressions_verdict(found), StartsWith("no verdict, unreachable: no new failure"));
}

TEST(Regressions, SaysThatItComparesAPart) {
  const Sample now = run_of({failed("b")});
  const Regressions found = compared({report_of({{.id = "a"}, failed("b"), {.id = "c"}})}, now);
  EXPECT_EQ(found.exit, run::ExitCode::kConformant);
  EXPECT_EQ(regressions_verdict(found),
            "no new failure in 1 of 3 cases since 2026-11-20 (1 known, 0 fixed)");
}

TEST(Regressions, NamesWhatTheReportWasMadeWith) {
  Column then = report_of(std::vector<SampleCase>{{.id = "a"}});
  then.judged_by = "documented, preview";
  then.profile = "documented";
  then.round_trip_ms = 2;
  Sample now = run_of({{.id = "a"}});
  now.result.cases.front().round_trips = {std::chrono::milliseconds{9}};
  run::summarize(now.result, test::catalogue(), false);
  EXPECT_THAT(compared({then}, now).notes,
              AllOf(Contains(HasSubstr("is of another specification: documented, preview, and")),
                    Contains(HasSubstr("is of another profile: documented, and this run has auto")),
                    Contains("slower than stated: a reply takes 9.0 ms, 2.0 ms then")));
}

TEST(Regressions, ChangedUnspecifiedBehaviourFailsAStrictRunAlone) {
  Sample then = run_of({{.id = "a"}});
  then.result.cases.front().unspecified_points = {{"R-MAY-1", "a"}};
  run::summarize(then.result, test::catalogue(), false);
  Sample now = run_of({{.id = "a"}});
  now.result.cases.front().unspecified_points = {{"R-MAY-1", "b"}};
  run::summarize(now.result, test::catalogue(), false);
  const std::vector<Column> earlier = {report_of(then)};
  const Regressions found = compared(earlier, now);
  EXPECT_EQ(found.exit, run::ExitCode::kConformant);
  EXPECT_THAT(text_of(found),
              HasSubstr("  warning    R-MAY-1 has changed; then a; now b; case a\n"));
  EXPECT_THAT(comment_of(found), HasSubstr("### Changed unspecified behaviour (1)\n"));
  EXPECT_EQ(compared(earlier, now, true).exit, run::ExitCode::kFailed);
}

TEST(Regressions, AConcurrentFindingIsKnownByItsRule) {
  const auto stressed = [](const std::vector<SampleCase>& cases, const std::string& rule) {
    Sample out = run_of(cases);
    out.result.stress = run::StressResult{.workload = "everything", .clients = 2, .requests = 9};
    out.result.stress->command = "fencepost stress --seed 7";
    if (!rule.empty()) {
      out.result.stress->findings = {
          {.requirement = rule, .key = "k", .text = "a reply is too old"}};
    }
    return out;
  };
  const Column clean = report_of(stressed({{.id = "a"}}, ""));
  const Column broken = report_of(stressed({{.id = "a"}}, "R-MUST-2"));
  const Sample now = stressed({{.id = "a"}}, "R-MUST-2");
  const Regressions found = compared({clean}, now);
  EXPECT_EQ(found.exit, run::ExitCode::kFailed);
  EXPECT_THAT(
      text_of(found),
      HasSubstr("  new        R-MUST-2; case 2 concurrent clients; seen a reply is too old"));
  EXPECT_EQ(regressions_verdict(compared({broken}, now)),
            "no new failure since 2026-11-20 (1 known, 0 fixed)");
  // A case that is known to fail shows the same.
  const Sample both = stressed({failed("a")}, "R-MUST-1");
  EXPECT_EQ(compared({report_of({failed("a")})}, both).exit, run::ExitCode::kConformant);
  EXPECT_THAT(compared({broken}, run_of({{.id = "a"}})).notes,
              Contains("the phase stress ran then, not now"));
  EXPECT_THAT(compared({broken}, stressed({{.id = "a"}}, "")).notes,
              Contains("the phase stress found R-MUST-2 then, not now"));
}

TEST(Regressions, ACommentHoldsAnyBytes) {
  const Sample then = run_of({{.id = "failed"}, {.id = "passed"}, {.id = "skipped"}});
  const Sample now = any_bytes();
  const std::string comment = comment_of(compared({report_of(then)}, now));
  for (const char* harmful : {"](", "<a", "@", "`", "::", "<!--"}) {
    EXPECT_THAT(comment, Not(HasSubstr(harmful)));
  }
}

TEST(Regressions, ACommentIsNoLongerThanGithubTakes) {
  constexpr std::size_t kMost = 700;
  const Sample now = run_of({failed("a"), {.id = "b"}, failed("c")});
  const Column then = report_of({{.id = "a"}, failed("b"), failed("c")});
  const Regressions found = compared({then}, now);
  const std::string comment =
      regressions_comment(found, test::catalogue(), sample_context(), kMost);
  EXPECT_LE(comment.size(), kMost);
  EXPECT_THAT(comment,
              AllOf(HasSubstr("### New failures (1)\n"),
                    HasSubstr("\n1 more did not fit here: see the reports of the run.\n")));
}

TEST(Regressions, ReadsReportsTheOldestFirst) {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const Sample& run, const std::string& started,
                         const std::string& stopped = "") {
    ReportContext context = sample_context();
    context.started = started;
    context.stopped_because = stopped;
    return folder.write(name, to_json(run.result, test::catalogue(), context)).string();
  };
  const Sample run = run_of({{.id = "a"}});
  const std::string newest = write("new.json", run, kNewest);
  const std::string oldest = write("old.json", run, kOldest);
  const auto read = read_earlier_reports({newest, oldest});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->front().started, kOldest);
  const auto refused = [&](const std::string& path) {
    const auto out = read_earlier_reports({newest, path});
    return out ? "read" : out.error();
  };
  EXPECT_THAT(refused(write("part.json", run, kOlder, "interrupted")),
              HasSubstr("part.json: its run did not finish (interrupted); name the report of"));
  const Sample undecided = run_of({{.id = "a", .verdict = Verdict::kSkipped, .message = "no"}});
  EXPECT_THAT(refused(write("none.json", undecided, kOlder)), HasSubstr("no case was decided"));
  EXPECT_THAT(refused((folder.path() / "missing.json").string()), HasSubstr("missing.json"));
}

}  // namespace
}  // namespace fencepost::report
