#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "endpoint/url.h"
#include "report/console.h"
#include "report/report_files.h"
#include "suite/target/target.h"
#include "traffic/replay/printer.h"
#include "traffic/replay/session.h"

namespace fencepost::cli {
namespace {

// All cases are "not run", and the reports say why.
run::ExitCode not_begun(const ReplayOptions& options, replay::Session& session,
                        const std::string& reason, run::ExitCode code) {
  do_not_begin(session, reason, code);
  return succeeded(write_reports(session, options.reports)) ? exit_code(session.run)
                                                            : run::ExitCode::kInternal;
}

run::ExitCode run_on(const ReplayOptions& options, endpoint::Endpoint& endpoint,
                     const target::Descriptor& descriptor, replay::Session& session) {
  session.context.endpoint = endpoint.url();
  const auto ready = prepare(endpoint, descriptor, options.jobs, session.suite);
  if (!ready) {
    print_error(ready.error());
    return not_begun(options, session, ready.error().reason, ready.error().code);
  }
  session.context.preflight = *ready;
  report::ConsoleOptions style = report::console_options(stdout);
  style.quiet = options.quiet;
  style.trace = options.trace;
  report::Console console(stdout, style);
  replay::Printer printer(session, stdout, style, console);
  printer.begin();
  run_rounds(
      session, endpoint,
      [&](const run::CaseResult& result, std::size_t done, std::size_t total) {
        console.progress(result, done, total);
      },
      stop_flag());
  if (options.heal) heal_files(session.saved, session.run, session.run_ids.front());
  printer.end();
  return succeeded(write_reports(session, options.reports)) ? exit_code(session.run)
                                                            : run::ExitCode::kInternal;
}

bool can_write(const ReplayOptions& options) {
  return succeeded(report::check_writable(options.reports));
}

}  // namespace

run::ExitCode replay(const ReplayOptions& options) {
  const auto basis = prepare_run(options);
  if (!basis || !can_write(options)) return run::ExitCode::kUsage;
  const run::RunSettings& settings = basis->settings;
  const auto url = endpoint::parse_url(basis->descriptor.url);
  const EndpointChoice choice{.url = options.endpoint, .descriptor = options.descriptor};
  replay::Session session{
      .saved = {},
      .context = {.endpoint = url ? url->display() : "unknown",
                  .profile = settings.profile,
                  .edition = settings.edition,
                  .seed = settings.seed,
                  .strict = true,
                  .command = command_for(options.program, "certify", choice).text() +
                             replay::certify_flags(settings, options.driver),
                  .started = utc_now()}};
  session.run.runs = options.runs;
  session.saved = replay::load_saved_cases(options.paths, session.run.load_errors);
  for (const std::string& error : session.run.load_errors) print_error("{}\n", error);
  if (session.saved.cases.empty()) {
    const bool broken = !session.run.load_errors.empty();
    print_error(broken ? "no file could be loaded; scenarios/FORMAT.md describes the format"
                       : "no case in these files and folders");
    return not_begun(options, session, "no case",
                     broken ? run::ExitCode::kUsage : run::ExitCode::kNothingSelected);
  }
  session.suite.strict = true;
  session.suite.settings = settings;
  session.run_ids = {settings.run_id};
  while (session.run_ids.size() < options.runs) session.run_ids.push_back(random_run_id());
  stop_on_signals();
  const auto target = open_judged_by(settings.profile, basis->descriptor);
  if (!target) {
    const run::ExitCode code = exit_code(target.error());
    return code == run::ExitCode::kUsage ? code
                                         : not_begun(options, session, target.error().text, code);
  }
  return run_on(options, *target->endpoint, basis->descriptor, session);
}

}  // namespace fencepost::cli
