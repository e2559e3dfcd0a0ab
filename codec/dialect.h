// Where the published article and the deployed service spell the same thing differently, the
// spelling is data.
//
//   const Dialect& deployed = dialect(DialectId::kDeployed);
//   append_reply(out, {.kind = ReplyKind::kNotApplied}, Verb::kSet, deployed);  // :-1\r\n
//
// A `Divergence` names one such place. A scenario case that depends on it says so, and a report
// says which form an endpoint was seen to use.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace fencepost::codec {

enum class DialectId {
  kDocumented,  // what the source documents print
  kDeployed,    // what the public client SDKs require of the deployed service
};

inline constexpr std::array kDialects = {DialectId::kDocumented, DialectId::kDeployed};

struct Dialect {
  DialectId id;
  std::string_view name;                    // "documented", "deployed"
  std::string_view set_not_applied;         // whole payload of a SET refused by NX or NEX
  std::string_view vdel_mismatch;           // whole payload of a VDEL whose value differs
  std::string_view delete_operation;        // the operation of a delete notification
  std::string_view lower_token_text;        // error text for a fencing token that is too old
  std::string_view keynotify_error_prefix;  // what precedes the error text in a reply to KEYNOTIFY
  bool fractional_expiry;  // PX takes a decimal fraction of a millisecond and drops it
  bool padded_versions;    // versions are printed with 15 and 5 digits
};

[[nodiscard]] const Dialect& dialect(DialectId id);

// The dialect of that name, or nothing.
[[nodiscard]] std::optional<DialectId> dialect_named(std::string_view name);

enum class Divergence {
  kSetNotApplied,    // -1        :-1
  kVdelMismatch,     // -1        :-1
  kDeleteOperation,  // DEL       DELETE
  kLowerTokenText,   // that      than
  kKeynotifyError,   // -ERR: x   -ERR x
};

inline constexpr std::array kDivergences = {
    Divergence::kSetNotApplied, Divergence::kVdelMismatch, Divergence::kDeleteOperation,
    Divergence::kLowerTokenText, Divergence::kKeynotifyError};

// The name that scenarios and reports use, e.g. "set-not-applied".
[[nodiscard]] std::string_view name(Divergence divergence);
[[nodiscard]] std::optional<Divergence> divergence_named(std::string_view name);

// Which dialects a run accepts.
enum class Profile { kAuto, kDocumented, kDeployed };
[[nodiscard]] std::string_view name(Profile profile);
[[nodiscard]] std::optional<Profile> profile_named(std::string_view name);
[[nodiscard]] std::vector<DialectId> dialects_of(Profile profile);

}  // namespace fencepost::codec
