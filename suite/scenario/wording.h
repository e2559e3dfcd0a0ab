// The generation of the article that a store is judged by.
#pragma once

#include <optional>
#include <string_view>

namespace fencepost::scenario {

// General availability, or the preview before it. kAuto: what the store turns out to keep.
enum class Wording { kAuto, kPreview, kGa };
[[nodiscard]] std::string_view name(Wording wording);  // "auto", "preview", "ga"

// Nothing when there is none of that name.
[[nodiscard]] std::optional<Wording> wording_named(std::string_view name);

}  // namespace fencepost::scenario
