#include "cli/serve_traffic.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/command_support.h"
#include "conformance/scenario/library.h"
#include "conformance/text/printable.h"
#include "endpoint/socket.h"

namespace fencepost::cli {
namespace {

std::chrono::microseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

// The sentences of the catalogue that is built in.
record::RuleText rule_texts() {
  std::vector<scenario::LoadError> errors;
  auto catalogue = std::make_shared<scenario::Catalogue>(load_library({}, errors).catalogue);
  return [catalogue](std::string_view id) {
    const scenario::Requirement* found = catalogue->find(id);
    return found == nullptr ? std::string() : found->text;
  };
}

void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print("{}\n", line);
  if (!lines.empty()) std::fflush(stdout);
}

}  // namespace

ServeTraffic::ServeTraffic(const ServeOptions& options)
    : path_(options.record),
      explains_(options.explain),
      text_of_rule_(options.explain ? rule_texts() : record::RuleText{}),
      narrator_(text_of_rule_) {}

std::unique_ptr<ServeTraffic> ServeTraffic::begin(const ServeOptions& options) {
  std::unique_ptr<ServeTraffic> out(new ServeTraffic(options));
  if (!options.record.empty()) return out->make_log() ? std::move(out) : nullptr;
  if (options.explain || options.control) {
    out->memory_.emplace("fencepost-traffic", "");
    if (!out->memory_->ok()) {
      complain("cannot make a file in memory: " + std::generic_category().message(errno));
      return nullptr;
    }
    out->log_path_ = out->memory_->path_for_others();
  }
  return out;
}

// An old log is what a killed broker has left.
bool ServeTraffic::make_log() {
  std::error_code failed;
  log_path_ = std::filesystem::absolute(path_, failed).string() + ".log";
  constexpr mode_t kOwnerOnly = 0600;
  const endpoint::Socket made(
      open(log_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (made.descriptor() >= 0) return true;
  complain(errno == EEXIST
               ? fmt::format("{0} is there already: make a scenario of it with `fencepost record "
                             "--from {1} --out FILE`, or remove it",
                             log_path_, text::shell_word(log_path_))
               : fmt::format("cannot write to {}: {}", log_path_,
                             std::generic_category().message(errno)));
  return false;
}

bool ServeTraffic::read(std::vector<std::string>& lines) {
  std::ifstream file(log_path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(position_));
  bool found = false;
  for (std::string line; std::getline(file, line) && !file.eof(); found = true) {
    position_ += line.size() + 1;
    if (const auto wrong = log_.add_line(line)) complain(log_path_ + ": " + *wrong);
    if (log_.remark()) {
      if (explains_) narrator_.tell_ignored(lines);
      tell_remark(*log_.remark(), lines);
    }
    if (!explains_) continue;
    const auto& events = log_.capture().events;
    for (; told_ < events.size(); ++told_) narrator_.see(events[told_], lines);
  }
  if (memory_) {
    log_.forget_events();
    told_ = 0;
    memory_->forget_until(position_);
  }
  return found;
}

void ServeTraffic::tell_remark(const record::LogRemark& remark,
                               std::vector<std::string>& lines) const {
  const std::string client = text::one_line(text::printable(remark.client_id));
  if (remark.kind == record::LogRemark::Kind::kControl) {
    lines.push_back(fmt::format("fencepost: control by {}: {}", client, remark.text));
  } else if (explains_) {
    lines.push_back(
        fmt::format("{}: a message to {}, which is not the request topic: ignored, "
                    "ENV-TOPIC-2: {}",
                    client, remark.text, text_of_rule_("ENV-TOPIC-2")));
  }
}

void ServeTraffic::look() {
  if (log_path_.empty()) return;
  std::vector<std::string> lines;
  if (read(lines) && !path_.empty()) watcher_.judge_new(log_.capture());
  if (explains_) narrator_.settle(wall_clock(), lines);
  print_lines(lines);
}

run::ExitCode ServeTraffic::end() {
  if (log_path_.empty()) return run::ExitCode::kConformant;
  std::vector<std::string> lines;
  (void)read(lines);
  // Nothing comes any more.
  if (explains_) narrator_.settle(wall_clock() + record::Narrator::kPatience, lines);
  print_lines(lines);
  if (path_.empty()) return run::ExitCode::kConformant;
  const run::ExitCode code = write_recording(log_.capture(), path_, watcher_);
  const bool whole = code == run::ExitCode::kConformant || code == run::ExitCode::kFailed;
  if (whole) discard();
  return code;
}

void ServeTraffic::discard() const {
  std::error_code failed;
  if (!path_.empty()) std::filesystem::remove(log_path_, failed);
}

}  // namespace fencepost::cli
