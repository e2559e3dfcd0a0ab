// Splits the bytes of a fuzz input into values, front to back. What is missing at the end reads as
// zero or as nothing, so every input means something.
//
//   InputReader in(data, size);
//   const codec::Verb verb = in.pick(codec::kVerbs);
//   const std::string_view key = in.text();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fencepost::fuzz {

// The bytes as text, for targets that take their input whole.
[[nodiscard]] inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

class InputReader {
 public:
  InputReader(const std::uint8_t* data, std::size_t size) : rest_(as_text(data, size)) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

  // Eight bytes, the least significant first.
  std::uint64_t number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 8) out |= std::uint64_t{byte()} << shift;
    return out;
  }

  // One of `choices`, which is not empty and has at most 256, by one byte.
  template <typename Choices>
  auto pick(const Choices& choices) {
    return choices[byte() % choices.size()];
  }

  // A byte that says how long, then that number of bytes. They live as long as the input.
  std::string_view text() {
    const std::size_t wanted = byte();
    const std::string_view out = rest_.substr(0, wanted);
    rest_.remove_prefix(out.size());
    return out;
  }

 private:
  std::string_view rest_;
};

}  // namespace fencepost::fuzz
