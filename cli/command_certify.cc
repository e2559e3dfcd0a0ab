#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text/output.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/ssh_keygen.h"
#include "concurrency/stress_phase.h"
#include "endpoint/mqtt.h"
#include "endpoint/url.h"
#include "report/certificate.h"
#include "report/console.h"
#include "report/environment.h"
#include "report/github.h"
#include "report/in_isolation.h"
#include "report/last_failed.h"
#include "report/progress_line.h"
#include "report/regressions.h"
#include "report/report.h"
#include "report/resume.h"
#include "report/run_evidence.h"
#include "suite/run/run_end.h"
#include "suite/scenario/library.h"
#include "suite/target/target.h"
#include "traffic/record/enumeration_phase.h"
#include "traffic/search/explore_report.h"

namespace fencepost::cli {
namespace {

// Where what a run has found goes when nothing can be written beside its reports.
std::string spare_place() {
  std::error_code failed;
  const auto folder = std::filesystem::temp_directory_path(failed);
  return (folder / ("fencepost-" + random_run_id() + report::kUnfinished)).string();
}

report::Github github_of(const CertifyOptions& options) {
  return {!options.no_github, report::variable_of_this_process};
}

// The command line that repeats this run, without the selection of cases.
std::string command_line(const CertifyOptions& options, std::uint64_t seed) {
  const auto unless = [](const std::string& value, const char* usual) {
    return value == usual ? std::string() : value;
  };
  return command_for(options.program, "certify",
                     {.url = options.endpoint, .descriptor = options.descriptor})
      .option("--scenarios", options.scenarios)
      .option("--profile", unless(options.profile, "auto"))
      .option("--edition", unless(options.edition, "auto"))
      .option("--driver", options.driver)
      .flag("--strict", options.strict)
      .flag("--fresh-connections", options.fresh_connections)
      .flag("--shuffle", options.shuffle)
      .option("--stress", options.stress == "none" ? "none" : "")
      .option("--depth", options.depth ? std::to_string(*options.depth) : "")
      .option("--baseline", options.baseline.file)
      .option("--seed", std::to_string(seed))
      .text();
}

bool write_reports(const CertifyOptions& options, const run::SuiteResult& result,
                   const scenario::Catalogue& catalogue, const report::ReportContext& context) {
  // A run that was interrupted needs none.
  if (options.document != nullptr && !stop_flag())
    *options.document = to_json(result, catalogue, context);
  return succeeded(report::write_reports(options.reports, result, catalogue, context));
}

// False after an error was printed.
bool write_for_github(const CertifyOptions& options, const run::SuiteResult& result,
                      const scenario::Catalogue& catalogue, const report::ReportContext& context) {
  const report::Github github = github_of(options);
  WorkflowPause::end_all();
  text::write_commands(stdout, github.annotations(result, catalogue, context));
  return succeeded(github.write_files(result, catalogue, context));
}

// What --sign signs: the files of the run, when they are written.
std::vector<std::string> signed_files(const CertifyOptions& options) {
  std::vector<std::string> out = options.reports.paths();
  out.insert(out.begin(), {options.evidence, options.certificate});
  return out;
}

// Beside the certificate.
std::string certificate_page(const CertifyOptions& options) {
  return options.certificate.empty()
             ? ""
             : std::filesystem::path(options.certificate).replace_extension(".html").string();
}

// Why there can be no certificate, as is known before the run; empty: there can, or none is
// requested.
std::string why_never_certified(const CertifyOptions& options) {
  if (options.certificate.empty()) return {};
  if (!options.certificate.ends_with(".json")) {
    return "--certificate needs a file NAME.json: its page is NAME.html";
  }
  const bool is_part = run::is_filtered(options.selection) || options.selection.shards > 1 ||
                       !options.last_failed.empty() || !options.scenarios.empty();
  if (is_part) {
    return "--certificate is for a run of all built-in cases: remove --run, --skip, --tag, "
           "--requirement, --shard, --last-failed and --scenarios";
  }
  if (!options.resume.empty()) {
    return "--certificate is for a run in one piece, whose evidence is whole: remove --resume";
  }
  if (!options.baseline.file.empty()) {
    return "--certificate is for a run without known failures: remove --baseline";
  }
  return {};
}

// The URL as reports may show it: without password.
std::string shown_url(const std::string& text) {
  const auto url = endpoint::parse_url(text);
  return url ? url->display() : "unknown";
}

// Everything that a run needs, made from the options.
struct Plan {
  const scenario::Library& library;
  std::vector<const scenario::Case*> cases;
  target::Descriptor descriptor;
  run::SuiteOptions suite;
  report::ReportContext context;
  baseline::RunBaseline baseline;
  std::vector<report::Column> against{};      // earlier runs
  std::chrono::milliseconds stress_time{0};   // 0: no stress phase
  std::size_t depth = 0;                      // of the enumeration; 0: there is none
  std::optional<report::SavedRun> earlier{};  // that this run resumes
};

// False after an error was printed.
bool choose_shard(CertifyOptions& options) {
  const auto shard = chosen_shard(options.shard);
  if (!shard) return false;
  options.selection.shard = shard->index;
  options.selection.shards = shard->total;
  return true;
}

// The cases that an earlier run has not passed take the place of the globs. False after an
// error was printed.
bool choose_last_failed(CertifyOptions& options) {
  if (options.last_failed.empty()) return true;
  auto ids = report::last_failed(options.last_failed, options.selection.run);
  if (!ids) {
    print_error(ids.error());
    return false;
  }
  if (ids->empty()) print_error("--last-failed " + options.last_failed + ": nothing failed there");
  options.selection.run = std::move(*ids);
  return true;
}

// The reports of earlier runs. Nothing after an error was printed.
std::optional<std::vector<report::Column>> read_against(const CertifyOptions& options) {
  if (options.against.empty()) return std::vector<report::Column>();
  if (!options.baseline.file.empty()) {
    print_error("--against and --baseline both say what is known: give only one of them");
    return std::nullopt;
  }
  auto earlier = report::read_earlier_reports(options.against);
  if (earlier) return std::move(*earlier);
  print_error(earlier.error());
  return std::nullopt;
}

// Are the reports, and the comment, in places of their own that can be written? False after an
// error was printed.
bool can_write(const CertifyOptions& options) {
  report::ReportFiles files = options.reports;
  files.set("against-comment", options.against_comment);
  files.set("certificate", options.certificate);
  files.set("page of the certificate", certificate_page(options));
  return succeeded(report::check_writable(files));
}

// How certify was called, without passwords.
report::Call call_of(const CertifyOptions& options) {
  return {.url = options.endpoint.empty() ? "" : endpoint::redacted(options.endpoint),
          .descriptor = options.descriptor,
          .scenarios = options.scenarios,
          .driver = options.driver,
          .baseline = options.baseline.file,
          .shuffled = options.shuffle,
          .timeout_scale = options.timeout_scale,
          .files = options.reports};
}

// Completes `options` by how the run of --resume was called. Nothing after an error was printed.
std::optional<report::Resumed> resume(CertifyOptions& options) {
  if (!options.last_failed.empty()) {
    print_error("--resume and --last-failed both select the cases: give only one of them");
    return std::nullopt;
  }
  auto out = report::resume(options.resume, {.call = call_of(options),
                                             .profile = options.profile,
                                             .edition = options.edition,
                                             .seed = options.seed,
                                             .strict = options.strict,
                                             .selection = options.selection,
                                             .shard = options.shard});
  if (!out) {
    print_error(out.error());
    return std::nullopt;
  }
  const report::Invocation& was = out->invocation;
  if (!was.call.driver.empty() && !endpoint::driver_named(was.call.driver)) {
    print_error(fmt::format("{} is of a run with the unknown driver \"{}\"", options.resume,
                            text::printable(was.call.driver)));
    return std::nullopt;
  }
  if (options.endpoint.empty()) options.endpoint = was.call.url;  // else it may have a password
  options.descriptor = was.call.descriptor;
  options.scenarios = was.call.scenarios;
  options.driver = was.call.driver;
  options.baseline.file = was.call.baseline;
  options.shuffle = was.call.shuffled;
  options.timeout_scale = was.call.timeout_scale;
  options.reports = was.call.files;
  options.profile = was.profile;
  options.edition = was.edition;
  options.seed = was.seed;
  options.strict = was.strict;
  options.selection = was.selection;
  options.shard = was.shard;
  options.transcripts = out->kept.head.run.context.transcripts;
  return std::move(*out);
}

// Takes over what a killed run has found. False after an error was printed.
bool go_on(report::Resumed earlier, Plan& plan) {
  const report::ReportContext& began = earlier.kept.head.run.context;
  auto finished = finished_cases(earlier, plan.library);
  if (!finished) {
    print_error(finished.error());
    return false;
  }
  print_error("fencepost: resuming the run that began {}: {} of {} cases have finished\n",
              began.started, finished->size(), plan.cases.size());
  plan.suite.finished = std::move(*finished);
  plan.context.started = began.started;
  plan.context.command = began.command;
  plan.earlier = std::move(earlier.kept);
  return true;
}

std::optional<Plan> make_plan(CertifyOptions& options) {
  std::optional<report::Resumed> earlier;
  if (!options.resume.empty()) {
    earlier = resume(options);
    if (!earlier) return std::nullopt;
  }
  auto basis = prepare_run(options);
  if (!basis) return std::nullopt;
  options.profile = name(basis->settings.profile);
  options.edition = name(basis->settings.edition);
  if (!choose_shard(options)) return std::nullopt;
  if (const std::string why = why_never_certified(options); !why.empty()) {
    print_error(why);
    return std::nullopt;
  }
  if (!can_sign(options.sign, signed_files(options)) || !can_write(options)) {
    return std::nullopt;
  }
  if (!choose_last_failed(options)) return std::nullopt;
  auto against = read_against(options);
  if (!against) return std::nullopt;
  const auto* library = open_library(options.scenarios);
  if (!library) return std::nullopt;
  const bool all_cases = !run::is_filtered(options.selection) && options.last_failed.empty() &&
                         options.scenarios.empty();
  const auto stress_time =
      concurrency::stress_duration(options.stress, all_cases, options.selection.shard);
  if (!stress_time) {
    print_error(stress_time.error());
    return std::nullopt;
  }
  auto baseline = baseline::RunBaseline::open(options.baseline, options.selection, *library,
                                              baseline::utc_today());
  if (!baseline) {
    print_error(baseline.error());
    return std::nullopt;
  }
  Plan plan{.library = *library,
            .cases = {},
            .descriptor = std::move(basis->descriptor),
            .suite = {},
            .context = {},
            .baseline = std::move(*baseline),
            .against = std::move(*against),
            .stress_time = *stress_time,
            .depth = options.selection.shard > 1 ? 0 : options.depth.value_or(all_cases ? 1 : 0)};
  const bool nothing_failed = !options.last_failed.empty() && options.selection.run.empty();
  if (!nothing_failed) plan.cases = select(plan.library.cases, options.selection);
  plan.suite.settings = std::move(basis->settings);
  plan.suite.strict = options.strict;
  plan.suite.fresh_connections = options.fresh_connections;
  plan.suite.shuffled = options.shuffle;
  plan.suite.shortest_first = options.max_failures > 0;
  const std::uint64_t seed = plan.suite.settings.seed;
  plan.context = {.endpoint = shown_url(plan.descriptor.url),
                  .profile = plan.suite.settings.profile,
                  .edition = plan.suite.settings.edition,
                  .seed = seed,
                  .strict = options.strict,
                  .command = command_line(options, seed),
                  .started = utc_now(),
                  .selection = options.selection,
                  .known_cases = plan.library.known_cases(),
                  .transcripts = options.trace ? report::Transcripts::kAll : options.transcripts,
                  .environment = report::environment_of_run(options.libraries,
                                                            report::variable_of_this_process)};
  if (earlier && !go_on(std::move(*earlier), plan)) return std::nullopt;
  return plan;
}

// Prints and writes what is new since the earlier runs, and returns how the run ends by that;
// without earlier runs, as it has ended.
run::ExitCode gate(const CertifyOptions& options, const Plan& plan,
                   const run::SuiteResult& result) {
  if (plan.against.empty()) return exit_code(result);
  const scenario::Catalogue& catalogue = plan.library.catalogue;
  const auto found = report::regressions(plan.against, result, catalogue, plan.context);
  if (!found) {
    print_error(found.error());
    return run::ExitCode::kInternal;
  }
  text::print("{}", text::Lines(regressions_text(*found, catalogue, plan.context,
                                                 text::terminal_width(stdout))));
  if (options.against_comment.empty()) return found->exit;
  const auto written = report::write_file(options.against_comment,
                                          regressions_comment(*found, catalogue, plan.context));
  return succeeded(written) ? found->exit : run::ExitCode::kInternal;
}

// The certificate and its page. Where the run has none, says why, and takes it out of `to_sign`.
// False after an error.
bool write_certificate(const CertifyOptions& options, const Plan& plan,
                       const run::SuiteResult& result, std::vector<std::string>& to_sign) {
  if (options.certificate.empty()) return true;
  if (const std::string why = why_no_certificate(result, plan.context); !why.empty()) {
    print_error("no certificate is written: " + why);
    std::erase(to_sign, options.certificate);
    return true;
  }
  const target::Product& product = plan.descriptor.product;
  report::CertificateSubject subject{
      .name = product.name, .version = product.version, .owner = product.owner};
  if (!options.evidence.empty()) {
    const auto evidence = read_whole_file(options.evidence, kMaxEvidenceBytes);
    if (!evidence) {
      print_error(evidence.error());
      return false;
    }
    subject.evidence = std::filesystem::path(options.evidence).filename().string();
    subject.evidence_sha256 = sha256_hex(*evidence);
  }
  if (!options.sign.empty()) subject.signing_key = fingerprint_of(options.sign);
  const std::string json = certificate_json(result, plan.library, plan.context, subject);
  const auto certificate = report::read_certificate({options.certificate, json});
  if (!certificate) {
    print_error(certificate.error());
    return false;
  }
  return succeeded(report::write_file(options.certificate, json)) &&
         succeeded(report::write_file(certificate_page(options),
                                      certificate_html(*certificate, plan.library.catalogue)));
}

// The last files of a run. False after an error.
bool certify_and_sign(const CertifyOptions& options, const Plan& plan,
                      const run::SuiteResult& result) {
  std::vector<std::string> to_sign = signed_files(options);
  return write_certificate(options, plan, result, to_sign) && sign_files(options.sign, to_sign);
}

// A run that could not begin: the reports say why.
run::ExitCode not_begun(const CertifyOptions& options, Plan& plan, const std::string& reason,
                        run::ExitCode code) {
  const bool lost = code == run::ExitCode::kUnreachable;
  plan.context.stopped_because = reason;
  const run::SuiteResult result = run::nothing_run(plan.cases, lost);
  const bool written = write_reports(options, result, plan.library.catalogue, plan.context);
  const bool compared = gate(options, plan, result) != run::ExitCode::kInternal;
  const bool shown = write_for_github(options, result, plan.library.catalogue, plan.context);
  if (!options.certificate.empty()) print_error("no certificate is written: " + reason);
  return written && compared && shown ? code : run::ExitCode::kInternal;
}

// Runs cases as the command of a report would: on a new store, where stores end with the run.
report::RunAgain after_the_run(const Plan& plan, endpoint::Endpoint& endpoint) {
  const auto end = std::chrono::steady_clock::now() + report::kMaxTimeAlone;
  const auto late = [end] { return std::chrono::steady_clock::now() > end || stop_flag(); };
  return [&plan, &endpoint, late](
             const std::vector<const scenario::Case*>& cases) -> std::optional<run::SuiteResult> {
    if (late() || !report::is_quick(cases, endpoint.capabilities())) return std::nullopt;
    std::optional<target::Target> fresh;
    if (endpoint.capabilities().ephemeral) {
      auto target = open_judged_by(plan.suite.settings.profile, plan.descriptor);
      if (!target) return std::nullopt;
      fresh = std::move(*target);
    }
    run::SuiteOptions suite = plan.suite;
    suite.settings.run_id = random_run_id();  // fresh keys
    return report::run_again(fresh ? *fresh->endpoint : endpoint, cases, plan.library.catalogue,
                             std::move(suite), late);
  };
}

// What was skipped fails the run where the user says so.
run::ExitCode settled(const CertifyOptions& options, const run::SuiteResult& result,
                      run::ExitCode code) {
  const run::ExitCode out =
      options.fail_on_skip ? exit_code_without_skips(code, result.summary) : code;
  if (out != code) {
    print_error(fmt::format("{} skipped, and --fail-on-skip is given: exit code 1",
                            text::counted(result.summary.skipped, "case")));
  }
  return out;
}

// Prints the ids of these cases, which a run would have.
run::ExitCode dry_run(const std::vector<const scenario::Case*>& cases,
                      const scenario::Library& library) {
  for (const scenario::Case* test_case : cases) text::print("{}\n", test_case->id);
  text::print("{} of {} would run; nothing was sent\n", text::counted(cases.size(), "case"),
              library.cases.size());
  return run::ExitCode::kConformant;
}

report::ConsoleOptions console_style(const CertifyOptions& options, std::FILE* stream) {
  report::ConsoleOptions console_settings = report::console_options(stream);
  console_settings.quiet = options.quiet;
  console_settings.trace = options.trace;
  console_settings.verbose = options.verbose;
  console_settings.show = options.show;
  console_settings.progress_only = options.progress_only;
  return console_settings;
}

// Concurrent requests, which no case judges: of them the evidence has their history.
void run_stress(const CertifyOptions& options, Plan& plan, endpoint::Endpoint& endpoint,
                report::RunEvidence& evidence, run::SuiteResult& result) {
  std::string command = command_for(options.program, "stress",
                                    {.url = options.endpoint, .descriptor = options.descriptor})
                            .option("--driver", options.driver)
                            .text();
  const run::RunSettings& settings = plan.suite.settings;
  const auto bases = scenario::bases_of(settings.profile, settings.edition);
  const scenario::Requirement* growth = plan.library.catalogue.find("VER-UPDATE-3");
  std::function<void(const std::string&)> keep;
  if (evidence.has_packets()) {
    keep = [&evidence](const std::string& line) { evidence.add_history(line); };
  }
  run::StressResult stress = concurrency::run_stress_phase(
      {.descriptor = plan.descriptor,
       .suite = plan.suite,
       .round_trip_p99 = plan.context.preflight.round_trip_p99,
       .command = std::move(command),
       .duration = plan.stress_time,
       .waived = scenario::unsettled(plan.library.catalogue, bases),
       .versions_grow = growth == nullptr || binds(*growth, result.basis),
       .stop_at_violation = result.summary.expected_failures == 0,
       .keep = std::move(keep)},
      endpoint, stop_flag());
  run::mark_failures(stress.findings, plan.library.catalogue, options.strict, result);
  result.stress = std::move(stress);
  plan.context.stopped_because = concurrency::end_stress_phase(endpoint, stop_flag(), result);
}

// All short workloads, where nothing has failed: what fails is found sooner by a case.
void run_enumeration(const CertifyOptions& options, Plan& plan, endpoint::Endpoint& endpoint,
                     run::SuiteResult& result) {
  const bool passed = exit_code(result) == run::ExitCode::kConformant;
  if (!passed && !options.depth) return;
  // Nobody waits for long for what was not asked for.
  constexpr std::chrono::milliseconds kUnlessAsked{10'000};
  const auto time = options.depth ? std::nullopt : std::optional(kUnlessAsked);
  run::SuiteOptions suite = plan.suite;
  suite.settings.profile = result.basis.dialect == codec::DialectId::kDeployed
                               ? codec::Profile::kDeployed
                               : codec::Profile::kDocumented;
  suite.settings.edition = result.basis.edition;
  std::set<std::string, std::less<>> known;
  for (const run::CaseResult& each : result.cases) {
    if (each.verdict == run::Verdict::kExpectedFailure) known.insert(each.failure.requirement);
  }
  // Standard output may be that of a report.
  const bool quiet = options.quiet || options.progress_only;
  report::ProgressLine line(report::console_options(stdout).live && !quiet, quiet);
  run::EnumerationResult enumeration = record::run_enumeration(
      {.call = {.program = options.program,
                .endpoint = options.endpoint.empty() ? "" : endpoint::redacted(options.endpoint),
                .descriptor = options.descriptor,
                .profile = options.profile == "auto" ? "" : options.profile,
                .edition = options.edition == "auto" ? "" : options.edition,
                .driver = options.driver,
                .timeout_scale = suite.settings.timeout_scale},
       .library = plan.library,
       .suite = suite,
       .run_id = random_run_id(),
       .round_trip = plan.context.preflight.round_trip_p50,
       .depth = plan.depth,
       .time = time,
       .known = std::move(known),
       .not_run_because = passed ? "" : "the run has not passed so far"},
      endpoint, stop_flag(), [&](const search::ExploreProgress& progress) {
        line.show(progress.elapsed, [&] { return search::progress_text(progress); });
      });
  line.clear();
  run::mark_failures(enumeration.findings, plan.library.catalogue, options.strict, result);
  // Either of these ended it early.
  if (stop_flag()) {
    result.interrupted = true;
    plan.context.stopped_because = "interrupted";
  } else if (passed && !enumeration.error.empty()) {
    result.endpoint_lost = true;
    result.lost_message = enumeration.error;
    plan.context.stopped_because = enumeration.error;
  }
  result.enumeration = std::move(enumeration);
}

// What follows the cases.
void run_phases(const CertifyOptions& options, Plan& plan, endpoint::Endpoint& endpoint,
                report::RunEvidence& evidence, run::SuiteResult& result) {
  if (plan.stress_time.count() > 0 && plan.context.stopped_because.empty()) {
    run_stress(options, plan, endpoint, evidence, result);
  }
  if (plan.depth > 0 && plan.context.stopped_because.empty()) {
    run_enumeration(options, plan, endpoint, result);
  }
}

// What became of a baseline that was to be fixed.
void print_news(const baseline::RunBaseline& known) {
  for (const std::string& line : known.news()) {
    if (known.error()) {
      print_error(line);
    } else {
      text::print("{}\n", line);
    }
  }
}

run::ExitCode end_before_it_began(const CertifyOptions& options, Plan& plan, const NotReady& error,
                                  report::RunEvidence& evidence) {
  print_error(error);
  const run::ExitCode code = not_begun(options, plan, error.reason, error.code);
  const report::RunEnd end{.stopped_because = error.reason,
                           .endpoint_lost = error.code == run::ExitCode::kUnreachable};
  const bool kept =
      evidence.end(run_end_json(end), code != run::ExitCode::kInternal, spare_place());
  return kept ? code : run::ExitCode::kInternal;
}

run::ExitCode run_plan(const CertifyOptions& options, Plan& plan, endpoint::Endpoint& direct,
                       report::RunEvidence& evidence) {
  endpoint::Endpoint& endpoint = evidence.of(direct);
  plan.context.endpoint = endpoint.url();
  const auto head = [&] {
    return report::EvidenceHead{.run = {.context = plan.context, .call = call_of(options)},
                                .has_packets = evidence.has_packets(),
                                .run_id = plan.suite.settings.run_id,
                                .capabilities = endpoint.capabilities(),
                                .expiry_tolerance = plan.descriptor.expiry_tolerance,
                                .disconnect_settling = plan.descriptor.disconnect_settling};
  };
  if (evidence.has_packets()) evidence.begin(head(), plan.library);
  const auto ready = prepare(endpoint, plan.descriptor, options.jobs, plan.suite);
  if (!ready) return end_before_it_began(options, plan, ready.error(), evidence);
  plan.context.preflight = *ready;
  plan.context.expiry_tolerance = plan.suite.settings.expiry_tolerance;
  plan.context.disconnect_settling = plan.suite.settings.disconnect_settling;

  std::FILE* stream = options.progress_only ? stderr : stdout;
  report::Console console(stream, console_style(options, stream));
  console.begin(plan.context, plan.library.catalogue, plan.cases.size(), plan.suite.running);
  const baseline::RunBaseline& known = plan.baseline;
  if (plan.earlier) {
    evidence.go_on(*plan.earlier, plan.suite.finished, head(), plan.library);
  } else {
    evidence.begin(head(), plan.library);
  }
  plan.suite.keep = [&](const run::CaseResult& entry, bool undecided) {
    evidence.keep(entry, undecided);
  };
  const auto limit = [&] {
    return run::FailureLimit{.failures = console.failures(), .most = options.max_failures};
  };
  run::TellingWhy to_tell_why(std::chrono::steady_clock::now);
  run::SuiteResult result =
      run_suite(endpoint, known.to_run(plan.cases), plan.library.catalogue, plan.suite, stop_flag(),
                [&](const run::CaseResult& entry, std::size_t done, std::size_t total) {
                  const run::CaseResult expected{.test_case = entry.test_case,
                                                 .verdict = run::Verdict::kExpectedFailure};
                  console.progress(known.expects(entry) ? expected : entry, done, total);
                  if (limit().is_reached()) to_tell_why.begin();
                  if (to_tell_why.is_over()) stop_early();
                });
  plan.suite.keep = {};
  plan.suite.finished.clear();
  auto verdicts = report::verdict_texts(result);
  plan.baseline.settle(plan.cases, plan.library.catalogue, options.strict, result);
  plan.context.stopped_because = why_stopped(result, limit());
  if (result.summary.failed > 0 && plan.context.stopped_because.empty()) {
    report::try_alone(result, known.to_run(plan.cases), plan.library.catalogue, options.strict,
                      after_the_run(plan, direct));
  }
  run_phases(options, plan, direct, evidence, result);
  console.end(result, plan.library.catalogue, plan.context);
  print_news(known);
  const run::ExitCode code = gate(options, plan, result);
  const bool written = write_reports(options, result, plan.library.catalogue, plan.context);
  const bool shown = write_for_github(options, result, plan.library.catalogue, plan.context);
  const bool kept = evidence.end(
      report::run_end_json(report::RunEnd{.verdicts = std::move(verdicts),
                                          .stress = result.stress,
                                          .enumeration = result.enumeration,
                                          .stopped_because = plan.context.stopped_because,
                                          .endpoint_lost = result.endpoint_lost}),
      written, spare_place());
  if (!written || !shown || !kept || !certify_and_sign(options, plan, result))
    return run::ExitCode::kInternal;
  return settled(options, result, known.error().value_or(code));
}

}  // namespace

run::ExitCode certify(CertifyOptions options) {
  auto plan = make_plan(options);
  if (!plan) return run::ExitCode::kUsage;
  if (plan->cases.empty()) {
    const bool said = !options.last_failed.empty() && options.selection.run.empty();
    if (!said) print_error(why_empty(options.selection, plan->library));
    return not_begun(options, *plan, "no case selected", run::ExitCode::kNothingSelected);
  }
  if (options.dry_run) return dry_run(plan->cases, plan->library);
  stop_on_signals();
  auto target = open_judged_by(plan->suite.settings.profile, plan->descriptor);
  if (!target) {
    const run::ExitCode code = exit_code(target.error());
    if (code == run::ExitCode::kUsage) return code;
    return not_begun(options, *plan, target.error().text, code);
  }
  report::RunEvidence evidence(plan->context, [](const std::string& text) { print_error(text); });
  if (!evidence.open(options.evidence, options.resume)) return run::ExitCode::kUsage;
  return run_plan(options, *plan, *target->endpoint, evidence);
}

}  // namespace fencepost::cli
