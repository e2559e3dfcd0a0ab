// Any bytes as a request: the strict decoder and the naive one give the same verdict, and the same
// arguments.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "codec/naive_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  FENCEPOST_CHECK(fencepost::codec::naive::agree_on_command(input));
  return 0;
}
