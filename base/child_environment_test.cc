#include "base/child_environment.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

TEST(ChildEnvironment, HasWhatProgramsNeedAndNoSecretOfACi) {
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread here
  setenv("GITHUB_TOKEN", "t0ken", 1);
  setenv("FENCEPOST_PASSWORD", "s3cret", 1);
  setenv("KUBECONFIG", "/k", 1);
  setenv("LC_TIME", "C", 1);
  // NOLINTEND(concurrency-mt-unsafe)
  const std::vector<std::string> usual = environment_of_child();
  EXPECT_THAT(usual, Contains(StartsWith("PATH=")));
  EXPECT_THAT(usual, Contains("LC_TIME=C"));
  EXPECT_THAT(usual, Not(Contains(StartsWith("GITHUB_TOKEN"))));
  EXPECT_THAT(usual, Not(Contains(StartsWith("FENCEPOST_PASSWORD"))));
  EXPECT_THAT(usual, Not(Contains(StartsWith("KUBECONFIG"))));
  const std::vector<std::string> more = environment_of_child({"KUBECONFIG", "NOT_THERE"});
  EXPECT_THAT(more, Contains("KUBECONFIG=/k"));
  EXPECT_THAT(more, Not(Contains(StartsWith("NOT_THERE"))));
  EXPECT_THAT(own_environment(), Contains("GITHUB_TOKEN=t0ken"));
}

TEST(ChildEnvironment, OursReplaceThoseOfTheSameName) {
  EXPECT_THAT(
      environment_with({"A=1", "FENCEPOST_URL=old", "FENCEPOST_URL_2=x"}, {"FENCEPOST_URL=new"}),
      ElementsAre("A=1", "FENCEPOST_URL_2=x", "FENCEPOST_URL=new"));
}

}  // namespace
}  // namespace fencepost
