// What `serve` makes of the log that the broker's plugin writes: a scenario file, a line for each
// request, and what clients have switched.
//
//   auto traffic = TrafficLog::begin({.record = "cases.yaml", .explain = true});
//   start_broker((*traffic)->path());
//   print((*traffic)->look(now));  // from time to time
//   const record::Recording made = (*traffic)->end(now);
//
// Not thread safe; the plugin may write meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/memory_file.h"
#include "traffic/record/capture_log.h"
#include "traffic/record/explainer.h"
#include "traffic/record/recording.h"

namespace fencepost::serve {

struct TrafficOptions {
  std::string record{};  // a scenario file of the requests of clients and their replies
  bool explain = false;  // a line for each request
  bool control = false;  // clients may change the store: their changes are reported
};

class TrafficLog {
 public:
  // The error says why the log of a recording cannot be made: an old one is there, for example.
  [[nodiscard]] static Result<std::unique_ptr<TrafficLog>, std::string> begin(
      const TrafficOptions& options);

  // Where the plugin has to write; empty when no traffic is wanted.
  [[nodiscard]] const std::string& path() const { return log_path_; }

  // Reads what is new, and reports it. `now`: of the clock of the times in the log.
  [[nodiscard]] record::Said look(std::chrono::microseconds now);

  // The traffic has ended: reports the rest, writes the scenario file, if one is wanted, and
  // removes the log, unless the file could not be written.
  [[nodiscard]] record::Recording end(std::chrono::microseconds now);

  // The broker did not start: nothing was logged.
  void discard() const;

 private:
  explicit TrafficLog(const TrafficOptions& options);
  [[nodiscard]] Result<void, std::string> make_log();
  // Takes the lines that are whole; false: there are no new ones.
  bool read(std::vector<std::string>& lines, record::Said& said);
  void tell_remark(const record::LogRemark& remark, std::vector<std::string>& lines) const;

  std::string record_;  // the scenario file; empty: none
  bool explains_;
  std::string log_path_{};
  std::optional<endpoint::MemoryFile> memory_{};  // the log, when it need not outlive us
  std::size_t position_ = 0;
  std::size_t notified_ = 0;  // events of the log
  record::CaptureLog log_{};
  record::RuleText text_of_rule_{};
  record::Explainer explainer_;
  record::FlagWatcher watcher_{};
};

}  // namespace fencepost::serve
