#include "report/findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "suite/run/capability.h"
#include "suite/run/request_builder.h"

namespace fencepost::report {
namespace {

std::optional<FindingKind> kind_of(const run::CaseResult& result,
                                   const scenario::Catalogue& catalogue, bool strict) {
  switch (result.verdict) {
    case run::Verdict::kFailed:
      if (result.unexpected_pass) return FindingKind::kUnexpectedPass;
      return is_warning(result, catalogue, strict) ? FindingKind::kWarning : FindingKind::kFailure;
    case run::Verdict::kInconclusive:
      return FindingKind::kInconclusive;
    case run::Verdict::kExpectedFailure:
      return FindingKind::kExpectedFailure;
    case run::Verdict::kPassed:
    case run::Verdict::kSkipped:
    case run::Verdict::kLost:
    case run::Verdict::kNotRun:
      return std::nullopt;
  }
  return std::nullopt;
}

Finding finding_about(Difference difference, const scenario::Catalogue& catalogue) {
  const run::CaseResult& best = *difference.cases.front();
  Finding out{.kind = difference.kind,
              .result = &best,
              .rule = difference.rule,
              .rule_id = difference.rule_id,
              .level = difference.rule != nullptr ? difference.rule->level
                                                  : catalogue.level_of(*best.test_case)};
  out.difference = std::move(difference);
  return out;
}

}  // namespace

std::optional<Finding> finding_of(const run::CaseResult& result,
                                  const scenario::Catalogue& catalogue, bool strict) {
  const auto kind = kind_of(result, catalogue, strict);
  if (!kind) return std::nullopt;
  Finding out{.kind = *kind, .result = &result, .rule_id = result.failure.requirement};
  if (out.rule_id.empty() && !result.test_case->requirements.empty()) {
    out.rule_id = result.test_case->requirements.front();
  }
  out.rule = catalogue.find(out.rule_id);
  // As is_warning() sees it: the rule to which the failure is attributed, and only that.
  const scenario::Requirement* attributed = catalogue.find(result.failure.requirement);
  out.level = attributed != nullptr ? attributed->level : catalogue.level_of(*result.test_case);
  return out;
}

std::vector<Finding> findings(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                              bool strict) {
  std::vector<Finding> out;
  std::set<const run::CaseResult*> explained;
  for (Difference& difference : differences(result, catalogue, strict)) {
    explained.insert(difference.cases.begin(), difference.cases.end());
    out.push_back(finding_about(std::move(difference), catalogue));
  }
  for (const run::CaseResult& entry : result.cases) {
    if (explained.contains(&entry)) continue;
    if (auto finding = finding_of(entry, catalogue, strict)) out.push_back(std::move(*finding));
  }
  return out;
}

std::string headline(const Finding& finding) {
  const run::CaseResult& result = *finding.result;
  if (finding.difference) {
    if (std::string cause = result.failure.cause; !cause.empty()) return cause;
  }
  if (!result.failure.message.empty()) return result.failure.message;
  switch (finding.kind) {
    case FindingKind::kUnexpectedPass:
      return "the case passes, but the baseline expects it to fail";
    case FindingKind::kInconclusive:
      return "the case could not be decided";
    case FindingKind::kFailure:
    case FindingKind::kWarning:
    case FindingKind::kExpectedFailure:
      break;
  }
  return "the case failed";
}

SkippedCases skipped_cases(const run::SuiteResult& result) {
  SkippedCases out;
  std::map<std::string_view, std::size_t> missing;
  for (const run::CaseResult& entry : result.cases) {
    if (entry.verdict != run::Verdict::kSkipped) continue;
    const std::string_view reason = entry.failure.message;
    const std::string_view name = reason.substr(0, reason.find(':'));
    const auto known = run::all_capabilities();
    const bool capability = std::any_of(
        known.begin(), known.end(), [&](const run::Capability& row) { return row.name == name; });
    const bool too_large = reason.starts_with(run::kTooLargeToSend);
    ++(!entry.baseline.empty() ? out.by_baseline
       : capability            ? missing[name]
       : too_large             ? out.too_large
                               : out.too_slow);
  }
  for (const run::Capability& row : run::all_capabilities()) {
    if (!missing.contains(row.name)) continue;
    out.missing.push_back({std::string(row.name), std::string(row.provide), missing[row.name]});
  }
  std::stable_sort(out.missing.begin(), out.missing.end(),
                   [](const auto& a, const auto& b) { return a.cases > b.cases; });
  return out;
}

std::string others_of(const Difference& found, std::size_t most_ids) {
  const std::size_t others = found.cases.size() - 1;
  if (others == 0) return {};
  const std::size_t shown = std::min(others, most_ids);
  std::string ids;
  for (std::size_t i = 1; i <= shown; ++i) {
    ids += (i == 1 ? "" : ", ") + found.cases[i]->test_case->id;
  }
  if (others > shown) ids += fmt::format(", and {} more", others - shown);
  return fmt::format("{}: {}", text::counted(others, "other"), ids);
}

std::string evidence(const run::CaseResult& result, const std::string& rule_id,
                     const scenario::Catalogue& catalogue, const ReportContext& context) {
  const scenario::Requirement* requirement = catalogue.find(rule_id);
  std::string text;
  if (requirement != nullptr) {
    const bool open = requirement->level == scenario::Level::kMay;
    text += fmt::format("{}: {}{}\n", requirement->id, requirement->text,
                        open ? " The answer is outside the allowed ones." : "");
  }
  if (result.failure.step > 0) {
    text += fmt::format("step {} at {}:{}\n", result.failure.step, result.failure.position.file,
                        result.failure.position.line);
  }
  if (!result.failure.expected.empty()) text += "expected: " + result.failure.expected + "\n";
  if (!result.failure.actual.empty()) text += "actual:   " + result.failure.actual + "\n";
  if (!result.baseline.empty()) text += "baseline: " + result.baseline + "\n";
  if (const std::string alone = alone_text(result); !alone.empty()) {
    text += "isolated: " + alone + "\n";
  }
  text += "reproduce: " + reproduce_command(context, result) + "\n";
  return text;
}

std::string part_text(const run::SuiteResult& result, const ReportContext& context) {
  return part_text(result.cases.size(), context.known_cases);
}

std::string part_text(std::size_t cases, std::size_t known_cases) {
  if (cases >= known_cases) return "";
  return fmt::format("{} of {} cases selected", cases, known_cases);
}

std::string rfc2119_keyword(scenario::Level level) {
  std::string text(name(level));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return text;
}

std::string_view name(run::ExitCode code) {
  switch (code) {
    case run::ExitCode::kConformant:
      return "conformant";
    case run::ExitCode::kFailed:
      return "failed";
    case run::ExitCode::kUsage:
      return "usage";
    case run::ExitCode::kUnreachable:
      return "unreachable";
    case run::ExitCode::kInconclusive:
      return "inconclusive";
    case run::ExitCode::kNothingSelected:
      return "nothing-selected";
    case run::ExitCode::kInternal:
      return "internal-error";
    case run::ExitCode::kInterrupted:
      return "interrupted";
  }
  return "internal-error";
}

std::string_view verdict_word(const run::SuiteResult& result, const ReportContext& context) {
  const run::ExitCode code = exit_code(result);
  const bool certifies = code != run::ExitCode::kConformant || part_text(result, context).empty();
  return certifies ? name(code) : "part";
}

}  // namespace fencepost::report
