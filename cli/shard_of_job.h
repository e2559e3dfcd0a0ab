// `--shard auto`: which part of a run this process has, as the system says that started it.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "conformance/report/github.h"

namespace fencepost::cli {

struct JobShard {
  std::size_t index = 1;  // from 1
  std::size_t total = 1;
  std::string source{};  // "GitLab: CI_NODE_INDEX=2, CI_NODE_TOTAL=5"
};

// What FENCEPOST_SHARD, GitLab, CircleCI, Buildkite or a Kubernetes Indexed Job say. The error says
// what is missing, wrong or contradictory, and what to set. Pure.
[[nodiscard]] Result<JobShard, std::string> shard_of_job(const report::Variables& variables);

}  // namespace fencepost::cli
