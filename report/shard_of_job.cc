#include "report/shard_of_job.h"

#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace fencepost::report {
namespace {

// Two variables of a system: which job of how many this is. docs/SHARDING.md has their sources.
struct JobSystem {
  const char* name;
  const char* index;
  const char* total;
  std::size_t first;  // the index of the first job
  bool total_alone;   // the total is there in jobs that are not parallel, too
};
constexpr JobSystem kSystems[] = {
    {"GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1, true},
    {"CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0, false},
    {"Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0, false},
    {"Kubernetes", "JOB_COMPLETION_INDEX", "FENCEPOST_SHARD_TOTAL", 0, false},
};
constexpr const char* kExplicit = "FENCEPOST_SHARD";

std::optional<std::size_t> number_of(const std::string& text) {
  std::size_t out = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, out);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return out;
}

// Empty variables are as none: that is how they are switched off.
std::string value_of(const Variables& variables, const char* name) {
  return variables(name).value_or("");
}

// Nothing where the system has set nothing.
Result<std::optional<JobShard>, std::string> shard_of(const JobSystem& system,
                                                      const Variables& variables) {
  using Found = std::optional<JobShard>;
  const std::string index = value_of(variables, system.index);
  const std::string total = value_of(variables, system.total);
  if (index.empty() && total.empty()) return Found();
  if (index.empty() && system.total_alone && total == "1") {
    return Found({.source = fmt::format("{}: {}=1", system.name, system.total)});
  }
  const std::string said =
      fmt::format("{}: {}={}, {}={}", system.name, system.index, index, system.total, total);
  const auto at = number_of(index);
  const auto of = number_of(total);
  if (!at || !of || *at < system.first || *at - system.first >= *of) {
    return fail(fmt::format(
        "--shard auto: {}: the first must be a number, {} or greater, the second the "
        "number of jobs{}",
        said, system.first, total.empty() ? fmt::format("; set {}", system.total) : ""));
  }
  return Found({{*at - system.first + 1, *of}, said});
}

Result<std::optional<JobShard>, std::string> explicit_shard(const Variables& variables) {
  using Found = std::optional<JobShard>;
  const std::string text = value_of(variables, kExplicit);
  if (text.empty()) return Found();
  const auto shard = run::parse_shard(text);
  if (!shard) {
    return fail(
        fmt::format("--shard auto: {}={} must look like 2/5, the first number between 1 and "
                    "the second",
                    kExplicit, text));
  }
  return Found({*shard, fmt::format("{}={}", kExplicit, text)});
}

// What all systems that say something agree on.
Result<JobShard, std::string> shard_of_job(const Variables& variables) {
  std::vector<JobShard> found;
  auto own = explicit_shard(variables);
  if (!own) return fail(std::move(own.error()));
  if (*own) found.push_back(**own);
  for (const JobSystem& system : kSystems) {
    auto shard = shard_of(system, variables);
    if (!shard) return fail(std::move(shard.error()));
    if (*shard) found.push_back(**shard);
  }
  if (found.empty()) {
    return fail(std::string(
        "--shard auto: nothing says which shard this is; expected: CI_NODE_INDEX and "
        "CI_NODE_TOTAL (GitLab), CIRCLE_NODE_INDEX and CIRCLE_NODE_TOTAL (CircleCI), "
        "BUILDKITE_PARALLEL_JOB and BUILDKITE_PARALLEL_JOB_COUNT (Buildkite), JOB_COMPLETION_INDEX "
        "and FENCEPOST_SHARD_TOTAL (Kubernetes), or FENCEPOST_SHARD=K/N (GitHub and others); see "
        "docs/SHARDING.md"));
  }
  for (const JobShard& other : found) {
    if (other.shard.index == found[0].shard.index && other.shard.total == found[0].shard.total) {
      continue;
    }
    return fail(
        fmt::format("--shard auto: {} ({}/{}) and {} ({}/{}) contradict each other: empty "
                    "one of them, or write --shard K/N",
                    found[0].source, found[0].shard.index, found[0].shard.total, other.source,
                    other.shard.index, other.shard.total));
  }
  return found[0];
}

}  // namespace

Result<JobShard, std::string> shard_of_process(std::string_view option,
                                               const Variables& variables) {
  if (option.empty()) return JobShard{};
  if (option == "auto") return shard_of_job(variables);
  const auto shard = run::parse_shard(option);
  if (shard) return JobShard{.shard = *shard};
  return fail(fmt::format(
      "--shard {} must look like 2/5, the first number between 1 and the second, or be auto",
      option));
}

}  // namespace fencepost::report
