// Any bytes as what a store sends, as reply_decoder has them. The strict decoder and a naive one
// read the same value; replies and notifications are read from it as the protocol says, and spelled
// as they were received.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "codec/testing/naive_decoder.h"
#include "fuzz/input_reader.h"

namespace {

using namespace fencepost::codec;

// Short inputs are to reach the limit of a line, too.
constexpr Limits kLimits{.max_line_bytes = 64};

// What the reply must have looked like.
std::string spelled(const DecodedReply& reply) {
  std::string out;
  if (reply.kind == ReplyKind::kError) {
    out = reply.form ? "-ERR: " : "-ERR ";  // only the documents have the colon
    return out.append(reply.value).append("\r\n");
  }
  append_reply(out, {.kind = reply.kind, .value = reply.value, .count = reply.count}, Verb::kSet,
               dialect(reply.form.value_or(DialectId::kDeployed)));
  return out;
}

bool is_reply(const Value& value) {
  if (value.type == ValueType::kSimpleString) return value.text == "OK";
  if (value.type == ValueType::kInteger) return value.integer >= -1;
  if (value.type != ValueType::kError) return value.type != ValueType::kArray;
  return value.text == "1" || value.text.starts_with("ERR ") || value.text.starts_with("ERR: ");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fencepost::fuzz::as_text(data, size);
  const auto value = decode_value(input, kLimits);
  FENCEPOST_CHECK(naive::agree(value, naive::read_value(input, kLimits)));
  FENCEPOST_CHECK(value || value.error().offset <= size);
  const auto reply = decode_reply(input, kLimits);
  FENCEPOST_CHECK(reply.has_value() == (value && is_reply(*value)));
  FENCEPOST_CHECK(!reply || spelled(*reply) == input);

  const auto notification = decode_notification(input, kLimits);
  if (!notification) return 0;
  FENCEPOST_CHECK(value && value->elements.front().text == "NOTIFY");
  std::string again;
  append_notification(again, {notification->operation, notification->value},
                      dialect(notification->form.value_or(DialectId::kDeployed)));
  FENCEPOST_CHECK(again == input);
  return 0;
}
