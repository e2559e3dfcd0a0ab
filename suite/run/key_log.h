// Which keys a case has written, and with which token the store lets them go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codec/message.h"
#include "hlc/hlc.h"
#include "suite/run/clean_up.h"

namespace fencepost::run {

// Used by one thread.
class KeyLog {
 public:
  void add(std::string key) { keys_.push_back(std::move(key)); }

  // Takes the token of a request that is sent, if it has one. `store_wall_ms`: what the store's
  // clock shows, as far as is known.
  void note_token(const codec::Message& request, std::uint64_t store_wall_ms);

  // The keys, each once, and a token that the store takes for all of them: one with the wall clock
  // `accepted_wall_ms`, newer than what a case usually uses, or the newest that this one did.
  [[nodiscard]] WrittenKeys take(std::uint64_t accepted_wall_ms);

 private:
  std::vector<std::string> keys_;
  bool fenced_ = false;
  hlc::Timestamp newest_token_;  // that was legal when it was sent
};

}  // namespace fencepost::run
