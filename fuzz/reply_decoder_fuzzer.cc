// Any bytes as what a store sends, decoded and no more, as fast as can be: what is accepted has one
// spelling, and replies and notifications are values. reply_decoder_differential asks another.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "fuzz/input_reader.h"

namespace {

using namespace fencepost::codec;

// Short inputs are to reach the limit of a line, too.
constexpr Limits kLimits{.max_line_bytes = 64};

void append_line(std::string& out, char type, std::string_view line) {
  out += type;
  out.append(line).append("\r\n");
}

void append_value(std::string& out, const Value& value) {
  switch (value.type) {
    case ValueType::kSimpleString:
      return append_line(out, '+', value.text);
    case ValueType::kError:
      return append_line(out, '-', value.text);
    case ValueType::kInteger:
      return append_line(out, ':', std::to_string(value.integer));
    case ValueType::kBulk:
      return append_bulk(out, value.text);
    case ValueType::kNull:
      return append_line(out, '$', "-1");
    case ValueType::kArray:
      append_array_header(out, value.elements.size());
      for (const Value& element : value.elements) append_value(out, element);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fencepost::fuzz::as_text(data, size);
  const auto value = decode_value(input, kLimits);
  if (!value) {
    FENCEPOST_CHECK(value.error().offset <= size);
    return 0;
  }
  static std::string again;  // allocates once
  again.clear();
  append_value(again, *value);
  FENCEPOST_CHECK(again == input);
  if (value->type == ValueType::kArray) {
    const auto notification = decode_notification(input, kLimits);
    FENCEPOST_CHECK(!notification || value->elements.front().text == "NOTIFY");
  } else {
    const auto reply = decode_reply(input, kLimits);
    FENCEPOST_CHECK(!reply || reply->kind != ReplyKind::kCount || reply->count == value->integer);
  }
  return 0;
}
