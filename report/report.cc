#include "report/report.h"

#include <fmt/format.h>

#include "base/text/printable.h"

namespace fencepost::report {

std::string basis_text(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                       const ReportContext& context) {
  const bool deployed = result.basis.dialect == codec::DialectId::kDeployed;
  const bool by_default = context.profile == codec::Profile::kAuto && result.forms.empty();
  return fmt::format("judged by {} ({} edition): {} rules apply{}",
                     deployed ? "the article and the deployed service" : "the article alone",
                     name(result.basis.edition), binding_rules(catalogue, result.basis),
                     by_default ? "; dialect not determined, set --profile" : "");
}

std::string attempt_text(const run::Attempt& attempt) {
  return fmt::format("{}: {}", name(attempt.verdict), attempt.failure.message);
}

std::string reproduce_selection(const ReportContext& context, const run::CaseResult& result) {
  if (!result.alone || result.alone->fails) return " --run " + result.test_case->id;
  if (!result.alone->shown_by.empty()) return " --run " + text::shell_word(result.alone->shown_by);
  return selection_text(context.selection);
}

std::string reproduce_command(const ReportContext& context, const run::CaseResult& result) {
  const auto own = context.commands.find(result.test_case->id);
  return (own == context.commands.end() ? context.command : own->second) +
         reproduce_selection(context, result);
}

std::string alone_text(const run::CaseResult& result) {
  if (!result.alone || result.alone->fails) return {};
  if (result.alone->shown_by.empty()) {
    return "it passes in isolation: the command repeats the run";
  }
  return fmt::format("it passes in isolation, and fails again together with {}",
                     result.alone->shown_by);
}

std::string_view name(Transcripts transcripts) {
  return transcripts == Transcripts::kAll ? "all" : "failures";
}

std::optional<Transcripts> transcripts_named(std::string_view word) {
  for (const Transcripts transcripts : {Transcripts::kFailures, Transcripts::kAll}) {
    if (word == name(transcripts)) return transcripts;
  }
  return std::nullopt;
}

bool has_transcript(const run::CaseResult& result, const ReportContext& context) {
  return context.transcripts == Transcripts::kAll || result.verdict != run::Verdict::kPassed;
}

const char* suite_version() { return FENCEPOST_VERSION; }

}  // namespace fencepost::report
