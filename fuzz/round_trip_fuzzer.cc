// Bytes make a command, a reply or a notification; encoded in a dialect and read again, it is the
// same. One byte less or more, and it is refused.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/command.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "fuzz/input_reader.h"

namespace {

using namespace fencepost::codec;
using fencepost::fuzz::InputReader;

void check_command(InputReader& in, const Dialect& dialect) {
  Command command{.verb = in.pick(kVerbs), .key = in.text()};
  if (command.key.empty()) command.key = "k";
  if (command.verb == Verb::kSet) {
    command.condition =
        in.pick(std::array{Condition::kAlways, Condition::kIfAbsent, Condition::kIfAbsentOrEqual});
    const std::uint64_t expiry = in.number();
    const auto most = static_cast<std::uint64_t>(kMaxExpiry.count());
    if (expiry != 0) command.expires_after = std::chrono::milliseconds{(expiry - 1) % (most + 1)};
  }
  if (command.verb == Verb::kKeynotify) command.stop = in.byte() % 2 == 1;
  if (command.verb == Verb::kSet || command.verb == Verb::kVdel) command.value = in.text();
  const std::string bytes = encode(command);
  FENCEPOST_CHECK(parse_command(bytes, dialect) == command);
  FENCEPOST_CHECK(!decode_command(std::string_view(bytes).substr(0, bytes.size() - 1)));
  FENCEPOST_CHECK(!decode_command(bytes + '\n'));
}

void check_reply(InputReader& in, const Dialect& dialect) {
  Reply reply{.kind =
                  in.pick(std::array{ReplyKind::kOk, ReplyKind::kNotApplied, ReplyKind::kValue,
                                     ReplyKind::kMissing, ReplyKind::kCount, ReplyKind::kError})};
  const Verb verb = in.pick(kVerbs);
  if (reply.kind == ReplyKind::kError) reply.error = in.pick(kErrorCodes);
  if (reply.kind == ReplyKind::kCount) reply.count = static_cast<std::int64_t>(in.number() / 2);
  if (reply.kind == ReplyKind::kValue) reply.value = in.text();
  std::string bytes;
  append_reply(bytes, reply, verb, dialect);
  const auto decoded = decode_reply(bytes);
  FENCEPOST_CHECK(decoded && decoded->kind == reply.kind && decoded->count == reply.count);
  if (reply.kind == ReplyKind::kError) reply.value = text(reply.error, dialect);
  FENCEPOST_CHECK(decoded->value == reply.value);
  FENCEPOST_CHECK(!decoded->form || decoded->form == dialect.id);
  FENCEPOST_CHECK(reply.kind != ReplyKind::kNotApplied || decoded->form == dialect.id);
  FENCEPOST_CHECK(reply.kind != ReplyKind::kError ||
                  error_with_text(decoded->value) == reply.error);
}

void check_notification(InputReader& in, const Dialect& dialect) {
  Notification notification{in.pick(std::array{Operation::kSet, Operation::kDelete}), {}};
  if (notification.operation == Operation::kSet) notification.value = in.text();
  std::string bytes;
  append_notification(bytes, notification, dialect);
  const auto decoded = decode_notification(bytes);
  FENCEPOST_CHECK(decoded && decoded->operation == notification.operation);
  FENCEPOST_CHECK(decoded->value == notification.value);
  FENCEPOST_CHECK(decoded->form.has_value() == (notification.operation == Operation::kDelete));
  FENCEPOST_CHECK(decoded->form.value_or(dialect.id) == dialect.id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(data, size);
  const Dialect& spelling = dialect(in.pick(kDialects));
  in.pick(std::array{check_command, check_reply, check_notification})(in, spelling);
  return 0;
}
