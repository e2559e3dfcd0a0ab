#include "conformance/replay/session.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "conformance/report/evidence_head.h"

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
// case stands for itself. What breaks a rule that does not bind this store is no failure of it.
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
  RoundRunner(Session& session, const Rounds& rounds, const std::atomic<bool>& stop)
      : session_(session),
        rounds_(rounds),
        stop_(stop),
        suite_(session.suite),
        total_(session.saved.cases.size() * session.run.runs) {}

  void run() {
    for (std::size_t i = 0; i < session_.run.runs; ++i) {
      suite_.settings.run_id = session_.run_ids.at(i);  // fresh keys
      std::size_t number = 0;
      for (const auto& round : rounds_of(session_.saved.cases)) {
        run_round(round, fmt::format("{}.{} ", i + 1, ++number));
      }
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
  void run_round(const std::vector<const scenario::Case*>& cases, const std::string& name) {
    if (session_.run.endpoint_lost || stop_) {
      for (const scenario::Case* test_case : cases) {
        results_[test_case].push_back(
            {.test_case = test_case, .failure = {.position = test_case->position}});
      }
      return;
    }
    suite_.keep = [&](const run::CaseResult& result, bool /*undecided*/) {
      const run::CaseResult judged = judged_alone(result, session_.saved.catalogue);
      rounds_.judged(name + result.test_case->id, report::verdict_text(judged));
    };
    if (rounds_.was_attempted) {
      suite_.was_attempted = [&](const scenario::Case& test_case, int attempt) {
        return rounds_.was_attempted(name + run::attempt_name(test_case, attempt));
      };
    }
    run::SuiteResult ran =
        run_suite(rounds_.endpoint(name), cases, session_.saved.catalogue, suite_, stop_,
                  [&](const run::CaseResult& result, std::size_t, std::size_t) {
                    rounds_.progress(result, ++done_, total_);
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
  const Rounds& rounds_;
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
  if (settings.wording != scenario::Wording::kAuto) {
    out += fmt::format(" --wording {}", name(settings.wording));
  }
  if (!driver.empty()) out += " --driver " + driver;
  return out + " --strict";
}

void run_rounds(Session& session, const Rounds& rounds, const std::atomic<bool>& stop) {
  RoundRunner(session, rounds, stop).run();
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

std::string cases_json(const Session& session) {
  nlohmann::json files = nlohmann::json::array();
  for (const scenario::SourceFile& file : session.saved.files) {
    files.push_back({{"name", file.name}, {"content", file.content}});
  }
  for (const scenario::SourceFile& file : session.saved.catalogues) {
    files.push_back({{"name", file.name}, {"content", file.content}});
  }
  const nlohmann::json out{{"files", std::move(files)}, {"run_ids", session.run_ids}};
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<void, std::string> read_cases_json(const std::string& text, Session& session) {
  const auto document = read_json(text);
  if (!document.is_object()) return fail(std::string("its cases are not there"));
  JsonComplaint complaint;
  const JsonMembers root(document, "", complaint);
  session.run_ids = root.texts("run_ids");
  session.run.runs = session.run_ids.size();
  std::vector<scenario::SourceFile> files;
  root.each("files", [&](const nlohmann::json& each, const std::string& where) {
    const JsonMembers file = root.part(each, where);
    files.push_back({.name = file.text("name"), .content = file.text("content")});
  });
  if (complaint.any()) return fail(complaint.text());
  if (session.run_ids.empty()) return fail(std::string("it does not say how often they ran"));
  session.saved = load_cases(std::move(files), session.run.load_errors);
  return {};
}

}  // namespace fencepost::replay
