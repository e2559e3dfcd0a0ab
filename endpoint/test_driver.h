// What tests of endpoint/ share: which client they run over, as each is run once with each.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

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

// The options for what listens at a loopback port, over that client.
inline MqttOptions options_for(std::uint16_t port) {
  MqttOptions out;
  out.host = "127.0.0.1";
  out.port = port;
  // A limit for what must happen; nothing waits that long.
  out.timeout = std::chrono::seconds{20};
  out.driver = test_driver();
  return out;
}

// Ends the test with the error's text: without a broker there is nothing to test.
template <typename T, typename E>
T take(Result<T, E> result) {
  if (!result) throw std::runtime_error(result.error().text);
  return std::move(*result);
}

}  // namespace fencepost::endpoint
