#include "suite/judge/weight.h"

#include <algorithm>
#include <variant>

namespace fencepost::judge {
namespace {

// By what a failure says of a rule.
constexpr double kDirect = 1.0;     // the difference breaks it, whatever the case is about
constexpr double kOwnStep = 1.0;    // the step that fails checks it, and the case is about it
constexpr double kOnTheWay = 0.6;   // the step checks it on the way to what the case is about
constexpr double kSuspected = 0.5;  // it is one of several that may have come before
constexpr double kFirst = 0.4;      // nothing names a rule: it is the case's first
constexpr double kAbout = 0.3;      // the case is about it, among others, which share this
// Of a GET, where other requests may have made what it returns: a fault of theirs shows in most
// GETs, and a fault of GET in few others.
constexpr double kSeenByGet = 0.2;

// Of the failures with one cause, one in so many that speaks for a rule makes it explain the
// others: in which words a case tells of a fault depends on what it does next.
constexpr std::size_t kShare = 5;
// Of those that only may come of it, so many.
constexpr std::size_t kPossibleShare = 2;

bool has(const std::vector<std::string>& rules, std::string_view rule) {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

// Does a step of the case, or the difference itself, name the rule that the failure is charged to?
// Otherwise it is the first that the case is about.
bool is_named(const Testimony& failure) {
  const scenario::Case& test_case = failure.test_case;
  const std::string_view charged = failure.requirement;
  if (charged != test_case.requirements.front() || charged == failure.direct) return true;
  if (failure.step == 0) return true;
  const auto& what = test_case.steps[failure.step - 1].what;
  if (const auto* request = std::get_if<scenario::RequestStep>(&what)) {
    return request->expect.cites == charged;
  }
  if (const auto* awaited = std::get_if<scenario::NotificationStep>(&what)) {
    return awaited->cites == charged;
  }
  const auto* silence = std::get_if<scenario::SilenceStep>(&what);
  return silence != nullptr && silence->cites == charged;
}

// Is it a rule of GET, where the value or the version may have been made by another request?
bool is_seen_by_get(const Testimony& failure, std::string_view rule) {
  return rule.starts_with("GET") &&
         std::any_of(failure.suspects.begin(), failure.suspects.end(), [](const std::string& each) {
           return !each.starts_with("GET") && !each.starts_with("SET-VALUE");
         });
}

}  // namespace

bool is_about(const Testimony& failure, std::string_view rule) {
  return has(failure.test_case.requirements, rule);
}

bool speaks_for(const Testimony& failure, std::string_view rule) {
  return failure.requirement == rule || failure.direct == rule;
}

bool suspects(const Testimony& failure, std::string_view rule) {
  return has(failure.suspects, rule);
}

double weight(const Testimony& failure, std::string_view rule) {
  const bool about = is_about(failure, rule);
  const bool seen_by_get = is_seen_by_get(failure, rule);
  double out = failure.direct == rule ? (seen_by_get ? kSeenByGet : kDirect) : 0;
  if (out == 0 && suspects(failure, rule)) out = seen_by_get ? kSeenByGet : kSuspected;
  if (failure.requirement == rule) {
    out += !is_named(failure) ? kFirst : about ? kOwnStep : kOnTheWay;
  }
  if (out > 0 || !about) return out;
  return kAbout / static_cast<double>(failure.test_case.requirements.size());
}

double likelihood(std::size_t failed, std::size_t passed) {
  return (static_cast<double>(failed) + 1) / (static_cast<double>(failed + passed) + 1);
}

bool explains(std::size_t speaking, std::size_t possible, std::size_t all) {
  return speaking * kShare >= all || possible * kPossibleShare >= all;
}

}  // namespace fencepost::judge
