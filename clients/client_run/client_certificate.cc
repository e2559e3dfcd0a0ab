#include "clients/client_run/client_certificate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/text/command_line.h"
#include "base/text/junit.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "clients/client_run/certificate_words.h"

namespace fencepost::client_run {
namespace {

constexpr std::size_t kMaxWireLines = 14;

// "  rule      ...", broken behind its label.
std::string labelled(std::string_view label, const std::string& text) {
  constexpr std::size_t kLabel = 12;
  return text::wrap(fmt::format("  {:<9} {}", label, text), {.width = 100, .indent = kLabel}) +
         '\n';
}

std::string rule_text(const ClientProblem& problem, const scenario::Catalogue& catalogue) {
  const scenario::Requirement* found = catalogue.find(problem.requirement);
  const auto level = name(found == nullptr ? scenario::Level::kMust : found->level);
  return fmt::format("{} ({}): {}", problem.requirement, level, sentence_of(problem, catalogue));
}

std::string problem_text(const ClientProblem& problem, const CertificateContext& context) {
  std::string out = labelled("rule", rule_text(problem, context.catalogue));
  out += labelled("where", place_of(problem));
  if (!problem.expected.empty()) out += labelled("expected", line_text(problem.expected));
  return out + labelled("actual", line_text(problem.actual));
}

bool is_adapter_error(const ClientSuiteResult& result) {
  return result.ended_by && result.ended_by->kind == SuiteErrorKind::kAdapter;
}

// "part": a part of the cases was selected, and none has failed.
std::string_view verdict_word(const ClientSuiteResult& result, const CertificateContext& context) {
  if (is_adapter_error(result)) return "adapter error";
  if (result.count(CaseVerdict::kFailed) > 0) return "not conformant";
  if (result.stopped) return "stopped early";
  if (result.count(CaseVerdict::kPassed) == 0) return "nothing judged";
  return selection_text(context).empty() ? "conformant" : "part";
}

// For a packet, the rule says what is expected.
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
  if (problem.step.empty()) return "on the network";
  return fmt::format("{} ({}:{})", line_text(problem.step), problem.position.file,
                     problem.position.line);
}

std::string again_command(const CaseOutcome& outcome, const CertificateContext& context) {
  text::CommandLine out(context.program, "certify-client");
  if (context.profile != "deployed") out.option("--dialect", context.profile);
  out.option("--run", outcome.test_case->id).word("--");
  for (const std::string& word : context.command) out.word(word);
  return line_text(out.text());
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
  std::string out = fmt::format("FAILED {}  {}\n", test_case.id, line_text(test_case.title));
  for (const ClientProblem& each : played.problems) out += problem_text(each, context);
  const std::size_t skipped =
      played.wire.size() > kMaxWireLines ? played.wire.size() - kMaxWireLines : 0;
  if (!played.wire.empty()) {
    out += labelled(skipped > 0 ? "last packets" : "packets",
                    "(> from the client, < from Fencepost's broker)");
  }
  for (std::size_t i = skipped; i < played.wire.size(); ++i) {
    out += "    " + line_text(played.wire[i]) + "\n";
  }
  if (!played.last_words.empty()) {
    out += "  the end of its standard error\n";
    std::istringstream lines(text::printable(played.last_words));
    for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
  }
  return out + "  reproduce " + again_command(outcome, context) + "\n";
}

std::vector<ClientRootCause> differences(const ClientSuiteResult& result) {
  std::map<std::string, std::vector<const CaseOutcome*>> by_rule;
  for (const CaseOutcome& each : result.outcomes) {
    if (each.verdict != CaseVerdict::kFailed) continue;
    by_rule[each.played.problems.front().requirement].push_back(&each);
  }
  std::vector<ClientRootCause> out;
  for (auto& [rule, cases] : by_rule) {
    std::stable_sort(cases.begin(), cases.end(), [](const auto* a, const auto* b) {
      return a->test_case->steps.size() < b->test_case->steps.size();
    });
    out.push_back({.rule = rule, .cases = std::move(cases)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.cases.size() > b.cases.size(); });
  for (std::size_t i = 0; i < out.size(); ++i) out[i].name = fmt::format("D{}", i + 1);
  return out;
}

std::string failures_text(const ClientSuiteResult& result, const CertificateContext& context) {
  constexpr std::size_t kMaxNamed = 3;
  const std::vector<ClientRootCause> all = differences(result);
  if (all.empty()) return "";
  std::string out = fmt::format("{} explain{} {}\n\n", text::counted(all.size(), "root cause"),
                                all.size() == 1 ? "s" : "",
                                text::counted(result.count(CaseVerdict::kFailed), "failure"));
  for (const ClientRootCause& each : all) {
    out += failure_text(*each.cases.front(), context);
    const std::size_t others = each.cases.size() - 1;
    if (others > 0) {
      std::string names = text::counted(others, "other") + ":";
      for (std::size_t i = 1; i <= std::min(others, kMaxNamed); ++i) {
        names += (i == 1 ? " " : ", ") + each.cases[i]->test_case->id;
      }
      if (others > kMaxNamed) {
        names += fmt::format(", and {} more: see a report", others - kMaxNamed);
      }
      out += labelled("also", names);
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
  for (const ClientRootCause& each : differences(result)) {
    out += fmt::format("  {} {}: {}, first {}\n", each.name, each.rule,
                       text::counted(each.cases.size(), "case"), each.cases.front()->test_case->id);
  }
  for (const auto& [capability, cases] : lacking(result)) {
    out += fmt::format("  missing capability {}: {} skipped\n", capability,
                       text::counted(cases, "case"));
  }
  for (const auto& [rule, because] : advice_of(result)) {
    out += text::wrap(fmt::format("  should follow {}: {}", rule, because),
                      {.width = 100, .indent = 4});
    out += '\n';
  }
  if (result.restarts > 0) {
    out += fmt::format("  the adapter was restarted {}\n", text::counted(result.restarts, "time"));
  }
  const std::string selection = selection_text(context);
  const std::string_view word = verdict_word(result, context);
  if (word == "part") {
    return out + fmt::format(
                     "client: partial run without a failure: {} selected; not a statement "
                     "of conformance\n",
                     selection);
  }
  return out + fmt::format("client: {}{}\n", word,
                           selection.empty() ? "" : " (" + selection + " selected)");
}

std::string json_of(const ClientSuiteResult& result, const CertificateContext& context) {
  nlohmann::ordered_json out = {{"format", "fencepost-client-certificate"},
                                {"format_version", 1},
                                {"adapter", line_text(result.greeting.name)},
                                {"capabilities", result.greeting.capabilities},
                                {"profile", context.profile},
                                {"verdict", verdict_word(result, context)},
                                {"selected", context.selected},
                                {"all_cases", context.all_cases},
                                {"passed", result.count(CaseVerdict::kPassed)},
                                {"failed", result.count(CaseVerdict::kFailed)},
                                {"skipped", result.count(CaseVerdict::kSkipped)},
                                {"restarts", result.restarts},
                                {"seconds", result.seconds}};
  if (result.ended_by) out["ended_by"] = line_text(result.ended_by->text);
  out["differences"] = nlohmann::ordered_json::array();
  for (const ClientRootCause& each : differences(result)) {
    auto cases = nlohmann::ordered_json::array();
    for (const CaseOutcome* one : each.cases) cases.push_back(one->test_case->id);
    const ClientProblem& first = each.cases.front()->played.problems.front();
    out["differences"].push_back({{"id", each.name},
                                  {"requirement", each.rule},
                                  {"text", sentence_of(first, context.catalogue)},
                                  {"cases", std::move(cases)}});
  }
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
