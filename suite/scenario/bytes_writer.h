// Writes the notations for bytes and keys of a scenario file: the inverse of bytes_loader.h. What
// comes out is YAML for block and flow context. Pure and thread safe.
#pragma once

#include <string>

#include "suite/scenario/scenario.h"

namespace fencepost::scenario {

// load_bytes() reads it.
[[nodiscard]] std::string bytes_text(const BytesSpec& spec);

// load_key() reads it.
[[nodiscard]] std::string key_text(const BytesSpec& spec);

}  // namespace fencepost::scenario
