#include "base/child_environment.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> words_of(ChildEnvironment& environment) {
  std::vector<std::string> out;
  for (char* const* each = environment.data(); *each != nullptr; ++each) out.emplace_back(*each);
  return out;
}

TEST(ChildEnvironment, HasWhatProgramsNeedAndNoSecretOfACi) {
  // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread here
  setenv("GITHUB_TOKEN", "t0ken", 1);
  setenv("FENCEPOST_PASSWORD", "s3cret", 1);
  setenv("KUBECONFIG", "/k", 1);
  setenv("LC_TIME", "C", 1);
  // NOLINTEND(concurrency-mt-unsafe)
  ChildEnvironment environment;
  EXPECT_THAT(words_of(environment), Contains(StartsWith("PATH=")));
  EXPECT_THAT(words_of(environment), Contains("LC_TIME=C"));
  EXPECT_THAT(words_of(environment), Not(Contains(StartsWith("GITHUB_TOKEN"))));
  EXPECT_THAT(words_of(environment), Not(Contains(StartsWith("FENCEPOST_PASSWORD"))));
  EXPECT_THAT(words_of(environment), Not(Contains(StartsWith("KUBECONFIG"))));
  ChildEnvironment more({"KUBECONFIG", "NOT_THERE"});
  more.add("OWN=1");
  EXPECT_THAT(words_of(more), Contains("KUBECONFIG=/k"));
  EXPECT_THAT(words_of(more), Contains("OWN=1"));
  EXPECT_THAT(words_of(more), Not(Contains(StartsWith("NOT_THERE"))));
}

}  // namespace
}  // namespace fencepost
