#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text/junit.h"
#include "base/text/printable.h"
#include "endpoint/url.h"
#include "report/findings.h"
#include "report/phases.h"
#include "report/report.h"

namespace fencepost::report {
namespace {

using text::JunitCase;
using text::JunitOutcome;
using text::JunitSuite;

constexpr std::size_t kMaxBytesOfOneTranscript = 256'000;
constexpr std::size_t kMaxBytesOfOneText = 20'000;
constexpr std::size_t kMaxBytesOfOneForm = 120;  // in a message
constexpr std::size_t kMaxJunitIds = 100;        // of the other cases of a root cause

// Which root cause explains a failed case, and as which of its cases, from 0.
struct Explained {
  const Difference* difference = nullptr;
  std::size_t at = 0;
};

// The bytes of a reply without the line feed at their end: `-1 (not applied)`.
std::string shown_form(std::string_view form) {
  constexpr std::string_view kLineBreak = R"(\r\n)";
  std::string out(form);
  for (std::size_t at = out.find(kLineBreak); at != std::string::npos;
       at = out.find(kLineBreak, at)) {
    const bool last = out.find(kLineBreak, at + 1) == std::string::npos;
    out.replace(at, kLineBreak.size(), last || out[at + kLineBreak.size()] == ' ' ? "" : " ");
  }
  return text::shortened(out, kMaxBytesOfOneForm);
}

// "SET-NX-2: expected -1 (not applied)  or  :-1, got +OK (step 2); D1, 1 of 34 failures": in a list
// of failures it is this line that tells one from another.
std::string message_of(const Explained& explained, const run::CaseResult& result) {
  const Difference& found = *explained.difference;
  std::string out = found.rule_id + ": ";
  const bool compared = !result.failure.expected.empty() && !result.failure.actual.empty();
  if (!compared || result.failure.kind != judge::Mismatch::kReply) {
    out += result.failure.message + (compared ? ": " : "");
  }
  if (compared) {
    out += fmt::format("expected {}, got {}", shown_form(result.failure.expected),
                       shown_form(result.failure.actual));
  }
  if (result.failure.step > 0) out += fmt::format(" (step {})", result.failure.step);
  out += "; root cause " + found.name;
  const std::size_t cases = found.failing().size();
  if (cases > 1 && explained.at < cases) {
    out += fmt::format(", {} of {} failures", explained.at + 1, cases);
  }
  return text::one_line(out);
}

// How a case stands to the others of its root cause, a line.
std::string relation(const Explained& explained) {
  const Difference& found = *explained.difference;
  if (explained.at == 0) {
    const std::string others = others_of(found, kMaxJunitIds);
    return others.empty() ? "" : fmt::format("root cause {}: {}\n", found.name, others);
  }
  return fmt::format("root cause {}: see {}, which has the messages{}\n", found.name,
                     found.cases.front()->test_case->id,
                     found.blocks(*found.cases[explained.at])
                         ? "; this case stopped before the step it tests"
                         : "");
}

// Says in `test` why it is not simply passed, where it is not.
void set_outcome(JunitCase& test, const run::CaseResult& result, const Explained& explained,
                 const scenario::Catalogue& catalogue, const ReportContext& context) {
  const auto set = [&test](JunitOutcome outcome, std::string type, std::string message) {
    test.outcome = outcome;
    test.type = std::move(type);
    test.message = std::move(message);
  };
  if (result.verdict == run::Verdict::kSkipped) {
    return set(JunitOutcome::kSkipped, "", result.failure.message);
  }
  const Difference* difference = explained.difference;
  const std::string text =
      evidence(result, difference == nullptr ? result.failure.requirement : difference->rule_id,
               catalogue, context);
  if (result.verdict == run::Verdict::kLost || result.verdict == run::Verdict::kNotRun) {
    test.text = text;
    return set(
        JunitOutcome::kError, std::string(name(result.verdict)),
        result.failure.message.empty() ? "the run ended before this case" : result.failure.message);
  }
  const auto finding = finding_of(result, catalogue, context.strict);
  if (!finding) return;
  switch (finding->kind) {
    case FindingKind::kFailure: {
      const bool known_rule = difference->rule != nullptr;
      const auto level = known_rule ? difference->rule->level : finding->level;
      test.text = text + relation(explained);
      return set(JunitOutcome::kFailure, rfc2119_keyword(level), message_of(explained, result));
    }
    case FindingKind::kUnexpectedPass:
      test.text = text;
      return set(JunitOutcome::kFailure, "unexpected-pass", headline(*finding));
    case FindingKind::kInconclusive:
      test.text = text;
      return set(JunitOutcome::kError, std::string(name(result.verdict)), headline(*finding));
    case FindingKind::kExpectedFailure:
      return set(JunitOutcome::kSkipped, "", "KF: " + result.baseline);
    case FindingKind::kWarning:
      break;
  }
}

std::string short_text(const std::string& text) {
  return text::shortened(text::printable(text), kMaxBytesOfOneText);
}

// The end tells most: it is where the case failed.
std::string transcript_text(const run::CaseResult& result) {
  std::string lines;
  for (const run::TranscriptEntry& entry : result.transcript) lines += to_line(entry) + "\n";
  if (lines.size() <= kMaxBytesOfOneTranscript) return lines;
  const std::size_t cut = lines.find('\n', lines.size() - kMaxBytesOfOneTranscript) + 1;
  return fmt::format("({} bytes left out; the JSON report has them)\n", cut) + lines.substr(cut);
}

JunitCase test_of(const run::CaseResult& result, const Explained& explained,
                  const scenario::Catalogue& catalogue, const ReportContext& context) {
  const scenario::Case& test_case = *result.test_case;
  JunitCase test{.name = test_case.id,
                 .classname = "statestore." + test_case.area,
                 .time = result.duration,
                 .properties = {{"title", test_case.title},
                                {"place", fmt::format("{}:{}", test_case.position.file,
                                                      test_case.position.line)}}};
  for (const std::string& id : test_case.requirements) {
    test.properties.emplace_back("requirement", id);
  }
  test.properties.emplace_back("level", name(catalogue.level_of(test_case)));
  const auto finding = finding_of(result, catalogue, context.strict);
  if (explained.difference != nullptr) {
    test.properties.emplace_back("difference", explained.difference->name);
    test.properties.emplace_back("explained_by", explained.difference->rule_id);
  }
  if (result.first_attempt) {
    test.properties.emplace_back("first_attempt", attempt_text(*result.first_attempt));
  }
  set_outcome(test, result, explained, catalogue, context);
  if (finding && finding->kind == FindingKind::kWarning) {
    test.outputs.emplace_back(
        "warning", short_text(evidence(result, explained.difference->rule_id, catalogue, context) +
                              relation(explained)));
  }
  // The messages of a root cause are there once: GitLab takes files of some size only.
  const bool wanted = finding && finding->kind != FindingKind::kExpectedFailure;
  if (wanted && explained.at == 0 && !result.transcript.empty()) {
    test.outputs.emplace_back("packets", transcript_text(result));
  }
  return test;
}

// The file of a suite's cases, or the folder that holds them all.
std::string common_path(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  std::filesystem::path common;
  for (auto part = a.begin(); part != end; ++part) common /= *part;
  return common.empty() ? "." : common.string();
}

// Which host was certified. Ours are processes of this machine.
std::string host_of(const std::string& endpoint) {
  const auto url = endpoint::parse_url(endpoint);
  return url && !url->host.empty() ? url->host : "localhost";
}

struct Suite {
  std::string file{};
  std::vector<const run::CaseResult*> cases{};
};

// By area, in alphabetical order: the cases of an area need not stand together.
std::map<std::string, Suite> suites_of(const run::SuiteResult& result) {
  std::map<std::string, Suite> out;
  for (const run::CaseResult& entry : result.cases) {
    const auto [found, inserted] = out.try_emplace(entry.test_case->area);
    Suite& suite = found->second;
    const std::string& file = entry.test_case->position.file;
    suite.file = inserted ? file : common_path(suite.file, file);
    suite.cases.push_back(&entry);
  }
  return out;
}

JunitSuite suite_named(const std::string& name, const ReportContext& context) {
  return {.name = name, .timestamp = context.started, .hostname = host_of(context.endpoint)};
}

JunitSuite suite_of(const std::string& area, const std::string& file,
                    const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                    const ReportContext& context) {
  JunitSuite out = suite_named(area, context);
  const auto add = [&out](const char* name, std::string value) {
    out.properties.emplace_back(name, std::move(value));
  };
  add("endpoint", context.endpoint);
  if (std::string part = part_text(result, context); !part.empty()) add("selected", part);
  add("profile", std::string(name(context.profile)));
  add("wording", std::string(name(context.edition)));
  add("judged_by", basis_text(result, catalogue, context));
  add("dialect_observed", observed_dialect(result));
  add("seed", std::to_string(context.seed));
  if (!context.stopped_because.empty()) add("stopped_because", context.stopped_because);
  add("file", file);
  return out;
}

// A stale entry of the baseline fails the run, and belongs to no case: it gets a test of its own.
JunitSuite diagnostics(const run::SuiteResult& result, const ReportContext& context) {
  JunitSuite out = suite_named("baseline", context);
  for (const std::string& diagnostic : result.baseline_errors) {
    out.cases.push_back({.name = fmt::format("baseline error {}", out.cases.size() + 1),
                         .classname = "statestore.baseline",
                         .outcome = JunitOutcome::kFailure,
                         .type = "baseline",
                         .message = diagnostic});
  }
  return out;
}

// What a phase has shown: a test for each finding, else one for all.
JunitSuite phase_suite(const Phase& phase, const scenario::Catalogue& catalogue,
                       const ReportContext& context) {
  const std::string id(phase.id);
  JunitSuite out = suite_named(id, context);
  const auto add_test = [&](const std::string& name) -> JunitCase& {
    return out.cases.emplace_back(
        JunitCase{.name = name,
                  .classname = "statestore." + id,
                  .time = out.cases.empty() ? phase.duration : std::chrono::microseconds{0}});
  };
  if (phase.findings.empty()) {
    JunitCase& test = add_test(std::string(phase.title));
    if (phase.ran) {
      test.outputs.emplace_back("result", phase.text);
    } else {
      test.outcome = JunitOutcome::kSkipped;
      test.message = phase.error;
    }
  }
  for (const run::PhaseFinding& found : phase.findings) {
    JunitCase& test = add_test(fmt::format("{} #{}", found.requirement, out.cases.size() + 1));
    const std::string text = finding_evidence(phase, found, catalogue);
    if (found.fails) {
      const scenario::Requirement* rule = catalogue.find(found.requirement);
      test.outcome = JunitOutcome::kFailure;
      test.type = rfc2119_keyword(rule == nullptr ? scenario::Level::kMust : rule->level);
      test.message = finding_headline(found);
      test.text = text;
    } else {
      test.outputs.emplace_back("warning", short_text(text));
    }
  }
  return out;
}

}  // namespace

std::string to_junit(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context) {
  const std::vector<Difference> all = differences(result, catalogue, context.strict);
  std::map<const run::CaseResult*, Explained> explained;
  for (const Difference& found : all) {
    for (std::size_t i = 0; i < found.cases.size(); ++i) explained[found.cases[i]] = {&found, i};
  }
  std::vector<JunitSuite> suites;
  for (const auto& [area, entry] : suites_of(result)) {
    suites.push_back(suite_of(area, entry.file, result, catalogue, context));
    for (const run::CaseResult* each : entry.cases) {
      suites.back().cases.push_back(test_of(*each, explained[each], catalogue, context));
    }
  }
  if (!result.baseline_errors.empty()) suites.push_back(diagnostics(result, context));
  for (const Phase& phase : phases_of(result)) {
    suites.push_back(phase_suite(phase, catalogue, context));
  }
  return text::junit(suites);
}

}  // namespace fencepost::report
