// What a conforming store may take the `__ts` or `__ft` of a request for: a timestamp, an error,
// or, where the article leaves it open or the store's clock is not known well enough, either. Pure.
#pragma once

#include <optional>
#include <string>

#include "codec/error_code.h"
#include "hlc/hlc.h"
#include "suite/judge/oracle_key.h"
#include "suite/judge/unspecified_points.h"

namespace fencepost::judge {

struct OfferedTimestamp {
  std::optional<hlc::Timestamp> value{};  // nothing: absent, malformed, or not known what it counts
  bool is_token = false;                  // `__ft`
  bool present = false;
  bool may_be_refused = false;
  bool may_be_taken = true;
  codec::ErrorCode error = codec::ErrorCode::kMalformedTimestamp;
  std::optional<codec::ErrorCode> far{};  // or refused as this, regardless of what is open
  UnspecifiedChoice choice{};             // why it is not sure; its outcome is left empty
  bool may_be_missing = false;            // an empty `__ts` may count as absent
};

// `text`: null when the request has none. The clock and the store's node ids of `asked` count.
[[nodiscard]] OfferedTimestamp read_offered(const std::string* text, bool is_token,
                                            const Asked& asked);

}  // namespace fencepost::judge
