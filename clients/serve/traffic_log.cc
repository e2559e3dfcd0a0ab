#include "clients/serve/traffic_log.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fcntl.h>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "endpoint/socket.h"
#include "suite/scenario/library.h"

namespace fencepost::serve {
namespace {

// The sentences of the catalogue that is built in.
record::RuleText rule_texts() {
  std::vector<scenario::LoadError> errors;
  auto catalogue = std::make_shared<scenario::Catalogue>(load_library({}, errors).catalogue);
  return [catalogue](std::string_view id) {
    const scenario::Requirement* found = catalogue->find(id);
    return found == nullptr ? std::string() : found->text;
  };
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace

TrafficLog::TrafficLog(const TrafficOptions& options)
    : record_(options.record),
      explains_(options.explain),
      text_of_rule_(options.explain ? rule_texts() : record::RuleText{}),
      explainer_(text_of_rule_) {}

Result<std::unique_ptr<TrafficLog>, std::string> TrafficLog::begin(const TrafficOptions& options) {
  std::unique_ptr<TrafficLog> out(new TrafficLog(options));
  if (!options.record.empty()) {
    if (auto made = out->make_log(); !made) return fail(std::move(made.error()));
  } else if (options.explain || options.control) {
    out->memory_.emplace("fencepost-traffic", "");
    if (!out->memory_->ok()) {
      return fail("cannot create a file in memory: " + std::generic_category().message(errno));
    }
    out->log_path_ = out->memory_->path_for_others();
  }
  return out;
}

// An old log is what a killed broker has left.
Result<void, std::string> TrafficLog::make_log() {
  std::error_code failed;
  log_path_ = std::filesystem::absolute(record_, failed).string() + ".log";
  constexpr mode_t kOwnerOnly = 0600;
  const endpoint::Socket made(
      open(log_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (made.descriptor() >= 0) return {};
  return fail(
      errno == EEXIST
          ? fmt::format(
                "{0} exists already: convert it with `fencepost record --from {1} --out FILE`, "
                "or remove it",
                log_path_, text::shell_word(log_path_))
          : fmt::format("cannot write to {}: {}", log_path_,
                        std::generic_category().message(errno)));
}

bool TrafficLog::read(std::vector<std::string>& lines, record::Said& said) {
  std::ifstream file(log_path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(position_));
  bool found = false;
  for (std::string line; std::getline(file, line) && !file.eof(); found = true) {
    position_ += line.size() + 1;
    if (const auto wrong = log_.add_line(line)) {
      said.errors += "fencepost: " + log_path_ + ": " + *wrong + "\n";
    }
    if (log_.remark()) {
      if (explains_) explainer_.tell_ignored(lines);
      tell_remark(*log_.remark(), lines);
    }
    if (!explains_) continue;
    const auto& events = log_.capture().events;
    for (; notified_ < events.size(); ++notified_) explainer_.see(events[notified_], lines);
  }
  if (memory_) {
    log_.forget_events();
    notified_ = 0;
    memory_->forget_until(position_);
  }
  return found;
}

void TrafficLog::tell_remark(const record::LogRemark& remark,
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

record::Said TrafficLog::look(std::chrono::microseconds now) {
  record::Said out;
  if (log_path_.empty()) return out;
  std::vector<std::string> lines;
  if (read(lines, out) && !record_.empty()) {
    out.errors += watcher_.judge_new(log_.capture()).errors;
  }
  if (explains_) explainer_.settle(now, lines);
  out.output = joined(lines);
  return out;
}

record::Recording TrafficLog::end(std::chrono::microseconds now) {
  record::Recording out;
  if (log_path_.empty()) return out;
  std::vector<std::string> lines;
  (void)read(lines, out.said);
  if (explains_) explainer_.settle(now + record::Explainer::kPatience, lines);
  out.said.output = joined(lines);
  if (record_.empty()) return out;
  const record::Recording made = write_recording(log_.capture(), record_, watcher_);
  out.said.output += made.said.output;
  out.said.errors += made.said.errors;
  out.code = made.code;
  if (out.code != run::ExitCode::kInternal) discard();
  return out;
}

void TrafficLog::discard() const {
  std::error_code failed;
  if (!record_.empty()) std::filesystem::remove(log_path_, failed);
}

}  // namespace fencepost::serve
