#include "concurrency/stress/traffic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/command.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "codec/resp3.h"
#include "codec/topics.h"

namespace fencepost::stress {
namespace {

using history::Action;
using history::Operation;
using history::Outcome;

constexpr std::size_t kMaxAtOnce = 64;  // requests of one client, at a given rate
constexpr std::size_t kReasonBytes = 100;

codec::Command command_of(const Operation& operation) {
  codec::Command out{.verb = verb_of(operation.action), .key = operation.key};
  if (has_value(operation.action)) out.value = operation.value;
  out.stop = operation.action == Action::kStop;
  if (out.verb != codec::Verb::kSet) return out;
  out.condition = operation.condition;
  out.expires_after = operation.expires_after;
  return out;
}

constexpr std::size_t kCorrelationBytes = 16;

// 16 bytes, as the public client SDKs send, so that a store that insists on it answers.
std::string correlation_of(std::uint64_t id) {
  std::string out(kCorrelationBytes, '0');
  for (auto at = out.rbegin(); id > 0; ++at, id /= 10) *at = static_cast<char>('0' + id % 10);
  return out;
}

// The reverse; nothing for what is no such text.
std::optional<std::uint64_t> id_of(std::string_view correlation) {
  std::uint64_t out = 0;
  const char* end = correlation.data() + correlation.size();
  const auto [at, error] = std::from_chars(correlation.data(), end, out);
  const bool whole = correlation.size() == kCorrelationBytes && error == std::errc() && at == end;
  return whole ? std::optional(out) : std::nullopt;
}

Outcome outcome_of(const codec::DecodedReply& reply) {
  switch (reply.kind) {
    case codec::ReplyKind::kOk:
      return Outcome::kOk;
    case codec::ReplyKind::kNotApplied:
      return Outcome::kNotApplied;
    case codec::ReplyKind::kValue:
      return Outcome::kValue;
    case codec::ReplyKind::kMissing:
      return Outcome::kMissing;
    case codec::ReplyKind::kCount:
      if (reply.count == 0) return Outcome::kMissing;
      return reply.count == 1 ? Outcome::kDeleted : Outcome::kUnknown;
    case codec::ReplyKind::kError:
      break;
  }
  const auto error = codec::error_with_text(reply.value);
  if (error == codec::ErrorCode::kTokenRequired) return Outcome::kTokenRequired;
  return error == codec::ErrorCode::kTokenLower ? Outcome::kTokenLower : Outcome::kRefused;
}

std::optional<hlc::Timestamp> version_of(const codec::Message& message) {
  const std::string* text = message.property(codec::kTimestampProperty);
  if (text == nullptr) return std::nullopt;
  auto version = hlc::parse(*text);
  return version ? std::optional(std::move(*version)) : std::nullopt;
}

// "NOTIFY SET" alone: the article has the value only where it was requested. Req: NTF-VALUE-3
bool is_valueless(std::string_view payload) {
  const auto frame = codec::decode_command(payload);
  return frame && frame->count == 2 && frame->arguments[0] == "NOTIFY" &&
         frame->arguments[1] == "SET";
}

}  // namespace

bool read_reply(const codec::Message& reply, Operation& operation) {
  operation.version = version_of(reply);
  const auto decoded = codec::decode_reply(reply.payload);
  const Outcome outcome = decoded ? outcome_of(*decoded) : Outcome::kUnknown;
  const bool sensible = outcome != Outcome::kUnknown && history::fits(operation.action, outcome);
  if (!sensible) {
    operation.outcome = Outcome::kUnknown;
    operation.version.reset();
    operation.reason = "not a response of the protocol: " + escape(reply.payload, kReasonBytes);
    return false;
  }
  operation.outcome = outcome;
  if (outcome == Outcome::kValue) operation.read = decoded->value;
  if (outcome == Outcome::kRefused) operation.reason = decoded->value;
  return true;
}

Traffic::Traffic(const TrafficOptions& options, Journal& journal)
    : options_(options),
      journal_(journal),
      script_(options.script),
      states_(options.script.clients) {
  for (std::uint32_t client = 0; client < states_.size(); ++client) {
    states_[client].id = client_id(client);
    states_[client].response_topic = codec::recommended_response_topic(states_[client].id);
  }
}

std::string Traffic::client_id(std::uint32_t client) const {
  return options_.client_prefix + std::to_string(client);
}

void Traffic::connected(std::uint32_t client, Time now) {
  states_[client].connected = true;
  states_[client].messages = 0;
  states_[client].given_up.clear();
  journal_.linked({.client = client, .link = history::Link::kConnected, .at = now});
}

void Traffic::disconnected(std::uint32_t client, Time now) {
  ClientState& state = states_[client];
  if (!std::exchange(state.connected, false)) return;
  if (options_.ends_are_injected) {
    for (const std::uint64_t id : state.given_up) delivery_.lost_with_connection(id);
  }
  journal_.linked({.client = client, .link = history::Link::kLost, .at = now});
  while (!state.under_way.empty()) {
    ++counts_.lost;
    without_reply(state, std::string(state.under_way.begin()->first), "connection lost",
                  Delivery::Without::kLost);
  }
  script_.disconnected(client);
}

bool Traffic::may_ask(std::uint32_t client, Time now) {
  const ClientState& state = states_[client];
  if (held_ || !state.connected) return false;
  const bool is_own = client == 0 && options_.first_window > 0;
  const std::size_t window = is_own ? options_.first_window : options_.script.mix->window;
  if (options_.rate <= 0) return state.under_way.size() < window;
  if (state.under_way.size() >= kMaxAtOnce) return false;
  if (!started_) started_ = now;
  const double due = std::chrono::duration<double>(now - *started_).count() * options_.rate;
  return static_cast<double>(counts_.requests) < due;
}

std::optional<Operation> Traffic::next_operation(std::uint32_t client) {
  if (options_.plan == nullptr) return script_.next(client);
  const std::vector<Operation>& plan = *options_.plan;
  std::size_t& at = states_[client].planned;
  while (at < plan.size() && plan[at].client != client) ++at;
  if (at == plan.size()) return std::nullopt;
  const Operation& planned = plan[at++];
  return Operation{.client = client,
                   .action = planned.action,
                   .key = planned.key,
                   .value = planned.value,
                   .condition = planned.condition,
                   .expires_after = planned.expires_after,
                   .token = planned.token};
}

std::optional<codec::Message> Traffic::next(std::uint32_t client, Time now, std::uint64_t wall_ms) {
  ClientState& state = states_[client];
  if (!may_ask(client, now)) return std::nullopt;
  const Time of_mix = options_.script.mix->renew_every;
  const Time renew_every = of_mix > Time{0} ? of_mix : options_.renew_every;
  if (renew_every > Time{0} && now >= renewed_ + renew_every) {
    if (counts_.requests > 0) script_.renew();
    renewed_ = now;
  }
  auto asked = next_operation(client);
  if (!asked) return std::nullopt;
  UnderWay request{.id = next_id_++, .operation = *std::move(asked)};
  request.generation = script_.generation();
  Operation& operation = request.operation;
  operation.called = now;
  state.wall_ms = wall_ms;
  if (operation.action == Action::kSet) {
    // Clients' clocks do not run alike, and none goes back.
    const std::uint64_t own = wall_ms + std::uint64_t{2} * (client % 4);
    state.counter = own > state.last_wall_ms ? 0 : state.counter + 1;
    state.last_wall_ms = std::max(own, state.last_wall_ms);
    operation.timestamp =
        hlc::Timestamp{.wall_ms = state.last_wall_ms, .counter = state.counter, .node = state.id};
  }
  std::string correlation = correlation_of(request.id + 1);
  codec::Message out = message_of(state, request, correlation);
  journal_.called(request.id, operation);
  Generation& generation = generations_[request.generation];
  ++generation.under_way;
  generation.keys.insert(operation.key);
  sent_.push_back({.called = now, .client = client, .correlation = correlation});
  state.under_way.emplace(std::move(correlation), std::move(request));
  ++under_way_;
  ++counts_.requests;
  return out;
}

codec::Message Traffic::message_of(ClientState& state, const UnderWay& request,
                                   const std::string& correlation) const {
  const Operation& operation = request.operation;
  codec::Message out;
  out.topic = codec::kRequestTopic;
  out.payload = codec::encode(command_of(operation));
  out.response_topic = state.response_topic;
  out.correlation_data = correlation;
  if (operation.timestamp) {
    out.user_properties.emplace_back(codec::kTimestampProperty, hlc::format(*operation.timestamp));
  }
  if (operation.token) {
    out.user_properties.emplace_back(codec::kTokenProperty, hlc::format(*operation.token));
  }
  return out;
}

void Traffic::end(ClientState& state, const std::string& correlation, Operation& operation) {
  const auto found = state.under_way.find(correlation);
  FENCEPOST_CHECK(found != state.under_way.end());
  journal_.returned(found->second.id, operation);
  script_.answered(operation);
  --generations_[found->second.generation].under_way;
  --under_way_;
  state.under_way.erase(found);
}

void Traffic::without_reply(ClientState& state, const std::string& correlation,
                            std::string_view reason, Delivery::Without why) {
  const UnderWay& request = state.under_way.find(correlation)->second;
  Operation operation = request.operation;
  operation.reason = reason;
  delivery_.without_reply(request.id, operation, why);
  end(state, correlation, operation);
}

void Traffic::received(std::uint32_t client, const codec::Message& message, Time at) {
  ClientState& state = states_[client];
  counts_.longest = std::max(counts_.longest, ++state.messages);
  if (message.topic.starts_with(codec::kStorePrefix)) return notified(client, message, at);
  const auto found = state.under_way.find(message.correlation_data.value_or(""));
  if (found == state.under_way.end() || message.topic != state.response_topic) {
    ++counts_.unmatched;
    return unmatched(state, message);
  }
  state.given_up.clear();
  Operation operation = found->second.operation;
  operation.returned = at;
  delivery_.answered(operation.called);
  const bool is_reply = read_reply(message, operation);
  if (options_.check_reply) {
    const auto problem =
        options_.check_reply(message_of(state, found->second, found->first), message);
    if (problem) delivery_.wrong(problem->requirement, problem->text, &operation);
  } else if (!is_reply) {
    delivery_.wrong("ENV-RESPONSE-1", operation.reason, &operation);
  }
  if (operation.version) take_into_clock(state, *operation.version);
  if (!is_reply) {
    ++counts_.meaningless;
  } else {
    ++counts_.replies;
    if (operation.outcome == Outcome::kRefused) ++counts_.refused;
  }
  end(state, std::string(found->first), operation);
}

// Also the reply to what has been given up, which comes too late. Req: ENV-RESPONSE-1,
// ENV-CORRELATION-1, ENV-RESPONSE-TOPIC-1
void Traffic::unmatched(const ClientState& state, const codec::Message& message) {
  const std::string what = escape(message.payload, kReasonBytes);
  if (message.topic != state.response_topic) {
    return delivery_.wrong("ENV-RESPONSE-TOPIC-1",
                           "a message on the topic " + escape(message.topic, kReasonBytes) +
                               ", which is not the response topic of this client: " + what,
                           nullptr);
  }
  auto id = id_of(message.correlation_data.value_or(""));
  if (id && (*id == 0 || *id > next_id_)) id.reset();
  if (id) --*id;
  delivery_.unmatched_reply(id, message.duplicate, what);
}

void Traffic::excuse(std::string_view correlation) {
  if (const auto id = id_of(correlation); id && *id > 0) delivery_.excuse(*id - 1);
}

void Traffic::excuse_all() {
  for (const ClientState& state : states_) {
    for (const auto& [correlation, request] : state.under_way) delivery_.excuse(request.id);
  }
}

// Req: HLC-CLIENT-2. But for what is so far ahead that the store would refuse it from a client, and
// without counters that it need not be able to read. (Req: HLC-SKEW-1, HLC-PARSE-OPEN-2)
void Traffic::take_into_clock(ClientState& state, const hlc::Timestamp& version) {
  constexpr std::uint64_t kMaxAheadMs = 60'000;
  constexpr std::uint64_t kMaxCounted = 1'000'000'000;
  if (version.wall_ms > state.wall_ms + kMaxAheadMs) return;
  const bool greater =
      std::tie(version.wall_ms, version.counter) > std::tie(state.last_wall_ms, state.counter);
  if (!greater) return;
  const bool counts = version.counter < kMaxCounted;
  state.last_wall_ms = version.wall_ms + (counts ? 0 : 1);
  state.counter = counts ? version.counter : 0;
}

void Traffic::notified(std::uint32_t client, const codec::Message& message, Time at) {
  const auto target = codec::parse_notification_topic(message.topic);
  const auto decoded = codec::decode_notification(message.payload);
  const bool ours = target && target->key.starts_with(options_.script.prefix);
  const bool valueless = !decoded && is_valueless(message.payload);
  if (!ours || (!decoded && !valueless)) {
    ++counts_.unmatched;
    const std::string what = escape(message.payload, kReasonBytes);
    if (!target) {
      delivery_.wrong(
          "NTF-TOPIC-1",
          "a notification on a topic that is not a notification topic: " + escape(message.topic),
          nullptr);
    } else if (!ours) {
      delivery_.wrong(
          "NTF-SEND-3",
          "a notification of a key that no client has registered for: " + escape(target->key),
          nullptr);
    } else {
      delivery_.wrong("NTF-FORMAT-1", "malformed notification: " + what, nullptr);
    }
    return;
  }
  ++counts_.notifications;
  const auto version = version_of(message);
  if (version) take_into_clock(states_[client], *version);
  journal_.notified({.client = client,
                     .key = target->key,
                     .operation = valueless ? codec::Operation::kSet : decoded->operation,
                     .value = valueless ? std::string() : std::string(decoded->value),
                     .valueless = valueless,
                     .version = version,
                     .arrived = at,
                     .duplicate = message.duplicate});
}

void Traffic::not_taken(std::uint32_t client, std::string_view correlation, Time /*now*/) {
  ClientState& state = states_[client];
  const auto found = state.under_way.find(correlation);
  if (found == state.under_way.end()) return;
  ++counts_.not_taken;
  without_reply(state, std::string(found->first), "the broker refused the PUBLISH",
                Delivery::Without::kRefused);
}

void Traffic::give_up(Time now) {
  while (!sent_.empty() && sent_.front().called + options_.patience <= now) {
    const Sent oldest = std::move(sent_.front());
    sent_.pop_front();
    ClientState& state = states_[oldest.client];
    const auto found = state.under_way.find(oldest.correlation);
    if (found == state.under_way.end()) continue;
    state.given_up.push_back(found->second.id);
    ++counts_.timed_out;
    without_reply(state, oldest.correlation, "time-out", Delivery::Without::kTime);
  }
}

std::vector<std::size_t> Traffic::closed(bool all) {
  std::vector<std::size_t> out;
  for (const auto& [number, generation] : generations_) {
    const bool over = all || number < script_.generation();
    if (over && generation.under_way == 0) out.push_back(number);
  }
  return out;
}

std::set<std::string> Traffic::take_keys(std::size_t generation) {
  auto node = generations_.extract(generation);
  return node.empty() ? std::set<std::string>{} : std::move(node.mapped().keys);
}

}  // namespace fencepost::stress
