#include "traffic/replay/session.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace fencepost::replay {
namespace {

// Cases of the same id have the same keys: they run in different rounds.
std::vector<std::vector<const scenario::Case*>> rounds_of(
    const std::vector<scenario::Case>& cases) {
  std::vector<std::vector<const scenario::Case*>> out;
  std::map<std::string, std::size_t> seen;
  for (const scenario::Case& test_case : cases) {
    const std::size_t round = seen[test_case.id]++;
    if (round == out.size()) out.emplace_back();
    out[round].push_back(&test_case);
  }
  return out;
}

// What the suite says of an endpoint that mixes two forms, it says of any case that saw one. Here a
// case stands for itself. What breaks a rule that does not apply to this store is no failure of it.
run::CaseResult judged_alone(run::CaseResult result, const scenario::Catalogue& catalogue) {
  run::SuiteResult alone;
  alone.cases.push_back(std::move(result));
  run::summarize(alone, catalogue, /*strict=*/true);
  run::CaseResult& judged = alone.cases.front();
  if (judged.waived) judged.verdict = run::Verdict::kPassed;
  return std::move(judged);
}

// Collects what the rounds say of each case.
class RoundRunner {
 public:
  RoundRunner(Session& session, endpoint::Endpoint& endpoint, const Progress& progress,
              const std::atomic<bool>& stop)
      : session_(session),
        endpoint_(endpoint),
        progress_(progress),
        stop_(stop),
        suite_(session.suite),
        total_(session.saved.cases.size() * session.run.runs) {}

  void run() {
    for (std::size_t i = 0; i < session_.run.runs; ++i) {
      suite_.settings.run_id = session_.run_ids.at(i);  // fresh keys
      for (const auto& round : rounds_of(session_.saved.cases)) run_round(round);
      ++suite_.settings.seed;
    }
    session_.run.interrupted = stop_;
    for (const scenario::Case& test_case : session_.saved.cases) {
      session_.run.cases.push_back(classify(test_case, std::move(results_[&test_case])));
    }
    for (const auto& [divergence, seen] : forms_) {
      if (seen.size() > 1) session_.run.mixed_forms.emplace_back(codec::name(divergence));
    }
    if (session_.run.endpoint_lost) {
      session_.context.stopped_because =
          "the endpoint was lost during the run: " + session_.run.lost_message;
    } else if (session_.run.interrupted) {
      session_.context.stopped_because = "interrupted";
    }
  }

 private:
  void run_round(const std::vector<const scenario::Case*>& cases) {
    if (session_.run.endpoint_lost || stop_) {
      for (const scenario::Case* test_case : cases) {
        results_[test_case].push_back(
            {.test_case = test_case, .failure = {.position = test_case->position}});
      }
      return;
    }
    run::SuiteResult ran = run_suite(endpoint_, cases, session_.saved.catalogue, suite_, stop_,
                                     [&](const run::CaseResult& result, std::size_t, std::size_t) {
                                       progress_(result, ++done_, total_);
                                     });
    for (const auto& [divergence, seen] : ran.forms) {
      forms_[divergence].insert(seen.begin(), seen.end());
    }
    session_.run.endpoint_lost = ran.endpoint_lost;
    session_.run.lost_message = ran.lost_message;
    for (run::CaseResult& result : ran.cases) {
      const scenario::Case* of = result.test_case;
      results_[of].push_back(judged_alone(std::move(result), session_.saved.catalogue));
    }
  }

  Session& session_;
  endpoint::Endpoint& endpoint_;
  const Progress& progress_;
  const std::atomic<bool>& stop_;
  run::SuiteOptions suite_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::map<const scenario::Case*, std::vector<run::CaseResult>> results_;
  std::map<codec::Divergence, std::set<codec::DialectId>> forms_;
};

}  // namespace

std::string certify_flags(const run::RunSettings& settings, const std::string& driver) {
  std::string out;
  if (settings.profile != codec::Profile::kAuto) {
    out += fmt::format(" --profile {}", name(settings.profile));
  }
  if (settings.edition != scenario::Edition::kAuto) {
    out += fmt::format(" --edition {}", name(settings.edition));
  }
  if (!driver.empty()) out += " --driver " + driver;
  return out + " --strict";
}

void run_rounds(Session& session, endpoint::Endpoint& endpoint, const Progress& progress,
                const std::atomic<bool>& stop) {
  RoundRunner(session, endpoint, progress, stop).run();
}

void do_not_begin(Session& session, const std::string& reason, run::ExitCode code) {
  session.context.stopped_because = reason;
  for (const scenario::Case& test_case : session.saved.cases) {
    run::CaseResult result{.test_case = &test_case, .failure = {.position = test_case.position}};
    result.failure.message = reason;
    session.run.cases.push_back(classify(test_case, {std::move(result)}));
  }
  session.run.not_begun = code;
}

}  // namespace fencepost::replay
