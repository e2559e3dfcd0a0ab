// What a store was seen to do where the article leaves it a choice. It may choose, but once: what
// it did it has to do again. A store that breaks this contradicts itself, whichever choice is
// meant.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::judge {

// A point that the article leaves open, and what a store does there. Texts of this module.
struct UnspecifiedChoice {
  std::string_view requirement{};  // empty: nothing is open
  std::string_view point{};        // which, where a requirement leaves several
  std::string_view outcome{};
  // Several points together: what a store does there says nothing of it elsewhere.
  bool several = false;

  friend bool operator==(const UnspecifiedChoice&, const UnspecifiedChoice&) = default;
};

struct CandidateState;

// For one store, used by one thread.
class UnspecifiedPoints {
 public:
  // Has the store been seen to choose otherwise?
  [[nodiscard]] bool contradicts(const UnspecifiedChoice& choice) const;
  // Is nothing open, or known by now what the store does?
  [[nodiscard]] bool is_settled(const UnspecifiedChoice& choice) const;
  // What all states that are left of a key assume is so. The states no longer assume it.
  void settle(std::vector<CandidateState>& candidates);

  // The requirement, with the point where it leaves several, and the outcome.
  [[nodiscard]] const std::map<std::string, std::string>& observed() const { return observed_; }

 private:
  std::map<std::string, std::string> observed_{};
};

}  // namespace fencepost::judge
