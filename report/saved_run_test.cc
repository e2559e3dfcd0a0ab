#include "report/saved_run.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evidence/frame.h"
#include "evidence/record.h"
#include "report/report_sample.h"
#include "suite/testing/temporary_folder.h"

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
                                  .candidates = {"R-A", "R-B"},
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
  out.unspecified_points = {{"R-OPEN-1", "one"}, {"R-OPEN-1", "other"}};
  out.first_attempt =
      run::Attempt{.failure = {.message = "first", .expected = "x", .actual = "y", .step = 1}};
  out.deviations.push_back({.requirement = "R-D",
                            .direct = "d",
                            .candidates = {"s"},
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

// A file, record by record, each in a frame of its own.
class File {
 public:
  File& add(evidence::Kind kind, std::string text) {
    auto details = std::make_unique<evidence::Details>();
    details->text = std::move(text);
    evidence::Encoder encoder;
    encoder.add({.kind = kind, .details = std::move(details)});
    bytes_ += evidence::make_frame(encoder.take());
    return *this;
  }
  [[nodiscard]] scenario::SourceFile source() const { return {"f", bytes_}; }

 private:
  std::string bytes_{evidence::kMagic};
};

class SavedRunTest : public testing::Test {
 protected:
  SavedRunTest() {
    library_.catalogue = test::catalogue();
    for (const char* id : {"one", "two", "three"}) {
      library_.cases.push_back(test::case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
    }
  }

  [[nodiscard]] std::string head() const {
    return evidence_head_json({.run = {.context = sample_context(), .call = call_}}, library_);
  }
  [[nodiscard]] File file() const { return File().add(evidence::Kind::kHead, head()); }
  [[nodiscard]] run::CaseResult result(std::size_t at, Verdict verdict) const {
    return {.test_case = &library_.cases[at], .verdict = verdict};
  }
  void keep(File& file, const run::CaseResult& kept, bool undecided = false) const {
    file.add(evidence::Kind::kCase, case_json(kept, undecided, true));
  }
  [[nodiscard]] Result<std::vector<run::FinishedCase>, std::string> cases(const File& file) const {
    const auto read = read_saved_run(file.source());
    if (!read) return fail(read.error());
    return read_cases(*read, library_);
  }
  [[nodiscard]] Result<Report, std::string> report(const File& file) const {
    const auto read = read_saved_run(file.source());
    if (!read) return fail(read.error());
    return report_of(*read, library_);
  }

  scenario::Library library_;
  Call call_{.url = "mqtt://host", .scenarios = "mine", .shuffled = true, .timeout_scale = 2.5};
};

TEST_F(SavedRunTest, HasWhatARunHasFound) {
  const run::CaseResult kept = full_result(library_.cases[1]);
  File run = file();
  keep(run, kept, true);
  const auto read = cases(run);
  ASSERT_TRUE(read) << read.error();
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_TRUE(read->front().undecided);
  const run::CaseResult& again = read->front().result;
  EXPECT_EQ(case_json(again, true, true), case_json(kept, true, true));
  EXPECT_EQ(again.test_case, &library_.cases[1]);
  EXPECT_EQ(again.doubt, run::Doubt::kSilence);
  EXPECT_EQ(again.duration, kept.duration);
  EXPECT_EQ(again.round_trips, kept.round_trips);
  EXPECT_EQ(again.transcript.front().message, kept.transcript.front().message);
  EXPECT_EQ(again.deviations.front().position.line, kept.deviations.front().position.line);
}

TEST_F(SavedRunTest, HasHowTheSuiteWasCalled) {
  call_.files.set("html", "r.html");
  const auto read = read_saved_run(file().source());
  ASSERT_TRUE(read) << read.error();
  const Head& run = read->head.run;
  EXPECT_EQ(run.call.url, "mqtt://host");
  EXPECT_EQ(run.call.scenarios, "mine");
  EXPECT_EQ(run.call.timeout_scale, 2.5);
  EXPECT_TRUE(run.call.shuffled);
  EXPECT_EQ(run.call.files.of("html"), "r.html");
  EXPECT_EQ(run.context.seed, 7U);
}

TEST_F(SavedRunTest, RefusesTimesThatOverflow) {
  const auto read_with = [&](const char* name, const nlohmann::json& value) {
    auto document = nlohmann::ordered_json::parse(head());
    document["unfinished"][name] = value;
    return read_saved_run(File().add(evidence::Kind::kHead, document.dump()).source());
  };
  ASSERT_TRUE(read_with("timeout_scale", 1000));
  EXPECT_THAT(read_with("timeout_scale", 1e300).error(),
              HasSubstr("timeout_scale: must be a number greater than 0, at most 1000"));
}

TEST_F(SavedRunTest, IsReadableWhereverItIsCut) {
  File run = file();
  const std::size_t head_end = run.source().content.size();
  for (std::size_t at = 0; at < 3; ++at) keep(run, result(at, Verdict::kPassed));
  const scenario::SourceFile whole = run.source();
  std::size_t most = 0;
  for (std::size_t end = head_end; end <= whole.content.size(); ++end) {
    const auto read = read_saved_run({whole.name, whole.content.substr(0, end)});
    ASSERT_TRUE(read) << read.error();
    const auto found = read_cases(*read, library_);
    ASSERT_TRUE(found) << found.error();
    ASSERT_GE(found->size(), most);
    most = found->size();
  }
  EXPECT_EQ(most, 3U);
  for (std::size_t end = 0; end < head_end; end += 13) {
    EXPECT_FALSE(read_saved_run({whole.name, whole.content.substr(0, end)}));
  }
}

TEST_F(SavedRunTest, TheLastWordOfACaseAndOfThePreflightCounts) {
  File run = file();
  keep(run, full_result(library_.cases[0]), true);
  const std::string first_driver = call_.driver;
  call_.driver = "paho";
  ReportContext found = sample_context();
  found.preflight.clock_offset_ms = 4321;
  run.add(evidence::Kind::kHead,
          evidence_head_json({.run = {.context = found, .call = call_}}, library_));
  run::CaseResult passed = full_result(library_.cases[0]);
  passed.verdict = Verdict::kPassed;
  keep(run, passed);
  const auto kept = read_saved_run(run.source());
  ASSERT_TRUE(kept) << kept.error();
  EXPECT_EQ(kept->head.run.context.preflight.clock_offset_ms, 4321);
  EXPECT_EQ(kept->head.run.call.driver, first_driver);
  const auto read = cases(run);
  ASSERT_TRUE(read) << read.error();
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_FALSE(read->front().undecided);
  EXPECT_EQ(read->front().result.verdict, Verdict::kPassed);
}

TEST_F(SavedRunTest, ReportsAreMadeOfIt) {
  const test::TemporaryFolder folder;
  File run = file();
  keep(run, result(0, Verdict::kPassed));
  const auto path = folder.write("run.fpe", run.source().content).string();
  const auto read = read_report(path, library_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->result.summary.passed, 1U);
  EXPECT_EQ(read->result.summary.not_run, 2U);
  EXPECT_EQ(exit_code(read->result), run::ExitCode::kInterrupted);
  EXPECT_EQ(read->context.stopped_because, "the run was killed: 1 of 3 cases had finished");
}

TEST_F(SavedRunTest, OfAFileThatWasChangedTheReportSaysSo) {
  File run = file();
  keep(run, result(0, Verdict::kPassed));
  keep(run, result(1, Verdict::kPassed));
  std::string changed = run.source().content;
  changed.back() ^= 1;
  const auto report = report_of(*read_saved_run({"f", changed}), library_);
  ASSERT_TRUE(report) << report.error();
  EXPECT_THAT(report->context.stopped_because,
              HasSubstr("the run was killed: 1 of 3 cases had finished; the frame at byte "));
}

// --- a run that has come to its end

TEST_F(SavedRunTest, ARunThatHasEndedHasItsOwnEnd) {
  File run = file();
  for (std::size_t at = 0; at < 3; ++at) keep(run, result(at, Verdict::kPassed));
  const RunEnd end{
      .verdicts = {{"one", "passed"}, {"two", "passed"}, {"three", "passed"}},
      .stress = run::StressResult{
          .workload = "hot-key", .requests = 7, .command = "fencepost stress --endpoint inproc:"}};
  run.add(evidence::Kind::kEnd, run_end_json(end));
  const auto read = report(run);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->context.stopped_because, "");
  EXPECT_FALSE(read->result.interrupted);
  ASSERT_TRUE(read->result.stress);
  EXPECT_EQ(read->result.stress->requests, 7U);
}

TEST_F(SavedRunTest, ARunThatWasStoppedSaysWhy) {
  const struct {
    RunEnd end;
    const char* reason;
    run::ExitCode code;
  } kTable[] = {
      {{}, "the run did not finish", run::ExitCode::kInterrupted},
      {{.stopped_because = "interrupted"}, "interrupted", run::ExitCode::kInterrupted},
      {{.stopped_because = "the endpoint was lost", .endpoint_lost = true},
       "the endpoint was lost",
       run::ExitCode::kUnreachable},
  };
  for (const auto& row : kTable) {
    File run = file();
    keep(run, result(0, Verdict::kPassed));
    run.add(evidence::Kind::kEnd, run_end_json(row.end));
    const auto read = report(run);
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->context.stopped_because, row.reason);
    EXPECT_EQ(exit_code(read->result), row.code);
  }
}

// Who changes a failure into a pass has to change the end as well; see SECURITY.md.
TEST_F(SavedRunTest, RefusesCasesThatContradictTheEnd) {
  File run = file();
  keep(run, result(0, Verdict::kPassed));
  run.add(evidence::Kind::kEnd, run_end_json({.verdicts = {{"one", "failed R-MUST-1"}}}));
  EXPECT_EQ(report(run).error(),
            "f: the case one is failed R-MUST-1 at the end of the run, and passed by its record: "
            "the file was changed after it was written");
}

// --- what is refused

TEST_F(SavedRunTest, RefusesOtherCasesAndOtherFiles) {
  const File run = file();
  library_.cases[0].source += "# changed\n";
  EXPECT_THAT(cases(run).error(), HasSubstr("its run had other cases than these"));
  EXPECT_THAT(read_saved_run({"f", "{}\n"}).error(), HasSubstr("f: is not evidence of"));
  EXPECT_THAT(read_saved_run(File().source()).error(), HasSubstr("is not evidence of"));
  EXPECT_THAT(read_saved_run(File().add(evidence::Kind::kHead, "{}").source()).error(),
              HasSubstr("f: its header cannot be read: "));
  EXPECT_FALSE(is_saved_run({"f", "{}"}));
  EXPECT_TRUE(is_saved_run(run.source()));
}

TEST_F(SavedRunTest, RefusesWhatIsNoCaseOfTheRun) {
  for (const auto& [text, error] : {std::pair{"{}", "f: case 1 of it: "},
                                    std::pair{R"({"case":"four"})", "the id of a case"}}) {
    File run = file();
    run.add(evidence::Kind::kCase, text);
    EXPECT_THAT(cases(run).error(), HasSubstr(error));
  }
}

TEST_F(SavedRunTest, NamesTheVersionThatHasWrittenIt) {
  auto document = nlohmann::ordered_json::parse(head());
  document["suite_version"] = "0.0.9";
  EXPECT_THAT(read_saved_run(File().add(evidence::Kind::kHead, document.dump()).source()).error(),
              HasSubstr("f: was written by fencepost 0.0.9, and this is "));
  const scenario::SourceFile former{"f", document.dump() + "\n{\"case\":\"one\"}\n"};
  EXPECT_TRUE(is_saved_run(former));
  EXPECT_THAT(read_saved_run(former).error(),
              HasSubstr("f: was written by fencepost 0.0.9 in a format that is no longer read"));
}

}  // namespace
}  // namespace fencepost::report
