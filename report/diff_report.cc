#include "report/diff_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/durations.h"
#include "base/text/colour.h"
#include "base/text/printable.h"

namespace fencepost::report {
namespace {

using nlohmann::ordered_json;

using enum text::Colour;
constexpr std::size_t kMaxNamedCases = 5;  // of many that are alike

std::string counted(std::size_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

bool passes(const run::CaseResult& result) {
  return result.verdict == run::Verdict::kPassed || result.unexpected_pass;
}

std::string ids(const std::vector<const scenario::Case*>& cases) {
  std::string out;
  for (std::size_t i = 0; i < std::min(cases.size(), kMaxNamedCases); ++i) {
    out += (i == 0 ? "" : ", ") + cases[i]->id;
  }
  return cases.size() > kMaxNamedCases ? out + ", ..." : out;
}

class Text {
 public:
  Text(const Comparison& found, const DiffSubject& subject, bool colour)
      : found_(found), subject_(subject), paint_(colour) {}

  std::string all() {
    sides();
    verdicts();
    failures();
    choices("the dialects differ in", found_.forms);
    choices("what the article leaves open differs in", found_.open_points);
    not_compared();
    latency();
    add("");
    const text::Colour colour = found_.differs()                                  ? kRed
                                : exit_code(found_) == run::ExitCode::kConformant ? kGreen
                                                                                  : kYellow;
    add(paint_(colour, diff_verdict(found_)));
    return std::move(text_);
  }

 private:
  void add(const std::string& line) { text_ += line + "\n"; }
  void headline(const std::string& text) {
    add("");
    add(paint_(kBold, text));
  }

  void side(const char* letter, const std::string& label, const Report& report) {
    const ReportContext& context = report.context;
    add(fmt::format("  {}  {}  profile {}, dialect {}, {} cases, started {}", letter, label,
                    name(context.profile), observed_dialect(report.result),
                    report.result.cases.size(), context.started));
    if (!context.stopped_because.empty()) {
      add("     " + paint_(kRed, text::one_line(context.stopped_because)));
    }
  }

  void sides() {
    add(fmt::format("{} {}", paint_(kBold, "fencepost diff"), suite_version()));
    side("A", subject_.name_a, subject_.a);
    side("B", subject_.name_b, subject_.b);
    for (const std::string& condition : found_.conditions) {
      add(paint_(kYellow, "  not the same conditions: " + condition));
    }
  }

  [[nodiscard]] std::string word(const run::CaseResult& result, const Report& report) const {
    const std::string text(verdict_word(result, subject_.catalogue, report.context.strict));
    return paint_(passes(result) ? kGreen : kRed, text);
  }

  // What is known of a failure; `indent` stands before each line.
  void failure(const run::CaseResult& result, const std::string& indent) {
    if (const scenario::Requirement* rule = subject_.catalogue.find(result.failure.requirement)) {
      add(fmt::format("{}rule      {} ({}): {}", indent, rule->id, name(rule->level), rule->text));
    }
    const std::string place =
        result.failure.step > 0
            ? fmt::format(", step {} at {}:{}", result.failure.step, result.failure.position.file,
                          result.failure.position.line)
            : "";
    add(fmt::format("{}because   {}{}", indent, result.failure.message, place));
    if (!result.failure.expected.empty()) add(indent + "expected  " + result.failure.expected);
    if (!result.failure.actual.empty()) add(indent + "actual    " + result.failure.actual);
  }

  void verdicts() {
    if (found_.verdicts.empty()) return;
    headline(
        counted(found_.verdicts.size(), "case passes in one alone", "cases pass in one alone"));
    for (const CasePair& pair : found_.verdicts) {
      add(fmt::format("  {}: {} in A, {} in B  ({})", pair.test_case().id,
                      word(*pair.a, subject_.a), word(*pair.b, subject_.b),
                      pair.test_case().title));
      failure(passes(*pair.a) ? *pair.b : *pair.a, "      ");
    }
  }

  void failures() {
    if (found_.failures.empty()) return;
    headline(counted(found_.failures.size(), "case fails in both, not alike",
                     "cases fail in both, not alike"));
    for (const CasePair& pair : found_.failures) {
      add(fmt::format("  {}  ({})", pair.test_case().id, pair.test_case().title));
      add("    A " + word(*pair.a, subject_.a));
      failure(*pair.a, "      ");
      add("    B " + word(*pair.b, subject_.b));
      failure(*pair.b, "      ");
    }
  }

  void choices(const std::string& title, const std::vector<ObservedVariation>& list) {
    if (list.empty()) return;
    headline(title);
    for (const ObservedVariation& choice : list) {
      add(fmt::format("  {}: {} in A, {} in B  ({}: {})", choice.what, fmt::join(choice.a, " and "),
                      fmt::join(choice.b, " and "), counted(choice.cases.size(), "case", "cases"),
                      ids(choice.cases)));
    }
  }

  void not_compared() {
    std::map<std::string, std::vector<const scenario::Case*>> groups;
    for (const CasePair& pair : found_.undecided) {
      groups[fmt::format("{} in A, {} in B",
                         verdict_word(*pair.a, subject_.catalogue, subject_.a.context.strict),
                         verdict_word(*pair.b, subject_.catalogue, subject_.b.context.strict))]
          .push_back(&pair.test_case());
    }
    if (!found_.only_in_a.empty()) groups["not among those of B"] = found_.only_in_a;
    if (!found_.only_in_b.empty()) groups["not among those of A"] = found_.only_in_b;
    if (groups.empty()) return;
    headline("could not be compared");
    for (const auto& [why, cases] : groups) {
      add(fmt::format("  {} {}: {}", counted(cases.size(), "case", "cases"), why, ids(cases)));
    }
  }

  void latency() {
    const auto line = [](const char* what, const LatencyPair& times) {
      const double ratio = times.ratio();
      return fmt::format("{} {:.3f} ms in A, {:.3f} ms in B{}", what, in_milliseconds(times.a),
                         in_milliseconds(times.b),
                         ratio > 0 ? fmt::format(" (x{:.3g})", ratio) : "");
    };
    headline("what varies, and decides nothing");
    add(line("  round trip (p50) in the cases", found_.latency));
    add(line("  round trip (p50) before the run", found_.unloaded));
    add(fmt::format("  clock offset {} ms in A, {} ms in B",
                    subject_.a.context.preflight.clock_offset_ms,
                    subject_.b.context.preflight.clock_offset_ms));
  }

  const Comparison& found_;
  const DiffSubject& subject_;
  text::Paint paint_;
  std::string text_;
};

// --- JSON ----------------------------------------------------------------------------------------

ordered_json side_document(const std::string& label, const Report& report) {
  const ReportContext& context = report.context;
  ordered_json out = {{"name", label},
                      {"endpoint", context.endpoint},
                      {"profile", name(context.profile)},
                      {"strict", context.strict},
                      {"seed", context.seed},
                      {"dialect_observed", observed_dialect(report.result)},
                      {"started", context.started},
                      {"cases", report.result.cases.size()},
                      {"exit_code", static_cast<int>(exit_code(report.result))},
                      {"clock_offset_ms", context.preflight.clock_offset_ms}};
  if (!context.stopped_because.empty()) out["stopped_because"] = context.stopped_because;
  return out;
}

ordered_json outcome_document(const run::CaseResult& result, const Report& report,
                              const scenario::Catalogue& catalogue) {
  return {{"verdict", verdict_word(result, catalogue, report.context.strict)},
          {"requirement", result.failure.requirement},
          {"step", result.failure.step},
          {"line", result.failure.position.line},
          {"message", result.failure.message},
          {"expected", result.failure.expected},
          {"actual", result.failure.actual}};
}

ordered_json pairs_document(const std::vector<CasePair>& pairs, const DiffSubject& subject) {
  ordered_json out = ordered_json::array();
  for (const CasePair& pair : pairs) {
    out.push_back({{"id", pair.test_case().id},
                   {"a", outcome_document(*pair.a, subject.a, subject.catalogue)},
                   {"b", outcome_document(*pair.b, subject.b, subject.catalogue)}});
  }
  return out;
}

ordered_json ids_document(const std::vector<const scenario::Case*>& cases) {
  ordered_json out = ordered_json::array();
  for (const scenario::Case* test_case : cases) out.push_back(test_case->id);
  return out;
}

ordered_json choices_document(const std::vector<ObservedVariation>& choices) {
  ordered_json out = ordered_json::array();
  for (const ObservedVariation& choice : choices) {
    out.push_back({{"what", choice.what},
                   {"a", choice.a},
                   {"b", choice.b},
                   {"cases", ids_document(choice.cases)}});
  }
  return out;
}

ordered_json latency_document(const LatencyPair& times) {
  return {{"a", in_milliseconds(times.a)}, {"b", in_milliseconds(times.b)}};
}

}  // namespace

std::string diff_verdict(const Comparison& found) {
  const std::string compared = fmt::format("{} compared", counted(found.compared, "case", "cases"));
  if (found.differs()) {
    std::vector<std::string> parts;
    const auto add = [&](std::size_t number, const char* one, const char* many) {
      if (number > 0) parts.push_back(counted(number, one, many));
    };
    add(found.verdicts.size(), "verdict", "verdicts");
    add(found.failures.size(), "way to fail", "ways to fail");
    add(found.forms.size(), "form of the dialects", "forms of the dialects");
    add(found.open_points.size(), "open point", "open points");
    return fmt::format("they differ in {}; {}", fmt::join(parts, ", "), compared);
  }
  const std::size_t rest = found.undecided.size() + found.only_in_a.size() + found.only_in_b.size();
  if (found.compared == 0) return "nothing was compared";
  if (rest == 0) return "they behave alike: " + compared;
  return fmt::format("no difference, but not everything could be compared: {}, {} not", compared,
                     rest);
}

std::string diff_text(const Comparison& found, const DiffSubject& subject, bool colour) {
  return Text(found, subject, colour).all();
}

std::string diff_json(const Comparison& found, const DiffSubject& subject) {
  ordered_json out;
  out["suite_version"] = suite_version();
  out["exit_code"] = static_cast<int>(exit_code(found));
  out["differs"] = found.differs();
  out["a"] = side_document(subject.name_a, subject.a);
  out["b"] = side_document(subject.name_b, subject.b);
  out["conditions"] = found.conditions;
  out["compared"] = found.compared;
  out["skipped_in_both"] = found.skipped;
  out["verdicts"] = pairs_document(found.verdicts, subject);
  out["failures"] = pairs_document(found.failures, subject);
  out["forms"] = choices_document(found.forms);
  out["open_points"] = choices_document(found.open_points);
  out["undecided"] = pairs_document(found.undecided, subject);
  out["only_in_a"] = ids_document(found.only_in_a);
  out["only_in_b"] = ids_document(found.only_in_b);
  out["latency_ms"] = {{"p50", latency_document(found.latency)},
                       {"unloaded_p50", latency_document(found.unloaded)}};
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fencepost::report
