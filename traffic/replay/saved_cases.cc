#include "traffic/replay/saved_cases.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "report/report_files.h"

namespace fencepost::replay {
namespace {

// The files at these paths, each once. Errors go to `errors`.
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
Result<void, std::string> replace_file(const scenario::SourceFile& file, const std::string& text,
                                       const std::string& run_id) {
  const auto now = scenario::read_file(file.name);
  if (!now) return fail(now.error());
  if (now->content != file.content) return fail(std::string("the file was changed during the run"));
  std::error_code failed;
  const auto place = std::filesystem::canonical(file.name, failed);  // behind links
  if (failed) return fail(failed.message());
  const auto mode = std::filesystem::status(place, failed).permissions();
  using std::filesystem::perms;
  const perms writable = perms::owner_write | perms::group_write | perms::others_write;
  if (failed || (mode & writable) == perms::none) return fail(std::string("the file is read-only"));
  // Beside the file, so that it is renamed, and removed if it cannot be.
  const std::filesystem::path beside = place.string() + ".healing-" + run_id;
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

std::string what_changed(const Replay& replay) {
  return replay.outcome == Replayed::kFixed
             ? "fixed: it must pass from now on"
             : "changed: its signature is now " +
                   run::quoted_signature(signature(replay.result.failure));
}

void heal_file(const scenario::SourceFile& file, const SavedCases& saved, ReplayRun& run,
               const std::string& run_id) {
  const std::set<std::string> requirements = saved.catalogue.ids();
  scenario::SourceFile better = file;
  std::vector<std::string> healed_here;
  const auto place_of = [](const scenario::Case& test_case) {
    return fmt::format("{}:{} {}", test_case.position.file, test_case.position.line, test_case.id);
  };
  for (const Replay& replay : run.cases) {
    const scenario::Case& test_case = *replay.test_case;
    const bool concerns = test_case.position.file == file.name && test_case.recorded &&
                          test_case.recorded->failed() && replay.outcome != Replayed::kStillFailing;
    if (!concerns) continue;
    auto text = healed(replay).and_then(
        [&](const scenario::Recorded& to) { return heal(better, test_case.id, to, requirements); });
    if (text) {
      better.content = std::move(*text);
      healed_here.push_back(place_of(test_case) + ": " + what_changed(replay));
    } else {
      run.not_healed.push_back(place_of(test_case) + ": " + text.error());
    }
  }
  if (healed_here.empty()) return;
  const auto written = replace_file(file, better.content, run_id);
  if (written) {
    for (std::string& line : healed_here) run.healed.push_back(std::move(line));
  } else {
    run.not_healed.push_back(file.name + ": " + written.error());
  }
}

}  // namespace

// Ids are unique only within a file: the same case may have been saved in two folders.
SavedCases load_cases(std::vector<scenario::SourceFile> files,
                      std::vector<std::string>& diagnostics) {
  std::vector<scenario::LoadError> errors;
  const auto first_case = std::stable_partition(files.begin(), files.end(), scenario::is_catalogue);
  SavedCases out;
  out.catalogue = load_library({files.begin(), first_case}, errors).catalogue;
  const std::set<std::string> ids = out.catalogue.ids();
  for (auto file = first_case; file != files.end(); ++file) {
    const std::size_t before = errors.size();
    std::vector<scenario::Case> cases = load_scenario(*file, ids, errors);
    check_unique_ids(cases, errors);
    if (errors.size() > before) continue;
    for (scenario::Case& test_case : cases) out.cases.push_back(std::move(test_case));
    out.files.push_back(std::move(*file));
  }
  for (std::string& error : scenario::describe_all(errors)) diagnostics.push_back(std::move(error));
  return out;
}

SavedCases load_saved_cases(const std::vector<std::string>& paths,
                            std::vector<std::string>& diagnostics) {
  return load_cases(read_all(paths, diagnostics), diagnostics);
}

void heal_files(const SavedCases& saved, ReplayRun& run, const std::string& run_id) {
  for (const scenario::SourceFile& file : saved.files) heal_file(file, saved, run, run_id);
}

}  // namespace fencepost::replay
