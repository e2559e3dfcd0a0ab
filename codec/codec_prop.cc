// Properties of the codec: what is encoded reads back as itself, and on bytes of any kind the two
// decoders agree.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/bytes.h"
#include "codec/base16.h"
#include "codec/command.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "codec/resp3.h"
#include "codec/testing/naive_decoder.h"
#include "codec/topics.h"

namespace fencepost::codec {
namespace {

// RapidCheck's own strings avoid NUL and favour letters; keys and values are any bytes.
rc::Gen<std::string> any_bytes() {
  return rc::gen::container<std::string>(
      rc::gen::map(rc::gen::arbitrary<std::uint8_t>(),
                   [](std::uint8_t byte) { return static_cast<char>(byte); }));
}

// Bytes that the grammar gives a meaning to come up often, so that a frame within a value does too.
rc::Gen<std::string> tricky_bytes() {
  return rc::gen::oneOf(
      any_bytes(),
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("$*+-:0123456789\r\n"))),
      rc::gen::element<std::string>("\r\n", "$-1\r\n", "*1\r\n$1\r\nx\r\n", "NX", "PX", "STOP"));
}

rc::Gen<std::string> any_key() { return rc::gen::nonEmpty(any_bytes()); }

rc::Gen<DialectId> any_dialect() {
  return rc::gen::element(DialectId::kDocumented, DialectId::kDeployed);
}

rc::Gen<std::optional<std::chrono::milliseconds>> any_expiry() {
  using std::chrono::milliseconds;
  const auto within = rc::gen::map(rc::gen::inRange<std::int64_t>(0, kMaxExpiry.count() + 1),
                                   [](std::int64_t n) { return std::optional(milliseconds{n}); });
  return rc::gen::oneOf(
      rc::gen::just(std::optional<milliseconds>{}), within,
      rc::gen::element(std::optional(milliseconds{0}), std::optional(kMaxExpiry)));
}

RC_GTEST_PROP(CommandProperties, SetReadsBack, ()) {
  const std::string key = *any_key();
  const std::string value = *tricky_bytes();
  const Command command{.verb = Verb::kSet,
                        .key = key,
                        .value = value,
                        .condition = *rc::gen::element(Condition::kAlways, Condition::kIfAbsent,
                                                       Condition::kIfAbsentOrEqual),
                        .expires_after = *any_expiry()};
  const std::string bytes = encode(command);
  RC_ASSERT(parse_command(bytes, dialect(*any_dialect())) == command);
  RC_ASSERT(verb_of(bytes) == Verb::kSet);
}

RC_GTEST_PROP(CommandProperties, TheOtherVerbsReadBack, ()) {
  const std::string key = *any_key();
  const std::string value = *tricky_bytes();
  Command command{.verb = *rc::gen::element(Verb::kGet, Verb::kDel, Verb::kVdel, Verb::kKeynotify),
                  .key = key};
  if (command.verb == Verb::kVdel) command.value = value;
  if (command.verb == Verb::kKeynotify) command.stop = *rc::gen::arbitrary<bool>();
  const std::string bytes = encode(command);
  RC_ASSERT(parse_command(bytes, dialect(*any_dialect())) == command);
  RC_ASSERT(verb_of(bytes) == command.verb);
}

RC_GTEST_PROP(CommandProperties, ArgumentsReadBack, ()) {
  const auto arguments =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(tricky_bytes()));
  const std::vector<std::string_view> views(arguments.begin(), arguments.end());
  const std::string bytes = encode_command(views);
  RC_ASSERT(naive::read_command(bytes) == views);
  RC_ASSERT(naive::agree_on_command(bytes));
  RC_ASSERT(naive::agree_on_value(bytes));
}

RC_GTEST_PROP(CommandProperties, EveryShorterOrLongerPayloadIsRefused, ()) {
  const std::string key = *any_key();
  const std::string bytes = encode({.verb = Verb::kGet, .key = key});
  const auto size = *rc::gen::inRange<std::size_t>(0, bytes.size());
  RC_ASSERT(!decode_command(bytes.substr(0, size)));
  RC_ASSERT(!decode_command(bytes + *rc::gen::nonEmpty(tricky_bytes())));
}

RC_GTEST_PROP(ReplyProperties, EveryReplyReadsBack, ()) {
  const std::string value = *tricky_bytes();
  const Reply reply{
      .kind = *rc::gen::element(ReplyKind::kOk, ReplyKind::kNotApplied, ReplyKind::kValue,
                                ReplyKind::kMissing, ReplyKind::kCount, ReplyKind::kError),
      .value = value,
      .count = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 10),
                               rc::gen::positive<std::int64_t>(), rc::gen::just(INT64_MAX)),
      .error = *rc::gen::elementOf(kErrorCodes)};
  const auto verb = *rc::gen::element(std::optional<Verb>{}, std::optional(Verb::kSet),
                                      std::optional(Verb::kVdel), std::optional(Verb::kKeynotify));
  const DialectId id = *any_dialect();
  std::string bytes;
  append_reply(bytes, reply, verb, dialect(id));
  const Result<DecodedReply, DecodeError> read = decode_reply(bytes);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->kind == reply.kind);
  RC_ASSERT(!read->form || read->form == id);
  if (reply.kind == ReplyKind::kValue) RC_ASSERT(read->value == value);
  if (reply.kind == ReplyKind::kCount) RC_ASSERT(read->count == reply.count);
  if (reply.kind == ReplyKind::kError) RC_ASSERT(error_with_text(read->value) == reply.error);
}

RC_GTEST_PROP(NotificationProperties, EveryNotificationReadsBack, ()) {
  const std::string value = *tricky_bytes();
  const DialectId id = *any_dialect();
  const bool is_set = *rc::gen::arbitrary<bool>();
  std::string bytes;
  append_notification(bytes,
                      {.operation = is_set ? Operation::kSet : Operation::kDelete, .value = value},
                      dialect(id));
  const Result<DecodedNotification, DecodeError> read = decode_notification(bytes);
  RC_ASSERT(read.has_value());
  RC_ASSERT((read->operation == Operation::kSet) == is_set);
  RC_ASSERT(read->value == (is_set ? std::string_view(value) : std::string_view()));
  RC_ASSERT(read->form == (is_set ? std::nullopt : std::optional(id)));
}

RC_GTEST_PROP(TopicProperties, NotificationTopicsReadBack, ()) {
  const NotificationTarget target{*any_key(), *any_key()};
  const std::optional<std::string> topic = notification_topic(target.client_id, target.key);
  RC_ASSERT(topic.has_value());
  RC_ASSERT(parse_notification_topic(*topic) == target);
  const std::string filter = notification_filter(target.client_id);
  RC_ASSERT(topic->starts_with(filter.substr(0, filter.size() - 1)));
  // The key is one topic level, or `+` would not cover it.
  RC_ASSERT(topic->find('/', filter.size() - 1) == std::string::npos);
}

RC_GTEST_PROP(TopicProperties, TheStoresOwnTopicsAreNoResponseTopics, ()) {
  const std::optional<std::string> topic = notification_topic(*any_key(), *any_key());
  RC_ASSERT(response_topic_fault(*topic) == ResponseTopicFault::kHasStorePrefix);
}

RC_GTEST_PROP(Base16Properties, BytesReadBack, ()) {
  const std::string bytes = *any_bytes();
  const std::string digits = base16_encode(bytes);
  RC_ASSERT(digits.size() == 2 * bytes.size());
  RC_ASSERT(digits.find_first_not_of("0123456789ABCDEF") == std::string::npos);
  RC_ASSERT(base16_decode(digits) == bytes);
}

RC_GTEST_PROP(Base16Properties, OnlyItsOwnSpellingIsRead, ()) {
  const auto digits =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789ABCDEFabcdef g")));
  const std::optional<std::string> bytes = base16_decode(digits);
  // RC_ASSERT evaluates both sides of ||, hence the branch.
  if (bytes) RC_ASSERT(base16_encode(*bytes) == digits);
}

RC_GTEST_PROP(DecoderProperties, AgreeOnBytesOfAnyKind, ()) {
  const std::string bytes = *rc::gen::oneOf(any_bytes(), tricky_bytes());
  RC_ASSERT(naive::agree_on_command(bytes));
  RC_ASSERT(naive::agree_on_value(bytes));
}

// A value of the subset, written by hand to a given depth, with now and then a fault in it.
std::string any_value(int depth) {
  const std::string line =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab \r")));
  const int kind = *rc::gen::inRange(0, depth > 0 ? 8 : 6);
  if (kind == 0) return "+" + line + "\r\n";
  if (kind == 1) return "-" + line + "\r\n";
  if (kind == 2) return ":" + std::to_string(*rc::gen::arbitrary<std::int64_t>()) + "\r\n";
  if (kind == 3) return "$-1\r\n";
  if (kind < 6) {
    const std::string bytes = *tricky_bytes();
    return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
  }
  const int count = *rc::gen::inRange(0, 4);
  std::string out = "*" + std::to_string(count) + "\r\n";
  for (int i = 0; i < count; ++i) out += any_value(depth - 1);
  return out;
}

RC_GTEST_PROP(DecoderProperties, AgreeOnNestedValues, ()) {
  const std::string bytes = any_value(3);
  RC_CLASSIFY(decode_value(bytes).has_value(), "accepted");
  RC_ASSERT(naive::agree_on_value(bytes));
  RC_ASSERT(naive::agree_on_command(bytes));
}

// Integers are lines as well, and twenty bytes is the longest of them: below that the two limits
// would mix.
RC_GTEST_PROP(DecoderProperties, AgreeUnderNarrowLimits, ()) {
  const Limits limits{.max_elements = *rc::gen::inRange<std::size_t>(0, 4),
                      .max_depth = *rc::gen::inRange<std::size_t>(0, 4),
                      .max_bulk_bytes = *rc::gen::inRange<std::size_t>(0, 12),
                      .max_header_digits = *rc::gen::inRange<std::size_t>(0, 3),
                      .max_line_bytes = *rc::gen::inRange<std::size_t>(20, 24)};
  const std::string bytes = any_value(3);
  RC_CLASSIFY(decode_value(bytes, limits).has_value(), "accepted");
  RC_ASSERT(naive::agree_on_value(bytes, limits));
  RC_ASSERT(naive::agree_on_command(bytes, limits));
}

}  // namespace
}  // namespace fencepost::codec
