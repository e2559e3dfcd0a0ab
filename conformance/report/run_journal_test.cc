#include "conformance/report/run_journal.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/report/report_sample.h"
#include "conformance/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(JournalPlace, IsBesideTheFirstReportThatIsAFile) {
  const test::TemporaryFolder folder;
  const std::string old_report = folder.write("old.json", "{}").string();
  EXPECT_EQ(journal_place({}), "");
  EXPECT_EQ(journal_place({{"json", "-"}}), "");
  EXPECT_EQ(journal_place({{"json", "/dev/null"}}), "");
  EXPECT_EQ(journal_place({{"json", folder.path().string()}}), "");
  EXPECT_EQ(journal_place({{"json", old_report}, {"html", "h"}}), old_report + ".unfinished");
  EXPECT_EQ(journal_place({{"json", "-"}, {"junit", "/dev/null"}, {"html", "h"}, {"sarif", "s"}}),
            "h.unfinished");
  EXPECT_EQ(journal_place({{"junit", "j"}, {"html", "h"}}), "j.unfinished");
  EXPECT_EQ(journal_place({{"sarif", "s"}, {"badge", "b"}}), "s.unfinished");
  EXPECT_EQ(journal_place({{"badge", "b"}}), "b.unfinished");
}

class RunJournalTest : public testing::Test {
 protected:
  RunJournalTest() {
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
  [[nodiscard]] RunJournal journal() {
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
    RunJournal killed = journal();
    killed.begin(library_, call_);
    for (std::size_t at = 0; at < cases; ++at) killed.keep(result(at), false);
  }
  [[nodiscard]] std::size_t cases_in(const std::string& file) const {
    return count_cases(*scenario::read_file(file));
  }

  test::TemporaryFolder folder_;
  scenario::Library library_;
  ReportContext context_ = sample_context();
  Call call_;
  std::string place_;
  std::vector<std::string> said_;
};

TEST_F(RunJournalTest, IsGoneWhenTheReportsAreWritten) {
  RunJournal run = journal();
  run.begin(library_, call_);
  run.keep(result(0), false);
  EXPECT_EQ(cases_in(place_), 1U);
  run.end(true, path("spare"));
  EXPECT_FALSE(std::filesystem::exists(place_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RunJournalTest, StaysWhenTheyAreNotAndTheUserLearnsWhere) {
  call_.files.set("json", path("my r.json"));
  RunJournal run = journal();
  run.begin(library_, call_);
  run.keep(result(0), false);
  run.end(false, path("spare"));
  const std::string place = "'" + path("my r.json.unfinished") + "'";
  EXPECT_THAT(said_, ElementsAre("what the run has found is in " + place +
                                 "; make the reports of it with: fencepost merge " + place +
                                 " --json FILE"));
}

TEST_F(RunJournalTest, WithoutAReportNothingIsKept) {
  call_.files.set("json", "-");
  RunJournal run = journal();
  run.begin(library_, call_);
  run.keep(result(0), false);
  run.end(false, path("spare"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RunJournalTest, HasPacketsOfWhatDidNotPassOrDeviated) {
  RunJournal run = journal();
  run.begin(library_, call_);
  const auto added = [&](const run::CaseResult& kept) {
    const std::string before = folder_.read("r.json.unfinished");
    run.keep(kept, false);
    return folder_.read("r.json.unfinished").substr(before.size());
  };
  EXPECT_THAT(added(result(0)), Not(HasSubstr("a packet")));
  EXPECT_THAT(added(result(1, run::Verdict::kFailed)), HasSubstr("a packet"));
  run::CaseResult deviated = result(2);
  deviated.deviations.push_back({.requirement = "R-MUST-1"});
  EXPECT_THAT(added(deviated), HasSubstr("a packet"));
  context_.transcripts = Transcripts::kAll;
  EXPECT_THAT(added(result(0)), HasSubstr("a packet"));
}

TEST_F(RunJournalTest, GoesOnWithWhatAKilledRunHasLeft) {
  leave(1);
  RunJournal run = journal();
  run.resume(place_);
  run.keep(result(1), false);
  EXPECT_EQ(cases_in(place_), 2U);
  run.end(true, path("spare"));
  EXPECT_FALSE(std::filesystem::exists(place_));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(RunJournalTest, ANewRunPutsAsideWhatAKilledOneHasLeft) {
  leave(2);
  const std::string left = folder_.read("r.json.unfinished");
  journal().begin(library_, call_);
  EXPECT_EQ(folder_.read("r.json.unfinished.old"), left);
  EXPECT_EQ(cases_in(place_), 0U);
  EXPECT_THAT(said_, ElementsAre("an earlier run was killed when 2 of its cases had finished; to "
                                 "go on with it, call it as it was called, with --resume " +
                                 place_ + ".old"));
}

TEST_F(RunJournalTest, WhatHasNoCaseIsReplacedWithoutAWord) {
  leave(0);
  leave(0);
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(place_ + ".old"));
}

TEST_F(RunJournalTest, WhatStoodThereBeforeStays) {
  folder_.write("r.json.unfinished", "anything\n");
  journal().begin(library_, call_);
  EXPECT_EQ(folder_.read("r.json.unfinished"), "anything\n");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("there is a file that no run has left")));
}

TEST_F(RunJournalTest, ALinkIsNotFollowed) {
  folder_.write("theirs", "precious");
  std::filesystem::create_symlink(folder_.path() / "theirs", place_);
  journal().begin(library_, call_);
  EXPECT_EQ(folder_.read("theirs"), "precious");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("it is a link, which is not followed")));
}

TEST_F(RunJournalTest, WhatWasPutAsideBeforeStays) {
  leave(1);
  folder_.write("r.json.unfinished.old", "precious");
  const std::string left = folder_.read("r.json.unfinished");
  journal().begin(library_, call_);
  EXPECT_EQ(folder_.read("r.json.unfinished.old"), "precious");
  EXPECT_EQ(folder_.read("r.json.unfinished.old2"), left);
  EXPECT_THAT(said_, ElementsAre(EndsWith("with --resume " + place_ + ".old2")));
}

TEST_F(RunJournalTest, WhatAnotherRunIsWritingIsLeftAlone) {
  RunJournal other = journal();
  other.begin(library_, call_);
  other.keep(result(0), false);
  journal().begin(library_, call_);
  EXPECT_EQ(cases_in(place_), 1U);
  EXPECT_THAT(said_,
              ElementsAre(AllOf(HasSubstr("another run is writing it"),
                                EndsWith("; what this run finds is lost when it is killed"))));
}

TEST_F(RunJournalTest, SaysThatItCannotBeBegun) {
  call_.files.set("json", "/nowhere/r.json");
  RunJournal run = journal();
  run.begin(library_, call_);
  run.keep(result(0), false);
  run.end(false, path("spare"));
  EXPECT_THAT(said_, ElementsAre("cannot write /nowhere/r.json.unfinished: No such file or "
                                 "directory; what this run finds is lost when it is killed"));
}

TEST_F(RunJournalTest, SaysThatItCannotGoOn) {
  RunJournal run = journal();
  run.resume("/nowhere/r.json.unfinished");
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

TEST_F(RunJournalTest, AFullDiskIsSaidOnceAndLosesNothingThatIsStillKnown) {
  RunJournal run = journal();
  run.begin(library_, call_);
  run.keep(result(0), false);
  {
    const FullDisk full(std::filesystem::file_size(place_) + 1);
    run.keep(result(1), false);
    run.keep(result(2), false);
  }
  EXPECT_THAT(said_,
              ElementsAre("cannot write " + place_ +
                          ": File too large; what this run finds is lost when it is killed"));
  EXPECT_EQ(cases_in(place_), 1U);
  run.end(false, path("spare"));
  EXPECT_EQ(cases_in(path("spare")), 3U);
}

TEST_F(RunJournalTest, WhatWasRemovedIsWrittenElsewhere) {
  RunJournal run = journal();
  run.begin(library_, call_);
  run.keep(result(0), false);
  std::filesystem::remove(place_);
  run.end(false, path("spare"));
  EXPECT_EQ(cases_in(path("spare")), 1U);
  EXPECT_THAT(said_, ElementsAre(StartsWith("what the run has found is in " + path("spare"))));
}

TEST_F(RunJournalTest, SaysThatItCannotBeWrittenElsewhere) {
  RunJournal run = journal();
  run.begin(library_, call_);
  std::filesystem::remove(place_);
  run.end(false, "/nowhere/spare");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("cannot write the report /nowhere/spare")));
}

}  // namespace
}  // namespace fencepost::report
