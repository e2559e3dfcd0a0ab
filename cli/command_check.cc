// fencepost check: saved histories of requests that meet.

#include <chrono>

#include <nlohmann/json.hpp>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/history_check.h"
#include "conformance/histories/checked_history.h"
#include "conformance/histories/history_input.h"
#include "conformance/histories/timeline.h"
#include "conformance/report/report.h"
#include "conformance/report/report_files.h"
#include "conformance/scenario/library.h"
#include "conformance/text/printable.h"

namespace fencepost::cli {
namespace {

using histories::CheckedHistory;
using history::Answer;

Result<void, std::string> write_timeline(const CheckedHistory& checked, const CheckOptions& options,
                                         const scenario::Catalogue& catalogue) {
  histories::Timeline timeline(checked.keys, checked.operations);
  const auto read = histories::read_events(
      checked.file, [&](const history::Event& event) { timeline.add(event); });
  if (!read) return fail(read.error());
  const std::string page = timeline.html(
      {.source = checked.file,
       .counts_lines = checked.counts_lines,
       .facts = {{"clients", std::to_string(checked.clients.size())},
                 {"notifications", std::to_string(checked.notifications)},
                 {"Fencepost", std::string(report::suite_version())}},
       .commands = {{"Judge again", "fencepost check " + text::shell_word(checked.file)}}},
      catalogue);
  return report::write_file(options.html, page);
}

}  // namespace

// Reads the file twice: nobody needs to remember operations that no verdict names.
Result<CheckedHistory, std::string> check_history(const std::string& path,
                                                  const CheckOptions& options) {
  CheckedHistory out{.file = path};
  history::Checker checker({.search = {.steps = options.max_steps}});
  const auto read = histories::read_events(path, [&](const history::Event& event) {
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
  out.clock = checker.clock();
  const auto begin = std::chrono::steady_clock::now();
  out.keys = checker.finish();
  out.told = checker.order();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::set<history::Index> wanted = out.wanted();
  if (wanted.empty()) return out;
  history::Index number = 0;
  const auto again = histories::read_events(path, [&](const history::Event& event) {
    const auto* operation = std::get_if<history::Operation>(&event);
    if (operation != nullptr && wanted.contains(number++)) out.shown[number - 1] = *operation;
  });
  if (!again) return fail(again.error());
  return out;
}

Result<void, std::string> write_checked(const std::vector<CheckedHistory>& all,
                                        const CheckOptions& options, run::ExitCode code,
                                        const scenario::Catalogue& catalogue) {
  if (!options.json.empty()) {
    nlohmann::ordered_json document{{"suite_version", report::suite_version()},
                                    {"exit_code", static_cast<int>(code)},
                                    {"histories", nlohmann::ordered_json::array()}};
    for (const CheckedHistory& one : all) document["histories"].push_back(to_json(one));
    if (auto written = report::write_file(options.json, document.dump(1) + "\n"); !written) {
      return written;
    }
  }
  if (!options.junit.empty()) {
    if (auto written = report::write_file(options.junit, histories::junit(all, catalogue));
        !written) {
      return written;
    }
  }
  return options.html.empty() ? Result<void, std::string>()
                              : write_timeline(all.front(), options, catalogue);
}

run::ExitCode exit_code(const std::vector<CheckedHistory>& all) {
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

run::ExitCode check(const CheckOptions& options) {
  if (!options.html.empty() && options.files.size() != 1) {
    complain("--html is for one history");
    return run::ExitCode::kUsage;
  }
  const report::ReportFiles files{
      .json = options.json, .junit = options.junit, .html = options.html};
  if (const auto can = report::check_writable(files); !can) {
    complain(can.error());
    return run::ExitCode::kUsage;
  }
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library({}, errors);  // without the cases
  std::vector<CheckedHistory> all;
  for (const std::string& path : options.files) {
    auto checked = check_history(path, options);
    if (!checked) {
      complain(checked.error());
      return run::ExitCode::kUsage;
    }
    const bool quiet = options.json == "-" || options.junit == "-" || options.html == "-";
    if (!quiet) print_checked(*checked, library.catalogue);
    all.push_back(std::move(*checked));
  }
  const run::ExitCode code = exit_code(all);
  const auto written = write_checked(all, options, code, library.catalogue);
  if (written) return code;
  complain(written.error());
  return run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
