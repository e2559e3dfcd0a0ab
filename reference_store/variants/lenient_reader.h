// Reads the bytes of a request as a store with these decisions does: what RESP3 has besides arrays
// of bulk strings is taken or refused as the axes say. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/error_code.h"
#include "reference_store/variants/choices.h"

namespace fencepost::store {

// An error of a store: one that the protocol lists, or words of its own where any error will do.
struct VariantError {
  std::optional<codec::ErrorCode> code{};  // nothing: words of its own
};

struct Argument {
  std::string bytes{};
  bool null = false;  // `$-1` or `_`
};

struct ReadRequest {
  std::optional<VariantError> error{};  // it is no array of arguments for this store
  std::vector<Argument> arguments{};    // at least one
  std::size_t used = 0;                 // bytes of the payload that belong to it
};

// What the first request of a payload is; bytes behind it are left to the caller.
[[nodiscard]] ReadRequest read_one(std::string_view payload, const Decisions& decisions);

// All requests that the store takes out of a payload, at least one; or one with an error.
[[nodiscard]] std::vector<ReadRequest> read_requests(std::string_view payload,
                                                     const Decisions& decisions);

}  // namespace fencepost::store
