#include "traffic/record/capture_rules.h"

#include <string>

#include "codec/topics.h"
#include "hlc/hlc.h"
#include "suite/judge/reply_requirement.h"

namespace fencepost::record {
namespace {

std::string_view requirement_without_reply(const TimelineItem& item) {
  if (!item.message->response_topic) return "ENV-RESPONSE-TOPIC-5";
  const bool refused =
      !item.reply_unknown && codec::response_topic_fault(*item.message->response_topic);
  return refused ? "ENV-RESPONSE-TOPIC-4" : "ENV-RESPONSE-1";
}

}  // namespace

std::string_view requirement_of(const TimelineItem& item, const ReadExchange& exchange,
                                const KeyNow& key) {
  if (item.reply == nullptr) return requirement_without_reply(item);
  constexpr std::size_t kWithoutOptions = 2;  // the verb and the key
  const std::string* timestamp = item.message->property(codec::kTimestampProperty);
  const std::string* token = item.message->property(codec::kTokenProperty);
  const auto is_right = [](const std::string* text) {
    return text == nullptr || hlc::parse(*text);
  };
  const judge::RequestFacts asked{
      .verb = exchange.verb(),
      .condition = exchange.command ? exchange.command->condition : codec::Condition::kAlways,
      .has_token = token != nullptr,
      .stop = exchange.arguments.size() > kWithoutOptions,
      .token_is_malformed = is_right(timestamp) && !is_right(token)};
  const judge::KeyFacts before{.exists = key.exists,
                               .expired = key.expired,
                               .fenced = key.fenced,
                               .expires = key.expires_after.has_value()};
  judge::ReplyFacts answered;
  if (exchange.reply) {
    answered = {.kind = exchange.reply->kind,
                .error = exchange.error,
                .empty_value = exchange.reply->value.empty(),
                .removed = exchange.reply->count > 0};
  }
  return judge::requirement_of(asked, before, answered);
}

}  // namespace fencepost::record
