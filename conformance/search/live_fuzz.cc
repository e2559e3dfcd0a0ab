#include "conformance/search/live_fuzz.h"

#include <algorithm>
#include <future>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "conformance/scenario/scenario_loader.h"
#include "conformance/search/shrink_trace.h"
#include "conformance/search/trace_scenario.h"

namespace fencepost::search {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Cases that run at once: few at first, so that a store that is plainly wrong is found out at once,
// then as many as take about a second, so that those that wait do not hold up the others.
constexpr std::size_t kFirstBatch = 24;
constexpr std::size_t kMostAtOnce = 1'024;
constexpr double kBatchTime = 1.5;  // seconds

// How often a difference is looked for again.
constexpr std::size_t kConfirmations = 5;
// A difference that comes and goes is looked for so often in each smaller scenario.
constexpr std::size_t kTriesOfFlaky = 3;
// While shrinking, what does not come soon is taken for missing. Where that was too soon, and the
// end cannot be confirmed, it is done again with patience.
constexpr double kImpatience = 0.3;
// Smaller scenarios are tried in groups of this many: the first of them that fails will do.
constexpr std::size_t kShrinkAtOnce = 16;

// The case of a text of ours, which always loads.
scenario::Case load_generated(const scenario::SourceFile& file,
                              const std::set<std::string>& requirements) {
  std::vector<scenario::LoadError> errors;
  std::vector<scenario::Case> cases = load_scenario(file, requirements, errors);
  FENCEPOST_CHECK(errors.empty() && cases.size() == 1);
  return std::move(cases.front());
}

// A plan and its case, which results point to.
struct Trial {
  LivePlan plan;
  std::unique_ptr<scenario::Case> test_case;
};

class LiveFuzz {
 public:
  LiveFuzz(endpoint::Endpoint& endpoint, const scenario::Catalogue& catalogue,
           const LiveFuzzOptions& options, const std::atomic<bool>& stop,
           const std::function<void(const LiveFuzzProgress&)>& progress)
      : endpoint_(endpoint),
        catalogue_(catalogue),
        requirements_(catalogue.ids()),
        options_(options),
        stop_(stop),
        progress_(progress),
        search_(options.seed, options.live, seed_traces()),
        started_(SteadyClock::now()) {}

  LiveFuzzResult run() {
    std::size_t size = kFirstBatch;
    std::vector<Trial> batch = generate(size);
    while (!is_over()) {
      // The next batch is thought out while this one runs.
      auto next = std::async(std::launch::async, [&] { return generate(size); });
      const double took = run_batch(batch);
      const auto fitting = static_cast<std::size_t>(static_cast<double>(size) * kBatchTime / took);
      batch = next.get();
      size = std::clamp(fitting, kFirstBatch, std::min(2 * size, kMostAtOnce));
    }
    result_.interrupted = stop_;
    note_progress({});
    return std::move(result_);
  }

  std::optional<Difference> look_into(const LivePlan& plan) {
    std::vector<Trial> batch;
    batch.push_back(trial_of(plan));
    run_batch(batch);
    if (result_.differences.empty()) return std::nullopt;
    return std::move(result_.differences.front());
  }

 private:
  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started_);
  }

  [[nodiscard]] bool has_enough() const {
    return result_.differences.size() >= options_.stop_after;
  }
  [[nodiscard]] bool is_over() const {
    return stop_ || result_.endpoint_lost || elapsed() >= options_.time || has_enough();
  }

  std::vector<Trial> generate(std::size_t size) {
    std::vector<Trial> out;
    while (out.size() < size && !stop_) {
      LivePlan plan = search_.next();
      Trial trial = trial_of(std::move(plan));
      out.push_back(std::move(trial));
    }
    const std::lock_guard lock(mutex_);
    searched_ = search_.progress();
    return out;
  }

  // Each has an id of its own, and so keys of its own.
  Trial trial_of(LivePlan plan) {
    const std::string id = fmt::format("fuzz-live.{}", ++trials_);
    const std::string text = scenario_text(plan, {.id = id, .title = id});
    return {std::move(plan),
            std::make_unique<scenario::Case>(load_generated({id, text}, requirements_))};
  }

  run::SuiteResult run_cases(const std::vector<Trial>& trials, const run::SuiteOptions& suite) {
    std::vector<const scenario::Case*> cases;
    for (const Trial& trial : trials) cases.push_back(trial.test_case.get());
    run::SuiteResult ran =
        run_suite(endpoint_, cases, catalogue_, suite, stop_,
                  [&](const run::CaseResult& result, std::size_t, std::size_t) { count(result); });
    if (ran.endpoint_lost) {
      result_.endpoint_lost = true;
      result_.lost_message = ran.lost_message;
    }
    return ran;
  }

  void count(const run::CaseResult& result) {
    {
      const std::lock_guard lock(mutex_);
      LiveFuzzProgress& progress = result_.progress;
      if (result.verdict != run::Verdict::kNotRun) ++progress.cases;
      if (result.verdict == run::Verdict::kPassed) ++result_.passed;
      if (result.verdict == run::Verdict::kInconclusive) ++progress.inconclusive;
      progress.requests += result.round_trips.size();
    }
    note_progress(doing_);
  }

  void note_progress(const std::string& doing) {
    const std::lock_guard lock(mutex_);
    LiveFuzzProgress& progress = result_.progress;
    progress.elapsed = elapsed();
    progress.differences = result_.differences.size();
    progress.search = searched_;
    progress.doing = doing;
    progress_(progress);
  }

  // Returns how many seconds the cases took.
  double run_batch(std::vector<Trial>& batch) {
    const auto began = SteadyClock::now();
    const run::SuiteResult ran = run_cases(batch, options_.suite);
    const std::chrono::duration<double> took = SteadyClock::now() - began;
    for (std::size_t i = 0; i < ran.cases.size(); ++i) {
      const run::CaseResult& result = ran.cases[i];
      if (result.verdict != run::Verdict::kFailed || has_enough()) continue;
      if (!known_.insert(result.requirement + ": " + result.message).second) continue;
      investigate(batch[i], result);
    }
    return std::max(took.count(), 0.001);
  }

  // ---- A difference

  void investigate(Trial& first, const run::CaseResult& seen) {
    Difference difference;
    difference.found_after = elapsed();
    difference.steps_at_first = size_of(first.plan).steps;
    doing_ = "looking at a difference again";
    note_progress(doing_);
    const auto again = SteadyClock::now();
    const std::size_t failed = failures_of(first.plan, options_.suite);
    bool confirmed = false;
    for (const double patience : {kImpatience, 1.0}) {
      if (failed == 0 || confirmed || stop_) break;
      confirmed = confirm(shrink_it(first.plan, failed, patience, difference), difference);
    }
    if (!confirmed && !confirm(first.plan, difference)) {
      difference.plan = std::move(first.plan);
      difference.result = seen;
      difference.test_case = std::move(first.test_case);
    }
    difference.shrunk_in = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - again);
    difference.result.test_case = difference.test_case.get();
    doing_.clear();
    // What it came down to may be known.
    const std::string text = scenario_text(difference.plan, {.id = "x", .title = "x"});
    if (!known_smallest_.insert(text).second) return;
    const std::lock_guard lock(mutex_);
    result_.differences.push_back(std::move(difference));
  }

  std::size_t failures_of(const LivePlan& plan, const run::SuiteOptions& suite) {
    std::vector<Trial> copies;
    for (std::size_t i = 0; i < kConfirmations; ++i) copies.push_back(trial_of(plan));
    const run::Summary summary = run_cases(copies, suite).summary;
    return summary.failed + summary.warnings;
  }

  LivePlan shrink_it(const LivePlan& failing, std::size_t failed, double patience,
                     Difference& difference) {
    run::SuiteOptions suite = options_.suite;
    suite.settings.timeout_scale *= patience;
    const std::size_t copies = failed == kConfirmations ? 1 : kTriesOfFlaky;
    doing_ = "making a difference smaller";
    Shrunk shrunk = shrink(failing, [&](const std::vector<LivePlan>& plans) {
      return first_failing(plans, copies, suite);
    });
    difference.shrink_runs += shrunk.tried * copies;
    return std::move(shrunk.plan);
  }

  std::optional<std::size_t> first_failing(const std::vector<LivePlan>& plans, std::size_t copies,
                                           const run::SuiteOptions& suite) {
    for (std::size_t from = 0; from < plans.size() && !stop_ && !result_.endpoint_lost;
         from += kShrinkAtOnce) {
      std::vector<Trial> trials;
      const std::size_t end = std::min(from + kShrinkAtOnce, plans.size());
      for (std::size_t i = from; i < end; ++i) {
        for (std::size_t copy = 0; copy < copies; ++copy) trials.push_back(trial_of(plans[i]));
      }
      const run::SuiteResult ran = run_cases(trials, suite);
      for (std::size_t i = 0; i < ran.cases.size(); ++i) {
        if (ran.cases[i].verdict == run::Verdict::kFailed) return from + i / copies;
      }
    }
    return std::nullopt;
  }

  // Runs it as it will be run from its file.
  bool confirm(const LivePlan& plan, Difference& difference) {
    difference.runs = difference.failed = 0;
    std::vector<Trial> copies;
    for (std::size_t i = 0; i < kConfirmations; ++i) copies.push_back(trial_of(plan));
    run::SuiteResult ran = run_cases(copies, options_.suite);
    for (std::size_t i = 0; i < ran.cases.size(); ++i) {
      if (ran.cases[i].verdict == run::Verdict::kNotRun) continue;
      ++difference.runs;
      if (ran.cases[i].verdict != run::Verdict::kFailed) continue;
      if (difference.failed++ > 0) continue;
      difference.result = std::move(ran.cases[i]);
      difference.test_case = std::move(copies[i].test_case);
      difference.plan = plan;
    }
    return difference.failed > 0;
  }

  endpoint::Endpoint& endpoint_;
  const scenario::Catalogue& catalogue_;
  const std::set<std::string> requirements_;  // that cases may cite
  const LiveFuzzOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(const LiveFuzzProgress&)>& progress_;
  TraceSearch search_;
  SteadyClock::time_point started_;
  std::atomic<std::size_t> trials_{0};
  std::set<std::string> known_;           // what was looked at: rule and message
  std::set<std::string> known_smallest_;  // what it came down to: texts of scenarios
  std::string doing_;
  std::mutex mutex_;  // of what follows
  TraceSearch::Progress searched_;
  LiveFuzzResult result_;
};

}  // namespace

LiveFuzzResult run_live_fuzz(endpoint::Endpoint& endpoint, const scenario::Catalogue& catalogue,
                             const LiveFuzzOptions& options, const std::atomic<bool>& stop,
                             const std::function<void(const LiveFuzzProgress&)>& progress) {
  return LiveFuzz(endpoint, catalogue, options, stop, progress).run();
}

std::optional<Difference> look_into(endpoint::Endpoint& endpoint,
                                    const scenario::Catalogue& catalogue,
                                    const LiveFuzzOptions& options, const LivePlan& plan,
                                    const std::atomic<bool>& stop) {
  const std::function<void(const LiveFuzzProgress&)> quietly = [](const LiveFuzzProgress&) {};
  return LiveFuzz(endpoint, catalogue, options, stop, quietly).look_into(plan);
}

void write_as(Difference& difference, const ScenarioWords& words, const std::string& file,
              const scenario::Catalogue& catalogue) {
  difference.text = scenario_text(difference.plan, words);
  *difference.test_case = load_generated({file, difference.text}, catalogue.ids());
  const scenario::Case& test_case = *difference.test_case;
  run::CaseResult& result = difference.result;
  result.test_case = &test_case;
  result.position =
      result.step > 0 ? test_case.steps.at(result.step - 1).position : test_case.position;
}

run::ExitCode exit_code(const LiveFuzzResult& result) {
  const bool proved =
      std::any_of(result.differences.begin(), result.differences.end(),
                  [](const Difference& difference) { return !difference.seen_once(); });
  if (proved) return run::ExitCode::kFailed;
  if (result.endpoint_lost) return run::ExitCode::kUnreachable;
  if (result.interrupted) return run::ExitCode::kInterrupted;
  return result.differences.empty() && result.passed > 0 ? run::ExitCode::kConformant
                                                         : run::ExitCode::kInconclusive;
}

}  // namespace fencepost::search
