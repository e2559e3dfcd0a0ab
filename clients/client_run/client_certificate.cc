#include "clients/client_run/client_certificate.h"

#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text/junit.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "clients/client_run/certificate_words.h"

namespace fencepost::client_run {
namespace {

constexpr std::size_t kMostWireLines = 14;

void append_problem(std::string& out, const ClientProblem& problem,
                    const CertificateContext& context) {
  const text::WrapOptions wrapped{.width = 100, .indent = 12, .first = 12};
  out += fmt::format(
      "  {}: {}\n", problem.requirement,
      text::wrap(sentence_of(problem, context.catalogue), {.width = 100, .indent = 4, .first = 4}));
  out += fmt::format("  where:    {}\n", place_of(problem));
  if (!problem.expected.empty()) {
    out += fmt::format("  expected: {}\n", text::wrap(line_text(problem.expected), wrapped));
  }
  out += fmt::format("  seen:     {}\n", text::wrap(line_text(problem.actual), wrapped));
}

bool is_adapter_error(const ClientSuiteResult& result) {
  return result.ended_by && result.ended_by->kind == SuiteErrorKind::kAdapter;
}

std::string_view verdict_word(const ClientSuiteResult& result) {
  if (is_adapter_error(result)) return "adapter error";
  if (result.count(CaseVerdict::kFailed) > 0) return "not conformant";
  if (result.stopped) return "stopped early";
  return result.count(CaseVerdict::kPassed) > 0 ? "conformant" : "nothing judged";
}

// What is expected of a packet is what its rule says.
std::string expected_of(const ClientProblem& problem, const scenario::Catalogue& catalogue) {
  return problem.expected.empty() ? sentence_of(problem, catalogue) : line_text(problem.expected);
}

nlohmann::ordered_json problem_json(const ClientProblem& problem,
                                    const scenario::Catalogue& catalogue) {
  return {{"requirement", problem.requirement}, {"text", sentence_of(problem, catalogue)},
          {"step", line_text(problem.step)},    {"file", problem.position.file},
          {"line", problem.position.line},      {"expected", expected_of(problem, catalogue)},
          {"actual", line_text(problem.actual)}};
}

nlohmann::ordered_json lines_json(const auto& lines) {
  auto out = nlohmann::ordered_json::array();
  for (const std::string& line : lines) out.push_back(line_text(line));
  return out;
}

nlohmann::ordered_json case_json(const CaseOutcome& outcome, const CertificateContext& context) {
  const ClientCase& test_case = *outcome.test_case;
  nlohmann::ordered_json out = {{"id", test_case.id},
                                {"area", test_case.area},
                                {"title", test_case.title},
                                {"requirements", test_case.requirements},
                                {"verdict", name(outcome.verdict)},
                                {"milliseconds", outcome.played.time.count()},
                                {"lacks", outcome.lacks}};
  out["problems"] = nlohmann::ordered_json::array();
  for (const ClientProblem& each : outcome.played.problems) {
    out["problems"].push_back(problem_json(each, context.catalogue));
  }
  out["advice"] = nlohmann::ordered_json::array();
  for (const clients::Finding& each : outcome.played.advice) {
    out["advice"].push_back({{"rule", each.rule->id}, {"because", line_text(each.because)}});
  }
  if (outcome.verdict != CaseVerdict::kFailed) return out;
  out["wire"] = lines_json(outcome.played.wire);
  out["reports"] = lines_json(outcome.played.reports);
  out["last_words"] = text::printable(outcome.played.last_words);
  out["again"] = again_command(outcome, context);
  return out;
}

}  // namespace

std::string line_text(std::string_view text) { return text::one_line(text::printable(text)); }

std::string sentence_of(const ClientProblem& problem, const scenario::Catalogue& catalogue) {
  if (!problem.sentence.empty()) return problem.sentence;
  const scenario::Requirement* found = catalogue.find(problem.requirement);
  if (found == nullptr) return "";
  return line_text(found->of_clients.empty() ? found->text : found->of_clients);
}

std::string place_of(const ClientProblem& problem) {
  if (problem.step.empty()) return "on the wire";
  return fmt::format("{} ({}:{})", line_text(problem.step), problem.position.file,
                     problem.position.line);
}

std::string again_command(const CaseOutcome& outcome, const CertificateContext& context) {
  std::string out = text::shell_word(context.program) + " certify-client";
  if (context.profile != "deployed") out += " --profile " + context.profile;
  out += " --only " + text::shell_word(outcome.test_case->id) + " --";
  for (const std::string& word : context.command) out += ' ' + text::shell_word(word);
  return line_text(out);
}

std::map<std::string, std::size_t> lacking(const ClientSuiteResult& result) {
  std::map<std::string, std::size_t> out;
  for (const CaseOutcome& each : result.outcomes) {
    for (const std::string& capability : each.lacks) ++out[capability];
  }
  return out;
}

std::map<std::string, std::string> advice_of(const ClientSuiteResult& result) {
  std::map<std::string, std::string> out;
  for (const CaseOutcome& each : result.outcomes) {
    for (const clients::Finding& finding : each.played.advice) {
      out.emplace(finding.rule->id, line_text(finding.because));
    }
  }
  return out;
}

std::string failure_text(const CaseOutcome& outcome, const CertificateContext& context) {
  const ClientCase& test_case = *outcome.test_case;
  const PlayResult& played = outcome.played;
  std::string out = fmt::format("FAILED {}: {}\n", test_case.id, line_text(test_case.title));
  for (const ClientProblem& each : played.problems) append_problem(out, each, context);
  const std::size_t skipped =
      played.wire.size() > kMostWireLines ? played.wire.size() - kMostWireLines : 0;
  if (!played.wire.empty()) out += "  the wire (> of the client, < of our broker):\n";
  for (std::size_t i = skipped; i < played.wire.size(); ++i) {
    out += "    " + line_text(played.wire[i]) + "\n";
  }
  if (!played.last_words.empty()) {
    out += "  the end of its standard error:\n";
    std::istringstream lines(text::printable(played.last_words));
    for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
  }
  return out + "  this case alone: " + again_command(outcome, context) + "\n";
}

std::map<std::string, std::vector<const CaseOutcome*>> by_rule(const ClientSuiteResult& result) {
  std::map<std::string, std::vector<const CaseOutcome*>> out;
  for (const CaseOutcome& each : result.outcomes) {
    if (each.verdict != CaseVerdict::kFailed) continue;
    out[each.played.problems.front().requirement].push_back(&each);
  }
  return out;
}

std::string failures_text(const ClientSuiteResult& result, const CertificateContext& context) {
  constexpr std::size_t kMostNamed = 20;
  const auto groups = by_rule(result);
  std::string out;
  for (const CaseOutcome& each : result.outcomes) {
    if (each.verdict != CaseVerdict::kFailed) continue;
    const std::string& rule = each.played.problems.front().requirement;
    const auto& group = groups.at(rule);
    if (group.front() != &each) continue;
    out += failure_text(each, context);
    if (group.size() > 1) {
      std::string names = fmt::format("{} is broken first in {}:", rule,
                                      text::counted(group.size() - 1, "other case"));
      for (std::size_t i = 1; i < group.size() && i <= kMostNamed; ++i) {
        names += (i == 1 ? " " : ", ") + group[i]->test_case->id;
      }
      if (group.size() > kMostNamed + 1) names += ", ...";
      out += "  " + text::wrap(names, {.width = 100, .indent = 4, .first = 2}) + "\n";
    }
    out += '\n';
  }
  return out;
}

std::string selection_text(const CertificateContext& context) {
  if (context.selected >= context.all_cases) return "";
  return fmt::format("{} of {} cases", context.selected, context.all_cases);
}

std::string summary_text(const ClientSuiteResult& result, const CertificateContext& context) {
  std::string out = fmt::format(
      "{} of adapter \"{}\", {} dialect: {} passed, {} failed, {} skipped, in {:.1f} s\n",
      text::counted(result.outcomes.size(), "case"), line_text(result.greeting.name),
      context.profile, result.count(CaseVerdict::kPassed), result.count(CaseVerdict::kFailed),
      result.count(CaseVerdict::kSkipped), result.seconds);
  for (const auto& [rule, cases] : by_rule(result)) {
    const std::string& id = cases.front()->test_case->id;
    out += cases.size() == 1
               ? fmt::format("  {} is broken in 1 case: {}\n", rule, id)
               : fmt::format("  {} is broken in {} cases, the first {}\n", rule, cases.size(), id);
  }
  for (const auto& [capability, cases] : lacking(result)) {
    out += fmt::format("  it lacks {}: {} skipped\n", capability, text::counted(cases, "case"));
  }
  for (const auto& [rule, because] : advice_of(result)) {
    out += fmt::format("  it should mind {}: {}\n", rule, because);
  }
  if (result.restarts > 0) {
    out +=
        fmt::format("  the adapter was started again {}\n", text::counted(result.restarts, "time"));
  }
  const std::string selection = selection_text(context);
  return out + fmt::format("client: {}{}\n", verdict_word(result),
                           selection.empty() ? "" : ", in " + selection + " that were selected");
}

std::string json_of(const ClientSuiteResult& result, const CertificateContext& context) {
  nlohmann::ordered_json out = {{"format", "fencepost-client-certificate"},
                                {"format_version", 1},
                                {"adapter", line_text(result.greeting.name)},
                                {"capabilities", result.greeting.capabilities},
                                {"profile", context.profile},
                                {"verdict", verdict_word(result)},
                                {"selected", context.selected},
                                {"all_cases", context.all_cases},
                                {"passed", result.count(CaseVerdict::kPassed)},
                                {"failed", result.count(CaseVerdict::kFailed)},
                                {"skipped", result.count(CaseVerdict::kSkipped)},
                                {"restarts", result.restarts},
                                {"seconds", result.seconds}};
  if (result.ended_by) out["ended_by"] = line_text(result.ended_by->text);
  out["cases"] = nlohmann::ordered_json::array();
  for (const CaseOutcome& each : result.outcomes) out["cases"].push_back(case_json(each, context));
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string junit_of(const ClientSuiteResult& result, const CertificateContext& context) {
  constexpr double kSecond = 1e6;
  const std::string selection = selection_text(context);
  text::JunitSuite suite{
      .name = "fencepost certify-client" + (selection.empty() ? "" : " (" + selection + ")"),
      .timestamp = context.started,
      .time = std::chrono::microseconds(std::llround(kSecond * result.seconds))};
  for (const CaseOutcome& each : result.outcomes) {
    text::JunitCase test{.name = each.test_case->id,
                         .classname = "statestore.client." + each.test_case->area,
                         .time = each.played.time};
    if (each.verdict == CaseVerdict::kSkipped) {
      test.outcome = text::JunitOutcome::kSkipped;
      test.message = fmt::format("the adapter lacks {}", fmt::join(each.lacks, " "));
    }
    if (each.verdict == CaseVerdict::kFailed) {
      const ClientProblem& first = each.played.problems.front();
      test.outcome = text::JunitOutcome::kFailure;
      test.type = first.requirement;
      test.message = fmt::format("{}: expected {}, seen {}", first.requirement,
                                 expected_of(first, context.catalogue), line_text(first.actual));
      test.text = failure_text(each, context);
    }
    suite.cases.push_back(std::move(test));
  }
  return text::junit({suite});
}

}  // namespace fencepost::client_run
