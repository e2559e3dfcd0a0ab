#include "traffic/record/capture_judge.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/resp3.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using Kind = TimelineItem::Kind;

constexpr std::size_t kShownBytesOfItem = 60;

std::int64_t wall_ms(microseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

class Judge {
 public:
  explicit Judge(const Capture& capture)
      : capture_(capture),
        oracle_({.clock = capture.clock.value_or(judge::ClockBounds{}),
                 .starts_empty = capture.from_start}) {}

  judge::Judgement judge(const TimelineItem& item) {
    switch (item.kind) {
      case Kind::kNotification:
        return oracle_.notified(item.client_id, *item.message, item.received);
      case Kind::kDisconnection:
        oracle_.disconnected(item.client_id, std::max(item.sent, item.received));
        return {};
      case Kind::kExchange:
        break;
    }
    judge::Judgement missing;
    if (capture_.sees_notifications && item.reply != nullptr && !item.overlaps) {
      missing = oracle_.missing(item.client_id, item.sent);
    }
    judge::Exchange exchange(*item.message, item.sent, wall_ms(item.sent));
    if (item.reply != nullptr) {
      exchange.reply.emplace(*item.reply, item.received, wall_ms(item.received));
    }
    judge::Judgement out = oracle_.judge(item.client_id, exchange);
    // Without a response the oracle only learns that the key is unknown.
    if (item.reply_unknown) return {};
    if (out.answer == judge::Answer::kRejected && item.overlaps) {
      out.answer = judge::Answer::kUndecidable;
      out.because = "possibly only because of the order, which is not known here: " + out.because;
    }
    if (out.answer == judge::Answer::kRejected) return out;
    if (item.more_replies > 0) {
      return judge::rejected("ENV-RESPONSE-1",
                             fmt::format("it was answered {} times", item.more_replies + 1));
    }
    return worse(missing, out);
  }

 private:
  static judge::Judgement worse(const judge::Judgement& missing, const judge::Judgement& other) {
    return missing.answer == judge::Answer::kRejected ? missing : other;
  }

  const Capture& capture_;
  judge::Oracle oracle_;
};

}  // namespace

std::vector<judge::Judgement> judge(const Capture& capture, const Timeline& timeline) {
  Judge judge(capture);
  std::vector<judge::Judgement> out;
  out.reserve(timeline.items.size());
  for (const TimelineItem& item : timeline.items) out.push_back(judge.judge(item));
  return out;
}

std::string describe(const TimelineItem& item) {
  const std::string client = "client " + escape(item.client_id, kShownBytesOfItem);
  if (item.kind == Kind::kDisconnection) return client + ", disconnected";
  if (item.kind == Kind::kNotification) {
    return client + ", notification of " + escape(item.key, kShownBytesOfItem);
  }
  const auto frame = codec::decode_command(item.message->payload);
  if (!frame) return client + ", " + escape(item.message->payload, kShownBytesOfItem);
  std::string out = client + ", " + escape(frame->arguments[0], kShownBytesOfItem);
  if (frame->count > 1) out += " " + escape(frame->arguments[1], kShownBytesOfItem);
  return out;
}

}  // namespace fencepost::record
