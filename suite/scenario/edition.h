// The generation of the article that a store is judged by.
#pragma once

#include <optional>
#include <string_view>

namespace fencepost::scenario {

// General availability, or the preview before it. kAuto: what the store turns out to keep.
enum class Edition { kAuto, kPreview, kGa };
[[nodiscard]] std::string_view name(Edition edition);  // "auto", "preview", "ga"

// Nothing when there is none of that name.
[[nodiscard]] std::optional<Edition> edition_named(std::string_view name);

}  // namespace fencepost::scenario
