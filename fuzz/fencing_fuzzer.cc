// Requests that change or delete one key, with tokens whose parts differ one at a time or together.
// The specification needs only the tokens that the key has accepted: a request is refused when it
// has none and there are some, or when one is newer than its own; the key's token is the newest.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "hlc/hlc.h"
#include "hlc/testing/naive_hlc.h"

using namespace fencepost::hlc;

namespace {
// Neighbours that change places as text, as signed numbers, or in fewer bits.
constexpr std::array kNumbers = {
    0UL, 9UL, 10UL, 100UL, 0x7fff'ffffUL, 0x1'0000'0000UL, kMaxWallMs, ~std::uint64_t{0}};
constexpr std::array kNodes = {"B", "a", "aa", "ab", "b", "~", "\x7f", "\xc3\xa9"};
constexpr int kMaxSteps = 32;  // more of them say nothing new
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  std::vector<Timestamp> accepted;
  accepted.reserve(kMaxSteps);
  std::optional<Timestamp> held;  // the key's token
  for (int step = 0; step < kMaxSteps && !in.at_end(); ++step) {
    const unsigned what = in.byte() % 8;
    const Timestamp token{in.pick(kNumbers), in.pick(kNumbers), in.pick(kNodes)};
    const Timestamp* offered = what < 2 ? nullptr : &token;
    const Timestamp* key = held ? &*held : nullptr;
    Fencing expected = Fencing::kAccepted;
    if (offered == nullptr && !accepted.empty()) expected = Fencing::kRequired;
    for (const Timestamp& old : accepted) {
      if (offered != nullptr && naive::newer(old, token)) expected = Fencing::kLower;
    }
    FENCEPOST_CHECK(check_fencing(key, offered) == expected);
    FENCEPOST_CHECK(token_after(key, nullptr) == key);
    if (expected != Fencing::kAccepted) continue;

    if (offered != nullptr) accepted.push_back(token);
    const Timestamp* after = token_after(key, offered);
    FENCEPOST_CHECK((after == nullptr) == accepted.empty());
    for (const Timestamp& old : accepted) FENCEPOST_CHECK(!naive::newer(old, *after));
    FENCEPOST_CHECK(after == nullptr || std::count(accepted.begin(), accepted.end(), *after) > 0);
    if (after != nullptr) held = *after;
    if (what != 7) continue;
    held.reset();  // a delete: the key that is made next has no token
    accepted.clear();
  }
  return 0;
}
