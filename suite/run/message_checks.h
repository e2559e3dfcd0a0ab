// Checks of the properties of a received message: versions, user properties, content
// type. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codec/message.h"
#include "hlc/hlc.h"
#include "suite/judge/exchange.h"
#include "suite/run/failure.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

struct SavedTimestamp {
  hlc::Timestamp value;
  std::string text;  // as received: a token is sent back unmodified
};
using SavedTimestamps = std::map<std::string, SavedTimestamp>;

// Checks the `__ts` of `message`, which answers `exchange` (null for a notification), and saves it
// when the check says so. A name that was not saved, because the step that would have was refused,
// compares with nothing.
[[nodiscard]] MaybeProblem check_timestamp(const std::optional<scenario::TimestampCheck>& check,
                                           const judge::Exchange* exchange,
                                           const codec::Message& message, SavedTimestamps& saved);

// A notification for people, with the key that its topic names. Regardless of its key and its
// value, it is "NOTIFY SET VALUE *" or such, if it is one at all.
[[nodiscard]] text::Phrase shown_notification(std::string_view payload);
[[nodiscard]] text::Phrase shown_notification(std::string_view payload, std::string_view key);

// Rules of the form "absent, or of this kind": a step checks them by citing them.
inline constexpr std::string_view kContentTypeRule = "ENV-CONTENT-TYPE-1";
inline constexpr std::string_view kProtocolVersionRule = "ENV-PROTVER-1";

// Checks user properties, content type and payload format indicator, and the rule that the step
// cites when it is one of the two above.
[[nodiscard]] MaybeProblem check_properties(const scenario::Expectation& expect,
                                            const codec::Message& message);

}  // namespace fencepost::run
