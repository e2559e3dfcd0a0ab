#include "conformance/record/capture_rules.h"

#include <algorithm>
#include <optional>
#include <string>

#include "conformance/judge/attribution.h"
#include "hlc/hlc.h"

namespace fencepost::record {
namespace {

// Of any request that names a verb, right or not.
std::optional<codec::Verb> verb_of(const ReadExchange& exchange) {
  const auto found = std::find_if(codec::kVerbs.begin(), codec::kVerbs.end(), [&](auto verb) {
    return !exchange.arguments.empty() && codec::name(verb) == exchange.arguments.front();
  });
  return found == codec::kVerbs.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::string_view requirement_of(const ReadExchange& exchange, const codec::Message& request,
                                const KeyNow& key) {
  constexpr std::size_t kWithoutOptions = 2;  // the verb and the key
  const std::string* timestamp = request.property(codec::kTimestampProperty);
  const std::string* token = request.property(codec::kTokenProperty);
  const auto is_right = [](const std::string* text) {
    return text == nullptr || hlc::parse(*text);
  };
  const judge::RequestFacts asked{
      .verb = verb_of(exchange),
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
