#include "concurrency/stress/shrink.h"

#include <algorithm>
#include <utility>

namespace fencepost::stress {
namespace {

class Shrinking {
 public:
  Shrinking(const Attempt& attempt, const ShrinkOptions& options)
      : attempt_(attempt), options_(options) {}

  // True when one of the runs failed.
  bool try_size(const RunSize& size) {
    Shrunk out{.size = size};
    std::vector<std::size_t> operations;
    while (out.runs < options_.tries && !(options_.enough && options_.enough())) {
      ++out.runs;
      if (const auto found = attempt_(size, ++number_)) operations.push_back(*found);
      // Most sizes that fail at all fail immediately; for the others it is enough to know that.
      if (operations.empty() && out.runs >= (options_.tries + 1) / 2) break;
    }
    out.failed = operations.size();
    if (operations.empty()) return false;
    const auto middle = operations.begin() + static_cast<std::ptrdiff_t>(operations.size() / 2);
    std::nth_element(operations.begin(), middle, operations.end());
    out.operations = *middle;
    best = out;
    return true;
  }

  Shrunk best{};

 private:
  const Attempt& attempt_;
  const ShrinkOptions& options_;
  std::size_t number_ = 0;
};

}  // namespace

Shrunk shrink(const RunSize& first, std::string_view key, const Attempt& attempt,
              const ShrinkOptions& options) {
  Shrinking shrinking(attempt, options);
  shrinking.best.size = first;
  if (!shrinking.try_size(first)) return shrinking.best;
  const Mix* single = mix_of_key(*first.mix, key);
  if (single != nullptr && single != first.mix) {
    shrinking.try_size({.mix = single, .clients = first.clients});
  }
  for (std::uint32_t clients = first.clients / 2; clients >= 1; clients /= 2) {
    if (!shrinking.try_size({.mix = shrinking.best.size.mix, .clients = clients})) break;
  }
  // Between the halves: 3 of 4 and 2.
  const std::uint32_t found = shrinking.best.size.clients;
  if (found == 4) shrinking.try_size({.mix = shrinking.best.size.mix, .clients = 3});
  return shrinking.best;
}

ShrunkPlan shrink_plan(Plan plan, const std::function<bool(const Plan&)>& fails,
                       std::size_t most_tries, const std::function<bool()>& enough) {
  ShrunkPlan out{.asked = plan.size()};
  const auto may_try = [&] { return out.tries < most_tries && !(enough && enough()); };
  std::size_t part = std::max<std::size_t>(plan.size() / 2, 1);
  while (may_try() && plan.size() > 1) {
    bool left_out = false;
    // From the end, so that the first requests stay when either would do.
    for (std::size_t end = plan.size(); end > 0 && may_try();) {
      const std::size_t begin = end > part ? end - part : 0;
      Plan fewer(plan.begin(), plan.begin() + static_cast<std::ptrdiff_t>(begin));
      fewer.insert(fewer.end(), plan.begin() + static_cast<std::ptrdiff_t>(end), plan.end());
      ++out.tries;
      if (!fewer.empty() && fails(fewer)) {
        plan = std::move(fewer);
        left_out = true;
      }
      end = begin;
    }
    if (part == 1 && !left_out) break;
    part = std::max<std::size_t>(part / 2, 1);
  }
  out.plan = std::move(plan);
  return out;
}

}  // namespace fencepost::stress
