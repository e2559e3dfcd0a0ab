// Bytes make a command, a reply or a notification; encoded in a dialect and read again, it is the
// same. One byte less, or one more, is refused.
#include <string>

#include "base/check.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "fuzz/input_reader.h"

using namespace fencepost::codec;

static void check_command(fencepost::fuzz::InputReader& in, const Dialect& dialect) {
  Command command{.verb = in.pick(kVerbs), .key = in.text()};
  if (command.key.empty()) command.key = "k";
  if (command.verb == Verb::kSet) {
    command.condition = static_cast<Condition>(in.byte() % 3);
    const std::uint64_t expiry = in.number() % (static_cast<std::uint64_t>(kMaxExpiry.count()) + 2);
    if (expiry != 0) command.expires_after = std::chrono::milliseconds(expiry - 1);
  }
  if (command.verb == Verb::kKeynotify) command.stop = in.byte() % 2 == 1;
  if (command.verb == Verb::kSet || command.verb == Verb::kVdel) command.value = in.text();
  std::string bytes = encode(command);
  FENCEPOST_CHECK(parse_command(bytes, dialect) == command);
  bytes += '\n';
  const std::string_view longer = bytes;
  FENCEPOST_CHECK(!decode_command(longer) && !decode_command(longer.substr(0, longer.size() - 2)));
}

static void check_reply(fencepost::fuzz::InputReader& in, const Dialect& dialect) {
  Reply reply{.kind = static_cast<ReplyKind>(in.byte() % 6)};
  const Verb verb = in.pick(kVerbs);
  if (reply.kind == ReplyKind::kError) reply.error = in.pick(kErrorCodes);
  if (reply.kind == ReplyKind::kCount) reply.count = static_cast<std::int64_t>(in.number() / 2);
  if (reply.kind == ReplyKind::kValue) reply.value = in.text();
  std::string bytes;
  append_reply(bytes, reply, verb, dialect);
  const auto decoded = decode_reply(bytes);
  if (reply.kind == ReplyKind::kError) reply.value = text(reply.error, dialect);
  FENCEPOST_CHECK(decoded && decoded->kind == reply.kind && decoded->count == reply.count);
  FENCEPOST_CHECK(decoded->value == reply.value &&
                  decoded->form.value_or(dialect.id) == dialect.id);
  FENCEPOST_CHECK(reply.kind != ReplyKind::kNotApplied || decoded->form);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  const Dialect& spelling = dialect(in.pick(kDialects));
  const unsigned kind = in.byte() % 3;
  if (kind == 0) check_command(in, spelling);
  if (kind == 1) check_reply(in, spelling);
  if (kind < 2) return 0;
  Notification sent{static_cast<Operation>(in.byte() % 2)};
  if (sent.operation == Operation::kSet) sent.value = in.text();
  std::string bytes;
  append_notification(bytes, sent, spelling);
  const auto got = decode_notification(bytes);
  FENCEPOST_CHECK(got && got->operation == sent.operation && got->value == sent.value);
  FENCEPOST_CHECK((got->form == spelling.id) == (sent.operation == Operation::kDelete));
  return 0;
}
