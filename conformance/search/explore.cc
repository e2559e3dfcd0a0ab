#include "conformance/search/explore.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck/gen/Arbitrary.h>
#include <rapidcheck/gen/Container.h>
#include <rapidcheck/gen/Numeric.h>
#include <rapidcheck/gen/Transform.h>

#include "workload/random.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace fencepost::workload {

// RapidCheck prints the values of its generators, to whom they have to be known.
// NOLINTNEXTLINE(readability-identifier-naming): RapidCheck's name for it
void showValue(const Operation& operation, std::ostream& out) { out << to_text(operation); }

}  // namespace fencepost::workload

namespace fencepost::conformance {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using workload::Operation;
using workload::Trace;

constexpr std::size_t kConfirmations = 5;
// One operation of so many is changed as a fuzzer does, with payloads that are nearly requests.
constexpr std::size_t kChanged = 3;
constexpr std::size_t kChanges = 6;  // at most
constexpr std::size_t kMostShrinkRuns = 2'000;
constexpr milliseconds kReachable{2'000};
// Any store has to refuse it, and a reader sees why.
constexpr workload::Stamp kFarAhead{.base = workload::StampBase::kNow, .offset_ms = 120'000};

// Which part of all there is a trace is made of, so that some traces have much of little.
struct Swarm {
  explicit Swarm(std::uint64_t seed) {
    workload::Random random(seed);
    keys = 1 + random.below(workload::kKeys);
    clients = 1 + random.below(workload::kClients);
    plain_stamps = random.one_in(3);
    for (std::size_t kind = 0; kind < workload::kKinds; ++kind) leaves_out[kind] = random.one_in(4);
    leaves_out[static_cast<std::size_t>(workload::Kind::kSet)] = false;
  }

  void restrict(Operation& operation) const {
    operation.key = static_cast<std::uint8_t>(operation.key % keys);
    operation.client = static_cast<std::uint8_t>(operation.client % clients);
    if (leaves_out[static_cast<std::size_t>(operation.kind)]) operation.kind = workload::Kind::kGet;
    if (plain_stamps) {
      operation.timestamp = workload::default_timestamp(operation.kind);
    }
    operation = workload::normalized(operation);
  }

  std::size_t keys = 1;
  std::size_t clients = 1;
  bool plain_stamps = false;
  std::array<bool, workload::kKinds> leaves_out{};
};

Operation operation_of(std::uint64_t choices, const Swarm& swarm) {
  workload::Random random(choices);
  Trace one = {workload::random_operation(random)};
  if (random.one_in(kChanged)) {
    for (std::size_t i = random.below(kChanges) + 1; i > 0; --i) {
      workload::mutate(one, random, 1);
    }
  }
  swarm.restrict(one.front());
  return one.front();
}

rc::Gen<Trace> traces(std::uint64_t seed) {
  const Swarm swarm(seed);
  auto operation =
      rc::gen::map(rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()),
                   [swarm](std::uint64_t choices) { return operation_of(choices, swarm); });
  return rc::gen::container<Trace>(std::move(operation));
}

std::uint64_t seed_of(std::uint64_t seed, std::size_t example) {
  workload::Random random(seed ^ (example * 0x9E3779B97F4A7C15ULL));
  return random.next();
}

rc::Shrinkable<Trace> shrinkable_of(std::uint64_t seed, std::size_t example,
                                    std::size_t max_operations) {
  const std::uint64_t own = seed_of(seed, example);
  // RapidCheck's size is the greatest length of a container.
  const std::size_t size = 2 + own % std::max<std::size_t>(max_operations, 1);
  return traces(own)(rc::Random(own), static_cast<int>(size));
}

class Explorer {
 public:
  Explorer(endpoint::Endpoint& endpoint, const ExploreOptions& options,
           const std::atomic<bool>& stop,
           const std::function<void(const ExploreProgress&)>& progress)
      : endpoint_(endpoint),
        options_(options),
        stop_(stop),
        progress_(progress),
        started_(SteadyClock::now()) {}

  ExploreResult run() {
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 1; i < options_.jobs; ++i) workers.emplace_back([&] { work(); });
      work();
    }
    if (failing_) shrink();
    result_.interrupted = stop_;
    tell("");
    return std::move(result_);
  }

 private:
  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started_);
  }
  [[nodiscard]] bool is_over() const { return stop_ || over_ || elapsed() >= options_.max_time; }

  void tell(const std::string& doing) {
    const std::lock_guard lock(mutex_);
    result_.progress.elapsed = elapsed();
    result_.progress.doing = doing;
    progress_(result_.progress);
  }

  void work() {
    while (!is_over()) {
      const std::size_t example = ++examples_;
      if (options_.max_examples != 0 && example > options_.max_examples) return;
      const Trace trace = shrinkable_of(options_.seed, example, options_.max_operations).value();
      const auto run = judge(trace);
      if (!run) return;
      const std::lock_guard lock(mutex_);
      ++result_.progress.examples;
      if (run->lost) {
        ++result_.progress.cut_short;
      } else if (result_.observed.size() < run->observed.size()) {
        result_.observed.insert(run->observed.begin(), run->observed.end());
      }
      // Of several that fail at the same time the first counts.
      if (run->rejection && (!failing_ || example < *failing_)) {
        failing_ = example;
        rejection_ = *run->rejection;
        found_after_ = elapsed();
        over_ = true;
      }
      result_.progress.elapsed = elapsed();
      progress_(result_.progress);
    }
  }

  // Nothing when the endpoint is lost.
  std::optional<JudgedRun> judge(const Trace& trace) {
    auto session = endpoint_.open_session();
    if (!session) {
      lose(session.error());
      return std::nullopt;
    }
    JudgedRunOptions judged = options_.judged;
    const std::size_t number = ++runs_;
    judged.keys_begin_with =
        fmt::format("{}/{}/x{}/", endpoint_.capabilities().key_prefix, options_.run_id, number);
    judged.clients_begin_with = fmt::format("fp-{}-x{}-", options_.run_id, number);
    JudgedRun run = run_judged(**session, trace, judged);
    {
      const std::lock_guard lock(mutex_);
      result_.progress.requests += run.requests;
      result_.progress.undecidable += run.undecidable;
    }
    if (run.lost) {
      if (const auto there = endpoint_.check_reachable(kReachable); !there) {
        lose(there.error());
        return std::nullopt;
      }
    }
    return run;
  }

  void lose(const endpoint::Error& error) {
    const std::lock_guard lock(mutex_);
    if (!result_.lost) result_.lost = error;
    over_ = true;
  }

  // Takes the first smaller trace that fails and begins anew, until none does.
  void shrink() {
    tell("making the trace smaller");
    rc::Shrinkable<Trace> smallest =
        shrinkable_of(options_.seed, *failing_, options_.max_operations);
    Counterexample found{.rejection = rejection_,
                         .example = *failing_,
                         .operations_at_first = smallest.value().size(),
                         .found_after = found_after_};
    found.trace = smallest.value();
    found.first = found.trace;
    bool smaller = true;
    while (smaller && !stop_ && !result_.lost && found.shrink_runs < kMostShrinkRuns) {
      smaller = false;
      auto candidates = smallest.shrinks();
      while (auto candidate = candidates.next()) {
        if (stop_ || result_.lost || ++found.shrink_runs > kMostShrinkRuns) break;
        const Trace trace = candidate->value();
        const auto run = judge(trace);
        if (!run || !run->rejection) continue;
        found.trace = trace;
        found.rejection = *run->rejection;
        smallest = std::move(*candidate);
        smaller = true;
        break;
      }
    }
    simplify(found);
    tell("running it again");
    for (std::size_t i = 0; i < kConfirmations && !stop_ && !result_.lost; ++i) {
      const auto run = judge(found.trace);
      if (!run || run->lost) continue;
      ++found.runs;
      if (run->rejection) ++found.failed;
    }
    result_.found = std::move(found);
  }

  // Operations that are more usual, as long as the trace fails: what RapidCheck cannot know.
  void simplify(Counterexample& found) {
    using Change = void (*)(Operation&);
    constexpr std::array<Change, 9> kSimpler = {
        [](Operation& operation) { operation.token = {}; },
        [](Operation& operation) {
          operation.timestamp = workload::default_timestamp(operation.kind);
        },
        [](Operation& operation) {
          for (workload::Stamp* stamp : {&operation.timestamp, &operation.token}) {
            if (stamp->base == workload::StampBase::kMax) *stamp = kFarAhead;
          }
        },
        [](Operation& operation) { operation.token.counter = 0; },
        [](Operation& operation) { operation.timestamp.counter = 0; },
        [](Operation& operation) { operation.token.node = 0; },
        [](Operation& operation) { operation.px_ms.reset(); },
        [](Operation& operation) { operation.client = 0; },
        [](Operation& operation) { operation.key = 0; },
    };
    for (std::size_t i = 0; i < found.trace.size(); ++i) {
      for (const Change change : kSimpler) {
        if (stop_ || result_.lost || found.shrink_runs > kMostShrinkRuns) return;
        Trace simpler = found.trace;
        change(simpler[i]);
        simpler[i] = workload::normalized(simpler[i]);
        if (simpler == found.trace) continue;
        ++found.shrink_runs;
        const auto run = judge(simpler);
        if (!run || !run->rejection) continue;
        found.trace = std::move(simpler);
        found.rejection = *run->rejection;
      }
    }
  }

  endpoint::Endpoint& endpoint_;
  const ExploreOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(const ExploreProgress&)>& progress_;
  SteadyClock::time_point started_;
  std::atomic<std::size_t> examples_{0};
  std::atomic<std::size_t> runs_{0};
  std::atomic<bool> over_{false};
  std::mutex mutex_;  // of what follows
  ExploreResult result_;
  std::optional<std::size_t> failing_;
  Rejection rejection_;
  milliseconds found_after_{0};
};

}  // namespace

Trace example_of(std::uint64_t seed, std::size_t example, std::size_t max_operations) {
  return shrinkable_of(seed, example, max_operations).value();
}

ExploreResult explore(endpoint::Endpoint& endpoint, const ExploreOptions& options,
                      const std::atomic<bool>& stop,
                      const std::function<void(const ExploreProgress&)>& progress) {
  return Explorer(endpoint, options, stop, progress).run();
}

}  // namespace fencepost::conformance
