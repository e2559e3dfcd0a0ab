// What libFuzzer and its kin call to mutate inputs that are traces. Without it they would mutate
// bytes, of which most only shift all that follows. A target may have something of its own before
// the trace, FENCEPOST_FUZZ_HEADER_BYTES long.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/random.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"

#ifndef FENCEPOST_FUZZ_HEADER_BYTES
#define FENCEPOST_FUZZ_HEADER_BYTES 0
#endif

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

constexpr std::size_t kHeader = FENCEPOST_FUZZ_HEADER_BYTES;
constexpr std::size_t kHeaderIsChangedOnceIn = 8;

// An input: the header, with zeros where it is too short, and the trace.
struct Input {
  Input(const std::uint8_t* data, std::size_t size)
      : header(reinterpret_cast<const char*>(data), std::min(size, kHeader)),
        trace(workload::decode_trace(
            {reinterpret_cast<const char*>(data) + header.size(), size - header.size()})) {
    header.resize(kHeader);
  }

  std::string header;
  workload::Trace trace;
};

// Writes the input with as many of its first operations as there is room for.
std::size_t put(const Input& input, std::uint8_t* out, std::size_t max_size) {
  if (max_size < kHeader) return 0;
  const std::string bytes = input.header + encode_beginning(input.trace, max_size - kHeader);
  std::copy(bytes.begin(), bytes.end(), out);
  return bytes.size();
}

}  // namespace
}  // namespace fencepost::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  using namespace fencepost;
  workload::Random random(seed);
  fuzz::Input input(data, size);
  if (fuzz::kHeader > 0 && random.one_in(fuzz::kHeaderIsChangedOnceIn)) {
    input.header[random.below(fuzz::kHeader)] = static_cast<char>(random.next());
  } else {
    workload::mutate(input.trace, random, workload::kMaxOperations, fuzz::mutate_value);
  }
  return fuzz::put(input, data, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2,
                                                 std::uint8_t* out, std::size_t max_out_size,
                                                 unsigned int seed) {
  using namespace fencepost;
  workload::Random random(seed);
  fuzz::Input a(data1, size1);
  const fuzz::Input b(data2, size2);
  a.trace = workload::cross(a.trace, b.trace, random, workload::kMaxOperations);
  return fuzz::put(a, out, max_out_size);
}
