#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/replay_report.h"
#include "cli/replay_session.h"
#include "cli/run_evidence.h"
#include "conformance/replay/replay.h"
#include "conformance/report/console.h"
#include "conformance/report/report_files.h"
#include "conformance/target/target.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

// The command line that runs a case again, but for its file.
std::string command_line(const ReplayOptions& options, const run::RunSettings& settings) {
  std::string out = command_for(options.program, "certify",
                                {.url = options.endpoint, .descriptor = options.descriptor});
  if (settings.profile != codec::Profile::kAuto) {
    out += fmt::format(" --profile {}", name(settings.profile));
  }
  if (settings.wording != scenario::Wording::kAuto) {
    out += fmt::format(" --wording {}", name(settings.wording));
  }
  if (!options.driver.empty()) out += " --driver " + options.driver;
  return out + " --strict";
}

// All cases are "not run", and the reports say why.
run::ExitCode not_begun(ReplaySession& session, const std::string& reason, run::ExitCode code) {
  session.context.stopped_because = reason;
  for (const scenario::Case& test_case : session.saved.cases) {
    run::CaseResult result{.test_case = &test_case, .position = test_case.position};
    result.message = reason;
    session.run.cases.push_back(replay::classify(test_case, {std::move(result)}));
  }
  session.run.not_begun = code;
  return write_reports(session) ? exit_code(session.run) : run::ExitCode::kInternal;
}

std::vector<std::string> written_files(const ReplayOptions& options) {
  return {options.evidence, options.json, options.junit};
}

report::EvidenceHead head_of_evidence(const ReplaySession& session,
                                      const target::Descriptor& descriptor,
                                      const endpoint::Capabilities& offers) {
  report::EvidenceHead out{.command = "replay",
                           .own = replay_evidence_json(session),
                           .run = {.context = session.context, .call = call_of(session.options)},
                           .run_id = session.suite.settings.run_id,
                           .capabilities = offers,
                           .expiry_tolerance = descriptor.expiry_tolerance,
                           .disconnect_settling = descriptor.disconnect_settling};
  return out;
}

run::ExitCode run_on(endpoint::Endpoint& direct, const target::Descriptor& descriptor,
                     ReplaySession& session, RunEvidence& evidence) {
  endpoint::Endpoint& endpoint = evidence.of(direct);
  session.suite.fresh_connections = evidence.is_kept();
  evidence.begin(head_of_evidence(session, descriptor, endpoint.capabilities()),
                 {.catalogue = session.saved.catalogue, .cases = session.saved.cases});
  session.context.endpoint = endpoint.url();
  const auto ready = prepare(endpoint, descriptor, session.options.jobs, session.suite);
  if (!ready) {
    complain(ready.error());
    (void)evidence.end(run_end_json({.exit_code = static_cast<int>(ready.error().code)}));
    return not_begun(session, ready.error().reason, ready.error().code);
  }
  session.context.preflight = *ready;
  report::ConsoleOptions style = report::console_options(stdout);
  style.quiet = session.options.quiet;
  style.trace = session.options.trace;
  report::Console console(stdout, style);
  ReplayPrinter printer(session, style, console);
  printer.begin();
  run_rounds(session,
             {.endpoint = [&](const std::string& round) -> endpoint::Endpoint& {
                return evidence.of(direct, round);
              },
              .progress = [&](const run::CaseResult& result, std::size_t done,
                              std::size_t total) { console.progress(result, done, total); },
              .judged = [&](const std::string& name,
                            const std::string& verdict) { evidence.say(name, verdict); }});
  if (session.run.endpoint_lost) {
    session.context.stopped_because =
        "the endpoint was lost during the run: " + session.run.lost_message;
  } else if (session.run.interrupted) {
    session.context.stopped_because = "interrupted";
  }
  if (session.options.heal) heal_files(session);
  printer.end();
  const run::ExitCode code = exit_code(session.run);
  const bool kept = evidence.end(run_end_json({.exit_code = static_cast<int>(code)}));
  const bool written = write_reports(session) && kept;
  const ReplayOptions& options = session.options;
  if (!written || !sign_files(options.sign, written_files(options))) {
    return run::ExitCode::kInternal;
  }
  return code;
}

bool can_write(const ReplayOptions& options) {
  for (const std::string& path : {options.json, options.junit}) {
    if (path.empty()) continue;
    if (const auto writable = report::check_writable(path); !writable) {
      complain(writable.error());
      return false;
    }
  }
  return can_sign(options.sign, written_files(options));
}

}  // namespace

run::ExitCode replay(const ReplayOptions& options) {
  const auto basis = prepare_run(options);
  if (!basis || !can_write(options)) return run::ExitCode::kUsage;
  const run::RunSettings& settings = basis->settings;
  const auto url = endpoint::parse_url(basis->descriptor.url);
  ReplaySession session{.options = options,
                        .saved = {},
                        .context = {.endpoint = url ? url->display() : "unknown",
                                    .profile = settings.profile,
                                    .wording = settings.wording,
                                    .seed = settings.seed,
                                    .strict = true,
                                    .command = command_line(options, settings),
                                    .started = utc_now()}};
  session.run.runs = options.runs;
  session.saved = load_saved_cases(options.paths, session.run.load_errors);
  for (const std::string& error : session.run.load_errors) fmt::print(stderr, "{}\n", error);
  if (session.saved.cases.empty()) {
    const bool broken = !session.run.load_errors.empty();
    complain(broken ? "no file could be loaded; scenarios/FORMAT.md describes the format"
                    : "there is no case in these files and folders");
    return not_begun(session, "no case",
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
    return code == run::ExitCode::kUsage ? code : not_begun(session, target.error().text, code);
  }
  auto evidence = RunEvidence::open(options.evidence);
  if (!evidence) return run::ExitCode::kUsage;
  return run_on(*target->endpoint, basis->descriptor, session, *evidence);
}

}  // namespace fencepost::cli
