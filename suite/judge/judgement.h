// The oracle's verdict on one action of a store.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::judge {

enum class Answer {
  kAccepted,     // a conforming store may do this
  kRejected,     // no conforming store does
  kUndecidable,  // right only because of what is open, or cannot be known
};
[[nodiscard]] std::string_view name(Answer answer);

struct Judgement {
  Answer answer = Answer::kAccepted;
  std::string requirement{};  // kRejected: the one that is broken; kUndecidable: the one that is
                              // open, or empty
  std::string because{};      // kRejected, kUndecidable: for people
};

[[nodiscard]] Judgement rejected(std::string_view requirement, std::string because);
[[nodiscard]] Judgement undecidable(std::string_view requirement, std::string because);

}  // namespace fencepost::judge
