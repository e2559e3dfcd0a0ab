// What one operation may do to one key, by the rules of reference_store/rules.h: the states that a
// conforming store may be in afterwards, given what it has answered. Where the protocol leaves a
// point open there are several. Pure; thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "concurrency/history/key_history.h"

namespace fencepost::history {

struct State {
  bool present = false;
  Index value = kNone;
  // A rank. kNone: absent, or written by a SET whose reply did not come; then it is above `floor`.
  Index version = kNone;
  // Versions grow, also where the key was deleted between (Req: VER-UPDATE-3, LOCK-TOKEN-4): what
  // comes has a rank of at least this.
  Index floor = 0;
  Index token = kNone;
  // When the key goes; the maximum for never.
  std::int64_t expires_from = std::numeric_limits<std::int64_t>::max();
  std::int64_t expires_by = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool can_expire() const { return present && expires_from != kNever.count(); }
  friend bool operator==(const State&, const State&) = default;
};

// A few states.
class States {
 public:
  static constexpr std::size_t kMax = 4;

  void add(const State& state) {
    for (const State& known : *this) {
      if (known == state) return;
    }
    FENCEPOST_CHECK(size_ < kMax);
    states_[size_++] = state;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const State& operator[](std::size_t at) const { return states_[at]; }
  [[nodiscard]] const State* begin() const { return states_.data(); }
  [[nodiscard]] const State* end() const { return states_.data() + size_; }

 private:
  std::array<State, kMax> states_{};
  std::size_t size_ = 0;
};

class Model {
 public:
  // The history, which has been resolved, must outlive the model and stay as it is.
  Model(const KeyHistory& history, const Bounds& bounds);

  // Adds to `out` the states after `entry`, when it takes effect in `before` and was answered as it
  // was; none when no conforming store gives this answer. An entry without reply does take effect.
  void step(const State& before, const Entry& entry, States& out) const;

  // Adds the states after the key has expired; `before` can expire.
  static void expire(const State& before, States& out);

  // The key should be gone before this operation was sent. (Req: SET-PX-1)
  [[nodiscard]] static bool overdue(const State& state, const Entry& entry) {
    return state.present && entry.called > state.expires_by;
  }

  // Does the fencing rule let this token pass, and does it refuse it so? Both where tokens are
  // equal but for the node (Req: FT-OPEN-6).
  [[nodiscard]] bool passes(Index held, Index offered) const;
  [[nodiscard]] bool refuses(Index held, Index offered, Outcome how) const;
  [[nodiscard]] Index token_after(Index held, Index offered) const;

 private:
  void step_written(const State& before, const Entry& entry, States& out) const;
  void step_not_applied(const State& before, const Entry& entry, States& out) const;
  void step_deleted(const State& before, const Entry& entry, States& out) const;
  void step_read(const State& before, const Entry& entry, States& out) const;
  void step_fenced(const State& before, const Entry& entry, States& out) const;
  void step_unknown(const State& before, const Entry& entry, States& out) const;
  [[nodiscard]] bool applies(const State& state, const Entry& entry) const;
  [[nodiscard]] bool tie(Index held, Index offered) const;
  [[nodiscard]] const hlc::Timestamp* token(Index at) const;
  // The state, known to have that version; nothing added when it cannot.
  [[nodiscard]] bool bind(State& state, Index rank) const;

  const KeyHistory& history_;
  std::int64_t early_;
  std::int64_t late_;
};

}  // namespace fencepost::history
