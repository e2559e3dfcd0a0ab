#include "selftest/conforming_stores.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "base/threads.h"
#include "suite/run/preflight.h"

namespace fencepost::selftest {
namespace {

constexpr std::string_view kRunId = "right";

// The profile, and the dialect of a store that is judged by it.
codec::DialectId dialect_for(codec::Profile profile, std::uint64_t seed) {
  if (profile == codec::Profile::kDocumented) return codec::DialectId::kDocumented;
  if (profile == codec::Profile::kDeployed) return codec::DialectId::kDeployed;
  return codec::kDialects[seed % codec::kDialects.size()];
}

bool contains(const store::Decisions& all, const store::Decisions& some) {
  for (const std::size_t choice : store::unusual_choices(some)) {
    if (all.of(choice) != some.of(choice)) return false;
  }
  return true;
}

class ConformingStores {
 public:
  ConformingStores(const std::vector<scenario::Case>& cases, const scenario::Catalogue& catalogue,
                   const OpenRight& open, const ConformingStoresOptions& options,
                   const std::atomic<bool>& stop)
      : catalogue_(catalogue), open_(open), options_(options), stop_(stop) {
    for (const scenario::Case& test_case : cases) cases_.push_back(&test_case);
  }

  ConformingStoresResult run(const std::function<void(std::size_t, std::size_t)>& progress) {
    for (const codec::Profile profile : options_.profiles) {
      profiles_.push_back({.profile = profile});
    }
    const std::size_t total = options_.stores * profiles_.size();
    std::atomic<std::size_t> next{0};
    run_in_threads(std::max<std::size_t>(options_.jobs, 1), [&] {
      for (std::size_t at = next++; at < total && !stop_; at = next++) {
        certify(profiles_[at / options_.stores], options_.seed + at % options_.stores);
        const std::lock_guard lock(mutex_);
        progress(++done_, total);
      }
    });
    return {.profiles = std::move(profiles_), .interrupted = stop_};
  }

 private:
  static bool failed(const run::CaseResult& result, const scenario::Catalogue& catalogue) {
    return result.verdict == run::Verdict::kFailed && !run::is_warning(result, catalogue, false);
  }

  Result<run::SuiteResult, std::string> run_cases(const std::vector<const scenario::Case*>& cases,
                                                  codec::Profile profile, codec::DialectId dialect,
                                                  const store::Decisions& decisions) {
    auto endpoint = open_(decisions, dialect);
    if (!endpoint) return fail(endpoint.error());
    run::SuiteOptions options;
    options.settings = {.profile = profile,
                        .run_id = std::string(kRunId),
                        .seed = options_.seed,
                        .quota = (*endpoint)->capabilities().quota};
    const auto checked = run::preflight(**endpoint, options.settings.run_id);
    if (!checked) return fail("preflight: " + checked.error().text);
    run::apply_preflight(*checked, options);
    return run::run_suite(**endpoint, cases, catalogue_, options, stop_,
                          [](const run::CaseResult&, std::size_t, std::size_t) {});
  }

  void certify(RightProfile& profile, std::uint64_t seed) {
    const store::Decisions decisions =
        store::random_decisions(seed, profile.profile == codec::Profile::kDocumented);
    const codec::DialectId dialect = dialect_for(profile.profile, seed);
    auto suite = run_cases(cases_, profile.profile, dialect, decisions);
    const std::lock_guard lock(mutex_);
    ++profile.stores;
    if (!suite) {
      profile.errors.push_back(fmt::format("variant={}: {}", seed, suite.error()));
      return;
    }
    profile.inconclusive += suite->summary.inconclusive;
    bool any = false;
    for (const run::CaseResult& result : suite->cases) {
      if (!failed(result, catalogue_)) continue;
      any = true;
      explain(profile, seed, decisions, *result.test_case);
    }
    if (any) ++profile.failed_stores;
  }

  // Counts the failure with others of the same reason: a known one, or what is left of the store's
  // decisions when all that do not matter are taken back.
  void explain(RightProfile& profile, std::uint64_t seed, const store::Decisions& decisions,
               const scenario::Case& test_case) {
    for (FalseAlarm& known : profile.alarms) {
      if (known.test_case != &test_case || !contains(decisions, known.decisions)) continue;
      ++known.stores;
      return;
    }
    FalseAlarm alarm{.test_case = &test_case,
                     .profile = profile.profile,
                     .decisions = decisions,
                     .stores = 1,
                     .seed = seed,
                     .result = {}};
    const codec::DialectId dialect = dialect_for(profile.profile, seed);
    const auto still_fails = [&](const store::Decisions& fewer) {
      auto suite = run_cases({&test_case}, profile.profile, dialect, fewer);
      if (!suite || !failed(suite->cases.front(), catalogue_)) return false;
      alarm.result = std::move(suite->cases.front());
      return true;
    };
    // In isolation it may not fail: then the failure needs other cases.
    if (still_fails(decisions)) {
      for (const std::size_t choice : store::unusual_choices(decisions)) {
        store::Decisions fewer = alarm.decisions;
        fewer.decide(choice, 0);
        if (still_fails(fewer)) alarm.decisions = fewer;
      }
    }
    profile.alarms.push_back(std::move(alarm));
  }

  const scenario::Catalogue& catalogue_;
  const OpenRight& open_;
  const ConformingStoresOptions& options_;
  const std::atomic<bool>& stop_;
  std::vector<const scenario::Case*> cases_;
  std::vector<RightProfile> profiles_;
  std::mutex mutex_;
  std::size_t done_ = 0;
};

}  // namespace

bool ConformingStoresResult::proved() const {
  return !interrupted &&
         std::all_of(profiles.begin(), profiles.end(), [](const RightProfile& profile) {
           return profile.stores > 0 && profile.failed_stores == 0 && profile.errors.empty();
         });
}

ConformingStoresResult run_conforming_stores(
    const std::vector<scenario::Case>& cases, const scenario::Catalogue& catalogue,
    const OpenRight& open, const ConformingStoresOptions& options, const std::atomic<bool>& stop,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  return ConformingStores(cases, catalogue, open, options, stop).run(progress);
}

std::string conforming_stores_text(const ConformingStoresResult& result) {
  std::string out;
  for (const RightProfile& profile : result.profiles) {
    out += fmt::format(
        "{}: {} of {} conforming stores pass, {} with a false positive, {} inconclusive\n",
        name(profile.profile), profile.stores - profile.failed_stores, profile.stores,
        text::counted(profile.alarms.size(), "case"), profile.inconclusive);
    for (const std::string& error : profile.errors) out += "  " + error + "\n";
    std::map<std::string, std::vector<const FalseAlarm*>> by_decisions;
    for (const FalseAlarm& alarm : profile.alarms) {
      by_decisions[store::to_text(alarm.decisions)].push_back(&alarm);
    }
    for (const auto& [decisions, alarms] : by_decisions) {
      out += fmt::format("  {}\n",
                         decisions.empty() ? "the choices of the reference store" : decisions);
      for (const FalseAlarm* alarm : alarms) {
        const run::CaseResult& seen = alarm->result;
        out += fmt::format("    {} ({}, first variant={}): {}\n", alarm->test_case->id,
                           text::counted(alarm->stores, "store"), alarm->seed,
                           seen.failure.requirement);
        out += fmt::format("      {}:{}: {}; expected {}; actual {}\n", seen.failure.position.file,
                           seen.failure.position.line, seen.failure.message, seen.failure.expected,
                           seen.failure.actual);
      }
    }
  }
  return out;
}

}  // namespace fencepost::selftest
