#include "selftest/overlaps.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/glob.h"
#include "base/threads.h"
#include "concurrency/stress/simulation.h"

namespace fencepost::selftest {
namespace {

// By turns: some faults show only where nothing else is sent.
constexpr std::array kMixesByTurns = {"everything", "lease", "expiry", "observers",
                                      "compare-delete"};

// A key that takes more steps is not decided.
constexpr history::CheckLimits kOverlapLimits{.search = {.steps = 200'000},
                                              .counter_example = {.work = 300'000}};

std::unique_ptr<store::Handler> store_of(const OverlapResult& result, std::uint64_t seed) {
  const store::ServiceOptions service{.dialect = result.dialect};
  if (result.fault == nullptr) return std::make_unique<store::Service>(service);
  return result.fault->make(service, seed);
}

void run_store(OverlapResult& result, const OverlapsOptions& options,
               const std::atomic<bool>& stop) {
  const std::size_t most = result.is_right() ? options.conforming_runs : options.runs;
  while (result.runs < most && result.requirement.empty() && !stop) {
    const std::uint64_t seed = options.seed + result.runs;
    const auto store = store_of(result, seed);
    const auto* mix = stress::find_mix(kMixesByTurns.at(result.runs % kMixesByTurns.size()));
    const stress::SimulatedRun run = stress::simulate(
        *store, {.mix = mix, .seed = seed, .requests = options.requests, .limits = kOverlapLimits});
    ++result.runs;
    result.unknown += run.judged.unknown_keys;
    if (run.judged.violations.empty()) continue;
    const history::Verdict& verdict = run.judged.violations.front().verdict;
    result.requirement = verdict.requirement;
    result.operations = run.judged.operations;
    result.counter_example = verdict.operations.size();
  }
}

bool is_selected(const OverlapsOptions& options, const store::Fault& fault) {
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(), [&](const std::string& glob) {
           return glob_matches(glob, fault.id) || glob_matches(glob, fault.name);
         });
}

}  // namespace

std::vector<OverlapResult> run_overlaps(const OverlapsOptions& options,
                                        const std::atomic<bool>& stop) {
  std::vector<OverlapResult> out;
  if (options.only.empty()) out.emplace_back();
  for (const store::Fault& fault : store::faults()) {
    const bool meant = fault.needs == store::FaultNeeds::kHistory || fault.meets;
    if (!meant || !is_selected(options, fault)) continue;
    out.push_back({.fault = &fault,
                   .dialect = out.size() % 2 == 0 ? codec::DialectId::kDeployed
                                                  : codec::DialectId::kDocumented});
  }
  std::atomic<std::size_t> next{0};
  run_in_threads(std::min(options.jobs, out.size()), [&] {
    for (std::size_t at = next++; at < out.size(); at = next++) run_store(out[at], options, stop);
  });
  return out;
}

}  // namespace fencepost::selftest
