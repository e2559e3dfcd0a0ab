#include "report/resume.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"
#include "report/run_evidence.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A run that was called with every option.
Head full_head() {
  Head out{.context = sample_context(true),
           .call = {.url = "inproc:",
                    .descriptor = "d.yaml",
                    .scenarios = "mine",
                    .driver = "paho",
                    .baseline = "b.yaml",
                    .shuffled = true,
                    .timeout_scale = 2.5,
                    .files = {{"json", "r.json"}}}};
  out.context.profile = codec::Profile::kDocumented;
  out.context.selection = {.run = {"a.*"}, .skip = {"b"}, .shard = 2, .shards = 5};
  return out;
}

Invocation full_invocation() {
  return {.call = full_head().call,
          .profile = "documented",
          .edition = "auto",
          .seed = 7,
          .strict = true,
          .selection = {.run = {"a.*"}, .skip = {"b"}},
          .shard = "2/5"};
}

// What is wrong; empty when the run may continue.
std::string diagnostic(const Invocation& given, const Head& head) {
  const auto out = completed("f", given, head);
  return out ? "" : out.error();
}

void expect_all_of_the_run(const Result<Invocation, std::string>& out) {
  ASSERT_TRUE(out) << out.error();
  EXPECT_EQ(out->call.url, "inproc:");
  EXPECT_EQ(out->call.descriptor, "d.yaml");
  EXPECT_EQ(out->call.scenarios, "mine");
  EXPECT_EQ(out->call.driver, "paho");
  EXPECT_EQ(out->call.baseline, "b.yaml");
  EXPECT_TRUE(out->call.shuffled);
  EXPECT_EQ(out->call.timeout_scale, 2.5);
  EXPECT_EQ(out->call.files.of("json"), "r.json");
  EXPECT_EQ(out->profile, "documented");
  EXPECT_EQ(out->edition, "auto");
  EXPECT_EQ(out->seed, 7U);
  EXPECT_TRUE(out->strict);
  EXPECT_THAT(out->selection.run, ElementsAre("a.*"));
  EXPECT_THAT(out->selection.skip, ElementsAre("b"));
  EXPECT_EQ(out->selection.shards, 5U);
  EXPECT_EQ(out->shard, "2/5");
}

TEST(Completed, WhatIsNotGivenIsThatOfTheRun) {
  expect_all_of_the_run(completed(
      "r.json.unfinished",
      {.call = {.descriptor = "d.yaml", .scenarios = "mine", .baseline = "b.yaml"}}, full_head()));
}

// The file may be anybody's: it could name a file to overwrite, a hook to run, a host to send a
// password to.
TEST(Completed, NoPathAndNoHostIsTakenFromTheFile) {
  struct Case {
    Call was;
    const char* said;
  };
  for (const Case& each : {
           Case{{.url = "mqtt://host"}, "f is of a run with --endpoint mqtt://host: give this opt"},
           Case{{.url = "mqtt://me:***@host"}, "with --endpoint mqtt://me:***@host: give this opt"},
           Case{{.url = "embeddedx"},
                "with --endpoint embeddedx: give this option again to resume"},
           Case{{.descriptor = "d"},
                "f is of a run with --descriptor d: give this option again to resume"},
           Case{{.scenarios = "s"},
                "f is of a run with --scenarios s: give this option again to resume"},
           Case{{.baseline = "b"},
                "f is of a run with --baseline b: give this option again to resume"},
           Case{{.files = {{"json", "j"}}},
                "f is of a run with --json j: give this option again to resume"},
           Case{{.files = {{"junit", "/etc/passwd"}}},
                "with --junit /etc/passwd: give this option again"},
           Case{{.files = {{"sarif", "s"}}}, "with --sarif s: give this option again"},
       }) {
    EXPECT_THAT(diagnostic({}, {.context = sample_context(), .call = each.was}),
                HasSubstr(each.said));
  }
  for (const char* own : {"", "inproc:", "embedded", "embedded?quota=3"}) {
    EXPECT_EQ(diagnostic({}, {.context = sample_context(), .call = {.url = own}}), "") << own;
  }
}

TEST(Completed, TheReportThatTheFileIsNamedAfterLiesBesideIt) {
  const Head head{.context = sample_context(), .call = {.files = {{"json", "/elsewhere/r.json"}}}};
  for (const auto& [file, report] : {std::pair{"here/r.json.unfinished", "here/r.json"},
                                     std::pair{"r.json.unfinished.old2", "r.json"}}) {
    const auto out = completed(file, {}, head);
    ASSERT_TRUE(out) << out.error();
    EXPECT_EQ(out->call.files.of("json"), report);
  }
  EXPECT_FALSE(completed("here/other.json.unfinished", {}, head));
}

TEST(Completed, WhatIsGivenMayBeTheSame) {
  expect_all_of_the_run(completed("f", full_invocation(), full_head()));
  Invocation automatic = full_invocation();
  automatic.shard = "auto";
  expect_all_of_the_run(completed("f", automatic, full_head()));
}

TEST(Completed, ReportsAndTimeLimitsMayBeOthers) {
  const auto out = completed("f",
                             {.call = {.descriptor = "d.yaml",
                                       .scenarios = "mine",
                                       .baseline = "b.yaml",
                                       .timeout_scale = 3,
                                       .files = {{"badge", "b"}}}},
                             full_head());
  ASSERT_TRUE(out) << out.error();
  EXPECT_EQ(out->call.timeout_scale, 3);
  EXPECT_EQ(out->call.files.of("badge"), "b");
  EXPECT_EQ(out->call.files.of("json"), "");
}

TEST(Completed, OfAWholeRunThereIsNoShard) {
  EXPECT_EQ(completed("f", {}, {.context = sample_context()})->shard, "");
}

TEST(Completed, NamesTheOptionThatContradicts) {
  const Head plain{.context = sample_context(), .call = {.url = "inproc:"}};
  struct Case {
    Invocation given;
    const Head& head;
    const char* said;
  };
  const Head full = full_head();
  for (const Case& each : {
           Case{{.call = {.url = "embedded"}},
                plain,
                "f is of a run with --endpoint inproc:, and --endpoint embedded contradicts it; "
                "leave --endpoint out to resume"},
           Case{{.call = {.descriptor = "x"}}, full, "--descriptor d.yaml, and --descriptor x con"},
           Case{{.call = {.descriptor = "x"}},
                plain,
                "with no --descriptor, and --descriptor x con"},
           Case{{.call = {.scenarios = "x"}}, full, "with --scenarios mine, and --scenarios x con"},
           Case{{.call = {.driver = "x"}}, full, "with --driver paho, and --driver x contradicts"},
           Case{{.call = {.baseline = "x"}}, full, "with --baseline b.yaml, and --baseline x con"},
           Case{{.call = {.shuffled = true}},
                plain,
                "f is of a run with no --shuffle, and --shuffle"},
           Case{{.profile = "auto"},
                full,
                "with --profile documented, and --profile auto contradicts"},
           Case{{.edition = "ga"}, full, "with --edition auto, and --edition ga contradicts it"},
           Case{{.seed = 4}, full, "with --seed 7, and --seed 4 contradicts it; leave --seed out"},
           Case{{.strict = true}, plain, "f is of a run with no --strict"},
           Case{{.selection = {.run = {"x"}}}, full, "f is of a run with another selection of cas"},
           Case{{.selection = {.skip = {"b"}}},
                full,
                "with another selection of cases: leave the selection"},
           Case{{.selection = {.tags = {"x"}}}, plain, "with another selection of cases"},
           Case{{.selection = {.requirements = {"x"}}}, plain, "with another selection of cases"},
           Case{{.shard = "3/5"}, full, "with --shard 2/5, and --shard 3/5 contradicts it"},
           Case{{.shard = "2/5"}, plain, "with no --shard, and --shard 2/5 contradicts it"},
       }) {
    EXPECT_THAT(diagnostic(each.given, each.head), HasSubstr(each.said));
  }
}

TEST(Completed, SaysTheFirstContradiction) {
  EXPECT_THAT(diagnostic({.profile = "auto", .seed = 4, .shard = "3/5"}, full_head()),
              HasSubstr("--profile auto contradicts"));
}

class ResumeTest : public testing::Test {
 protected:
  ResumeTest() {
    library_.catalogue = test::catalogue();
    for (const char* id : {"one", "two"}) {
      library_.cases.push_back(test::case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
    }
    path_ = (folder_.path() / "r.json.unfinished").string();
  }

  void keep(const std::vector<run::Verdict>& verdicts) {
    Call beside;
    beside.files.set("json", path_.substr(0, path_.size() - std::string(kUnfinished).size()));
    const ReportContext context = sample_context();
    RunEvidence evidence(context, [](const std::string& text) { ADD_FAILURE() << text; });
    evidence.begin({.run = {.context = context, .call = beside}, .has_packets = false}, library_);
    for (std::size_t at = 0; at < verdicts.size(); ++at) {
      evidence.keep({.test_case = &library_.cases[at], .verdict = verdicts[at]}, false);
    }
  }

  test::TemporaryFolder folder_;
  scenario::Library library_;
  std::string path_;
};

TEST_F(ResumeTest, GoesOnWithAllButTheCasesThatLostTheEndpoint) {
  keep({run::Verdict::kLost, run::Verdict::kFailed});
  const auto resumed = resume(path_, {});
  ASSERT_TRUE(resumed) << resumed.error();
  EXPECT_EQ(resumed->invocation.seed, 7U);
  EXPECT_EQ(resumed->kept.head.run.context.started, "2026-01-01T00:00:00Z");
  const auto finished = finished_cases(*resumed, library_);
  ASSERT_TRUE(finished) << finished.error();
  ASSERT_THAT(*finished, SizeIs(1));
  EXPECT_EQ(finished->front().result.test_case, &library_.cases[1]);
}

TEST_F(ResumeTest, RefusesWhatIsNotThereOrAnythingElse) {
  EXPECT_THAT(resume(path_, {}).error(), HasSubstr("cannot read " + path_));
  folder_.write("r.json.unfinished", "{}");
  EXPECT_THAT(resume(path_, {}).error(), HasSubstr(path_ + ": is not evidence of"));
  std::filesystem::remove(path_);
  keep({});
  EXPECT_THAT(resume(path_, {.seed = 8}).error(), HasSubstr(path_ + " is of a run with --seed 7"));
}

TEST_F(ResumeTest, RefusesOtherCases) {
  keep({run::Verdict::kPassed});
  const auto resumed = resume(path_, {});
  library_.cases[0].source += "# changed\n";
  EXPECT_THAT(finished_cases(*resumed, library_).error(), HasSubstr("its run had other cases"));
}

}  // namespace
}  // namespace fencepost::report
