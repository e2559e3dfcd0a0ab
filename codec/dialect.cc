#include "codec/dialect.h"

namespace fencepost::codec {
namespace {

// As the published article spells it, its slips included: `-1` without a type byte is no RESP3.
constexpr Dialect kDocumented = {
    .id = DialectId::kDocumented,
    .name = "documented",
    .set_not_applied = "-1\r\n",
    .vdel_mismatch = "-1\r\n",
    .delete_operation = "DEL",
    .lower_token_text =
        "the request fencing token is a lower version that the fencing token protecting the "
        "resource",
    // Its section on KEYNOTIFY prints a colon, and no other one. Req: NTF-ERROR-1
    .keynotify_error_prefix = "-ERR: ",
    // It says that PX is in milliseconds, and nothing of parts of one. Req: SET-PX-OPEN-4
    .fractional_expiry = false,
    // As in its examples, `1696374425000:1:StateStore`; readers have to take both (HLC-PARSE-2).
    .padded_versions = false,
};

// As the service answers, by the tests and parsers of the three client SDKs: two of them compare
// the texts of errors byte for byte, so that "that" for "than" is another error to them.
constexpr Dialect kDeployed = {
    .id = DialectId::kDeployed,
    .name = "deployed",
    // With the type of an integer. The clients take `-1` for an error, or for no reply.
    .set_not_applied = ":-1\r\n",
    .vdel_mismatch = ":-1\r\n",
    // Two of the three take no other word for a deletion.
    .delete_operation = "DELETE",
    .lower_token_text =
        "the request fencing token is a lower version than the fencing token protecting the "
        "resource",
    // The only form that all three decode.
    .keynotify_error_prefix = "-ERR ",
    .fractional_expiry = true,  // the .NET client can send `PX 1500.5` (SET-PX-OPEN-4)
    // As the clients print their own. How the service does is open. Req: VER-OPEN-3
    .padded_versions = true,
};

}  // namespace

const Dialect& dialect(DialectId id) {
  return id == DialectId::kDocumented ? kDocumented : kDeployed;
}

std::optional<DialectId> dialect_named(std::string_view name) {
  for (const DialectId id : kDialects) {
    if (dialect(id).name == name) return id;
  }
  return std::nullopt;
}

std::string_view name(Divergence divergence) {
  switch (divergence) {
    case Divergence::kSetNotApplied:
      return "set-not-applied";
    case Divergence::kVdelMismatch:
      return "vdel-mismatch";
    case Divergence::kDeleteOperation:
      return "delete-operation";
    case Divergence::kLowerTokenText:
      return "lower-token-text";
    case Divergence::kKeynotifyError:
      return "keynotify-error";
  }
  return "unknown";
}

std::optional<Divergence> divergence_named(std::string_view text) {
  for (const Divergence divergence : kDivergences) {
    if (name(divergence) == text) return divergence;
  }
  return std::nullopt;
}

std::string_view name(Profile profile) {
  switch (profile) {
    case Profile::kAuto:
      return "auto";
    case Profile::kDocumented:
      return "documented";
    case Profile::kDeployed:
      return "deployed";
  }
  return "unknown";
}

std::optional<Profile> profile_named(std::string_view word) {
  for (const Profile profile : {Profile::kAuto, Profile::kDocumented, Profile::kDeployed}) {
    if (name(profile) == word) return profile;
  }
  return std::nullopt;
}

std::vector<DialectId> dialects_of(Profile profile) {
  switch (profile) {
    case Profile::kDocumented:
      return {DialectId::kDocumented};
    case Profile::kDeployed:
      return {DialectId::kDeployed};
    // Which one an endpoint speaks is known only when it has answered: either form passes, and a
    // mix of both is found over the whole run (docs/decisions/0005-judging-dialects.md).
    case Profile::kAuto:
      break;
  }
  return {kDialects.begin(), kDialects.end()};
}

}  // namespace fencepost::codec
