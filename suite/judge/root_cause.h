// What many failures come of. One wrong thing is met by many cases, which fail in steps that are
// about something else: failures are put together by what differs, then by the rule that best
// explains them. How much a failure says of a rule stands in root_cause.cc, each weight with its
// reason.
//
//   for (const RootCause& found : root_causes(failures, passed, catalogue)) use(found.rule);
//
// Pure and thread safe. The same failures have the same causes, in any order.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "suite/judge/mismatch.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// A failed case and its attribution (attribution.h). What is referred to must outlive it.
struct Testimony {
  std::string_view requirement;
  std::string_view direct;
  const std::vector<std::string>& candidates;
  const std::vector<std::string>& about;  // rules of the case, never empty
  // Does a step of the case, or the difference itself, name the rule that the failure is attributed
  // to? Otherwise it is the first that the case is about.
  bool named = true;
  std::string_view cause{};  // what differs: see run/failure.h
  std::string_view theme{};
  Mismatch kind = Mismatch::kOther;
};

// Testimony::named of a case that failed in this step, from 1; 0: in none.
[[nodiscard]] bool is_named(const scenario::Case& test_case, std::size_t step,
                            std::string_view attributed, std::string_view direct);

// Can the difference break the rule? A GET that returns what a SET has replaced shows that its
// response has come, and is the one to it.
[[nodiscard]] bool may_break(const Testimony& failure, std::string_view rule);

// Is the case about the rule; is it attributed to it, or shows it?
[[nodiscard]] bool is_about(const Testimony& failure, std::string_view rule);
[[nodiscard]] bool speaks_for(const Testimony& failure, std::string_view rule);

// How much the failure says of the rule: not negative; 0: nothing.
[[nodiscard]] double weight(const Testimony& failure, std::string_view rule);

struct RootCause {
  std::string rule{};
  // What it explains: indices, those with one cause together, the most frequent cause first.
  std::vector<std::vector<std::size_t>> groups{};
};

// Each failure is explained once, what is most likely the root first. `passed`: how many cases have
// shown each rule to be kept. A rule of the catalogue that demands nothing explains only what is
// attributed to it, and so does one that the catalogue does not have.
[[nodiscard]] std::vector<RootCause> root_causes(const std::vector<Testimony>& failures,
                                                 const std::map<std::string, std::size_t>& passed,
                                                 const scenario::Catalogue& catalogue);

}  // namespace fencepost::judge
