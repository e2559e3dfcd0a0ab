#include "concurrency/histories/history_check.h"

#include <chrono>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/printable.h"
#include "concurrency/histories/history_input.h"
#include "concurrency/histories/timeline.h"
#include "report/report.h"

namespace fencepost::histories {
namespace {

using history::Answer;

Result<std::string, std::string> timeline_page(const CheckedHistory& checked,
                                               const scenario::Catalogue& catalogue) {
  Timeline timeline(checked.keys, checked.operations);
  const auto read = read_events(
      checked.file, [&](const history::Event& event) { timeline.add(event); }, checked.initial);
  if (!read) return fail(read.error());
  return timeline.html(
      {.source = checked.file,
       .counts_lines = checked.counts_lines,
       .facts = {{"clients", std::to_string(checked.clients.size())},
                 {"notifications", std::to_string(checked.notifications)},
                 {"Fencepost", std::string(report::suite_version())}},
       .commands = {{"Check again", "fencepost check " + text::shell_word(checked.file)}},
       .whole = checked.whole},
      catalogue);
}

// The operations of violations, read from the file.
Result<void, std::string> read_shown(CheckedHistory& checked) {
  std::map<history::Index, history::Operation> shown;
  for (const history::KeyVerdict& key : checked.keys) {
    if (key.verdict.answer != Answer::kViolation) continue;
    for (const history::Index number : key.verdict.operations) shown[number] = {};
  }
  if (shown.empty()) return {};
  history::Index number = 0;
  const auto add = [&](const history::Event& event) {
    const auto* operation = std::get_if<history::Operation>(&event);
    if (operation == nullptr) return;
    if (const auto found = shown.find(number++); found != shown.end()) found->second = *operation;
  };
  const auto read = read_events(checked.file, add, checked.initial);
  if (!read) return fail(read.error());
  for (history::KeyVerdict& key : checked.keys) {
    if (key.verdict.answer != Answer::kViolation) continue;
    for (const history::Index each : key.verdict.operations) {
      key.verdict.shown.push_back(shown[each]);
    }
  }
  return {};
}

}  // namespace

// Reads the file twice, so that only the operations that a verdict names are kept in memory.
Result<CheckedHistory, std::string> check_history(const std::string& path, std::size_t steps,
                                                  const std::optional<std::string>& initial) {
  CheckedHistory out{.file = path, .initial = initial};
  history::Checker checker({.search = {.steps = steps}});
  std::size_t given = 0;
  const auto add = [&](const history::Event& event) {
    if (const auto* operation = std::get_if<history::Operation>(&event)) {
      if (operation->client == history::kNobody) {
        ++given;
      } else {
        out.clients.insert(operation->client);
        if (operation->outcome == history::Outcome::kUnknown) ++out.without_reply;
        if (operation->outcome == history::Outcome::kRefused) ++out.refused;
      }
    }
    if (std::holds_alternative<history::Notification>(event)) ++out.notifications;
    checker.add(event);
  };
  const auto read = read_events(path, add, initial);
  if (!read) return fail(read.error());
  out.counts_lines = read->counts_lines;
  out.cut = read->cut;
  out.operations = checker.added() - given;
  out.clock = checker.clock();
  const auto begin = std::chrono::steady_clock::now();
  out.keys = checker.finish();
  for (history::KeyVerdict& key : out.keys) {
    if (!out.counts_lines || key.verdict.answer != Answer::kViolation) continue;
    if (!initial && key.verdict.requirement == "GET-HIT-3") {
      key.verdict.text += "; if registers begin with that value, give it: --initial VALUE";
    }
    key.verdict.requirement = kNotLinearizable;
  }
  out.order = checker.order();
  if (out.operations > 0 && out.without_reply + out.refused == out.operations) {
    out.whole.push_back({.answer = Answer::kUnknown,
                         .text = "no operation has a response that tells what the store did"});
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (auto shown = read_shown(out); !shown) return fail(std::move(shown.error()));
  return out;
}

std::string to_json(const std::vector<CheckedHistory>& all, run::ExitCode code) {
  nlohmann::ordered_json document{{"suite_version", report::suite_version()},
                                  {"exit_code", static_cast<int>(code)},
                                  {"histories", nlohmann::ordered_json::array()}};
  for (const CheckedHistory& one : all) document["histories"].push_back(to_json(one));
  return document.dump(1) + "\n";
}

Result<void, std::string> write_checked(const std::vector<CheckedHistory>& all,
                                        const report::ReportFiles& files, run::ExitCode code,
                                        const scenario::Catalogue& catalogue,
                                        const std::string& started) {
  return report::write_reports(files,
                               {{"json", [&] { return to_json(all, code); }},
                                {"junit", [&] { return junit(all, catalogue, started); }},
                                {"html", [&] { return timeline_page(all.front(), catalogue); }}});
}

run::ExitCode exit_code(const std::vector<CheckedHistory>& all) {
  std::size_t violations = 0;
  std::size_t unknown = 0;
  std::size_t operations = 0;
  for (const CheckedHistory& one : all) {
    violations += one.count(Answer::kViolation);
    unknown += one.count(Answer::kUnknown);
    operations += one.operations;
    for (const history::Verdict& each : one.whole) {
      ++(each.answer == Answer::kViolation ? violations : unknown);
    }
  }
  if (violations != 0) return run::ExitCode::kFailed;
  if (unknown != 0) return run::ExitCode::kInconclusive;
  return operations == 0 ? run::ExitCode::kNothingSelected : run::ExitCode::kConformant;
}

}  // namespace fencepost::histories
