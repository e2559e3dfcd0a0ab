#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/record_report.h"
#include "conformance/record/capture_log.h"
#include "conformance/report/report_files.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/scenario_loader.h"
#include "conformance/target/conditions_options.h"
#include "conformance/text/printable.h"
#include "endpoint/broker_process.h"
#include "endpoint/socket.h"
#include "reference_store/authorization.h"

namespace fencepost::cli {
namespace {

constexpr timespec kWatchInterval{.tv_sec = 0, .tv_nsec = 200'000'000};

// The content of the authorization file, checked; nothing after a complaint.
std::optional<std::string> read_authorization(const std::string& path) {
  const auto file = scenario::read_file(path);
  if (!file) {
    complain(file.error());
    return std::nullopt;
  }
  const auto authorization = store::parse_authorization(file->content);
  if (!authorization) {
    complain(path + ": " + authorization.error());
    return std::nullopt;
  }
  return file->content;
}

// The conditions that the options name; nothing after a complaint.
std::optional<endpoint::Conditions> read_conditions(const ServeOptions& options) {
  endpoint::Conditions out;
  for (const auto& [name, text] : {std::pair{"clock-offset", &options.clock_offset},
                                   {"response-delay", &options.response_delay},
                                   {"response-jitter", &options.response_jitter}}) {
    if (const auto wrong = target::set_condition(name, *text, out)) {
      complain("--" + *wrong);
      return std::nullopt;
    }
  }
  return out;
}

// What is wrong with the store that the options name, nothing with the right one; std::nullopt
// after a complaint.
std::optional<std::vector<const store::Fault*>> read_faults(const ServeOptions& options) {
  using Faults = std::vector<const store::Fault*>;
  if (options.fault.empty() && options.null.empty()) return Faults{};
  if (!options.fault.empty() && !options.null.empty()) {
    complain("--fault and --null: a broker serves one store");
    return std::nullopt;
  }
  auto faults = target::faults_named(options.fault.empty() ? options.null : options.fault);
  if (!faults) {
    complain(faults.error());
    return std::nullopt;
  }
  if (!options.null.empty() && faults->front()->kind != store::FaultKind::kNull) {
    complain("--null " + options.null + ": that store does something; say --fault");
    return std::nullopt;
  }
  return std::move(*faults);
}

// The log that the broker's plugin writes, and the scenario file that is made of it.
class Recording {
 public:
  // Makes the log; nothing after a complaint. An old one is what a killed broker has left.
  static std::optional<Recording> begin(const std::string& path) {
    std::error_code failed;
    Recording out{path, std::filesystem::absolute(path, failed).string() + ".log"};
    constexpr mode_t kOwnerOnly = 0600;
    const endpoint::Socket made(
        open(out.log_path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
    if (made.descriptor() >= 0) return out;
    complain(errno == EEXIST
                 ? fmt::format("{0} is there already: make a scenario of it with `fencepost record "
                               "--from {1} --out FILE`, or remove it",
                               out.log_path(), text::shell_word(out.log_path()))
                 : fmt::format("cannot write to {}: {}", out.log_path(),
                               std::generic_category().message(errno)));
    return std::nullopt;
  }

  [[nodiscard]] const std::string& log_path() const { return log_path_; }

  // Reads what is new, and says what in it no right store does.
  void look() {
    if (read()) watcher_.judge_new(log_.capture());
  }

  // Writes the scenario file and removes the log.
  [[nodiscard]] run::ExitCode end() {
    (void)read();
    const run::ExitCode code = write_recording(log_.capture(), path_, watcher_);
    std::error_code failed;
    const bool whole = code == run::ExitCode::kConformant || code == run::ExitCode::kFailed;
    if (whole) std::filesystem::remove(log_path_, failed);
    return code;
  }

  // Nothing was recorded.
  void discard() const {
    std::error_code failed;
    std::filesystem::remove(log_path_, failed);
  }

 private:
  Recording(std::string path, std::string log_path)
      : path_(std::move(path)), log_path_(std::move(log_path)) {}

  // Takes the lines that are whole; false: there are no new ones.
  bool read() {
    std::ifstream file(log_path_, std::ios::binary);
    file.seekg(position_);
    bool found = false;
    for (std::string line; std::getline(file, line) && !file.eof(); found = true) {
      position_ += static_cast<std::streamoff>(line.size() + 1);
      if (const auto wrong = log_.add_line(line)) complain(log_path_ + ": " + *wrong);
    }
    return found;
  }

  std::string path_;
  std::string log_path_;
  std::streamoff position_ = 0;
  record::CaptureLog log_;
  FlagWatcher watcher_;
};

// Complains otherwise.
bool right_can_be_served(const ServeOptions& options,
                         const std::vector<const store::Fault*>& faults) {
  if (options.right.empty()) return true;
  if (!faults.empty()) {
    complain("--fault and --right: a broker serves one store");
    return false;
  }
  if (const auto right = store::parse_decisions(options.right); !right) {
    complain("--right " + options.right + ": " + right.error());
    return false;
  }
  return true;
}

// Complains otherwise.
bool files_can_be_written(const ServeOptions& options) {
  for (const std::string& file : {options.ready_file, options.record}) {
    if (file.empty()) continue;
    if (const auto writable = report::check_writable(file); !writable) {
      complain(writable.error());
      return false;
    }
  }
  return true;
}

void announce(const ServeOptions& options, const std::vector<const store::Fault*>& faults,
              const std::string& url) {
  fmt::print("fencepost: state store ({} dialect) ready at {}\n", options.profile, url);
  for (const store::Fault* fault : faults) {
    fmt::print("fencepost: it is {} on purpose ({} {}): {}\n",
               fault->kind == store::FaultKind::kBenign ? "unusual" : "wrong", fault->id,
               fault->name, fault->text);
  }
  if (!options.right.empty()) {
    fmt::print("fencepost: it is another right store: {}\n",
               store::to_text(*store::parse_decisions(options.right)));
  }
  std::fflush(stdout);
}

run::ExitCode watch(endpoint::BrokerProcess& broker, const sigset_t& signals,
                    Recording* recording) {
  while (broker.running()) {
    const int signal = sigtimedwait(&signals, nullptr, &kWatchInterval);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
      broker.stop();
      fmt::print("fencepost: stopped\n");
      return recording == nullptr ? run::ExitCode::kConformant : recording->end();
    }
    if (recording != nullptr) recording->look();
  }
  if (recording != nullptr) (void)recording->end();
  complain("the broker ended by itself; run again with -v to see its log");
  return run::ExitCode::kUnreachable;
}

}  // namespace

run::ExitCode serve(const ServeOptions& options) {
  const auto dialect = codec::dialect_named(options.profile);
  if (!dialect) {
    complain("--profile " + options.profile + " is neither documented nor deployed");
    return run::ExitCode::kUsage;
  }
  endpoint::BrokerOptions broker_options{.port = options.port,
                                         .dialect = *dialect,
                                         .quota = options.quota,
                                         .node_id = options.node_id,
                                         .open_routing = options.open_routing,
                                         .forward_log = options.verbose};
  if (!options.authorization.empty()) {
    auto content = read_authorization(options.authorization);
    if (!content) return run::ExitCode::kUsage;
    broker_options.authorization_json = std::move(*content);
  }
  const auto conditions = read_conditions(options);
  if (!conditions) return run::ExitCode::kUsage;
  broker_options.conditions = *conditions;
  const auto faults = read_faults(options);
  if (!faults) return run::ExitCode::kUsage;
  if (!faults->empty()) {
    broker_options.fault = store::ids_of(*faults);
    broker_options.seed = options.seed;
  }
  if (!right_can_be_served(options, *faults) || !files_can_be_written(options)) {
    return run::ExitCode::kUsage;
  }
  broker_options.right = options.right;
  std::optional<Recording> recording;
  if (!options.record.empty()) {
    recording = Recording::begin(options.record);
    if (!recording) return run::ExitCode::kUsage;
    broker_options.record = recording->log_path();
  }
  // Signals are waited for, not handled: blocked before the broker starts so that none is missed.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto broker = endpoint::BrokerProcess::start(broker_options);
  if (!broker) {
    if (recording) recording->discard();
    const bool in_use = broker.error().kind == endpoint::StartErrorKind::kPortInUse;
    complain(broker.error().text + (in_use ? "; choose another one with --port" : ""));
    return broker.error().kind == endpoint::StartErrorKind::kFailed ? run::ExitCode::kInternal
                                                                    : run::ExitCode::kUsage;
  }
  const std::string url = fmt::format("mqtt://127.0.0.1:{}", (*broker)->port());
  announce(options, *faults, url);
  if (!options.ready_file.empty()) {
    if (const auto written = report::write_file(options.ready_file, url + "\n"); !written) {
      complain(written.error());
      return run::ExitCode::kInternal;
    }
  }
  return watch(**broker, signals, recording ? &*recording : nullptr);
}

}  // namespace fencepost::cli
