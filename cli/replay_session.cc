#include "cli/replay_session.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "cli/command_support.h"
#include "conformance/report/evidence_head.h"
#include "conformance/report/report_files.h"
#include "conformance/run/signature.h"

namespace fencepost::cli {
namespace {

// The files at these paths, each once. Complaints go to `errors`.
std::vector<scenario::SourceFile> read_all(const std::vector<std::string>& paths,
                                           std::vector<std::string>& errors) {
  std::vector<scenario::SourceFile> out;
  std::set<std::filesystem::path> seen;
  for (const std::string& path : paths) {
    auto files = scenario::read_files(path);
    if (!files) {
      errors.push_back(std::move(files.error()));
      continue;
    }
    for (scenario::SourceFile& file : *files) {
      std::error_code unknown;
      const auto place = std::filesystem::weakly_canonical(file.name, unknown);
      if (seen.insert(unknown ? std::filesystem::path(file.name) : place).second) {
        out.push_back(std::move(file));
      }
    }
  }
  return out;
}

// Rewrites the file, unless it is no longer what was run.
Result<void, std::string> replace_file(const scenario::SourceFile& file, const std::string& text) {
  const auto now = scenario::read_file(file.name);
  if (!now) return fail(now.error());
  if (now->content != file.content) return fail(std::string("the file has changed meanwhile"));
  std::error_code failed;
  const auto place = std::filesystem::canonical(file.name, failed);  // behind links
  if (failed) return fail(failed.message());
  const auto mode = std::filesystem::status(place, failed).permissions();
  using std::filesystem::perms;
  const perms writable = perms::owner_write | perms::group_write | perms::others_write;
  if (failed || (mode & writable) == perms::none) return fail(std::string("the file is read-only"));
  // Beside the file, so that it is renamed, and removed if it cannot be.
  const std::filesystem::path beside = place.string() + ".healing-" + random_run_id();
  auto written = report::write_file(beside.string(), text);
  if (written) {
    std::filesystem::permissions(beside, mode, failed);
    if (!failed) std::filesystem::rename(beside, place, failed);
    if (!failed) return {};
    written = fail(failed.message());
  }
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return written;
}

std::string what_changed(const replay::Replay& replay) {
  return replay.outcome == replay::Replayed::kFixed
             ? "fixed: it must pass from now on"
             : "changed: it has now " + run::quoted_signature(signature(replay.result));
}

void heal_file(const scenario::SourceFile& file, ReplaySession& session) {
  const std::set<std::string> requirements = session.saved.catalogue.ids();
  scenario::SourceFile better = file;
  std::vector<std::string> healed_here;
  const auto place_of = [](const scenario::Case& test_case) {
    return fmt::format("{}:{} {}", test_case.position.file, test_case.position.line, test_case.id);
  };
  for (const replay::Replay& replay : session.run.cases) {
    const scenario::Case& test_case = *replay.test_case;
    const bool concerns = test_case.position.file == file.name && test_case.recorded &&
                          test_case.recorded->failed() &&
                          replay.outcome != replay::Replayed::kStillFailing;
    if (!concerns) continue;
    auto text = healed(replay).and_then([&](const scenario::Recorded& to) {
      return replay::heal(better, test_case.id, to, requirements);
    });
    if (text) {
      better.content = std::move(*text);
      healed_here.push_back(place_of(test_case) + ": " + what_changed(replay));
    } else {
      session.run.not_healed.push_back(place_of(test_case) + ": " + text.error());
    }
  }
  if (healed_here.empty()) return;
  const auto written = replace_file(file, better.content);
  if (written) {
    for (std::string& line : healed_here) session.run.healed.push_back(std::move(line));
  } else {
    session.run.not_healed.push_back(file.name + ": " + written.error());
  }
}

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
class Rounds {
 public:
  Rounds(ReplaySession& session, const ReplayRounds& rounds)
      : session_(session),
        rounds_(rounds),
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
    session_.run.interrupted = stop_flag();
    for (const scenario::Case& test_case : session_.saved.cases) {
      session_.run.cases.push_back(replay::classify(test_case, std::move(results_[&test_case])));
    }
    for (const auto& [divergence, seen] : forms_) {
      if (seen.size() > 1) session_.run.mixed_forms.emplace_back(codec::name(divergence));
    }
  }

 private:
  void run_round(const std::vector<const scenario::Case*>& cases, const std::string& name) {
    if (session_.run.endpoint_lost || stop_flag()) {
      for (const scenario::Case* test_case : cases) {
        results_[test_case].push_back({.test_case = test_case, .position = test_case->position});
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
        run_suite(rounds_.endpoint(name), cases, session_.saved.catalogue, suite_, stop_flag(),
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

  ReplaySession& session_;
  const ReplayRounds& rounds_;
  run::SuiteOptions suite_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::map<const scenario::Case*, std::vector<run::CaseResult>> results_;
  std::map<codec::Divergence, std::set<codec::DialectId>> forms_;
};

}  // namespace

void run_rounds(ReplaySession& session, const ReplayRounds& rounds) {
  Rounds(session, rounds).run();
}

std::string replay_evidence_json(const ReplaySession& session) {
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

Result<void, std::string> read_replay_evidence(const std::string& text, ReplaySession& session) {
  const auto document = nlohmann::json::parse(text, nullptr, false);
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

// Ids are unique within a file alone: the same case may have been saved in two folders.
SavedCases load_cases(std::vector<scenario::SourceFile> files,
                      std::vector<std::string>& complaints) {
  std::vector<scenario::LoadError> errors;
  const auto first_case = std::stable_partition(files.begin(), files.end(), scenario::is_catalogue);
  SavedCases out;
  out.catalogues.assign(files.begin(), first_case);
  out.catalogue = load_library(out.catalogues, errors).catalogue;
  const std::set<std::string> ids = out.catalogue.ids();
  for (auto file = first_case; file != files.end(); ++file) {
    const std::size_t before = errors.size();
    std::vector<scenario::Case> cases = load_scenario(*file, ids, errors);
    check_unique_ids(cases, errors);
    if (errors.size() > before) continue;
    for (scenario::Case& test_case : cases) out.cases.push_back(std::move(test_case));
    out.files.push_back(std::move(*file));
  }
  for (std::string& error : scenario::describe_all(errors)) complaints.push_back(std::move(error));
  return out;
}

SavedCases load_saved_cases(const std::vector<std::string>& paths,
                            std::vector<std::string>& complaints) {
  return load_cases(read_all(paths, complaints), complaints);
}

void heal_files(ReplaySession& session) {
  for (const scenario::SourceFile& file : session.saved.files) heal_file(file, session);
}

}  // namespace fencepost::cli
