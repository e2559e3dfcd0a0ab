// Covering arrays: few combinations of values in which each pair of values of two axes stands, and
// each triple of some. What goes wrong where two or three properties combine shows without all
// combinations.
//
//   for (const std::vector<std::size_t>& row : covering_rows({3, 2, 4}, {})) use(row);
//
// Pure; the same rows for the same axes.
#pragma once

#include <cstddef>
#include <vector>

namespace fencepost::scenario {

// Rows with one value of each axis, which has `sizes[axis]` of them, none of them 0: each two
// values of two axes stand together in a row, and each three of three of the axes in `triples`,
// which ascend. The first row has the first value of each axis. (Cohen, Dalal, Fredman and Patton:
// The AETG System, 1997, made deterministic.)
[[nodiscard]] std::vector<std::vector<std::size_t>> covering_rows(
    const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& triples);

}  // namespace fencepost::scenario
