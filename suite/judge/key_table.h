// What the oracle knows of keys: the states that each may be in, and who observes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "suite/judge/oracle_key.h"

namespace fencepost::judge {

enum class Registered : std::uint8_t { kNo, kYes, kPerhaps };

// Whether a client observes a key, and for sure since when.
struct Observation {
  Registered registered = Registered::kNo;
  std::chrono::microseconds since{0};
  bool repeated = false;  // registered again: each notification may come twice
  std::string last_notification{};
  // The client's connection has ended, which the store may take until then to notice. (Req:
  // LIFE-DISCONNECT-1)
  std::chrono::microseconds lingers_until{-1};
  // A KEYNOTIFY was on its way until then: before its reply has come it may be in force.
  std::chrono::microseconds asked_until{-1};
};

struct KeyKnowledge {
  std::vector<CandidateState> candidates{};  // at least one
  std::map<std::string, Observation, std::less<>> observers{};
  // The last expiry that there may have been, and until when it may be notified: also to clients
  // that register in between. (Req: SET-PX-OPEN-8)
  std::chrono::microseconds expires_from{0};
  std::chrono::microseconds notified_until{-1};
  bool used_since_expiry = true;  // that has certainly happened by now
};

// For one store, used by one thread.
class KeyTable {
 public:
  // With `starts_empty` no key exists and nobody observes one; else anything may be.
  explicit KeyTable(bool starts_empty) : starts_empty_(starts_empty) {}

  // A key that was not seen before is as the store started. Stays where it is.
  [[nodiscard]] KeyKnowledge& at(std::string_view key);
  [[nodiscard]] Observation& observation(KeyKnowledge& key, std::string_view client_id) const;

  // Nothing is known of the value, token and expiry any more, nor whether there is one.
  static void forget(KeyKnowledge& key);
  // Any key may exist by now that was not seen yet.
  void expect_unseen_keys() { starts_empty_ = false; }
  // The client's registrations have ended, or do so by then.
  void end_registrations(std::string_view client_id, std::chrono::microseconds by);
  // The client's registrations may have ended, now or at any time after this.
  void doubt_registrations(std::string_view client_id);

  [[nodiscard]] auto begin() { return keys_.begin(); }
  [[nodiscard]] auto end() { return keys_.end(); }

 private:
  bool starts_empty_;
  std::unordered_map<std::string, KeyKnowledge> keys_{};
  std::set<std::string, std::less<>> disconnected_{};  // clients
};

}  // namespace fencepost::judge
