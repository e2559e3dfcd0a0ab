#include "report/github.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

Github on(std::map<std::string, std::string> more = {}) {
  more["GITHUB_ACTIONS"] = "true";
  return {true, variables_of(more)};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

std::vector<std::string> annotations(const Sample& run, const Github& github = on(),
                                     const ReportContext& context = sample_context()) {
  return lines(github.annotations(run.result, test::catalogue(), context));
}

// Errors that no root cause explains together: passes that a baseline does not expect.
Sample failures(std::size_t count, run::Verdict verdict = run::Verdict::kFailed) {
  std::vector<SampleCase> sample;
  for (std::size_t i = 0; i < count; ++i) {
    sample.push_back({.id = fmt::format("c{}", i),
                      .verdict = verdict,
                      .message = "wrong",
                      .unexpected_pass = verdict == run::Verdict::kFailed});
  }
  Sample run(sample);
  run::summarize(run.result, test::catalogue(), false);
  return run;
}

// --- when --------------------------------------------------------------------------------------

TEST(Github, IsOnWhereItRunsThisAndIsWanted) {
  EXPECT_TRUE(on().on());
  EXPECT_FALSE(Github(true, variables_of({})).on());
  EXPECT_FALSE(Github(true, variables_of({{"GITHUB_ACTIONS", "false"}})).on());
  EXPECT_FALSE(Github(false, variables_of({{"GITHUB_ACTIONS", "true"}})).on());
}

TEST(Github, SaysNothingElsewhere) {
  const Github off(false, variables_of({{"GITHUB_ACTIONS", "true"}}));
  const Sample run = every_verdict();
  EXPECT_EQ(off.pause_commands("word"), "");
  EXPECT_EQ(off.resume_commands("word"), "");
  EXPECT_EQ(off.annotations(run.result, test::catalogue(), sample_context()), "");
}

TEST(Github, PausesCommandsWhileOthersText) {
  EXPECT_EQ(on().pause_commands("word"), "::stop-commands::word\n");
  EXPECT_EQ(on().resume_commands("word"), "::word::\n");
}

// --- annotations -------------------------------------------------------------------------------

TEST(Annotations, StandAtTheFailedStepWithEverythingEscaped) {
  Sample run({{.id = "a",
               .verdict = run::Verdict::kFailed,
               .message = "50% wrong,\r\n::error::x",
               .actual = "b"}});
  run.result.cases[0].failure.position.file = "my,cases:50%.yaml";
  EXPECT_THAT(
      annotations(run),
      ElementsAre(
          "::error file=my%2Ccases%3A50%25.yaml,line=7,title=MUST R-MUST-1%3A a"
          "::#%25 wrong,??::error::x; want no such key, got b%0AR-MUST-1: The first rule.%0A"
          "step 1 at my,cases:50%25.yaml:7%0Aexpected: $-1\\r\\n%0Aactual:   b%0A"
          "reproduce: fencepost certify --seed 7 --run a%0A"));
}

TEST(Annotations, AreErrorsForFailuresAndWarningsForDoubts) {
  const auto all = annotations(every_verdict());
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_THAT(all[0], StartsWith("::error file=t.yaml,line=7,title=MUST R-MUST-1%3A bad::wrong"));
  EXPECT_THAT(all[1], StartsWith("::warning file=t.yaml,line=7,title=SHOULD R-SHOULD-1%3A warns"));
  EXPECT_THAT(all[2], StartsWith("::warning file=t.yaml,line=7,title=MUST R-MUST-1%3A late"));
}

TEST(Annotations, TellOfTheBaselineButNotOfWhatItExpects) {
  const auto all = annotations(with_baseline());
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0], "::error title=baseline::known.yaml:4: the entry gone.* matches no case");
  EXPECT_THAT(all[1], StartsWith("::error file=t.yaml,line=3,title=SHOULD R-SHOULD-1%3A outdated"));
}

TEST(Annotations, PutTheWorstFirst) {
  Sample run(
      {{.id = "may", .verdict = run::Verdict::kFailed, .requirements = "R-MAY-1", .message = "c"},
       {.id = "should",
        .verdict = run::Verdict::kFailed,
        .requirements = "R-SHOULD-1",
        .message = "a"},
       {.id = "must", .verdict = run::Verdict::kFailed, .message = "b"}});
  ReportContext context = sample_context(true);
  context.stopped_because = "interrupted";
  const auto all = annotations(run, on(), context);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(all[0], StartsWith("::error title=the run did not finish::interrupted"));
  EXPECT_THAT(all[1], HasSubstr("%3A must::"));
  EXPECT_THAT(all[2], HasSubstr("%3A should::"));
  EXPECT_THAT(all[3], HasSubstr("%3A may::"));
}

TEST(Annotations, AreOneForADifferenceAndNameItsOtherCases) {
  std::vector<SampleCase> sample;
  for (int i = 0; i < 34; ++i) {
    sample.push_back(
        {.id = fmt::format("c{:02}", i), .verdict = run::Verdict::kFailed, .message = "wrong"});
  }
  const auto all = annotations(Sample(sample));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0], HasSubstr("title=MUST R-MUST-1%3A c00 and 33 more::wrong; want no such key"));
  EXPECT_THAT(all[0], HasSubstr("%0Aalso: 33 others: c01, c02, "));
  EXPECT_THAT(all[0], HasSubstr("c20, and 13 more%0A"));
}

TEST(Annotations, AreNoMoreThanGitHubShows) {
  const auto ten = annotations(failures(10));
  ASSERT_THAT(ten, SizeIs(10));
  EXPECT_THAT(ten.back(), HasSubstr("%3A c9::wrong"));
  const auto all = annotations(failures(11));
  ASSERT_THAT(all, SizeIs(10));
  EXPECT_EQ(all.back(), "::error title=and more::2 more: see the summary of this step");
  const auto doubts = annotations(failures(30, run::Verdict::kInconclusive));
  ASSERT_THAT(doubts, SizeIs(10));
  EXPECT_EQ(doubts.back(), "::warning title=and more::21 more: see the summary of this step");
}

TEST(Annotations, NameFilesByTheirPlaceInTheRepository) {
  Sample run = failures(1);
  run.result.cases[0].failure.position.file = "/home/w/repo/cases/a.yaml";
  EXPECT_THAT(annotations(run, on({{"GITHUB_WORKSPACE", "/home/w/repo"}}))[0],
              StartsWith("::error file=cases/a.yaml,"));
  EXPECT_THAT(annotations(run, on({{"GITHUB_WORKSPACE", "/home/w/re"}}))[0],
              StartsWith("::error file=/home/w/repo/cases/a.yaml,"));
}

TEST(Annotations, AreOneLineEachWhateverTheBytes) {
  const auto all = annotations(any_bytes());
  EXPECT_THAT(all, SizeIs(3));  // the error, the failure, the inconclusive case
  for (const std::string& line : all) {
    EXPECT_THAT(line, testing::AnyOf(StartsWith("::error "), StartsWith("::warning ")));
    EXPECT_LT(line.size(), 10'000U);
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), c == '\t' ? 9 : 0x20);
  }
}

// --- summary -----------------------------------------------------------------------------------

std::string summary(const Sample& run, std::size_t most_bytes = kMaxSummaryBytes) {
  return github_summary(run.result, test::catalogue(), sample_context(), most_bytes);
}

TEST(StepSummary, HasTheVerdictTheCountsAndEachProblem) {
  const std::string text = summary(every_verdict());
  EXPECT_THAT(text, StartsWith("## State store conformance: ❌ NOT conformant\n"));
  EXPECT_THAT(text, HasSubstr("\n| 7 | 1 | 1 | 1 | 1 | 0 | 1 | 2 |\n"));
  EXPECT_THAT(text, HasSubstr("\njudged by the article and the deployed service"));
  EXPECT_THAT(text, HasSubstr("\n### Failed (1)\n"));
  EXPECT_THAT(text, HasSubstr("\n### Warnings (1)\n"));
  EXPECT_THAT(text, HasSubstr("\n### Inconclusive (1)\n"));
  EXPECT_THAT(text, HasSubstr("| <code>bad</code> | MUST R-MUST-1 | "
                              "wrong&#59; want no such key, got &#43;OK | "
                              "<code>&#36;-1&#92;r&#92;n</code> | "
                              "<code>&#43;OK&#92;r&#92;n</code> | t&#46;yaml&#58;7 |\n"));
}

TEST(StepSummary, HasOneRowForADifferenceAndNamesItsOtherCases) {
  std::vector<SampleCase> sample;
  for (int i = 0; i < 34; ++i) {
    sample.push_back(
        {.id = fmt::format("c{:02}", i), .verdict = run::Verdict::kFailed, .message = "wrong"});
  }
  const std::string text = summary(Sample(sample));
  EXPECT_THAT(text, HasSubstr("\n### Failed (1 of 34 cases)\n"));
  EXPECT_THAT(text, HasSubstr("| <code>c00</code><br>33 others&#58; c01, c02, "));
  EXPECT_THAT(text, HasSubstr("c20, and 13 more | MUST R-MUST-1 | "));
}

TEST(StepSummary, TellsWhatABaselineDid) {
  const std::string text = summary(with_baseline());
  EXPECT_THAT(text, HasSubstr("\n### The baseline is out of date (1)\n"));
  EXPECT_THAT(text, HasSubstr("\n### Passed, but the baseline expects a failure (1)\n"));
  EXPECT_THAT(text, HasSubstr("\n### Expected failures (1)\n"));
  EXPECT_THAT(text, HasSubstr("got &#43;OK<br>NEX not honoured, ACME-12"));
}

TEST(StepSummary, HasNoMarkupOfAnybodyElse) {
  for (const std::string& line : lines(summary(any_bytes()))) {
    if (!line.starts_with("| <code>")) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 7) << line;
    for (const char* text : {"<a", "<!--", "&amp;", "`", "*", "](", "::error"}) {
      EXPECT_THAT(line, Not(HasSubstr(text)));
    }
  }
}

TEST(StepSummary, FitsAndSaysWhatDoesNot) {
  const Sample run = failures(500);
  const std::string whole = summary(run, 10'000'000);
  EXPECT_GT(whole.size(), 30'000U);
  EXPECT_THAT(whole, Not(HasSubstr("did not fit")));
  const std::string text = summary(run, 20'000);
  EXPECT_LE(text.size(), 20'000U);
  EXPECT_GT(text.size(), 19'000U);
  const auto shown = std::count(text.begin(), text.end(), '\n');
  EXPECT_GT(shown, 50);
  const std::size_t rows = lines(text).size() - lines(summary(Sample({}), 20'000)).size();
  EXPECT_THAT(text, EndsWith(" more did not fit here: see the reports of the run.\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("\n{} more did not fit", 500 - (rows - 9))));
  EXPECT_EQ(summary(run, 100), "");
}

// --- files -------------------------------------------------------------------------------------

class GithubFiles : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  [[nodiscard]] std::string content(const std::string& name) const { return folder_.read(name); }
  [[nodiscard]] Github github() const {
    return on({{"GITHUB_STEP_SUMMARY", path("summary")}, {"GITHUB_OUTPUT", path("output")}});
  }
  static Result<void, std::string> write(const Github& github, const Sample& run) {
    return github.write_files(run.result, test::catalogue(), sample_context());
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(GithubFiles, GetTheSummaryAndTheOutputsBehindWhatTheyHave) {
  std::ofstream(path("summary")) << "before\n";
  std::ofstream(path("output")) << "other=1\n";
  ASSERT_TRUE(write(github(), every_verdict()));
  EXPECT_THAT(content("summary"), StartsWith("before\n## State store conformance"));
  EXPECT_EQ(content("output"),
            "other=1\nverdict=failed\nexit_code=1\ncases=7\npassed=1\nfailed=1\nwarnings=1\n"
            "skipped=1\ninconclusive=1\nexpected_failures=0\nnot_run=2\n");
}

TEST_F(GithubFiles, ShareTheRoomWithWhatIsThere) {
  std::ofstream(path("summary")) << std::string(kMaxSummaryBytes - 3'000, 'x');
  ASSERT_TRUE(write(github(), failures(500)));
  EXPECT_LE(content("summary").size(), kMaxSummaryBytes);
  EXPECT_THAT(content("summary"), HasSubstr("more did not fit here"));
  std::ofstream(path("summary")) << std::string(kMaxSummaryBytes + 10, 'x');
  ASSERT_TRUE(write(github(), failures(5)));
  EXPECT_EQ(content("summary").size(), kMaxSummaryBytes + 10);
}

TEST_F(GithubFiles, MayBeMissing) {
  EXPECT_TRUE(write(on(), every_verdict()));
  const Github nowhere =
      on({{"GITHUB_STEP_SUMMARY", path("no/summary")}, {"GITHUB_OUTPUT", path("output")}});
  const auto written = write(nowhere, every_verdict());
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error(), AllOf(HasSubstr("no/summary"), HasSubstr("No such file")));
  EXPECT_THAT(content("output"), StartsWith("verdict=failed\n"));
}

TEST_F(GithubFiles, AreLeftAloneElsewhere) {
  const Github off(true, variables_of({{"GITHUB_STEP_SUMMARY", path("summary")}}));
  ASSERT_TRUE(write(off, every_verdict()));
  EXPECT_FALSE(std::filesystem::exists(path("summary")));
}

TEST(GithubOutputs, NameEveryVerdict) {
  const auto verdict = [](const Sample& run) {
    const std::string text = github_outputs(run.result, {});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(verdict(Sample({})), "verdict=nothing-selected");
  EXPECT_EQ(verdict(Sample({{.id = "a"}})), "verdict=conformant");
  EXPECT_THAT(github_outputs(Sample({{.id = "a"}}).result, {.known_cases = 2}),
              StartsWith("verdict=part\n"));
  EXPECT_THAT(github_outputs(failures(1).result, {.known_cases = 2}),
              StartsWith("verdict=failed\n"));
  EXPECT_EQ(verdict(failures(1)), "verdict=failed");
  EXPECT_EQ(verdict(failures(1, run::Verdict::kInconclusive)), "verdict=inconclusive");
  Sample lost({{.id = "a"}});
  lost.result.endpoint_lost = true;
  EXPECT_EQ(verdict(lost), "verdict=unreachable");
  Sample interrupted({{.id = "a"}});
  interrupted.result.interrupted = true;
  EXPECT_EQ(verdict(interrupted), "verdict=interrupted");
}

}  // namespace
}  // namespace fencepost::report
