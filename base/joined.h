// Constant arrays that are made of others: for tables of which a part stands elsewhere.
//
//   constexpr auto kAll = joined(std::array{1, 2}, std::array{3});
//   constexpr auto kSquares = made_of(kAll, [](int each) { return each * each; });
#pragma once

#include <array>
#include <tuple>

namespace fencepost {

// All of them, one behind the other.
template <typename... Arrays>
[[nodiscard]] constexpr auto joined(const Arrays&... parts) {
  return std::apply([](const auto&... all) { return std::array{all...}; },
                    std::tuple_cat(parts...));
}

// What `make` makes of each.
template <typename Array, typename Make>
[[nodiscard]] constexpr auto made_of(const Array& from, Make make) {
  return std::apply([&](const auto&... all) { return std::array{make(all)...}; }, from);
}

}  // namespace fencepost
