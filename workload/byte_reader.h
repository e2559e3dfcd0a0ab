// The one source of bytes from which fuzzed inputs are made: reads choices, numbers and bytes off
// the front, and never fails. Bytes that are missing count as 0.
//
//   ByteReader reader(input);
//   while (!reader.at_end()) { Kind kind = kKinds[reader.below(kKinds.size())]; ... }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace fencepost::workload {

// The first byte of a number: below this it chooses from a table; from here on, little-endian bytes
// follow.
inline constexpr unsigned kNumberEscape = 0xF0;

// Not thread safe. Views are into the input.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

  // 0 to limit - 1, of one byte; limit is 1 to 256.
  std::size_t below(std::size_t limit) { return byte() % limit; }

  // This number of bytes, or those that are left.
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // A number of a table, or any.
  template <typename T, std::size_t kSize>
  T number(const std::array<T, kSize>& table) {
    const unsigned first = byte();
    if (first < kNumberEscape) return table[first % kSize];
    std::make_unsigned_t<T> value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value |= static_cast<std::make_unsigned_t<T>>(std::make_unsigned_t<T>{byte()} << (8 * i));
    }
    return static_cast<T>(value);
  }

 private:
  std::string_view rest_;
};

}  // namespace fencepost::workload
