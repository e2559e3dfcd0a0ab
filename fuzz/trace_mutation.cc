// What libFuzzer and its kin call to mutate inputs that are traces. Without it they would mutate
// bytes, of which most only shift all that follows.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/random.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"

// Engines that have a mutator of their own define it; others need none.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t max_size);

namespace fencepost::fuzz {
namespace {

void mutate_value(std::string& value, workload::Random& random) {
  if (LLVMFuzzerMutate == nullptr) return workload::change_bytes(value, random);
  const std::size_t size = std::min(value.size(), workload::kMaxValueBytes);
  value.resize(workload::kMaxValueBytes);
  value.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(value.data()), size,
                                workload::kMaxValueBytes));
}

std::string_view view_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Writes the trace, or as many of its first operations as there is room for.
std::size_t put_trace(const workload::Trace& trace, std::uint8_t* out, std::size_t max_size) {
  const std::string bytes = encode_beginning(trace, max_size);
  std::copy(bytes.begin(), bytes.end(), out);
  return bytes.size();
}

}  // namespace
}  // namespace fencepost::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  using namespace fencepost;
  workload::Random random(seed);
  workload::Trace trace = workload::decode_trace(fuzz::view_of(data, size));
  workload::mutate(trace, random, workload::kMaxOperations, fuzz::mutate_value);
  return fuzz::put_trace(trace, data, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2,
                                                 std::uint8_t* out, std::size_t max_out_size,
                                                 unsigned int seed) {
  using namespace fencepost;
  workload::Random random(seed);
  const workload::Trace a = workload::decode_trace(fuzz::view_of(data1, size1));
  const workload::Trace b = workload::decode_trace(fuzz::view_of(data2, size2));
  return fuzz::put_trace(workload::cross(a, b, random, workload::kMaxOperations), out,
                         max_out_size);
}
