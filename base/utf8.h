// UTF-8, one character at a time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fencepost {

struct Character {
  std::size_t length = 0;  // bytes; 0: the text does not begin with right UTF-8
  std::uint32_t code = 0;
};

// The first character of `text`. Overlong forms, surrogates and what lies above U+10FFFF are wrong.
[[nodiscard]] Character first_character(std::string_view text);

// Nothing but right UTF-8?
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace fencepost
