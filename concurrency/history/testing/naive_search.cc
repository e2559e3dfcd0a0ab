#include "concurrency/history/testing/naive_search.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"

namespace fencepost::history {
namespace {

using Stamp = std::optional<hlc::Timestamp>;

// The key, after some of the operations.
struct Key {
  std::optional<std::string> value{};
  Stamp version{};  // none: no reply or notification had it
  Stamp newest{};   // all later versions are greater
  Stamp token{};
  Time gone_from = kNever;
  Time gone_by = kNever;
  Time moment = Time::min();  // of its last expiry, at least

  friend bool operator==(const Key&, const Key&) = default;
};

class Naive {
 public:
  Naive(const std::vector<Operation>& operations, const Bounds& bounds,
        std::optional<bool> fresh_deletions)
      : operations_(operations),
        bounds_(bounds),
        fresh_deletions_(fresh_deletions.value_or(has_fresh_deletion())) {}

  bool run() { return explore(0, Key{}); }

  [[nodiscard]] bool has_fresh_deletion() const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& one) {
      return one.outcome == Outcome::kDeleted && one.version && !notified(*one.version);
    });
  }

 private:
  [[nodiscard]] static bool answered(const Operation& operation) {
    return operation.outcome != Outcome::kUnknown;
  }

  bool explore(std::uint32_t done, const Key& key) {
    std::vector<Key>& seen = seen_[done];
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) return false;
    seen.push_back(key);
    bool all = true;
    Time first_return = kNever;
    Time last_call = key.moment;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if ((done >> i & 1U) != 0) last_call = std::max(last_call, operations_[i].called);
      if ((done >> i & 1U) != 0 || !answered(operations_[i])) continue;
      all = false;
      first_return = std::min(first_return, operations_[i].returned);
    }
    if (all) return true;
    if (key.value && key.gone_from <= first_return && key.gone_from != kNever) {
      Key gone{.newest = key.newest, .moment = std::max(key.moment, key.gone_from)};
      if (explore(done, gone)) return true;
      gone.token = key.token;
      if (explore(done, gone)) return true;
    }
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const Operation& next = operations_[i];
      if ((done >> i & 1U) != 0 || next.called > first_return) continue;
      if (next.returned < last_call) continue;
      if (key.value && next.called > key.gone_by) continue;
      for (const Key& after : outcomes(key, next)) {
        if (explore(done | (1U << i), after)) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<Key> outcomes(const Key& key, const Operation& operation) const {
    std::vector<Key> out;
    if (operation.outcome == Outcome::kUnknown) {
      if (operation.action == Action::kGet) return out;
      carry_out(key, operation, out);
      if (operation.token) turn_down(key, operation, out);
      return out;
    }
    switch (operation.outcome) {
      case Outcome::kOk:
      case Outcome::kDeleted:
        carry_out(key, operation, out);
        break;
      case Outcome::kNotApplied:
        turn_down(key, operation, out);
        break;
      case Outcome::kValue:
        if (key.value == operation.read) with_version(key, operation.version, out);
        break;
      case Outcome::kMissing:
        if (!key.value) out.push_back(key);
        break;
      case Outcome::kTokenRequired:
        if (needless(key, operation) || (key.token && !operation.token)) out.push_back(key);
        break;
      case Outcome::kTokenLower: {
        const bool lower =
            key.token && operation.token &&
            (*operation.token < *key.token ||
             (same_time(*operation.token, *key.token) && *operation.token != *key.token));
        if (needless(key, operation) || lower) out.push_back(key);
        break;
      }
      default:
        out.push_back(key);
    }
    return out;
  }

  static bool same_time(const hlc::Timestamp& a, const hlc::Timestamp& b) {
    return a.wall_ms == b.wall_ms && a.counter == b.counter;
  }

  // A token that nothing requires; DEL and VDEL may be refused for it.
  static bool needless(const Key& key, const Operation& operation) {
    return operation.action != Action::kSet && operation.token && (!key.value || !key.token);
  }

  static bool token_passes(const Key& key, const Operation& operation) {
    if (!key.token) return true;
    if (!operation.token) return false;
    return *operation.token >= *key.token || same_time(*operation.token, *key.token);
  }

  static Stamp greater(const Stamp& a, const Stamp& b) {
    if (!a || !b) return a ? a : b;
    return std::max(*a, *b);
  }

  // The condition of a SET or CAS; whether VDEL meets its value.
  static bool wanted(const Key& key, const Operation& operation) {
    switch (operation.action) {
      case Action::kCompareAndSet:
        return key.value == operation.expected;
      case Action::kVdel:
        return key.value == operation.value;
      case Action::kDel:
        return key.value.has_value();
      default:
        break;
    }
    if (operation.condition == codec::Condition::kIfAbsent) return !key.value;
    if (operation.condition == codec::Condition::kIfAbsentOrEqual) {
      return !key.value || key.value == operation.value;
    }
    return true;
  }

  void carry_out(const Key& key, const Operation& operation, std::vector<Key>& out) const {
    if (!token_passes(key, operation) || !wanted(key, operation)) return;
    if (operation.action == Action::kDel || operation.action == Action::kVdel) {
      remove(key, operation, out);
      return;
    }
    Key after = key;
    after.value = operation.value;
    after.version = operation.outcome == Outcome::kOk ? operation.version : Stamp{};
    if (after.version) {
      if (key.newest && *after.version <= *key.newest) return;
      after.newest = after.version;
    }
    after.token = greater(key.token, operation.token);
    if (!operation.expires_after) {
      if (key.value) out.push_back(after);  // keeps its end
      after.gone_from = after.gone_by = kNever;
      out.push_back(after);
      return;
    }
    if (operation.expires_after->count() == 0) {
      after.gone_from = after.gone_by = kNever;
      out.push_back(after);
    }
    after.gone_from = operation.called + *operation.expires_after - bounds_.expiry_early;
    after.gone_by = operation.returned != kNever
                        ? operation.returned + *operation.expires_after + bounds_.expiry_late
                        : kNever;
    out.push_back(after);
  }

  void remove(const Key& key, const Operation& operation, std::vector<Key>& out) const {
    Key after{.newest = key.newest};
    if (operation.outcome == Outcome::kDeleted && operation.version) {
      const bool may_be_old = notified(*operation.version);
      std::vector<Key> fits;
      if (may_be_old) with_version(key, operation.version, fits);
      for (const Key& fit : fits) out.push_back({.newest = fit.newest});
      const bool may_be_new = !may_be_old || fresh_deletions_;
      if (!may_be_new || (key.newest && *operation.version <= *key.newest)) return;
    }
    out.push_back(after);
  }

  // The operation finds the key as it does not want it.
  void turn_down(const Key& key, const Operation& operation, std::vector<Key>& out) const {
    if (wanted(key, operation) || operation.action == Action::kDel) return;
    const bool speaks = operation.outcome == Outcome::kNotApplied && operation.version &&
                        operation.action != Action::kVdel && notified(*operation.version);
    if (!key.value) {
      if (operation.action == Action::kCompareAndSet && !speaks) out.push_back(key);
      return;
    }
    std::vector<Key> fits;
    with_version(key, speaks ? operation.version : Stamp{}, fits);
    for (Key after : fits) {
      out.push_back(after);
      if (!operation.token || !token_passes(key, operation)) continue;
      after.token = greater(after.token, operation.token);
      out.push_back(after);
    }
  }

  // The version of some value, as the reply to a SET or a GET has shown it.
  [[nodiscard]] bool notified(const hlc::Timestamp& version) const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& other) {
      return (other.outcome == Outcome::kOk || other.outcome == Outcome::kValue) &&
             other.version == version;
    });
  }
  [[nodiscard]] bool known_by_set(const hlc::Timestamp& version) const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& other) {
      return other.outcome == Outcome::kOk && other.version == version;
    });
  }

  // The key, if that may be its version.
  void with_version(const Key& key, const Stamp& version, std::vector<Key>& out) const {
    Key after = key;
    if (version && key.version && *key.version != *version) return;
    if (version && !key.version) {
      if (known_by_set(*version) || (key.newest && *version <= *key.newest)) return;
      after.version = after.newest = version;
    }
    out.push_back(after);
  }

  const std::vector<Operation>& operations_;
  Bounds bounds_;
  bool fresh_deletions_;
  std::unordered_map<std::uint32_t, std::vector<Key>> seen_{};
};

}  // namespace

bool naive_has_order(const std::vector<Operation>& operations, const Bounds& bounds,
                     std::optional<bool> fresh_deletions) {
  FENCEPOST_CHECK(operations.size() <= kMaxNaiveOperations);
  return Naive(operations, bounds, fresh_deletions).run();
}

bool naive_has_fresh_deletion(const std::vector<Operation>& operations) {
  return Naive(operations, {}, false).has_fresh_deletion();
}

}  // namespace fencepost::history
