#include "suite/judge/key_table.h"

namespace fencepost::judge {
namespace {

CandidateState unknown_present() {
  CandidateState out;
  out.exists = true;
  out.token = CandidateState::Token::kUnknown;
  out.expiry = CandidateState::Expiry::kUnknown;
  return out;
}

// A key that is not there may be one that has expired: then its token may still count. (Req:
// FT-OPEN-5)
CandidateState unknown_absent() {
  CandidateState out;
  out.expired = true;
  out.token = CandidateState::Token::kUnknown;
  return out;
}

}  // namespace

KeyKnowledge& KeyTable::at(std::string_view key) {
  auto [found, is_new] = keys_.try_emplace(std::string(key));
  if (is_new) {
    if (starts_empty_) {
      found->second.candidates = {CandidateState{}};
    } else {
      forget(found->second);
    }
  }
  return found->second;
}

Observation& KeyTable::observation(KeyKnowledge& key, std::string_view client_id) const {
  const auto found = key.observers.find(client_id);
  if (found != key.observers.end()) return found->second;
  // A client that was not seen to register may have done so before we looked, unless its connection
  // has ended since: registrations end with it. (Req: LIFE-DISCONNECT-1)
  const bool known = starts_empty_ || disconnected_.contains(client_id);
  return key.observers
      .emplace(std::string(client_id),
               Observation{.registered = known ? Registered::kNo : Registered::kPerhaps})
      .first->second;
}

// Who observes the key stays known: what becomes of a key ends no registration. Req: NTF-KEEP-1
void KeyTable::forget(KeyKnowledge& key) { key.candidates = {unknown_present(), unknown_absent()}; }

void KeyTable::end_registrations(std::string_view client_id, std::chrono::microseconds by) {
  disconnected_.emplace(client_id);
  for (auto& [name, key] : keys_) {
    const auto registered = key.observers.find(client_id);
    if (registered == key.observers.end()) continue;
    // A registration that had ended before gets no new time to linger from a later connection of
    // its client.
    const bool observed = registered->second.registered != Registered::kNo;
    const auto until = observed ? by : registered->second.lingers_until;
    registered->second.registered = Registered::kNo;
    registered->second.lingers_until = until;
  }
}

void KeyTable::doubt_registrations(std::string_view client_id) {
  for (auto& [name, key] : keys_) {
    const auto found = key.observers.find(client_id);
    if (found == key.observers.end() || found->second.registered != Registered::kYes) continue;
    found->second.registered = Registered::kPerhaps;
  }
}

}  // namespace fencepost::judge
