#include "conformance/search/judged_run.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "codec/reply.h"
#include "codec/topics.h"
#include "conformance/run/clean_up.h"
#include "workload/rendering.h"

namespace fencepost::search {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using workload::Kind;
using workload::Operation;

constexpr milliseconds kMaxExpiryToShorten{60'000};

// A message and when it came.
struct Arrived {
  codec::Message message;
  store::Instant at{};
};

struct Connection {
  std::unique_ptr<endpoint::Client> client;
  std::string id;
  std::string response_topic;
  std::deque<Arrived> notifications;
  bool ended = false;
};

class Run {
 public:
  Run(endpoint::Session& session, const workload::Trace& trace, const JudgedRunOptions& options)
      : session_(session),
        trace_(trace),
        options_(options),
        oracle_(options.oracle),
        start_ms_(session.clock().wall_ms()) {
    for (const std::string& key : workload::keys()) keys_.push_back(options.key_prefix + key);
  }

  JudgedRun run() {
    for (at_ = 0; at_ < trace_.size() && !is_over(); ++at_) step(trace_[at_]);
    if (!is_over()) close();
    out_.observed = oracle_.observed();
    remove_what_was_written();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_over() {
    if (!out_.stopped && options_.stop) out_.stopped = options_.stop();
    return out_.stopped || has_ended();
  }
  // There is nothing more to judge.
  [[nodiscard]] bool has_ended() const { return out_.rejection || out_.lost; }

  [[nodiscard]] store::Instant now() {
    return {.wall_ms = session_.clock().wall_ms(), .steady = session_.clock().now()};
  }

  void step(const Operation& operation) {
    if (workload::is_request(operation.kind)) {
      request(operation);
      return;
    }
    if (operation.kind == Kind::kWait) wait(operation);
    if (operation.kind == Kind::kDisconnect) end(operation.client);
  }

  void wait(const Operation& operation) {
    microseconds time = milliseconds{operation.by_ms};
    if (options_.short_expiry) {
      const microseconds enough = *options_.short_expiry + options_.oracle.expiry_slack;
      time = std::min(time, enough + milliseconds{50});
    }
    session_.clock().wait_until(session_.clock().now() + time);
    take_all();
  }

  void end(std::size_t client) {
    std::unique_ptr<Connection>& connection = connections_.at(client);
    if (connection == nullptr) return;
    take_all();
    connection->client->disconnect();
    const store::Instant ended = now();
    oracle_.disconnected(connection->id, ended);
    keep(Packet::Kind::kDisconnected, connection->id, ended, {});
    connection.reset();
  }

  Connection* connect(std::size_t client) {
    std::unique_ptr<Connection>& connection = connections_.at(client);
    if (connection != nullptr) return connection.get();
    const std::string id = fmt::format("{}{}", options_.client_id_prefix, client);
    auto connected = session_.connect({.client_id = id});
    if (!connected) {
      out_.lost = connected.error();
      return nullptr;
    }
    auto made = std::make_unique<Connection>();
    made->client = std::move(*connected);
    made->id = id;
    made->response_topic = codec::recommended_response_topic(id);
    for (const std::string& filter : {made->response_topic, codec::notification_filter(id)}) {
      if (const auto subscribed = made->client->subscribe(filter); !subscribed) {
        out_.lost = subscribed.error();
        return nullptr;
      }
    }
    connection = std::move(made);
    return connection.get();
  }

  // ---- A request

  void request(const Operation& operation) {
    Connection* connection = connect(operation.client);
    if (connection == nullptr) return;
    codec::Message message = message_of(operation, *connection);
    const store::Instant sent = now();
    if (const auto published = connection->client->publish(message); !published) {
      out_.lost = published.error();
      return;
    }
    ++out_.requests;
    const std::optional<Arrived> reply = receive_reply(*connection, message);
    if (out_.lost) return;
    // A registration changes no key: what is told before its reply is told by the rules before it,
    // and what comes after it is not looked at yet.
    if (is_registration(message)) judge_queued(*connection);
    const judge::Judgement judgement = oracle_.judge({.client_id = connection->id,
                                                      .request = message,
                                                      .reply = reply ? &reply->message : nullptr,
                                                      .sent = sent,
                                                      .received = reply ? reply->at : now()});
    keep(Packet::Kind::kRequest, connection->id, sent, message);
    if (reply) keep(Packet::Kind::kReceived, connection->id, reply->at, reply->message);
    if (reply) learn(operation, message, reply->message);
    take(judgement, message, reply);
    // The notifications that came before the reply, and those that should have.
    for (std::size_t client = 0; client < connections_.size(); ++client) hand_over(client);
    if (!has_ended() && reply) take(oracle_.missing(connection->id, sent), message, reply);
  }

  void keep(Packet::Kind kind, const std::string& client_id, const store::Instant& at,
            const codec::Message& message) {
    if (options_.keeps_packets) out_.packets.push_back({kind, client_id, at, message});
  }

  static bool is_registration(const codec::Message& message) {
    return codec::verb_of(message.payload) == codec::Verb::kKeynotify;
  }

  void take(const judge::Judgement& judgement, const codec::Message& request,
            const std::optional<Arrived>& reply) {
    if (judgement.answer == judge::Answer::kUndecidable) {
      ++out_.undecidable;
      out_.open.insert(judgement.requirement);
    }
    if (judgement.answer != judge::Answer::kRejected || has_ended()) return;
    if (options_.is_known && options_.is_known(judgement)) {
      ++out_.known;
      return;
    }
    out_.rejection = Rejection{.operation = std::min(at_, trace_.size() - 1),
                               .judgement = judgement,
                               .request = request,
                               .reply = reply ? std::optional(reply->message) : std::nullopt};
  }

  codec::Message message_of(const Operation& operation, const Connection& connection) {
    codec::Message out;
    out.topic = codec::kRequestTopic;
    out.response_topic = connection.response_topic;
    out.correlation_data = fmt::format("{:016x}", ++correlation_);
    if (operation.kind == Kind::kRawPayload) {
      out.payload = with_own_key(operation.value);
    } else {
      codec::Command command = workload::command_of(operation, keys_.at(operation.key));
      if (options_.short_expiry && command.expires_after && command.expires_after->count() > 0 &&
          *command.expires_after < kMaxExpiryToShorten) {
        command.expires_after = *options_.short_expiry;
      }
      out.payload = codec::encode(command);
      written_.insert_or_assign(keys_.at(operation.key), true);
    }
    add_stamp(out, codec::kTimestampProperty, operation, operation.timestamp);
    add_stamp(out, codec::kTokenProperty, operation, operation.token);
    return out;
  }

  // A payload that is a request is one for a key of this run.
  std::string with_own_key(const std::string& payload) {
    const auto frame = codec::decode_command(payload);
    if (!frame || frame->count < 2 || frame->count > codec::CommandFrame::kStored ||
        frame->arguments[1].empty()) {
      return payload;
    }
    const std::string key = options_.key_prefix + std::string(frame->arguments[1]);
    std::vector<std::string_view> arguments(
        frame->arguments.begin(),
        frame->arguments.begin() + static_cast<std::ptrdiff_t>(frame->count));
    arguments[1] = key;
    written_.insert_or_assign(key, true);
    return codec::encode_command(arguments);
  }

  void add_stamp(codec::Message& out, std::string_view property, const Operation& operation,
                 const workload::Stamp& stamp) {
    const std::string& key = keys_.at(workload::key_of(stamp, operation));
    workload::Bases bases{.now_ms = session_.clock().wall_ms(), .start_ms = start_ms_};
    if (const auto known = versions_.find(key); known != versions_.end()) {
      bases.version = &known->second;
    }
    if (const auto known = tokens_.find(key); known != tokens_.end()) bases.token = &known->second;
    workload::resolve(stamp, bases, offered_);
    if (offered_.form == workload::Offered::Form::kAbsent) return;
    std::string text;
    workload::append_text(text, stamp, offered_);
    out.user_properties.emplace_back(property, std::move(text));
  }

  // What later timestamps relate to.
  void learn(const Operation& operation, const codec::Message& request,
             const codec::Message& reply) {
    const std::string* offered = request.property(codec::kTokenProperty);
    std::optional<hlc::Timestamp> token;
    if (offered != nullptr) {
      if (const auto parsed = hlc::parse(*offered)) token = *parsed;
    }
    const bool has_set =
        codec::verb_of(request.payload) == codec::Verb::kSet && reply.payload == "+OK\r\n";
    if (token && has_set) {
      greatest_token_ = std::max(greatest_token_.value_or(*token), *token);
    }
    if (operation.kind != Kind::kSet || !has_set) return;
    const std::string& key = keys_.at(operation.key);
    if (const std::string* text = reply.property(codec::kTimestampProperty)) {
      if (const auto version = hlc::parse(*text)) versions_.insert_or_assign(key, *version);
    }
    if (token) tokens_.insert_or_assign(key, *token);
  }

  // ---- What arrives

  std::optional<Arrived> receive_reply(Connection& connection, const codec::Message& request) {
    const endpoint::Duration deadline = session_.clock().now() + options_.timeout;
    while (true) {
      const endpoint::Duration left = deadline - session_.clock().now();
      if (left.count() <= 0) return std::nullopt;
      auto event = connection.client->receive(left);
      if (!event) return std::nullopt;
      if (std::holds_alternative<endpoint::Disconnected>(event->what)) {
        out_.lost = endpoint::Error{.kind = endpoint::ErrorKind::kLost,
                                    .text = "the connection of a client ended"};
        return std::nullopt;
      }
      auto* received = std::get_if<endpoint::MessageReceived>(&event->what);
      if (received == nullptr) return std::nullopt;  // refused
      Arrived arrived{std::move(received->message), now()};
      if (arrived.message.topic == connection.response_topic ||
          arrived.message.correlation_data == request.correlation_data) {
        if (arrived.message.duplicate &&
            arrived.message.correlation_data != request.correlation_data)
          continue;
        return arrived;
      }
      connection.notifications.push_back(std::move(arrived));
    }
  }

  void take_all() {
    for (std::size_t client = 0; client < connections_.size(); ++client) hand_over(client);
  }

  // Gives the oracle what has come for a client.
  void hand_over(std::size_t client) {
    Connection* connection = connections_.at(client).get();
    if (connection == nullptr || has_ended()) return;
    while (auto event = connection->client->receive(endpoint::Duration{0})) {
      auto* received = std::get_if<endpoint::MessageReceived>(&event->what);
      if (received == nullptr) break;
      connection->notifications.push_back({std::move(received->message), now()});
    }
    judge_queued(*connection);
  }

  // Gives the oracle what has come for a client, as far as it has been looked at.
  void judge_queued(Connection& connection) {
    while (!connection.notifications.empty() && !has_ended()) {
      const Arrived arrived = std::move(connection.notifications.front());
      connection.notifications.pop_front();
      if (arrived.message.duplicate) continue;
      keep(Packet::Kind::kReceived, connection.id, arrived.at, arrived.message);
      take(oracle_.notified(connection.id, arrived.message, arrived.at), arrived.message, arrived);
    }
  }

  // A last request of each client: no notification can hide behind its reply.
  void close() {
    at_ = trace_.size();
    for (std::size_t client = 0; client < connections_.size() && !is_over(); ++client) {
      if (connections_.at(client) == nullptr) continue;
      for (std::size_t key = 0; key < keys_.size() && !is_over(); ++key) {
        if (!written_.contains(keys_[key])) continue;
        request({.kind = Kind::kGet,
                 .client = static_cast<std::uint8_t>(client),
                 .key = static_cast<std::uint8_t>(key)});
      }
    }
  }

  void remove_what_was_written() {
    for (std::unique_ptr<Connection>& connection : connections_) {
      if (connection != nullptr) connection->client->disconnect();
      connection.reset();
    }
    if (!options_.short_expiry || written_.empty()) return;  // a store that is thrown away
    run::WrittenKeys written{.client_id = options_.client_id_prefix + "z",
                             .timeout = options_.timeout};
    // No key holds a greater one, and it is not too far ahead, as a SET was applied with it. What
    // GET and KEYNOTIFY were asked with says nothing: they ignore tokens. (Req: FT-OPEN-1)
    if (greatest_token_) written.token = hlc::format(*greatest_token_, hlc::Padding::kNone);
    for (const auto& [key, yes] : written_) written.keys.push_back(key);
    remove_keys(session_, written);
  }

  endpoint::Session& session_;
  const workload::Trace& trace_;
  const JudgedRunOptions& options_;
  judge::Oracle oracle_;
  std::uint64_t start_ms_;
  std::vector<std::string> keys_;
  std::array<std::unique_ptr<Connection>, workload::kClients> connections_{};
  std::map<std::string, hlc::Timestamp> versions_;  // the last that a SET returned
  std::map<std::string, hlc::Timestamp> tokens_;    // the last that a SET offered and had taken
  std::optional<hlc::Timestamp> greatest_token_;    // of those, and of SETs that are payloads
  std::map<std::string, bool> written_;
  workload::Offered offered_;
  std::size_t correlation_ = 0;
  std::size_t at_ = 0;
  JudgedRun out_;
};

}  // namespace

JudgedRun run_judged(endpoint::Session& session, const workload::Trace& trace,
                     const JudgedRunOptions& options) {
  return Run(session, trace, options).run();
}

}  // namespace fencepost::search
