#include "clients/serve/client_judge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fencepost::serve {
namespace {

constexpr std::size_t kMaxFindingsKept = 10'000;
constexpr std::size_t kMaxHandshakes = 10;  // that are reported

}  // namespace

ClientJudge::ClientJudge(clients::JudgeOptions options, std::function<clients::Time()> clock)
    : clock_(std::move(clock)), judge_(std::move(options)) {}

std::vector<std::string> ClientJudge::take_lines() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out = std::exchange(lines_, {});
  for (clients::Finding& finding : judge_.take_findings()) {
    out.push_back("fencepost: " + client_report::line_of(finding));
    if (judged_.findings.size() < kMaxFindingsKept) {
      judged_.findings.push_back(std::move(finding));
    }
  }
  judged_.tally = judge_.tally();
  return out;
}

void ClientJudge::add_command(const std::vector<std::string>& words) {
  judged_.commands.push_back({.command = words});
}

void ClientJudge::end_command(int exit_code) { judged_.commands.at(0).exit_code = exit_code; }

// Wall clocks are set back at times.
clients::Time ClientJudge::now() {
  last_ = std::max(last_, clock_());
  return last_;
}

void ClientJudge::on_opened(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  judge_.opened(connection, now());
}

void ClientJudge::on_sent(std::uint64_t connection, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  judge_.sent(connection, bytes, now());
}

void ClientJudge::on_delivered(std::uint64_t connection, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  judge_.delivered(connection, bytes, now());
}

void ClientJudge::on_closed(std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  judge_.closed(connection, now());
}

void ClientJudge::on_no_handshake(std::uint64_t /*connection*/, std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (handshakes_.size() >= kMaxHandshakes || !handshakes_.emplace(why).second) return;
  lines_.push_back(fmt::format("fencepost: a connection ended during its TLS handshake: {}", why));
}

run::ExitCode exit_code(const client_report::JudgedClients& judged, bool interrupted) {
  using enum client_report::ClientVerdict;
  const auto verdict = client_report::verdict_of(judged.tally);
  if (verdict == kBroken) return run::ExitCode::kFailed;
  if (judged.commands.empty()) return run::ExitCode::kConformant;
  if (interrupted) return run::ExitCode::kInterrupted;
  if (judged.commands.front().exit_code != 0) return run::ExitCode::kFailed;
  return verdict == kNothingJudged ? run::ExitCode::kNothingSelected : run::ExitCode::kConformant;
}

}  // namespace fencepost::serve
