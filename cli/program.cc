// The command line: parses options and calls the commands. Nothing else happens here.

#include "cli/program.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/more_commands.h"
#include "cli/usage.h"
#include "endpoint/url.h"
#include "report/report.h"
#include "workload/enumeration.h"

namespace fencepost::cli {
namespace {

// What `serve --maximum-packet-size` takes: room for a request, and what MQTT can say.
constexpr std::uint64_t kLeastPacketBytes = 1'000;
constexpr std::uint64_t kMaxPacketBytes = 268'435'460;

constexpr const char* kExitCodes =
    "Exit codes: 0 conformant, 1 a requirement failed or the baseline is out of date, "
    "2 usage, descriptor, baseline or scenario error, 3 endpoint unreachable or lost, "
    "4 inconclusive, 5 no case selected, 70 internal error, 130 interrupted";

void add_driver(CLI::App& command, std::string& name) {
  command
      .add_option(
          "--driver", name,
          "Who speaks MQTT: builtin (default) or paho. What one shows, the other shows, too, of "
          "endpoints that keep MQTT 5; with paho an endpoint that breaks MQTT 5 is found out less "
          "often (docs/HOSTILE.md). paho is a module beside the program, and needs its library")
      ->check(CLI::IsMember({"builtin", "paho"}))
      ->check(usable_driver());
}

// How a command explains the options of RunFlags.
struct RunHelp {
  const char* endpoint = "See certify (default: embedded)";
  const char* descriptor = "See certify";
  const char* profile = "See certify";
  const char* edition = "See certify";
  const char* jobs;
  const char* seed = "Seed for all random choices (default: a new one, printed)";
  const char* trace;
  const char* quiet = "Print the first line, failures and the summary only";
};

void add_run_flags(CLI::App& command, RunFlags& flags, const RunHelp& help) {
  command.add_option("--endpoint", flags.endpoint, help.endpoint);
  command.add_option("--descriptor", flags.descriptor, help.descriptor);
  command.add_option("--profile", flags.profile, help.profile);
  command.add_option("--wording", flags.edition, help.edition);
  add_driver(command, flags.driver);
  command.add_option("-j,--jobs", flags.jobs, help.jobs)->check(whole_number(1, kMaxJobs));
  add_timeout_scale(command, flags.timeout_scale);
  command.add_option("--seed", flags.seed, help.seed)->check(whole_number(0));
  command.add_flag("--trace", flags.trace, help.trace);
  command.add_flag("-q,--quiet", flags.quiet, help.quiet);
}

// Which cases run, in what order, and when the run ends.
void add_course(CLI::App& command, CertifyOptions& options) {
  command
      .add_option("--max-failures", options.max_failures,
                  "End the run 0.7 s after so many failures, which tells better what is "
                  "wrong; short cases run first, and the rest is not run")
      ->check(whole_number(1));
  command.add_flag(
      "-x", [&](std::int64_t) { options.max_failures = 1; }, "The same as --max-failures 1");
  command.add_flag("--dry-run", options.dry_run, "Print the cases that would run, send nothing");
  command.add_option("--last-failed", options.last_failed,
                     "Only the cases that failed or were inconclusive in this JSON report");
  command.add_option("--evidence", options.evidence,
                     "Write all that is asked and answered to this file, as the run goes on: "
                     "fencepost judge gives the verdicts again from it (docs/EVIDENCE.md)");
  command.add_option("--sign", options.sign,
                     "Sign the evidence and the reports with this SSH key: FILE.sig, which "
                     "fencepost verify and ssh-keygen -Y verify check (namespace fencepost)");
  command.add_option("--resume", options.resume,
                     "Go on with a run that was killed: the file REPORT.unfinished that it has "
                     "left, or its evidence (docs/EVIDENCE.md). What is not given is as it was "
                     "there");
  command.add_flag("--fail-on-skip", options.fail_on_skip,
                   "Exit code 1 where a case is skipped; reports stay as they are");
  command.add_flag("--strict", options.strict, "A failed \"should\" fails the run");
  command.add_flag("--fresh-connections", options.fresh_connections,
                   "Connect the clients of each case anew, instead of letting cases go on with "
                   "connections that others have left clean");
  command.add_flag("--shuffle", options.shuffle,
                   "Run the cases in a random order, which follows from --seed");
  add_selection(command, options.selection);
  command.add_option("--shard", options.shard,
                     "K/N: the K-th of N parts of the cases; auto: as GitLab, CircleCI, Buildkite, "
                     "Kubernetes or FENCEPOST_SHARD say (docs/SHARDING.md)");
  command.add_option(
      "--stress", options.stress,
      "After the cases, run 16 concurrent clients and check that their history is linearizable "
      "(docs/STRESS.md): none, short (2 s; the default of a run of all built-in cases) or a "
      "duration, e.g. 30s. Only in the first shard");
}

void add_certify(CLI::App& app, CertifyOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("certify", "Run the conformance cases against an endpoint");
  command->footer(kExitCodes);
  add_run_flags(
      *command, options,
      {.endpoint =
           "embedded (default), inproc:, mqtt://[user[:password]@]host[:port] or mqtts://...; "
           "FENCEPOST_PASSWORD may hold the password; the first two may have options: "
           "embedded?clock-offset=-10m&response-delay=200ms&response-jitter=50ms",
       .descriptor = "YAML file that describes the endpoint: url, tls, roles, capabilities",
       .profile = "deployed (what client SDKs require), documented (what the article prints: rules "
                  "that only the deployed service shows warn) or auto (default: documented for a "
                  "store that speaks nothing but its dialect, else deployed)",
       .edition = "The generation of the article: ga, preview, or auto (default: ga; for a store "
                  "of the documented dialect preview where no notification has a __ts)",
       .jobs =
           "Cases to run in parallel (default: 64, fewer under a small quota; embedded: 16, and "
           "all that wait for time to pass; inproc: one per core)",
       .trace = "Print all packets of a failed case, not just the last ones; --transcripts all"});
  command->add_flag("-v,--verbose", options.verbose,
                    "Print a line for each case, and each difference with all its cases");
  command
      ->add_option(
          "--show", options.show,
          "Print a line for each case of these verdicts: passed, failed, warning, skipped, "
          "inconclusive, expected-failure, not-run; e.g. failed,skipped")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"passed", "failed", "warning", "skipped", "inconclusive",
                             "expected-failure", "not-run"}));
  add_course(*command, options);
  add_reports(*command, options.reports);
  command
      ->add_option_function<std::string>(
          "--transcripts",
          [&](const std::string& word) { options.transcripts = *report::transcripts_named(word); },
          "Whose messages the JSON and HTML reports have: those of failures (default: of "
          "all cases that did not pass) or of all cases")
      ->check(one_of({"failures", "all"}));
  CLI::Option* baseline = command->add_option(
      "--baseline", options.baseline.file,
      "Known failures (docs/BASELINES.md): they fail the run only if they change, pass or expire");
  command
      ->add_flag("--fix-baseline", options.baseline.fix,
                 "Rewrite that file from what this run shows; new entries need a reason of yours")
      ->needs(baseline);
  command->add_option("--scenarios", options.scenarios,
                      "Run the cases of this folder or file instead of the built-in ones");
  command->add_flag("--no-github", options.no_github,
                    "No annotations, step summary and outputs where GITHUB_ACTIONS=true");
  command->callback([&] { action = [&] { return certify(options); }; });
}

void add_merge(CLI::App& app, MergeOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "merge", "Put the JSON reports of the shards of one run together (docs/SHARDING.md)");
  command->add_option("reports", options.files, "JSON reports of `certify --shard K/N --json FILE`")
      ->required();
  add_reports(*command, options.reports);
  command->add_option("--scenarios", options.scenarios,
                      "The cases of the runs are of this folder or file");
  command->add_flag("--trace", options.trace,
                    "Print all packets of a failed case, not just the last ones");
  command->add_flag("-v,--verbose", options.verbose,
                    "Print a line for each case, and each difference with all its cases");
  command->add_flag("-q,--quiet", options.quiet, "Print failures and the summary only");
  command->callback([&] { action = [&] { return merge(options); }; });
}

void add_probe(CLI::App& app, ProbeOptions& options, Action& action) {
  constexpr std::size_t kMaxKeys = 100'000;
  CLI::App* command =
      app.add_subcommand("probe", "Find out about an endpoint and write a descriptor of it");
  command->add_option("--endpoint", options.endpoint,
                      "As for certify: embedded (default), mqtt://...");
  command->add_option("--descriptor", options.descriptor,
                      "YAML file with what is known already, e.g. credentials");
  command->add_option("--out", options.out,
                      "Write the descriptor to this file (default: to standard output, and what "
                      "people read to standard error)");
  command
      ->add_option("--quota-up-to", options.quota_up_to,
                   "Write this many keys at most to see how many fit, and delete them again. Other "
                   "users cannot write new keys meanwhile")
      ->check(whole_number(1, kMaxKeys));
  command->add_option("-j,--jobs", options.jobs, "Cases to run in parallel (default: as certify)")
      ->check(whole_number(1, kMaxJobs));
  add_timeout_scale(*command, options.timeout_scale);
  command->add_option("--max-time", options.max_time,
                      "End after this time, with exit code 4 and without a descriptor (default: "
                      "50s, times --timeout-scale)");
  command->add_flag("-v,--verbose", options.verbose, "List what was seen of each open point");
  command->add_option("--seed", options.seed, "Seed for all random choices (default: a new one)")
      ->check(whole_number(0));
  command->add_option("--scenarios", options.scenarios,
                      "Learn from the cases of this folder or file instead of the built-in ones");
  command->callback([&] { action = [&] { return probe(options); }; });
}

// Where and for whom the broker of `serve` listens.
void add_listener(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--port", options.port,
                  "TCP port (default 1883, with TLS 8883); 0: one that is free")
      ->check(whole_number(0, 65535));
  command.add_option("--bind", options.bind,
                     "IP address to listen at (default 127.0.0.1: this machine only); 0.0.0.0: "
                     "all who reach this machine");
  command.add_option("--ready-file", options.ready_file,
                     "Write the URL to this file as soon as clients can connect");
  CLI::Option* tls = command.add_option(
      "--tls", options.tls,
      "TLS with a throw-away certificate for localhost, the name of this machine and the address "
      "of --bind; write the CA that clients have to trust to this file");
  command
      .add_option("--tls-host", options.tls_hosts,
                  "Another host name or IP address that the throw-away certificate is for "
                  "(repeatable)")
      ->allow_extra_args(false)  // else it takes the -- of a command for its end
      ->needs(tls);
  CLI::Option* key = command.add_option("--key", options.key, "Private key of --certificate, PEM");
  CLI::Option* certificate =
      command.add_option("--certificate", options.certificate,
                         "TLS with this certificate, PEM, with the chain behind it");
  key->needs(certificate)->excludes(tls);
  certificate->needs(key)->excludes(tls);
  command.add_option("--client-ca", options.client_ca,
                     "With TLS: clients must have a certificate that this CA, PEM, has signed");
  CLI::Option* user =
      command
          .add_option("--user", options.users,
                      "Only this user may connect (repeatable, each with a --password-file)")
          ->allow_extra_args(false);
  command
      .add_option("--password-file", options.password_files,
                  "The first line of this file is the password of --user")
      ->allow_extra_args(false)
      ->needs(user);
}

void add_judged_clients(CLI::App& command, ServeOptions& options) {
  command.add_flag("--judge-clients", options.judge_clients,
                   "Judge the packets of clients by the rules that bind them, a line for each "
                   "that is broken; exit code 1 (docs/CLIENTS.md)");
  add_report(command, options.reports, "json",
             "With --judge-clients: write what was found as JSON");
  add_report(command, options.reports, "junit",
             "With --judge-clients: write a JUnit report, a test for each rule");
  add_report(command, options.reports, "html",
             "With --judge-clients: write a self-contained HTML page with the findings");
  command
      .add_option("--receive-maximum", options.receive_maximum,
                  "How many PUBLISHes of a client may wait for their PUBACK, as the CONNACK "
                  "says it (default 65535)")
      ->check(whole_number(1, UINT16_MAX));
  command
      .add_option("--maximum-packet-size", options.maximum_packet_size,
                  "The largest packet that a client may send, in bytes, as the CONNACK says it "
                  "(default 4194304)")
      ->check(whole_number(kLeastPacketBytes, kMaxPacketBytes));
  command.add_option("--hold-puback", options.hold_puback,
                     "With --judge-clients: each PUBACK of the broker comes so much later, e.g. "
                     "200ms");
  command
      .add_option("--drop-at-puback", options.drop_at_puback,
                  "With --judge-clients: each N-th PUBACK of the broker is not sent, and its "
                  "connection ends")
      ->check(whole_number(2));
  command.add_option("command", options.command,
                     "With --judge-clients, behind --: a command whose clients are judged; the "
                     "broker ends with it. FENCEPOST_HOST, FENCEPOST_PORT and FENCEPOST_URL tell "
                     "it where the broker is");
}

void add_serve(CLI::App& app, ServeOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("serve",
                         "Run a broker with the reference state store, to write clients against "
                         "(docs/CLIENTS.md)");
  command->footer(
      "Limits (docs/CLIENTS.md): 4 MiB of a packet; 100,000 registrations of a client and 256 MiB "
      "of keys and values, beyond which requests are refused with the quota's error; 4 MiB under "
      "way to a client that reads too slowly and 4 MiB behind them, beyond which messages to it "
      "are lost");
  add_listener(*command, options);
  command->add_option("--profile", options.profile,
                      "The dialect it speaks: deployed (default) or documented");
  command
      ->add_option("--quota", options.quota,
                   "How many keys it holds (default: 1000000; 0: no limit)")
      ->check(whole_number(0));
  command->add_option("--authorization", options.authorization,
                      "JSON file: who may touch which key (docs/AUTHORIZATION.md)");
  command->add_option("--node-id", options.node_id, "Node id of its versions (default StateStore)");
  command->add_option("--clock-offset", options.clock_offset,
                      "How far the store's clock is ahead of ours, e.g. 30s; behind: -10m");
  command->add_option("--response-delay", options.response_delay,
                      "Delay every message of the store by this much, e.g. 200ms");
  command->add_option("--response-jitter", options.response_jitter,
                      "Up to so much later, at random; what goes to one client stays in order");
  command->add_option("--fault", options.fault,
                      "Serve a store that is wrong on purpose: an id or name of `list faults`, or "
                      "several: S01+D02");
  command->add_option("--right", options.right,
                      "Serve another right store: a seed, or decisions of `list axes`, e.g. "
                      "px-zero:refused,line-end:lf");
  command->add_option("--null", options.null,
                      "Serve one that does nothing right: silent, echo, always-ok, always-error, "
                      "drops-connection, wrong-topic or closes-at-random");
  command->add_option("--seed", options.seed, "Seed for its random choices (default 1)")
      ->check(whole_number(0));
  command->add_option(
      "--record", options.record,
      "Write the requests of clients and their replies to this scenario file when it ends "
      "(docs/RECORD.md); until then FILE.log holds it");
  command->add_flag("--explain", options.explain,
                    "Print a line for each request: who, what, what came of it, and the rule; also "
                    "for those that a store ignores");
  command->add_flag("--control", options.control,
                    "Let clients change --fault and the delays while it runs, by messages to "
                    "fencepost/control (docs/CLIENTS.md)");
  add_judged_clients(*command, options);
  command->add_flag("--open-routing", options.open_routing,
                    "Every subscriber sees requests and notifications, so that `record` can; "
                    "observers then have to subscribe to their notifications");
  command->add_flag("-v,--verbose", options.verbose, "Show the broker's log");
  command->callback([&] { action = [&] { return serve(options); }; });
}

void add_record(CLI::App& app, RecordOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "record",
      "Make a scenario file of what other clients ask a store (docs/RECORD.md): as a subscriber, "
      "from a packet\ncapture, or from the log of `serve --record`\n"
      "Exit codes: 0 a right store may answer like this, 1 some answers no right store gives, "
      "2 usage or unreadable file,\n3 endpoint unreachable or lost; what came until then is in "
      "the file, 130 interrupted before it was connected");
  command->add_option("--out", options.out, "The scenario file that is written");
  command->add_option("--history", options.history,
                      "Write a history of what clients asked and were answered, for fencepost "
                      "check (docs/RECORD.md)");
  command->add_option("--slack", options.slack,
                      "Of a history: how much later than the store the recorder may have seen a "
                      "request (default: 250ms of an endpoint, else 0ms)");
  CLI::Option* endpoint = command->add_option(
      "--endpoint", options.endpoint,
      "A broker, mqtt://... or mqtts://...: subscribes to requests, replies and notifications "
      "until Ctrl-C");
  command->add_option("--descriptor", options.descriptor, "See certify");
  command->add_option("--time", options.time, "Of an endpoint: ends after so long, e.g. 5m");
  command->add_option("--subscribe", options.subscribe,
                      "Of an endpoint: subscribe to this filter, too, e.g. where replies go "
                      "(repeatable)");
  command->add_option("--pcap", options.pcap, "A packet capture of plain MQTT, e.g. of tcpdump")
      ->excludes(endpoint);
  command->add_option("--port", options.port, "The broker's port in the packet capture (1883)")
      ->check(whole_number(1, 65535));
  command
      ->add_option("--from", options.from,
                   "The log that `serve --record FILE` left as FILE.log when it was killed")
      ->excludes(endpoint);
  command->callback([&] { action = [&] { return record(options); }; });
}

void add_explore(CLI::App& app, ExploreOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "explore",
      "Random workloads against any store, judged by an oracle that follows what it answers; a "
      "counter-example is shrunk and saved so that it fails again (docs/EXPLORE.md)\n"
      "Exit codes: 0 no rule is broken, 1 one is, 2 usage, 3 endpoint unreachable or lost, 4 a "
      "rejection was seen once\nand never again, 130 interrupted");
  add_run_flags(*command, options,
                {.profile = "See certify; auto asks the store first which spellings it has",
                 .edition = "See certify, but auto is ga; where the article alone counts both are "
                            "right",
                 .jobs = "Workloads to run in parallel (default: as certify)",
                 .seed = "Seed for all random choices (default: a new one, printed): the same seed "
                         "makes the same workloads",
                 .trace = "Print all packets of the counter-example",
                 .quiet = "Print the counter-example and the summary only"});
  command
      ->add_option(
          "--exhaustive", options.exhaustive,
          "Instead of random workloads all short ones: so many requests in a row (1 to 3),\n"
          "from 2 on also all that differ from one in a byte, number or word (docs/COMPLETE.md)")
      ->check(whole_number(1, workload::kMaxDepth));
  command->add_option("--max-time", options.max_time,
                      "How long it looks, and makes what it finds smaller, e.g. 5m (default: 60s; "
                      "with --exhaustive as long as that takes)");
  command
      ->add_option("--max-examples", options.max_examples,
                   "End after so many workloads (default: when the time is over)")
      ->check(whole_number(1));
  command
      ->add_option("--max-operations", options.max_operations,
                   "Operations of a workload at most (default: 40)")
      ->check(whole_number(1, 200));
  command->add_option("--example", options.example, "Run this workload of the seed and no other")
      ->check(whole_number(1));
  command
      ->add_option("--stop-after", options.stop_after,
                   "End when so many requirements are known to be broken (default: 1)")
      ->check(whole_number(1));
  command->add_option("--rate", options.rate, "At most so many requests a second")
      ->check(positive_factor());
  command->add_flag("--fresh-connections", options.fresh_connections,
                    "Connect the clients of each workload anew, instead of letting workloads go on "
                    "with connections that others have left clean");
  command->add_option("--ignore", options.ignore,
                      "Do not count rejections with this requirement, e.g. 'FT-*', or with this "
                      "line\n'REQUIREMENT: because', which may be a glob, too (repeatable)");
  command->add_option("--save", options.save,
                      "Folder for what fails again (default: explore-findings)");
  command->add_option("--replay", options.replay,
                      "Run what was saved as *.trace again and nothing else: a file or a folder "
                      "(repeatable)");
  command->callback([&] { action = [&] { return explore(options); }; });
}

void add_replay(CLI::App& app, ReplayOptions& options, Action& action) {
  constexpr std::size_t kMaxRuns = 10'000;
  CLI::App* command = app.add_subcommand(
      "replay",
      "Run saved counter-examples again: fixed, still failing, or changed? (docs/REPLAY.md)\n"
      "Exit codes: 0 all pass or are fixed, 1 something fails, 2 usage or a file that cannot be "
      "loaded, 3 endpoint unreachable or lost,\n4 nothing fails, but something is inconclusive, 5 "
      "no case to judge by, 130 interrupted");
  command->add_option("paths", options.paths, "Scenario files, or folders of them")->required();
  add_run_flags(*command, options,
                {.jobs = "Cases to run in parallel (default: as certify)",
                 .trace = "Print all packets of a failed case"});
  command
      ->add_option("--runs", options.runs,
                   "Repeat each case N times, with fresh keys, to detect flaky ones (default: 1)")
      ->check(whole_number(1, kMaxRuns));
  command->add_flag("--heal", options.heal,
                    "Write into the files: what is fixed is no longer recorded as failing, what "
                    "has changed gets its new signature");
  add_report(*command, options.reports, "json", "Write the outcomes as JSON to this file");
  add_report(*command, options.reports, "junit", "Write a JUnit XML report to this file");
  command->callback([&] { action = [&] { return replay(options); }; });
}

void add_readers(CLI::App& app, ListOptions& list_options, std::string& id,
                 std::vector<std::string>& paths, Action& action) {
  CLI::App* list_command =
      app.add_subcommand("list", "List cases, requirements, capabilities, faults or axes");
  list_command
      ->add_option(
          "what", list_options.what,
          "cases (default), requirements, capabilities, the wrong stores of selftest: faults, or "
          "what right stores decide: axes")
      ->check(one_of({"cases", "requirements", "capabilities", "faults", "axes"}));
  list_command
      ->add_option("--profile", list_options.profile,
                   "Of requirements: what this profile demands of a store: binds, warns, depends "
                   "on what the store turns out to be, or open")
      ->check(one_of({"auto", "deployed", "documented"}));
  list_command
      ->add_option("--wording", list_options.edition, "With --profile: auto (default), preview, ga")
      ->check(one_of({"auto", "preview", "ga"}))
      ->needs("--profile");
  add_selection(*list_command, list_options.selection);
  list_command->add_flag("--json", list_options.json, "As JSON");
  list_command->add_option("--scenarios", list_options.scenarios, "Of this folder or file");
  list_command->callback([&] { action = [&] { return list(list_options); }; });

  CLI::App* explain_command =
      app.add_subcommand("explain", "Explain a requirement, a case or a fault");
  explain_command->add_option("id", id, "e.g. SET-NX-1")->required();
  explain_command->add_option("--scenarios", list_options.scenarios, "Of this folder or file");
  explain_command->callback([&] { action = [&] { return explain(id, list_options.scenarios); }; });

  CLI::App* lint_command = app.add_subcommand("lint", "Check scenario files");
  lint_command->add_option("paths", paths, "Files or folders (default: the built-in cases)");
  lint_command->callback([&] { action = [&] { return lint(paths); }; });
}

void add_selftest(CLI::App& app, SelftestOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "selftest", "Prove the suite: right stores pass, faulty ones are caught, each by its rule");
  command->add_option("--fault", options.only,
                      "Only the faults whose id or name matches this glob (repeatable)");
  add_report(*command, options.reports, "json",
             "Write scores, survivors and the kill matrix to this file");
  add_report(*command, options.reports, "html", "Write the same as a self-contained HTML page");
  command->add_option("--endpoint", options.endpoint,
                      "Where the stores run: inproc: (default), or embedded: also finds transport "
                      "faults, and takes "
                      "some seconds for each store");
  add_driver(*command, options.driver);
  command->add_flag("--fresh-connections", options.fresh_connections, "See certify");
  command->add_flag(
      "--every-case", options.every_case,
      "Run a case also where a wrong store, in process, tells it the very same as the "
      "right one; the verdicts are equal, it takes longer");
  command->add_option("--right", options.right,
                      "Certify so many random right stores in each profile instead: none may fail");
  command
      ->add_option("--profile", options.profiles,
                   "Of --right: auto, deployed or documented (repeatable; default: all)")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option("--pairs", options.pairs,
                   "Run so many random pairs of faults in one store instead, and say for how many "
                   "both are among the first three differences")
      ->check(whole_number(0));
  command->add_option("--seed", options.seed, "Seed for all random choices (default 1)")
      ->check(whole_number(0));
  command->callback([&] { action = [&] { return selftest(options); }; });
}

void add_matrix(CLI::App& app, MatrixOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "matrix",
      "Show which case checks which requirement\n"
      "Exit code 1 when a requirement that must hold and can be tested has no case");
  add_report(*command, options.reports, "json",
             "Write it as JSON to this file, - for standard output (schema: "
             "docs/matrix.schema.json)");
  add_report(*command, options.reports, "html", "Write one self-contained page to this file");
  add_report(*command, options.reports, "markdown",
             "Write the tables of docs/COVERAGE.md to this file");
  command->add_option("--report", options.report,
                      "Add the results of a run: a JSON report of certify");
  command->add_flag("--full", options.full, "Print every requirement with its cases");
  command->add_option("--scenarios", options.scenarios, "Of this folder or file");
  command->callback([&] { action = [&] { return matrix(options); }; });
}

std::string version_text() {
  return fmt::format("fencepost {} ({})\nbuilt with {}", report::suite_version(),
                     report::suite_commit(), FENCEPOST_LIBRARIES);
}

// What packages are made with; `shell` must outlive the action.
void add_manual(CLI::App& app, std::string& shell, Action& action) {
  CLI::App* manual = app.add_subcommand("manual", "Print the manual page, as troff");
  manual->callback([&] {
    action = [&] {
      text::print(
          "{}", text::Lines(manual_page(app, std::string("fencepost ") + report::suite_version())));
      return run::ExitCode::kConformant;
    };
  });
  CLI::App* command = app.add_subcommand("completion", "Print the completion of a shell");
  command->add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  command->callback([&] {
    action = [&] {
      text::print("{}", text::Lines(completion(app, shell)));
      return run::ExitCode::kConformant;
    };
  });
}

// Of each command, and the arguments of some.
struct AllOptions {
  CertifyOptions certify;
  MergeOptions merge;
  JudgeOptions judge;
  JudgeClientsOptions judge_clients;
  VerifyOptions verify;
  CheckOptions check;
  StressOptions stress;
  CompareOptions compare;
  CertifyAllOptions certify_all;
  CertifyClientOptions certify_client;
  NewAdapterOptions new_adapter;
  VectorsOptions vectors;
  ProbeOptions probe;
  ExploreOptions explore;
  ReplayOptions replay;
  ServeOptions serve;
  RecordOptions record;
  ListOptions list;
  SelftestOptions selftest;
  MatrixOptions matrix;
  std::string id{};
  std::vector<std::string> paths{};
  std::string shell{};
};

void add_commands(CLI::App& app, AllOptions& options, const char* program, Action& action) {
  options.certify.program = program;
  options.certify.libraries = FENCEPOST_LIBRARIES;
  options.compare.program = program;
  options.certify_all.program = program;
  options.certify_client.program = program;
  options.explore.program = program;
  options.replay.program = program;
  options.stress.program = program;
  add_certify(app, options.certify, action);
  add_merge(app, options.merge, action);
  add_judge(app, options.judge, action);
  add_judge_clients(app, options.judge_clients, action);
  add_verify(app, options.verify, action);
  add_check(app, options.check, action);
  add_stress(app, options.stress, action);
  add_compare(app, options.compare, action);
  add_certify_all(app, options.certify_all, action);
  add_certify_client(app, options.certify_client, action);
  add_new_adapter(app, options.new_adapter, action);
  add_vectors(app, options.vectors, action);
  add_probe(app, options.probe, action);
  add_serve(app, options.serve, action);
  add_record(app, options.record, action);
  add_selftest(app, options.selftest, action);
  add_explore(app, options.explore, action);
  add_replay(app, options.replay, action);
  add_readers(app, options.list, options.id, options.paths, action);
  add_matrix(app, options.matrix, action);
  add_manual(app, options.shell, action);
}

// Whoever may list processes sees the words of this one: no password any more, once they are read.
void hide_passwords(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word(argv[i]);
    if (word.starts_with("--") && word.find('=') != std::string_view::npos) {
      word.remove_prefix(word.find('=') + 1);
    }
    for (const std::string& password : endpoint::passwords_in(word)) {
      const std::size_t at = word.rfind(password, word.rfind('@'));
      if (at != std::string_view::npos)
        std::memset(argv[i] + (word.data() - argv[i]) + at, '*', password.size());
    }
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Fencepost: conformance suite of the state store protocol over MQTT 5"};
  app.name("fencepost");
  app.footer("fencepost help COMMAND explains a command. " + std::string(kExitCodes));
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  AllOptions options;
  Action action;
  add_commands(app, options, argv[0], action);
  explain_on_terminal(app);
  const std::vector<std::string> arguments = with_help_command(app, {argv + 1, argv + argc});
  try {
    std::vector<std::string> backwards(arguments.rbegin(), arguments.rend());  // as CLI11 wants
    app.parse(backwards);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error, arguments);
  }
  if (const std::string diagnostic = misplaced_url(app); !diagnostic.empty()) {
    print_error(diagnostic);
    return static_cast<int>(run::ExitCode::kUsage);
  }
  if (reports_to_standard_output(app)) report::keep_standard_output_for_a_report();
  hide_passwords(argc, argv);
  const WorkflowPause pause(app.got_subcommand("certify") ? stdout : stderr);
  return static_cast<int>(action());
}

// Who closes a pipe, as `head` does, has read enough; a verdict that could not be written is none.
int said(int code) {
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  const bool closed = poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
  if (!lost || closed) return code;
  print_error("cannot write to standard output: is the disk full?");
  return static_cast<int>(run::ExitCode::kInternal);
}

}  // namespace

int run_program(int argc, char** argv) { return said(run(argc, argv)); }

}  // namespace fencepost::cli
