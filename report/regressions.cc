#include "report/regressions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/text_wrap.h"
#include "report/phases.h"

namespace fencepost::report {
namespace {

// A warning is a failure here: how strict a run was is no difference between stores.
bool fails(const ColumnCase& result) { return result.is_decided() && !result.passes; }

// Why a report shows less than a run that finished; empty: it does not.
std::string unfinished(const Column& column) {
  if (!column.stopped_because.empty()) return column.stopped_because;
  if (column.endpoint_lost) return "the endpoint was lost";
  const auto not_run = column.cases.find("not_run");
  if (not_run != column.cases.end() && not_run->second > 0) {
    return text::counted(not_run->second, "case") + " not run";
  }
  const bool decided = std::any_of(column.results.begin(), column.results.end(),
                                   [](const auto& each) { return each.second.is_decided(); });
  return decided ? "" : "no case was decided";
}

const ColumnCase* find_case(const Column& column, const std::string& id) {
  const auto found = column.results.find(id);
  return found == column.results.end() ? nullptr : &found->second;
}

class Comparison {
 public:
  Comparison(const std::vector<Column>& earlier, Column now, const run::SuiteResult& result)
      : earlier_(earlier), then_(earlier.back()), now_(std::move(now)) {
    for (const auto& [id, failed] : then_.results) {
      if (fails(failed)) causes_.insert(failed.cause);
    }
    out_.since = then_.started;
    out_.file = then_.file;
    out_.reports = earlier.size();
    out_.judged = result;
  }

  Regressions made(const scenario::Catalogue& catalogue, bool strict) {
    for (const auto& [id, now] : now_.results) {
      const std::string before = flaky_before(id);
      if (!before.empty()) out_.flaky[before + ", " + now.verdict + " now"].push_back(id);
    }
    for (run::CaseResult& each : out_.judged.cases) compare(each);
    run::Summary& summary = out_.judged.summary;
    summary.failed -= out_.known;
    summary.expected_failures += out_.known;
    out_.fresh = summary.failed;
    compare_phases(catalogue, strict);
    for (ComparedRow& row : side_by_side({then_, now_}, catalogue).unspecified_points) {
      if (row.differs) out_.changed.push_back(std::move(row));
    }
    add_notes();
    out_.exit = exit_code(out_.judged);
    if (out_.exit == run::ExitCode::kConformant) {
      if (!out_.undecided.empty()) out_.exit = run::ExitCode::kInconclusive;
      if (strict && !out_.changed.empty()) out_.exit = run::ExitCode::kFailed;
    }
    return std::move(out_);
  }

 private:
  // "failed 2 of 30 runs", of those that decided the case; empty where they ended alike.
  [[nodiscard]] std::string flaky_before(const std::string& id) const {
    std::size_t failed = 0;
    std::size_t runs = 0;
    for (const Column& column : earlier_) {
      const ColumnCase* before = find_case(column, id);
      if (before == nullptr || !before->is_decided()) continue;
      ++runs;
      if (fails(*before)) ++failed;
    }
    return failed > 0 && failed < runs ? fmt::format("failed {} of {} runs", failed, runs) : "";
  }

  void compare(run::CaseResult& entry) {
    const std::string& id = entry.test_case->id;
    const ColumnCase& now = now_.results.at(id);
    const ColumnCase* then = find_case(then_, id);
    const bool decided_then = then != nullptr && then->is_decided();
    if (decided_then) ++out_.compared;
    if (!decided_then && now.is_decided()) ++not_there_;
    if (!now.is_decided()) {
      if (decided_then) {
        out_.undecided[then->verdict + " then, " + now.verdict + " now"].push_back(id);
      }
    } else if (now.passes) {
      if (decided_then && fails(*then) && then->verdict != "warning") {
        out_.fixed[then->requirement].push_back(id);
        ++out_.fixed_cases;
      }
    } else if (now.verdict == "warning") {
      if (decided_then && !fails(*then)) warned_.push_back(id);
    } else {
      judge_failure(then, now, entry);
    }
  }

  void judge_failure(const ColumnCase* then, const ColumnCase& now, run::CaseResult& entry) {
    const std::string& id = entry.test_case->id;
    const bool failed_then = then != nullptr && fails(*then);
    const bool looks_known = !is_judged_alike() || now.cause.empty() || causes_.contains(now.cause);
    if (failed_then && looks_known) {
      entry.verdict = run::Verdict::kExpectedFailure;
      entry.baseline = known_since(id);
      ++out_.known;
      return;
    }
    if (failed_then) entry.baseline = "failed before in another way: " + then->cause;
    if (const std::string before = flaky_before(id); !before.empty()) {
      ++out_.flaky_fresh;
      entry.baseline = "flaky: " + before + " before";
    }
  }

  // What a failure looks like depends on the rules and on the texts of the suite.
  [[nodiscard]] bool is_judged_alike() const {
    return then_.judged_by == now_.judged_by && then_.suite_version == now_.suite_version &&
           then_.suite_commit == now_.suite_commit;
  }

  // When the first of the runs began in which it failed without passing since.
  [[nodiscard]] std::string known_since(const std::string& id) const {
    std::string out = then_.started;
    for (auto column = earlier_.rbegin(); column != earlier_.rend(); ++column) {
      const ColumnCase* before = find_case(*column, id);
      if (before == nullptr || !before->is_decided()) continue;
      if (!fails(*before)) break;
      out = column->started;
    }
    return out;
  }

  void compare_phases(const scenario::Catalogue& catalogue, bool strict) {
    if (out_.judged.stress) {
      compare_phase("stress", out_.judged.stress->findings, catalogue, strict);
    }
    if (out_.judged.enumeration) {
      compare_phase("enumeration", out_.judged.enumeration->findings, catalogue, strict);
    }
    for (const auto& [name, phase] : then_.phases) {
      const auto now = now_.phases.find(name);
      const bool runs_now = now != now_.phases.end() && now->second.ran;
      if (phase.ran && !runs_now) out_.notes.push_back("the phase " + name + " ran then, not now");
      for (const std::string& rule : phase.broken) {
        if (runs_now && !now->second.broken.contains(rule)) {
          out_.notes.push_back(fmt::format("the phase {} found {} then, not now", name, rule));
        }
      }
    }
  }

  // A finding is known by its rule: of that phase, or of a case that is known to fail.
  void compare_phase(const std::string& name, std::vector<run::PhaseFinding>& findings,
                     const scenario::Catalogue& catalogue, bool strict) {
    const auto then = then_.phases.find(name);
    const std::vector<run::PhaseFinding> before = findings;
    mark_failures(findings, catalogue, strict, out_.judged);
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (then != then_.phases.end() && then->second.broken.contains(findings[i].requirement)) {
        findings[i].fails = false;
      }
      if (findings[i].fails) ++out_.fresh;
      if (before[i].fails && !findings[i].fails) ++out_.known;
    }
  }

  void add_notes() {
    const auto other = [&](const char* what, const std::string& then, const std::string& now) {
      if (then == now || then.empty()) return;
      out_.notes.push_back(
          fmt::format("{} is of another {}: {}, and this run has {}", then_.file, what, then, now));
    };
    other("specification", then_.judged_by, now_.judged_by);
    other("profile", then_.profile, now_.profile);
    other("version of the suite", then_.suite_version + " (" + then_.suite_commit + ")",
          now_.suite_version + " (" + now_.suite_commit + ")");
    out_.of = static_cast<std::size_t>(
        std::count_if(then_.results.begin(), then_.results.end(),
                      [](const auto& each) { return each.second.is_decided(); }));
    if (!now_.part.empty()) out_.notes.push_back("this run is a part: " + now_.part);
    if (out_.compared < out_.of) {
      out_.notes.push_back(fmt::format("a part is compared: {} of the {} that the report decided",
                                       out_.compared, text::counted(out_.of, "case")));
    }
    if (not_there_ > 0) {
      out_.notes.push_back(
          fmt::format("the report does not decide {} of this run: their failures count as new",
                      text::counted(not_there_, "case")));
    }
    if (!warned_.empty()) {
      out_.notes.push_back(fmt::format("{} passed then and a warning now: {}",
                                       text::counted(warned_.size(), "case"),
                                       listed_cases(warned_)));
    }
    constexpr double kLeastDelay = 1.0;  // ms; less is chance
    if (now_.round_trip_ms > 2 * then_.round_trip_ms + kLeastDelay && then_.round_trip_ms > 0) {
      out_.notes.push_back(
          fmt::format("slower than stated: a reply takes {:.1f} ms, {:.1f} ms then",
                      now_.round_trip_ms, then_.round_trip_ms));
    }
  }

  const std::vector<Column>& earlier_;
  const Column& then_;
  const Column now_;
  std::set<std::string> causes_;  // of what failed then
  std::vector<std::string> warned_;
  std::size_t not_there_ = 0;  // cases that are decided now alone
  Regressions out_;
};

}  // namespace

std::string listed_cases(const std::vector<std::string>& ids) {
  constexpr std::ptrdiff_t kMost = 10;
  const auto shown = std::min(std::ssize(ids), kMost);
  const std::string out = fmt::format("{}", fmt::join(ids.begin(), ids.begin() + shown, ", "));
  return shown == std::ssize(ids) ? out
                                  : fmt::format("{} and {} more", out, std::ssize(ids) - shown);
}

Result<std::vector<Column>, std::string> read_earlier_reports(
    const std::vector<std::string>& paths) {
  std::vector<Column> out;
  for (const std::string& path : paths) {
    const auto file = scenario::read_file(path);
    if (!file) return fail(file.error());
    auto column = read_column(*file, "");
    if (!column) return fail(std::move(column.error()));
    if (const std::string why = unfinished(*column); !why.empty()) {
      return fail(fmt::format("{}: its run did not finish ({}); name the report of a run that did",
                              path, why));
    }
    out.push_back(std::move(*column));
  }
  std::stable_sort(out.begin(), out.end(), [](const Column& a, const Column& b) {
    return a.started < b.started;  // ISO 8601, UTC
  });
  return out;
}

Result<Regressions, std::string> regressions(const std::vector<Column>& earlier,
                                             const run::SuiteResult& result,
                                             const scenario::Catalogue& catalogue,
                                             const ReportContext& context) {
  FENCEPOST_CHECK(!earlier.empty());
  auto now = read_column({"this run", to_json(result, catalogue, context)}, "");
  if (!now) return fail(std::move(now.error()));
  return Comparison(earlier, std::move(*now), result).made(catalogue, context.strict);
}

}  // namespace fencepost::report
