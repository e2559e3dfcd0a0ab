#include "conformance/report/report.h"

#include <fmt/format.h>

namespace fencepost::report {

std::string basis_text(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                       const ReportContext& context) {
  const bool deployed = result.basis.dialect == codec::DialectId::kDeployed;
  const bool by_default = context.profile == codec::Profile::kAuto && result.forms.empty();
  return fmt::format("judged by {} ({} wording): {} rules bind{}",
                     deployed ? "the article and the deployed service" : "the article alone",
                     name(result.basis.wording), binding_rules(catalogue, result.basis),
                     by_default ? "; no case has shown which dialect the store speaks: name it "
                                  "with --profile"
                                : "");
}

std::string attempt_text(const run::Attempt& attempt) {
  return fmt::format("{}: {}", name(attempt.verdict), attempt.message);
}

std::string reproduce_command(const ReportContext& context, const scenario::Case& test_case) {
  const auto own = context.commands.find(test_case.id);
  return (own == context.commands.end() ? context.command : own->second) + " --run " + test_case.id;
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
