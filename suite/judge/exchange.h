// A request and what came of it, read once where the reply arrives: bytes, meaning and times. What
// judges a reply finds all of it here and decodes nothing again.
//
//   Exchange exchange(request, clock.now(), wall_ms);
//   exchange.reply.emplace(message, event.time, received_ms);
//   if (exchange.reply->decoded) use(exchange.verb, exchange.reply->decoded->kind);
//
// Data only, of one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/message.h"
#include "codec/reply.h"
#include "suite/judge/store_clock.h"

namespace fencepost::judge {

// Stays where it was made: what was decoded points into the message.
struct ReceivedReply {
  // `time` is on the session's clock, `wall_ms` at most what our wall clock read then.
  ReceivedReply(codec::Message received, std::chrono::microseconds time, std::int64_t wall_ms);
  explicit ReceivedReply(codec::Message received) : ReceivedReply(std::move(received), {}, 0) {}
  ReceivedReply(const ReceivedReply&) = delete;
  ReceivedReply& operator=(const ReceivedReply&) = delete;

  [[nodiscard]] std::string_view payload() const { return message.payload; }
  // A reply of the protocol, and of this kind?
  [[nodiscard]] bool is(codec::ReplyKind kind) const { return decoded && decoded->kind == kind; }
  // The error that the store names, with or without a line end behind it; nothing when it names
  // none, or one that nobody knows.
  [[nodiscard]] std::optional<codec::ErrorCode> error() const;

  const codec::Message message;
  const Result<codec::DecodedReply, codec::DecodeError> decoded;
  const std::chrono::microseconds time;
  const std::int64_t wall_ms;
};

// Stays where it was made, too.
struct Exchange {
  Exchange(codec::Message sent_message, std::chrono::microseconds sent, std::int64_t sent_ms);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Has it come to an end: is there a reply, or has the broker refused the request?
  [[nodiscard]] bool is_over() const { return reply || refused; }
  // When the store has handled it, by our wall clock. There must be a reply.
  [[nodiscard]] Interval interval() const { return {sent_ms, reply->wall_ms}; }

  const codec::Message request;
  const std::optional<codec::Verb> verb;  // of the request, when it has a known one
  // The request as the deployed dialect reads it, which takes all that the documented one takes; or
  // the error that such a request gets.
  const Result<codec::Command, codec::ErrorCode> command;
  const std::chrono::microseconds sent;  // on the session's clock
  const std::int64_t sent_ms;            // by our wall clock, before the request was handed over
  std::optional<ReceivedReply> reply{};
  std::optional<int> refused{};  // reason code of a PUBACK that refused it
  bool closed = false;           // must not be answered, and was not when it was judged
};

// "SET NX PX with __ft", "KEYNOTIFY STOP"; "invalid payload" for what is no request.
[[nodiscard]] std::string subject_of(const Exchange& exchange);

}  // namespace fencepost::judge
