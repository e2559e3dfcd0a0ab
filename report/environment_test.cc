#include "report/environment.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using testing::HasSubstr;

TEST(Distribution, IsThePrettyNameOfTheSystem) {
  EXPECT_EQ(distribution("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nX=1\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(distribution("PRETTY_NAME=Alpine"), "Alpine");
  EXPECT_EQ(distribution("PRETTY_NAME=\""), "\"");
  EXPECT_EQ(distribution("NAME=x\nMY_PRETTY_NAME=x\n"), "");
  EXPECT_EQ(distribution(""), "");
}

TEST(JobAddress, IsWhatTheSystemOfTheJobSays) {
  for (const char* name : {"CI_JOB_URL", "CIRCLE_BUILD_URL", "BUILDKITE_BUILD_URL", "BUILD_URL"}) {
    EXPECT_EQ(job_address(variables_of({{name, "https://ci/1"}})), "https://ci/1") << name;
    EXPECT_EQ(job_address(variables_of({{name, ""}})), "") << name;
  }
  EXPECT_EQ(job_address(variables_of({{"GITHUB_SERVER_URL", "https://github.com"},
                                      {"GITHUB_REPOSITORY", "me/it"},
                                      {"GITHUB_RUN_ID", "7"}})),
            "https://github.com/me/it/actions/runs/7");
  EXPECT_EQ(job_address(variables_of({{"GITHUB_REPOSITORY", "me/it"}})), "");
  EXPECT_EQ(job_address(variables_of({})), "");
}

TEST(EnvironmentOfRun, LeavesOutWhatIsNotKnown) {
  const auto bare = environment_of_run("", variables_of({}));
  EXPECT_EQ(bare.count("libraries") + bare.count("job"), 0U);
  EXPECT_THAT(bare.at("system"), HasSubstr("Linux"));
  const auto full =
      environment_of_run("fmt 9", variables_of({{"BUILD_URL", "https://ci/\x1b[1m"}}));
  EXPECT_EQ(full.at("libraries"), "fmt 9");
  EXPECT_EQ(full.at("job").find('\x1b'), std::string::npos);
  EXPECT_THAT(full.at("job"), HasSubstr("https://ci/"));
}

}  // namespace
}  // namespace fencepost::report
