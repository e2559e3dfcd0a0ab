// Bytes as people read and write them, and a hash that does not change.
//
//   escape("+OK\r\n")            ->  +OK\r\n        (backslash, r, backslash, n)
//   unescape("a\\x00b")          ->  'a' NUL 'b'
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fencepost {

// Printable ASCII stays, `\` and `"` get a backslash, CR LF TAB become \r \n \t, every other byte
// \xNN. Longer inputs than `max_bytes` are cut, and the cut names the full length: `... (65000
// bytes)`.
[[nodiscard]] std::string escape(std::string_view bytes, std::size_t max_bytes = 4096);

// The reverse of escape(). Knows \\ \" \r \n \t \0 \xNN. Returns nothing when an escape is not one
// of those.
[[nodiscard]] std::optional<std::string> unescape(std::string_view text);

// FNV-1a, 64 bits: the same on every machine and in every version, for names that others rely on.
[[nodiscard]] std::uint64_t stable_hash(std::string_view bytes);

}  // namespace fencepost
