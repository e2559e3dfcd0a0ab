#include "cli/more_commands.h"

#include <string>
#include <vector>

#include "cli/command_support.h"
#include "cli/usage.h"
#include "concurrency/stress/script.h"
#include "suite/run/time_limits.h"

namespace fencepost::cli {

void add_selection(CLI::App& command, run::Selection& selection) {
  command.add_option("--run", selection.run, "Only cases whose id matches this glob (repeatable)");
  command.add_option("--skip", selection.skip,
                     "Skip cases whose id matches this glob, or that have this tag "
                     "(repeatable)");
  command.add_option("--tag", selection.tags, "Only cases with this tag (repeatable)");
  command.add_option("--requirement", selection.requirements,
                     "Only cases that cite this requirement (repeatable)");
}

void add_report(CLI::App& command, report::ReportFiles& files, const std::string& kind,
                const std::string& help) {
  files.set(kind, "");
  command
      .add_option_function<std::string>(
          "--" + kind, [&files, kind](const std::string& path) { files.set(kind, path); }, help)
      ->check(report_file());
}

void add_reports(CLI::App& command, report::ReportFiles& files) {
  for (const report::ReportKind& kind : report::report_kinds()) {
    add_report(command, files, kind.name, kind.help);
  }
  command
      .add_flag_callback("--junit-strict",
                         [] {
                           print_error(
                               "warning: --junit-strict does nothing: all JUnit files are as "
                               "readers want them that validate");
                         })
      ->group("");  // hidden
}

void add_timeout_scale(CLI::App& command, double& factor) {
  command.add_option("--timeout-scale", factor, "Factor of every time limit (default 1)")
      ->check(positive_factor(run::kMaxTimeoutScale));
}

void add_judge(CLI::App& app, JudgeOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "judge",
      "Judge a run again from its evidence, without any endpoint (docs/EVIDENCE.md)\n"
      "Exit codes: as of certify; where verdicts differ from those of the run, it says so");
  command->add_option("file", options.file, "What certify --evidence FILE has written")->required();
  command
      ->add_option_function<std::string>(
          "--profile",
          [&](const std::string& word) { options.profile = codec::profile_named(word); },
          "Judge by this profile: auto, deployed or documented (default: that of the run)")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option_function<std::string>(
          "--wording",
          [&](const std::string& word) { options.edition = scenario::edition_named(word); },
          "Judge by this wording: auto, preview or ga (default: that of the run)")
      ->check(one_of({"auto", "preview", "ga"}));
  command->add_flag("--strict", options.strict, "A failed \"should\" fails the run");
  add_reports(*command, options.reports);
  command->add_option("--scenarios", options.scenarios,
                      "The cases of the run are of this folder or file");
  command->add_flag("--trace", options.trace,
                    "Print all packets of a failed case, not just the last ones");
  command->add_flag("-v,--verbose", options.verbose,
                    "Print a line for each case, and each difference with all its cases");
  command->add_flag("-q,--quiet", options.quiet, "Print failures and the summary only");
  command->callback([&] { action = [&] { return judge(options); }; });
}

void add_judge_clients(CLI::App& app, JudgeClientsOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "judge-clients",
      "Judge what clients have sent, in a packet capture or a log, by the rules that bind them "
      "(docs/CLIENTS.md)\n"
      "Exit codes: 0 no rule of level must is broken, 1 one is, 2 usage, 5 there was no request");
  command->add_option("--pcap", options.pcap, "A packet capture of plain MQTT, e.g. of tcpdump");
  command->add_option("--port", options.port, "With --pcap: of the broker (default 1883)")
      ->check(whole_number(1, UINT16_MAX));
  command->add_option("--from", options.from,
                      "The log that `serve --record` has left, or the plugin of mosquitto");
  command->add_option("--node-id", options.node_id,
                      "Node id of the store's versions (default StateStore)");
  command->add_option("--clock-offset", options.clock_offset,
                      "With --pcap: the store's clock was so far ahead of that of the capture; "
                      "without it, the clocks of clients are not compared with the store's");
  command->add_flag("--from-start", options.from_start,
                    "With --pcap: it begins before the broker, so that it has all subscriptions "
                    "and all versions of the store");
  add_report(*command, options.reports, "json", "Write what was found as JSON");
  add_report(*command, options.reports, "junit", "Write a JUnit report, a test for each rule");
  add_report(*command, options.reports, "html", "Write a page of what was found");
  command->callback([&] { action = [&] { return judge_clients(options); }; });
}

void add_verify(CLI::App& app, VerifyOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "verify",
      "Is a file of `certify --sign` what was signed? (docs/EVIDENCE.md)\n"
      "Exit codes: 0 it is, 1 it was changed or somebody else has signed it, 2 usage");
  command->add_option("file", options.file, "Evidence, or a report")->required();
  command->add_option("--signature", options.signature, "The signature (default: FILE.sig)");
  CLI::Option* allowed = command->add_option("--allowed-signers", options.allowed_signers,
                                             "Whose keys may have signed it: a file as "
                                             "ssh-keygen(1) describes it, a name and a public key "
                                             "a line");
  command
      ->add_option("--signer", options.signer,
                   "The one of them who must have signed it (default: anyone of them)")
      ->needs(allowed);
  command->callback([&] { action = [&] { return verify(options); }; });
}

void add_check(CLI::App& app, CheckOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check",
      "Check saved histories of concurrent requests: is each linearizable? (docs/HISTORY.md)\n"
      "Exit code 1 when one is not, 4 when that cannot be decided");
  command
      ->add_option("histories", options.files,
                   "Histories as JSON Lines, or logs of registers and locks as Knossos, Jepsen and "
                   "Porcupine have them")
      ->required();
  add_report(*command, options.reports, "json",
             "Write the verdicts as JSON to this file, - for standard output (schema: "
             "docs/check.schema.json)");
  add_report(*command, options.reports, "junit",
             "Write the verdicts as JUnit XML to this file: a test for each key");
  add_report(*command, options.reports, "html",
             "Write a page with a timeline on which the findings are marked to this file "
             "(of one history)");
  command->add_option("--initial", options.initial,
                      "In logs of other harnesses: the value of each register before the first "
                      "operation (default: none, which reads as nil)");
  command
      ->add_option("--max-steps", options.max_steps,
                   "Give up a key after so many steps of the search (default 5000000)")
      ->check(whole_number(1));
  command->callback([&] { action = [&] { return check(options); }; });
}

void add_stress(CLI::App& app, StressOptions& options, Action& action) {
  constexpr std::size_t kMaxClients = 1'000;
  CLI::App* command = app.add_subcommand(
      "stress",
      "Run concurrent clients and check that their history is linearizable (docs/STRESS.md)\n"
      "Exit codes: 0 no rule is broken, 1 one is, 2 usage, 3 endpoint unreachable or lost, 4 not "
      "decided, 130 interrupted");
  command->add_option("--endpoint", options.endpoint,
                      "See certify (default: embedded); with inproc: time is simulated, and a "
                      "seed always gives the same run");
  command->add_option("--descriptor", options.descriptor, "See certify");
  command->add_option("--driver", options.driver, "See certify")
      ->check(CLI::IsMember({"builtin", "paho"}))
      ->check(usable_driver());
  command
      ->add_option("--profile", options.profile,
                   "With inproc: the dialect that the store speaks (default: deployed)")
      ->check(CLI::IsMember({"auto", "documented", "deployed"}));
  command->add_option("--clock-offset", options.clock_offset,
                      "What the store's clock is ahead of this machine's, e.g. -10m; certify "
                      "measures it (default: 0s)");
  command->add_option(
      "--on-the-way", options.on_the_way,
      "The one-way delay of the network, e.g. 200ms: added to the time within which a "
      "key has expired and an observer is notified (default: 0s)");
  std::vector<std::string> names;
  std::string help = "What they ask:";
  for (const stress::Mix& mix : stress::mixes()) {
    help += std::string(names.empty() ? " " : "; ") + std::string(mix.name) +
            (names.empty() ? " (default), " : ", ") + std::string(mix.text);
    names.emplace_back(mix.name);
  }
  command->add_option("--workload", options.workload, help)->check(one_of(names).name("NAME"));
  command->add_option("--clients", options.clients, "Each with a connection (default: 16)")
      ->check(whole_number(1, kMaxClients));
  command->add_option("--duration", options.duration, "How long they ask, e.g. 5m (default: 10s)");
  command
      ->add_option("--rate", options.rate,
                   "Requests a second of all clients, answered or not (default: each client asks "
                   "when it was answered)")
      ->check(positive_factor());
  command
      ->add_option("--seed", options.seed,
                   "Seed for all random choices (default: a new one, printed)")
      ->check(whole_number(0));
  add_timeout_scale(*command, options.timeout_scale);
  command->add_flag("--keep-going", options.keep_going, "Do not stop at the first violation");
  command->add_flag("--no-shrink", options.no_shrink,
                    "Do not look for a smaller run that breaks a rule as well");
  command->add_option("--history", options.history,
                      "Write the history to this file as the run goes (default: "
                      "stress-SEED.jsonl, kept when something was found)");
  add_report(*command, options.reports, "json",
             "Write the result as JSON to this file, - for standard output (schema: "
             "docs/stress.schema.json)");
  add_report(*command, options.reports, "junit", "Write the verdicts as JUnit to this file");
  add_report(*command, options.reports, "html",
             "Write a page with a timeline of the clients to this file");
  command->add_flag("-q,--quiet", options.quiet, "No progress");
  command->callback([&] { action = [&] { return stress(options); }; });
}

void add_compare(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Put any number of runs side by side: implementations, or one at several times "
      "(docs/SHARDING.md)\n"
      "Exit codes: 0 they are alike, 1 they differ, 2 usage or unreadable report, 3 endpoint "
      "unreachable or lost,\n4 no difference, but some cases could not be compared, 5 no case "
      "compared, 130 interrupted");
  command
      ->add_option("runs", options.runs,
                   "JSON reports of certify or merge, descriptors (*.yaml) or endpoints (embedded, "
                   "inproc:, mqtt://...), each a column; NAME=FILE names it")
      ->required();
  command->add_option("--profile", options.profile,
                      "For endpoints: auto, documented or deployed (default: that of the first "
                      "report, else auto)");
  command->add_flag("--strict", options.strict, "For endpoints: a failed \"should\" is a failure");
  add_selection(*command, options.selection);
  // One value each: the next word is a run.
  for (const char* name : {"--run", "--skip", "--tag", "--requirement"}) {
    command->get_option(name)->allow_extra_args(false);
  }
  command->add_option("-j,--jobs", options.jobs, "Cases to run in parallel (default: as certify)")
      ->check(whole_number(1, kMaxJobs));
  add_timeout_scale(*command, options.timeout_scale);
  command
      ->add_option("--seed", options.seed,
                   "Seed for all random choices (default: that of the first report, else a new one "
                   "for all)")
      ->check(whole_number(0));
  command->add_option("--scenarios", options.scenarios,
                      "The cases of this folder or file instead of the built-in ones");
  add_report(*command, options.written, "html", "Write the comparison as one page to this file");
  add_report(*command, options.written, "json",
             "Write it as JSON to this file (schema: docs/compare.schema.json)");
  command->add_flag("-q,--quiet", options.quiet, "Print the last line only");
  command->callback([&] { action = [&] { return compare(options); }; });
}

void add_vectors(CLI::App& app, VectorsOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("vectors",
                                         "Write the bytes of the cases for tests of your own: "
                                         "requests, and the replies that are right\n"
                                         "Exit codes: 0 written, 2 usage, 5 no case selected");
  command
      ->add_option("--json", options.json,
                   "Write them to this file, - for standard output (default; schema: "
                   "docs/vectors.schema.json)")
      ->check(report_file());
  command
      ->add_option(
          "--profile", options.profile,
          "Whose replies are right: auto (default) of either dialect, deployed, documented")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option(
          "--max-bytes", options.max_bytes,
          "Leave out cases with a longer payload (default: 4096; some have 16 MiB, and each "
          "byte is written twice)")
      ->check(whole_number(1));
  add_selection(*command, options.selection);
  command->add_option("--scenarios", options.scenarios, "Of this folder or file");
  command->callback([&] { action = [&] { return vectors(options); }; });
}

void add_certify_client(CLI::App& app, CertifyClientOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "certify-client",
      "Does an SDK keep the rules? Plays broker and store for an adapter around it "
      "(docs/CLIENTS.md)\n"
      "Exit codes: 0 conformant, 1 a case fails, 2 usage, or the adapter cannot be started, 3 it "
      "does not greet, or writes what is no result, 5 no case played, 130 interrupted");
  command->add_option("adapter", options.command,
                      "Behind --: the adapter and its arguments, a program that takes commands as "
                      "JSON Lines");
  command
      ->add_option("--profile", options.profile,
                   "The dialect that the store speaks: deployed (default) or documented")
      ->check(one_of({"deployed", "documented"}));
  command->add_option("--only", options.only, "Only cases whose id matches this glob (repeatable)")
      ->allow_extra_args(false);
  add_report(*command, options.reports, "json",
             "Write the verdicts as JSON to this file, - for standard output (schema: "
             "docs/client-certificate.schema.json)");
  add_report(*command, options.reports, "junit",
             "Write the verdicts as JUnit XML to this file: a test for each case");
  add_report(*command, options.reports, "html",
             "Write a self-contained HTML page with what differs and all cases");
  command->add_option("--timeout", options.timeout,
                      "How long the SDK may wait for a reply, e.g. 10s (default: 5s)");
  constexpr std::size_t kMaxAdapters = 64;
  command
      ->add_option("-j,--jobs", options.jobs,
                   "Cases to play at once, each with an adapter of its own (default: 8 to 32, as "
                   "many as have 512 MiB together)")
      ->check(whole_number(1, kMaxAdapters));
  command->add_option("--max-failures", options.max_failures, "End the run after so many failures")
      ->check(whole_number(1));
  command
      ->add_option("--pass-env", options.variables,
                   "A variable that the adapter gets, too (repeatable): of the environment it has "
                   "PATH, HOME and the like alone")
      ->allow_extra_args(false);
  command->add_flag("--list", options.list, "Print the cases, and play none");
  command->add_option("--scenarios", options.scenarios,
                      "The cases of this folder or file instead of the built-in ones");
  command->add_flag("-v,--verbose", options.verbose,
                    "Print each case as it ends: a line, or all of a failure");
  command->add_flag("-q,--quiet", options.quiet, "Print failures and the summary only");
  command->callback([&] { action = [&] { return certify_client(options); }; });
}

void add_new_adapter(CLI::App& app, NewAdapterOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "new-adapter",
      "Write an adapter for certify-client to begin with: one that runs, around a small client or "
      "an SDK (docs/CLIENTS.md)");
  command->add_option("language", options.language, "cpp, go, js, python or rust")
      ->required()
      ->check(one_of({"cpp", "go", "js", "python", "rust"}));
  command->add_option("folder", options.folder, "Where; files that are there already stay")
      ->required();
  command->callback([&] { action = [&] { return new_adapter(options); }; });
}

void add_certify_all(CLI::App& app, CertifyAllOptions& options, Action& action) {
  constexpr std::size_t kMaxAtOnce = 64;
  CLI::App* command = app.add_subcommand(
      "certify-all",
      "Certify every endpoint of a file, and compare them (docs/SHARDING.md)\n"
      "Exit code: the first of 70, 1, 2, 3, 130, 5, 4 that any run ended with, else 0");
  command
      ->add_option("file", options.file,
                   "A line for each endpoint: a name, and a URL or a descriptor (*.yaml)")
      ->required();
  command->add_option(
      "--out-dir", options.out,
      "Folder for NAME.json, NAME.html, NAME.xml and NAME.log of each, compare.json "
      "and index.html (default: certify-all)");
  command->add_option("--at-once", options.at_once, "Endpoints to certify in parallel (default: 2)")
      ->check(whole_number(1, kMaxAtOnce));
  command->add_option("--profile", options.profile, "See certify")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option("-j,--jobs", options.jobs,
                   "Cases of one endpoint to run in parallel (default: as certify)")
      ->check(whole_number(1, kMaxJobs));
  command
      ->add_option("--timeout-scale", options.timeout_scale,
                   "Factor of every time limit (default 1)")
      ->check(positive_factor());
  command->add_flag("--strict", options.strict, "A failed \"should\" fails the run");
  add_selection(*command, options.selection);
  command->callback([&] { action = [&] { return certify_all(options); }; });
}

}  // namespace fencepost::cli
