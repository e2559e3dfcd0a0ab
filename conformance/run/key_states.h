// What the replies of a case say of its keys: what a key was when a request came, for charging the
// reply to the rule that it is for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "conformance/judge/attribution.h"
#include "conformance/judge/exchange.h"
#include "endpoint/endpoint.h"

namespace fencepost::run {

// The rule by which an answered request has the effect that it is to have: a refusal none, by
// ERR-STATE-1. Empty where the answer promises nothing.
[[nodiscard]] std::string_view rule_of_effect(const judge::Exchange& exchange);

// Of one case, used by one thread.
class KeyStates {
 public:
  // Notes what an answered exchange has made of its key. Exchanges are given in the order in which
  // their replies are judged.
  void note(const judge::Exchange& exchange);

  // `now` is on the session's clock. A key that no request has touched does not exist.
  [[nodiscard]] judge::KeyFacts of(std::string_view key, endpoint::Duration now) const;
  [[nodiscard]] bool was_deleted(std::string_view key) const;
  // The rule by which the last request of this key has left it as it should be, and not as it is
  // seen now; empty where that request was to set it, or there is none.
  [[nodiscard]] std::string_view rule_of_effect(std::string_view key) const;

 private:
  struct State {
    bool fenced = false;
    std::optional<endpoint::Duration> deadline{};
  };
  std::map<std::string, State, std::less<>> states_;  // of the keys that exist, or have expired
  std::set<std::string, std::less<>> deleted_;        // at any time
  std::map<std::string, std::string_view, std::less<>> effects_;
};

}  // namespace fencepost::run
