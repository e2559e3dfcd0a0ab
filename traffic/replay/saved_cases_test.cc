#include "traffic/replay/saved_cases.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/temporary_folder.h"
#include "traffic/replay/saved_fixture.h"

namespace fencepost::replay {
namespace {

using std::filesystem::perms;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> ids(const SavedCases& saved) {
  std::vector<std::string> out;
  for (const scenario::Case& each : saved.cases) out.push_back(each.id);
  return out;
}

std::vector<std::string> names_in(const test::TemporaryFolder& folder) {
  std::vector<std::string> out;
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
    out.push_back(each.path().filename().string());
  }
  return out;
}

// --- loading -------------------------------------------------------------------------------------

TEST(SavedCases, TakesAFileOnceWhateverWayLeadsToIt) {
  const test::TemporaryFolder folder;
  const std::string nx = folder.write("saved/nx.yaml", nx_case()).string();
  folder.write("saved/deep/get.yaml", kGetCase);
  std::filesystem::create_symlink(nx, folder.path() / "link.yaml");
  const std::string copy = folder.write("copy.yaml", nx_case()).string();
  std::vector<std::string> diagnostics;
  const std::string all = (folder.path() / "saved").string();
  const SavedCases saved = load_saved_cases(
      {all, nx, all + "/deep/../nx.yaml", (folder.path() / "link.yaml").string(), copy},
      diagnostics);
  EXPECT_THAT(diagnostics, IsEmpty());
  EXPECT_THAT(ids(saved), ElementsAre("saved.get", "saved.nx", "saved.nx"));
  EXPECT_THAT(saved.files, SizeIs(3));
}

TEST(SavedCases, LeavesOutFilesWithAnError) {
  const test::TemporaryFolder folder;
  std::string broken = kGetCase;
  broken.replace(broken.find("expect: ok"), 10, "expect: okay");
  folder.write("saved/broken.yaml", broken);
  folder.write("saved/nx.yaml", nx_case());
  const std::string missing = (folder.path() / "missing.yaml").string();
  std::vector<std::string> diagnostics;
  const SavedCases saved =
      load_saved_cases({(folder.path() / "saved").string(), missing}, diagnostics);
  EXPECT_THAT(ids(saved), ElementsAre("saved.nx"));
  ASSERT_THAT(diagnostics, SizeIs(2));
  EXPECT_THAT(diagnostics[0], HasSubstr("cannot read " + missing));
  EXPECT_THAT(diagnostics[1], HasSubstr("saved/broken.yaml:8:17: "));
}

TEST(SavedCases, RefusesAnIdThatAFileHasTwice) {
  std::string twice = kGetCase;
  twice += twice.substr(twice.find("  - id"));
  std::vector<std::string> diagnostics;
  EXPECT_THAT(load_cases({{"f.yaml", twice}}, diagnostics).cases, IsEmpty());
  EXPECT_THAT(diagnostics, ElementsAre(HasSubstr("saved.get")));
}

TEST(SavedCases, TakesTheCatalogueThatIsAmongTheFiles) {
  std::vector<std::string> diagnostics;
  const SavedCases saved =
      load_cases({{"f.yaml", kGetCase}, {"requirements.yaml", test::kCatalogueText}}, diagnostics);
  EXPECT_NE(saved.catalogue.find("R-MUST-1"), nullptr);
  EXPECT_THAT(saved.cases, IsEmpty());  // GET-HIT-3 is not one of its rules
  EXPECT_THAT(diagnostics, Not(IsEmpty()));
}

// --- healing -------------------------------------------------------------------------------------

// A folder with the file nx.yaml, whose case has recorded how it fails at a store that overwrites.
class Healing : public testing::Test {
 protected:
  // The file after the case has run at this store, and has been healed.
  Session heal_at(test::Behaviour store, const std::string& name = "nx.yaml",
                  std::size_t runs = 1) {
    std::vector<std::string> diagnostics;
    Session out =
        session_of(load_saved_cases({(folder_.path() / name).string()}, diagnostics), runs);
    EXPECT_THAT(diagnostics, IsEmpty());
    run_at(std::move(store), out);
    if (meanwhile_) meanwhile_();
    heal_files(out.saved, out.run, "ab12");
    return out;
  }
  [[nodiscard]] std::string text() const { return folder_.read("nx.yaml"); }
  [[nodiscard]] std::string place() const { return path_.string() + ":4 saved.nx: "; }

  test::TemporaryFolder folder_;
  std::string before_ = nx_case(recorded_at(overwrites()));
  std::filesystem::path path_ = folder_.write("nx.yaml", before_);
  std::function<void()> meanwhile_{};
};

TEST_F(Healing, MakesAPlainCaseOfWhatIsFixed) {
  std::filesystem::permissions(path_, perms::owner_read | perms::owner_write | perms::group_read);
  const Session session = heal_at(right(), "nx.yaml", 2);
  EXPECT_THAT(session.run.healed, ElementsAre(place() + "fixed: it must pass from now on"));
  std::string expected = before_;
  const std::size_t at = expected.find("      signature: ");
  expected.erase(at, expected.find('\n', at) + 1 - at);
  EXPECT_EQ(text(), expected);
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            perms::owner_read | perms::owner_write | perms::group_read);
  EXPECT_THAT(names_in(folder_), ElementsAre("nx.yaml"));
  EXPECT_THAT(outcomes(heal_at(right())), ElementsAre("saved.nx passes"));
  EXPECT_THAT(outcomes(heal_at(overwrites())), ElementsAre("saved.nx fails"));
}

TEST_F(Healing, GivesWhatHasChangedItsNewSignature) {
  const Session session = heal_at(says_missing());
  ASSERT_THAT(session.run.healed, SizeIs(1));
  EXPECT_THAT(session.run.healed[0],
              testing::StartsWith(place() + "changed: its signature is now 'SET-NOT-APPLIED-1: "));
  EXPECT_EQ(text(), nx_case(recorded_at(says_missing())));
  const Session again = heal_at(says_missing());
  EXPECT_THAT(outcomes(again), ElementsAre("saved.nx still failing"));
  EXPECT_THAT(again.run.healed, IsEmpty());
  EXPECT_THAT(again.run.not_healed, IsEmpty());
}

TEST_F(Healing, LeavesAloneWhatFailsAsRecorded) {
  const Session session = heal_at(overwrites());
  EXPECT_THAT(session.run.healed, IsEmpty());
  EXPECT_THAT(session.run.not_healed, IsEmpty());
  EXPECT_EQ(text(), before_);
}

TEST_F(Healing, RefusesWhatWasNotDecided) {
  before_ = nx_case(recorded_at(overwrites()), "    requires: [restart]\n");
  folder_.write("nx.yaml", before_);
  const Session session = heal_at(right());
  EXPECT_THAT(session.run.not_healed, ElementsAre(HasSubstr(place() + "it is skipped")));
  EXPECT_EQ(text(), before_);
}

TEST_F(Healing, RefusesAFileThatIsReadOnly) {
  std::filesystem::permissions(path_, perms::owner_read | perms::group_read);
  const Session session = heal_at(right());
  EXPECT_THAT(session.run.healed, IsEmpty());
  EXPECT_THAT(session.run.not_healed, ElementsAre(path_.string() + ": the file is read-only"));
  EXPECT_EQ(text(), before_);
}

TEST_F(Healing, LeavesAloneAFileThatHasChangedMeanwhile) {
  const std::string mine = before_ + "# A line that came meanwhile.\n";
  meanwhile_ = [&] { folder_.write("nx.yaml", mine); };
  const Session session = heal_at(right());
  EXPECT_THAT(session.run.not_healed,
              ElementsAre(path_.string() + ": the file was changed during the run"));
  EXPECT_EQ(text(), mine);
}

TEST_F(Healing, SaysThatAFileIsGone) {
  meanwhile_ = [&] { std::filesystem::remove(path_); };
  EXPECT_THAT(heal_at(right()).run.not_healed,
              ElementsAre(testing::StartsWith(path_.string() + ": cannot read")));
}

TEST_F(Healing, FollowsALink) {
  std::filesystem::create_symlink(path_, folder_.path() / "link.yaml");
  EXPECT_THAT(heal_at(right(), "link.yaml").run.healed, SizeIs(1));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path() / "link.yaml"));
  EXPECT_THAT(text(), Not(HasSubstr("signature")));
}

// --- flaky
// -----------------------------------------------------------------------------------------

TEST_F(Healing, RefusesWhatFailsNowAndThen) {
  int requests = 0;
  const test::Behaviour store = [&requests, good = right(),
                                 bad = overwrites()](const test::Published& request) {
    return ++requests > 2 ? bad(request) : good(request);  // the first run is well
  };
  const Session session = heal_at(store, "nx.yaml", 3);
  EXPECT_THAT(outcomes(session), ElementsAre("saved.nx flaky"));
  EXPECT_THAT(session.run.not_healed, ElementsAre(place() + "it failed in 2 of 3 runs"));
  EXPECT_EQ(text(), before_);
}

}  // namespace
}  // namespace fencepost::replay
