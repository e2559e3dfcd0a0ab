// Judges a stress run during the run, generation of keys by generation of keys.
//
//   OnlineChecker checker(bounds);
//   for (const history::Event& event : events) checker.add(event);
//   checker.close(prefix, now);   // there are no more requests for these keys
//   checker.judge(now);           // those whose notifications must have come
//   checker.finish();
//
// Violations have their operations. Memory is that of the generations that are open. Pure; not
// thread safe.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "concurrency/history/checker.h"

namespace fencepost::stress {

struct Judged {
  std::size_t operations = 0;  // called, and over
  std::size_t keys_ok = 0;
  std::vector<history::KeyVerdict> violations{};
  std::vector<history::KeyVerdict> unknown{};  // the first kMaxKept
  std::size_t unknown_keys = 0;
  std::size_t unknown_operations = 0;
  std::size_t decided = 0;  // operations of keys that were judged

  static constexpr std::size_t kMaxKept = 100;
};

class OnlineChecker {
 public:
  // `until_violation`: after the first violation keys are not judged any more.
  explicit OnlineChecker(const history::Bounds& bounds, history::CheckLimits limits = {},
                         bool until_violation = false);

  void add(const history::Event& event);

  // There are no more requests for the keys with this prefix, and all have been added: judges those
  // without observers.
  void close(const std::string& prefix, history::Time now);

  // Judges the rest of what was closed long enough ago that all notifications have come.
  void judge(history::Time now);

  // A moment at which nothing is in flight: judges what can be judged of the keys in use.
  void settle(history::Time now) { checker_.settle(now); }

  // Judges all that is left.
  void finish();

  [[nodiscard]] bool found_violation() const {
    return checker_.found_violation() || !judged_.violations.empty();
  }
  [[nodiscard]] const Judged& judged() const { return judged_; }
  // Operations that are kept.
  [[nodiscard]] std::size_t held() const { return checker_.held(); }

 private:
  void judge(const std::string& prefix, bool unobserved);
  void take(history::KeyVerdict& key);
  [[nodiscard]] bool was_judged(const std::string& key) const;

  struct Closed {
    std::string prefix;
    history::Time at{0};
  };
  history::Bounds bounds_;
  history::Checker checker_;
  bool until_violation_;
  std::deque<Closed> closed_{};
  std::set<std::string> done_{};  // prefixes
  Judged judged_{};
};

}  // namespace fencepost::stress
