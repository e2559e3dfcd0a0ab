// What several commands do alike: find the endpoint, say why it cannot be used.
#pragma once

#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/command_line.h"
#include "base/text/output.h"
#include "cli/commands.h"
#include "endpoint/endpoint.h"
#include "suite/run/preflight.h"
#include "suite/run/selection.h"
#include "suite/run/suite.h"
#include "suite/target/descriptor.h"
#include "suite/target/target.h"
#include "traffic/record/recording.h"

namespace fencepost::cli {

// To standard error; what cannot be written is left out: it is no reason to end otherwise.
void print_error(text::Lines lines);
template <typename... Values>
void print_error(fmt::format_string<text::detail::Shown<Values>&...> format,
                 const Values&... values) {
  print_error(text::Lines(text::format<Values...>(format, values...)));
}

// The same with the program's name in front. Each further line is indented: what follows a line
// feed of a name or a value cannot be taken for a line of ours.
void print_error(const std::string& text);

// Prints the error, if there is one, and returns whether there is none.
[[nodiscard]] bool succeeded(const Result<void, std::string>& done);

// While it lives, GitHub's runner takes nothing that is printed for a command, though
// text::for_output() lets none through. `stream` is what the lines around it go to: standard error
// where standard output may be piped into another program. Used by one thread; one at a time.
class WorkflowPause {
 public:
  explicit WorkflowPause(std::FILE* stream);
  ~WorkflowPause() { end_all(); }
  WorkflowPause(const WorkflowPause&) = delete;
  WorkflowPause& operator=(const WorkflowPause&) = delete;

  // Before commands of ours.
  static void end_all();
};

// What --endpoint and --descriptor say; both may be empty.
struct EndpointChoice {
  std::string url;
  std::string descriptor;  // a file
};

// The descriptor, with the URL in place of its own when there is one. Prints the error and returns
// nothing when the file cannot be read or is not right.
[[nodiscard]] std::optional<target::Descriptor> read_descriptor(const EndpointChoice& choice);

// What --disturb and --disturb-every say; it has no kinds and no plan where nothing is to be
// injected. Prints the error otherwise.
[[nodiscard]] std::optional<endpoint::NetworkFaultOptions> read_disturbances(
    const DisturbFlags& flags, std::uint64_t seed);

// Opens what the descriptor names; a reference store of our own speaks the dialect that it is
// judged by. With `faults` clients connect through a proxy. Prints the error when that fails.
[[nodiscard]] Result<target::Target, target::TargetError> open_judged_by(
    codec::Profile profile, const target::Descriptor& descriptor,
    const std::optional<endpoint::NetworkFaultOptions>& faults = {});
[[nodiscard]] run::ExitCode exit_code(const target::TargetError& error);

// "no broker at mqtt://host:1883: cannot connect ..."
[[nodiscard]] std::string describe(const run::PreflightError& error, const std::string& url);

// What the endpoint offers, with the limit of packets that its broker has announced.
[[nodiscard]] endpoint::Capabilities offered_by(const endpoint::Endpoint& endpoint,
                                                const run::PreflightReport& seen);

// How many cases run in parallel by default: fewer where all share a small quota.
struct Concurrency {
  std::size_t jobs = 1;     // cases in parallel
  std::size_t running = 1;  // of these, at most this many that do not wait
};
// For our own brokers, which answer immediately.
inline constexpr Concurrency kReferenceAtOnce{.jobs = 256, .running = 16};

// What the user requests, or, for 0, what suits the endpoint, whose replies take `round_trip`.
[[nodiscard]] Concurrency concurrency(std::size_t jobs, const endpoint::Endpoint& endpoint,
                                      endpoint::Duration round_trip);

// What the flags of a command say, read and completed from the descriptor.
struct RunBasis {
  target::Descriptor descriptor{};
  run::RunSettings settings{};  // profile, seed, an id of the run, the factor of time limits
};
// Prints an error and returns nothing where they contradict each other.
[[nodiscard]] std::optional<RunBasis> prepare_run(const RunFlags& flags);

// What --shard says: K/N, or "auto", which also prints where it was found. Empty: the whole run.
// Prints an error and returns nothing where it is wrong.
[[nodiscard]] std::optional<run::Shard> chosen_shard(const std::string& option);

// Why a run cannot begin.
struct NotReady {
  std::string reason;
  std::string hint{};  // what to do; may be empty
  run::ExitCode code = run::ExitCode::kUnreachable;
};

void print_error(const NotReady& error);

// The questions before a run; their results go into `suite`, whose settings name the run and the
// factor of time limits. `jobs`: what the user requests, or 0.
[[nodiscard]] Result<run::PreflightReport, NotReady> prepare(endpoint::Endpoint& endpoint,
                                                             const target::Descriptor& descriptor,
                                                             std::size_t jobs,
                                                             run::SuiteOptions& suite);

// The call of a command for that endpoint, each word as a shell takes it, without password:
// `'/my tools/fencepost' certify --endpoint embedded`. `program`: as it was called.
[[nodiscard]] text::CommandLine command_for(const std::string& program, const char* command,
                                            const EndpointChoice& choice);

// SIGINT, SIGTERM, SIGHUP and SIGQUIT set the flag from now on, and end all waits for endpoints a
// second later; the second one ends the program immediately. Further calls do nothing.
void stop_on_signals();
[[nodiscard]] const std::atomic<bool>& stop_flag();
// Sets the flag as a signal does. From any thread.
void stop_early();

// To standard error and standard output, immediately.
void print(const record::Said& said);

// Of a file of evidence, which has 256 MiB before compression at most.
inline constexpr std::size_t kMaxEvidenceBytes = std::size_t{300} << 20U;

// "2026-01-01T00:00:00Z"
[[nodiscard]] std::string utc_now();

// Eight random hexadecimal digits, which distinguish the keys and clients of one run from those of
// others.
[[nodiscard]] std::string random_run_id();

}  // namespace fencepost::cli
