// --shard: which part of a run this process has. Pure.
//
//   shard_of_process("auto", variable_of_this_process)  ->  2/5, "GitLab: CI_NODE_INDEX=2, ..."
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/github.h"
#include "suite/run/selection.h"

namespace fencepost::report {

struct JobShard {
  run::Shard shard{};
  std::string source{};  // "GitLab: CI_NODE_INDEX=2, CI_NODE_TOTAL=5"; empty: the option itself
};

// `option` is K/N, "auto", or empty for the whole run. With "auto" FENCEPOST_SHARD, GitLab,
// CircleCI, Buildkite or a Kubernetes Indexed Job say it. The error says what is missing, wrong or
// contradictory, and what to set.
[[nodiscard]] Result<JobShard, std::string> shard_of_process(std::string_view option,
                                                             const Variables& variables);

}  // namespace fencepost::report
