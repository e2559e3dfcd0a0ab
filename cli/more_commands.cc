#include "cli/more_commands.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/common_options.h"
#include "cli/usage.h"
#include "concurrency/stress/script.h"

namespace fencepost::cli {

void add_judge(CLI::App& app, JudgeOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "judge",
      "Judge a run again from its evidence, without an endpoint\n\n"
      "Reports where a verdict differs from that of the run (docs/EVIDENCE.md).");
  command->footer(kExitCodesOfCertify);
  command->add_option("file", options.file, "Evidence that certify --evidence FILE wrote")
      ->required();
  command
      ->add_option_function<std::string>(
          "--profile",
          [&](const std::string& word) { options.profile = codec::profile_named(word); },
          "Judge by this profile: auto, deployed or documented (default: that of the run)")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option_function<std::string>(
          "--edition",
          [&](const std::string& word) { options.edition = scenario::edition_named(word); },
          "Judge by this edition of the specification: auto, preview or ga (default: that of the "
          "run)")
      ->check(one_of({"auto", "preview", "ga"}));
  add_strict(*command, options.strict);
  add_reports(*command, options.reports);
  add_scenarios(*command, options.scenarios);
  add_trace(*command, options.trace);
  add_verbose(*command, options.verbose);
  add_quiet(*command, options.quiet);
  command->callback([&] { action = [&] { return judge(options); }; });
}

void add_judge_clients(CLI::App& app, JudgeClientsOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("judge-clients",
                         "Judge recorded client traffic by the rules for clients\n\n"
                         "Reads a packet capture or a log (docs/CLIENTS.md).");
  command->footer(
      "Exit codes: 0 no must-level rule is broken, 1 one is, 2 usage, 5 there was no request");
  add_capture(*command, options.pcap, options.port, options.from);
  command->add_option("--node-id", options.node_id,
                      "Node id in the store's versions (default: StateStore)");
  command->add_option("--clock-offset", options.clock_offset,
                      "With --pcap: how far the store's clock is ahead of that of the capture; "
                      "without it, clients' clocks are not compared with the store's");
  command->add_flag("--from-start", options.from_start,
                    "With --pcap: the capture begins before the broker, so it has all "
                    "subscriptions and all versions of the store");
  for (const char* kind : {"json", "junit", "html"}) add_report(*command, options.reports, kind);
  command->callback([&] { action = [&] { return judge_clients(options); }; });
}

void add_verify(CLI::App& app, VerifyOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("verify",
                         "Verify the signature of a report, evidence file or certificate\n\n"
                         "For files that certify --sign has signed (docs/EVIDENCE.md). Of a "
                         "certificate, checks the evidence beside it, too, and says what it is "
                         "worth (docs/CERTIFICATES.md).");
  command->footer(
      "Exit codes: 0 the signature is valid, 1 the file or its evidence was changed or another key "
      "signed it, 2 usage, 4 a certificate that is not signed");
  command->add_option("file", options.file, "Evidence, a report or a certificate")->required();
  command->add_option("--signature", options.signature, "The signature (default: FILE.sig)");
  CLI::Option* allowed = command->add_option(
      "--allowed-signers", options.allowed_signers,
      "Keys that may have signed it: a file in the format of ssh-keygen(1), a name and a public "
      "key per line");
  command
      ->add_option("--signer", options.signer,
                   "Name in that file whose key must have signed it (default: any)")
      ->needs(allowed);
  command->callback([&] { action = [&] { return verify(options); }; });
}

void add_check(CLI::App& app, CheckOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check", "Check that saved histories are linearizable\n\nSee docs/HISTORY.md.");
  command->footer(
      "Exit codes: 0 all are linearizable, 1 one is not, 2 usage, 4 undecided, 5 no operations");
  command
      ->add_option("histories", options.files,
                   "Histories as JSON Lines, or register and lock logs of Knossos, Jepsen and "
                   "Porcupine")
      ->required();
  add_report(*command, options.reports, "json", "(docs/check.schema.json)");
  add_report(*command, options.reports, "junit");
  add_report(*command, options.reports, "html", "(one history only)");
  command->add_option("--initial", options.initial,
                      "In logs of other harnesses: the value of each register before the first "
                      "operation (default: none, which reads as nil)");
  command
      ->add_option("--max-steps", options.max_steps,
                   "Give up on a key after N steps of the search (default: 5000000)")
      ->check(whole_number(1));
  command->callback([&] { action = [&] { return check(options); }; });
}

void add_stress(CLI::App& app, StressOptions& options, Action& action) {
  constexpr std::size_t kMaxClients = 1'000;
  CLI::App* command =
      app.add_subcommand("stress",
                         "Run concurrent clients and check linearizability\n\n"
                         "With inproc: time is simulated, and a seed always gives the same run "
                         "(docs/STRESS.md).");
  command->footer(
      "Exit codes: 0 no rule is broken, 1 one is, 2 usage, 3 endpoint unreachable or lost, "
      "4 undecided, 130 interrupted");
  add_endpoint(*command, options.endpoint, options.descriptor);
  add_driver(*command, options.driver);
  add_profile(*command, options.profile);
  command->add_option("--clock-offset", options.clock_offset,
                      "How far the store's clock is ahead of this machine's, e.g. 30s; behind: "
                      "-10m (default: 0s; certify measures it)");
  command->add_option("--network-delay", options.on_the_way,
                      "Expected one-way delay of the network, e.g. 200ms: added to the time in "
                      "which a key expires and an observer is notified (default: 0s)");
  std::vector<std::string> names;
  std::string help;
  for (const stress::Mix& mix : stress::mixes()) {
    help += fmt::format("{}{}{}: {}", names.empty() ? "" : "; ", mix.name,
                        names.empty() ? " (default)" : "", mix.text);
    names.emplace_back(mix.name);
  }
  command->add_option("--workload", options.workload, help)->check(one_of(names).name("NAME"));
  command
      ->add_option("--clients", options.clients,
                   "Concurrent clients, each with a connection (default: 16)")
      ->check(whole_number(1, kMaxClients));
  command->add_option("--duration", options.duration,
                      "Time limit of the run, e.g. 5m (default: 10s)");
  command
      ->add_option("--rate", options.rate,
                   "Send this many requests per second in all, without waiting for responses "
                   "(default: each client waits for its response)")
      ->check(positive_factor().name("N"));
  add_disturb(*command, options);
  add_seed(*command, options.seed);
  add_timeout_scale(*command, options.timeout_scale);
  command->add_flag("--keep-going", options.keep_going, "Do not stop at the first violation");
  command->add_flag("--no-shrink", options.no_shrink,
                    "Do not search for a smaller run that breaks the same rule");
  command->add_option("--history", options.history,
                      "Write the history to this file (default: stress-SEED.jsonl, kept if "
                      "something was found)");
  add_report(*command, options.reports, "json", "(docs/stress.schema.json)");
  for (const char* kind : {"junit", "html"}) add_report(*command, options.reports, kind);
  add_quiet(*command, options.quiet);
  command->callback([&] { action = [&] { return stress(options); }; });
}

void add_compare(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("compare",
                         "Compare runs side by side: stores, or one store over time\n\n"
                         "Endpoints are certified first, reports are read (docs/SHARDING.md).");
  command->footer(
      "Exit codes: 0 no difference, 1 the runs differ, 2 usage or unreadable report, 3 endpoint "
      "unreachable or lost, 4 no difference, but some cases could not be compared, 5 no case "
      "compared, 130 interrupted; of a site: 0 written, 1 without some certificates, 2 usage");
  command
      ->add_option("runs", options.runs,
                   "JSON reports of certify or merge, certificates, descriptors (*.yaml) or "
                   "endpoints (embedded, "
                   "inproc:, mqtt://...), each a column; NAME=FILE names it")
      ->required();
  command
      ->add_option("--profile", options.profile,
                   "Rules to judge by: auto, documented or deployed (default: that of the first "
                   "report, else auto)")
      ->check(one_of({"auto", "documented", "deployed"}));
  add_strict(*command, options.strict);
  add_selection(*command, options.selection);
  // One value each: the next word is a run.
  for (const char* name : {"--run", "--skip", "--tag", "--requirement"}) {
    command->get_option(name)->allow_extra_args(false);
  }
  add_jobs(*command, options.jobs);
  add_timeout_scale(*command, options.timeout_scale);
  command
      ->add_option("--seed", options.seed,
                   "Random seed (default: that of the first report, else a new one "
                   "for all)")
      ->check(whole_number(0));
  add_scenarios(*command, options.scenarios);
  add_report(*command, options.written, "html");
  add_report(*command, options.written, "json", "(docs/compare.schema.json)");
  CLI::Option* site = command->add_option(
      "--site", options.site,
      "Make a site of certificates, or folders of them, in this folder (docs/CERTIFICATES.md)");
  for (const char* name :
       {"--profile", "--strict", "--run", "--skip", "--tag", "--requirement", "--html", "--json"}) {
    site->excludes(command->get_option(name));
  }
  command->add_flag("-q,--quiet", options.quiet, "Print the last line only");
  command->callback([&] { action = [&] { return compare(options); }; });
}

void add_vectors(CLI::App& app, VectorsOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("vectors",
                         "Write the bytes of the cases as test vectors\n\n"
                         "Requests, and the replies of a conforming store, for your own tests.");
  command->footer("Exit codes: 0 written, 2 usage, 5 no case selected");
  command
      ->add_option("--json", options.json,
                   "Write them to this file (default: standard output; docs/vectors.schema.json)")
      ->check(report_file());
  command
      ->add_option("--profile", options.profile,
                   "Replies of this profile: auto (default: both dialects), deployed or documented")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option("--max-bytes", options.max_bytes,
                   "Skip cases with a longer payload (default: 4096; some have 16 MiB, and each "
                   "byte is written twice)")
      ->check(whole_number(1));
  add_selection(*command, options.selection);
  add_scenarios(*command, options.scenarios);
  command->callback([&] { action = [&] { return vectors(options); }; });
}

void add_certify_client(CLI::App& app, CertifyClientOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "certify-client",
      "Certify a client or SDK through an adapter around it\n\n"
      "Plays broker and store, and judges what the client sends and reports (docs/CLIENTS.md).");
  command->footer(
      "Exit codes: 0 conformant, 1 a case fails, 2 usage, or the adapter cannot be started, 3 it "
      "does not greet, or writes invalid results, 5 no case played, 130 interrupted");
  command->add_option("adapter", options.command,
                      "After --: the adapter and its arguments, a program that reads commands as "
                      "JSON Lines");
  add_dialect(*command, options.profile);
  add_run(*command, options.only)->allow_extra_args(false);
  add_report(*command, options.reports, "json", "(docs/client-certificate.schema.json)");
  for (const char* kind : {"junit", "html"}) add_report(*command, options.reports, kind);
  command->add_option("--timeout", options.timeout,
                      "How long the SDK may wait for a response, e.g. 10s (default: 5s)");
  constexpr std::size_t kMaxAdapters = 64;
  command
      ->add_option("-j,--jobs", options.jobs,
                   "Cases to run in parallel, each with its own adapter (default: 8 to 32, one per "
                   "512 MiB of memory)")
      ->check(whole_number(1, kMaxAdapters));
  add_max_failures(*command, options.max_failures);
  command
      ->add_option("--pass-env", options.variables,
                   "Environment variable to pass to the adapter (repeatable; default: PATH, HOME "
                   "and the like)")
      ->allow_extra_args(false);
  add_dry_run(*command, options.list);
  add_scenarios(*command, options.scenarios);
  command->add_flag("-v,--verbose", options.verbose,
                    "Print each case as it ends: a line, or all of a failure");
  add_quiet(*command, options.quiet);
  command->callback([&] { action = [&] { return certify_client(options); }; });
}

void add_new_adapter(CLI::App& app, NewAdapterOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("new-adapter",
                         "Write a first adapter for certify-client\n\n"
                         "It runs as it is, around a small client or an SDK (docs/CLIENTS.md).");
  command->add_option("language", options.language, "cpp, go, js, python or rust")
      ->required()
      ->check(one_of({"cpp", "go", "js", "python", "rust"}));
  command->add_option("folder", options.folder, "Output folder; existing files are kept")
      ->required();
  command->callback([&] { action = [&] { return new_adapter(options); }; });
}

void add_certify_all(CLI::App& app, CertifyAllOptions& options, Action& action) {
  constexpr std::size_t kMaxAtOnce = 64;
  CLI::App* command = app.add_subcommand(
      "certify-all", "Certify every endpoint of a file and compare them\n\nSee docs/SHARDING.md.");
  command->footer("Exit code: the first of 70, 1, 2, 3, 130, 5, 4 that a run ended with, else 0");
  command
      ->add_option("file", options.file,
                   "A line for each endpoint: a name, and a URL or a descriptor (*.yaml)")
      ->required();
  command->add_option(
      "--out-dir", options.out,
      "Folder for NAME.json, NAME.html, NAME.xml and NAME.log of each, compare.json and index.html "
      "(default: certify-all)");
  command
      ->add_option("--parallel", options.at_once, "Endpoints to certify in parallel (default: 2)")
      ->check(whole_number(1, kMaxAtOnce));
  add_profile(*command, options.profile);
  add_jobs(*command, options.jobs);
  add_timeout_scale(*command, options.timeout_scale);
  add_strict(*command, options.strict);
  add_selection(*command, options.selection);
  command->callback([&] { action = [&] { return certify_all(options); }; });
}

}  // namespace fencepost::cli
