// How many bytes of what endpoints have sent this process holds: of all connections and all cases
// together, since the memory of a machine is one, too.
//
//   HeldBytes mine;
//   if (!mine.try_add(packet.size())) return "the endpoint floods";
//   ...                       // counted until `mine` is gone, or mine.remove()
//
// Each object is of one thread at a time; what all hold together is known to every thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "codec/message.h"

namespace fencepost::endpoint {

// All together may hold so much; where they do, each so much at least.
inline constexpr std::size_t kMaxHeldOfAll = std::size_t{96} << 20U;
inline constexpr std::size_t kHeldOfEach = std::size_t{512} << 10U;

// Limit of unread messages of one connection: beyond it, the connection ends.
inline constexpr std::size_t kMaxUnread = std::size_t{64} << 20U;

// What a message that nobody has read yet takes, about.
[[nodiscard]] inline std::size_t bytes_unread(const codec::Message& message) {
  constexpr std::size_t kBesides = 512;
  std::size_t out = kBesides + message.topic.size() + message.payload.size();
  for (const auto& [name, value] : message.user_properties) {
    out += 2 * sizeof(std::string) + name.size() + value.size();
  }
  return out;
}

class HeldBytes {
 public:
  HeldBytes() = default;
  ~HeldBytes() { remove(own_); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  void add(std::size_t bytes) {
    own_ += bytes;
    all() += bytes;
  }
  // False, and nothing is added, where that is more than kHeldOfEach here and more than
  // kMaxHeldOfAll in all.
  [[nodiscard]] bool try_add(std::size_t bytes) {
    add(bytes);
    if (own_ <= kHeldOfEach || all() <= kMaxHeldOfAll) return true;
    remove(bytes);
    return false;
  }
  // At most what was added.
  void remove(std::size_t bytes) {
    own_ -= bytes;
    all() -= bytes;
  }
  [[nodiscard]] bool is_too_much() const { return own_ > kHeldOfEach && all() > kMaxHeldOfAll; }
  [[nodiscard]] std::size_t own() const { return own_; }

 private:
  static std::atomic<std::size_t>& all() {
    static std::atomic<std::size_t> bytes{0};
    return bytes;
  }
  std::size_t own_ = 0;
};

}  // namespace fencepost::endpoint
