#include "report/baseline/known_root_cause.h"

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gate.h"
#include "report/baseline/baseline_file.h"
#include "report/baseline/baseline_fix.h"
#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::baseline {
namespace {

using namespace test;  // made for this test
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Date kToday{std::chrono::year{2026}, std::chrono::month{5}, std::chrono::day{10}};

// A case and what it shows; one that shows nothing passes.
struct Shown {
  std::string id;
  std::string what{};
  std::string requirement = "R-MUST-1";
};

struct SampleRun {
  explicit SampleRun(const std::vector<Shown>& all) {
    cases.reserve(all.size());
    for (const Shown& shown : all) {
      cases.push_back(case_of({.id = shown.id,
                               .requirements = shown.requirement,
                               .steps = "- get: k\n  expect: missing\n"}));
      run::CaseResult entry{.test_case = &cases.back(), .verdict = run::Verdict::kPassed};
      if (!shown.what.empty()) {
        entry.verdict = run::Verdict::kFailed;
        entry.failure = test::failure(shown.requirement, "the reply is not the expected one",
                                      "$-1\\r\\n", shown.what);
        entry.failure.step = 1;
      }
      result.cases.push_back(std::move(entry));
    }
    run::summarize(result, catalogue(), false);
  }
  SampleRun(const SampleRun&) = delete;  // the results would point into the other's cases
  SampleRun& operator=(const SampleRun&) = delete;
  SampleRun(SampleRun&&) = default;
  SampleRun& operator=(SampleRun&&) = default;
  ~SampleRun() = default;

  SampleRun& put_against(const Baseline& baseline, bool whole = true) {
    apply(baseline, {.today = kToday, .whole_suite = whole}, result);
    run::summarize(result, catalogue(), false);
    return *this;
  }
  [[nodiscard]] std::vector<std::string> new_failures() const {
    std::vector<std::string> out;
    for (const run::CaseResult& entry : result.cases) {
      if (entry.verdict == run::Verdict::kFailed) out.push_back(entry.test_case->id);
    }
    return out;
  }

  std::vector<scenario::Case> cases;
  run::SuiteResult result;
};

// `count` cases named `name.N` that show `what`.
std::vector<Shown> several(const std::string& name, std::size_t count, const std::string& what) {
  std::vector<Shown> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({fmt::format("{}.{}", name, i), what});
  return out;
}

std::vector<Shown> joined(std::vector<Shown> all, const std::vector<Shown>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Baseline read(const std::string& text) {
  std::vector<scenario::LoadError> errors;
  auto out = load_baseline({"known.yaml", text}, errors);
  for (const scenario::LoadError& error : errors) ADD_FAILURE() << describe(error);
  return out.value_or(Baseline{});
}

FixedBaseline fixed(const Baseline& baseline, const SampleRun& run) {
  auto out = fix_baseline(baseline, run.result, catalogue(), false);
  FENCEPOST_CHECK(out.has_value());
  return std::move(*out);
}

// What --update-baseline writes for this run, when somebody has added the reasons.
Baseline baseline_of(const std::vector<Shown>& all) {
  Baseline out = fixed(empty_baseline("known.yaml"), SampleRun(all)).baseline;
  for (KnownRootCause& known : out.differences) known.reason = "because";
  return read(to_text(out));
}

// --- judging
// --------------------------------------------------------------------------------------

TEST(KnownRootCause, IsOneEntryForAllFailuresOfAFault) {
  const auto all = joined(several("nx", 34, "+OK\\r\\n"), {{"good"}});
  const Baseline baseline = baseline_of(all);
  ASSERT_THAT(baseline.differences, SizeIs(1));
  EXPECT_EQ(baseline.differences[0].failures, 34U);
  EXPECT_EQ(baseline.differences[0].requirement, "R-MUST-1");
  EXPECT_THAT(baseline.differences[0].causes, SizeIs(1));
  EXPECT_THAT(baseline.entries, IsEmpty());
  SampleRun run(all);
  run.put_against(baseline);
  EXPECT_EQ(exit_code(run.result), run::ExitCode::kConformant);
  EXPECT_EQ(run.result.summary.expected_failures, 34U);
  EXPECT_EQ(run.result.cases[0].baseline, "because");
  EXPECT_EQ(known_and_new(baseline, run.result, catalogue(), false),
            "known: 1 root cause, 34 failures; new: none");
}

TEST(KnownRootCause, StaysKnownWhenCasesComeAndGo) {
  const Baseline baseline = baseline_of(several("nx", 34, "+OK\\r\\n"));
  for (const std::size_t count : {33U, 35U, 37U}) {
    SampleRun run(
        joined(several("nx", 20, "+OK\\r\\n"), several("other", count - 20, "+OK\\r\\n")));
    run.put_against(baseline);
    EXPECT_THAT(run.new_failures(), IsEmpty()) << count;
    EXPECT_THAT(run.result.baseline_errors, IsEmpty()) << count;
  }
}

TEST(KnownRootCause, HidesNoOtherInACaseThatFailsAlready) {
  const auto all = several("nx", 34, "+OK\\r\\n");
  const Baseline baseline = baseline_of(all);
  auto worse = all;
  worse[3].what = "-ERR syntax error\\r\\n";
  SampleRun run(worse);
  run.put_against(baseline);
  EXPECT_THAT(run.new_failures(), ElementsAre("nx.3"));
  EXPECT_EQ(known_and_new(baseline, run.result, catalogue(), false),
            "known: 1 root cause, 33 failures; new: 1 root cause, 1 failure");
  EXPECT_EQ(exit_code(run.result), run::ExitCode::kFailed);
}

TEST(KnownRootCause, CoversNoMoreThanALittleMore) {
  const Baseline baseline = baseline_of(several("nx", 34, "+OK\\r\\n"));
  EXPECT_EQ(most_failures(baseline.differences[0]), 37U);
  SampleRun run(several("nx", 38, "+OK\\r\\n"));
  run.put_against(baseline);
  EXPECT_THAT(run.new_failures(), SizeIs(38));
  EXPECT_THAT(run.result.baseline_errors,
              ElementsAre(AllOf(HasSubstr("known.yaml:3: R-MUST-1 (nx.0): 38 failures match it"),
                                HasSubstr("set failures: 38"))));
}

TEST(KnownRootCause, ThatIsMendedFailsTheRun) {
  const Baseline baseline = baseline_of(several("nx", 34, "+OK\\r\\n"));
  SampleRun mended(several("nx", 34, ""));
  mended.put_against(baseline);
  EXPECT_THAT(mended.result.baseline_errors,
              ElementsAre("known.yaml:3: R-MUST-1 (nx.0): no failure matches it any more, and the "
                          "case passes: remove the entry"));
  EXPECT_EQ(exit_code(mended.result), run::ExitCode::kFailed);
  SampleRun otherwise(several("nx", 34, "-ERR syntax error\\r\\n"));
  otherwise.put_against(baseline);
  EXPECT_THAT(otherwise.new_failures(), SizeIs(34));
  EXPECT_THAT(otherwise.result.baseline_errors, ElementsAre(HasSubstr("in another way")));
  SampleRun gone({{"good"}});
  gone.put_against(baseline);
  EXPECT_THAT(gone.result.baseline_errors, ElementsAre(HasSubstr("there is no such case")));
}

TEST(KnownRootCause, ThatIsMendedInPartIsNoted) {
  const Baseline baseline = baseline_of(several("nx", 34, "+OK\\r\\n"));
  SampleRun run(joined(several("nx", 4, "+OK\\r\\n"), several("mended", 30, "")));
  run.put_against(baseline);
  EXPECT_EQ(exit_code(run.result), run::ExitCode::kConformant);
  EXPECT_THAT(run.result.baseline_notes, ElementsAre(HasSubstr("4 of 34 failures are left")));
}

TEST(KnownRootCause, IsNotJudgedByARunThatDoesNotComeToIt) {
  const Baseline baseline = baseline_of(several("nx", 34, "+OK\\r\\n"));
  SampleRun part({{"good"}});
  part.put_against(baseline, false);
  EXPECT_THAT(part.result.baseline_errors, IsEmpty());
  EXPECT_THAT(
      part.result.baseline_notes,
      ElementsAre(HasSubstr("not judged, since no case that shows it was decided: 1 of 1")));
  SampleRun skipped(several("nx", 34, ""));
  for (run::CaseResult& entry : skipped.result.cases) entry.verdict = run::Verdict::kSkipped;
  skipped.put_against(baseline);
  EXPECT_THAT(skipped.result.baseline_errors, IsEmpty());
}

TEST(KnownRootCause, NeedsAReasonAndTimeThatIsLeft) {
  const auto all = several("nx", 3, "+OK\\r\\n");
  Baseline baseline = baseline_of(all);
  baseline.differences[0].reason.clear();
  SampleRun unexplained(all);
  unexplained.put_against(baseline);
  EXPECT_THAT(unexplained.result.baseline_errors, ElementsAre(HasSubstr("no reason")));
  baseline.differences[0].reason = "because";
  baseline.differences[0].expires = kToday;
  SampleRun in_time(all);
  in_time.put_against(baseline);
  EXPECT_THAT(in_time.result.baseline_errors, IsEmpty());
  baseline.differences[0].expires = Date{kToday.year(), kToday.month(), std::chrono::day{9}};
  SampleRun late(all);
  late.put_against(baseline);
  EXPECT_THAT(late.new_failures(), SizeIs(3));
  EXPECT_THAT(late.result.baseline_errors, ElementsAre(HasSubstr("expired on 2026-05-09")));
  EXPECT_FALSE(expects(baseline, {.today = kToday}, SampleRun(all).result.cases[0]));
}

TEST(KnownRootCause, LeavesCasesToTheirOwnEntries) {
  Baseline baseline = baseline_of(several("nx", 3, "+OK\\r\\n"));
  baseline.entries.push_back({.cases = "nx.1", .reason = "by itself"});
  SampleRun run(several("nx", 3, "+OK\\r\\n"));
  EXPECT_TRUE(expects(baseline, {.today = kToday}, run.result.cases[0]));
  run.put_against(baseline);
  EXPECT_EQ(run.result.cases[1].baseline, "by itself");
  EXPECT_EQ(run.result.cases[2].baseline, "because");
}

// --- the file
// -------------------------------------------------------------------------------------

TEST(KnownRootCause, IsWrittenAsItIsRead) {
  const std::string text =
      "# Known.\nversion: 1\n# About all.\ndifferences:\n  # About it.\n  - requirement: R-MUST-1\n"
      "    case: nx.0\n    failures: 34\n    causes:\n      - 'SET NX: want :-1, got +OK'\n"
      "      - 'it''s another'\n    reason: 'NX is ignored'\n    ticket: T-1\n"
      "    expires: 2030-01-01\nfail:\n  - case: a\n    reason: why\n";
  EXPECT_EQ(to_text(read(text)), text);
}

TEST(KnownRootCause, IsRefusedWhereItCannotBeMeant) {
  const std::string head = "version: 1\ndifferences:\n  - {requirement: R, case: c, ";
  for (const auto& [rest, words] : std::vector<std::pair<std::string, std::string>>{
           {"causes: [a]}", "failures"},
           {"failures: 0, causes: [a]}", "failures"},
           {"failures: 1}", "causes"},
           {"failures: 1, causes: []}", "causes"},
           {"failures: 1, causes: [\"a\\r\"]}", "single quotes"},
           {"failures: 1, causes: [a], signature: s}", "signature"},
           {"failures: 1, causes: [a]}\n  - {requirement: R, case: d, failures: 1, causes: [a]}",
            "this is already in the entry at line 3: a"}}) {
    std::vector<scenario::LoadError> errors;
    EXPECT_FALSE(load_baseline({"known.yaml", head + rest}, errors)) << rest;
    ASSERT_FALSE(errors.empty());
    EXPECT_THAT(describe(errors[0]), HasSubstr(words));
  }
}

// --- brought up to date
// ----------------------------------------------------------------------------

TEST(KnownRootCause, FollowsTheStoreAndKeepsItsReason) {
  const Baseline baseline = baseline_of(several("nx", 10, "+OK\\r\\n"));
  const FixedBaseline more = fixed(
      baseline, SampleRun(joined(several("nx", 8, "+OK\\r\\n"), several("n", 2, "-ERR no\\r\\n"))));
  ASSERT_THAT(more.baseline.differences, SizeIs(1));
  EXPECT_EQ(more.baseline.differences[0].reason, "because");
  EXPECT_THAT(more.baseline.differences[0].causes, SizeIs(2));
  EXPECT_THAT(more.changes, ElementsAre("changed R-MUST-1 (nx.0): 10 failures, 2 causes; was 10 "
                                        "failures, 1 cause"));
  // The same requirement, and nothing that was seen before.
  const FixedBaseline other = fixed(baseline, SampleRun(several("n", 2, "-ERR no\\r\\n")));
  ASSERT_THAT(other.baseline.differences, SizeIs(1));
  EXPECT_EQ(other.baseline.differences[0].reason, "because");
  EXPECT_EQ(other.baseline.differences[0].case_id, "n.0");
  const FixedBaseline none = fixed(baseline, SampleRun({{"nx.0"}}));
  EXPECT_THAT(none.baseline.differences, IsEmpty());
  EXPECT_THAT(none.changes, ElementsAre("removed R-MUST-1 (nx.0): no failure matches it"));
}

// For any store: what --update-baseline writes makes the run conformant, once there are reasons; a
// second time it changes nothing; fewer failures need no change; a failure of another kind is new.
TEST(KnownRootCause, OfAnyRunMakesItConformantAndHidesNothingElse) {
  const std::vector<std::string> kinds = {
      "", "", "+OK\\r\\n", "-ERR no\\r\\n", ":1\\r\\n", "$1\\r\\nx\\r\\n"};
  const std::vector<std::string> rules = {"R-MUST-1", "R-MUST-2"};
  std::mt19937 random(20261122);  // NOLINT(cert-msc51-cpp): the same runs each time
  const auto any = [&](const auto& list) { return list[random() % list.size()]; };
  for (int round = 0; round < all_or_in_gate(30, 10); ++round) {
    std::vector<Shown> all = {{"always", "+OK\\r\\n"}};
    for (int i = 0; i < 40; ++i) all.push_back({fmt::format("c.{}", i), any(kinds), any(rules)});
    const Baseline baseline = baseline_of(all);
    SampleRun run(all);
    run.put_against(baseline);
    EXPECT_EQ(exit_code(run.result), run::ExitCode::kConformant) << round;
    EXPECT_THAT(fixed(baseline, SampleRun(all)).changes, IsEmpty()) << round;
    EXPECT_EQ(to_text(read(to_text(baseline))), to_text(baseline));

    std::vector<Shown> fewer = all;
    fewer.erase(fewer.begin() + 1 + static_cast<std::ptrdiff_t>(random() % 40));
    SampleRun less(fewer);
    less.put_against(baseline, false);
    EXPECT_THAT(less.new_failures(), IsEmpty()) << round;

    std::vector<Shown> worse = all;
    Shown& changed = worse[1 + random() % 40];
    changed.what = "-ERR something else\\r\\n";
    SampleRun with_new(worse);
    with_new.put_against(baseline);
    EXPECT_THAT(with_new.new_failures(), ElementsAre(changed.id)) << round;
  }
}

}  // namespace
}  // namespace fencepost::baseline
