#include "report/run_evidence.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>

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
using testing::StartsWith;

TEST(PlaceBesideReports, IsBesideTheFirstReportThatIsAFile) {
  const test::TemporaryFolder folder;
  const std::string old_report = folder.write("old.json", "{}").string();
  EXPECT_EQ(place_beside({}), "");
  EXPECT_EQ(place_beside({{"json", "-"}}), "");
  EXPECT_EQ(place_beside({{"json", "/dev/null"}}), "");
  EXPECT_EQ(place_beside({{"json", folder.path().string()}}), "");
  EXPECT_EQ(place_beside({{"json", old_report}, {"html", "h"}}), old_report + ".unfinished");
  EXPECT_EQ(place_beside({{"json", "-"}, {"junit", "/dev/null"}, {"html", "h"}, {"sarif", "s"}}),
            "h.unfinished");
  EXPECT_EQ(place_beside({{"junit", "j"}, {"html", "h"}}), "j.unfinished");
  EXPECT_EQ(place_beside({{"sarif", "s"}, {"badge", "b"}}), "s.unfinished");
  EXPECT_EQ(place_beside({{"badge", "b"}}), "b.unfinished");
}

class RunEvidenceTest : public testing::Test {
 protected:
  RunEvidenceTest() {
    library_.catalogue = test::catalogue();
    for (const char* id : {"one", "two", "three"}) {
      library_.cases.push_back(test::case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
    }
    context_.transcripts = Transcripts::kFailures;
    call_.files.set("json", path("r.json"));
    place_ = path("r.json.unfinished");
  }

  [[nodiscard]] std::string path(const char* name) const {
    return (folder_.path() / name).string();
  }
  [[nodiscard]] EvidenceHead head(bool has_packets = false) const {
    return {.run = {.context = context_, .call = call_}, .has_packets = has_packets};
  }
  [[nodiscard]] RunEvidence evidence() {
    return {context_, [this](const std::string& text) { said_.push_back(text); }};
  }
  [[nodiscard]] run::CaseResult result(std::size_t at,
                                       run::Verdict verdict = run::Verdict::kPassed) const {
    run::CaseResult out{.test_case = &library_.cases[at], .verdict = verdict};
    out.transcript.push_back({.client = "c", .summary = "a packet"});
    return out;
  }
  // What a run that was killed leaves.
  void leave(std::size_t cases) {
    RunEvidence killed = evidence();
    killed.begin(head(), library_);
    for (std::size_t at = 0; at < cases; ++at) killed.keep(result(at), false);
  }
  [[nodiscard]] std::size_t cases_in(const std::string& file) const {
    const auto kept = read_saved_run(*scenario::read_file(file));
    return kept ? kept->cases.size() : 0;
  }

  test::TemporaryFolder folder_;
  scenario::Library library_;
  ReportContext context_ = sample_context();
  Call call_;
  std::string place_;
  std::vector<std::string> said_;
};

TEST_F(RunEvidenceTest, IsGoneWhenTheReportsAreWritten) {
  RunEvidence run = evidence();
  run.begin(head(), library_);
  run.keep(result(0), false);
  EXPECT_EQ(cases_in(place_), 1U);
  (void)run.end("{}", true, path("spare"));
  EXPECT_FALSE(std::filesystem::exists(place_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RunEvidenceTest, StaysWhenTheyAreNotAndTheUserLearnsWhere) {
  call_.files.set("json", path("my r.json"));
  RunEvidence run = evidence();
  run.begin(head(), library_);
  run.keep(result(0), false);
  (void)run.end("{}", false, path("spare"));
  const std::string place = "'" + path("my r.json.unfinished") + "'";
  EXPECT_THAT(said_,
              ElementsAre("the results of the run are in " + place +
                          "; write the reports with: fencepost merge " + place + " --json FILE"));
}

TEST_F(RunEvidenceTest, WithoutAReportNothingIsKept) {
  call_.files.set("json", "-");
  RunEvidence run = evidence();
  run.begin(head(), library_);
  run.keep(result(0), false);
  (void)run.end("{}", false, path("spare"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RunEvidenceTest, HasPacketsOfWhatDidNotPassOrDeviated) {
  RunEvidence run = evidence();
  run.begin(head(), library_);
  const auto added = [&](const run::CaseResult& kept) {
    run.keep(kept, false);
    return read_saved_run(*scenario::read_file(place_))->cases.back();
  };
  EXPECT_THAT(added(result(0)), Not(HasSubstr("a packet")));
  EXPECT_THAT(added(result(1, run::Verdict::kFailed)), HasSubstr("a packet"));
  run::CaseResult deviated = result(2);
  deviated.deviations.push_back({.requirement = "R-MUST-1"});
  EXPECT_THAT(added(deviated), HasSubstr("a packet"));
  context_.transcripts = Transcripts::kAll;
  EXPECT_THAT(added(result(0)), HasSubstr("a packet"));
}

TEST_F(RunEvidenceTest, GoesOnWithWhatAKilledRunHasLeft) {
  leave(1);
  RunEvidence run = evidence();
  run.go_on(*read_saved_run(*scenario::read_file(place_)), {}, head(), library_);
  run.keep(result(1), false);
  EXPECT_EQ(cases_in(place_), 2U);
  (void)run.end("{}", true, path("spare"));
  EXPECT_FALSE(std::filesystem::exists(place_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RunEvidenceTest, ANewRunPutsAsideWhatAKilledOneHasLeft) {
  leave(2);
  const std::string left = folder_.read("r.json.unfinished");
  evidence().begin(head(), library_);
  EXPECT_EQ(folder_.read("r.json.unfinished.old"), left);
  EXPECT_EQ(cases_in(place_), 0U);
  EXPECT_THAT(said_, ElementsAre("an earlier run was killed when 2 of its cases had finished; to "
                                 "resume it, add --resume " +
                                 place_ + ".old to its command"));
}

TEST_F(RunEvidenceTest, WhatHasNoCaseIsReplacedWithoutAWord) {
  leave(0);
  leave(0);
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(place_ + ".old to its command"));
}

TEST_F(RunEvidenceTest, WhatStoodThereBeforeStays) {
  folder_.write("r.json.unfinished", "anything\n");
  evidence().begin(head(), library_);
  EXPECT_EQ(folder_.read("r.json.unfinished"), "anything\n");
  EXPECT_THAT(said_,
              ElementsAre(HasSubstr("the file that is there is not evidence of this version")));
}

TEST_F(RunEvidenceTest, ALinkIsNotFollowed) {
  folder_.write("theirs", "precious");
  std::filesystem::create_symlink(folder_.path() / "theirs", place_);
  evidence().begin(head(), library_);
  EXPECT_EQ(folder_.read("theirs"), "precious");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("it is a symbolic link; name the file itself")));
}

TEST_F(RunEvidenceTest, WhatWasPutAsideBeforeStays) {
  leave(1);
  folder_.write("r.json.unfinished.old", "precious");
  const std::string left = folder_.read("r.json.unfinished");
  evidence().begin(head(), library_);
  EXPECT_EQ(folder_.read("r.json.unfinished.old"), "precious");
  EXPECT_EQ(folder_.read("r.json.unfinished.old2"), left);
  EXPECT_THAT(said_, ElementsAre(EndsWith("add --resume " + place_ + ".old2 to its command")));
}

TEST_F(RunEvidenceTest, WhatAnotherRunIsWritingIsLeftAlone) {
  RunEvidence other = evidence();
  other.begin(head(), library_);
  other.keep(result(0), false);
  evidence().begin(head(), library_);
  EXPECT_EQ(cases_in(place_), 1U);
  EXPECT_THAT(said_,
              ElementsAre(AllOf(HasSubstr("another run is writing it"),
                                EndsWith("; the results of this run are lost if it is killed"))));
}

TEST_F(RunEvidenceTest, SaysThatItCannotBeBegun) {
  call_.files.set("json", "/nowhere/r.json");
  RunEvidence run = evidence();
  run.begin(head(), library_);
  run.keep(result(0), false);
  (void)run.end("{}", false, path("spare"));
  EXPECT_THAT(said_, ElementsAre("cannot write /nowhere/r.json.unfinished: No such file or "
                                 "directory; the results of this run are lost if it is killed"));
}

TEST_F(RunEvidenceTest, SaysThatItCannotGoOn) {
  RunEvidence run = evidence();
  run.go_on({.file = "/nowhere/r.json.unfinished", .head = head()}, {}, head(), library_);
  EXPECT_THAT(said_, ElementsAre(StartsWith("cannot write /nowhere/r.json.unfinished: ")));
}

// While it lives, files do not grow beyond `bytes`: writing fails as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);  // NOLINT(cert-err33-c)
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);  // NOLINT: the C API is like this
};

TEST_F(RunEvidenceTest, AFullDiskIsSaidOnceAndLosesNothingThatIsStillKnown) {
  RunEvidence run = evidence();
  run.begin(head(), library_);
  run.keep(result(0), false);
  {
    const FullDisk full(std::filesystem::file_size(place_) + 1);
    run.keep(result(1), false);
    run.keep(result(2), false);
  }
  EXPECT_THAT(said_,
              ElementsAre("cannot write " + place_ +
                          ": File too large; the results of this run are lost if it is killed"));
  EXPECT_EQ(cases_in(place_), 1U);
  (void)run.end("{}", false, path("spare"));  // there is room again
  EXPECT_EQ(cases_in(place_), 3U);
  EXPECT_FALSE(std::filesystem::exists(path("spare")));
}

TEST_F(RunEvidenceTest, WhatWasRemovedIsWrittenElsewhere) {
  RunEvidence run = evidence();
  run.begin(head(), library_);
  run.keep(result(0), false);
  std::filesystem::remove(place_);
  (void)run.end("{}", false, path("spare"));
  EXPECT_EQ(cases_in(path("spare")), 1U);
  EXPECT_THAT(said_, ElementsAre(StartsWith("the results of the run are in " + path("spare"))));
}

TEST_F(RunEvidenceTest, SaysThatItCannotBeWrittenElsewhere) {
  RunEvidence run = evidence();
  run.begin(head(), library_);
  std::filesystem::remove(place_);
  (void)run.end("{}", false, "/nowhere/spare");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("cannot write the report /nowhere/spare")));
}

// --- with packets

class EvidenceWithPackets : public RunEvidenceTest {
 protected:
  EvidenceWithPackets() { asked_ = path("run.fpe"); }
  // What a run that was killed leaves, or one that has come to its end.
  void run_with_packets(std::size_t cases, bool ends) {
    RunEvidence run = evidence();
    ASSERT_TRUE(run.open(asked_));
    run.begin(head(true), library_);
    for (std::size_t at = 0; at < cases; ++at) run.keep(result(at), false);
    if (ends) {
      EXPECT_TRUE(run.end("{}", true, path("spare")));
    }
  }
  [[nodiscard]] SavedRun kept(const std::string& file) const {
    return *read_saved_run(*scenario::read_file(file));
  }

  std::string asked_;
};

TEST_F(EvidenceWithPackets, StaysAndNothingStandsBeside) {
  run_with_packets(2, true);
  EXPECT_EQ(cases_in(asked_), 2U);
  EXPECT_EQ(kept(asked_).end, "{}");
  EXPECT_FALSE(std::filesystem::exists(place_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(EvidenceWithPackets, IsPutAsideWhereARunWasKilled) {
  run_with_packets(2, true);
  run_with_packets(1, false);  // in the place of one that had ended
  EXPECT_THAT(said_, IsEmpty());
  run_with_packets(0, false);
  EXPECT_EQ(cases_in(asked_ + ".old"), 1U);
  EXPECT_THAT(said_, ElementsAre(EndsWith("add --resume " + asked_ + ".old to its command")));
}

TEST_F(EvidenceWithPackets, ReplacesAnythingElse) {
  folder_.write("run.fpe", "anything\n");
  run_with_packets(1, true);
  EXPECT_EQ(cases_in(asked_), 1U);
}

TEST_F(EvidenceWithPackets, IsNotChangedByARunThatGoesOnWithIt) {
  run_with_packets(1, false);
  const std::string left = folder_.read("run.fpe");
  {
    RunEvidence run = evidence();
    run.go_on(kept(asked_), {{.result = result(0)}}, head(), library_);
    run.keep(result(1), false);
  }
  EXPECT_EQ(folder_.read("run.fpe"), left);
  EXPECT_EQ(cases_in(place_), 2U);
}

TEST_F(EvidenceWithPackets, GoesOnInANewFileThatHasWhatHadFinished) {
  run_with_packets(1, true);
  RunEvidence run = evidence();
  const SavedRun earlier = kept(asked_);
  ASSERT_TRUE(run.open(asked_, asked_));
  run.go_on(earlier, {{.result = result(0)}}, head(true), library_);
  run.keep(result(1), false);
  EXPECT_TRUE(run.end("{}", true, path("spare")));
  EXPECT_EQ(cases_in(asked_), 2U);
  EXPECT_EQ(cases_in(asked_ + ".old"), 1U);
}

TEST_F(EvidenceWithPackets, TakesThePlaceOfWhatHasNone) {
  leave(1);
  RunEvidence run = evidence();
  ASSERT_TRUE(run.open(asked_, place_));
  run.go_on(kept(place_), {{.result = result(0)}}, head(true), library_);
  EXPECT_TRUE(std::filesystem::exists(place_));  // until the reports are written
  EXPECT_TRUE(run.end("{}", true, path("spare")));
  EXPECT_FALSE(std::filesystem::exists(place_));
}

TEST_F(EvidenceWithPackets, OfTheSameNameIsNotRemoved) {
  leave(1);
  asked_ = place_;
  RunEvidence run = evidence();
  const SavedRun earlier = kept(place_);
  ASSERT_TRUE(run.open(asked_, place_));
  run.go_on(earlier, {{.result = result(0)}}, head(true), library_);
  EXPECT_TRUE(run.end("{}", true, path("spare")));
  EXPECT_EQ(cases_in(asked_), 1U);
  EXPECT_EQ(cases_in(place_ + ".old"), 1U);
}

TEST_F(EvidenceWithPackets, ThatIsNotWholeIsSaid) {
  RunEvidence run = evidence();
  ASSERT_TRUE(run.open(asked_));
  run.begin(head(true), library_);
  std::filesystem::remove(asked_);
  run.keep(result(0), false);
  EXPECT_FALSE(run.end("{}", true, path("spare")));
  EXPECT_EQ(cases_in(path("spare")), 1U);
  EXPECT_FALSE(evidence().open("/dev/full"));
  EXPECT_THAT(said_.back(), HasSubstr("cannot write /dev/full: No space left on device"));
}

}  // namespace
}  // namespace fencepost::report
