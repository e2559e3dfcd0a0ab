// `serve --judge-clients`: what passes a tap before the broker, given to the judge of clients.
//
//   ClientJudge judge({.store_node = "StateStore"}, wall_clock);
//   auto tap = endpoint::Tap::start(options, judge);
//   for (const std::string& line : judge.take_lines()) print(line);  // from time to time
//   tap->reset();                                                    // ends all connections
//   return exit_code(judge.judged(), interrupted);
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clients/client_report/client_report.h"
#include "clients/judge.h"
#include "endpoint/tap.h"
#include "suite/run/exit_code.h"

namespace fencepost::serve {

// The tap's thread passes it the packets; all other functions are for one thread.
class ClientJudge final : public endpoint::TapWatcher {
 public:
  // `clock` is called in the tap's thread; the judge never sees it go back.
  ClientJudge(clients::JudgeOptions options, std::function<clients::Time()> clock);

  // What has been found since, and why connections were never made, a line each.
  [[nodiscard]] std::vector<std::string> take_lines();

  // The findings that take_lines() has returned, and the counts at that time; with the command, if
  // there is one. If there are very many findings, only the first ones.
  [[nodiscard]] const client_report::JudgedClients& judged() const { return judged_; }
  // A command was started, whose clients are judged.
  void add_command(const std::vector<std::string>& words);
  // It has ended like this.
  void end_command(int exit_code);

  void on_opened(std::uint64_t connection) override;
  void on_sent(std::uint64_t connection, std::string_view bytes) override;
  void on_delivered(std::uint64_t connection, std::string_view bytes) override;
  void on_closed(std::uint64_t connection) override;
  void on_no_handshake(std::uint64_t connection, std::string_view why) override;

 private:
  [[nodiscard]] clients::Time now();

  std::function<clients::Time()> clock_;
  std::mutex mutex_;  // of the next four
  clients::Judge judge_;
  clients::Time last_{};
  std::set<std::string> handshakes_{};  // why they failed
  std::vector<std::string> lines_{};
  client_report::JudgedClients judged_{};
};

// kFailed when a client has broken a rule; otherwise, without a command kConformant. With one:
// kInterrupted where a signal has ended it, kFailed when it has failed, kNothingSelected when it
// has sent no request.
[[nodiscard]] run::ExitCode exit_code(const client_report::JudgedClients& judged, bool interrupted);

}  // namespace fencepost::serve
