#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/replay_report.h"
#include "cli/replay_session.h"
#include "conformance/replay/replay.h"
#include "conformance/report/console.h"
#include "conformance/report/report_files.h"
#include "conformance/target/target.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

// Cases of the same id have the same keys: they run in different rounds.
std::vector<std::vector<const scenario::Case*>> rounds_of(
    const std::vector<scenario::Case>& cases) {
  std::vector<std::vector<const scenario::Case*>> out;
  std::map<std::string, std::size_t> seen;
  for (const scenario::Case& test_case : cases) {
    const std::size_t round = seen[test_case.id]++;
    if (round == out.size()) out.emplace_back();
    out[round].push_back(&test_case);
  }
  return out;
}

// What the suite says of an endpoint that mixes two forms, it says of any case that saw one. Here a
// case stands for itself. What breaks a rule that does not bind this store is no failure of it.
run::CaseResult judged_alone(run::CaseResult result, const scenario::Catalogue& catalogue) {
  run::SuiteResult alone;
  alone.cases.push_back(std::move(result));
  run::summarize(alone, catalogue, /*strict=*/true);
  run::CaseResult& judged = alone.cases.front();
  if (judged.waived) judged.verdict = run::Verdict::kPassed;
  return std::move(judged);
}

// Collects what the rounds say of each case.
class Rounds {
 public:
  Rounds(endpoint::Endpoint& endpoint, ReplaySession& session, report::Console& console)
      : endpoint_(endpoint),
        session_(session),
        console_(console),
        suite_(session.suite),
        total_(session.saved.cases.size() * session.options.runs) {}

  void run() {
    for (std::size_t i = 0; i < session_.options.runs; ++i) {
      if (i > 0) suite_.settings.run_id = random_run_id();  // fresh keys
      for (const auto& round : rounds_of(session_.saved.cases)) run_round(round);
      ++suite_.settings.seed;
    }
    session_.run.interrupted = stop_flag();
    for (const scenario::Case& test_case : session_.saved.cases) {
      session_.run.cases.push_back(replay::classify(test_case, std::move(results_[&test_case])));
    }
    for (const auto& [divergence, seen] : forms_) {
      if (seen.size() > 1) session_.run.mixed_forms.emplace_back(codec::name(divergence));
    }
  }

 private:
  void run_round(const std::vector<const scenario::Case*>& cases) {
    if (session_.run.endpoint_lost || stop_flag()) {
      for (const scenario::Case* test_case : cases) {
        results_[test_case].push_back({.test_case = test_case, .position = test_case->position});
      }
      return;
    }
    run::SuiteResult ran =
        run_suite(endpoint_, cases, session_.saved.catalogue, suite_, stop_flag(),
                  [&](const run::CaseResult& result, std::size_t, std::size_t) {
                    console_.progress(result, ++done_, total_);
                  });
    for (const auto& [divergence, seen] : ran.forms) {
      forms_[divergence].insert(seen.begin(), seen.end());
    }
    session_.run.endpoint_lost = ran.endpoint_lost;
    session_.run.lost_message = ran.lost_message;
    for (run::CaseResult& result : ran.cases) {
      const scenario::Case* of = result.test_case;
      results_[of].push_back(judged_alone(std::move(result), session_.saved.catalogue));
    }
  }

  endpoint::Endpoint& endpoint_;
  ReplaySession& session_;
  report::Console& console_;
  run::SuiteOptions suite_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::map<const scenario::Case*, std::vector<run::CaseResult>> results_;
  std::map<codec::Divergence, std::set<codec::DialectId>> forms_;
};

// The command line that runs a case again, but for its file.
std::string command_line(const ReplayOptions& options, const run::RunSettings& settings) {
  std::string out =
      certify_command(options.program, {.url = options.endpoint, .descriptor = options.descriptor});
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

run::ExitCode run_on(endpoint::Endpoint& endpoint, const target::Descriptor& descriptor,
                     ReplaySession& session) {
  session.context.endpoint = endpoint.url();
  const auto ready = prepare(endpoint, descriptor, session.options.jobs, session.suite);
  if (!ready) {
    complain(ready.error());
    return not_begun(session, ready.error().reason, ready.error().code);
  }
  session.context.preflight = *ready;
  report::ConsoleOptions style = report::console_options(stdout);
  style.quiet = session.options.quiet;
  style.trace = session.options.trace;
  report::Console console(stdout, style);
  ReplayPrinter printer(session, style, console);
  printer.begin();
  Rounds(endpoint, session, console).run();
  if (session.run.endpoint_lost) {
    session.context.stopped_because =
        "the endpoint was lost during the run: " + session.run.lost_message;
  } else if (session.run.interrupted) {
    session.context.stopped_because = "interrupted";
  }
  if (session.options.heal) heal_files(session);
  printer.end();
  return write_reports(session) ? exit_code(session.run) : run::ExitCode::kInternal;
}

bool can_write(const ReplayOptions& options) {
  for (const std::string& path : {options.json, options.junit}) {
    if (path.empty()) continue;
    if (const auto writable = report::check_writable(path); !writable) {
      complain(writable.error());
      return false;
    }
  }
  return true;
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
  stop_on_signals();
  const auto target = open_judged_by(settings.profile, basis->descriptor);
  if (!target) {
    const run::ExitCode code = exit_code(target.error());
    return code == run::ExitCode::kUsage ? code : not_begun(session, target.error().text, code);
  }
  return run_on(*target->endpoint, basis->descriptor, session);
}

}  // namespace fencepost::cli
