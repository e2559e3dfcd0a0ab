#include "selftest/pairs.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "report/root_causes.h"
#include "selftest/selftest.h"

namespace fencepost::selftest {
namespace {

using Pair = std::array<const store::Fault*, 2>;

bool breaks(const store::Fault& fault, std::string_view rule) {
  const auto& rules = fault.requirements;
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

bool have_a_rule_in_common(const Pair& pair) {
  const auto& rules = pair[0]->requirements;
  return std::any_of(rules.begin(), rules.end(),
                     [&](std::string_view rule) { return breaks(*pair[1], rule); });
}

// Faults that show in process, and leave room for another.
std::vector<const store::Fault*> candidates() {
  std::vector<const store::Fault*> out;
  for (const store::Fault& fault : store::faults()) {
    const bool shows = can_be_met(fault, false);
    if (fault.kind != store::FaultKind::kFault || !shows) continue;
    if (store::leaves_room(fault)) out.push_back(&fault);
  }
  return out;
}

// What each case says of a store, in words that do not depend on the other cases.
std::vector<std::string> findings_of(const run::SuiteResult& suite) {
  std::vector<std::string> out;
  for (const run::CaseResult& result : suite.cases) {
    out.push_back(fmt::format("{} {} {}", run::name(result.verdict), result.failure.requirement,
                              result.failure.cause));
  }
  return out;
}

class Pairs {
 public:
  Pairs(const std::vector<scenario::Case>& cases, const scenario::Catalogue& catalogue,
        const OpenFaults& open, const PairsOptions& options, const std::atomic<bool>& stop)
      : catalogue_(catalogue), open_(open), options_(options), stop_(stop) {
    for (const scenario::Case& test_case : cases) cases_.push_back(&test_case);
  }

  PairsResult run(const std::function<void(std::size_t, std::size_t)>& progress) {
    std::vector<PairResult> work = choose();
    std::vector<std::thread> threads;
    std::atomic<std::size_t> next{0};
    std::size_t done = 0;
    std::mutex mutex;
    for (std::size_t i = 0; i < std::max<std::size_t>(options_.jobs, 1); ++i) {
      threads.emplace_back([&] {
        for (std::size_t at = next++; at < work.size() && !stop_; at = next++) {
          meet(work[at]);
          const std::lock_guard lock(mutex);
          progress(++done, work.size());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return {.pairs = std::move(work), .interrupted = stop_};
  }

 private:
  [[nodiscard]] std::vector<PairResult> choose() const {
    // In this many tries; a catalogue with few faults may not have as many pairs.
    constexpr std::size_t kTries = 50;
    const std::vector<const store::Fault*> all = candidates();
    std::mt19937_64 random(options_.seed);
    std::vector<PairResult> out;
    for (std::size_t i = 0; i < options_.pairs * kTries && out.size() < options_.pairs; ++i) {
      const Pair pair = {all[random() % all.size()], all[random() % all.size()]};
      const auto dialect = codec::kDialects[random() % codec::kDialects.size()];
      if (pair[0] == pair[1] || have_a_rule_in_common(pair)) continue;
      if (store::cannot_meet({pair[0], pair[1]})) continue;
      out.push_back({.faults = pair, .dialect = dialect});
    }
    return out;
  }

  Result<run::SuiteResult, std::string> run_cases(const std::vector<const store::Fault*>& faults,
                                                  codec::DialectId dialect) {
    auto endpoint = open_(faults, dialect, options_.seed);
    if (!endpoint) return fail(endpoint.error());
    return run::run_suite(**endpoint, cases_, catalogue_,
                          options_of_run(dialect, **endpoint, options_.seed), stop_,
                          [](const run::CaseResult&, std::size_t, std::size_t) {});
  }

  void meet(PairResult& pair) {
    const auto suite = run_cases({pair.faults[0], pair.faults[1]}, pair.dialect);
    if (!suite) {
      pair.error = suite.error();
      return;
    }
    for (const report::Difference& found : report::differences(*suite, catalogue_, false)) {
      pair.rules.push_back(found.rule_id);
    }
    for (std::size_t i = 0; i < pair.faults.size(); ++i) {
      const auto first = pair.rules.begin();
      const auto last =
          first + static_cast<std::ptrdiff_t>(std::min(pair.rules.size(), kFirstDifferences));
      pair.named[i] = std::any_of(
          first, last, [&](const std::string& rule) { return breaks(*pair.faults[i], rule); });
    }
    for (std::size_t i = 0; i < pair.faults.size() && !pair.both(); ++i) {
      if (pair.named[i]) continue;
      const auto alone = run_cases({pair.faults[1 - i]}, pair.dialect);
      if (alone && findings_of(*alone) == findings_of(*suite)) pair.hidden = pair.faults[i];
    }
  }

  const scenario::Catalogue& catalogue_;
  const OpenFaults& open_;
  const PairsOptions& options_;
  const std::atomic<bool>& stop_;
  std::vector<const scenario::Case*> cases_;
};

}  // namespace

std::size_t PairsResult::named() const {
  return static_cast<std::size_t>(std::count_if(
      pairs.begin(), pairs.end(), [](const PairResult& each) { return each.both(); }));
}

std::size_t PairsResult::hidden() const {
  return static_cast<std::size_t>(std::count_if(
      pairs.begin(), pairs.end(), [](const PairResult& each) { return each.hidden != nullptr; }));
}

PairsResult run_pairs(const std::vector<scenario::Case>& cases,
                      const scenario::Catalogue& catalogue, const OpenFaults& open,
                      const PairsOptions& options, const std::atomic<bool>& stop,
                      const std::function<void(std::size_t, std::size_t)>& progress) {
  return Pairs(cases, catalogue, open, options, stop).run(progress);
}

std::string pairs_text(const PairsResult& result) {
  const std::size_t hidden = result.hidden();
  std::string out =
      fmt::format("pairs        {:>6} of {:<6} have both faults among the first {} root causes\n",
                  result.named(), result.pairs.size() - hidden, kFirstDifferences);
  if (hidden > 0) {
    out += fmt::format("             {:>6} more, in which one fault completely hides the other\n",
                       hidden);
  }
  for (const PairResult& pair : result.pairs) {
    if (pair.both()) continue;
    out += fmt::format("  {}+{} ({}): ", pair.faults[0]->id, pair.faults[1]->id,
                       codec::dialect(pair.dialect).name);
    if (!pair.error.empty()) {
      out += pair.error + "\n";
      continue;
    }
    if (pair.hidden != nullptr) {
      out += fmt::format("{} cannot be seen\n", pair.hidden->id);
      continue;
    }
    for (std::size_t i = 0; i < pair.faults.size(); ++i) {
      if (pair.named[i]) continue;
      out += fmt::format("{} breaks {}; ", pair.faults[i]->id,
                         fmt::join(pair.faults[i]->requirements, ", "));
    }
    out += fmt::format("named {}\n", fmt::join(pair.rules, ", "));
  }
  return out;
}

}  // namespace fencepost::selftest
