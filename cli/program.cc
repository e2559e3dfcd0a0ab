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
#include "cli/common_options.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/more_commands.h"
#include "cli/old_names.h"
#include "cli/usage.h"
#include "endpoint/url.h"
#include "report/report.h"
#include "workload/enumeration.h"

namespace fencepost::cli {
namespace {

constexpr const char* kShardText =
    "K/N: the K-th of N parts of all cases or workloads; auto: as GitLab, CircleCI, Buildkite, "
    "Kubernetes or FENCEPOST_SHARD say (docs/SHARDING.md)";

// What `serve --maximum-packet-size` takes: room for a request, and what MQTT can say.
constexpr std::uint64_t kLeastPacketBytes = 1'000;
constexpr std::uint64_t kMaxPacketBytes = 268'435'460;

// Which cases run, in what order, and when the run ends.
void add_course(CLI::App& command, CertifyOptions& options) {
  add_max_failures(command, options.max_failures);
  command.add_flag(
      "-x", [&](std::int64_t) { options.max_failures = 1; }, "The same as --max-failures 1");
  add_dry_run(command, options.dry_run);
  command.add_option("--last-failed", options.last_failed,
                     "Only the cases that failed or were inconclusive in this JSON report");
  command.add_option(
      "--evidence", options.evidence,
      "Write all requests and responses to this file during the run; fencepost judge "
      "repeats the verdicts from it (docs/EVIDENCE.md)");
  command
      .add_option("--certificate", options.certificate,
                  "Write a certificate of a whole run, NAME.json, and its page NAME.html "
                  "(docs/CERTIFICATES.md)")
      ->check(report_file());
  command.add_option("--sign", options.sign,
                     "Sign evidence, reports and certificate with this SSH key: FILE.sig, which "
                     "fencepost verify and ssh-keygen -Y verify check (namespace fencepost)");
  command.add_option("--resume", options.resume,
                     "Resume a run that was killed, from its file REPORT.unfinished or its "
                     "evidence; options that are not given are as in that run (docs/EVIDENCE.md)");
  command.add_flag("--fail-on-skip", options.fail_on_skip,
                   "Exit with 1 if a case is skipped; reports do not change");
  add_strict(command, options.strict);
  add_fresh_connections(command, options.fresh_connections);
  command.add_flag("--shuffle", options.shuffle,
                   "Run the cases in a random order, which depends on --seed");
  add_selection(command, options.selection);
  command.add_option("--shard", options.shard, kShardText);
  command.add_option(
      "--stress", options.stress,
      "After the cases, run 16 concurrent clients and check linearizability: none, short (2 s; "
      "default for all built-in cases) or a time, e.g. 30s; first shard only");
  command
      .add_option("--depth", options.depth,
                  "After the cases, if none failed, run all workloads of N requests in a row "
                  "(1 to 3; 0: none; default for all built-in cases: 1, for at most 10 s); "
                  "first shard only; docs/COMPLETE.md")
      ->check(whole_number(0, workload::kMaxDepth));
}

void add_certify(CLI::App& app, CertifyOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("certify", "Run the conformance cases against an endpoint");
  command->footer(kExitCodesOfCertify);
  add_run_flags(*command, options);
  add_verbose(*command, options.verbose);
  command
      ->add_option("--show", options.show,
                   "Print a line for each case with these verdicts: passed, failed, warning, "
                   "skipped, inconclusive, expected-failure, not-run; e.g. failed,skipped")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of({"passed", "failed", "warning", "skipped", "inconclusive", "expected-failure",
                      "not-run"}));
  add_course(*command, options);
  add_reports(*command, options.reports);
  command
      ->add_option_function<std::string>(
          "--transcripts",
          [&](const std::string& word) { options.transcripts = *report::transcripts_named(word); },
          "Messages in the JSON and HTML reports: of failures (default: of all cases that did not "
          "pass) or of all cases")
      ->check(one_of({"failures", "all"}));
  CLI::Option* baseline =
      command->add_option("--baseline", options.baseline.file,
                          "Known failures: they fail the run only if they change, pass or expire "
                          "(docs/BASELINES.md)");
  command
      ->add_flag("--update-baseline", options.baseline.fix,
                 "Update that file from this run; new entries need a reason from you")
      ->needs(baseline);
  CLI::Option* against =
      command->add_option("--against", options.against,
                          "JSON reports of earlier runs (repeatable): only what is new since the "
                          "newest fails the run (docs/CI.md)");
  command
      ->add_option("--against-comment", options.against_comment,
                   "Write what is new as a comment for a pull request, Markdown")
      ->check(report_file())
      ->needs(against);
  add_scenarios(*command, options.scenarios);
  command->add_flag("--no-github", options.no_github,
                    "No annotations, step summary and outputs where GITHUB_ACTIONS=true");
  command->callback([&] { action = [&] { return certify(options); }; });
}

void add_merge(CLI::App& app, MergeOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "merge", "Merge the JSON reports of the shards of a run\n\nSee docs/SHARDING.md.");
  command->footer(kExitCodesOfCertify);
  command->add_option("reports", options.files, "JSON reports of certify --shard K/N --json FILE")
      ->required();
  add_reports(*command, options.reports);
  add_scenarios(*command, options.scenarios);
  add_trace(*command, options.trace);
  add_verbose(*command, options.verbose);
  add_quiet(*command, options.quiet);
  command->callback([&] { action = [&] { return merge(options); }; });
}

void add_probe(CLI::App& app, ProbeOptions& options, Action& action) {
  constexpr std::size_t kMaxKeys = 100'000;
  CLI::App* command =
      app.add_subcommand("probe", "Find out what an endpoint can do, and write its descriptor");
  command->footer(
      "Exit codes: 0 probed, 2 usage, 3 endpoint unreachable or lost, 4 not finished in time, "
      "130 interrupted");
  add_endpoint(*command, options.endpoint, options.descriptor);
  command->add_option("--out", options.out,
                      "Write the descriptor to this file (default: to standard output, and the "
                      "summary to standard error)");
  command
      ->add_option("--quota-up-to", options.quota_up_to,
                   "Write up to N keys to measure the quota, then delete them; meanwhile other "
                   "users cannot write new keys")
      ->check(whole_number(1, kMaxKeys));
  add_jobs(*command, options.jobs);
  add_timeout_scale(*command, options.timeout_scale);
  command->add_option("--max-time", options.max_time,
                      "Give up after this time, without a descriptor (default: 50s, times "
                      "--timeout-scale)");
  command->add_flag("-v,--verbose", options.verbose,
                    "List what was observed where the documents leave the behaviour unspecified");
  add_seed(*command, options.seed);
  add_scenarios(*command, options.scenarios);
  command->callback([&] { action = [&] { return probe(options); }; });
}

// Where and for which clients the broker of `serve` listens.
void add_listener(CLI::App& command, ServeOptions& options) {
  command
      .add_option("--port", options.port,
                  "TCP port (default: 1883, with TLS 8883); 0: one that is free")
      ->check(whole_number(0, 65535));
  command.add_option("--bind", options.bind,
                     "IP address to listen on (default: 127.0.0.1, this machine only); 0.0.0.0: "
                     "all interfaces");
  command.add_option("--ready-file", options.ready_file,
                     "Write the URL to this file when clients can connect");
  CLI::Option* tls = command.add_option("--tls", options.tls,
                                        "Use TLS with a temporary certificate; write its CA, which "
                                        "clients have to trust, to this file");
  command
      .add_option("--tls-host", options.tls_hosts,
                  "With --tls: host name or IP address in the certificate, in addition to "
                  "localhost, this machine and --bind (repeatable)")
      ->allow_extra_args(false)  // else it takes the -- of a command for its end
      ->needs(tls);
  CLI::Option* key = command.add_option("--key", options.key, "Private key of --certificate, PEM");
  CLI::Option* certificate =
      command.add_option("--certificate", options.certificate,
                         "Use TLS with this certificate, PEM, followed by its chain");
  key->needs(certificate)->excludes(tls);
  certificate->needs(key)->excludes(tls);
  command.add_option("--client-ca", options.client_ca,
                     "With TLS: clients need a certificate signed by this CA, PEM");
  CLI::Option* user =
      command
          .add_option("--user", options.users,
                      "Only this user may connect (repeatable, each with a --password-file)")
          ->allow_extra_args(false);
  command
      .add_option("--password-file", options.password_files,
                  "The password of --user is the first line of this file")
      ->allow_extra_args(false)
      ->needs(user);
}

void add_judged_clients(CLI::App& command, ServeOptions& options) {
  command.add_flag("--judge-clients", options.judge_clients,
                   "Judge the packets of clients by the rules for clients: a line for each broken "
                   "rule, exit code 1 (docs/CLIENTS.md)");
  for (const char* kind : {"json", "junit", "html"}) {
    add_report(command, options.reports, kind);
  }
  command
      .add_option("--receive-maximum", options.receive_maximum,
                  "Receive Maximum in the CONNACK (default: 65535)")
      ->check(whole_number(1, UINT16_MAX));
  command
      .add_option("--maximum-packet-size", options.maximum_packet_size,
                  "Maximum Packet Size in the CONNACK, in bytes (default: 4194304)")
      ->check(whole_number(kLeastPacketBytes, kMaxPacketBytes));
  command.add_option("--puback-delay", options.hold_puback,
                     "With --judge-clients: delay each PUBACK of the broker, e.g. 200ms");
  command
      .add_option("--drop-at-puback", options.drop_at_puback,
                  "With --judge-clients: close the connection instead of sending every N-th "
                  "PUBACK")
      ->check(whole_number(2));
  command.add_option("command", options.command,
                     "With --judge-clients, after --: a command whose clients are judged; the "
                     "broker stops when it ends. It gets FENCEPOST_HOST, FENCEPOST_PORT and "
                     "FENCEPOST_URL");
}

void add_served_store(CLI::App& command, ServeOptions& options) {
  add_dialect(command, options.profile);
  command
      .add_option("--quota", options.quota,
                  "Maximum number of keys (default: 1000000; 0: no limit)")
      ->check(whole_number(0));
  command.add_option("--authorization", options.authorization,
                     "JSON file: which client may access which key (docs/AUTHORIZATION.md)");
  command.add_option("--database", options.database,
                     "Keep what the store holds in this file, also when the broker is killed "
                     "(docs/DATABASE.md)");
  command.add_option("--node-id", options.node_id,
                     "Node id in the store's versions (default: StateStore)");
  command.add_option("--clock-offset", options.clock_offset,
                     "How far the store's clock is ahead of this machine's, e.g. 30s; behind: "
                     "-10m");
  command.add_option("--response-delay", options.response_delay,
                     "Delay each message of the store, e.g. 200ms");
  command.add_option("--response-jitter", options.response_jitter,
                     "Further random delay up to this time; the order of messages to one client "
                     "stays");
  command.add_option("--fault", options.fault,
                     "Serve a faulty store: an id or name of list faults, or several: S01+D02");
  command.add_option("--variant", options.right,
                     "Serve another conforming store: a seed, or decisions of list choices, e.g. "
                     "px-zero:refused,line-end:lf");
  command.add_option("--null", options.null,
                     "Serve a store that does nothing right: silent, echo, always-ok, "
                     "always-error, drops-connection, wrong-topic or closes-at-random");
  command.add_option("--seed", options.seed, "Random seed (default: 1)")->check(whole_number(0));
}

// With what is of a broker that `serve` starts, and what to do where it starts none.
struct OfOwnBroker {
  const char* option;
  const char* instead;
};
constexpr const char* kConfigureYours =
    "expected the options of the store only; configure it in the broker";
constexpr const char* kJudgeCapture =
    "it needs a broker that serve starts; for yours, capture packets: fencepost judge-clients "
    "--pcap";
constexpr std::array kOfOwnBroker = {
    OfOwnBroker{"--port", kConfigureYours},
    OfOwnBroker{"--bind", kConfigureYours},
    OfOwnBroker{"--tls", kConfigureYours},
    OfOwnBroker{"--tls-host", kConfigureYours},
    OfOwnBroker{"--certificate", kConfigureYours},
    OfOwnBroker{"--key", kConfigureYours},
    OfOwnBroker{"--client-ca", kConfigureYours},
    OfOwnBroker{"--user",
                "expected the store's own user in the URL or in --descriptor; configure others in "
                "the broker"},
    OfOwnBroker{"--password-file", kConfigureYours},
    OfOwnBroker{"--receive-maximum", kConfigureYours},
    OfOwnBroker{"--maximum-packet-size", kConfigureYours},
    OfOwnBroker{"--open-routing", "leave it out: brokers route requests to every subscriber"},
    OfOwnBroker{"--verbose", "leave it out: read the log of the broker"},
    OfOwnBroker{"--authorization",
                "a client of a broker does not learn which user sends a request; leave it out, or "
                "leave out --broker"},
    OfOwnBroker{"--database",
                "only the store in a broker that serve starts keeps its keys in a file; leave it "
                "out, or leave out --broker"},
    OfOwnBroker{"--judge-clients", kJudgeCapture},
    OfOwnBroker{"--puback-delay", kJudgeCapture},
    OfOwnBroker{"--drop-at-puback", kJudgeCapture},
    OfOwnBroker{"--json", kJudgeCapture},
    OfOwnBroker{"--junit", kJudgeCapture},
    OfOwnBroker{"--html", kJudgeCapture},
};

// The store as a client of another broker.
void add_other_broker(CLI::App& command, ServeOptions& options) {
  CLI::Option* broker = command.add_option(
      "--broker", options.broker,
      "Be a client of this broker, mqtt://... or mqtts://..., and start none (docs/CLIENTS.md)");
  add_descriptor(command, options.descriptor);
  command.get_option("--descriptor")->needs(broker);
  command
      .add_option("--client-id", options.client_id,
                  "With --broker: client id of the store (default: fencepost-store- and 8 random "
                  "digits)")
      ->needs(broker);
}

std::string needs_own_broker(const CLI::App& command) {
  for (const OfOwnBroker& each : kOfOwnBroker) {
    if (command.get_option(each.option)->count() == 0) continue;
    return fmt::format("{} and --broker: {}", each.option, each.instead);
  }
  return {};
}

void add_serve(CLI::App& app, ServeOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("serve", "Run a broker with the reference store (docs/CLIENTS.md)");
  command->footer(
      "Limits: 4 MiB per packet; 100,000 registrations per client and 256 MiB of keys and values, "
      "then requests are refused with the quota's error; 4 MiB in flight to a slow client and 4 "
      "MiB queued, then its messages are lost");
  add_listener(*command, options);
  add_other_broker(*command, options);
  add_served_store(*command, options);
  command->add_option("--record", options.record,
                      "At the end, write the requests of clients and their responses to this "
                      "scenario file (docs/RECORD.md); until then they are in FILE.log");
  command->add_flag("--explain", options.explain,
                    "Print a line for each request: client, request, result and rule; also for "
                    "requests that a store ignores");
  command->add_flag("--control", options.control,
                    "Let clients change --fault and the delays by messages to fencepost/control "
                    "(docs/CLIENTS.md)");
  add_judged_clients(*command, options);
  command->add_flag("--open-routing", options.open_routing,
                    "Route requests and notifications to every subscriber, for record; observers "
                    "then have to subscribe to their notifications");
  command->add_flag("-v,--verbose", options.verbose, "Print the broker's log");
  command->callback([&, command] {
    if (!options.broker.empty()) options.needs_own_broker = needs_own_broker(*command);
    action = [&] { return serve(options); };
  });
}

void add_record(CLI::App& app, RecordOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("record",
                         "Write scenarios or a history from the traffic of clients\n\n"
                         "As a subscriber, from a packet capture, or from the log of serve "
                         "--record (docs/RECORD.md).");
  command->footer(
      "Exit codes: 0 a conforming store may answer like this, 1 some answers are not those of a "
      "conforming store, 2 usage or unreadable file, 3 endpoint unreachable or lost (the file has "
      "what came before), 130 interrupted before it was connected");
  command->add_option("--out", options.out, "Write the requests as cases to this scenario file");
  command->add_option("--history", options.history,
                      "Write the history to this file, for fencepost check");
  command->add_option("--slack", options.slack,
                      "With --history: how much later than the store the recorder may have seen a "
                      "request (default: 250ms for an endpoint, else 0ms)");
  CLI::Option* endpoint = command->add_option(
      "--endpoint", options.endpoint,
      "Broker, mqtt://... or mqtts://...: subscribe to requests, responses and notifications until "
      "Ctrl-C");
  add_descriptor(*command, options.descriptor);
  command->add_option("--duration", options.time,
                      "With --endpoint: time limit of the recording, e.g. 5m (default: none)");
  command->add_option("--subscribe", options.subscribe,
                      "With --endpoint: further topic filter to subscribe to, e.g. where responses "
                      "go (repeatable)");
  add_capture(*command, options.pcap, options.port, options.from);
  for (const char* name : {"--pcap", "--from"}) command->get_option(name)->excludes(endpoint);
  command->callback([&] { action = [&] { return record(options); }; });
}

void add_explore(CLI::App& app, ExploreOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("explore",
                         "Run random workloads, judge them, and shrink what fails\n\n"
                         "An oracle judges each response; counter-examples are shrunk and saved "
                         "(docs/EXPLORE.md).");
  command->footer(
      "Exit codes: 0 no rule is broken, 1 one is, 2 usage, 3 endpoint unreachable or lost, 4 a "
      "rejection was seen once and not again, 130 interrupted");
  add_run_flags(*command, options);
  command->get_option("--jobs")->description(
      "Workloads to run in parallel (default: as certify runs cases)");
  command->get_option("--edition")
      ->description(
          "Edition of the specification: ga, preview or auto (default: ga; with --profile "
          "documented: both)");
  CLI::Option* exhaustive =
      command
          ->add_option("--exhaustive", options.exhaustive,
                       "Run all short workloads instead of random ones: N requests in a row (1 to "
                       "3), from 2 on also all that differ in a byte, number or word "
                       "(docs/COMPLETE.md)")
          ->check(whole_number(1, workload::kMaxDepth));
  command->add_option("--shard", options.shard, kShardText)->needs(exhaustive);
  command
      ->add_option("--from-example", options.from,
                   "Begin with the N-th of all short workloads, to continue a run that ended early")
      ->check(whole_number(1))
      ->needs(exhaustive);
  command->add_option("--duration", options.max_time,
                      "Time limit for searching and shrinking, e.g. 5m (default: 60s; with "
                      "--exhaustive: none)");
  command
      ->add_option("--max-examples", options.max_examples,
                   "Stop after N workloads (default: no limit)")
      ->check(whole_number(1));
  command
      ->add_option("--max-operations", options.max_operations,
                   "Maximum number of operations in a workload (default: 40)")
      ->check(whole_number(1, 200));
  CLI::Option* example =
      command->add_option("--example", options.example, "Run only the N-th workload of the seed")
          ->check(whole_number(1));
  for (const char* name : {"--shard", "--from-example"})
    example->excludes(command->get_option(name));
  command
      ->add_option("--max-failures", options.stop_after,
                   "Stop when N requirements are known to be broken (default: 1)")
      ->check(whole_number(1));
  command->add_option("--rate", options.rate, "Send at most this many requests per second")
      ->check(positive_factor().name("N"));
  command->add_flag("--fresh-connections", options.fresh_connections,
                    "Open new connections for each workload (default: reuse)");
  command->add_option("--ignore", options.ignore,
                      "Do not count rejections by this requirement, e.g. 'FT-*', or with a line "
                      "'REQUIREMENT: because' that matches (repeatable)");
  command->add_option("--out-dir", options.save,
                      "Folder for counter-examples (default: explore-findings)");
  command->add_option("--replay", options.replay,
                      "Run only these saved *.trace files or folders of them (repeatable)");
  add_disturb(*command, options);
  command->callback([&] { action = [&] { return explore(options); }; });
}

void add_replay(CLI::App& app, ReplayOptions& options, Action& action) {
  constexpr std::size_t kMaxRuns = 10'000;
  CLI::App* command =
      app.add_subcommand("replay",
                         "Run saved counter-examples again\n\n"
                         "Shows which are fixed, still fail, or have changed (docs/REPLAY.md).");
  command->footer(
      "Exit codes: 0 all pass or are fixed, 1 something fails, 2 usage or a file that cannot be "
      "loaded, 3 endpoint unreachable or lost, 4 nothing fails, but something is inconclusive, "
      "5 no case to judge by, 130 interrupted");
  command->add_option("paths", options.paths, "Scenario files, or folders of them")->required();
  add_run_flags(*command, options);
  command
      ->add_option("--repeat", options.runs,
                   "Run each case N times, with fresh keys, to detect flaky ones (default: 1)")
      ->check(whole_number(1, kMaxRuns));
  command->add_flag("--update", options.heal,
                    "Update the files: fixed cases are no longer recorded as failing, changed ones "
                    "get their new signature");
  for (const char* kind : {"json", "junit"}) add_report(*command, options.reports, kind);
  command->callback([&] { action = [&] { return replay(options); }; });
}

void add_readers(CLI::App& app, ListOptions& list_options, std::string& id,
                 std::vector<std::string>& paths, Action& action) {
  CLI::App* list_command =
      app.add_subcommand("list", "List cases, requirements, capabilities, faults or choices");
  list_command
      ->add_option("what", list_options.what,
                   "cases (default), requirements, capabilities, faults (faulty stores of "
                   "selftest) or choices (of conforming stores)")
      ->check(one_of({"cases", "requirements", "capabilities", "faults", "choices"}));
  list_command
      ->add_option("--profile", list_options.profile,
                   "With requirements: show whether each applies in this profile: auto, deployed "
                   "or documented")
      ->check(one_of({"auto", "deployed", "documented"}));
  list_command
      ->add_option("--edition", list_options.edition,
                   "With --profile: edition of the specification: auto (default), preview or ga")
      ->check(one_of({"auto", "preview", "ga"}))
      ->needs("--profile");
  add_selection(*list_command, list_options.selection);
  list_command->add_flag("--json", list_options.json, "Print JSON");
  add_scenarios(*list_command, list_options.scenarios);
  list_command->callback([&] { action = [&] { return list(list_options); }; });

  CLI::App* explain_command =
      app.add_subcommand("explain", "Explain a requirement, a case or a fault");
  explain_command->add_option("id", id, "e.g. SET-NX-1")->required();
  add_scenarios(*explain_command, list_options.scenarios);
  explain_command->callback([&] { action = [&] { return explain(id, list_options.scenarios); }; });

  CLI::App* lint_command = app.add_subcommand("lint", "Check scenario files");
  lint_command->add_option("paths", paths, "Files or folders (default: the built-in cases)");
  lint_command->callback([&] { action = [&] { return lint(paths); }; });
}

void add_selftest(CLI::App& app, SelftestOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("selftest",
                         "Test the suite itself with conforming and faulty stores\n\n"
                         "Conforming stores must pass; each faulty one must fail, attributed to "
                         "its rule (docs/SELFTEST.md).");
  command->add_option("--fault", options.only,
                      "Only faults whose id or name matches this glob (repeatable)");
  for (const char* kind : {"json", "html"}) add_report(*command, options.reports, kind);
  command->add_option("--endpoint", options.endpoint,
                      "Where the stores run: inproc: (default), or embedded, which also finds "
                      "transport faults and takes some seconds per store");
  add_driver(*command, options.driver);
  add_fresh_connections(*command, options.fresh_connections);
  command->add_flag("--every-case", options.every_case,
                    "Do not skip cases whose traffic equals that of the conforming store; the "
                    "verdicts are equal");
  command
      ->add_option("--variants", options.right,
                   "Certify N random conforming stores in each profile instead: none may fail")
      ->check(whole_number(0));
  command
      ->add_option("--profile", options.profiles,
                   "With --variants: auto, deployed or documented (repeatable; default: all)")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option("--pairs", options.pairs,
                   "Run N random pairs of faults in one store instead, and count the pairs whose "
                   "faults are both among the first three root causes")
      ->check(whole_number(0));
  command->add_option("--seed", options.seed, "Random seed (default: 1)")->check(whole_number(0));
  command->callback([&] { action = [&] { return selftest(options); }; });
}

void add_matrix(CLI::App& app, MatrixOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("matrix", "Show which case checks which requirement");
  command->footer(
      "Exit codes: 0 each must-level requirement that can be tested has a case, 1 one has none, "
      "2 usage");
  add_report(*command, options.reports, "json", "(docs/matrix.schema.json)");
  add_report(*command, options.reports, "html");
  add_report(*command, options.reports, "markdown", "Write the tables of docs/COVERAGE.md");
  command->add_option("--report", options.report,
                      "Add the results of a run: a JSON report of certify");
  command->add_flag("-v,--verbose", options.full, "Print every requirement with its cases");
  add_scenarios(*command, options.scenarios);
  command->callback([&] { action = [&] { return matrix(options); }; });
}

std::string version_text() {
  return fmt::format("fencepost {} ({})\nbuilt with {}", report::suite_version(),
                     report::suite_commit(), FENCEPOST_LIBRARIES);
}

// What packages are made with; `shell` must outlive the action.
void add_manual(CLI::App& app, std::string& shell, Action& action) {
  CLI::App* manual = app.add_subcommand("manual", "Print the manual page in troff format");
  manual->callback([&] {
    action = [&] {
      text::print(
          "{}", text::Lines(manual_page(app, std::string("fencepost ") + report::suite_version())));
      return run::ExitCode::kConformant;
    };
  });
  CLI::App* command = app.add_subcommand("completion", "Print the completion script of a shell");
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

// The options of each command, and the arguments of some.
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

// Other users may list the arguments of this process: passwords are overwritten once they are read.
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
  CLI::App app{
      "Fencepost: conformance suite of the state store protocol over MQTT 5, as in the published "
      "article (State store protocol, Microsoft Learn) and the deployed service (Azure IoT "
      "Operations)"};
  app.name("fencepost");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_help_all_flag("--help-all", "Print the help with the options that are rarely used");
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  AllOptions options;
  Action action;
  add_commands(app, options, argv[0], action);
  app.footer(
      std::string("\"fencepost COMMAND --help\" explains a command; --version prints the version. "
                  "Endpoints embedded and inproc: take options, e.g. "
                  "embedded?clock-offset=-10m&response-delay=200ms or "
                  "embedded?database=store.db&nodes=3\n") +
      kExitCodesOfCertify);
  lay_out_help(app);
  const std::vector<std::string> arguments =
      with_help_command(app, with_new_names(app, {argv + 1, argv + argc}));
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

// A pipe may be closed early, as `head` does; a verdict that could not be written is an error.
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
