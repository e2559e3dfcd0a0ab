#include "suite/run/key_log.h"

#include <algorithm>
#include <utility>

namespace fencepost::run {

void KeyLog::note_token(const codec::Message& request, std::uint64_t store_wall_ms) {
  const std::string* text = request.property(codec::kTokenProperty);
  if (text == nullptr) return;
  fenced_ = true;
  const auto token = hlc::parse(*text);
  // Req: HLC-SKEW-2. A token too far ahead was refused, and would be again.
  if (token && !hlc::too_far_ahead(*token, store_wall_ms) && *token > newest_token_) {
    newest_token_ = *token;
  }
}

WrittenKeys KeyLog::take(std::uint64_t accepted_wall_ms) {
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  WrittenKeys out{.keys = std::move(keys_)};
  // Req: FT-LOWER-2. A DEL needs a token that is not lower than the one the key has.
  const hlc::Timestamp token =
      std::max(hlc::Timestamp{accepted_wall_ms, 0, "fencepost"}, newest_token_);
  if (fenced_) out.token = hlc::format(token);
  return out;
}

}  // namespace fencepost::run
