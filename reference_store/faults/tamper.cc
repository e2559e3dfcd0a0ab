#include "reference_store/faults/tamper.h"

#include <utility>

#include "base/check.h"

namespace fencepost::store {

std::string* Tamper::value(std::string_view key) {
  store_.note_change(key);
  const auto found = store_.entries_.find(key);
  return found == store_.entries_.end() ? nullptr : &found->second.value;
}

hlc::Timestamp* Tamper::version(std::string_view key) {
  store_.note_change(key);
  const auto found = store_.entries_.find(key);
  return found == store_.entries_.end() ? nullptr : &found->second.version;
}

std::optional<hlc::Timestamp>* Tamper::token(std::string_view key) {
  store_.note_change(key);
  const auto found = store_.entries_.find(key);
  return found == store_.entries_.end() ? nullptr : &found->second.token;
}

std::optional<std::chrono::microseconds> Tamper::deadline(std::string_view key) {
  const auto found = store_.entries_.find(key);
  if (found == store_.entries_.end() || !found->second.deadline) return std::nullopt;
  return (*found->second.deadline)->first;
}

void Tamper::set_deadline(std::string_view key, std::optional<std::chrono::microseconds> deadline) {
  const auto found = store_.entries_.find(key);
  FENCEPOST_CHECK(found != store_.entries_.end());
  store_.note_change(key);
  auto& held = found->second.deadline;
  if (held) store_.deadlines_.erase(*held);
  held.reset();
  if (deadline) held = store_.deadlines_.emplace(*deadline, found->first);
}

void Tamper::put(std::string_view key, std::string_view value, hlc::Timestamp version) {
  store_.note_change(key);
  auto found = store_.entries_.find(key);
  if (found == store_.entries_.end()) {
    found = store_.entries_.try_emplace(std::string(key)).first;
  }
  found->second.value = value;
  found->second.version = std::move(version);
}

void Tamper::erase(std::string_view key) {
  const auto found = store_.entries_.find(key);
  if (found != store_.entries_.end()) store_.erase(found);
}

std::vector<std::string> Tamper::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, entry] : store_.entries_) out.push_back(key);
  return out;
}

std::vector<std::string>& Tamper::observers(std::string_view key) {
  store_.is_tampered_with_ = true;
  return store_.observers_[std::string(key)];
}

hlc::Clock& Tamper::clock() { return store_.clock_; }

}  // namespace fencepost::store
