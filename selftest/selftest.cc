#include "selftest/selftest.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/threads.h"
#include "report/root_causes.h"
#include "selftest/canary.h"
#include "selftest/conversations.h"
#include "suite/run/preflight.h"

namespace fencepost::selftest {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kCasesOfALine = 50;  // of progress

std::chrono::microseconds since(steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - start);
}

codec::Profile profile_of(codec::DialectId dialect) {
  return dialect == codec::DialectId::kDocumented ? codec::Profile::kDocumented
                                                  : codec::Profile::kDeployed;
}

std::string title(const store::Fault* fault, codec::DialectId dialect) {
  const std::string_view spoken = codec::dialect(dialect).name;
  if (fault == nullptr) return fmt::format("reference ({})", spoken);
  return fmt::format("{}-{} ({})", fault->id, fault->name, spoken);
}

// Every store in every dialect, one after the other on a few threads.
class Selftest {
 public:
  Selftest(const std::vector<scenario::Case>& cases, const scenario::Catalogue& catalogue,
           const OpenSubject& open, const SelftestOptions& options, const std::atomic<bool>& stop,
           const SelftestProgress& progress)
      : cases_(cases),
        catalogue_(catalogue),
        open_(open),
        options_(options),
        stop_(stop),
        progress_(progress) {
    for (const scenario::Case& test_case : cases_) pointers_.push_back(&test_case);
  }

  SelftestResult run() {
    const auto start = steady_clock::now();
    plan();
    // Other stores are compared with what the right ones have said.
    const auto is_right = [](const Work& work) { return work.fault == nullptr && !work.canaries; };
    run_all(is_right, [this](Work& work) { do_one(work); });
    if (compares()) compare_all();
    run_all([&](const Work& work) { return !is_right(work); },
            [this](Work& work) { do_one(work); });
    SelftestResult result;
    result.cases = pointers_;
    for (Work& work : work_) sort_in(work, result);
    result.has_canaries = !options_.over_the_wire;
    count_attributed(result);
    result.interrupted = stop_;
    result.duration = since(start);
    return result;
  }

 private:
  struct Work {
    const store::Fault* fault = nullptr;
    codec::DialectId dialect = codec::DialectId::kDeployed;
    bool canaries = false;
    // The conforming store once more, to compare the stores that conform to these documents with:
    // no result of its own.
    std::optional<store::RightBy> listens_for{};
    bool done = false;
    std::optional<Subject> subject{};  // while it is needed
    run::SuiteOptions options{};
    std::vector<char> same{};  // per case that the conforming store passed: same traffic?
    SubjectResult result{};
    std::size_t planted = 0;
    std::vector<CanarySurvivor> survivors{};
  };

  // The requests to the conforming store in a run of this kind, and the results of the cases that
  // it passed.
  struct Reference {
    run::SuiteOptions options{};
    Conversations received{};
    std::vector<run::FinishedCase> passed{};
  };
  // Identifies the runs of faults (no documents) and of conforming variants.
  using RunKind = std::pair<codec::DialectId, std::optional<store::RightBy>>;

  // Calls `one` with each number below `count`, on a few threads.
  template <typename One>
  void for_each(std::size_t count, const One& one) {
    std::atomic<std::size_t> next{0};
    run_in_threads(std::max<std::size_t>(options_.jobs, 1), [&] {
      for (std::size_t at = next++; at < count && !stop_; at = next++) one(at);
    });
  }

  template <typename Wanted, typename Action>
  void run_all(const Wanted& wanted, const Action& action) {
    std::vector<Work*> works;
    for (Work& work : work_) {
      if (wanted(work)) works.push_back(&work);
    }
    for_each(works.size(), [&](std::size_t at) { action(*works[at]); });
  }

  // One case after the other, as its traffic is then at hand for all stores.
  void compare_all() {
    run_all([](const Work& work) { return is_compared(work); }, [this](Work& work) { open(work); });
    for (auto& [kind, reference] : references_) {
      std::vector<Work*> alike;
      for (Work& work : work_) {
        if (!work.subject || in_process(*work.subject) == nullptr) continue;
        if (kind != kind_of(work)) continue;
        if (are_alike(reference.options, work.options)) alike.push_back(&work);
      }
      for (Work* work : alike) work->same.resize(reference.passed.size());
      for_each(reference.passed.size(), [&, &expected = reference](std::size_t at) {
        const std::string name = run::attempt_name(*expected.passed[at].result.test_case, 1);
        for (Work* work : alike) {
          work->same[at] =
              expected.received.are_the_same(name, *in_process(*work->subject)) ? 1 : 0;
        }
        if (at % kCasesOfALine != 0) return;
        const std::lock_guard lock(mutex_);
        progress_(done_, work_.size(), fmt::format("responses of each store: {}", name));
      });
    }
  }

  static bool is_compared(const Work& work) {
    return work.fault != nullptr && work.fault->kind != store::FaultKind::kNull;
  }

  static RunKind kind_of(const Work& work) {
    if (is_benign(work.fault)) return {work.dialect, work.fault->right_by};
    return {work.dialect, std::nullopt};
  }

  void plan() {
    for (const codec::DialectId dialect : options_.dialects) {
      work_.push_back({.fault = nullptr, .dialect = dialect});
      references_[{dialect, std::nullopt}];
      // What they say does not depend on the path of requests.
      if (options_.over_the_wire) continue;
      work_.push_back({.fault = nullptr, .dialect = dialect, .canaries = true});
    }
    for (const store::Fault& fault : store::faults()) {
      if (!selected(fault) || !can_be_met(fault, options_.over_the_wire)) continue;
      for (const codec::DialectId dialect : options_.dialects) {
        // What the article prints and no more is right by the article alone.
        const bool article = dialect == codec::DialectId::kDocumented;
        if (fault.right_by != store::RightBy::kAll && !article) continue;
        work_.push_back({.fault = &fault, .dialect = dialect});
        if (!is_benign(&fault) || !compares()) continue;
        if (!references_.try_emplace({dialect, fault.right_by}).second) continue;
        work_.push_back({.dialect = dialect, .listens_for = fault.right_by});
      }
    }
  }

  [[nodiscard]] bool selected(const store::Fault& fault) const {
    return options_.only.empty() ||
           std::any_of(options_.only.begin(), options_.only.end(),
                       [&](const std::string& glob) { return matches(glob, fault); });
  }

  void count_attributed(SelftestResult& result) const {
    std::set<std::string> attributed;
    for (const SubjectResult& fault : result.faults) {
      attributed.insert(fault.attributed.begin(), fault.attributed.end());
    }
    // Rules about packets cannot be broken where there are none: all their cases are skipped.
    std::set<std::string> named;
    for (const scenario::Case* each : pointers_) {
      named.insert(each->requirements.begin(), each->requirements.end());
    }
    for (const scenario::Requirement& rule : catalogue_.all()) {
      if (!scenario::can_be_broken(rule) || rule.binds != "store") continue;
      if (named.contains(rule.id) && !asked_of_.contains(rule.id)) continue;
      ++result.rules;
      if (!attributed.contains(rule.id)) result.never_attributed.push_back(rule.id);
    }
  }

  void note_asked(const run::SuiteResult& suite) {
    const std::lock_guard lock(mutex_);
    for (const run::CaseResult& result : suite.cases) {
      if (result.verdict == run::Verdict::kSkipped) continue;
      asked_of_.insert(result.test_case->requirements.begin(),
                       result.test_case->requirements.end());
    }
  }

  void do_one(Work& work) {
    const std::string what = title(work.fault, work.dialect);
    if (work.canaries) {
      run_canaries(work);
    } else if (work.listens_for) {
      listen(work);
    } else {
      run_subject(work);
    }
    work.done = true;
    const std::lock_guard lock(mutex_);
    progress_(++done_, work_.size(), work.canaries ? "canaries, " + what : what);
  }

  [[nodiscard]] run::SuiteOptions suite_options(codec::DialectId dialect,
                                                const endpoint::Endpoint& endpoint) const {
    run::SuiteOptions out = options_of_run(dialect, endpoint, options_.seed);
    out.jobs = options_.cases_at_once;
    out.running = options_.cases_running;
    out.fresh_connections = options_.fresh_connections;
    return out;
  }

  // Nothing is opened where the result says why.
  void open(Work& work) {
    SubjectResult& out = work.result;
    out.fault = work.fault;
    out.dialect = work.dialect;
    auto subject = open_(work.fault, work.dialect, options_.seed);
    if (!subject) {
      out.error = subject.error();
      return;
    }
    run::SuiteOptions& options = work.options;
    options = suite_options(work.dialect, *subject->endpoint);
    // Against a store that does not answer all cases wait, and none is running.
    if (work.fault != nullptr && work.fault->kind == store::FaultKind::kNull) {
      options.running = 0;
      // What is undecided for want of an answer stays so.
      options.repeat_inconclusive = false;
    }
    if (is_benign(work.fault) && !adapt(*subject->endpoint, work.fault->right_by, options, out)) {
      return;
    }
    work.subject = std::move(*subject);
  }

  void run_subject(Work& work) {
    SubjectResult& out = work.result;
    const auto start = steady_clock::now();
    if (!work.subject && out.error.empty()) open(work);
    if (!work.subject) return;
    std::unique_ptr<endpoint::Endpoint> listening;
    if (compares() && work.fault == nullptr) {
      listening = listen_to(*work.subject, work.options, references_.at(kind_of(work)));
    } else if (!work.same.empty()) {
      work.options.finished = saw_the_same(references_.at(kind_of(work)), work.same);
    }
    const run::SuiteResult suite = run_suite(
        listening ? *listening : *work.subject->endpoint, pointers_, catalogue_, work.options,
        stop_, [&](const run::CaseResult& result, std::size_t /*done*/, std::size_t /*total*/) {
          const bool kills = work.fault != nullptr && result.verdict == run::Verdict::kFailed &&
                             !result.waived && cites(*result.test_case, *work.fault);
          if (!kills || out.first_detecting != nullptr) return;
          out.time_to_kill = since(start);
          out.first_detecting = result.test_case;
        });
    for (const run::CaseResult& result : suite.cases) record(result, out);
    if (work.fault == nullptr) note_asked(suite);
    if (listening) keep_passed(suite, references_.at(kind_of(work)));
    if (work.fault != nullptr) {
      out.diagnosis = diagnosis_of(suite, *work.fault);
      out.attributed.insert(out.diagnosis.rules.begin(), out.diagnosis.rules.end());
    }
    out.owes = work.fault == nullptr || owes(*work.fault, suite.basis);
    out.duration = since(start);
    listening.reset();
    work.subject.reset();
    work.options = {};
  }

  [[nodiscard]] bool compares() const {
    return !options_.over_the_wire && !options_.every_case && options_.cases_at_once == 1;
  }

  // Null: it is not in this process.
  static const endpoint::InProcessEndpoint* in_process(const Subject& subject) {
    return dynamic_cast<const endpoint::InProcessEndpoint*>(subject.endpoint.get());
  }

  // Null: it cannot be listened to.
  static std::unique_ptr<endpoint::Endpoint> listen_to(const Subject& subject,
                                                       const run::SuiteOptions& options,
                                                       Reference& reference) {
    if (in_process(subject) == nullptr) return nullptr;
    reference.options = options;
    return reference.received.listen_to(*in_process(subject));
  }

  void listen(Work& work) {
    auto subject = open_(nullptr, work.dialect, options_.seed);
    if (!subject) return;  // then nothing is compared with it
    run::SuiteOptions options = suite_options(work.dialect, *subject->endpoint);
    if (!adapt(*subject->endpoint, *work.listens_for, options, work.result)) return;
    Reference& reference = references_.at({work.dialect, work.listens_for});
    const auto listening = listen_to(*subject, options, reference);
    if (!listening) return;
    keep_passed(run_suite(*listening, pointers_, catalogue_, options, stop_,
                          [](const run::CaseResult&, std::size_t, std::size_t) {}),
                reference);
  }

  // Would the cases send the same to the same store? All else is the same in all runs.
  static bool are_alike(const run::SuiteOptions& one, const run::SuiteOptions& other) {
    const auto decisive = [](const run::SuiteOptions& options) {
      const run::RunSettings& settings = options.settings;
      return std::tuple(settings.profile, settings.edition, settings.clock_offset_ms,
                        settings.clock_bounds.low_ms, settings.clock_bounds.high_ms,
                        settings.one_way_delay_allowance, settings.quota, options.round_trip,
                        options.round_trip_tail);
    };
    return decisive(one) == decisive(other);
  }

  static void keep_passed(const run::SuiteResult& suite, Reference& reference) {
    for (const run::CaseResult& result : suite.cases) {
      if (result.verdict != run::Verdict::kPassed || result.first_attempt) continue;
      reference.passed.push_back({.result = result});
      // It is copied for hundreds of stores, and of failures that one reads.
      reference.passed.back().result.transcript.clear();
      reference.passed.back().result.round_trips.clear();
    }
  }

  // The results of cases for which this store makes no difference.
  [[nodiscard]] static std::vector<run::FinishedCase> saw_the_same(const Reference& reference,
                                                                   const std::vector<char>& same) {
    std::vector<run::FinishedCase> out;
    out.reserve(same.size());
    for (std::size_t i = 0; i < same.size(); ++i) {
      if (same[i] != 0) out.push_back(reference.passed[i]);
    }
    return out;
  }

  [[nodiscard]] bool owes(const store::Fault& fault, const scenario::Basis& basis) const {
    return std::all_of(fault.requirements.begin(), fault.requirements.end(),
                       [&](std::string_view id) {
                         const scenario::Requirement* requirement = catalogue_.find(id);
                         return requirement == nullptr || binds(*requirement, basis);
                       });
  }

  static bool is_benign(const store::Fault* fault) {
    return fault != nullptr && fault->kind == store::FaultKind::kBenign;
  }

  // A conforming store may have its own clock, and mix the dialects.
  static bool adapt(endpoint::Endpoint& endpoint, store::RightBy right_by,
                    run::SuiteOptions& settings, SubjectResult& out) {
    const auto checked = run::preflight(endpoint, settings.settings.run_id);
    if (!checked) {
      out.error = "preflight: " + checked.error().text;
      return false;
    }
    apply_preflight(*checked, settings);
    if (right_by == store::RightBy::kAll) settings.settings.profile = codec::Profile::kAuto;
    if (right_by == store::RightBy::kPreview) {
      settings.settings.edition = scenario::Edition::kPreview;
    }
    return true;
  }

  [[nodiscard]] Diagnosis diagnosis_of(const run::SuiteResult& suite,
                                       const store::Fault& fault) const {
    const auto breaks = [&](const std::string& rule) {
      return std::find(fault.requirements.begin(), fault.requirements.end(), rule) !=
             fault.requirements.end();
    };
    Diagnosis out;
    for (const report::Difference& found : report::differences(suite, catalogue_, false)) {
      const std::size_t shown = found.cases.size() - found.blocked();
      out.rules.push_back(found.rule_id);
      out.failures += shown;
      out.attributed += breaks(found.rule_id) ? shown : 0;
    }
    out.right = !out.rules.empty() && breaks(out.rules.front());
    return out;
  }

  static void record(const run::CaseResult& result, SubjectResult& out) {
    const scenario::Case* test_case = result.test_case;
    switch (result.verdict) {
      case run::Verdict::kPassed:
        ++out.passed;
        if (out.fault != nullptr && out.fault->kind == store::FaultKind::kNull) {
          out.passes.push_back(test_case);
        }
        return;
      case run::Verdict::kFailed: {
        const bool kills = out.fault != nullptr && cites(*test_case, *out.fault);
        out.attributed.insert(result.failure.requirement);
        // The correct store gives no reason for a warning either.
        if (result.waived && out.fault != nullptr) {
          out.warned.push_back(test_case);
          return;
        }
        (kills ? out.detecting : out.non_detecting).push_back(test_case);
        return;
      }
      case run::Verdict::kSkipped:
        out.skipped.push_back(test_case);
        return;
      case run::Verdict::kExpectedFailure:
      case run::Verdict::kInconclusive:
      case run::Verdict::kLost:
      case run::Verdict::kNotRun:
        out.inconclusive.push_back(test_case);
        return;
    }
  }

  // A canary is red when it does not pass. Cases that the endpoint skips plant none.
  void run_canaries(Work& work) {
    auto subject = open_(nullptr, work.dialect, options_.seed);
    if (!subject) {
      work.result.error = subject.error();
      return;
    }
    for (const scenario::Case& test_case : cases_) {
      const std::vector<Canary> canaries = make_canaries(test_case);
      std::vector<const scenario::Case*> copies;
      for (const Canary& canary : canaries) copies.push_back(&canary.test_case);
      const run::SuiteResult suite = run_suite(
          *subject->endpoint, copies, catalogue_, suite_options(work.dialect, *subject->endpoint),
          stop_, [](const run::CaseResult&, std::size_t, std::size_t) {});
      for (std::size_t i = 0; i < canaries.size(); ++i) {
        const run::Verdict verdict = suite.cases[i].verdict;
        if (verdict == run::Verdict::kSkipped || verdict == run::Verdict::kNotRun) continue;
        ++work.planted;
        if (verdict != run::Verdict::kPassed) continue;
        work.survivors.push_back(
            {.test_case = &test_case, .what = canaries[i].what, .dialect = work.dialect});
      }
    }
  }

  static void sort_in(Work& work, SelftestResult& out) {
    if (!work.done || work.listens_for) return;
    if (work.canaries) {
      out.canaries += work.planted;
      out.canary_survivors.insert(out.canary_survivors.end(), work.survivors.begin(),
                                  work.survivors.end());
      if (!work.result.error.empty()) out.references.push_back(std::move(work.result));
      return;
    }
    if (work.fault == nullptr) {
      out.references.push_back(std::move(work.result));
      return;
    }
    switch (work.fault->kind) {
      case store::FaultKind::kFault:
        out.faults.push_back(std::move(work.result));
        return;
      case store::FaultKind::kBenign:
        out.benign.push_back(std::move(work.result));
        return;
      case store::FaultKind::kNull:
        out.nulls.push_back(std::move(work.result));
        return;
    }
  }

  const std::vector<scenario::Case>& cases_;
  std::vector<const scenario::Case*> pointers_;
  const scenario::Catalogue& catalogue_;
  const OpenSubject& open_;
  const SelftestOptions& options_;
  const std::atomic<bool>& stop_;
  const SelftestProgress& progress_;
  std::vector<Work> work_;
  std::map<RunKind, Reference> references_;
  std::set<std::string> asked_of_;  // the rules of cases that the conforming store did run
  std::mutex mutex_;
  std::size_t done_ = 0;
};

}  // namespace

bool cites(const scenario::Case& test_case, const store::Fault& fault) {
  return std::any_of(test_case.requirements.begin(), test_case.requirements.end(),
                     [&](const std::string& id) {
                       return std::find(fault.requirements.begin(), fault.requirements.end(), id) !=
                              fault.requirements.end();
                     });
}

bool is_excusable(const store::Fault& fault, bool over_the_wire) {
  return fault.needs == store::FaultNeeds::kOverlap && over_the_wire;
}

bool can_be_met(const store::Fault& fault, bool over_the_wire) {
  return fault.needs < store::FaultNeeds::kHistory &&
         fault.needs !=
             (over_the_wire ? store::FaultNeeds::kDirect : store::FaultNeeds::kTransport);
}

run::SuiteOptions options_of_run(codec::DialectId dialect, const endpoint::Endpoint& endpoint,
                                 std::uint64_t seed) {
  run::SuiteOptions out;
  out.settings = {.profile = profile_of(dialect),
                  .edition = scenario::Edition::kGa,
                  .run_id = "selftest",
                  .seed = seed,
                  .quota = endpoint.capabilities().quota};
  return out;
}

bool matches(const std::string& glob, const store::Fault& fault) {
  return glob_matches(glob, fault.id) || glob_matches(glob, fault.name);
}

bool SubjectResult::only_warned() const {
  return !owes && detecting.empty() &&
         std::any_of(warned.begin(), warned.end(),
                     [this](const scenario::Case* each) { return cites(*each, *fault); });
}

bool SubjectResult::as_it_should_be() const {
  if (!error.empty()) return false;
  if (fault != nullptr && fault->kind == store::FaultKind::kFault) {
    return !detecting.empty() || only_warned();
  }
  if (fault != nullptr && fault->kind == store::FaultKind::kNull) return passes.empty();
  const bool decided = fault != nullptr || inconclusive.empty();
  return detecting.empty() && non_detecting.empty() && decided;
}

bool SelftestResult::proved() const {
  const auto good = [this](const SubjectResult& subject) {
    const bool excused = subject.fault != nullptr && is_excusable(*subject.fault, !has_canaries);
    return subject.as_it_should_be() || (excused && subject.error.empty());
  };
  const auto all_good = [&](const std::vector<SubjectResult>& subjects) {
    return std::all_of(subjects.begin(), subjects.end(), good);
  };
  return !interrupted && !references.empty() && canary_survivors.empty() &&
         (canaries > 0 || !has_canaries) &&
         std::all_of(overlaps.begin(), overlaps.end(),
                     [](const OverlapResult& one) { return one.as_it_should_be(); }) &&
         all_good(references) && all_good(faults) && all_good(benign) && all_good(nulls);
}

SelftestResult run_selftest(const std::vector<scenario::Case>& cases,
                            const scenario::Catalogue& catalogue, const OpenSubject& open,
                            const SelftestOptions& options, const std::atomic<bool>& stop,
                            const SelftestProgress& progress) {
  return Selftest(cases, catalogue, open, options, stop, progress).run();
}

}  // namespace fencepost::selftest
