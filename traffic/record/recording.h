// The results of a recording: the files that are written, and the messages about them. `record` and
// `serve --record` do it alike.
//
//   FlagWatcher watcher;
//   print(watcher.judge_new(capture));  // during the recording
//   const Recording made = write_recording(capture, "cases.yaml", watcher);
//   print(made.said);
#pragma once

#include <chrono>
#include <cstddef>
#include <set>
#include <string>

#include "suite/run/exit_code.h"
#include "traffic/record/capture.h"
#include "traffic/record/capture_scenario.h"

namespace fencepost::record {

// Whole lines, for standard output and for standard error.
struct Said {
  std::string output{};
  std::string errors{};
};

// Reports, during a recording, what no conforming store does: each once. Not thread safe.
class FlagWatcher {
 public:
  // Judges the capture so far, when there is something new in it; of very long ones nothing is said
  // before the end.
  [[nodiscard]] Said judge_new(const Capture& capture);

 private:
  std::set<std::string> said_;
  std::size_t events_ = 0;

  friend struct Recording write_recording(const Capture& capture, const std::string& path,
                                          FlagWatcher& watcher);
};

struct Recording {
  Said said{};
  run::ExitCode code = run::ExitCode::kConformant;
  std::size_t requests = 0;  // that were seen: of none, nothing was judged
};

// Writes the history, and says what is in it. kConformant, or kInternal where it cannot be written.
[[nodiscard]] Recording write_history(const Capture& capture, const std::string& path,
                                      std::chrono::milliseconds slack);

// Writes the file, unless it has no name, and says what is in it: kConformant, kFailed when
// something is flagged, or kInternal where it cannot be written.
[[nodiscard]] Recording write_recording(const Capture& capture, const std::string& path,
                                        FlagWatcher& watcher);

}  // namespace fencepost::record
