// Reads the bytes of a request as a store with these decisions does: what RESP3 has in addition to
// arrays of bulk strings is accepted or refused as its implementation choices say. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/error_code.h"
#include "reference_store/variants/choices.h"

namespace fencepost::store {

// An error of a store: one that the protocol lists, or its own text where any error will do.
struct VariantError {
  std::optional<codec::ErrorCode> code{};  // nothing: its own text
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

// What the first request of a payload is; bytes after it are left to the caller.
[[nodiscard]] ReadRequest read_one(std::string_view payload, const Decisions& decisions);

// All requests that the store takes out of a payload, at least one; or one with an error.
[[nodiscard]] std::vector<ReadRequest> read_requests(std::string_view payload,
                                                     const Decisions& decisions);

}  // namespace fencepost::store
