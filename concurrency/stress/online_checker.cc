#include "concurrency/stress/online_checker.h"

#include <iterator>
#include <utility>

namespace fencepost::stress {

OnlineChecker::OnlineChecker(const history::Bounds& bounds, history::CheckLimits limits,
                             bool until_violation)
    : bounds_(bounds), checker_(limits, true), until_violation_(until_violation) {
  checker_.set_bounds(bounds);
}

void OnlineChecker::add(const history::Event& event) {
  if (std::holds_alternative<history::Operation>(event)) ++judged_.operations;
  const auto* notified = std::get_if<history::Notification>(&event);
  if (notified != nullptr && was_judged(notified->key)) return;  // too late to be of any importance
  checker_.add(event);
}

void OnlineChecker::close(const std::string& prefix, history::Time now) {
  judge(prefix, true);
  closed_.push_back({.prefix = prefix, .at = now});
}

void OnlineChecker::judge(history::Time now) {
  // Twice as long: an observer must have been seen after the last moment that counts.
  while (!closed_.empty() && closed_.front().at + 2 * bounds_.notification_late <= now) {
    judge(closed_.front().prefix, false);
    done_.insert(std::move(closed_.front().prefix));
    closed_.pop_front();
  }
}

void OnlineChecker::judge(const std::string& prefix, bool unobserved) {
  if (until_violation_ && found_violation()) return;
  std::vector<history::KeyVerdict> verdicts = checker_.finish(
      {.prefix = prefix, .unobserved = unobserved, .until_violation = until_violation_});
  for (history::KeyVerdict& verdict : verdicts) take(verdict);
}

// None of the prefixes begins with another one.
bool OnlineChecker::was_judged(const std::string& key) const {
  const auto next = done_.upper_bound(key);
  return next != done_.begin() && key.starts_with(*std::prev(next));
}

// What settle() has come upon is among the keys that are left.
void OnlineChecker::finish() {
  if (until_violation_ && !judged_.violations.empty()) return;
  std::vector<history::KeyVerdict> verdicts =
      checker_.finish(history::KeySelection{.until_violation = until_violation_});
  for (history::KeyVerdict& verdict : verdicts) take(verdict);
}

void OnlineChecker::take(history::KeyVerdict& key) {
  switch (key.verdict.answer) {
    case history::Answer::kOk:
      ++judged_.keys_ok;
      judged_.decided += key.operations;
      break;
    case history::Answer::kViolation:
      judged_.decided += key.operations;
      judged_.violations.push_back(std::move(key));
      break;
    case history::Answer::kUnknown:
      ++judged_.unknown_keys;
      judged_.unknown_operations += key.operations;
      if (judged_.unknown.size() < Judged::kMaxKept) judged_.unknown.push_back(std::move(key));
      break;
  }
}

}  // namespace fencepost::stress
