// Any bytes as a trace of operations: the reference store and the naive model, which was written
// from the documents alone, agree after each step on replies, versions, notifications and state.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "base/check.h"
#include "fuzz/store_driver.h"
#include "workload/trace_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fencepost::fuzz::StoreDriver driver;
  static fencepost::workload::Trace trace;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fencepost::workload::decode_trace(bytes, trace);
  const std::optional<std::string> difference = driver.run(trace);
  if (difference) std::fprintf(stderr, "%s\n", difference->c_str());
  FENCEPOST_CHECK(!difference);
  return 0;
}
