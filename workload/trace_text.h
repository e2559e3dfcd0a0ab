// Traces as text, a line an operation: for seeds written by hand, and for people who read a
// finding.
//
//   c0 SET k1 "v" NX PX 50 ts=now+60000/3#2p ft=token@k0-1
//   c1 GET k1
//   c1 raw "*1\r\n$3\r\nGET\r\n"
//   c1 disconnect
//   wait 50 timer
//   wall -60001
//
// `c` and `k` number clients and keys. A timestamp is `none`, `bad` and the number of a malformed
// text, or a base (now, start, token, version, epoch, max), then as far as they are not the
// default: `@` another key, the offset in milliseconds with its sign, `/` counter (modulo 2^64, so
// `/-1` is legal), `#` node, `p` for padded. Without `ts=`, SET has now and other requests none.
// Bytes are escaped as in base/bytes.h. Empty lines and lines that begin with `#` count for
// nothing. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/operation.h"

namespace fencepost::workload {

// One line, without its end.
[[nodiscard]] std::string to_text(const Operation& operation);

// All lines. parse_trace(to_text(trace)) == trace for normalized traces.
[[nodiscard]] std::string to_text(const Trace& trace);

// The error says in which line what was expected. The trace is normalized.
[[nodiscard]] Result<Trace, std::string> parse_trace(std::string_view text);

}  // namespace fencepost::workload
