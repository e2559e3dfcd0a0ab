// A captured reply as an outcome that a case expects. Pure.
#pragma once

#include <set>

#include "codec/dialect.h"
#include "codec/message.h"
#include "suite/scenario/scenario.h"
#include "traffic/record/capture_keys.h"

namespace fencepost::record {

struct ReplyOutcome {
  scenario::Outcome outcome;
  std::set<codec::Divergence> divergences{};  // which the case has to declare for it
};

// What it means, where its bytes are those of a dialect, so that any dialect will do; else its
// bytes.
[[nodiscard]] ReplyOutcome reply_outcome(const codec::Message& reply, const ReadExchange& exchange);

}  // namespace fencepost::record
