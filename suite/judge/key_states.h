// The state of the keys of a case, from its replies: what a key was when a request came, to
// attribute the reply to a rule (attribution.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hlc/hlc.h"
#include "suite/judge/exchange.h"
#include "suite/judge/reply_requirement.h"

namespace fencepost::judge {

// The rule by which an answered request has the effect that it is to have: a refusal none, by
// ERR-STATE-1. Empty where the answer promises nothing.
[[nodiscard]] std::string_view rule_of_effect(const Exchange& exchange);

// What has happened to a key, by the rules under which each of it shows in what comes later. Ids
// are empty where nothing of the kind has happened.
struct KeyPast {
  std::string_view write{};    // of the last SET that was carried out
  std::string_view removal{};  // of the last DEL or VDEL that removed it
  std::string_view retimed{};  // an earlier expiry of it must no longer count
  std::optional<std::chrono::microseconds> written{};  // when it was sent
  bool read = false;                                   // and a GET has returned it since
  bool first_token = false;                            // its token is the first that it had
  bool newer_token = false;                            // its token has replaced another
  std::vector<std::string_view> refusals{};  // since the last change: nothing of them may be seen
  std::optional<hlc::Timestamp> token{};     // of the last SET that was carried out with one
  std::set<std::size_t> values{};            // hashes of what it was set to
  std::optional<std::size_t> last_value{};   // hash of what the last of those SETs has written
};

// Are the keys one for a store that does not look at all bytes, or may `seen` be what such a store
// has made of `key`? Req: KEY-BINARY-1
[[nodiscard]] bool are_similar(std::string_view a, std::string_view b);
[[nodiscard]] bool is_distorted(std::string_view seen, std::string_view key);

// For one case, used by one thread.
class KeyStates {
 public:
  // Notes what an answered exchange has made of its key. Exchanges are given in the order in which
  // their replies are judged.
  void note(const Exchange& exchange);

  // `now` is on the session's clock. A key that no request has touched does not exist.
  [[nodiscard]] KeyFacts of(std::string_view key, std::chrono::microseconds now) const;
  [[nodiscard]] bool was_deleted(std::string_view key) const;
  // The rule by which the last request of this key has left it as it should be, and not as it is
  // seen now; empty where that request was to set it, or there is none.
  [[nodiscard]] std::string_view rule_of_effect(std::string_view key) const;
  // The rule that the version of its last SET breaks: it is not later than the one before, though
  // that request had been answered. Empty where it is.
  [[nodiscard]] std::string_view rule_of_version(std::string_view key) const;
  // The latest wall clock of the versions that the store has given.
  [[nodiscard]] std::uint64_t latest_version_ms() const { return latest_version_ms_; }
  // Was the last request that was answered refused?
  [[nodiscard]] bool was_refused() const { return refused_; }
  [[nodiscard]] KeyPast past_of(std::string_view key) const;
  // The rules by which keys were removed.
  [[nodiscard]] const std::set<std::string_view>& removals() const { return removals_; }
  // Has the case changed, or requested to change, this key?
  [[nodiscard]] bool knows(std::string_view key) const { return pasts_.contains(key); }
  // Has another key been used that differs in letter case, or only behind a NUL or many bytes?
  [[nodiscard]] bool has_similar(std::string_view key) const;
  // Has another key been set to the value with this hash?
  [[nodiscard]] bool is_value_of_another(std::string_view key, std::size_t value) const;

 private:
  struct State {
    bool fenced = false;
    bool timed = false;                                   // it has a PX
    std::optional<std::chrono::microseconds> deadline{};  // of a PX that a case may wait for
  };
  // The version that the last SET of a key was answered with.
  struct Version {
    hlc::Timestamp value;
    std::chrono::microseconds replied{0};
    std::string_view broken{};  // the rule by which it must be later than the one before
  };
  std::map<std::string, State, std::less<>> states_;  // of the keys that exist, or have expired
  std::set<std::string, std::less<>> deleted_;        // at any time
  std::map<std::string, std::string_view, std::less<>> effects_;
  std::map<std::string, KeyPast, std::less<>> pasts_;
  std::map<std::string, Version, std::less<>> versions_;
  std::set<std::string_view> removals_;
  bool refused_ = false;
  std::uint64_t latest_version_ms_ = 0;

  void note_version(const codec::Command& command, const Exchange& exchange);
  void note_past(const codec::Command& command, const Exchange& exchange);
};

}  // namespace fencepost::judge
