#include "suite/judge/clock_doubt.h"

#include <string_view>

#include <fmt/format.h>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "hlc/hlc.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using Property = std::optional<std::string_view>;

// The user property that an error finds too far ahead.
Property too_far_ahead(std::optional<ErrorCode> error) {
  if (error == ErrorCode::kTimestampTooFarAhead) return codec::kTimestampProperty;
  if (error == ErrorCode::kTokenTooFarAhead) return codec::kTokenProperty;
  return std::nullopt;
}

// The property that has to be refused; nothing when the request may also be carried out: then the
// case has decided that both are right, and no clock can make either wrong.
Property expected_refusal(const std::vector<scenario::Outcome>& outcomes) {
  Property out;
  for (const scenario::Outcome& outcome : outcomes) {
    const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what);
    if (error == nullptr) return std::nullopt;
    if (const auto property = too_far_ahead(error->code)) out = property;
  }
  return out;
}

std::optional<hlc::Timestamp> timestamp_in(const codec::Message& message, std::string_view name) {
  const std::string* text = message.property(name);
  const auto timestamp = hlc::parse(text == nullptr ? "" : *text);
  return timestamp ? std::optional(*timestamp) : std::nullopt;
}

}  // namespace

void note_version(const Exchange& exchange, StoreClock& clock) {
  const auto version = timestamp_in(exchange.reply->message, codec::kTimestampProperty);
  if (!version) return;
  // Only a SET that was carried out makes a version: that of any other reply may be old, and is no
  // reading of the clock. Req: VER-SET-1, VER-GET-2
  const bool is_new =
      exchange.reply->is(codec::ReplyKind::kOk) && exchange.verb == codec::Verb::kSet;
  if (is_new) {
    clock.note_new_version(wall_of(*version), exchange.interval());
  } else {
    clock.note_version(wall_of(*version));
  }
}

std::optional<std::string> doubt_about_clock(const std::vector<scenario::Outcome>& outcomes,
                                             const Exchange& exchange, const StoreClock& clock) {
  const ReceivedReply& reply = *exchange.reply;
  if (!reply.decoded) return std::nullopt;
  const bool error = reply.is(codec::ReplyKind::kError);
  const Property refused = too_far_ahead(reply.error());
  const Property expected = expected_refusal(outcomes);
  // The clock can only decide between "too far ahead" and "carried out". Other errors, and one
  // refusal instead of the other, are wrong in any case. Req: HLC-SKEW-1
  if (refused.has_value() == expected.has_value() || (error && !refused)) return std::nullopt;
  const auto timestamp = timestamp_in(exchange.request, refused ? *refused : *expected);
  if (!timestamp) return std::nullopt;
  const std::int64_t wall_ms = wall_of(*timestamp);
  const Interval when = exchange.interval();
  // The store has read its clock at some moment between our sending and our receiving. A refusal is
  // wrong only if the timestamp was within the limit at the earliest, a missing one only if it was
  // beyond it at the latest: so a slow network fails no conforming store.
  const bool proved = refused ? clock.surely_accepts(wall_ms, when.sent_ms)
                              : clock.surely_refuses(wall_ms, when.received_ms);
  if (proved) return std::nullopt;
  return fmt::format(
      "whether a timestamp {} ms ahead of our clock may be {} depends on the store's clock; all "
      "that is known is that it is ahead of ours by {}",
      wall_ms - when.sent_ms, refused ? "refused" : "accepted", describe(clock.bounds()));
}

}  // namespace fencepost::judge
