// Runs a trace against a store in the same process, and lets the oracle of explore judge it.
//
//   if (std::optional<std::string> rejection = judged(trace, dialect)) complain(*rejection);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/dialect.h"
#include "endpoint/in_process.h"
#include "workload/operation.h"

namespace fencepost::fuzz {

// What the oracle rejects first, for people, with the trace; nothing when it rejects nothing. It
// judges as `explore --profile P --edition ga`. `make_store`: empty for the reference store.
[[nodiscard]] std::optional<std::string> judged(const workload::Trace& trace,
                                                codec::DialectId dialect,
                                                endpoint::MakeStore make_store = {});

// Any bytes as a sequence of what `explore --exhaustive` enumerates: the first chooses the state of
// a key; each two, least significant first, a request. Then follows what distinguishes the states.
[[nodiscard]] workload::Trace request_sequence(const std::uint8_t* data, std::size_t size);

}  // namespace fencepost::fuzz
