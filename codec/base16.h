// Base16 of RFC 4648 section 8: two upper-case digits a byte. Notification topics spell client ids
// and keys in it. Pure and thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fencepost::codec {

// base16_encode("SOMEKEY") == "534F4D454B4559"
[[nodiscard]] std::string base16_encode(std::string_view bytes);

// Upper-case digits only. Nothing for an odd length or any other byte.
[[nodiscard]] std::optional<std::string> base16_decode(std::string_view digits);

}  // namespace fencepost::codec
