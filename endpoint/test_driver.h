// Which client a test of endpoint/ runs over: each is run once with each.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "endpoint/mqtt.h"

namespace fencepost::endpoint {

// What FENCEPOST_TEST_DRIVER names; kBuiltin where it is not set. Throws for a name of none.
inline Driver test_driver() {
  const char* name = std::getenv("FENCEPOST_TEST_DRIVER");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr) return Driver::kBuiltin;
  const auto driver = driver_named(name);
  if (!driver) throw std::runtime_error(std::string("no driver ") + name);
  return *driver;
}

}  // namespace fencepost::endpoint
