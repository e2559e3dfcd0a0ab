// Any bytes as a sequence of the requests that explore enumerates, longer than it can run them all:
// the oracle of explore rejects nothing that the reference store does.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "base/check.h"
#include "fuzz/judged_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fencepost;
  const workload::Trace trace = fuzz::request_sequence(data, size);
  const std::optional<std::string> rejection = fuzz::judged(trace, codec::DialectId::kDeployed);
  if (rejection) std::fprintf(stderr, "%s\n", rejection->c_str());
  FENCEPOST_CHECK(!rejection);
  return 0;
}
