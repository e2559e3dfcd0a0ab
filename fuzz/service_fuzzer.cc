// Any bytes as messages to the Service: each gets one response or none, byte for byte what the
// naive model says; what is refused changes nothing; another client is served after each.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "base/check.h"
#include "fuzz/service_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::optional<std::string> difference =
      fencepost::fuzz::drive_service({reinterpret_cast<const char*>(data), size});
  if (difference) std::fprintf(stderr, "%s\n", difference->c_str());
  FENCEPOST_CHECK(!difference);
  return 0;
}
