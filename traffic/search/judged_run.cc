#include "traffic/search/judged_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "codec/topics.h"
#include "suite/judge/exchange.h"
#include "suite/run/clean_up.h"
#include "suite/run/no_response.h"
#include "suite/run/request_client.h"
#include "suite/run/verdict.h"
#include "workload/rendering.h"

namespace fencepost::search {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using workload::Kind;
using workload::Operation;

constexpr milliseconds kMaxExpiryToShorten{60'000};
// All clients of all runs are alike.
const run::ClientKind kClient{.observes = true};

// Where a payload has the length of a key, and the key: behind its verb, which is the first line
// that is no type and length of RESP3.
struct KeyPlace {
  std::size_t digits = 0;  // of the length
  std::size_t count = 0;   // of these digits, leading zeros apart
  std::size_t length = 0;
  std::size_t key = 0;
};
std::optional<KeyPlace> key_place(std::string_view payload) {
  constexpr std::string_view kLineEnds = "\r\n";
  // A lenient store may skip empty lines before the request.
  std::size_t at = std::min(payload.find_first_not_of(kLineEnds), payload.size());
  const auto next_line = [&] {
    at = payload.find_first_not_of(kLineEnds, payload.find_first_of(kLineEnds, at));
  };
  while (at < payload.size() &&
         std::string_view("*$~>|%:+;").find(payload[at]) != std::string_view::npos) {
    next_line();
  }
  if (at < payload.size()) next_line();
  if (at >= payload.size() || payload[at] != '$') return std::nullopt;
  KeyPlace out{.digits = std::min(payload.find_first_not_of('0', at + 1), payload.size())};
  while (out.digits + out.count < payload.size()) {
    const char c = payload[out.digits + out.count];
    constexpr std::size_t kMaxDigits = 9;
    if (c < '0' || c > '9') break;
    if (++out.count > kMaxDigits) return std::nullopt;
    out.length = out.length * 10 + static_cast<std::size_t>(c - '0');
  }
  const std::size_t end = out.digits + out.count;
  const std::string_view rest = payload.substr(end);
  if (out.length == 0 || rest.empty() || kLineEnds.find(rest[0]) == std::string_view::npos) {
    return std::nullopt;  // the empty key stays one
  }
  out.key = end + (rest.starts_with(kLineEnds) ? 2 : 1);
  return out.key < payload.size() ? std::optional(out) : std::nullopt;
}

class Run {
 public:
  Run(endpoint::Session& session, const workload::Trace& trace, const JudgedRunOptions& options)
      : session_(session),
        trace_(trace),
        options_(options),
        oracle_(options.oracle),
        start_ms_(session.clock().wall_ms()) {
    out_.clocks_apart = milliseconds{start_ms_} - session.clock().now();
    // A request and its response each, and what is asked in the end.
    if (options.keeps_packets) out_.packets.reserve(2 * trace.size() + 16);
    for (auto& received : received_) received = std::make_shared<run::Received>();
    for (const std::string& key : workload::keys()) keys_.push_back(options.key_prefix + key);
  }

  JudgedRun run() {
    for (at_ = 0; at_ < trace_.size() && !is_over(); ++at_) step(trace_[at_]);
    if (!is_over()) close();
    out_.observed = oracle_.observed();
    let_clients_go();
    remove_what_was_written();
    return std::move(out_);
  }

 private:
  // What has been rejected stands, though the time may have ended since.
  [[nodiscard]] bool is_over() {
    if (has_ended()) return true;
    if (!out_.stopped && options_.stop) out_.stopped = options_.stop();
    return out_.stopped;
  }
  // There is nothing more to judge.
  [[nodiscard]] bool has_ended() const { return out_.rejection || out_.lost; }

  [[nodiscard]] endpoint::Duration now() { return session_.clock().now(); }

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
      time = std::chrono::duration_cast<microseconds>(time * stretch_);
      const microseconds enough = *options_.short_expiry + options_.oracle.expiry_slack;
      time = std::min(time, enough + milliseconds{50});
    }
    wait_until(now() + time);
    take_all();
  }

  void wait_until(endpoint::Duration time) {
    acknowledge();
    const run::SlotYield waiting(options_.slots);
    session_.clock().wait_until(time);
  }

  void end(std::size_t client) {
    std::unique_ptr<run::RequestClient>& connection = connections_.at(client);
    if (connection == nullptr) return;
    acknowledge();
    take_all();
    connection->raw().disconnect();
    const endpoint::Duration ended = now();
    oracle_.disconnected(connection->client_id(), ended);
    keep(Packet::Kind::kDisconnected, connection->client_id(), ended, {});
    connection.reset();
  }

  // A client that comes back has to come back under its own id. (Req: LIFE-DISCONNECT-1)
  [[nodiscard]] bool may_share(std::size_t client) const {
    return options_.pool != nullptr &&
           std::none_of(trace_.begin(), trace_.end(), [&](const Operation& operation) {
             return operation.kind == Kind::kDisconnect && operation.client == client;
           });
  }

  run::RequestClient* connect(std::size_t client) {
    std::unique_ptr<run::RequestClient>& connection = connections_.at(client);
    if (connection != nullptr) return connection.get();
    const bool shares = may_share(client);
    if (auto spare = shares ? options_.pool->take(kClient) : std::nullopt) {
      const std::string id = spare->client_id;
      connection = std::make_unique<run::RequestClient>(id, *std::move(spare), session_.clock(),
                                                        std::nullopt, received_.at(client));
      return connection.get();
    }
    const std::string id =
        shares ? options_.pool->next_id() : fmt::format("{}{}", options_.client_id_prefix, client);
    auto connected = session_.connect({.client_id = id, .read_late = true});
    if (!connected) {
      out_.lost = connected.error();
      return nullptr;
    }
    auto made = std::make_unique<run::RequestClient>(
        id, std::move(*connected), id, session_.clock(), std::nullopt, received_.at(client));
    for (const std::string& filter : {made->response_topic(), codec::notification_filter(id)}) {
      if (const auto subscribed = made->raw().subscribe(filter); !subscribed) {
        made->drain();
        if (!broker_is_wrong(*made)) out_.lost = subscribed.error();
        return nullptr;
      }
    }
    connection = std::move(made);
    return connection.get();
  }

  // ---- A request

  void request(const Operation& operation) {
    if (connections_.at(operation.client).get() != acknowledges_) acknowledge();
    run::RequestClient* connection = connect(operation.client);
    if (connection == nullptr) return;
    const auto sent = connection->send(message_of(operation, *connection));
    acknowledge();
    if (!sent) {
      out_.lost = sent.error();
      return;
    }
    judge::Exchange& exchange = **sent;
    ++out_.requests;
    // The acknowledgement of the response is written with the next request.
    acknowledges_ = connection;
    connection->raw().gather(true);
    // The oracle judges topic and correlation data.
    if (!connection->await_loosely(exchange, options_.timeout)) acknowledge();
    if (!exchange.is_over() && !connection->disconnected() && !does_answer(*connection, exchange)) {
      out_.lost =
          endpoint::Error{.kind = endpoint::ErrorKind::kTimeout, .text = "no client was answered"};
      return;
    }
    if (!exchange.is_over() && connection->disconnected()) {
      if (broker_is_wrong(*connection)) return;
      out_.lost = endpoint::Error{.kind = endpoint::ErrorKind::kLost,
                                  .text = "the connection of a client ended"};
      return;
    }
    // A registration changes no key: what is notified before its reply is judged by the rules
    // before it, and what comes after it is not looked at yet.
    if (exchange.verb == codec::Verb::kKeynotify) {
      // The same time for both, as these notifications came before the reply.
      const endpoint::Duration replied = now();
      oracle_.asked(connection->client_id(), exchange, replied);
      judge_queued(*connection, replied);
    }
    const judge::Judgement judgement = oracle_.judge(connection->client_id(), exchange);
    const codec::Message* reply = exchange.reply ? &exchange.reply->message : nullptr;
    keep(Packet::Kind::kRequest, connection->client_id(), exchange.sent, exchange.request);
    if (reply != nullptr) {
      keep(Packet::Kind::kReceived, connection->client_id(), exchange.reply->time, *reply);
      learn(operation, exchange);
    }
    take(judgement, &exchange.request, reply);
    // The notifications that came before the reply, and those that should have.
    for (std::size_t client = 0; client < connections_.size(); ++client) hand_over(client);
    if (has_ended() || reply == nullptr) return;
    take(oracle_.missing(connection->client_id(), exchange.sent), &exchange.request, reply);
  }

  // Writes the acknowledgements that wait for a request.
  void acknowledge() {
    if (acknowledges_ != nullptr) std::exchange(acknowledges_, nullptr)->raw().gather(false);
  }

  // Does the endpoint answer anybody, or does it, or this machine, stand still?
  bool does_answer(run::RequestClient& connection, const judge::Exchange& exchange) {
    const run::SlotYield waiting(options_.slots);
    return run::explain_no_response(
               connection, [&] { return exchange.is_over(); }, exchange.verb,
               run::Probing{.session = session_,
                            .key = options_.key_prefix + "probe",
                            .witness = options_.client_id_prefix + "w",
                            .reply_timeout = options_.timeout,
                            .standstill = options_.standstill,
                            .grace = run::kGrace}) != run::NoResponse::kStore;
  }

  void keep(Packet::Kind kind, const std::string& client_id, endpoint::Duration at,
            const codec::Message& message) {
    if (!options_.keeps_packets) return;
    out_.packets.push_back({kind, client_id, at, cut(message), message.payload.size()});
  }

  // What is read of it at most.
  [[nodiscard]] codec::Message cut(const codec::Message& message) const {
    if (message.payload.size() <= options_.most_payload) return message;
    codec::Message out = message.head(options_.most_payload);
    out.user_properties = message.user_properties;
    return out;
  }

  // Null: nothing was asked for, or nothing came.
  void take(const judge::Judgement& judgement, const codec::Message* request,
            const codec::Message* reply) {
    if (judgement.answer == judge::Answer::kUndecidable) {
      ++out_.undecidable;
      out_.open.insert(judgement.requirement);
    }
    if (judgement.answer != judge::Answer::kRejected || has_ended()) return;
    if (options_.is_known && options_.is_known(judgement)) {
      ++out_.known;
      return;
    }
    out_.rejection =
        Rejection{.operation = std::min(at_, trace_.size() - 1), .judgement = judgement};
    if (request != nullptr) out_.rejection->request = *request;
    if (reply == nullptr) return;
    out_.rejection->reply = cut(*reply);
    out_.rejection->reply_bytes = reply->payload.size();
  }

  // It is binary data: more than the 16 bytes of a UUID, a NUL, and behind both what differs.
  [[nodiscard]] std::string correlation_data(std::size_t request) const {
    return fmt::format("{:08x}{}correlation{:08x}", options_.number, '\0', request);
  }

  codec::Message message_of(const Operation& operation, const run::RequestClient& connection) {
    codec::Message out;
    out.topic = codec::kRequestTopic;
    out.response_topic = connection.response_topic();
    out.correlation_data = correlation_data(++correlation_);
    if (operation.kind == Kind::kRawPayload) {
      out.payload = with_own_key(operation.value);
    } else {
      codec::Command command = workload::command_of(operation, keys_.at(operation.key));
      if (options_.short_expiry && command.expires_after && command.expires_after->count() > 0 &&
          *command.expires_after < kMaxExpiryToShorten) {
        stretch_ = static_cast<double>(options_.short_expiry->count()) /
                   static_cast<double>(command.expires_after->count());
        // One of 1 ms is over before anything can be asked, as it stands.
        if (command.expires_after->count() > 1) command.expires_after = *options_.short_expiry;
      }
      out.payload = codec::encode(command);
      written_.insert_or_assign(keys_.at(operation.key), true);
    }
    add_stamp(out, codec::kTimestampProperty, operation, operation.timestamp);
    add_stamp(out, codec::kTokenProperty, operation, operation.token);
    return out;
  }

  // A payload of any bytes is one for a key of this run, be it a request or nearly one.
  std::string with_own_key(const std::string& payload) {
    const auto place = key_place(payload);
    if (!place) return payload;
    std::string out = payload;
    const std::string& prefix = options_.key_prefix;
    // What the length says too much or too little, it still does.
    out.insert(place->key, prefix);
    out.replace(place->digits, place->count, std::to_string(place->length + prefix.size()));
    // Not what stands there in a request without a verb.
    const auto frame = codec::decode_command(out);
    if (frame && frame->count >= 2 && frame->arguments[1].starts_with(prefix)) {
      written_.insert_or_assign(std::string(frame->arguments[1]), true);
    }
    return out;
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
  void learn(const Operation& operation, const judge::Exchange& exchange) {
    const std::string* offered = exchange.request.property(codec::kTokenProperty);
    std::optional<hlc::Timestamp> token;
    if (offered != nullptr) {
      if (const auto parsed = hlc::parse(*offered)) token = *parsed;
    }
    const bool has_set =
        exchange.verb == codec::Verb::kSet && exchange.reply->is(codec::ReplyKind::kOk);
    if (token && has_set) {
      greatest_token_ = std::max(greatest_token_.value_or(*token), *token);
    }
    if (operation.kind != Kind::kSet || !has_set) return;
    const std::string& key = keys_.at(operation.key);
    if (const std::string* text = exchange.reply->message.property(codec::kTimestampProperty)) {
      if (const auto version = hlc::parse(*text)) versions_.insert_or_assign(key, *version);
    }
    if (token) tokens_.insert_or_assign(key, *token);
  }

  // ---- What arrives

  void take_all() {
    for (std::size_t client = 0; client < connections_.size(); ++client) hand_over(client);
  }

  // Gives the oracle what has come for a client.
  void hand_over(std::size_t client) {
    run::RequestClient* connection = connections_.at(client).get();
    if (connection == nullptr || has_ended()) return;
    // What comes behind a response is read with the next one.
    connection == acknowledges_ ? connection->take_read() : connection->drain();
    judge_queued(*connection, std::nullopt);
    broker_is_wrong(*connection);
  }

  // Has the broker done what MQTT 5 forbids a server? Then that is what the run has found.
  bool broker_is_wrong(run::RequestClient& connection) {
    const auto& end = connection.disconnected();
    if (!end || end->section.empty()) return false;
    const auto& exchanges = connection.exchanges();
    take(judge::rejected(run::kBrokerRule, "MQTT 5, " + end->section + ": " + end->text),
         exchanges.empty() ? nullptr : &exchanges.back().request, nullptr);
    return true;
  }

  // Gives the oracle what has come for a client, as far as it has been looked at, in its order:
  // as seen at `time`, or now.
  void judge_queued(run::RequestClient& connection, std::optional<endpoint::Duration> time) {
    auto& notifications = connection.notifications();
    auto& unsolicited = connection.unsolicited();
    while (!has_ended()) {
      const bool is_unsolicited =
          !unsolicited.empty() &&
          (notifications.empty() || unsolicited.front().time < notifications.front().time);
      if (is_unsolicited) {
        const run::UnsolicitedMessage first = std::move(unsolicited.front());
        unsolicited.pop_front();
        if (first.message) {
          judge_unasked(connection, *first.message, time.value_or(now()));
        } else if (options_.oracle.basis.binds(first.rule)) {
          // A PUBACK, of which the oracle knows nothing. (Req: ENV-PUBACK-1)
          const auto& exchanges = connection.exchanges();
          take(judge::rejected(first.rule, first.text.text()),
               exchanges.empty() ? nullptr : &exchanges.back().request, nullptr);
        }
      } else if (!notifications.empty()) {
        judge_unasked(connection, notifications.front().message, time.value_or(now()));
        notifications.pop_front();
      } else {
        return;
      }
    }
  }

  // The time is that of looking: a store whose clock has whole milliseconds may tell of an expiry
  // up to one before it is over by ours.
  void judge_unasked(const run::RequestClient& connection, const codec::Message& message,
                     endpoint::Duration time) {
    keep(Packet::Kind::kReceived, connection.client_id(), time, message);
    take(oracle_.notified(connection.client_id(), message, time), nullptr, &message);
  }

  // A last request of each client: no notification can hide behind its reply.
  void close() {
    at_ = trace_.size();
    if (!options_.oracle.basis.binds("NTF-ORDER-1")) {
      wait_while([this] { return oracle_.awaits_notification(); }, judge::kNotificationLag);
    }
    ask_for_all_keys();
    // One of an expiry may: it is waited for, where it is still to come.
    if (is_over() || !oracle_.awaits_expiry()) return;
    wait_while([this] { return oracle_.awaits_expiry(); }, judge::kExpiryNotified);
    ask_for_all_keys();
  }

  // Takes what comes, for at most this long.
  void wait_while(const std::function<bool()>& awaits, endpoint::Duration most) {
    constexpr std::chrono::milliseconds kLookAgain{10};
    const endpoint::Duration deadline = now() + most;
    while (!is_over() && awaits() && now() < deadline) {
      wait_until(std::min<endpoint::Duration>(now() + kLookAgain, deadline));
      take_all();
    }
  }

  void ask_for_all_keys() {
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

  void let_clients_go() {
    acknowledge();
    const bool all_is_well = !has_ended() && !out_.stopped;
    for (std::size_t client = 0; client < connections_.size(); ++client) {
      std::unique_ptr<run::RequestClient>& connection = connections_[client];
      if (connection == nullptr) continue;
      if (all_is_well && !connection->disconnected()) {
        connection->raw().await_acknowledgements(options_.standstill);
        hand_over(client);  // such as a second response to the last request
        if (has_ended()) continue;
      }
      if (all_is_well && may_share(client) && connection->end_registrations(options_.timeout) &&
          connection->is_clean(correlation_data(0).size())) {
        options_.pool->give(kClient, connection->release());
      } else {
        connection->raw().disconnect();
      }
      connection.reset();
    }
  }

  void remove_what_was_written() {
    if (!options_.removes_keys || written_.empty()) return;
    run::WrittenKeys written{.client_id = options_.client_id_prefix + "z",
                             .timeout = options_.timeout};
    // No key holds a greater one, and it is not too far ahead, as a SET was applied with it. What
    // GET and KEYNOTIFY were sent with shows nothing: they ignore tokens. (Req: FT-OPEN-1)
    if (greatest_token_) written.token = hlc::format(*greatest_token_, hlc::Padding::kNone);
    for (const auto& [key, yes] : written_) written.keys.push_back(key);
    remove_keys(session_, written, options_.pool);
  }

  endpoint::Session& session_;
  const workload::Trace& trace_;
  const JudgedRunOptions& options_;
  judge::Oracle oracle_;
  std::uint64_t start_ms_;
  std::vector<std::string> keys_;
  // What each client id has received, over all its connections.
  std::array<std::shared_ptr<run::Received>, workload::kClients> received_{};
  std::array<std::unique_ptr<run::RequestClient>, workload::kClients> connections_{};
  std::map<std::string, hlc::Timestamp> versions_;  // the last that a SET returned
  std::map<std::string, hlc::Timestamp> tokens_;    // the last that a SET offered and had taken
  std::optional<hlc::Timestamp> greatest_token_;    // of those, and of SETs that are payloads
  std::map<std::string, bool> written_;
  run::RequestClient* acknowledges_ = nullptr;  // the client whose acknowledgements wait
  // Waits are to end before and after the same expiries, though these are shorter or longer.
  double stretch_ = 1;
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
