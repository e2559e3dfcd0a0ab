#include "suite/judge/oracle_basis.h"

#include <algorithm>
#include <array>

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::Verb;

// No document has a limit; a store has one for names of a reasonable length. Req: LIMIT-KEY-1
constexpr std::size_t kKeyOfAnyStore = 256;

bool is_printable(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_about_token(std::optional<ErrorCode> error) {
  // A malformed token has the same text as a malformed timestamp. Req: ERR-TEXT-11
  return error == ErrorCode::kTokenRequired || error == ErrorCode::kTokenLower ||
         error == ErrorCode::kTokenTooFarAhead || error == ErrorCode::kMalformedTimestamp;
}

}  // namespace

std::string_view rule_that_need_not_be_kept(const codec::Command& command,
                                            const codec::Message& request,
                                            std::optional<ErrorCode> error,
                                            const OracleBasis& basis) {
  struct Row {
    std::string_view requirement;
    bool asks_for_it;  // that this request is carried out
  };
  const bool has_value = codec::has_value(command.verb);
  // Any other listed error gives a reason of its own, which is right or wrong independently of
  // these rules.
  const bool own_words = !error || error == ErrorCode::kSyntax;
  // Rules that only the deployed service shows: by the article alone a store may refuse such a
  // request.
  const std::array rows = {
      Row{"KEY-BINARY-1", own_words && !is_printable(command.key)},
      Row{"LIMIT-KEY-1", own_words && command.key.size() > kKeyOfAnyStore},
      Row{"SET-VALUE-2", own_words && has_value && command.value.empty()},
      Row{"FT-GET-1", command.verb == Verb::kGet && is_about_token(error)},
      Row{"FT-KEYNOTIFY-1", command.verb == Verb::kKeynotify && is_about_token(error)},
      Row{"HLC-REQUIRED-5", own_words && command.verb != Verb::kSet &&
                                request.property(codec::kTimestampProperty) != nullptr},
  };
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.asks_for_it && !basis.binds(row.requirement);
  });
  return found == rows.end() ? std::string_view() : found->requirement;
}

}  // namespace fencepost::judge
