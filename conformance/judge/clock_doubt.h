// Whether a timestamp is more than a minute ahead depends on the store's clock, of which only so
// much is known. Decides whether a reply proves something nevertheless, and learns from it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codec/message.h"
#include "conformance/judge/store_clock.h"
#include "conformance/scenario/scenario.h"

namespace fencepost::judge {

// A request, its reply, and what the reply should have been.
struct JudgedReply {
  const std::vector<scenario::Outcome>& expected;
  const codec::Message& request;
  const codec::Message& reply;
  Interval when{};
};

// Takes the version that the reply carries, if any, for what it tells of the store's clock.
void note_version(const JudgedReply& what, StoreClock& clock);

// For a reply that is not the expected one: why it proves nothing all the same. Nothing when it is
// wrong whatever the store's clock is within its bounds.
[[nodiscard]] std::optional<std::string> doubt_about_clock(const JudgedReply& what,
                                                           const StoreClock& clock);

}  // namespace fencepost::judge
