// What the failures of a run say of a rule together: how much each failure speaks for it, and how
// likely it is after what has passed. Pure and thread safe.
//
//   const Testimony first{failure.requirement, failure.direct, failure.suspects, test_case, 1};
//   score += weight(first, rule);
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// A failed case, and its charge (blame.h). What is referred to must outlive it.
struct Testimony {
  std::string_view requirement;
  std::string_view direct;
  const std::vector<std::string>& suspects;
  const scenario::Case& test_case;
  std::size_t step = 0;  // that failed, from 1; 0: none did
};

// Is the case about the rule; is the failure charged to it, or shows it; may it come of it?
[[nodiscard]] bool is_about(const Testimony& failure, std::string_view rule);
[[nodiscard]] bool speaks_for(const Testimony& failure, std::string_view rule);
[[nodiscard]] bool suspects(const Testimony& failure, std::string_view rule);

// Not negative; 0: it says nothing of the rule. The weights stand in weight.cc, each with its
// reason.
[[nodiscard]] double weight(const Testimony& failure, std::string_view rule);

// Of a rule with so many cases that failed and that passed: above 0, at most 1.
[[nodiscard]] double likelihood(std::size_t failed, std::size_t passed);

// Does the rule explain failures with one cause, if so many of them speak for it, or may come of
// it?
[[nodiscard]] bool explains(std::size_t speaking, std::size_t possible, std::size_t all);

}  // namespace fencepost::judge
