// Which branches of the naive model a run has taken, and how often about: what guides the search of
// `fencepost fuzz-live`. The model has to be the instrumented one, of fencepost_guided_model.
//
//   record_model_coverage();
//   model.apply(step);
//   for (std::uint32_t feature : take_model_coverage()) ...   // sorted, each once
//
// Each thread records for itself. The features of a build are the same from run to run, wherever
// the program is loaded; another build has others.
#pragma once

#include <cstdint>
#include <vector>

namespace fencepost::workload {

// From now on the calling thread records, from nothing.
void record_model_coverage();

// Ends that. A feature is an edge with a class of how often it was taken: 1, 2, 3, 4 to 7, 8 to 15,
// 16 to 31, 32 to 127, or more often.
[[nodiscard]] std::vector<std::uint32_t> take_model_coverage();

// The edge of a feature.
[[nodiscard]] constexpr std::uint32_t edge_of(std::uint32_t feature) { return feature >> 3U; }

}  // namespace fencepost::workload
