// The verbs of the protocol and their properties, in one table: code that uses it need
// not be changed for another verb.
//
//   has_value(Verb::kVdel);  removes(Verb::kDel);  name(Verb::kSet) == "SET";
//
// Pure and thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace fencepost::codec {

enum class Verb { kSet, kGet, kDel, kVdel, kKeynotify };

struct VerbFacts {
  Verb verb;
  std::string_view name;
  // Arguments, with the verb and the key. Req: ERR-ARITY-1. A SET with more than NX or NEX and PX
  // has an option that it cannot have (Req: ERR-OPTION-OPEN-1).
  std::size_t least;
  std::size_t most;
  bool has_value;  // behind the key
  bool changes;    // may write a key or remove it; the others read. Req: AUTH-WRITE-1, AUTH-READ-1
  bool removes;
};

// In the order of the enum.
inline constexpr std::array kVerbFacts = {
    VerbFacts{Verb::kSet, "SET", 3, 6, true, true, false},
    VerbFacts{Verb::kGet, "GET", 2, 2, false, false, false},
    VerbFacts{Verb::kDel, "DEL", 2, 2, false, true, true},
    VerbFacts{Verb::kVdel, "VDEL", 3, 3, true, true, true},
    VerbFacts{Verb::kKeynotify, "KEYNOTIFY", 2, 3, false, false, false},
};

// Stands for a value outside the enum: such a verb may change any key, and takes no arguments.
inline constexpr VerbFacts kNoVerb{Verb{}, "unknown", 1, 1, false, true, false};

inline constexpr auto kVerbs = [] {
  std::array<Verb, kVerbFacts.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out.at(i) = kVerbFacts.at(i).verb;
  return out;
}();

[[nodiscard]] constexpr const VerbFacts& facts_of(Verb verb) {
  const auto at = static_cast<std::size_t>(verb);
  return at < kVerbFacts.size() ? kVerbFacts.at(at) : kNoVerb;
}
[[nodiscard]] constexpr std::string_view name(Verb verb) { return facts_of(verb).name; }
[[nodiscard]] constexpr bool has_value(Verb verb) { return facts_of(verb).has_value; }
[[nodiscard]] constexpr bool changes(Verb verb) { return facts_of(verb).changes; }
[[nodiscard]] constexpr bool removes(Verb verb) { return facts_of(verb).removes; }

// The verb of that name, in capitals as the protocol has it; nothing for any other.
[[nodiscard]] constexpr std::optional<Verb> verb_named(std::string_view name) {
  const auto* const found = std::find_if(kVerbFacts.begin(), kVerbFacts.end(),
                                         [&](const VerbFacts& each) { return each.name == name; });
  return found == kVerbFacts.end() ? std::nullopt : std::optional(found->verb);
}

}  // namespace fencepost::codec
