// Do the versions of all keys come from one clock? Where a store has one, each SET gets a greater
// version than all SETs, of any key, that were answered before it was sent. The protocol requires
// that for each key only (Req: VER-UPDATE-3), so this is an observation and no verdict. Pure; not
// thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "concurrency/history/key_history.h"

namespace fencepost::history {

struct ClockObservation {
  std::size_t compared = 0;  // SETs with one of another key before them
  std::size_t against = 0;   // with a version that is not greater
  // The first that speaks against it: the SET that was answered before, and the one with a lower
  // version.
  Index earlier = kNone;
  Index later = kNone;
};

class SharedClock {
 public:
  // Operations in the order in which they have returned.
  void add(const Operation& operation, Index number);

  [[nodiscard]] const ClockObservation& observed() const { return observed_; }

 private:
  struct Mark {
    Time returned;
    hlc::Timestamp version;  // the greatest until then
    Index number;
    std::string key;
  };
  std::deque<Mark> marks_{};  // both times and versions grow
  std::string only_key_{};
  bool several_keys_ = false;
  bool begun_ = false;
  ClockObservation observed_{};
};

}  // namespace fencepost::history
