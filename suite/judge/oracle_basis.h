// By which documents the oracle judges a store: the rules that do not apply to it, and whose
// spellings it has to use.
//
//   const OracleBasis basis{.waived = {"ENV-STATUS-1"}};
//   if (!basis.binds("ENV-STATUS-1")) std::puts("a response without __stat is right");
//
// Pure and thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/message.h"

namespace fencepost::judge {

struct OracleBasis {
  std::set<std::string, std::less<>> waived{};  // requirement ids
  // Nothing: the spellings of either dialect, but of one thing always the same.
  std::optional<codec::DialectId> dialect{};

  [[nodiscard]] bool binds(std::string_view requirement) const {
    return !waived.contains(requirement);
  }
};

// Where no document says how soon a notification comes, it has come by then. (Req: NTF-ORDER-1)
inline constexpr std::chrono::microseconds kNotificationLag{1'000'000};

// How late a store may notify of an expiry: it notices by a timer, by a look for all that have
// expired, or when the key is used again. (Req: SET-PX-OPEN-8; the public client SDKs bear two
// seconds)
inline constexpr std::chrono::microseconds kExpiryNotified{2'000'000};

// The coarsest clock of a store that is looked for: it reads up to this many milliseconds too
// little. (Req: HLC-SKEW-OPEN-1)
inline constexpr std::uint64_t kCoarsestTickMs = 1'000;

// The rule by which this request has to be carried out, and which does not apply to the store: then
// it may be refused, with `error` where that is one that the protocol lists. Empty: there is none.
[[nodiscard]] std::string_view rule_that_need_not_be_kept(const codec::Command& command,
                                                          const codec::Message& request,
                                                          std::optional<codec::ErrorCode> error,
                                                          const OracleBasis& basis);

}  // namespace fencepost::judge
