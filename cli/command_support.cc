#include "cli/command_support.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <semaphore.h>

#include "base/text/printable.h"
#include "endpoint/cancellation.h"
#include "endpoint/url.h"
#include "report/github.h"
#include "report/shard_of_job.h"
#include "suite/scenario/library.h"
#include "suite/target/contradiction.h"
#include "suite/target/fault_plan.h"

namespace fencepost::cli {
namespace {

// Cases mostly wait, for the network or for a deadline, so far more of them than cores can run in
// parallel.
constexpr std::size_t kNetworkJobs = 64;
// Our own brokers have no other users, so that all cases that wait can do so in parallel. The cases
// that do not wait are limited by this machine's cores, unless replies are held back.
constexpr endpoint::Duration kPromptReply = std::chrono::milliseconds(5);

// Fewer run in parallel where their keys might not fit.
constexpr std::size_t kKeysOfACase = 16;

std::atomic<bool> stop_requested{false};
std::atomic<bool> signalled{false};

sem_t first_signal;

void request_stop(int signal) {
  stop_requested = true;
  if (signalled.exchange(true)) _exit(128 + signal);  // the second time, immediately
  sem_post(&first_signal);
}

// What is in flight has some time to finish; then all waits for the endpoint are cancelled.
void end_waits_after_signal() {
  constexpr std::chrono::milliseconds kGrace{1'000};
  while (sem_wait(&first_signal) != 0) {
  }
  std::this_thread::sleep_for(kGrace);
  endpoint::end_all_waits();
}

// Belongs to the object that lives.
struct Paused {
  std::FILE* stream = nullptr;  // null: nothing is paused
  std::string word{};
};
Paused paused;

std::string_view headline(run::PreflightErrorKind kind) {
  switch (kind) {
    case run::PreflightErrorKind::kNoBroker:
      return "no broker";
    case run::PreflightErrorKind::kNoStore:
      return "a broker, but no state store";
    case run::PreflightErrorKind::kNotAllowed:
      return "not allowed";
    case run::PreflightErrorKind::kWrongBroker:
      return "a broker that breaks MQTT 5";
  }
  return "unknown";
}

// May every user of this machine read it?
bool is_open_to_others(const std::filesystem::path& path) {
  std::error_code failed;
  const auto allowed = std::filesystem::status(path, failed).permissions();
  return !failed && (allowed & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

// A descriptor is shared more easily than a password should be, and a key is one.
void warn_of_readable_secrets(const std::string& path, const target::Descriptor& descriptor) {
  std::set<std::filesystem::path> keys = {descriptor.mqtt.key};
  for (const auto& [role, credentials] : descriptor.mqtt.roles) keys.insert(credentials.key);
  for (const std::filesystem::path& key : keys) {
    if (key.empty() || !is_open_to_others(key)) continue;
    print_error("warning: every user of this machine may read the key " + key.string() +
                ": chmod o-r");
  }
  if (!target::holds_password(descriptor) || !is_open_to_others(path)) return;
  print_error("warning: " + path +
              " holds a password, and every user of this machine may read it: chmod o-r, or name a "
              "variable with password_env");
}

}  // namespace

void print_error(text::Lines lines) { text::write(stderr, lines.text, false); }

void print_error(const std::string& text) {
  std::string lines = "fencepost: " + text;
  while (lines.ends_with('\n')) lines.pop_back();
  for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1)) {
    lines.insert(at + 1, "  ");
  }
  print_error(text::Lines(lines + "\n"));
}

bool succeeded(const Result<void, std::string>& done) {
  if (!done) print_error(done.error());
  return done.has_value();
}

WorkflowPause::WorkflowPause(std::FILE* stream) {
  const report::Github github(true, report::variable_of_this_process);
  if (!github.on()) return;
  // Not the run's id, which the endpoint gets to see.
  std::random_device device;
  paused = {.stream = stream,
            .word = fmt::format("fencepost-{:08x}{:08x}{:08x}{:08x}", device(), device(), device(),
                                device())};
  text::write_commands(stream, github.pause_commands(paused.word));
  std::fflush(stream);
}

void WorkflowPause::end_all() {
  if (paused.stream == nullptr) return;
  const report::Github github(true, report::variable_of_this_process);
  std::fflush(stdout);
  text::write_commands(paused.stream, github.resume_commands(paused.word));
  std::fflush(paused.stream);
  paused = {};
}

std::optional<target::Descriptor> read_descriptor(const EndpointChoice& choice) {
  target::Descriptor descriptor;
  if (!choice.descriptor.empty()) {
    const auto file = scenario::read_file(choice.descriptor);
    if (!file) {
      print_error(file.error());
      return std::nullopt;
    }
    std::vector<scenario::LoadError> errors;
    auto loaded = target::load_descriptor(*file, errors);
    for (const std::string& error : describe_all(errors)) print_error(error);
    if (!loaded) return std::nullopt;
    descriptor = std::move(*loaded);
    warn_of_readable_secrets(choice.descriptor, descriptor);
  }
  if (!choice.url.empty()) descriptor.url = choice.url;
  if (const auto password = report::variable_of_this_process("FENCEPOST_PASSWORD")) {
    descriptor.url = endpoint::with_password(descriptor.url, *password);
  }
  return descriptor;
}

std::optional<endpoint::NetworkFaultOptions> read_disturbances(const DisturbFlags& flags,
                                                               std::uint64_t seed) {
  if (target::is_fault_plan(flags.disturb)) {
    const auto file = scenario::read_file(flags.disturb);
    if (!file) {
      print_error("--disturb: " + file.error());
      return std::nullopt;
    }
    std::vector<scenario::LoadError> errors;
    auto plan = target::load_fault_plan(*file, errors);
    for (const std::string& error : describe_all(errors)) print_error(error);
    if (!plan) return std::nullopt;
    return endpoint::NetworkFaultOptions{.plan = std::move(*plan)};
  }
  const auto kinds = endpoint::parse_network_faults(flags.disturb);
  if (!kinds) {
    print_error("--disturb: " + kinds.error());
    return std::nullopt;
  }
  constexpr std::chrono::hours kMostEvery{1};
  const auto every = scenario::parse_duration(flags.disturb_every);
  if (!every || every->count() == 0 || *every > kMostEvery) {
    print_error("--disturb-every " + flags.disturb_every +
                " must be a duration such as 250ms, at most 1h");
    return std::nullopt;
  }
  return endpoint::NetworkFaultOptions{.kinds = *kinds, .every = *every, .seed = seed};
}

Result<target::Target, target::TargetError> open_judged_by(
    codec::Profile profile, const target::Descriptor& descriptor,
    const std::optional<endpoint::NetworkFaultOptions>& faults) {
  auto target = open_target(descriptor,
                            profile == codec::Profile::kDocumented ? codec::DialectId::kDocumented
                                                                   : codec::DialectId::kDeployed,
                            faults);
  if (!target) print_error(target.error().text);
  return target;
}

run::ExitCode exit_code(const target::TargetError& error) {
  return error.kind == target::TargetErrorKind::kUsage ? run::ExitCode::kUsage
                                                       : run::ExitCode::kUnreachable;
}

std::string describe(const run::PreflightError& error, const std::string& url) {
  return fmt::format("{} at {}: {}", headline(error.kind), url, error.text);
}

endpoint::Capabilities offered_by(const endpoint::Endpoint& endpoint,
                                  const run::PreflightReport& seen) {
  endpoint::Capabilities offered = endpoint.capabilities();
  if (!offered.max_packet_size) offered.max_packet_size = seen.packet_limit;
  return offered;
}

Concurrency concurrency(std::size_t jobs, const endpoint::Endpoint& endpoint,
                        endpoint::Duration round_trip) {
  const auto all_running = [](std::size_t count) { return Concurrency{count, count}; };
  if (jobs > 0) return all_running(jobs);
  const endpoint::Capabilities& offered = endpoint.capabilities();
  if (offered.quota && !offered.has_isolated_broker) {
    return all_running(std::clamp(*offered.quota / kKeysOfACase, std::size_t{1}, kNetworkJobs));
  }
  if (endpoint.url().starts_with("embedded")) {
    const bool prompt = round_trip < kPromptReply;
    return prompt ? kReferenceAtOnce : all_running(kReferenceAtOnce.jobs);
  }
  if (offered.transport) return all_running(kNetworkJobs);
  return all_running(std::max(1U, std::thread::hardware_concurrency()));
}

std::optional<run::Shard> chosen_shard(const std::string& option) {
  const auto found = report::shard_of_process(option, report::variable_of_this_process);
  if (!found) {
    print_error(found.error());
    return std::nullopt;
  }
  const run::Shard& shard = found->shard;
  if (!found->source.empty()) {
    print_error("fencepost: shard {}/{} ({})\n", shard.index, shard.total, found->source);
  }
  return shard;
}

std::optional<RunBasis> prepare_run(const RunFlags& flags) {
  auto descriptor = read_descriptor({flags.endpoint, flags.descriptor});
  if (!descriptor) return std::nullopt;
  // The options take no other words than these.
  const codec::Profile profile = flags.profile.empty()
                                     ? descriptor->profile.value_or(codec::Profile::kAuto)
                                     : codec::profile_named(flags.profile).value();
  const scenario::Edition edition = flags.edition.empty()
                                        ? descriptor->edition.value_or(scenario::Edition::kAuto)
                                        : scenario::edition_named(flags.edition).value();
  descriptor->mqtt.driver =
      endpoint::driver_named(flags.driver).value_or(endpoint::Driver::kBuiltin);
  std::random_device device;
  return RunBasis{.descriptor = *std::move(descriptor),
                  .settings = {.profile = profile,
                               .edition = edition,
                               .run_id = random_run_id(),
                               .seed = flags.seed.value_or(device()),
                               .timeout_scale = flags.timeout_scale}};
}

void print_error(const NotReady& error) {
  print_error(error.reason);
  if (!error.hint.empty()) print_error("           {}\n", error.hint);
}

Result<run::PreflightReport, NotReady> prepare(endpoint::Endpoint& endpoint,
                                               const target::Descriptor& descriptor,
                                               std::size_t jobs, run::SuiteOptions& suite) {
  const auto checked =
      run::preflight(endpoint, suite.settings.run_id, suite.settings.timeout_scale);
  if (!checked && stop_flag()) {
    return fail(NotReady{.reason = "interrupted", .hint = {}, .code = run::ExitCode::kInterrupted});
  }
  if (!checked) {
    return fail(NotReady{.reason = describe(checked.error(), endpoint.url()),
                         .hint = checked.error().hint});
  }
  apply_preflight(*checked, suite);
  suite.settings.quota = endpoint.capabilities().quota;
  if (descriptor.expiry_tolerance) suite.settings.expiry_tolerance = *descriptor.expiry_tolerance;
  if (descriptor.disconnect_settling) {
    suite.settings.disconnect_settling = *descriptor.disconnect_settling;
  }
  suite.settings.key_prefix = endpoint.capabilities().key_prefix;
  suite.settings.client_ids = endpoint.capabilities().client_ids;
  suite.offered = offered_by(endpoint, *checked);
  if (std::string wrong = target::contradiction(descriptor, *checked); !wrong.empty()) {
    return fail(NotReady{.reason = std::move(wrong), .hint = {}, .code = run::ExitCode::kUsage});
  }
  const Concurrency at_once = concurrency(jobs, endpoint, checked->round_trip_p50);
  suite.jobs = at_once.jobs;
  suite.running = at_once.running;
  return *checked;
}

void stop_on_signals() {
  if (static bool begun = false; std::exchange(begun, true)) return;
  sem_init(&first_signal, 0, 0);
  try {
    std::thread(end_waits_after_signal).detach();
  } catch (const std::system_error&) {  // then waits are not cancelled
  }
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::signal(SIGHUP, request_stop);  // a terminal that is closed, a CI runner that goes
  std::signal(SIGQUIT, request_stop);
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT: the C API is like this
}

const std::atomic<bool>& stop_flag() { return stop_requested; }

void stop_early() { stop_requested = true; }

text::CommandLine command_for(const std::string& program, const char* command,
                              const EndpointChoice& choice) {
  text::CommandLine out(program, command);
  // Passwords do not go into reports.
  if (!choice.url.empty()) out.option("--endpoint", endpoint::redacted(choice.url));
  out.option("--descriptor", choice.descriptor);
  return out;
}

void print(const record::Said& said) {
  print_error(text::Lines(said.errors));
  text::print("{}", text::Lines(said.output));
  if (!said.output.empty()) std::fflush(stdout);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

std::string random_run_id() {
  std::random_device device;
  return fmt::format("{:08x}", device());
}

}  // namespace fencepost::cli
