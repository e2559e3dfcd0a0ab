#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/glob.h"
#include "base/text/output.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "clients/client_run/client_case_loader.h"
#include "clients/client_run/client_certificate.h"
#include "clients/client_run/client_suite.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"
#include "suite/scenario/source_excerpt.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::cli {
namespace {

using client_run::CaseOutcome;
using client_run::CaseVerdict;
using client_run::ClientCase;

struct ClientLibrary {
  scenario::Catalogue catalogue{};
  std::vector<ClientCase> cases{};
};

// Nothing after an error was printed.
std::optional<ClientLibrary> open_client_library(const std::string& path) {
  std::vector<scenario::SourceFile> files = scenario::built_in_files();
  std::vector<scenario::LoadError> errors;
  ClientLibrary out{.catalogue = scenario::load_library({}, errors).catalogue};
  if (!path.empty()) {
    auto read = scenario::read_files(path);
    if (!read) {
      print_error(read.error());
      return std::nullopt;
    }
    files = std::move(*read);
  }
  out.cases = client_run::load_client_cases(files, out.catalogue.ids(), errors);
  const auto say = [&](const scenario::LoadError& error) { return with_excerpt(error, files); };
  for (const std::string& line : describe_all(errors, say)) print_error("{}\n", text::Lines(line));
  if (!errors.empty()) return std::nullopt;
  return out;
}

bool is_selected(const ClientCase& test_case, const std::vector<std::string>& globs) {
  if (globs.empty()) return true;
  for (const std::string& glob : globs) {
    if (glob_matches(glob, test_case.id)) return true;
  }
  return false;
}

// Progress, where it is requested.
void tell(const CaseOutcome& outcome, const client_run::CertificateContext& context,
          const CertifyClientOptions& options) {
  if (!options.verbose) return;
  if (outcome.verdict == CaseVerdict::kFailed) {
    text::print("{}\n", text::Lines(client_run::failure_text(outcome, context)));
  } else {
    text::print("{} {}: {}\n", client_run::name(outcome.verdict), outcome.test_case->id,
                outcome.test_case->title);
  }
  std::fflush(stdout);
}

run::ExitCode code_of(client_run::SuiteErrorKind kind) {
  switch (kind) {
    case client_run::SuiteErrorKind::kCannotStart:
      return run::ExitCode::kUsage;
    case client_run::SuiteErrorKind::kNoGreeting:
    case client_run::SuiteErrorKind::kAdapter:
      return run::ExitCode::kUnreachable;
    case client_run::SuiteErrorKind::kOurOwn:
      break;
  }
  return run::ExitCode::kInternal;
}

run::ExitCode code_of(const client_run::ClientSuiteResult& result) {
  if (result.ended_by) return code_of(result.ended_by->kind);
  if (result.count(CaseVerdict::kFailed) > 0) return run::ExitCode::kFailed;
  if (result.stopped) return run::ExitCode::kInterrupted;
  return result.count(CaseVerdict::kPassed) > 0 ? run::ExitCode::kConformant
                                                : run::ExitCode::kNothingSelected;
}

void list_client_cases(const std::vector<const ClientCase*>& cases) {
  for (const ClientCase* each : cases) text::print("{:<50} {}\n", each->id, each->title);
  text::print("{}\n", text::counted(cases.size(), "case"));
}

}  // namespace

run::ExitCode certify_client(const CertifyClientOptions& options) {
  const auto timeout = scenario::parse_duration(options.timeout);
  if (!timeout || timeout->count() == 0) {
    print_error("--timeout " + options.timeout + ": must be a duration such as 500ms or 5s");
    return run::ExitCode::kUsage;
  }
  if (!succeeded(report::check_writable(options.reports))) return run::ExitCode::kUsage;
  const auto library = open_client_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  std::vector<const ClientCase*> selected;
  for (const ClientCase& each : library->cases) {
    if (is_selected(each, options.only)) selected.push_back(&each);
  }
  if (options.list) {
    list_client_cases(selected);
    return selected.empty() ? run::ExitCode::kNothingSelected : run::ExitCode::kConformant;
  }
  if (options.command.empty()) {
    print_error("certify-client needs an adapter: fencepost certify-client -- ADAPTER ARGS...");
    return run::ExitCode::kUsage;
  }
  if (selected.empty()) {
    print_error("no case for clients has such an id; --dry-run lists all");
    return run::ExitCode::kNothingSelected;
  }
  stop_on_signals();
  const client_run::CertificateContext context{.catalogue = library->catalogue,
                                               .profile = options.profile,
                                               .program = options.program,
                                               .command = options.command,
                                               .selected = selected.size(),
                                               .all_cases = library->cases.size(),
                                               .started = utc_now()};
  client_run::ClientSuiteOptions suite{.command = options.command,
                                       .variables = options.variables,
                                       .jobs = options.jobs,
                                       .most_failures = options.max_failures};
  suite.play.stop = &stop_flag();
  suite.play.dialect = *codec::dialect_named(options.profile);
  suite.play.timeout = *timeout;
  suite.on_case = [&](const CaseOutcome& outcome) { tell(outcome, context, options); };
  const auto result = client_run::run_client_suite(selected, suite);
  if (!result) {
    print_error(result.error().text);
    return code_of(result.error().kind);
  }
  if (!options.verbose) text::print("{}", text::Lines(failures_text(*result, context)));
  text::print("{}", text::Lines(summary_text(*result, context)));
  if (result->ended_by) print_error(result->ended_by->text);
  const auto written =
      report::write_reports(options.reports, {{"json", [&] { return json_of(*result, context); }},
                                              {"junit", [&] { return junit_of(*result, context); }},
                                              {"html", [&] { return html_of(*result, context); }}});
  if (!succeeded(written)) return run::ExitCode::kInternal;
  return code_of(*result);
}

}  // namespace fencepost::cli
