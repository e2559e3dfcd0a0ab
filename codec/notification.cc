#include "codec/notification.h"

namespace fencepost::codec {

void append_notification(std::string& out, const Notification& notification,
                         const Dialect& dialect) {
  const bool set = notification.operation == Operation::kSet;
  append_array_header(out, set ? 4 : 2);
  append_bulk(out, "NOTIFY");
  append_bulk(out, set ? "SET" : dialect.delete_operation);
  if (!set) return;
  append_bulk(out, "VALUE");
  append_bulk(out, notification.value);
}

Result<DecodedNotification, DecodeError> decode_notification(std::string_view payload,
                                                             const Limits& limits) {
  const Result<CommandFrame, DecodeError> frame = decode_command(payload, limits);
  if (!frame) return fail(frame.error());
  const auto& arguments = frame->arguments;
  const DecodeError unexpected{DecodeErrorCode::kUnexpectedType, 0};
  if (arguments[0] != "NOTIFY") return fail(unexpected);
  if (frame->count == 4 && arguments[1] == "SET" && arguments[2] == "VALUE") {
    return DecodedNotification{
        .operation = Operation::kSet, .value = arguments[3], .form = std::nullopt};
  }
  for (const DialectId id : kDialects) {
    if (frame->count == 2 && arguments[1] == dialect(id).delete_operation) {
      return DecodedNotification{.operation = Operation::kDelete, .form = id};
    }
  }
  return fail(unexpected);
}

}  // namespace fencepost::codec
