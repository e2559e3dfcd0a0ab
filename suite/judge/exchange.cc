#include "suite/judge/exchange.h"

#include <utility>

namespace fencepost::judge {

ReceivedReply::ReceivedReply(codec::Message received, std::chrono::microseconds time_received,
                             std::int64_t wall_time_ms)
    : message(std::move(received)),
      // From the member, as what is decoded are views into the payload.
      decoded(codec::decode_reply(message.payload)),
      time(time_received),
      wall_ms(wall_time_ms) {}

std::optional<codec::ErrorCode> ReceivedReply::error() const {
  if (is(codec::ReplyKind::kError)) return codec::error_with_text(decoded->value);
  // The article prints its first error without the final CR LF. (Req: RESP-ERROR-FORM-1)
  // What has its line end and still does not decode is wrong in another way.
  if (decoded || !payload().starts_with('-') || payload().ends_with("\r\n")) return std::nullopt;
  const std::string completed = std::string(payload()) + "\r\n";
  const auto again = codec::decode_reply(completed);
  // The text is a view into `completed`: only its code may leave this function.
  const bool error = again && again->kind == codec::ReplyKind::kError;
  return error ? codec::error_with_text(again->value) : std::nullopt;
}

Exchange::Exchange(codec::Message sent_message, std::chrono::microseconds sent_at,
                   std::int64_t sent_wall_ms)
    : request(std::move(sent_message)),
      verb(codec::verb_of(request.payload)),
      command(codec::parse_command(request.payload, codec::dialect(codec::DialectId::kDeployed))),
      sent(sent_at),
      sent_ms(sent_wall_ms) {}

// Without keys, values and numbers: failures of one kind of request are put together, with any
// names in their cases (docs/decisions/0018-differences.md).
std::string subject_of(const Exchange& exchange) {
  if (!exchange.verb) return "invalid payload";
  std::string out(codec::name(*exchange.verb));
  if (const auto& command = exchange.command) {
    if (command->condition == codec::Condition::kIfAbsent) out += " NX";
    if (command->condition == codec::Condition::kIfAbsentOrEqual) out += " NEX";
    if (command->expires_after) out += " PX";
    if (command->stop) out += " STOP";
  } else {
    out += " (invalid)";
  }
  if (exchange.request.property(codec::kTokenProperty) != nullptr) out += " with __ft";
  return out;
}

}  // namespace fencepost::judge
