// `serve --judge-clients`: the broker behind a tap, the judge of what passes, and the command whose
// clients are judged.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "cli/commands.h"
#include "clients/judge.h"
#include "conformance/client_report/client_report.h"
#include "conformance/run/exit_code.h"
#include "endpoint/broker_process.h"
#include "endpoint/tap.h"

namespace fencepost::cli {

class ServeJudge final : public endpoint::TapWatcher {
 public:
  // Nothing after a complaint, also when the options are none that can be judged.
  [[nodiscard]] static std::unique_ptr<ServeJudge> prepare(const ServeOptions& options);

  // The broker goes to a port of its own, without TLS; clients reach the tap, which has its TLS.
  void add_to(endpoint::BrokerOptions& broker);
  // Nothing after a complaint: the port that clients reach.
  [[nodiscard]] std::optional<std::uint16_t> begin(const endpoint::BrokerProcess& broker);

  // Starts the command, if there is one; false after a complaint.
  [[nodiscard]] bool start_command(const std::string& url);
  // Prints what has been found since; true: the command has ended.
  [[nodiscard]] bool look();
  // Ends the command where it runs, prints the rest and the verdicts, writes the reports.
  // `interrupted`: by a signal.
  [[nodiscard]] run::ExitCode end(bool interrupted);

  void on_opened(std::uint64_t connection) override;
  void on_sent(std::uint64_t connection, std::string_view bytes) override;
  void on_delivered(std::uint64_t connection, std::string_view bytes) override;
  void on_closed(std::uint64_t connection) override;
  void on_no_handshake(std::uint64_t connection, std::string_view why) override;

 private:
  explicit ServeJudge(const ServeOptions& options);
  [[nodiscard]] clients::Time now();
  void print_findings();
  [[nodiscard]] bool command_has_ended();
  void end_command();

  const ServeOptions& options_;
  std::mutex mutex_;  // of the two below
  clients::Judge judge_;
  clients::Time last_{};
  client_report::JudgedClients judged_{};
  std::optional<endpoint::TlsListener> tls_{};
  std::set<std::string> told_{};  // why handshakes failed
  pid_t child_ = -1;
  std::unique_ptr<endpoint::Tap> tap_{};  // last: its thread uses the others
};

}  // namespace fencepost::cli
