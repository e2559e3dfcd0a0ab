#include "codec/base16.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

std::string base16_encode(std::string_view bytes) {
  std::string out;
  out.resize(bytes.size() * 2);
  std::size_t at = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out[at++] = kDigits[byte >> 4U];
    out[at++] = kDigits[byte & 0xfU];
  }
  return out;
}

std::optional<std::string> base16_decode(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::size_t high = kDigits.find(digits[i]);
    const std::size_t low = kDigits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

}  // namespace fencepost::codec
