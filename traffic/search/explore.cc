#include "traffic/search/explore.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck/gen/Arbitrary.h>
#include <rapidcheck/gen/Container.h>
#include <rapidcheck/gen/Numeric.h>
#include <rapidcheck/gen/Transform.h>
#include <rapidcheck/shrink/Shrink.h>
#include <rapidcheck/shrinkable/Create.h>

#include "base/threads.h"
#include "endpoint/cancellation.h"
#include "suite/run/client_pool.h"
#include "suite/run/run_slots.h"
#include "traffic/search/seed_traces.h"
#include "workload/random.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace fencepost::workload {

// RapidCheck prints the values of its generators, to whom they have to be known.
// NOLINTNEXTLINE(readability-identifier-naming): RapidCheck's name for it
void showValue(const Operation& operation, std::ostream& out) { out << to_text(operation); }

}  // namespace fencepost::workload

namespace fencepost::search {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using workload::Operation;
using workload::Trace;

constexpr std::size_t kConfirmations = 5;
// After this many that did not fail again: nothing can be repeated on this endpoint.
constexpr std::size_t kMaxSeenOnce = 5;
// One operation in this many is changed as a fuzzer does, with payloads that are nearly requests.
constexpr std::size_t kChanged = 3;
constexpr std::size_t kChanges = 6;  // at most
constexpr std::size_t kMaxShrinkRuns = 2'000;
// Smaller traces that are tried in parallel: those after the first that fails were tried in vain.
constexpr std::size_t kShrunkAtOnce = 128;
constexpr milliseconds kReachable{2'000};
// Expiries of a trace that is about nothing else: one that is waited for, and one that is not.
constexpr std::int64_t kSoonMs = 100;
constexpr std::int64_t kLateMs = 60'000;
constexpr std::int32_t kUntilSoonIsOverMs = 400;
// Any store has to refuse it, and a reader sees why.
constexpr workload::Stamp kFarAhead{.base = workload::StampBase::kNow, .offset_ms = 120'000};

// "1f2e3d4c/x17".
std::string run_name(const std::string& run_id, std::size_t number) {
  return fmt::format("{}/x{}", run_id, number);
}

// `options` with the prefixes of keys and clients of a run. `key_prefix`: the endpoint's.
JudgedRunOptions options_of_run(JudgedRunOptions options, const std::string& name,
                                const std::string& key_prefix) {
  std::string id = name;
  std::replace(id.begin(), id.end(), '/', '-');
  options.key_prefix = fmt::format("{}/{}/", key_prefix, name);
  options.client_id_prefix = fmt::format("fp-{}-", id);
  return options;
}

// Which part of all there is a trace is made of, so that some traces have much of little.
struct Swarm {
  explicit Swarm(std::uint64_t seed) {
    workload::Random random(seed);
    keys = 1 + random.below(workload::kKeys);
    clients = 1 + random.below(workload::kClients);
    plain_stamps = random.one_in(3);
    for (std::size_t kind = 0; kind < workload::kKinds; ++kind) leaves_out[kind] = random.one_in(4);
    leaves_out[static_cast<std::size_t>(workload::Kind::kSet)] = false;
    only_expiry = random.one_in(8);
    if (only_expiry) leaves_out = {};
  }

  void restrict(Operation& operation) const {
    if (only_expiry) make_expiring(operation);
    operation.key = static_cast<std::uint8_t>(operation.key % keys);
    operation.client = static_cast<std::uint8_t>(operation.client % clients);
    if (leaves_out[static_cast<std::size_t>(operation.kind)]) operation.kind = workload::Kind::kGet;
    if (plain_stamps) {
      operation.timestamp = workload::default_timestamp(operation.kind);
    }
    operation = workload::normalized(operation);
  }

  // Keys whose expiry is renewed, shortened and removed, and time in between: what takes several
  // steps in the right order, each of which costs a live store time.
  static void make_expiring(Operation& operation) {
    using workload::Kind;
    switch (operation.kind) {
      case Kind::kSet:
      case Kind::kVdel:
      case Kind::kDel:
        operation.kind = Kind::kSet;
        // NX would keep the first of them; NEX renews what is equal.
        if (operation.condition == codec::Condition::kIfAbsent) operation.condition = {};
        operation.value = operation.value.size() % 2 == 0 ? "v" : "w";
        operation.token = {};
        operation.timestamp = workload::default_timestamp(Kind::kSet);
        if (operation.px_ms) operation.px_ms = *operation.px_ms < kLateMs ? kSoonMs : kLateMs;
        break;
      case Kind::kWait:
      case Kind::kWallStep:
      case Kind::kDisconnect:
        operation.kind = Kind::kWait;
        operation.by_ms = kUntilSoonIsOverMs;
        break;
      default:
        operation.kind = Kind::kGet;
        operation.timestamp = {};
        operation.token = {};
    }
  }

  std::size_t keys = 1;
  std::size_t clients = 1;
  bool plain_stamps = false;
  bool only_expiry = false;
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

rc::Shrinkable<Trace> without_some(Trace trace) {
  return rc::shrinkable::shrinkRecur(
      std::move(trace), [](const Trace& larger) { return rc::shrink::removeChunks(larger); });
}

rc::Shrinkable<Trace> shrinkable_of(std::uint64_t seed, std::size_t example,
                                    std::size_t max_operations) {
  if (example <= seed_traces().size()) {
    Trace trace = seed_traces()[example - 1];
    if (trace.size() > max_operations) trace.resize(max_operations);
    return without_some(std::move(trace));
  }
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
        started_(SteadyClock::now()),
        slots_(std::max<std::size_t>(options.running > 0 ? options.running : options.jobs, 1)),
        pool_(options.run_id, std::max<std::size_t>(options.jobs, 1) * workload::kClients),
        examples_(next_of_shard(options.shard, options.first_example)) {
    result_.progress.next = examples_;
  }

  ExploreResult run() {
    if (options_.all != nullptr) {
      ExploreProgress& progress = result_.progress;
      progress.part = part();
      progress.of = count_of_shard(options_.shard, examples_, end_of_examples());
      progress.in_all = progress.part.empty()
                            ? options_.all->size()
                            : count_of_shard(options_.shard, examples_, options_.all->size() + 1);
    }
    std::size_t seen_once = 0;
    while (!is_over() && found_rules_.size() < options_.stop_after && seen_once < kMaxSeenOnce) {
      search();
      if (!failing_) break;
      Counterexample found = shrink();
      confirm(found);
      looking_again_ = false;
      // Later ones were given up when this one had failed.
      examples_ = found.example + options_.shard.total;
      if (found.failed == 0) ++seen_once;
      keep(std::move(found));
      failing_.reset();
    }
    result_.interrupted = stop_;
    tell("");
    return std::move(result_);
  }

  Result<std::vector<JudgedRun>, endpoint::Error> rerun(const Trace& trace, std::size_t runs) {
    std::vector<JudgedRun> out;
    for (std::optional<JudgedRun>& run : judge_all(
             std::vector(runs, trace), [this] { return stop_.load(); }, false)) {
      if (run && !run->lost && !run->stopped) out.push_back(std::move(*run));
    }
    if (result_.lost) return fail(*result_.lost);
    return out;
  }

 private:
  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started_);
  }
  [[nodiscard]] bool is_over() const { return stop_ || lost_ || elapsed() >= options_.max_time; }
  [[nodiscard]] bool ignores(const judge::Judgement& judgement) const {
    return found_rules_.contains(judgement.requirement) ||
           (options_.ignores && options_.ignores(judgement));
  }

  void tell(const std::string& doing) {
    const std::lock_guard lock(mutex_);
    result_.progress.elapsed = elapsed();
    result_.progress.doing = doing;
    progress_(result_.progress);
  }

  [[nodiscard]] rc::Shrinkable<Trace> shrinkable(std::size_t example) const {
    if (options_.all != nullptr) return without_some(options_.all->trace(example - 1));
    return shrinkable_of(options_.seed, example, options_.max_operations);
  }
  // Behind the last one.
  [[nodiscard]] std::size_t end_of_examples() const {
    const std::size_t all = options_.all != nullptr ? options_.all->size() + 1 : kNone;
    if (options_.max_examples == 0) return all;
    const std::size_t first = next_of_shard(options_.shard, options_.first_example);
    return std::min(all, first + options_.max_examples * options_.shard.total);
  }
  // "shard 2 of 8 of all 100 workloads of depth 1, from 17"; empty: all from the first on.
  [[nodiscard]] std::string part() const {
    const auto& [index, total] = options_.shard;
    const bool later = options_.first_example > 1 && options_.max_examples != 1;
    if (total == 1 && !later) return "";
    return fmt::format("{}all {} workloads of depth {}{}",
                       total > 1 ? fmt::format("shard {} of {} of ", index, total) : "",
                       options_.all->size(), options_.all->depth(),
                       later ? fmt::format(", from {}", options_.first_example) : "");
  }

  // One that does not fail again proves nothing: another of its rule may, and takes its place.
  void keep(Counterexample found) {
    const std::string& rule = found.rejection().judgement.requirement;
    const auto earlier = std::find_if(
        result_.found.begin(), result_.found.end(),
        [&](const Counterexample& each) { return each.rejection().judgement.requirement == rule; });
    if (found.failed > 0) found_rules_.insert(rule);
    if (earlier == result_.found.end()) {
      result_.found.push_back(std::move(found));
    } else if (found.failed > 0) {
      *earlier = std::move(found);
    }
  }

  // ---- The search

  void search() {
    run_in_threads(std::max<std::size_t>(options_.jobs, 1), [this] { work(); });
  }

  void work() {
    while (!is_over() && first_failing_ == kNone) {
      const std::size_t example = examples_.fetch_add(options_.shard.total);
      if (example >= end_of_examples()) return;
      const Trace trace = shrinkable(example).value();
      // Those before one that fails are finished: of several, the first counts.
      auto run = judge(trace, [&] { return is_over() || first_failing_ < example; });
      if (run && !run->stopped) note(example, *run);
    }
  }

  void note(std::size_t example, JudgedRun& run) {
    const std::lock_guard lock(mutex_);
    ++result_.progress.examples;
    ended_.insert(example);
    while (ended_.erase(result_.progress.next) > 0) {
      result_.progress.next += options_.shard.total;
    }
    for (const std::string& requirement : run.open) ++result_.open[requirement];
    if (run.lost) {
      ++result_.progress.cut_short;
    } else if (result_.observed.size() < run.observed.size()) {
      result_.observed.insert(run.observed.begin(), run.observed.end());
    }
    if (run.rejection && example < first_failing_) {
      first_failing_ = example;
      failing_ = std::move(run);
      found_after_ = elapsed();
    }
    result_.progress.elapsed = elapsed();
    progress_(result_.progress);
  }

  // ---- A run

  // Nothing when the endpoint is lost. `stop` may be set by any thread.
  std::optional<JudgedRun> judge(const Trace& trace, const std::function<bool()>& stop) {
    const run::SlotGuard slot(slots_, run::Admission::kInTurn);
    const std::size_t number = ++runs_;
    const std::string name = run_name(options_.run_id, number);
    auto session = endpoint_.open_session({.caller = name});
    if (!session) {
      lose(session.error());
      return std::nullopt;
    }
    JudgedRunOptions judged =
        options_of_run(options_.judged, name, endpoint_.capabilities().key_prefix);
    judged.stop = stop;
    judged.slots = &slots_;
    // What has been found is looked at on connections that have nothing behind them.
    const bool shares = !options_.fresh_connections && !looking_again_;
    if (shares && endpoint_.sessions_share_clients()) {
      judged.pool = &pool_;
      judged.number = static_cast<std::uint32_t>(number);
    }
    // Over a connection, the search keeps them, too: what is seen may never come again.
    judged.keeps_packets =
        judged.keeps_packets || looking_again_ || endpoint_.capabilities().transport;
    judged.is_known = [this](const judge::Judgement& judgement) { return ignores(judgement); };
    JudgedRun run = run_judged(**session, trace, judged);
    if (endpoint::waits_have_ended()) return std::nullopt;  // what did not come proves nothing
    {
      const std::lock_guard lock(mutex_);
      result_.progress.requests += run.requests;
      result_.progress.undecidable += run.undecidable;
      result_.progress.ignored += run.known;
    }
    if (run.lost) {
      if (const auto there = endpoint_.check_reachable(kReachable); !there) {
        lose(there.error());
        return std::nullopt;
      }
    }
    return run;
  }

  // Several traces in parallel. With `first`, what follows one that is rejected is given up.
  std::vector<std::optional<JudgedRun>> judge_all(const std::vector<Trace>& all,
                                                  const std::function<bool()>& stop, bool first) {
    std::vector<std::optional<JudgedRun>> out(all.size());
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> rejected{kNone};
    const auto work = [&] {
      while (true) {
        const std::size_t at = next++;
        const auto is_needless = [&, at] { return stop() || (first && rejected < at); };
        if (at >= all.size() || is_needless()) return;
        out[at] = judge(all[at], is_needless);
        if (!out[at] || !out[at]->rejection) continue;
        std::size_t before = rejected;
        while (at < before && !rejected.compare_exchange_weak(before, at)) {
        }
      }
    };
    run_in_threads(std::min(options_.jobs, all.size()), work);
    return out;
  }

  void lose(const endpoint::Error& error) {
    const std::lock_guard lock(mutex_);
    if (!result_.lost) result_.lost = error;
    lost_ = true;
  }

  // ---- A counter-example

  // Takes the first smaller trace that fails and begins again, until none does.
  Counterexample shrink() {
    tell("shrinking the workload");
    looking_again_ = true;
    const std::size_t example = first_failing_.exchange(kNone);
    rc::Shrinkable<Trace> smallest = shrinkable(example);
    Counterexample found{.trace = smallest.value(),
                         .run = std::move(*failing_),
                         .example = example,
                         .operations_at_first = smallest.value().size(),
                         .found_after = found_after_};
    while (auto smaller = smaller_of(smallest, found)) smallest = std::move(*smaller);
    simplify(found);
    found.is_smallest = !is_over() && found.shrink_runs < kMaxShrinkRuns;
    return found;
  }

  std::optional<rc::Shrinkable<Trace>> smaller_of(const rc::Shrinkable<Trace>& failing,
                                                  Counterexample& found) {
    auto candidates = failing.shrinks();
    while (true) {
      std::vector<rc::Shrinkable<Trace>> some;
      std::vector<Trace> traces;
      while (some.size() < std::min(options_.jobs, kShrunkAtOnce)) {
        auto candidate = candidates.next();
        if (!candidate) break;
        traces.push_back(candidate->value());
        some.push_back(std::move(*candidate));
      }
      if (some.empty()) return std::nullopt;
      const auto at = first_rejected(traces, found);
      if (at) return std::move(some[*at]);
      if (is_over() || found.shrink_runs >= kMaxShrinkRuns) return std::nullopt;
    }
  }

  // Which of them is rejected, and becomes the counter-example.
  std::optional<std::size_t> first_rejected(const std::vector<Trace>& traces,
                                            Counterexample& found) {
    auto runs = judge_all(
        traces, [this] { return is_over(); }, true);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (!runs[i]) continue;
      ++found.shrink_runs;
      if (!runs[i]->rejection) continue;
      found.trace = traces[i];
      found.run = std::move(*runs[i]);
      return i;
    }
    return std::nullopt;
  }

  // Operations that are more usual, as long as the trace fails: what RapidCheck cannot know.
  void simplify(Counterexample& found) {
    using Change = void (*)(Operation&);
    constexpr std::array<Change, 9> kSimpler = {
        [](Operation& operation) { operation.token = {}; },
        [](Operation& operation) {
          // A payload that a store takes for a SET would be refused for another reason without one.
          if (operation.kind == workload::Kind::kRawPayload) return;
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
        if (is_over() || found.shrink_runs >= kMaxShrinkRuns) return;
        Trace simpler = found.trace;
        change(simpler[i]);
        simpler[i] = workload::normalized(simpler[i]);
        if (simpler != found.trace) (void)first_rejected({simpler}, found);
      }
    }
  }

  // How often it fails. Where the smaller workload does not fail again, the first one may.
  void confirm(Counterexample& found) {
    tell("repeating it");
    const SteadyClock::time_point end = SteadyClock::now() + kConfirmTime;
    const auto stop = [&] { return stop_ || lost_ || SteadyClock::now() >= end; };
    run_again(found, stop);
    const Trace first = shrinkable(found.example).value();
    if (found.failed > 0 || first == found.trace || stop()) return;
    Counterexample unshrunk = found;
    unshrunk.trace = first;
    unshrunk.runs = 0;
    unshrunk.is_smallest = false;
    run_again(unshrunk, stop);
    if (unshrunk.failed > 0) found = std::move(unshrunk);
  }

  // One after the other: what a store mixes up between requests depends on the other clients.
  void run_again(Counterexample& found, const std::function<bool()>& stop) {
    for (std::size_t i = 0; i < kConfirmations && !stop(); ++i) {
      auto run = judge(found.trace, stop);
      if (!run || run->lost || run->stopped) continue;
      ++found.runs;
      if (!run->rejection) continue;
      ++found.failed;
      found.run = std::move(*run);
    }
  }

  static constexpr std::size_t kNone = SIZE_MAX;

  endpoint::Endpoint& endpoint_;
  const ExploreOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(const ExploreProgress&)>& progress_;
  SteadyClock::time_point started_;
  run::RunSlots slots_;
  run::ClientPool pool_;
  bool looking_again_ = false;         // at a counter-example. Neither changes while
  std::set<std::string> found_rules_;  // anything runs.
  std::atomic<std::size_t> examples_;
  std::atomic<std::size_t> runs_{0};
  std::atomic<std::size_t> first_failing_{kNone};
  std::atomic<bool> lost_{false};
  std::mutex mutex_;  // of what follows
  ExploreResult result_;
  std::set<std::size_t> ended_;  // examples behind progress.next
  std::optional<JudgedRun> failing_;
  milliseconds found_after_{0};
};

}  // namespace

std::size_t next_of_shard(const run::Shard& shard, std::size_t number) {
  const std::size_t behind = (number - 1) % shard.total;
  return number + (shard.index - 1 + shard.total - behind) % shard.total;
}

std::size_t count_of_shard(const run::Shard& shard, std::size_t first, std::size_t end) {
  const std::size_t next = next_of_shard(shard, first);
  return next < end ? (end - next - 1) / shard.total + 1 : 0;
}

Trace example_of(std::uint64_t seed, std::size_t example, std::size_t max_operations) {
  return shrinkable_of(seed, example, max_operations).value();
}

ExploreResult explore(endpoint::Endpoint& endpoint, const ExploreOptions& options,
                      const std::atomic<bool>& stop,
                      const std::function<void(const ExploreProgress&)>& progress) {
  return Explorer(endpoint, options, stop, progress).run();
}

Result<std::vector<JudgedRun>, endpoint::Error> rerun(endpoint::Endpoint& endpoint,
                                                      const workload::Trace& trace,
                                                      std::size_t runs,
                                                      const ExploreOptions& options,
                                                      const std::atomic<bool>& stop) {
  const std::function<void(const ExploreProgress&)> quietly = [](const ExploreProgress&) {};
  return Explorer(endpoint, options, stop, quietly).rerun(trace, runs);
}

}  // namespace fencepost::search
