#include "report/console.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <unistd.h>

#include <fmt/format.h>

#include "base/durations.h"
#include "base/text/colour.h"
#include "base/text/output.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "report/findings.h"
#include "report/phases.h"
#include "report/requirement_states.h"

namespace fencepost::report {
namespace {

using enum text::Colour;
constexpr std::size_t kLastPackets = 8;
constexpr std::size_t kMaxDifferences = 3;  // that are shown unless all are requested
constexpr std::size_t kMaxIds = 3;          // of cases, in one line
constexpr std::size_t kLabel = 12;          // columns of "  because   "
constexpr std::size_t kTreeColumns = 18;    // of a line for a case: sign, duration and blanks
constexpr std::size_t kMinTitle = 20;       // of its title
constexpr std::size_t kContinuation = 4;    // more blanks than the line that is broken

std::string_view sign(run::Verdict verdict) {
  switch (verdict) {
    case run::Verdict::kPassed:
      return "✓";
    case run::Verdict::kFailed:
      return "✗";
    case run::Verdict::kInconclusive:
      return "?";
    case run::Verdict::kExpectedFailure:
      return "x";
    case run::Verdict::kSkipped:
      return "-";
    case run::Verdict::kLost:
    case run::Verdict::kNotRun:
      return "·";
  }
  return " ";
}

text::Colour colour_of(const run::CaseResult& result, bool warning) {
  if (result.verdict == run::Verdict::kPassed) return kGreen;
  if (result.verdict == run::Verdict::kFailed && !warning) return kRed;
  return result.verdict == run::Verdict::kSkipped ? kDim : kYellow;
}

std::string_view headline(const run::CaseResult& result, bool warning) {
  if (result.unexpected_pass) return "UNEXPECTED PASS";
  if (warning) return "WARNING";
  return result.verdict == run::Verdict::kFailed ? "FAILED" : "INCONCLUSIVE";
}

// What stands behind the id in the list of cases.
std::string remark(const run::CaseResult& result) {
  if (result.verdict == run::Verdict::kSkipped) return text::one_line(result.failure.message);
  if (result.verdict == run::Verdict::kExpectedFailure)
    return "expected failure: " + result.baseline;
  if (result.first_attempt) {
    return fmt::format("{} (rerun in isolation; at first {})", result.test_case->title,
                       attempt_text(*result.first_attempt));
  }
  return result.test_case->title;
}

// The sign of an area, by the worst that became of its cases: no tick where something was not seen.
std::pair<std::string_view, text::Colour> area_mark(
    const std::map<std::string, std::size_t>& counts) {
  if (counts.contains("failed")) return {"✗", kRed};
  if (counts.contains("inconclusive")) return {"?", kYellow};
  if (counts.contains("not-run") || counts.contains("lost")) return {"·", kYellow};
  if (!counts.contains("passed") && counts.contains("skipped")) return {"-", kDim};
  return {"✓", counts.size() == 1 ? kGreen : kYellow};
}

// "24 expected failures", "3 passed": the number of cases of this verdict.
std::string count_of(std::size_t number, std::string_view verdict) {
  if (verdict == "warning") return text::counted(number, verdict);
  if (verdict == "expected-failure") return text::counted(number, "expected failure");
  return fmt::format("{} {}", number, verdict == "not-run" ? "not run" : verdict);
}

std::string_view words(judge::ClockSource source) {
  switch (source) {
    case judge::ClockSource::kVersions:
      return "from versions";
    case judge::ClockSource::kRefusals:
      return "from refused timestamps";
    case judge::ClockSource::kVersionBound:
      return "only the upper bound measured";
    case judge::ClockSource::kAssumed:
      return "not measured";
  }
  return "unknown";
}

}  // namespace

ConsoleOptions console_options(std::FILE* stream) {
  ConsoleOptions options;
  const char* no_colour =
      std::getenv("NO_COLOR");             // NOLINT(concurrency-mt-unsafe): nobody writes it
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
  const bool screen = isatty(fileno(stream)) == 1;
  const bool terminal = screen && term != nullptr && std::string(term) != "dumb";
  options.screen = screen;
  options.width = text::terminal_width(stream);
  options.live = terminal;
  options.colour = terminal && (no_colour == nullptr || *no_colour == '\0');
  return options;
}

void Console::line(const std::string& text) {
  if (options_.width == 0) return whole_line(text);
  // Behind a label, if there is one: "  because   the reply ...".
  const bool labelled = text.size() > kLabel && text.starts_with("  ") && text[2] != ' ' &&
                        text[kLabel - 1] == ' ' && text[kLabel] != ' ';
  const std::size_t own = std::min(text.find_first_not_of(' '), text.size());
  whole_line(text::wrap(
      text, {.width = options_.width, .indent = labelled ? kLabel : own + kContinuation}));
}

bool Console::is_short() const { return options_.screen && !options_.verbose && !options_.trace; }

// Before it is coloured.
std::string Console::fitted(const std::string& text, std::size_t most) const {
  if (!is_short()) return text;
  return text::cut(text, most * (options_.width - kLabel));
}

void Console::whole_line(const std::string& text) {
  text::write(stream_, text + "\n", options_.colour || options_.live);
  static_cast<void>(std::fflush(stream_));
}

void Console::clear_line() {
  if (options_.live) text::write(stream_, text::kEraseLine, true);
}

void Console::begin(const ReportContext& context, const scenario::Catalogue& catalogue,
                    std::size_t cases, std::size_t jobs) {
  catalogue_ = &catalogue;
  strict_ = context.strict;
  said_ = std::chrono::steady_clock::now();
  if (options_.progress_only) return;
  const std::string edition = context.edition == scenario::Edition::kAuto
                                  ? ""
                                  : fmt::format(" ({} edition)", name(context.edition));
  line(fmt::format("{} {}  endpoint {}  profile {}{}  {}, {} in parallel  seed {}",
                   paint_(kBold, "fencepost certify"), suite_version(), context.endpoint,
                   name(context.profile), edition, text::counted(cases, "case"), jobs,
                   context.seed));
  if (options_.quiet) return;
  const judge::ClockBounds& bounds = context.preflight.clock_bounds;
  line(fmt::format(
      "preflight: round trip p50 {:.3f} ms, p99 {:.3f} ms; clock offset {} ms ({} to {} ms, {})",
      in_milliseconds(context.preflight.round_trip_p50),
      in_milliseconds(context.preflight.round_trip_p99), context.preflight.clock_offset_ms,
      bounds.low_ms, bounds.high_ms, words(context.preflight.clock_source)));
  if (options_.verbose && context.expiry_tolerance && context.disconnect_settling) {
    line(
        fmt::format("tolerated: expiry up to {} ms late; registrations up to {} ms after their "
                    "connection ended",
                    context.expiry_tolerance->count(), context.disconnect_settling->count()));
  }
}

void Console::progress(const run::CaseResult& result, std::size_t done, std::size_t total) {
  if (result.verdict == run::Verdict::kFailed) {
    const bool warning = catalogue_ != nullptr && is_warning(result, *catalogue_, strict_);
    ++(warning ? warnings_ : failed_);
  }
  if (options_.quiet || (!options_.live && options_.progress_only)) return;
  const auto now = std::chrono::steady_clock::now();
  if (!options_.live && (now - said_ < options_.heartbeat || done == total)) return;
  said_ = now;
  std::string text = fmt::format("  {}/{} done", done, total);
  if (failed_ > 0) text += ", " + paint_(kRed, fmt::format("{} failed", failed_));
  if (warnings_ > 0) text += ", " + paint_(kYellow, text::counted(warnings_, "warning"));
  if (!options_.live) return whole_line(text);
  clear_line();
  std::string id = result.test_case->id;
  const std::size_t taken = text::columns(text) + 3;  // with the blanks, and the cursor
  if (options_.width > taken) id = text::cut(id, options_.width - taken);
  text::write(stream_, text + "  " + paint_(kDim, id), true);
  std::fflush(stream_);
}

void Console::end(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                  const ReportContext& context) {
  clear_line();
  if (options_.progress_only) return;
  if (!options_.quiet) {
    if (options_.verbose) {
      print_tree(result, catalogue, context.strict);
    } else {
      print_areas(result, catalogue, context.strict);
    }
  }
  if (!options_.show.empty() && (options_.quiet || !options_.verbose)) {
    print_tree(result, catalogue, context.strict);
  }
  print_root_causes(result, catalogue, context);
  print_others(result, catalogue, context);
  print_waived(result, catalogue);
  print_phases(result, catalogue, context);
  print_summary(result, catalogue, context);
  print_verdict(result, context);
}

// A line for each area: what became of its cases.
void Console::print_areas(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                          bool strict) {
  std::map<std::string, std::map<std::string, std::size_t>> areas;
  std::vector<std::string> order;
  std::size_t width = 0;
  for (const run::CaseResult& entry : result.cases) {
    const std::string& area = entry.test_case->area;
    auto& counts = areas[area];
    if (counts.empty()) order.push_back(area);
    const bool warning =
        entry.verdict == run::Verdict::kFailed && is_warning(entry, catalogue, strict);
    ++counts[std::string(warning ? "warning" : name(entry.verdict))];
    width = std::max(width, area.size());
  }
  line("");
  for (const std::string& area : order) {
    const auto& counts = areas[area];
    std::string words;
    for (const auto& [verdict, count] : counts) {
      words += fmt::format("{}{}", words.empty() ? "" : ", ", count_of(count, verdict));
    }
    const auto& [sign, colour] = area_mark(counts);
    const std::string mark = paint_(colour, sign);
    line(fmt::format("  {} {:<{}}  {}", mark, area, width, words));
  }
}

// Failures with one cause have one root cause: the first in full, some more in a few lines each.
void Console::print_root_causes(const run::SuiteResult& result,
                                const scenario::Catalogue& catalogue,
                                const ReportContext& context) {
  std::vector<Difference> all = differences(result, catalogue, context.strict);
  // What the baseline knows is counted, not shown.
  std::erase_if(all, [](const Difference& each) {
    return each.cases.front()->waived || each.kind == FindingKind::kExpectedFailure;
  });
  if (all.empty()) return;
  if (all.front().kind == FindingKind::kFailure) {
    line("");
    line(paint_(kBold, sentence_of(all)));
  }
  const std::size_t shown = options_.verbose ? all.size() : std::min(kMaxDifferences, all.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const bool in_full = i == 0 || options_.verbose;
    print_root_cause(all[i], in_full, catalogue, context);
  }
  if (shown == all.size()) return;
  std::size_t cases = 0;
  for (std::size_t i = shown; i < all.size(); ++i) cases += all[i].cases.size();
  line("");
  line(fmt::format("and {} ({}): see --verbose or a report",
                   text::counted(all.size() - shown, "more root cause"),
                   text::counted(cases, "case")));
}

// A cause has the same words for all values, and says nothing where two of them differ.
std::string because_of(const run::Failure& failure) {
  if (!failure.cause.ends_with("want a value, got a value")) return failure.cause;
  return fmt::format("{}: want {}, got {}", failure.subject, failure.expected, failure.actual);
}

void Console::print_root_cause(const Difference& found, bool in_full,
                               const scenario::Catalogue& catalogue, const ReportContext& context) {
  const run::CaseResult& best = *found.cases.front();
  const bool warning = found.kind == FindingKind::kWarning;
  if (in_full) {
    failure(best, found.rule_id, catalogue, context);
  } else {
    line("");
    print_title(fmt::format("{} {}  ",
                            paint_(warning ? kYellow : kRed, std::string(headline(best, warning))),
                            paint_(kBold, best.test_case->id)),
                *best.test_case);
    print_rule(found.rule_id, catalogue, 1);
    line("  because   " + fitted(because_of(best.failure), 1));
    print_reproduce(best, context);
  }
  if (!found.where.empty()) line("  only      " + fitted("where " + found.where, 2));
  if (found.cases.size() > 1) line("  also      " + fitted(others_of(found), 1));
  if (found.warnings > 0) {
    line(fmt::format("  warnings  {} of these are reported as warnings", found.warnings));
  }
  if (found.blocked() > 0) {
    line(fmt::format("  stopped   {} of these stopped before the step they test", found.blocked()));
  }
}

std::string Console::others_of(const Difference& found) const {
  const std::size_t most = options_.verbose ? found.cases.size() : kMaxIds;
  std::string out = report::others_of(found, most);
  if (found.cases.size() - 1 > most) out += ": see a report";
  return out;
}

// What the baseline did not expect to pass, and what could not be decided.
void Console::print_others(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                           const ReportContext& context) {
  std::vector<const run::CaseResult*> undecided;
  for (const run::CaseResult& entry : result.cases) {
    if (entry.unexpected_pass) failure(entry, entry.failure.requirement, catalogue, context);
    if (entry.verdict == run::Verdict::kInconclusive) undecided.push_back(&entry);
  }
  const std::size_t shown =
      options_.verbose ? undecided.size() : std::min<std::size_t>(1, undecided.size());
  for (std::size_t i = 0; i < shown; ++i) {
    failure(*undecided[i], undecided[i]->failure.requirement, catalogue, context);
  }
  if (shown == undecided.size()) return;
  std::string ids;
  for (std::size_t i = shown; i < undecided.size() && i < shown + kMaxIds; ++i) {
    ids += (ids.empty() ? "" : ", ") + undecided[i]->test_case->id;
  }
  const std::size_t others = undecided.size() - shown;
  line(fmt::format(
      "  also      {} inconclusive: {}{}", others, ids,
      others > kMaxIds ? fmt::format(", and {} more: see a report", others - kMaxIds) : ""));
}

bool Console::is_shown(const run::CaseResult& entry, const scenario::Catalogue& catalogue,
                       bool strict) const {
  const auto& wanted = options_.show;
  if (wanted.empty()) return true;
  const bool warning =
      entry.verdict == run::Verdict::kFailed && is_warning(entry, catalogue, strict);
  const std::string_view verdict = warning ? "warning" : name(entry.verdict);
  return std::find(wanted.begin(), wanted.end(), verdict) != wanted.end();
}

void Console::print_tree(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                         bool strict) {
  std::map<std::string, std::vector<const run::CaseResult*>> areas;
  std::vector<std::string> order;
  std::size_t width = 0;  // of the longest id
  for (const run::CaseResult& entry : result.cases) {
    if (!is_shown(entry, catalogue, strict)) continue;
    auto& list = areas[entry.test_case->area];
    if (list.empty()) order.push_back(entry.test_case->area);
    list.push_back(&entry);
    width = std::max(width, entry.test_case->id.size());
  }
  // On a terminal a title is cut rather than broken: a line is a case.
  const std::size_t taken = width + kTreeColumns;
  const std::size_t room =
      options_.screen ? std::max(options_.width, taken + kMinTitle) - taken : 0;
  for (const std::string& area : order) {
    line("");
    line(paint_(kBold, area));
    for (const run::CaseResult* entry : areas[area]) {
      const bool warning =
          entry->verdict == run::Verdict::kFailed && is_warning(*entry, catalogue, strict);
      const std::string duration =
          entry->verdict == run::Verdict::kSkipped || entry->verdict == run::Verdict::kNotRun
              ? std::string(name(entry->verdict))
              : fmt::format("{:.1f} ms", in_milliseconds(entry->duration));
      line(fmt::format(
          "  {} {:<{}} {:>11}  {}",
          paint_(colour_of(*entry, warning), std::string(warning ? "!" : sign(entry->verdict))),
          entry->test_case->id, width, duration,
          paint_(kDim, room == 0 ? remark(*entry) : text::cut(remark(*entry), room))));
    }
  }
}

// On one line of a terminal, with as much of the title as there is room for.
void Console::print_title(const std::string& id, const scenario::Case& test_case) {
  const std::size_t taken = text::columns(id) + kMinTitle;
  const bool whole = !is_short();
  const std::size_t room = std::max(options_.width, taken) - taken + kMinTitle;
  line(id + (whole ? test_case.title : text::cut(test_case.title, room)));
}

void Console::print_rule(const std::string& id, const scenario::Catalogue& catalogue,
                         std::size_t most) {
  const scenario::Requirement* requirement = catalogue.find(id);
  if (requirement == nullptr) return;
  const char* open = requirement->level == scenario::Level::kMay
                         ? "; the answer is not one of the allowed outcomes"
                         : "";
  line("  rule      " + fitted(fmt::format("{} ({}): {}{}", requirement->id,
                                           name(requirement->level), requirement->text, open),
                               most));
}

void Console::failure(const run::CaseResult& result, const scenario::Catalogue& catalogue,
                      const ReportContext& context) {
  failure(result, result.failure.requirement, catalogue, context);
}

void Console::failure(const run::CaseResult& result, const std::string& rule,
                      const scenario::Catalogue& catalogue, const ReportContext& context) {
  const scenario::Case& test_case = *result.test_case;
  const bool warning =
      result.verdict == run::Verdict::kFailed && is_warning(result, catalogue, context.strict);
  line("");
  print_title(
      fmt::format("{} {}  ",
                  paint_(colour_of(result, warning), std::string(headline(result, warning))),
                  paint_(kBold, test_case.id)),
      test_case);
  print_rule(rule, catalogue, 3);
  line(fmt::format("  because   {}", text::one_line(result.failure.message)));
  if (result.failure.step > 0) {
    line(fmt::format("  step      {} at {}:{}  ({})", result.failure.step,
                     result.failure.position.file, result.failure.position.line,
                     test_case.steps[result.failure.step - 1].title));
  } else {
    line(fmt::format("  case      {}:{}", test_case.position.file, test_case.position.line));
  }
  if (!result.failure.expected.empty())
    line("  expected  " + paint_(kGreen, fitted(result.failure.expected, 2)));
  if (!result.failure.actual.empty())
    line("  actual    " + paint_(kRed, fitted(result.failure.actual, 2)));
  if (result.first_attempt) line("  at first  " + attempt_text(*result.first_attempt));
  const bool against =
      result.verdict == run::Verdict::kFailed || result.verdict == run::Verdict::kExpectedFailure;
  const std::string known_by = against ? signature(result.failure) : "";
  if (!known_by.empty() && !is_short()) {
    whole_line("  signature " + run::quoted_signature(known_by));
  }
  // Nothing that was sent explains a pass.
  const std::size_t shown =
      result.unexpected_pass ? 0
      : options_.trace
          ? result.transcript.size()
          : std::min(is_short() ? kLastPackets / 2 : kLastPackets, result.transcript.size());
  if (shown > 0) line(shown < result.transcript.size() ? "  last packets" : "  packets");
  for (std::size_t i = result.transcript.size() - shown; i < result.transcript.size(); ++i) {
    const std::string packet = "  " + to_line(result.transcript[i]);
    line(is_short() ? text::cut(packet, options_.width) : packet);
  }
  print_reproduce(result, context);
}

void Console::print_reproduce(const run::CaseResult& result, const ReportContext& context) {
  const std::string alone = alone_text(result);
  if (!alone.empty()) line("  isolated  " + alone);
  whole_line("  reproduce " + reproduce_command(context, result));
}

// For the rules that do not apply to this store: what it does otherwise, each with its first case.
void Console::print_waived(const run::SuiteResult& result, const scenario::Catalogue& catalogue) {
  std::map<std::string, std::vector<const run::CaseResult*>> rules;
  for (const run::CaseResult& entry : result.cases) {
    if (entry.waived) rules[entry.failure.requirement].push_back(&entry);
  }
  for (const auto& [id, cases] : rules) {
    const run::CaseResult& first = *cases.front();
    const scenario::Requirement* requirement = catalogue.find(id);
    line("");
    line(fmt::format("{} {}  does not apply to this store; not followed in {}",
                     paint_(kYellow, "WARNING"), paint_(kBold, id),
                     text::counted(cases.size(), "case")));
    if (requirement != nullptr) line("  rule      " + requirement->text);
    line(fmt::format("  first     {}, step {}: {}", first.test_case->id, first.failure.step,
                     text::one_line(first.failure.message)));
    if (!first.failure.expected.empty())
      line("  expected  " + paint_(kGreen, text::one_line(first.failure.expected)));
    if (!first.failure.actual.empty()) line("  actual    " + paint_(kYellow, first.failure.actual));
  }
}

// What the phases have shown, unless cases have shown the same rule broken.
void Console::print_phases(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                           const ReportContext& context) {
  const std::vector<Difference> all = differences(result, catalogue, context.strict);
  for (const Phase& phase : phases_of(result)) {
    for (const run::PhaseFinding& found : phase.findings) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const Difference& each) {
        return each.rule_id == found.requirement && each.kind == FindingKind::kFailure;
      });
      line("");
      line(fmt::format("{} {}  {}{}{}",
                       paint_(found.fails ? kRed : kYellow, found.fails ? "FAILED" : "WARNING"),
                       paint_(kBold, found.requirement), phase.subject, known ? ", as above" : "",
                       found.key.empty() ? "" : fmt::format(", key \"{}\"", found.key)));
      if (!known || options_.verbose) {
        print_rule(found.requirement, catalogue, 3);
        line("  because   " + found.text);
        for (const std::string& each : finding_lines(found)) line("    " + fitted(each, 2));
      }
      whole_line("  reproduce " + command_of(phase, found));
    }
  }
}

void Console::print_summary(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                            const ReportContext& context) {
  const run::Summary& summary = result.summary;
  line("");
  std::string counts =
      fmt::format("{}: {} passed", text::counted(result.cases.size(), "case"), summary.passed);
  const auto add = [&](std::size_t number, const char* what, text::Colour colour) {
    if (number > 0) counts += ", " + paint_(colour, count_of(number, what));
  };
  add(summary.failed, "failed", kRed);
  add(summary.expected_failures, "expected-failure", kYellow);
  add(summary.warnings, "warning", kYellow);
  add(summary.inconclusive, "inconclusive", kYellow);
  add(summary.skipped, "skipped", kDim);
  add(summary.not_run, "not-run", kYellow);
  line(counts);
  print_skipped(result);
  const auto percent = [&](double of) {
    return in_milliseconds(run::percentile(result.round_trips, of));
  };
  line(fmt::format("time {:.2f} s, longest wait of one case {:.2f} s{}; {}",
                   in_seconds(result.duration), in_seconds(result.longest_wait),
                   context.endpoint.starts_with("inproc") ? " (simulated)" : "",
                   text::counted(result.round_trips.size(), "request")));
  for (const Phase& phase : phases_of(result)) line(phase.text);
  if (options_.verbose) {
    line(fmt::format("round trip {:.3f} ms (p50), {:.3f} ms (p99) under load", percent(50),
                     percent(99)));
  }
  const std::string forms = describe_forms(result);
  const std::string dialect = observed_dialect(result);
  const bool forms_matter = options_.verbose || dialect == "mixed";
  line("dialect " + dialect + (forms.empty() || !forms_matter ? "" : " (" + forms + ")"));
  line(basis_text(result, catalogue, context));
  const std::string states = requirements_text(
      requirement_states(result, differences(result, catalogue, context.strict), catalogue));
  if (!states.empty()) line(states);
  for (const std::string& note : result.baseline_notes) line("baseline: " + note);
  if (!result.baseline_errors.empty()) line(paint_(kRed, "the baseline is out of date:"));
  for (const std::string& diagnostic : result.baseline_errors) line("  " + diagnostic);
  if (!context.stopped_because.empty()) line(paint_(kRed, text::one_line(context.stopped_because)));
}

// What the endpoint lacks, and for how many cases: a verdict is of what ran.
void Console::print_skipped(const run::SuiteResult& result) {
  const SkippedCases skipped = skipped_cases(result);
  if (skipped.missing.empty() && skipped.too_large + skipped.too_slow == 0) return;
  std::string text;
  for (const MissingCapability& each : skipped.missing) {
    text += fmt::format("{}{} need{} {}", text.empty() ? "" : ", ", each.cases,
                        each.cases == 1 ? "s" : "", each.name);
  }
  if (skipped.too_large > 0) {
    text += fmt::format("{}{} send{} more than the endpoint takes", text.empty() ? "" : ", ",
                        skipped.too_large, skipped.too_large == 1 ? "s" : "");
  }
  if (skipped.too_slow > 0) {
    text += fmt::format("{}{} need{} a faster endpoint", text.empty() ? "" : ", ", skipped.too_slow,
                        skipped.too_slow == 1 ? "s" : "");
  }
  if (skipped.by_baseline > 0) text += fmt::format(", {} by the baseline", skipped.by_baseline);
  line("skipped: " + text + ": docs/DESCRIPTORS.md");
}

void Console::print_verdict(const run::SuiteResult& result, const ReportContext& context) {
  const run::Summary& summary = result.summary;
  const bool found = !failing_phases(result).empty();
  const std::string part = part_text(result, context);
  switch (exit_code(result)) {
    case run::ExitCode::kConformant:
      if (!part.empty()) {
        line(paint_(kGreen, fmt::format("partial run without a {}failure: {}; not a statement of "
                                        "conformance",
                                        summary.expected_failures > 0 ? "new " : "", part)));
      } else if (summary.expected_failures > 0) {
        line(paint_(kYellow, "conformant, except for the known failures of the baseline"));
      } else if (summary.warnings > 0) {
        line(paint_(kGreen, "conformant, with warnings: see above"));
      } else {
        const std::string but =
            summary.skipped == 0
                ? ""
                : fmt::format("; {} did not run", text::counted(summary.skipped, "case"));
        line(paint_(kGreen, "conformant: every case that ran passed" + but));
      }
      break;
    case run::ExitCode::kFailed:
      line(paint_(kRed, summary.failed > 0 || found
                            ? "NOT conformant"
                            : "no new failure, but the baseline is out of date"));
      break;
    case run::ExitCode::kInconclusive:
      line(paint_(kYellow, "no failure, but not everything could be decided"));
      break;
    default:
      line(paint_(kYellow, "no verdict"));
      break;
  }
}

}  // namespace fencepost::report
