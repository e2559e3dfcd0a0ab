// Which rules the verdicts on histories are attributed to, by their ids in
// scenarios/requirements.yaml.
//
//   is_judged_by_histories("SET-NX-2")  ->  true
//
// Pure and thread safe.
#pragma once

#include <span>
#include <string_view>

namespace fencepost::history {

// Sorted.
[[nodiscard]] std::span<const std::string_view> judged_requirements();
[[nodiscard]] bool is_judged_by_histories(std::string_view requirement);

}  // namespace fencepost::history
