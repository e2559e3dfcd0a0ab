#include "workload/model_coverage.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace fencepost::workload {

namespace {

// The model has some hundred edges, so that hardly two of them share a place.
constexpr unsigned kMapBits = 16;

struct Map {
  bool recording = false;
  std::uint32_t previous = 0;  // place of the basic block before this one
  std::array<std::uint8_t, std::size_t{1} << kMapBits> taken{};
  std::vector<std::uint32_t> edges;  // those with taken > 0
};

Map& map_of_thread() {
  thread_local Map map;
  return map;
}

std::uint32_t class_of(std::uint8_t taken) {
  constexpr std::array<std::uint8_t, 7> kFrom = {2, 3, 4, 8, 16, 32, 128};
  std::uint32_t out = 0;
  while (out < kFrom.size() && taken >= kFrom.at(out)) ++out;
  return out;
}

}  // namespace

void record_model_coverage() {
  Map& map = map_of_thread();
  for (const std::uint32_t edge : map.edges) map.taken.at(edge) = 0;
  map.edges.clear();
  map.previous = 0;
  map.recording = true;
}

std::vector<std::uint32_t> take_model_coverage() {
  Map& map = map_of_thread();
  map.recording = false;
  std::vector<std::uint32_t> out;
  out.reserve(map.edges.size());
  for (const std::uint32_t edge : map.edges) {
    out.push_back((edge << 3U) | class_of(map.taken.at(edge)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

// `block` is an address in the model, told apart from others by its distance from code of ours, so
// that it does not matter where the program was loaded.
void note_block(std::uintptr_t block) {
  Map& map = map_of_thread();
  if (!map.recording) return;
  const auto here = reinterpret_cast<std::uintptr_t>(&record_model_coverage);
  const std::uint64_t mixed = static_cast<std::uint64_t>(block - here) * 0x9E3779B97F4A7C15ULL;
  const auto place = static_cast<std::uint32_t>(mixed >> (64U - kMapBits));
  const std::uint32_t edge = place ^ map.previous;
  map.previous = place >> 1U;
  std::uint8_t& taken = map.taken.at(edge);
  if (taken == 0) map.edges.push_back(edge);
  if (taken < std::numeric_limits<std::uint8_t>::max()) ++taken;
}

}  // namespace

}  // namespace fencepost::workload

// Called by each basic block of what is compiled with -fsanitize-coverage=trace-pc.
extern "C" void __sanitizer_cov_trace_pc();   // NOLINT: the compilers give the name
extern "C" void __sanitizer_cov_trace_pc() {  // NOLINT
  fencepost::workload::note_block(
      reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));  // NOLINT: an address
}
