// fencepost certify-all: every endpoint of a file, some in parallel, each in its own process, and
// what they do side by side.

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/files.h"
#include "base/text/output.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "endpoint/socket.h"
#include "endpoint/url.h"
#include "report/findings.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {
namespace {

constexpr std::size_t kMaxNameBytes = 60;
constexpr int kLookMs = 50;

// A line of the file: NAME and an endpoint, or a descriptor.
struct FleetMember {
  std::string name;
  std::string target;
  int exit_code = static_cast<int>(run::ExitCode::kInternal);
};

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

// Errors name the line and quote no URL, which may have a password.
std::optional<std::vector<FleetMember>> read_fleet(const std::string& path) {
  const auto file = scenario::read_file(path);
  if (!file) {
    print_error(file.error());
    return std::nullopt;
  }
  std::vector<FleetMember> out;
  std::set<std::string> names;
  std::istringstream lines(file->content);
  int number = 0;
  int bad = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    FleetMember one{};
    std::string rest;
    words >> one.name >> one.target >> rest;
    if (one.name.empty() || one.name.starts_with('#')) continue;
    std::string wrong;
    if (one.name == "compare" || one.name == "index") {
      wrong = "the name " + one.name + " is reserved for the comparison";
    } else if (!is_name(one.name)) {
      wrong = "the name must be letters, digits, -, _ and ., as its reports are named after it";
    } else if (one.target.empty() || (!rest.empty() && !rest.starts_with('#'))) {
      wrong = "expected a name, and an endpoint or a descriptor (*.yaml), without blanks in them";
    } else if (!names.insert(one.name).second) {
      wrong = "the name " + one.name + " occurs twice";
    }
    if (!wrong.empty()) {
      print_error(fmt::format("{}:{}: {}", path, number, wrong));
      constexpr int kMaxDiagnostics = 100;
      if (++bad < kMaxDiagnostics) continue;
      print_error(
          fmt::format("{} lines of {} have errors so far; the rest was not read", bad, path));
      return std::nullopt;
    }
    out.push_back(std::move(one));
  }
  if (bad > 0) return std::nullopt;
  if (out.empty()) {
    print_error(path + ": no endpoint in this file; a line is a name and an endpoint");
    return std::nullopt;
  }
  return out;
}

void add_all(std::vector<std::string>& arguments, const char* option,
             const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  }
}

std::vector<std::string> arguments_of(const CertifyAllOptions& options, const FleetMember& one,
                                      const std::filesystem::path& folder,
                                      const std::filesystem::path& beside) {
  const bool descriptor = one.target.ends_with(".yaml") || one.target.ends_with(".yml");
  const std::string target = descriptor ? (beside / one.target).lexically_normal().string()
                                        : endpoint::without_password(one.target);
  const std::string stem = (folder / one.name).string();
  std::vector<std::string> out = {
      options.program, "certify",      descriptor ? "--descriptor" : "--endpoint",
      target,          "--json",       stem + ".json",
      "--html",        stem + ".html", "--junit",
      stem + ".xml",   "--no-github"};
  if (!options.profile.empty()) add_all(out, "--profile", {options.profile});
  if (options.timeout_scale != 1.0) {
    add_all(out, "--timeout-scale", {fmt::format("{}", options.timeout_scale)});
  }
  if (options.jobs > 0) add_all(out, "--jobs", {std::to_string(options.jobs)});
  if (options.strict) out.emplace_back("--strict");
  add_all(out, "--run", options.selection.run);
  add_all(out, "--skip", options.selection.skip);
  add_all(out, "--tag", options.selection.tags);
  add_all(out, "--requirement", options.selection.requirements);
  return out;
}

// The environment of this process for a run, with the password of its endpoint, which stands on no
// command line; what it prints goes to no runner of GitHub.
std::vector<std::string> environment_of(const std::string& password) {
  std::vector<std::string> ours = {"GITHUB_ACTIONS=false"};
  if (!password.empty()) ours.push_back("FENCEPOST_PASSWORD=" + password);
  return environment_with(own_environment(), ours);
}

// Starts it with its output in a file; nothing when it cannot be started.
std::optional<ChildProcess> start(std::vector<std::string> arguments,
                                  std::vector<std::string> variables, const std::string& log) {
  const endpoint::Socket output(open_new_file(log));  // closes any descriptor
  if (output.descriptor() < 0) {
    print_error(fmt::format("cannot write {}: {}", log, std::strerror(errno)));  // NOLINT
    return std::nullopt;
  }
  // In its own process group: Ctrl-C reaches only this process, which passes it on once.
  const auto child = ChildProcess::start({.words = std::move(arguments),
                                          .program = "/proc/self/exe",
                                          .variables = std::move(variables),
                                          .input = STDIN_FILENO,
                                          .output = output.descriptor(),
                                          .errors = output.descriptor()});
  if (child) return *child;
  print_error(fmt::format("cannot start a run: {}", std::strerror(child.error())));  // NOLINT
  return std::nullopt;
}

class FleetRuns {
 public:
  FleetRuns(const CertifyAllOptions& options, std::vector<FleetMember>& fleet)
      : options_(options), fleet_(fleet) {}

  void run() {
    const std::filesystem::path beside = std::filesystem::path(options_.file).parent_path();
    std::size_t next = 0;
    while (next < fleet_.size() || !running_.empty()) {
      while (next < fleet_.size() && running_.size() < options_.at_once && !stop_flag()) {
        FleetMember& one = fleet_[next++];
        const std::string log =
            (std::filesystem::path(options_.out) / (one.name + ".log")).string();
        const auto url = endpoint::parse_url(one.target);
        auto child = start(arguments_of(options_, one, options_.out, beside),
                           environment_of(url ? url->password : ""), log);
        if (child) running_.emplace_back(*child, &one);
      }
      if (stop_flag()) {
        next = fleet_.size();
        stop_running();
      }
      if (!running_.empty()) wait_for_one();
    }
  }

 private:
  // Once: the second signal would end a run without its reports.
  void stop_running() {
    if (stopped_) return;
    stopped_ = true;
    for (const auto& [child, one] : running_) kill(child.pid(), SIGTERM);
  }

  void wait_for_one() {
    const auto found = std::find_if(running_.begin(), running_.end(),
                                    [](auto& each) { return each.first.ending().has_value(); });
    if (found == running_.end()) {
      poll(nullptr, 0, kLookMs);  // until a signal or a while later: it may be for those that run
      return;
    }
    FleetMember& one = *found->second;
    const ChildEnding ending = *found->first.ending();
    if (ending.signal == 0) one.exit_code = ending.code;
    running_.erase(found);
    const auto code = static_cast<run::ExitCode>(one.exit_code);
    const bool part = code == run::ExitCode::kConformant && is_filtered(options_.selection);
    const std::string_view word = part ? "no failure in a part" : report::name(code);
    text::print("{}: {} (exit code {}), {} running\n", one.name, word, one.exit_code,
                running_.size());
    std::fflush(stdout);
  }

  const CertifyAllOptions& options_;
  std::vector<FleetMember>& fleet_;
  std::vector<std::pair<ChildProcess, FleetMember*>> running_;
  bool stopped_ = false;
};

// The first of these that any run has: what fails counts more than what could not be decided.
run::ExitCode worst_of(const std::vector<FleetMember>& fleet) {
  using enum run::ExitCode;
  for (const run::ExitCode code :
       {kInternal, kFailed, kUsage, kUnreachable, kInterrupted, kNothingSelected, kInconclusive}) {
    const bool has = std::any_of(fleet.begin(), fleet.end(), [&](const FleetMember& one) {
      return one.exit_code == static_cast<int>(code);
    });
    if (has) return code;
  }
  return kConformant;
}

}  // namespace

run::ExitCode certify_all(const CertifyAllOptions& options) {
  auto fleet = read_fleet(options.file);
  if (!fleet) return run::ExitCode::kUsage;
  std::error_code failed;
  std::filesystem::create_directories(options.out, failed);
  if (failed) {
    print_error(fmt::format("cannot create the folder {}: {}", options.out, failed.message()));
    return run::ExitCode::kUsage;
  }
  stop_on_signals();
  FleetRuns(options, *fleet).run();
  if (stop_flag()) {
    // Reading them all again would delay the end too long.
    print_error(fmt::format(
        "interrupted; the reports of the runs are in {}, fencepost compare shows them side by side",
        options.out));
    return run::ExitCode::kInterrupted;
  }
  CompareOptions compared;
  const std::filesystem::path folder = options.out;
  for (const FleetMember& one : *fleet) {
    const std::string file = (folder / (one.name + ".json")).string();
    if (std::filesystem::exists(file)) {
      compared.runs.push_back(one.name + "=" + file);
    } else {
      print_error(fmt::format("{} has no report; see {}", one.name,
                              (folder / (one.name + ".log")).string()));
    }
  }
  if (compared.runs.empty()) return worst_of(*fleet);
  compared.written = {{"json", (folder / "compare.json").string()},
                      {"html", (folder / "index.html").string()}};
  const run::ExitCode alike = compare(compared);
  text::print("reports, logs and the comparison: {}\n", compared.written.of("html"));
  return alike == run::ExitCode::kUsage || alike == run::ExitCode::kInternal ? alike
                                                                             : worst_of(*fleet);
}

}  // namespace fencepost::cli
