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
  std::optional<codec::ErrorCode> far{};  // or refused as this, whatever is open
  UnspecifiedChoice choice{};             // why it is not sure; its outcome is left empty
  bool may_be_missing = false;            // an empty `__ts` may count as absent
};

// `text`: null when the request has none. Of `asked`, the clock and the store's node ids count.
[[nodiscard]] OfferedTimestamp read_offered(const std::string* text, bool is_token,
                                            const Asked& asked);

}  // namespace fencepost::judge
