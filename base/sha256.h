// SHA-256, for what others have to be able to compute again. A library of its own,
// fencepost_sha256, as few need it.
#pragma once

#include <string>
#include <string_view>

namespace fencepost {

// 64 lower-case hexadecimal digits, as sha256sum prints them.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace fencepost
