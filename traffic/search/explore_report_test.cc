#include "traffic/search/explore_report.h"

#include <string>

#include <gtest/gtest.h>

namespace fencepost::search {
namespace {

using namespace std::chrono_literals;
using run::ExitCode;

TEST(ExploreReport, TellsHowFarItHasCome) {
  EXPECT_EQ(progress_text({.elapsed = 3s, .examples = 200, .requests = 1'500, .undecidable = 2}),
            "3 s  200 workloads  1500 operations (500/s)  2 undecidable");
  EXPECT_EQ(progress_text({.ignored = 4, .cut_short = 5, .doing = "shrinking"}),
            "0 s  0 workloads  0 operations (0/s)  0 undecidable  4 ignored  5 cut short by a "
            "connection that ended  shrinking");
}

TEST(ExploreReport, SaysWhatTheStoreIsJudgedBy) {
  EXPECT_EQ(basis_text({}, true), "the article and the deployed service");
  EXPECT_EQ(basis_text({.waived = {"A", "B"}}, false),
            "the article and the deployed service; 2 rules do not apply");
  judge::OracleBasis article;
  article.dialect = codec::DialectId::kDocumented;
  EXPECT_EQ(basis_text(article, false), "the article alone");
  EXPECT_EQ(basis_text(article, true),
            "the article alone, because the store uses the spellings of the article");
}

TEST(ExploreReport, ConcludesWithTheWorst) {
  ExploreResult result;
  EXPECT_EQ(conclude(result).code, ExitCode::kInconclusive);  // nothing was answered
  EXPECT_EQ(conclude(result).text, "not decided: no operation was answered");
  result.progress.requests = 1;
  EXPECT_EQ(conclude(result).code, ExitCode::kConformant);
  EXPECT_EQ(conclude(result).text, "no rule is broken");
  result.found.push_back({.runs = 5, .failed = 0});
  EXPECT_EQ(conclude(result).code, ExitCode::kInconclusive);
  EXPECT_EQ(conclude(result).text,
            "a rejection was seen once and not reproduced: nothing is proved");
  result.interrupted = true;
  EXPECT_EQ(conclude(result).code, ExitCode::kInterrupted);
  EXPECT_EQ(conclude(result).text, "interrupted");
  result.lost = endpoint::Error{endpoint::ErrorKind::kLost, "gone"};
  EXPECT_EQ(conclude(result).code, ExitCode::kUnreachable);
  EXPECT_EQ(conclude(result).text, "");
  EXPECT_EQ(conclude(result).diagnostic, "the endpoint was lost during the run: gone");
  result.found.push_back({.runs = 5, .failed = 1});
  EXPECT_EQ(conclude(result).code, ExitCode::kFailed);
  EXPECT_EQ(conclude(result).text, "the store breaks a rule");
  EXPECT_EQ(conclude(result).diagnostic, "");
}

// An enumeration proves something when nothing of it is left out.
TEST(ExploreReport, ConcludesWhatWasEnumerated) {
  ExploreResult result;
  result.progress = {.elapsed = 2s, .examples = 100, .requests = 1'000, .of = 400, .in_all = 400};
  EXPECT_EQ(progress_text(result.progress),
            "2 s  100 of 400 workloads  1000 operations (500/s)  0 undecidable  about 6 s to go");
  EXPECT_EQ(progress_text(result.progress, true),
            "2 s  100 of 400 workloads  1000 operations (500/s)  0 undecidable");
  EXPECT_EQ(conclude(result).code, ExitCode::kInconclusive);
  EXPECT_EQ(conclude(result).text,
            "not decided: the time ended after 100 of 400 workloads, none of which breaks a rule; "
            "increase --duration");
  result.progress.examples = 400;
  result.progress.undecidable = 25;
  EXPECT_EQ(conclude(result).code, ExitCode::kConformant);
  EXPECT_EQ(conclude(result).text,
            "no rule is broken in all 400 workloads; 97.5 % of their operations were decided");
  result.progress.in_all = 900;  // a part is never said to be the whole
  EXPECT_EQ(conclude(result).text,
            "no rule is broken in 400 of 900 workloads; 97.5 % of their operations were decided");
  result.progress.part = "shard 2 of 8 of all 7200 workloads of depth 2";
  EXPECT_EQ(conclude(result).text,
            "shard 2 of 8 of all 7200 workloads of depth 2: no rule is broken in 400 of 900 "
            "workloads; 97.5 % of their operations were decided");
  result.progress.in_all = 400;
  EXPECT_EQ(conclude(result).text,
            "shard 2 of 8 of all 7200 workloads of depth 2: no rule is broken in its 400 "
            "workloads; 97.5 % of their operations were decided");
  EXPECT_EQ(open_text(result), "");
  result.open = {{"A", 1}, {"B", 3}};
  EXPECT_EQ(open_text(result), "undecidable workloads: B (3), A (1)");
  for (const char* more : {"C", "D", "E", "F"}) result.open[more] = 2;
  EXPECT_TRUE(open_text(result).ends_with(", and 3 more")) << open_text(result);
}

// What a green verdict rests on.
TEST(ExploreReport, ConcludesNothingFromLittle) {
  ExploreResult result;
  result.progress = {.examples = 100, .requests = 1'000, .undecidable = 500, .cut_short = 5};
  EXPECT_EQ(conclude(result).code, ExitCode::kConformant);
  result.progress.cut_short = 6;
  EXPECT_EQ(conclude(result).code, ExitCode::kInconclusive);
  EXPECT_NE(conclude(result).text.find("6 of 100 workloads were cut short"), std::string::npos);
  result.progress = {.of = 10, .in_all = 10};
  EXPECT_NE(conclude(result).text.find("the time ended after 0 of 10"), std::string::npos);
  result.progress = {.examples = 100, .requests = 1'000, .undecidable = 500, .cut_short = 6};
  result.ended_by_broker = 5;
  EXPECT_EQ(conclude(result).code, ExitCode::kConformant) << "the others were ended by us";
  result.ended_by_broker = 6;
  EXPECT_EQ(conclude(result).code, ExitCode::kInconclusive);
  result.ended_by_broker.reset();
  result.progress.cut_short = 0;
  result.progress.undecidable = 501;
  EXPECT_EQ(conclude(result).code, ExitCode::kInconclusive);
  EXPECT_NE(conclude(result).text.find("501 of 1000 operations"), std::string::npos);
}

TEST(ExploreReport, OneInTwentyMayBeCutShort) {
  EXPECT_FALSE(too_many_cut_short(0, 0));
  EXPECT_FALSE(too_many_cut_short(5, 100));
  EXPECT_TRUE(too_many_cut_short(6, 100));
  EXPECT_TRUE(too_many_cut_short(1, 19));
}

TEST(ExploreReport, TellsWhatHasBecomeOfASavedWorkload) {
  JudgedRun wrong;
  wrong.rejection = Rejection{.judgement = {.requirement = "FT-LOWER-1"}};
  const struct {
    std::string requirement;
    std::vector<JudgedRun> runs;
    const char* text;
  } kTable[] = {
      {"", {}, "a.trace  not run"},
      {"", {{}, {}}, "a.trace  accepted in 2 of 2 runs"},
      {"FT-LOWER-1", {{}}, "a.trace  accepted in 1 of 1 run; recorded: FT-LOWER-1"},
      {"", {{}, wrong}, "a.trace  still rejected in 1 of 2 runs"},
      {"FT-LOWER-1",
       {wrong, wrong},
       "a.trace  still rejected in 2 of 2 runs; recorded: FT-LOWER-1"},
      {"SET-NX-2",
       {wrong},
       "a.trace  rejected for another reason in 1 of 1 run; recorded: SET-NX-2"},
  };
  for (const auto& row : kTable) {
    const ReplayedWorkload replayed{
        .file = "a.trace", .requirement = row.requirement, .runs = row.runs};
    EXPECT_EQ(replayed_text(replayed), row.text);
  }
  const ReplayedWorkload second{.runs = {{}, wrong}};
  EXPECT_EQ(second.rejected(), &second.runs[1]);
  EXPECT_EQ(ReplayedWorkload{.runs = {{}}}.rejected(), nullptr);
}

}  // namespace
}  // namespace fencepost::search
