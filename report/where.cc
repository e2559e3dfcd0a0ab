#include "report/where.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace fencepost::report {
namespace {

using run::CaseResult;
using Values = std::set<std::string>;
using Members = std::vector<const CaseResult*>;

const std::string& value_of(const CaseResult& member, std::size_t axis) {
  return member.test_case->axes[axis].value;
}

Values values_of(const Members& members, std::size_t axis) {
  Values out;
  for (const CaseResult* member : members) out.insert(value_of(*member, axis));
  return out;
}

// The failures of the family that has most of them.
Members largest_family(std::span<const CaseResult* const> failures) {
  std::map<std::string, Members> families;
  for (const CaseResult* each : failures) {
    if (!each->test_case->axes.empty()) families[each->test_case->family].push_back(each);
  }
  const auto most = std::max_element(
      families.begin(), families.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == families.end() ? Members{} : most->second;
}

class Family {
 public:
  Family(Members failing, const run::SuiteResult& result) : failing_(std::move(failing)) {
    const scenario::Case& one = *failing_.front()->test_case;
    for (const CaseResult& entry : result.cases) {
      const bool passed = entry.verdict == run::Verdict::kPassed;
      if (passed && entry.test_case->family == one.family) passed_.push_back(&entry);
    }
    for (std::size_t axis = 0; axis < one.axes.size(); ++axis) {
      names_.push_back(one.axes[axis].axis);
      of_failing_.push_back(values_of(failing_, axis));
      of_passed_.push_back(values_of(passed_, axis));
    }
  }

  [[nodiscard]] std::string common() const {
    if (passed_.empty()) return "";
    std::vector<std::vector<std::size_t>> found;
    for (std::size_t a = 0; a < names_.size(); ++a) {
      if (explains({a})) found.push_back({a});
    }
    for (std::size_t b = 0; found.empty() && b < names_.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        if (explains({a, b})) found.push_back({a, b});
      }
    }
    if (found.size() != 1) return "";
    std::string out;
    for (const std::size_t axis : found.front()) {
      out += (out.empty() ? "" : ", and ") + words(axis);
    }
    return out;
  }

 private:
  // Has no member that passed values that failing ones have, on all of these axes?
  [[nodiscard]] bool explains(const std::vector<std::size_t>& axes) const {
    return std::none_of(passed_.begin(), passed_.end(), [&](const CaseResult* member) {
      return std::all_of(axes.begin(), axes.end(), [&](std::size_t axis) {
        return of_failing_[axis].contains(value_of(*member, axis));
      });
    });
  }

  // "a is one, two or three", or "a is not one" where that is shorter.
  [[nodiscard]] std::string words(std::size_t axis) const {
    Values others;
    std::set_difference(of_passed_[axis].begin(), of_passed_[axis].end(), of_failing_[axis].begin(),
                        of_failing_[axis].end(), std::inserter(others, others.end()));
    const bool negated = others.size() == 1 && of_failing_[axis].size() > 1;
    const Values& values = negated ? others : of_failing_[axis];
    std::string out = names_[axis] + (negated ? " is not " : " is ");
    std::size_t left = values.size();
    for (const std::string& value : values) {
      out += value;
      if (--left > 0) out += left == 1 ? " or " : ", ";
    }
    return out;
  }

  Members failing_;
  Members passed_;
  std::vector<std::string> names_;
  std::vector<Values> of_failing_;
  std::vector<Values> of_passed_;
};

}  // namespace

std::string where_of(std::span<const CaseResult* const> failures, const run::SuiteResult& result) {
  Members failing = largest_family(failures);
  // What has few of the failures says nothing of the others.
  constexpr std::size_t kShare = 3;
  const bool few = failing.size() < 2 || failing.size() * kShare < failures.size();
  return few ? "" : Family(std::move(failing), result).common();
}

}  // namespace fencepost::report
