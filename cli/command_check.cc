// fencepost check: saved histories of requests that meet.

#include <chrono>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/check_report.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "conformance/report/report.h"
#include "conformance/report/report_files.h"
#include "conformance/scenario/library.h"
#include "history/history_file.h"

namespace fencepost::cli {
namespace {

using history::Answer;

struct ReadHistory {
  bool counts_lines = false;
  bool cut = false;
};

// Hands each event of a file to `sink`. A last line without its end, as a killed run leaves one,
// may be of no use.
Result<ReadHistory, std::string> read_events(const std::string& path,
                                             const history::HistoryReader::Sink& sink) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail("cannot read " + path);
  history::HistoryReader reader(sink);
  ReadHistory out;
  for (std::string line; std::getline(file, line);) {
    const bool last = file.eof();
    if (const auto read = reader.line(line); !read) {
      if (!last) return fail(path + ": " + read.error());
      out.cut = true;
    }
  }
  if (file.bad()) return fail("cannot read " + path);
  reader.finish();
  out.counts_lines = reader.counts_lines();
  return out;
}

// Reads the file twice: nobody needs to remember operations that no verdict names.
Result<CheckedHistory, std::string> check_file(const std::string& path,
                                               const CheckOptions& options) {
  CheckedHistory out{.file = path};
  history::Checker checker({.search = {.steps = options.max_steps}});
  const auto read = read_events(path, [&](const history::Event& event) {
    if (const auto* operation = std::get_if<history::Operation>(&event)) {
      out.clients.insert(operation->client);
    }
    if (std::holds_alternative<history::Notification>(event)) ++out.notifications;
    checker.add(event);
  });
  if (!read) return fail(read.error());
  out.counts_lines = read->counts_lines;
  out.cut = read->cut;
  out.operations = checker.added();
  const auto begin = std::chrono::steady_clock::now();
  out.keys = checker.finish();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::set<history::Index> wanted;
  for (const history::KeyVerdict& key : out.keys) {
    if (key.verdict.answer != Answer::kViolation) continue;
    wanted.insert(key.verdict.operations.begin(), key.verdict.operations.end());
  }
  if (wanted.empty()) return out;
  history::Index number = 0;
  const auto again = read_events(path, [&](const history::Event& event) {
    const auto* operation = std::get_if<history::Operation>(&event);
    if (operation != nullptr && wanted.contains(number++)) out.shown[number - 1] = *operation;
  });
  if (!again) return fail(again.error());
  return out;
}

run::ExitCode code_of(const std::vector<CheckedHistory>& all) {
  std::size_t violations = 0;
  std::size_t unknown = 0;
  std::size_t operations = 0;
  for (const CheckedHistory& one : all) {
    violations += one.count(Answer::kViolation);
    unknown += one.count(Answer::kUnknown);
    operations += one.operations;
  }
  if (violations != 0) return run::ExitCode::kFailed;
  if (unknown != 0) return run::ExitCode::kInconclusive;
  return operations == 0 ? run::ExitCode::kNothingSelected : run::ExitCode::kConformant;
}

}  // namespace

run::ExitCode check(const CheckOptions& options) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library({}, errors);  // without the cases
  std::vector<CheckedHistory> all;
  for (const std::string& path : options.files) {
    auto checked = check_file(path, options);
    if (!checked) {
      complain(checked.error());
      return run::ExitCode::kUsage;
    }
    if (options.json != "-") print_checked(*checked, library.catalogue);
    all.push_back(std::move(*checked));
  }
  const run::ExitCode code = code_of(all);
  if (options.json.empty()) return code;
  nlohmann::ordered_json document{{"suite_version", report::suite_version()},
                                  {"exit_code", static_cast<int>(code)},
                                  {"histories", nlohmann::ordered_json::array()}};
  for (const CheckedHistory& one : all) document["histories"].push_back(to_json(one));
  const auto written = report::write_file(options.json, document.dump(1) + "\n");
  if (written) return code;
  complain(written.error());
  return run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
