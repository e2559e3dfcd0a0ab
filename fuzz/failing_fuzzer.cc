// No target of ours: it fails on purpose, for the test of replay_main.cc. The first letter says
// how.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const char letter = size == 0 ? '\0' : static_cast<char>(data[0]);
  FENCEPOST_CHECK(letter != 'c');
  if (letter == 'e') std::_Exit(7);
  if (letter == 'r') std::abort();
  if (letter == '1') return 1;
  return 0;
}
