// The words of scenarios/FORMAT.md, for whoever writes scenarios. Pure and thread safe.
//
//   text_of_bytes("a\r\n")  ->  {escaped: 'a\r\n'}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace fencepost::scenario {

// In single quotes YAML leaves everything alone but these.
[[nodiscard]] std::string single_quoted(std::string_view text);

// Text, UTF-8, in double quotes.
[[nodiscard]] std::string double_quoted(std::string_view text);

// Printable ASCII that stands in double quotes as it is.
[[nodiscard]] bool is_plain_byte(char c);

// Any bytes, as a value or an argument.
[[nodiscard]] std::string text_of_bytes(std::string_view bytes);

// A key is a name, which is text: ASCII.
[[nodiscard]] std::string text_of_key(std::string_view key);

// `150ms`, `2s`, `1m`; not negative.
[[nodiscard]] std::string duration_text(std::int64_t ms);

// `now + 5s`, `v1 - 1ms`, or just the base.
[[nodiscard]] std::string moved(std::string_view base, std::int64_t by_ms);

// "a, b, c"
template <typename Texts>
[[nodiscard]] std::string joined(const Texts& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace fencepost::scenario
