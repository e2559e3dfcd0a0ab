// The commands of the program, one function each: options in, exit code out. main.cc only parses
// the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/baseline/run_baseline.h"
#include "conformance/report/report_files.h"
#include "conformance/run/exit_code.h"
#include "conformance/run/selection.h"
#include "conformance/scenario/library.h"

namespace fencepost::cli {

// What the commands that run something against one endpoint have in common.
struct RunFlags {
  std::string endpoint{};    // empty: the descriptor's, or embedded
  std::string descriptor{};  // a file
  std::string profile{};     // empty: the descriptor's, or auto
  std::size_t jobs = 0;      // at once; 0: a sensible number
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};  // none: a new one
  bool trace = false;                   // print all packets of a failure
  bool quiet = false;
  std::string program = "fencepost";  // how it was called, for commands that reproduce a failure
};

struct CertifyOptions : RunFlags {
  std::string scenarios{};  // a folder instead of the built-in cases
  std::string wording{};    // empty: the descriptor's, or auto
  bool strict = false;
  run::Selection selection{};
  std::string shard{};  // K/N
  report::ReportFiles reports{};
  report::Transcripts transcripts = report::Transcripts::kFailures;  // in reports; all with `trace`
  baseline::BaselineOptions baseline{};
  bool progress_only = false;       // no results on standard output; progress on standard error
  std::string* document = nullptr;  // receives what the JSON report says, too
  bool no_github = false;  // no annotations and no summary, even where GitHub Actions runs this
};
[[nodiscard]] run::ExitCode certify(CertifyOptions options);

struct MergeOptions {
  std::vector<std::string> files{};  // JSON reports of the shards of one run
  std::string scenarios{};
  report::ReportFiles reports{};
  bool trace = false;
  bool quiet = false;
};
[[nodiscard]] run::ExitCode merge(const MergeOptions& options);

struct ExploreOptions : RunFlags {
  std::string max_time = "60s";          // a duration
  std::size_t max_examples = 0;          // 0: as many as there is time for
  std::optional<std::size_t> example{};  // this workload of the seed and no other
  std::size_t max_operations = 40;
  std::size_t stop_after = 1;         // counter-examples, each of another requirement
  std::vector<std::string> ignore{};  // globs of "REQUIREMENT" or "REQUIREMENT: because"
  double rate = 0;                    // requests a second; 0: no limit
  std::vector<std::string> replay{};  // saved workloads, or folders of them: nothing else is run
  std::string save = "explore-findings";  // a folder, made when there is something to save
};
// Random workloads, judged by the oracle. See explore.h.
[[nodiscard]] run::ExitCode explore(const ExploreOptions& options);

struct ReplayOptions : RunFlags {
  std::vector<std::string> paths{};  // scenario files, or folders of them
  std::size_t runs = 1;              // of each case
  bool heal = false;                 // write into the files what is fixed, and what has changed
  std::string json{};                // files
  std::string junit{};
};
// Runs saved cases again: is what they have recorded still so? See replay.h.
[[nodiscard]] run::ExitCode replay(const ReplayOptions& options);

// Endpoints are run first, reports are read. What a report says of profile, strictness, seed and
// selection holds for the endpoint that it is compared with, unless an option says otherwise.
struct DiffOptions {
  std::string a;  // a JSON report, a descriptor (*.yaml), or the URL of an endpoint
  std::string b;
  std::string profile{};
  bool strict = false;
  run::Selection selection{};  // of the cases that are compared
  std::size_t jobs = 0;
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};
  std::string scenarios{};
  std::string json{};  // a file
  bool quiet = false;  // the last line only
  std::string program = "fencepost";
};
[[nodiscard]] run::ExitCode diff(const DiffOptions& options);

struct ProbeOptions {
  std::string endpoint{};       // empty: the descriptor's, or embedded
  std::string descriptor{};     // a file
  std::string scenarios{};      // a folder instead of the built-in cases
  std::string out{};            // where the descriptor goes; empty: standard output
  std::size_t quota_up_to = 0;  // keys; 0: the quota is not measured
  std::size_t jobs = 0;         // 0: a sensible number
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};
};
[[nodiscard]] run::ExitCode probe(const ProbeOptions& options);

struct ServeOptions {
  std::uint16_t port = 1883;
  std::string profile = "deployed";
  std::size_t quota = 0;
  std::string authorization{};
  std::string node_id = "StateStore";
  std::string clock_offset = "0s";  // durations: see conditions_options.h
  std::string response_delay = "0s";
  std::string response_jitter = "0s";
  std::string fault{};     // id or name of a wrong store
  std::string right{};     // decisions of another right store
  std::string null{};      // the same of a store that does nothing
  std::uint64_t seed = 1;  // of whatever is random in it
  std::string record{};    // a scenario file: what clients ask and are told
  bool open_routing = false;
  bool verbose = false;
};
[[nodiscard]] run::ExitCode serve(const ServeOptions& options);

// Exactly one of endpoint or descriptor, pcap, and from says what is recorded.
struct RecordOptions {
  std::string out{};  // a scenario file
  std::string endpoint{};
  std::string descriptor{};              // a file
  std::string time{};                    // a duration; empty: until interrupted
  std::vector<std::string> subscribe{};  // further topic filters
  std::string pcap{};                    // a packet capture
  std::uint16_t port = 1883;             // of the broker, in the packet capture
  std::string from{};                    // the log of `serve --record`
};
// Makes scenarios of what other clients ask a store. See capture_scenario.h.
[[nodiscard]] run::ExitCode record(const RecordOptions& options);

struct ListOptions {
  std::string what = "cases";  // or requirements, or capabilities
  std::string scenarios{};
  std::string profile{};  // of requirements: what it demands; empty: what they say
  std::string wording = "auto";
  bool json = false;
};
[[nodiscard]] run::ExitCode list(const ListOptions& options);

struct MatrixOptions {
  std::string scenarios{};
  std::string report{};  // a JSON report of certify, whose results are added
  std::string json{};    // files; "-": standard output
  std::string html{};
  std::string markdown{};
  bool full = false;  // every requirement with its cases
};
[[nodiscard]] run::ExitCode matrix(const MatrixOptions& options);

[[nodiscard]] run::ExitCode explain(const std::string& id, const std::string& scenarios);

// Checks scenario files; without paths those built in.
[[nodiscard]] run::ExitCode lint(const std::vector<std::string>& paths);

struct SelftestOptions {
  std::vector<std::string> only{};   // globs of faults
  std::string json{};                // a file
  std::string html{};                // a file
  std::string endpoint = "inproc:";  // or "embedded"
  std::uint64_t seed = 1;
  std::size_t right = 0;                // random right stores to certify instead, in each profile
  std::vector<std::string> profiles{};  // that they are judged by; empty: all
};
// Are the cases able to fail? See selftest.h.
[[nodiscard]] run::ExitCode selftest(const SelftestOptions& command);

// The library that `scenarios` names (empty: the built-in one). Complaints go to standard error.
[[nodiscard]] std::optional<scenario::Library> open_library(const std::string& scenarios);

}  // namespace fencepost::cli
