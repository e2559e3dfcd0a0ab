#include "report/report_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReportFiles, HaveAPlaceForEachKind) {
  ReportFiles files{{"json", "a"}, {"html", ""}};
  EXPECT_EQ(files.of("json"), "a");
  EXPECT_EQ(files.of("html"), "");
  EXPECT_EQ(files.of("no such kind"), "");
  files.set("junit", "-");
  files.set("json", "b");
  EXPECT_THAT(files.paths(), ElementsAre("b", "-"));
  EXPECT_TRUE(files.piped());
  files.set("junit", "");
  EXPECT_FALSE(files.piped());
  EXPECT_FALSE(files.none());
  EXPECT_TRUE(ReportFiles({{"json", ""}}).none());
}

TEST(ReportFiles, AreOneForEachReport) {
  const test::TemporaryFolder folder;
  const std::string one = (folder.path() / "one").string();
  EXPECT_TRUE(check_writable(ReportFiles{{"json", one}, {"html", "-"}}));
  const auto same = check_writable(ReportFiles{{"json", one}, {"html", one}});
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error(), HasSubstr("named for two reports"));
  const auto piped = check_writable(ReportFiles{{"json", "-"}, {"html", "-"}});
  ASSERT_FALSE(piped);
  EXPECT_THAT(piped.error(), HasSubstr("only one report can go to standard output"));
  EXPECT_FALSE(check_writable(ReportFiles{{"badge", (folder.path() / "no/b").string()}}));
}

TEST(ReportFiles, AreWrittenAllButThoseThatCannotBe) {
  const test::TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  bool made = false;
  const std::vector<Renderer> renderers = {
      {"json", [] { return std::string("the report"); }},
      {"junit", [] { return fail(std::string("there is none")); }},
      {"html", [] { return std::string(); }},
      {"badge", [&] {
         made = true;
         return std::string();
       }}};
  const auto written =
      write_reports({{"junit", path("j")}, {"html", path("no/h")}, {"json", path("r")}}, renderers);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error(), testing::AllOf(HasSubstr("there is none\n"), HasSubstr("no/h")));
  EXPECT_EQ(folder.read("r"), "the report");
  EXPECT_FALSE(made);  // it was not requested
}

}  // namespace
}  // namespace fencepost::report
