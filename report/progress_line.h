// The progress of a run that takes long: one line that is written again each second on a terminal,
// a line each half minute elsewhere. Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/text/colour.h"
#include "base/text/output.h"

namespace fencepost::report {

class ProgressLine {
 public:
  ProgressLine(bool live, bool quiet)
      : live_(live), quiet_(quiet), due_(live ? std::chrono::milliseconds{0} : kInterval) {}

  // `describe` makes the text, when it is time for one.
  template <typename Describe>
  void show(std::chrono::milliseconds elapsed, const Describe& describe) {
    if (quiet_ || elapsed < due_) return;
    due_ = elapsed + (live_ ? std::chrono::milliseconds{1'000} : kInterval);
    if (live_) clear();
    text::print("  {}", describe());
    if (!live_) text::print("\n");
    std::fflush(stdout);
  }
  void clear() const {
    if (live_ && !quiet_) text::print("{}", text::Lines(text::kEraseLine));
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{30'000};
  bool live_;
  bool quiet_;
  std::chrono::milliseconds due_;
};

}  // namespace fencepost::report
