#include "cli/serve_judge.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "cli/client_reports.h"
#include "cli/command_support.h"
#include "conformance/scenario/yaml_reader.h"
#include "conformance/target/conditions_options.h"
#include "conformance/text/printable.h"

namespace fencepost::cli {
namespace {

constexpr std::size_t kMostFindingsKept = 10'000;
constexpr std::chrono::seconds kEndOfCommand{5};
constexpr std::chrono::minutes kLongestHold{1};
constexpr int kSignalBase = 128;  // as shells say it

clients::JudgeOptions judge_options(const ServeOptions& options) {
  endpoint::Conditions conditions;
  (void)target::set_condition("clock-offset", options.clock_offset, conditions);
  return {.store_node = options.node_id, .clock_offset = conditions.clock_offset};
}

// What the options of the judge cannot be together with; empty: all is well.
std::string trouble_with(const ServeOptions& options) {
  if (!options.judge_clients) {
    if (!options.command.empty()) return "-- COMMAND is for --judge-clients";
    if (!options.json.empty() || !options.junit.empty() || !options.html.empty()) {
      return "--json, --junit and --html are for --judge-clients";
    }
    if (options.hold_puback != "0s" || options.drop_at_puback != 0) {
      return "--hold-puback and --drop-at-puback are for --judge-clients";
    }
    return {};
  }
  const auto hold = scenario::parse_duration(options.hold_puback);
  if (!hold || *hold > kLongestHold) {
    return "--hold-puback must be a duration such as 200ms, at most 1m, not \"" +
           options.hold_puback + "\"";
  }
  if (options.control) return "--judge-clients and --control: the clock of the store may change";
  return {};
}

std::vector<std::string> environment_with(const std::vector<std::string>& ours) {
  std::vector<std::string> out;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool is_ours = std::any_of(ours.begin(), ours.end(), [name](const std::string& other) {
      return std::string_view(other).starts_with(name);
    });
    if (!is_ours) out.emplace_back(text);
  }
  out.insert(out.end(), ours.begin(), ours.end());
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// A process group of its own, so that all that it starts ends with it.
int spawn_command(std::vector<std::string> words, std::vector<std::string> environment,
                  pid_t& child) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  const int failed =
      posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  return failed;
}

}  // namespace

std::unique_ptr<ServeJudge> ServeJudge::prepare(const ServeOptions& options) {
  const std::string trouble = trouble_with(options);
  if (trouble.empty()) return std::unique_ptr<ServeJudge>(new ServeJudge(options));
  complain(trouble);
  return nullptr;
}

ServeJudge::ServeJudge(const ServeOptions& options)
    : options_(options), judge_(judge_options(options)) {}

void ServeJudge::add_to(endpoint::BrokerOptions& broker) {
  if (!options_.judge_clients) return;
  broker.port = 0;
  broker.bind = "127.0.0.1";
  tls_ = std::exchange(broker.tls, std::nullopt);
}

std::optional<std::uint16_t> ServeJudge::begin(const endpoint::BrokerProcess& broker) {
  if (!options_.judge_clients) {
    return broker.tls_port() != 0 ? broker.tls_port() : broker.port();
  }
  constexpr std::uint16_t kUsualPort = 1883;
  constexpr std::uint16_t kUsualTlsPort = 8883;
  const endpoint::TlsListener tls = tls_.value_or(endpoint::TlsListener{});
  const std::uint16_t wanted = options_.port.value_or(!options_.command.empty() ? std::uint16_t{0}
                                                      : tls_                    ? kUsualTlsPort
                                                                                : kUsualPort);
  auto tap =
      endpoint::Tap::start({.address = options_.bind,
                            .port = wanted,
                            .to_port = broker.port(),
                            .certificate = tls.certificate,
                            .key = tls.key,
                            .client_ca = tls.ca,
                            .pubacks = {.hold = *scenario::parse_duration(options_.hold_puback),
                                        .drop_every = options_.drop_at_puback}},
                           *this);
  if (tap) {
    tap_ = std::move(*tap);
    return tap_->port();
  }
  complain(fmt::format("port {} of {}: {}; choose another one with --port", wanted, options_.bind,
                       tap.error()));
  return std::nullopt;
}

bool ServeJudge::start_command(const std::string& url) {
  if (options_.command.empty()) return true;
  judged_.commands.push_back({.command = options_.command});
  std::vector<std::string> variables = {
      "FENCEPOST_HOST=" + endpoint::address_to_reach(options_.bind),
      "FENCEPOST_PORT=" + std::to_string(tap_->port()), "FENCEPOST_URL=" + url};
  if (!options_.tls.empty()) {
    variables.push_back("FENCEPOST_CA_FILE=" + std::filesystem::absolute(options_.tls).string());
  }
  const int failed = spawn_command(options_.command, environment_with(variables), child_);
  if (failed == 0) return true;
  child_ = -1;
  complain(fmt::format("cannot start {}: {}", text::shell_word(options_.command.front()),
                       std::generic_category().message(failed)));
  return false;
}

bool ServeJudge::command_has_ended() {
  int status = 0;
  if (child_ < 0 || waitpid(child_, &status, WNOHANG) != child_) return false;
  child_ = -1;
  judged_.commands.front().exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
  return true;
}

void ServeJudge::end_command() {
  if (child_ < 0) return;
  const pid_t group = child_;
  kill(-group, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kEndOfCommand;
  constexpr timespec kInterval{.tv_sec = 0, .tv_nsec = 10'000'000};
  while (!command_has_ended()) {
    if (std::chrono::steady_clock::now() >= deadline) kill(-group, SIGKILL);
    nanosleep(&kInterval, nullptr);
  }
}

void ServeJudge::print_findings() {
  std::vector<clients::Finding> found;
  {
    const std::lock_guard lock(mutex_);
    found = judge_.take_findings();
    judged_.tally = judge_.tally();
  }
  for (clients::Finding& finding : found) {
    fmt::print("fencepost: {}\n", client_report::line_of(finding));
    if (judged_.findings.size() < kMostFindingsKept) {
      judged_.findings.push_back(std::move(finding));
    }
  }
  if (!found.empty()) std::fflush(stdout);
}

bool ServeJudge::look() {
  if (!options_.judge_clients) return false;
  const bool ended = command_has_ended();
  print_findings();
  return ended;
}

run::ExitCode ServeJudge::end(bool interrupted) {
  if (!options_.judge_clients) return run::ExitCode::kConformant;
  end_command();
  tap_.reset();
  print_findings();
  print_client_summary(judged_);
  const ClientReportFiles files{
      .json = options_.json, .junit = options_.junit, .html = options_.html};
  if (!write_client_reports(judged_, files)) return run::ExitCode::kInternal;
  using enum client_report::ClientVerdict;
  const auto verdict = client_report::verdict_of(judged_.tally);
  if (verdict == kBroken) return run::ExitCode::kFailed;
  if (judged_.commands.empty()) return run::ExitCode::kConformant;
  if (interrupted) return run::ExitCode::kInterrupted;
  if (judged_.commands.front().exit_code != 0) return run::ExitCode::kFailed;
  return verdict == kNothingJudged ? run::ExitCode::kNothingSelected : run::ExitCode::kConformant;
}

// The clock of the store is the wall clock; what is told of it never goes back.
clients::Time ServeJudge::now() {
  last_ = std::max(last_, std::chrono::duration_cast<clients::Time>(
                              std::chrono::system_clock::now().time_since_epoch()));
  return last_;
}

void ServeJudge::on_opened(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  judge_.opened(connection, now());
}

void ServeJudge::on_sent(std::uint64_t connection, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  judge_.sent(connection, bytes, now());
}

void ServeJudge::on_delivered(std::uint64_t connection, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  judge_.delivered(connection, bytes, now());
}

void ServeJudge::on_no_handshake(std::uint64_t /*connection*/, std::string_view why) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t kMostTold = 10;
  if (told_.size() >= kMostTold || !told_.emplace(why).second) return;
  fmt::print("fencepost: a connection has ended in its TLS handshake: {}\n", why);
  std::fflush(stdout);
}

void ServeJudge::on_closed(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  judge_.closed(connection, now());
}

}  // namespace fencepost::cli
