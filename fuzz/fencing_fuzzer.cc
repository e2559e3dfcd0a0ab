// Requests that change or delete one key, with tokens whose parts differ one at a time or
// together. The specification needs no memory but the tokens that the key has accepted: a request
// is refused when it has no token and there are some, or when one of them is newer than its own;
// the key's token is the newest of them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "hlc/hlc.h"

namespace {

using namespace fencepost::hlc;

// Neighbours whose order as text, as signed numbers or in fewer bits is another.
constexpr std::array<std::uint64_t, 8> kNumbers = {
    0, 9, 10, 100, 0x7fff'ffff, 0x1'0000'0000, kMaxWallMs, ~0ULL};
constexpr std::array kNodes = {"B", "a", "aa", "ab", "b", "\x7f", "\xc3\xa9", "~"};

// By parts, without the operators of Timestamp.
bool newer(const Timestamp& a, const Timestamp& b) {
  if (a.wall_ms != b.wall_ms) return a.wall_ms > b.wall_ms;
  if (a.counter != b.counter) return a.counter > b.counter;
  const auto below = [](char x, char y) {
    return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
  };
  return std::lexicographical_compare(b.node.begin(), b.node.end(), a.node.begin(), a.node.end(),
                                      below);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  std::vector<Timestamp> accepted;
  std::optional<Timestamp> held;                           // the key's token
  for (int step = 0; step < 32 && !in.at_end(); ++step) {  // more of them say nothing new
    const unsigned what = in.byte() % 8;
    const Timestamp token{in.pick(kNumbers), in.pick(kNumbers), in.pick(kNodes)};
    const Timestamp* offered = what < 2 ? nullptr : &token;
    const Timestamp* key = held ? &*held : nullptr;

    const auto is_newer = [&](const Timestamp& old) { return newer(old, token); };
    const bool lower =
        offered != nullptr && std::any_of(accepted.begin(), accepted.end(), is_newer);
    const bool required = offered == nullptr && !accepted.empty();
    FENCEPOST_CHECK(check_fencing(key, offered) == (required ? Fencing::kRequired
                                                    : lower  ? Fencing::kLower
                                                             : Fencing::kAccepted));
    if (required || lower) continue;
    if (offered != nullptr) accepted.push_back(token);
    const Timestamp* after = token_after(key, offered);
    FENCEPOST_CHECK((after == nullptr) == accepted.empty());
    if (after != nullptr) {
      const auto newest =
          std::max_element(accepted.begin(), accepted.end(),
                           [](const auto& a, const auto& b) { return newer(b, a); });
      FENCEPOST_CHECK(*after == *newest);
      held = *after;
    }
    if (what != 7) continue;
    held.reset();  // a delete: the key that is made next has no token
    accepted.clear();
  }
  return 0;
}
