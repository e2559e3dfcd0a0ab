// The commands of the program, one function each: options in, exit code out. program.cc only parses
// the command line.
//
// Each prints its results to standard output and errors to standard error, and returns what the
// process exits with: run::ExitCode::kUsage when an option, descriptor or file cannot be used (then
// nothing was sent), kUnreachable when the endpoint cannot be reached or was lost, kInternal when
// something of this program failed, such as a report that cannot be written. What else a command
// returns is said below. One command a process: those that talk to an endpoint catch SIGINT,
// SIGTERM, SIGHUP and SIGQUIT, end early within 2 s, write what they have, and, but for `serve` and
// `record`, return kInterrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/baseline/run_baseline.h"
#include "report/report_files.h"
#include "suite/run/exit_code.h"
#include "suite/run/selection.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {

// What the commands that run something against one endpoint have in common.
struct RunFlags {
  std::string endpoint{};    // empty: the descriptor's, or embedded
  std::string descriptor{};  // a file
  std::string profile{};     // empty: the descriptor's, or auto
  std::string edition{};     // empty: the descriptor's, or auto
  std::string driver{};      // empty: builtin
  std::size_t jobs = 0;      // in parallel; 0: a sensible number
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};  // none: a new one
  bool trace = false;                   // print all packets of a failure
  bool quiet = false;
  std::string program = "fencepost";  // how it was called, for commands that reproduce a failure
};

struct CertifyOptions : RunFlags {
  std::string scenarios{};  // a folder instead of the built-in cases
  bool strict = false;
  bool verbose = false;             // each case and each difference in full
  std::vector<std::string> show{};  // a line for each case of these verdicts
  bool fresh_connections = false;
  bool shuffle = false;
  bool dry_run = false;          // print the cases that would run, and send nothing
  bool fail_on_skip = false;     // kFailed where a case is skipped
  std::size_t max_failures = 0;  // end the run after this many; 0: run all cases
  std::string last_failed{};     // a JSON report: only what did not pass there
  std::string evidence{};        // a file that gets all requests and responses
  std::string certificate{};     // NAME.json, which gets the certificate of a whole run
  std::string sign{};            // a key: signs the evidence, the reports and the certificate
  std::string resume{};          // file of a killed run, which is resumed
  // Concurrent clients when the cases have finished: none, short, or a duration. Empty: short
  // for a run of all built-in cases, or the first shard of one, else none.
  std::string stress{};
  // All workloads of N requests in a row, when no case has failed; 0: none. Nothing: 1 for a
  // run of all built-in cases, or the first shard of one, as far as there is time, else none.
  std::optional<std::size_t> depth{};
  run::Selection selection{};
  std::string shard{};  // K/N, or auto
  report::ReportFiles reports{};
  report::Transcripts transcripts = report::Transcripts::kFailures;  // in reports; all with `trace`
  baseline::BaselineOptions baseline{};
  std::vector<std::string> against{};  // JSON reports of earlier runs: only what is new fails
  std::string against_comment{};       // a file that gets what is new, for a pull request
  bool progress_only = false;          // no results on standard output; progress on standard error
  std::string* document = nullptr;     // receives what the JSON report says, too
  std::string libraries{};             // that the program was built with, for reports
  bool no_github = false;  // no annotations and no summary, even where GitHub Actions runs this
};
// Runs the selected cases against one endpoint. kConformant, kFailed, kInconclusive or
// kNothingSelected, as run::exit_code() says, or with `against` as report::Regressions says. The
// reports are written on failure and interruption, too.
[[nodiscard]] run::ExitCode certify(CertifyOptions options);

struct CertifyClientOptions {
  std::vector<std::string> command{};  // the adapter, with its arguments
  std::vector<std::string>
      variables{};          // of our environment that it gets in addition to the usual ones
  std::string scenarios{};  // a folder or file instead of the built-in cases
  std::string profile = "deployed";  // the dialect that our broker speaks
  std::vector<std::string> only{};   // globs of ids; none: all cases
  report::ReportFiles reports{};
  std::string timeout = "5s";    // that the SDK waits for a reply
  std::size_t jobs = 0;          // cases in parallel; 0: a sensible number
  std::size_t max_failures = 0;  // end the run after this many; 0: play all cases
  bool list = false;             // print the cases, and play none
  bool quiet = false;            // no progress
  bool verbose = false;          // a line for each case
  std::string program = "fencepost";
};
// Plays the cases for clients with an adapter, and judges both what it reports and its traffic.
// kConformant; kFailed when a case fails, kUsage when the adapter cannot be started, kUnreachable
// when it does not greet, or writes what is no result, kNothingSelected when no case was played.
[[nodiscard]] run::ExitCode certify_client(const CertifyClientOptions& options);

struct NewAdapterOptions {
  std::string language{};
  std::string folder{};
};
// Writes an adapter to begin with into a folder. kConformant; kUsage when one of its files is there
// already, or cannot be written.
[[nodiscard]] run::ExitCode new_adapter(const NewAdapterOptions& options);

struct MergeOptions {
  std::vector<std::string> files{};  // JSON reports of the shards of one run
  std::string scenarios{};
  report::ReportFiles reports{};
  bool trace = false;
  bool verbose = false;
  bool quiet = false;
};
// Makes one report of those of the shards of a run, and returns what the run would have returned in
// one piece. kUsage when the reports are not of one run.
[[nodiscard]] run::ExitCode merge(const MergeOptions& options);

struct JudgeOptions {
  std::string file{};  // of evidence
  std::string scenarios{};
  std::optional<codec::Profile> profile{};  // none: that of the run
  std::optional<scenario::Edition> edition{};
  bool strict = false;  // or the run was
  report::ReportFiles reports{};
  bool trace = false;
  bool verbose = false;
  bool quiet = false;
};
// Judges a run of certify again, from its evidence: as certify does, without any endpoint.
// What the run has found itself is compared with it.
[[nodiscard]] run::ExitCode judge(const JudgeOptions& options);

struct VerifyOptions {
  std::string file{};
  std::string signature{};        // a file; empty: FILE.sig
  std::string allowed_signers{};  // a file, as ssh-keygen reads it; empty: any key will do
  std::string signer{};           // of that file; empty: any of them
};
// Is the file what was signed? kConformant; kFailed when it was changed, or is of another's key, or
// is a certificate whose evidence was changed; kInconclusive when it is a certificate that nobody
// has signed; kUsage when something that this takes is missing.
[[nodiscard]] run::ExitCode verify(const VerifyOptions& options);

struct CheckOptions {
  std::vector<std::string> files{};  // histories
  report::ReportFiles reports{};
  std::optional<std::string> initial{};  // of registers, in logs of other harnesses
  std::size_t max_steps = 5'000'000;     // of the search for an order, for each key
};
// Checks saved histories of concurrent requests. kConformant; kFailed when one is not linearizable,
// kInconclusive when one cannot be decided, kNothingSelected when all are empty.
[[nodiscard]] run::ExitCode check(const CheckOptions& options);

struct DisturbFlags {
  std::string disturb = "none";  // see endpoint::parse_network_faults(); or a file
  std::string disturb_every = "250ms";
};

struct StressOptions : DisturbFlags {
  std::string endpoint{};    // empty: the descriptor's, or embedded
  std::string descriptor{};  // a file
  std::string driver{};      // empty: builtin
  std::string profile{};     // of a store in process: documented, else it is the deployed one
  // Durations. How far the store's clock is ahead of this machine's, or behind it; and the one-way
  // delay of the network, which is added to the times that a store has.
  std::string clock_offset{};
  std::string on_the_way{};
  std::string workload = "everything";
  std::uint32_t clients = 16;
  std::string duration = "10s";
  double rate = 0;  // requests per second; 0: each client waits for its response
  std::optional<std::uint64_t> seed{};  // none: a new one
  double timeout_scale = 1.0;
  bool keep_going = false;  // after a violation
  bool no_shrink = false;
  std::string history{};  // a file; empty: stress-SEED.jsonl, kept when something was found
  report::ReportFiles reports{};
  bool quiet = false;
  std::string program = "fencepost";  // how it was called
};
// Runs concurrent clients and judges their history. kConformant, kFailed when a
// rule is broken, kInconclusive when something could not be decided. See concurrency/stress/load.h.
[[nodiscard]] run::ExitCode stress(const StressOptions& options);

struct ExploreOptions : RunFlags, DisturbFlags {
  std::string max_time{};                // a duration; empty: 60s, or as long as `exhaustive` takes
  std::size_t exhaustive = 0;            // number of requests in a row, all combinations; 0: random
  std::string shard{};                   // of all combinations: K/N, or auto
  std::size_t from = 1;                  // the first workload of all combinations
  std::size_t max_examples = 0;          // 0: as many as there is time for
  std::optional<std::size_t> example{};  // this workload of the seed and no other
  std::size_t max_operations = 40;
  std::size_t stop_after = 1;         // counter-examples, each of another requirement
  std::vector<std::string> ignore{};  // globs of "REQUIREMENT" or "REQUIREMENT: because"
  double rate = 0;                    // requests a second; 0: no limit
  bool fresh_connections = false;     // of each workload
  std::vector<std::string> replay{};  // saved workloads, or folders of them: nothing else is run
  std::string save = "explore-findings";  // a folder, made when there is something to save
};
// Random workloads, judged by the oracle, also while faults of the network are injected. kFailed
// when a rule is broken; the counter-examples are in `save` then. kInconclusive when a rejection
// was seen once and never again. See explore.h.
[[nodiscard]] run::ExitCode explore(const ExploreOptions& options);

struct ReplayOptions : RunFlags {
  std::vector<std::string> paths{};  // scenario files, or folders of them
  std::size_t runs = 1;              // of each case
  bool heal = false;                 // write into the files what is fixed, and what has changed
  report::ReportFiles reports{};
};
// Runs saved cases again: is what they have recorded still so? kConformant when all pass or are
// fixed, kFailed, kInconclusive, or kNothingSelected when there is no case to judge by. Files
// change with `heal` only. See replay.h.
[[nodiscard]] run::ExitCode replay(const ReplayOptions& options);

// Endpoints are run first, reports are read. What the first report says of profile, strictness,
// seed and selection holds for the endpoints that it is compared with, unless an option says
// otherwise.
struct CompareOptions {
  // JSON reports, descriptors (*.yaml) or URLs of endpoints; NAME=FILE
  std::vector<std::string> runs{};
  std::string profile{};
  bool strict = false;
  run::Selection selection{};  // of the cases that are compared
  std::size_t jobs = 0;
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};
  std::string scenarios{};
  report::ReportFiles written{};
  std::string site{};  // a folder that gets a site of `runs`, certificates or folders of them
  bool quiet = false;  // the last line only
  std::string program = "fencepost";
};
// Runs side by side. kConformant when they are alike, kFailed when they differ, kUnreachable when
// an endpoint was lost, kInconclusive when some cases could not be compared, kNothingSelected when
// none was. With `site`, the site instead: kConformant, kFailed when a certificate is left out,
// kUsage when there is none.
[[nodiscard]] run::ExitCode compare(const CompareOptions& options);

struct CertifyAllOptions {
  std::string file{};               // a name and an endpoint in each line
  std::string out = "certify-all";  // a folder, made when it is missing
  std::size_t at_once = 2;          // endpoints
  std::string profile{};
  std::size_t jobs = 0;
  double timeout_scale = 1.0;
  bool strict = false;
  run::Selection selection{};
  std::string program = "fencepost";
};
// Certifies each endpoint in its own process, with its reports in `out`, and compares them.
// Returns the worst that any run ended with.
[[nodiscard]] run::ExitCode certify_all(const CertifyAllOptions& options);

struct VectorsOptions {
  std::string json = "-";  // a file; "-": standard output
  std::string profile = "auto";
  std::string scenarios{};
  std::size_t max_bytes = 4096;  // of a payload; cases with longer ones are left out, and counted
  run::Selection selection{};
};
// Writes the bytes of cases: requests, and the replies that are right. kConformant, or
// kNothingSelected.
[[nodiscard]] run::ExitCode vectors(const VectorsOptions& options);

struct ProbeOptions {
  std::string endpoint{};       // empty: the descriptor's, or embedded
  std::string descriptor{};     // a file
  std::string scenarios{};      // a folder instead of the built-in cases
  std::string out{};            // where the descriptor goes; empty: standard output
  std::size_t quota_up_to = 0;  // keys; 0: the quota is not measured
  std::size_t jobs = 0;         // 0: a sensible number
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};
  std::string max_time = "50s";  // times `timeout_scale`
  bool verbose = false;          // each unspecified point that was seen
};
// Finds out what an endpoint can do and writes a descriptor of it: to `out`, or to standard output,
// with the summary on standard error. kConformant in all cases; a probe that is interrupted,
// or not finished in time (kInconclusive), writes nothing.
[[nodiscard]] run::ExitCode probe(const ProbeOptions& options);

struct ServeOptions {
  std::string broker{};      // URL of another broker, where the store is a client; empty: our own
  std::string descriptor{};  // file with what the URL does not say
  std::string client_id{};   // of the store there; empty: a new one
  // With `broker`, the first option that was given and is of a broker of our own, and what to do
  // instead.
  std::string needs_own_broker{};
  std::optional<std::uint16_t> port{};  // 0: one that is free; nothing: the usual one
  std::string bind = "127.0.0.1";
  std::string ready_file{};              // receives the URL when clients can connect
  std::string tls{};                     // receives the CA of a throw-away certificate
  std::vector<std::string> tls_hosts{};  // which that certificate is for, too
  std::string certificate{};             // files: TLS with one's own
  std::string key{};
  std::string client_ca{};                    // a file: mutual TLS
  std::vector<std::string> users{};           // who may connect; empty: everybody
  std::vector<std::string> password_files{};  // of each user
  std::string profile = "deployed";
  std::optional<std::size_t> quota{};  // keys; 0: no limit; nothing: the usual one
  std::string authorization{};
  std::string node_id = "StateStore";
  std::string clock_offset = "0s";  // durations: see conditions_options.h
  std::string response_delay = "0s";
  std::string response_jitter = "0s";
  std::string fault{};     // id or name of a faulty store
  std::string right{};     // decisions of another conforming store
  std::string null{};      // the same of a store that does nothing
  std::uint64_t seed = 1;  // of all its random choices
  std::string database{};  // a file that keeps what the store holds
  std::string record{};    // a scenario file of the requests of clients and their replies
  bool open_routing = false;
  bool explain = false;        // each request on standard output
  bool control = false;        // clients may change fault and conditions
  bool judge_clients = false;  // what they send, by the rules for clients
  report::ReportFiles reports{};
  std::uint16_t receive_maximum = 0;      // of its CONNACK; 0: the largest
  std::uint32_t maximum_packet_size = 0;  // of its CONNACK, in bytes; 0: the usual one
  std::string hold_puback = "0s";         // of the broker, in transit to a judged client
  std::uint64_t drop_at_puback = 0;       // every N-th ends its connection; 0: none does
  std::vector<std::string> command{};     // whose clients are judged; it ends when this does
  bool verbose = false;
};
// Runs a broker with a store until SIGINT, SIGTERM, SIGHUP or SIGQUIT, then returns kConformant;
// with `record`, kFailed when a request got an answer that no conforming store gives. kUnreachable
// when the broker ends unexpectedly. With `judge_clients`, kFailed when a client has broken a rule
// or the command has failed, kNothingSelected when the command has sent no request.
[[nodiscard]] run::ExitCode serve(const ServeOptions& options);

// Exactly one of pcap and from says what is judged.
struct JudgeClientsOptions {
  std::string pcap{};  // a packet capture
  std::uint16_t port = 1883;
  std::string from{};                  // a log of `serve --record`
  std::string node_id = "StateStore";  // of the store's versions
  std::string clock_offset{};          // of the capture; empty: not known
  bool from_start = false;             // the capture begins before the broker
  report::ReportFiles reports{};
};
// kFailed when a client has broken a rule, kNothingSelected when there was no request, kUsage when
// the file cannot be read.
[[nodiscard]] run::ExitCode judge_clients(const JudgeClientsOptions& options);

// Exactly one of endpoint or descriptor, pcap, and from says what is recorded.
struct RecordOptions {
  std::string out{};      // a scenario file
  std::string history{};  // another file; one of them must be there
  std::string slack{};    // a duration: see record::HistoryOptions; empty: a sensible one
  std::string endpoint{};
  std::string descriptor{};              // a file
  std::string time{};                    // a duration; empty: until interrupted
  std::vector<std::string> subscribe{};  // further topic filters
  std::string pcap{};                    // a packet capture
  std::uint16_t port = 1883;             // of the broker, in the packet capture
  std::string from{};                    // the log of `serve --record`
};
// Makes scenarios, or a history, from the traffic of other clients. kConformant when a conforming
// store may answer like that, kFailed when some answers are not those of a conforming store; the
// file is written in both cases, and when the endpoint is lost. See capture_scenario.h.
[[nodiscard]] run::ExitCode record(const RecordOptions& options);

struct ListOptions {
  std::string what = "cases";  // or requirements, capabilities, faults or choices
  std::string scenarios{};
  std::string profile{};  // of requirements: what it demands; empty: what they say
  std::string edition = "auto";
  run::Selection selection{};  // of cases
  bool json = false;
};
// Prints cases, requirements, capabilities, faults or choices, in the order of their files.
[[nodiscard]] run::ExitCode list(const ListOptions& options);

struct MatrixOptions {
  std::string scenarios{};
  std::string report{};  // a JSON report of certify, whose results are added
  report::ReportFiles reports{};
  bool full = false;  // every requirement with its cases
};
// Which case checks which requirement. kFailed when a MUST that can be tested has no case.
[[nodiscard]] run::ExitCode matrix(const MatrixOptions& options);

// All about a requirement, a case or a fault with this id; kUsage when there is none.
[[nodiscard]] run::ExitCode explain(const std::string& id, const std::string& scenarios);

// Checks scenario files; without paths those built in. kUsage when one has an error: each is
// printed with its file and line.
[[nodiscard]] run::ExitCode lint(const std::vector<std::string>& paths);

struct SelftestOptions {
  std::vector<std::string> only{};  // globs of faults
  report::ReportFiles reports{};
  std::string endpoint = "inproc:";  // or "embedded"
  std::string driver = "builtin";
  bool fresh_connections = false;
  bool every_case = false;  // also where its traffic equals that of the conforming store
  std::uint64_t seed = 1;
  std::size_t right = 0;  // random conforming stores to certify instead, in each profile
  std::vector<std::string> profiles{};  // that they are judged by; empty: all
  std::size_t pairs = 0;                // random pairs of faults to name instead
};
// Are the cases able to fail? kFailed when a fault survives, a conforming store fails, or an
// expectation is checked by nothing. See selftest.h.
[[nodiscard]] run::ExitCode selftest(const SelftestOptions& command);

// The library that `scenarios` names (empty: the built-in one), which lives as long as the program;
// nullptr when it has errors, which were printed to standard error.
[[nodiscard]] const scenario::Library* open_library(const std::string& scenarios);

}  // namespace fencepost::cli
