// Captured traffic of several clients as a history, which `fencepost check` judges: the traffic of
// one client alone shows nothing about concurrent requests.
//
//   const HistoryOptions options{.slack = std::chrono::milliseconds{250}};
//   const CaptureHistory made = capture_history(capture, options);
//   write(path, made.text);
//
// docs/decisions/0022-histories-of-observers.md says which times operations get, and from when on a
// key is judged. KEYNOTIFY and notifications are left out: whether an observer was connected is not
// known. Pure and thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "traffic/record/capture.h"

namespace fencepost::record {

struct HistoryOptions {
  // How much later than the store the capture may have seen a request.
  std::chrono::milliseconds slack{0};
};

struct CaptureHistory {
  std::string text{};  // docs/HISTORY.md
  std::size_t operations = 0;
  std::size_t keys = 0;              // that have operations
  std::vector<std::string> notes{};  // what was left out, and why
};

[[nodiscard]] CaptureHistory capture_history(const Capture& capture, const HistoryOptions& options);

}  // namespace fencepost::record
