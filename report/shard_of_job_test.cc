#include "report/shard_of_job.h"

#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Job {
  std::map<std::string, std::string> variables;
  std::string expected;  // K/N and the source, or a part of the error
};

std::string automatic(const Job& job) {
  const auto found = shard_of_process("auto", variables_of(job.variables));
  if (!found) return found.error();
  return fmt::format("{}/{} {}", found->shard.index, found->shard.total, found->source);
}

TEST(ShardOfProcess, IsWhatTheOptionSays) {
  const Variables contradicting = variables_of({{"FENCEPOST_SHARD", "1/9"}});
  const auto third = shard_of_process("3/5", contradicting);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->shard.index, 3U);
  EXPECT_EQ(third->shard.total, 5U);
  EXPECT_EQ(third->source, "");
  const auto whole = shard_of_process("", contradicting);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->shard.total, 1U);
  for (const char* wrong : {"3/2", "x", "AUTO"}) {
    EXPECT_EQ(shard_of_process(wrong, contradicting).error(),
              std::string("--shard ") + wrong +
                  " must look like 2/5, the first number between 1 and the second, or be auto");
  }
}

TEST(ShardOfProcess, IsWhatTheSystemSaysThatStartedTheJob) {
  for (const Job& job : {
           Job{{{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "5"}},
               "2/5 GitLab: CI_NODE_INDEX=2, CI_NODE_TOTAL=5"},
           Job{{{"CI_NODE_TOTAL", "1"}}, "1/1 GitLab: CI_NODE_TOTAL=1"},
           Job{{{"CIRCLE_NODE_INDEX", "0"}, {"CIRCLE_NODE_TOTAL", "5"}},
               "1/5 CircleCI: CIRCLE_NODE_INDEX=0, CIRCLE_NODE_TOTAL=5"},
           Job{{{"BUILDKITE_PARALLEL_JOB", "4"}, {"BUILDKITE_PARALLEL_JOB_COUNT", "5"}},
               "5/5 Buildkite: BUILDKITE_PARALLEL_JOB=4, BUILDKITE_PARALLEL_JOB_COUNT=5"},
           Job{{{"JOB_COMPLETION_INDEX", "1"}, {"FENCEPOST_SHARD_TOTAL", "5"}},
               "2/5 Kubernetes: JOB_COMPLETION_INDEX=1, FENCEPOST_SHARD_TOTAL=5"},
           Job{{{"FENCEPOST_SHARD", "3/5"}}, "3/5 FENCEPOST_SHARD=3/5"},
           Job{{{"FENCEPOST_SHARD", "2/5"}, {"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "5"}},
               "2/5 FENCEPOST_SHARD=2/5"},
           Job{{{"FENCEPOST_SHARD", ""}, {"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "5"}},
               "2/5 GitLab: CI_NODE_INDEX=2, CI_NODE_TOTAL=5"},
       }) {
    EXPECT_EQ(automatic(job), job.expected);
  }
}

TEST(ShardOfProcess, SaysWhatIsMissingOrWrong) {
  for (const Job& job : {
           Job{{}, "nothing says which shard this is"},
           Job{{{"CI_NODE_INDEX", ""}}, "nothing says which shard this is"},
           Job{{{"JOB_COMPLETION_INDEX", "1"}},
               "Kubernetes: JOB_COMPLETION_INDEX=1, FENCEPOST_SHARD_TOTAL=: the first must be a "
               "number, 0 or greater, the second the number of jobs; set FENCEPOST_SHARD_TOTAL"},
           Job{{{"CIRCLE_NODE_TOTAL", "1"}}, "must be a number, 0 or greater"},
           Job{{{"CI_NODE_TOTAL", "2"}}, "must be a number, 1 or greater"},
           Job{{{"CI_NODE_INDEX", "0"}, {"CI_NODE_TOTAL", "5"}}, "must be a number, 1 or greater"},
           Job{{{"CI_NODE_INDEX", "6"}, {"CI_NODE_TOTAL", "5"}}, "must be a number, 1 or greater"},
           Job{{{"CIRCLE_NODE_INDEX", "5"}, {"CIRCLE_NODE_TOTAL", "5"}}, "a number, 0 or greater"},
           Job{{{"CIRCLE_NODE_INDEX", "x"}, {"CIRCLE_NODE_TOTAL", "5"}}, "a number, 0 or greater"},
           Job{{{"CIRCLE_NODE_INDEX", "1"}, {"CIRCLE_NODE_TOTAL", "5x"}}, "a number, 0 or greater"},
           Job{{{"FENCEPOST_SHARD", "6/5"}}, "FENCEPOST_SHARD=6/5 must look like 2/5"},
       }) {
    EXPECT_THAT(automatic(job), AllOf(StartsWith("--shard auto: "), HasSubstr(job.expected)));
  }
}

TEST(ShardOfProcess, RefusesSystemsThatContradictEachOther) {
  for (const char* other : {"1/5", "2/6"}) {
    EXPECT_EQ(
        automatic(
            {{{"CI_NODE_INDEX", "2"}, {"CI_NODE_TOTAL", "5"}, {"FENCEPOST_SHARD", other}}, {}}),
        fmt::format("--shard auto: FENCEPOST_SHARD={0} ({0}) and GitLab: CI_NODE_INDEX=2, "
                    "CI_NODE_TOTAL=5 (2/5) contradict each other: empty one of them, or "
                    "write --shard K/N",
                    other));
  }
}

}  // namespace
}  // namespace fencepost::report
