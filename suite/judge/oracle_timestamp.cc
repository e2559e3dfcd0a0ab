#include "suite/judge/oracle_timestamp.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

#include "reference_store/rules.h"
#include "suite/judge/oracle_basis.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;

// Counters up to here are legal for every store. (Req: HLC-PARSE-OPEN-2)
constexpr std::uint64_t kMaxPortableCounter = 2'147'483'647ULL;
constexpr std::uint64_t kMaxCounterOf32Bits = 4'294'967'295ULL;
// Between these it is open whether a timestamp is too far ahead. (Req: HLC-SKEW-OPEN-1)
// The limit is "more than one minute", and a store may count in milliseconds or in whole seconds.
constexpr std::uint64_t kMaxSurelyTakenMs = 59'999 - kCoarsestTickMs;
constexpr std::uint64_t kMaxPossiblyTakenMs = 59'999 + kCoarsestTickMs;
// The end of the year 9999: a wall clock beyond it may be none that the store can hold.
constexpr std::uint64_t kMaxPortableWallMs = 253'402'300'799'999ULL;
constexpr std::size_t kMaxPortableNode = 64;  // bytes
constexpr std::string_view kStoreNode = "StateStore";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}
// Signs, blanks, fractions, exponents: to another parser it may be a number.
bool could_be_number(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_digit(c) || std::string_view("+-. \teE_,").find(c) != std::string_view::npos;
         });
}

// `1:2:node`. Without a doubt about it, such a text is no timestamp only for its wall clock.
bool has_form_of_timestamp(std::string_view text) {
  const std::size_t first = std::min(text.find(':'), text.size());
  const std::string_view rest = text.substr(std::min(first + 1, text.size()));
  const std::size_t second = rest.find(':');
  return second != std::string_view::npos && is_number(text.substr(0, first)) &&
         is_number(rest.substr(0, second));
}

// Can every store hold it? (Req: HLC-PARSE-OPEN-3)
bool has_portable_wall(std::string_view text) {
  std::uint64_t wall = 0;
  const std::string_view digits = text.substr(0, text.find(':'));
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), wall);
  return read.ec == std::errc() && wall <= kMaxPortableWallMs;
}

void add_doubts_of_node(std::string_view node, bool is_token, std::vector<UnspecifiedChoice>& out) {
  constexpr std::string_view kRule = "HLC-PARSE-OPEN-1";
  if (node.empty()) out.push_back({kRule, "an empty node id", {}});
  if (node.find(':') != std::string_view::npos)
    out.push_back({kRule, "a node id with a colon", {}});
  // Versions are tokens, so there it is settled. (Req: LOCK-TOKEN-2)
  if (node == kStoreNode && !is_token) out.push_back({kRule, "the node id of the store", {}});
  if (node.size() > kMaxPortableNode) out.push_back({kRule, "a long node id", {}});
  const bool plain =
      std::all_of(node.begin(), node.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain) out.push_back({kRule, "an unusual node id", {}});
}

// The greatest of some width: what a store answers depends on whether its clock has to count on
// from there, so one answer says nothing of the next. (Req: HLC-PARSE-OPEN-2)
bool may_overflow(std::uint64_t counter) {
  return counter == kMaxPortableCounter || counter == kMaxCounterOf32Bits ||
         counter == store::kMaxRequestCounter ||
         counter == std::numeric_limits<std::uint64_t>::max();
}

std::optional<UnspecifiedChoice> doubt_of_counter(std::string_view digits, bool is_token) {
  constexpr std::string_view kRule = "HLC-PARSE-OPEN-2";
  std::uint64_t counter = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), counter);
  if (read.ec != std::errc()) return UnspecifiedChoice{kRule, "beyond 64 bits", {}};
  if (may_overflow(counter) && !(is_token && counter == kMaxPortableCounter)) {
    return UnspecifiedChoice{
        kRule,
        is_token ? "the greatest of its width as __ft" : "the next __ts would overflow",
        {},
        true};
  }
  if (counter > store::kMaxRequestCounter) {
    return UnspecifiedChoice{kRule, is_token ? "__ft beyond 63 bits" : "__ts beyond 63 bits", {}};
  }
  // Any limit will do between these two: what a store does with one says nothing of a greater one.
  if (counter > kMaxCounterOf32Bits) {
    return UnspecifiedChoice{
        kRule, is_token ? "__ft beyond 32 bits" : "__ts beyond 32 bits", {}, true};
  }
  if (counter > kMaxPortableCounter) {
    return UnspecifiedChoice{kRule, is_token ? "__ft beyond 31 bits" : "__ts beyond 31 bits", {}};
  }
  return std::nullopt;
}

// What is open about a text; nothing where the article settles what it is. (Req: HLC-PARSE-OPEN-1,
// -2, -3)
std::optional<UnspecifiedChoice> doubt_of_timestamp(std::string_view text, bool is_token) {
  if (text.empty()) {
    return is_token ? UnspecifiedChoice{"FT-OPEN-7", {}, {}}
                    : UnspecifiedChoice{"ENV-PROPERTY-OPEN-2", "empty", {}};
  }
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const std::string_view wall = text.substr(0, first);
  const std::string_view counter = text.substr(first + 1, second - first - 1);
  std::vector<UnspecifiedChoice> doubts;
  if (!is_number(wall) || !is_number(counter)) {
    const bool perhaps = (is_number(wall) || could_be_number(wall)) &&
                         (is_number(counter) || could_be_number(counter));
    if (!perhaps) return std::nullopt;
    doubts.push_back({"HLC-PARSE-OPEN-3", {}, {}});
  } else if (wall.size() > hlc::kMaxDigits || counter.size() > hlc::kMaxDigits) {
    doubts.push_back({"HLC-PARSE-OPEN-3", "many digits", {}});
  }
  if (is_number(counter)) {
    if (auto doubt = doubt_of_counter(counter, is_token)) doubts.push_back(*doubt);
  }
  add_doubts_of_node(text.substr(second + 1), is_token, doubts);
  if (doubts.empty()) return std::nullopt;
  // A store that refuses one odd node id, or one spelling of a number, may take the next: these
  // rules leave open what is legal, not one question with one answer.
  const bool one_question = doubts.size() == 1 && doubts.front().requirement == "HLC-PARSE-OPEN-2";
  doubts.front().several = doubts.front().several || !one_question;
  return doubts.front();
}

}  // namespace

OfferedTimestamp read_offered(const std::string* text, bool is_token, const Asked& asked) {
  OfferedTimestamp out{.is_token = is_token};
  if (text == nullptr) return out;
  out.present = true;
  if (const auto parsed = hlc::parse(*text)) out.value = *parsed;
  auto doubt = doubt_of_timestamp(*text, is_token);
  // Whether a client may use the node id of the store. (Req: HLC-PARSE-OPEN-1)
  if (out.value && !is_token && asked.store_nodes != nullptr &&
      asked.store_nodes->contains(out.value->node)) {
    if (!doubt) doubt = UnspecifiedChoice{"HLC-PARSE-OPEN-1", "the node id of the store", {}};
    doubt->several = true;
  }
  // Such a wall clock may be refused alone, so that the answer says nothing of what else is open.
  if (!has_portable_wall(*text)) {
    if (doubt) doubt->several = true;
    if (!doubt && out.value) {
      doubt = UnspecifiedChoice{"HLC-PARSE-OPEN-3", "a wall clock beyond the year 9999", {}, true};
    }
  }
  const ErrorCode too_far =
      is_token ? ErrorCode::kTokenTooFarAhead : ErrorCode::kTimestampTooFarAhead;
  if (!out.value && !doubt) {
    out.may_be_refused = true;
    out.may_be_taken = false;
    // Which number is no wall clock any more is unspecified; one that is not a wall clock is too
    // far ahead.
    if (has_form_of_timestamp(*text)) out.far = too_far;
    return out;
  }
  // HLC-SKEW-1, -2: all that is known of the store's clock is an interval. Refusing is right if the
  // timestamp is too far ahead on the earliest clock, taking it unless it is so on the latest one.
  const bool may_be_far =
      !out.value || hlc::too_far_ahead(*out.value, asked.wall_low, kMaxSurelyTakenMs);
  const bool is_far =
      out.value && hlc::too_far_ahead(*out.value, asked.wall_high, kMaxPossiblyTakenMs);
  out.may_be_taken = !is_far;
  out.may_be_refused = doubt || may_be_far;
  if (doubt) {
    out.choice = *doubt;
    out.may_be_missing = text->empty() && !is_token;
    // Beside the doubt it may be far ahead.
    if (may_be_far) out.far = too_far;
  } else if (may_be_far) {
    out.error = too_far;
  }
  return out;
}

}  // namespace fencepost::judge
