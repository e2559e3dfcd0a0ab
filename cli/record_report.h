// What `fencepost record` and `fencepost serve --record` do alike: write the scenario file, say
// what is flagged and what is not known.
#pragma once

#include <chrono>
#include <cstddef>
#include <set>
#include <string>

#include "conformance/record/capture.h"
#include "conformance/record/capture_scenario.h"
#include "conformance/run/exit_code.h"

namespace fencepost::cli {

// Says on standard error, while recording goes on, what no right store does: each once.
class FlagWatcher {
 public:
  // Judges the capture so far, when there is something new in it.
  void judge_new(const record::Capture& capture);

 private:
  std::set<std::string> said_;
  std::size_t events_ = 0;

  friend run::ExitCode write_recording(const record::Capture& capture, const std::string& path,
                                       FlagWatcher& watcher);
};

// Writes the history and says what is in it. False after a complaint.
[[nodiscard]] bool write_history(const record::Capture& capture, const std::string& path,
                                 std::chrono::milliseconds slack);

// Writes the file, unless it has no name, and says what is in it: kConformant, or kFailed when
// something is flagged.
[[nodiscard]] run::ExitCode write_recording(const record::Capture& capture, const std::string& path,
                                            FlagWatcher& watcher);

}  // namespace fencepost::cli
