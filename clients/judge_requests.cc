// Requests: what they request, what answers them.
#include <algorithm>

#include "base/bytes.h"
#include "clients/judge_work.h"
#include "codec/message.h"
#include "codec/topics.h"
#include "hlc/hlc.h"

namespace fencepost::clients {
namespace {

using wire::PropertyId;

// A client may have given a request up, and use its correlation data again, after this time.
constexpr Time kMaxWait = std::chrono::seconds(5);
constexpr std::size_t kMaxRequests = 100'000;
constexpr std::size_t kShownAnswer = 100;
constexpr std::size_t kMaxStamps = 200'000;

std::string key_of(std::string_view response_topic, std::string_view correlation) {
  return std::string(response_topic) + '\0' + std::string(correlation);
}

std::optional<std::string> key_of(const wire::Publish& publish, std::string_view topic) {
  const wire::Property* correlation = publish.properties.find(PropertyId::kCorrelationData);
  if (correlation == nullptr) return std::nullopt;
  return key_of(topic, correlation->text);
}

bool covers(std::string_view filter, std::string_view topic) {
  constexpr std::string_view kShare = "$share/";
  if (filter.starts_with(kShare)) {
    const std::size_t slash = filter.find('/', kShare.size());
    if (slash == std::string_view::npos) return false;
    filter.remove_prefix(slash + 1);
  }
  return codec::filter_matches(filter, topic);
}

bool any_covers(const std::set<std::string>& filters, std::string_view topic) {
  if (filters.contains(std::string(topic))) return true;
  return std::any_of(filters.begin(), filters.end(),
                     [topic](const std::string& filter) { return covers(filter, topic); });
}

std::optional<hlc::Timestamp> timestamp_in(const wire::Publish& publish, std::string_view name) {
  const std::string* text = user_property(publish, name);
  if (text == nullptr) return std::nullopt;
  auto parsed = hlc::parse(*text);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

// What its answer will be judged by.
void take_content(Request& request, const wire::Publish& publish, std::string_view packet) {
  request.has_token = user_property(publish, codec::kTokenProperty) != nullptr;
  const auto command =
      codec::parse_command(publish.payload, codec::dialect(codec::DialectId::kDeployed));
  if (command) {
    request.key = command->key;
    request.value = command->value;
    request.expires_after = command->expires_after;
  }
  request.odd = what_is_malformed(publish);
  if (request.odd || !request.has_token) request.bytes = packet.substr(0, kMaxPacketBytes);
}

std::string_view verb_text(const Request& request) {
  return request.verb ? codec::name(*request.verb) : "request";
}

}  // namespace

std::optional<std::string> Judge::Work::topic_of(const Seen& seen, const wire::Publish& publish) {
  const auto alias = publish.properties.number(PropertyId::kTopicAlias);
  if (!alias) return publish.topic;
  ConnectionState& connection = seen.connection;
  const auto number = static_cast<std::uint16_t>(*alias);
  if (!publish.topic.empty()) return connection.aliases[number] = publish.topic;
  const auto known = connection.aliases.find(number);
  if (known != connection.aliases.end()) return known->second;
  if (options_.sees_packets) {
    const bool was_one = connection.client->old_aliases.contains(number);
    find(seen, rule(was_one ? "MQTT-3.3.2-7" : "MQTT-3.3.2.3.4"),
         "the Topic Alias " + std::to_string(number) + " has no topic on this connection" +
             (was_one ? ", only on an earlier one" : ""));
  }
  return std::nullopt;
}

void Judge::Work::on_publish(const Seen& seen, const wire::Publish& publish) {
  const bool again = check_identifier(seen, publish);
  check_limits(seen, publish);
  const auto topic = topic_of(seen, publish);
  // No sentence of the documents forbids clients the notification topics of the store.
  if (topic == codec::kRequestTopic) {
    on_request(seen, publish, again);
  } else if (topic) {
    std::vector<Diagnostic> diagnostics;
    check_topic(*topic, publish, diagnostics);
    find_all(seen, std::move(diagnostics));
  }
  seen.connection.busy_until = seen.at;
}

void Judge::Work::on_request(const Seen& seen, const wire::Publish& publish, bool again) {
  if (!again) ++tally_.requests;
  seen.connection.last_request = seen.at;
  std::vector<Diagnostic> diagnostics;
  const bool will_be_answered = check_envelope(publish, diagnostics);
  check_payload(publish.payload, diagnostics);
  Request request{.client_id = seen.connection.client->id,
                  .connection = seen.connection.number,
                  .packet_id = publish.packet_id,
                  .at = seen.at,
                  .content = stable_hash(publish.payload),
                  .verb = codec::verb_of(publish.payload)};
  if (request.verb) check_stamps(publish, *request.verb, diagnostics);
  if (diagnostics.empty()) take_content(request, publish, seen.bytes);
  find_all(seen, std::move(diagnostics));
  check_clock(seen, publish, again);
  if (!will_be_answered) return;
  check_subscriptions(seen, publish, request);
  if (!again) check_correlation(seen, publish, request);
}

void Judge::Work::check_correlation(const Seen& seen, const wire::Publish& publish,
                                    Request& request) {
  const auto key = key_of(publish, publish.properties.find(PropertyId::kResponseTopic)->text);
  const auto [first, last] = requests_.equal_range(*key);
  for (auto each = first; each != last; ++each) {
    const Request& other = each->second;
    // A request may be sent again with a new stamp: the same response will do.
    const bool is_other = other.connection == request.connection && other.free_at > seen.at &&
                          other.content != request.content;
    if (!is_other) continue;
    find(seen, rule("ENV-CORRELATION-3"),
         "the " + std::string(verb_text(request)) + " has the Correlation Data \"" +
             escape(publish.properties.find(PropertyId::kCorrelationData)->text, 60) + "\" of a " +
             std::string(verb_text(other)) + " that is still in flight");
    break;
  }
  request.free_at = seen.at + kMaxWait;
  if (const auto expiry = publish.properties.number(PropertyId::kMessageExpiry)) {
    request.free_at = std::min(request.free_at, seen.at + std::chrono::seconds(*expiry));
  }
  if (requests_.size() >= kMaxRequests) {
    std::erase_if(requests_, [&](const auto& each) { return each.second.free_at <= seen.at; });
  }
  if (requests_.size() >= kMaxRequests) return;
  seen.connection.unanswered.emplace(*key, request.free_at);
  requests_.emplace(*key, request);
}

bool Judge::Work::anybody_subscribed(const ConnectionState& connection,
                                     std::string_view topic) const {
  if (any_covers(connection.asked_for, topic)) return true;
  if (any_covers(connection.client->subscribed, topic)) return true;
  // Another client may receive the responses.
  return std::any_of(clients_.begin(), clients_.end(), [topic](const auto& each) {
    return any_covers(each.second.subscribed, topic);
  });
}

void Judge::Work::check_subscriptions(const Seen& seen, const wire::Publish& publish,
                                      const Request& request) {
  const ConnectionState& connection = seen.connection;
  const std::string& topic = publish.properties.find(PropertyId::kResponseTopic)->text;
  if (topic != codec::recommended_response_topic(request.client_id)) {
    find(seen, rule("ENV-RESPONSE-TOPIC-6"), "the Response Topic is \"" + escape(topic, 200) + '"');
  }
  if (saw_all_ && !anybody_subscribed(connection, topic)) {
    find(seen, rule("MQTT-4.10"),
         "no client has subscribed to the Response Topic \"" + escape(topic, 200) + '"');
  }
  if (request.verb == codec::Verb::kKeynotify) on_keynotify(seen, publish);
}

void Judge::Work::on_keynotify(const Seen& seen, const wire::Publish& publish) {
  constexpr std::size_t kMaxObserved = 10'000;
  const auto command =
      codec::parse_command(publish.payload, codec::dialect(codec::DialectId::kDeployed));
  if (!command) return;
  ConnectionState& connection = seen.connection;
  ClientState& client = *connection.client;
  const std::string key(command->key);
  connection.renewed.erase(key);
  if (command->stop) {
    const bool needed = client.observed.erase(key) > 0 && !connection.registered.contains(key);
    // A client that stops it now took it for registered until now.
    // Immediately after the reconnect it may only clean up.
    if (needed && saw_all_ && connection.answered > 0) {
      find(seen, rule("LIFE-RECONNECT-1"),
           "a STOP of \"" + escape(key, 200) +
               "\", but no KEYNOTIFY of it since the client reconnected");
    }
    connection.registered.erase(key);
    return;
  }
  if (connection.registered.size() < kMaxObserved) connection.registered.insert(key);
  if (client.observed.size() < kMaxObserved) client.observed.insert(key);
  const auto notified_at = codec::notification_topic(client.id, key);
  if (saw_all_ && notified_at && !any_covers(client.subscribed, *notified_at)) {
    find(seen, rule("NTF-SUBSCRIBE-1"),
         "no subscription to \"" + escape(*notified_at, 200) + "\" has been acknowledged");
  }
}

// A client that subscribes to the topic of one key needs that key. It needs time for KEYNOTIFY.
void Judge::Work::check_renewed(const Seen& end) {
  constexpr Time kTimeToRenew = std::chrono::seconds(5);
  for (const auto& [key, at] : end.connection.renewed) {
    if (end.connection.last_request - at < kTimeToRenew) continue;
    find(end, rule("LIFE-RECONNECT-1"),
         "no KEYNOTIFY of \"" + escape(key, 200) + "\" in " +
             std::to_string((end.at - at).count() / 1'000'000) +
             " s after the client subscribed to its notification topic again");
  }
  end.connection.renewed.clear();
}

std::optional<Time> Judge::Work::idle_for(ConnectionState& connection, Time at) {
  auto& waiting = connection.unanswered;
  for (auto each = waiting.begin(); each != waiting.end();) {
    if (each->second > at) return std::nullopt;
    connection.busy_until = std::max(connection.busy_until, each->second);
    each = waiting.erase(each);
  }
  // The request itself is one of them.
  if (connection.unacknowledged > 1) return std::nullopt;
  return at - connection.busy_until;
}

void Judge::Work::check_clock(const Seen& seen, const wire::Publish& publish, bool again) {
  StampedRequest request{
      .at = seen.at,
      .idle_for = options_.sees_packets ? idle_for(seen.connection, seen.at) : std::nullopt,
      .sent_before = again,
      .sets = codec::verb_of(publish.payload) == codec::Verb::kSet,
      .content = stable_hash(publish.payload),
      .stamp = timestamp_in(publish, codec::kTimestampProperty),
      .token = timestamp_in(publish, codec::kTokenProperty)};
  if (options_.clock_offset) {
    request.store_ms = std::chrono::duration_cast<std::chrono::milliseconds>(seen.at).count() +
                       options_.clock_offset->count();
  }
  std::vector<Diagnostic> diagnostics;
  seen.connection.clock.sent(request, diagnostics);
  find_all(seen, std::exchange(diagnostics, {}));
  if (request.stamp && stamps_.size() < kMaxStamps) stamps_.insert(*request.stamp);
  if (request.stamp && issued_.contains(*request.stamp) && !again &&
      request.stamp->node == options_.store_node) {
    find(seen, rule("VER-UPDATE-2"),
         "__ts is " + hlc::format(*request.stamp) + ", a version of the store");
  }
  if (!request.token) return;
  check_token(seen, *request.token, *user_property(publish, codec::kTokenProperty));
  diagnostics.clear();
  if (request.idle_for && request.sets && !again) {
    tokens_.sent(seen.connection.client->id, *request.token, seen.at, diagnostics);
  }
  find_all(seen, std::move(diagnostics));
}

void Judge::Work::on_response(const Seen& seen, const Request& request,
                              const wire::Publish& response,
                              const std::optional<hlc::Timestamp>& version) {
  const auto reply = codec::decode_reply(response.payload);
  if (!reply) return;
  tokens_.answered(request, *reply, version, seen.at);
  const auto owner = connections_.find(request.connection);
  if (owner != connections_.end()) ++owner->second.answered;
  if (reply->kind != codec::ReplyKind::kError || owner == connections_.end()) return;
  const Seen asked{owner->second, request.bytes, seen.at};
  const auto error = codec::error_with_text(reply->value);
  std::vector<Diagnostic> diagnostics;
  switch (error.value_or(codec::ErrorCode::kQuotaExceeded)) {
    case codec::ErrorCode::kTokenRequired:
      tokens_.refused(request, diagnostics);
      break;
    case codec::ErrorCode::kSyntax:
    case codec::ErrorCode::kUnknownCommand:
    case codec::ErrorCode::kWrongArgumentCount:
    case codec::ErrorCode::kMissingTimestamp:
    case codec::ErrorCode::kMalformedTimestamp:
    case codec::ErrorCode::kEmptyKey:
      if (request.odd) {
        diagnostics.push_back(*request.odd);
        diagnostics.back().because +=
            ", and the store answers " + escape(reply->value, kShownAnswer);
      }
      break;
    // Rights, quota and races are not mistakes; clocks are judged by the stamps themselves.
    case codec::ErrorCode::kTimestampTooFarAhead:
    case codec::ErrorCode::kTokenTooFarAhead:
    case codec::ErrorCode::kTokenLower:
    case codec::ErrorCode::kQuotaExceeded:
    case codec::ErrorCode::kNotAuthorized:
      break;
  }
  find_all(asked, std::move(diagnostics));
}

void Judge::Work::check_token(const Seen& seen, const hlc::Timestamp& token,
                              std::string_view text) {
  if (!issued_all_ || issued_.contains(token)) return;
  const auto like = issued_like(token, seen.at);
  if (!like) return;
  find(
      seen, rule("LOCK-TOKEN-2"),
      "__ft is " + escape(text, 200) + ", but the version from the store is " + hlc::format(*like));
}

// A token may come from anywhere (FT-ORIGIN-1), but only the store makes what looks like its
// versions since the recording began.
std::optional<hlc::Timestamp> Judge::Work::issued_like(const hlc::Timestamp& token, Time at) const {
  if (issued_.empty() || !first_at_) return std::nullopt;
  // The one before, or the first behind it.
  auto next = issued_.upper_bound(token);
  if (next == issued_.end() || (next != issued_.begin() && next->wall_ms != token.wall_ms)) {
    --next;
  }
  if (token.node == options_.store_node) {
    const auto ms = [](Time time) { return time.count() / 1000; };
    const std::int64_t offset_ms = options_.clock_offset ? options_.clock_offset->count() : 0;
    const auto wall_ms =
        static_cast<std::int64_t>(std::min(token.wall_ms, std::uint64_t{1} << 62U));
    // Rounded to seconds it may be a little before.
    const bool since = options_.clock_offset && wall_ms + 1000 > ms(*first_at_) + offset_ms &&
                       wall_ms <= ms(at) + offset_ms + 60'000;
    if (since || next->wall_ms == token.wall_ms) return *next;
    // Milliseconds that were made into seconds.
    const hlc::Timestamp second{.wall_ms = token.wall_ms * 1000};
    const auto whole = issued_.lower_bound(second);
    if (token.wall_ms < 1'000'000'000'000 && whole != issued_.end() &&
        whole->wall_ms / 1000 == token.wall_ms) {
      return *whole;
    }
    return std::nullopt;
  }
  // The version of the store with the name of another, who has made no such stamp.
  const hlc::Timestamp with_store{
      .wall_ms = token.wall_ms, .counter = token.counter, .node = options_.store_node};
  const bool has_stamps = stamps_.size() < kMaxStamps;
  if (has_stamps && issued_.contains(with_store) && !stamps_.contains(token)) return with_store;
  return std::nullopt;
}

std::optional<Request> Judge::Work::take_answered(const ConnectionState& connection,
                                                  const wire::Publish& publish, Time at) {
  const auto key = key_of(publish, publish.topic);
  if (!key) return std::nullopt;
  const auto [first, last] = requests_.equal_range(*key);
  if (first == last) return std::nullopt;
  auto found = std::find_if(first, last, [&connection](const auto& each) {
    return each.second.connection == connection.number;
  });
  if (found == last) found = first;
  Request out = std::move(found->second);
  requests_.erase(found);
  const auto owner = connections_.find(out.connection);
  if (owner != connections_.end()) {
    auto& waiting = owner->second.unanswered;
    const auto waits = waiting.find(*key);
    if (waits != waiting.end()) waiting.erase(waits);
    owner->second.busy_until = at;
  }
  return out;
}

void Judge::Work::end_requests_of(std::uint64_t connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  for (const auto& [key, until] : found->second.unanswered) {
    const auto [first, last] = requests_.equal_range(key);
    for (auto each = first; each != last;) {
      each = each->second.connection == connection ? requests_.erase(each) : std::next(each);
    }
  }
  found->second.unanswered.clear();
}

}  // namespace fencepost::clients
