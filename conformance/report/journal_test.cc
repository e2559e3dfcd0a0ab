#include "conformance/report/journal.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "conformance/report/report_sample.h"
#include "conformance/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using namespace std::chrono_literals;
using run::Verdict;
using testing::HasSubstr;
using testing::SizeIs;

// Each field has a value of its own.
run::CaseResult full_result(const scenario::Case& test_case) {
  run::CaseResult out{.test_case = &test_case,
                      .verdict = Verdict::kInconclusive,
                      .failure = {.requirement = "R-MUST-1",
                                  .direct = "R-MUST-2",
                                  .suspects = {"R-A", "R-B"},
                                  .subject = "SET",
                                  .kind = judge::Mismatch::kStatus,
                                  .message = "m",
                                  .expected = "e",
                                  .actual = "a \\xff",
                                  .steady = "m | want e",
                                  .cause = "SET: m",
                                  .theme = "t",
                                  .step = 1,
                                  .position = test_case.steps[0].position},
                      .duration = 1'234'567us};
  out.transcript.push_back({.time = 3us,
                            .client = "c",
                            .direction = run::Direction::kReceived,
                            .summary = "s",
                            .message = {.topic = "t", .payload = std::string("\0\xff", 2)},
                            .payload_bytes = 7});
  out.round_trips = {1us, 1'000'001us};
  out.forms = {{codec::Divergence::kSetNotApplied, codec::DialectId::kDeployed},
               {codec::Divergence::kSetNotApplied, codec::DialectId::kDocumented}};
  out.open_points = {{"R-OPEN-1", "one"}, {"R-OPEN-1", "other"}};
  out.first_attempt =
      run::Attempt{.failure = {.message = "first", .expected = "x", .actual = "y", .step = 1}};
  out.deviations.push_back({.requirement = "R-D",
                            .direct = "d",
                            .suspects = {"s"},
                            .subject = "u",
                            .message = "n",
                            .expected = "o",
                            .actual = "p",
                            .step = 1,
                            .position = test_case.steps[0].position});
  out.notifications = 2;
  out.versioned_notifications = 1;
  out.doubt = run::Doubt::kSilence;
  return out;
}

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    library_.catalogue = test::catalogue();
    for (const char* id : {"one", "two", "three"}) {
      library_.cases.push_back(test::case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
    }
    path_ = (folder_.path() / "report.json.unfinished").string();
  }

  [[nodiscard]] std::string head() const { return head_line(sample_context(), library_, call_); }
  [[nodiscard]] scenario::SourceFile file() const { return *scenario::read_file(path_); }
  [[nodiscard]] Result<std::vector<run::Kept>, std::string> cases() const {
    const scenario::SourceFile content = file();
    const auto read = read_head(content);
    if (!read) return fail(read.error());
    return read_cases(content, *read, library_);
  }

  test::TemporaryFolder folder_;
  scenario::Library library_;
  Call call_{.url = "mqtt://host", .scenarios = "mine", .shuffled = true, .timeout_scale = 2.5};
  std::string path_;
};

TEST_F(JournalTest, KeepsWhatARunHasFound) {
  const run::CaseResult kept = full_result(library_.cases[1]);
  (*Journal::create(path_, head()))->keep(kept, true);
  const auto read = cases();
  ASSERT_TRUE(read) << read.error();
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_TRUE(read->front().undecided);
  const run::CaseResult& again = read->front().result;
  EXPECT_EQ(case_line(again, true), case_line(kept, true));
  EXPECT_EQ(again.test_case, &library_.cases[1]);
  EXPECT_EQ(again.doubt, run::Doubt::kSilence);
  EXPECT_EQ(again.duration, kept.duration);
  EXPECT_EQ(again.round_trips, kept.round_trips);
  EXPECT_EQ(again.transcript.front().message, kept.transcript.front().message);
  EXPECT_EQ(again.deviations.front().position.line, kept.deviations.front().position.line);
}

TEST_F(JournalTest, KeepsHowTheSuiteWasCalled) {
  call_.files.set("html", "r.html");
  { const auto journal = Journal::create(path_, head()); }
  const auto read = read_head(file());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->call.url, "mqtt://host");
  EXPECT_EQ(read->call.scenarios, "mine");
  EXPECT_EQ(read->call.timeout_scale, 2.5);
  EXPECT_TRUE(read->call.shuffled);
  EXPECT_EQ(read->call.files.of("html"), "r.html");
  EXPECT_EQ(read->context.seed, 7U);
}

TEST_F(JournalTest, RefusesTimesThatOverflow) {
  const auto read_with = [&](const char* name, const nlohmann::json& value) {
    auto document = nlohmann::ordered_json::parse(head());
    document["unfinished"][name] = value;
    return read_head({.name = "f", .content = document.dump() + "\n"});
  };
  ASSERT_TRUE(read_with("timeout_scale", 1000));
  EXPECT_THAT(read_with("timeout_scale", 1e300).error(),
              HasSubstr("timeout_scale: must be a number greater than 0, at most 1000"));
}

TEST_F(JournalTest, IsReadableWhereverItIsCut) {
  {
    const auto journal = Journal::create(path_, head());
    for (const scenario::Case& each : library_.cases) (*journal)->keep(full_result(each), false);
  }
  const scenario::SourceFile whole = file();
  const std::size_t head_end = whole.content.find('\n') + 1;
  std::size_t most = 0;
  for (std::size_t end = head_end; end <= whole.content.size(); ++end) {
    const scenario::SourceFile part{whole.name, whole.content.substr(0, end)};
    const auto read = read_cases(part, *read_head(part), library_);
    ASSERT_TRUE(read) << read.error();
    ASSERT_GE(read->size(), most);
    most = read->size();
  }
  EXPECT_EQ(most, 3U);
  for (std::size_t end = 0; end < head_end; ++end) {
    EXPECT_FALSE(read_head({whole.name, whole.content.substr(0, end)}));
  }
}

TEST_F(JournalTest, GoesOnBehindTheLastWholeLine) {
  (*Journal::create(path_, head()))->keep(full_result(library_.cases[0]), false);
  std::ofstream(path_, std::ios::app) << R"({"case":"tw)";
  (*Journal::go_on(path_))->keep(full_result(library_.cases[2]), false);
  const auto read = cases();
  ASSERT_TRUE(read) << read.error();
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ(read->back().result.test_case->id, "three");
}

TEST_F(JournalTest, TheLastWordOfACaseCounts) {
  {
    const auto journal = Journal::create(path_, head());
    (*journal)->keep(full_result(library_.cases[0]), true);
    run::CaseResult passed = full_result(library_.cases[0]);
    passed.verdict = Verdict::kPassed;
    (*journal)->keep(passed, false);
  }
  const auto read = cases();
  ASSERT_TRUE(read) << read.error();
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_FALSE(read->front().undecided);
  EXPECT_EQ(read->front().result.verdict, Verdict::kPassed);
}

TEST_F(JournalTest, ReportsAreMadeOfIt) {
  {
    const auto journal = Journal::create(path_, head());
    run::CaseResult passed{.test_case = &library_.cases[0], .verdict = Verdict::kPassed};
    (*journal)->keep(passed, false);
  }
  const auto read = read_report(path_, library_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->result.summary.passed, 1U);
  EXPECT_EQ(read->result.summary.not_run, 2U);
  EXPECT_EQ(exit_code(read->result), run::ExitCode::kInterrupted);
  EXPECT_EQ(read->context.stopped_because, "the run was killed: 1 of 3 cases had finished");
}

TEST_F(JournalTest, RefusesOtherCasesAndOtherFiles) {
  { const auto journal = Journal::create(path_, head()); }
  library_.cases[0].source += "# changed\n";
  EXPECT_THAT(cases().error(), HasSubstr("its run had other cases than these"));
  EXPECT_THAT(read_head({"f", "{}\n"}).error(), HasSubstr("f: is not what a killed run"));
  EXPECT_THAT(read_head({"f", R"({"unfinished":)"}).error(), HasSubstr("is not what a killed run"));
  EXPECT_THAT(read_head({"f", "{\"unfinished\":1}\n"}).error(), HasSubstr("f:1: "));
}

TEST_F(JournalTest, OneRunAtATime) {
  const auto first = Journal::create(path_, head());
  const auto second = Journal::create(path_, head());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("another run is writing it"));
  (*first)->remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(JournalTest, KnowsThatItsFileIsGone) {
  const auto journal = Journal::create(path_, head());
  (*journal)->keep(full_result(library_.cases[0]), false);
  EXPECT_TRUE((*journal)->is_whole());
  const std::string content = file().content;
  std::filesystem::remove(path_);
  EXPECT_FALSE((*journal)->is_whole());
  EXPECT_EQ((*journal)->content(), content);
}

TEST_F(JournalTest, SaysThatItCannotBeWritten) {
  EXPECT_THAT(Journal::create("/nowhere/x", head()).error(),
              HasSubstr("cannot write /nowhere/x: No such file or directory"));
  EXPECT_THAT(Journal::create("/dev/full", head()).error(), HasSubstr("it is no file"));
}

}  // namespace
}  // namespace fencepost::report
