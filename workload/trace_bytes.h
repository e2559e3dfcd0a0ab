// Traces as bytes: a few bytes an operation, and any bytes are a trace. RapidCheck, libFuzzer and
// the command line all make their traces of bytes here.
//
//   Trace trace = decode_trace(bytes);         // total: nothing is refused
//   decode_trace(encode_trace(trace)) == trace;
//
// An operation is a byte for kind, client and which timestamps are described; a byte for key,
// condition and PX; then value, PX, `__ts` and `__ft` as far as the kind has them. Numbers and
// values are one byte that chooses from a table of interesting ones, or an escape and the bytes
// themselves. Bytes that are missing at the end count as 0. Pure and thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "workload/operation.h"

namespace fencepost::workload {

// The trace of any bytes: normalized, and of at most kMaxOperations operations; what follows is
// ignored.
[[nodiscard]] Trace decode_trace(std::string_view bytes);

// The same into `out`, whose memory is used again.
void decode_trace(std::string_view bytes, Trace& out);

// The bytes of a trace of at most kMaxOperations normalized operations.
[[nodiscard]] std::string encode_trace(const Trace& trace);

// The bytes of as many of its first operations as fit into `max_bytes`.
[[nodiscard]] std::string encode_beginning(const Trace& trace, std::size_t max_bytes);

}  // namespace fencepost::workload
