// What `fencepost serve` makes of the log that the broker's plugin writes: a scenario file, a line
// for each request, and what clients have switched.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/record_report.h"
#include "conformance/record/capture_log.h"
#include "conformance/record/narrator.h"
#include "conformance/run/exit_code.h"
#include "endpoint/memory_file.h"

namespace fencepost::cli {

class ServeTraffic {
 public:
  // Nothing after a complaint: the log of a recording cannot be made, or an old one is there.
  [[nodiscard]] static std::unique_ptr<ServeTraffic> begin(const ServeOptions& options);

  // Where the plugin has to write; empty when nobody wants to know.
  [[nodiscard]] const std::string& log_path() const { return log_path_; }

  // Reads what is new, and tells it.
  void look();

  // Tells the rest, writes the scenario file, if one is wanted, and removes the log.
  [[nodiscard]] run::ExitCode end();

  // The broker did not start: nothing was logged.
  void discard() const;

 private:
  explicit ServeTraffic(const ServeOptions& options);
  [[nodiscard]] bool make_log();
  // Takes the lines that are whole; false: there are no new ones.
  bool read(std::vector<std::string>& lines);
  void tell_remark(const record::LogRemark& remark, std::vector<std::string>& lines) const;

  std::string path_;  // of the scenario file; empty: none
  bool explains_;
  std::string log_path_{};
  std::optional<endpoint::MemoryFile> memory_{};  // the log, when it need not outlive us
  std::size_t position_ = 0;
  std::size_t told_ = 0;  // events of the log
  record::CaptureLog log_{};
  record::RuleText text_of_rule_{};
  record::Narrator narrator_;
  FlagWatcher watcher_{};
};

}  // namespace fencepost::cli
