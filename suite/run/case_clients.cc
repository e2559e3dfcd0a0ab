#include "suite/run/case_clients.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/notification.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "suite/judge/judge.h"
#include "suite/run/message_checks.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {

using endpoint::Duration;
using text::Phrase;

bool has_enough_connections(const endpoint::Error& error) {
  const int reason = error.reason_code.value_or(0);
  return error.kind == endpoint::ErrorKind::kUnreachable &&
         (reason == 0x89 || reason == 0x97 || reason == 0x9f);
}

Problem lost(const endpoint::Error& error) {
  using endpoint::ErrorKind;
  // Req: ENV-SUBACK-1. Below QoS 1 a message may get lost: its absence would prove nothing.
  if (error.kind == ErrorKind::kNotAllowed && error.reason_code == 0) {
    return {.message = error.text,
            .expected = "a SUBACK with reason code 0x01 (granted QoS 1)",
            .actual = "0x00 (granted QoS 0)",
            .attribution = {.requirement = "ENV-SUBACK-1"}};
  }
  const bool gone = error.kind == ErrorKind::kLost || error.kind == ErrorKind::kUnreachable ||
                    error.kind == ErrorKind::kTimeout;
  // What was not acknowledged in time may be acknowledged late, and a broker may refuse any
  // connection (MQTT 5, 3.1.4); but the CONNECT is no malformed packet, protocol error or other
  // version. A connection that ends is the broker's own doing.
  const int reason = error.reason_code.value_or(0);
  const bool wrong = reason == 0x81 || reason == 0x82 || reason == 0x84;
  const bool long_id = error.kind == ErrorKind::kNotAllowed && reason == 0x85;
  const bool set_up = error.kind == ErrorKind::kTimeout || long_id ||
                      (error.kind == ErrorKind::kUnreachable && !wrong);
  const char* advice =
      has_enough_connections(error) ? ": run fewer cases in parallel (-j N), raise the broker's "
                                      "limit of connections, or leave "
                                      "the case out (--skip)"
      : long_id ? ": allow client ids of more than 23 bytes in the broker, or leave the case out "
                  "(--skip)"
                : "";
  return {.verdict = gone ? Verdict::kLost : Verdict::kInconclusive,
          .doubt = set_up ? Doubt::kSetUp : Doubt::kNone,
          .message = error.text + advice};
}

Problem unexpected_disconnect(const RequestClient& client) {
  const endpoint::Disconnected& how = *client.disconnected();
  // In any case it is the broker: no client can continue with it.
  if (!how.section.empty()) {
    return {.message = "the broker does what MQTT 5 forbids a server, section " + how.section,
            .expected = "packets and acknowledgements as MQTT 5 has them",
            .actual = how.text,
            .attribution = {.direct = std::string(kBrokerRule)}};
  }
  const std::string what =
      how.reason_code ? fmt::format("DISCONNECT with reason code 0x{:02x}", *how.reason_code)
                      : "connection closed without a DISCONNECT packet";
  return {.verdict = Verdict::kLost,
          .message =
              Phrase("the connection of client ").name(client.name()).words(" ended unexpectedly"),
          .actual = how.text.empty() ? what : how.text};
}

namespace {

// The end of the connection says more than that the subscription failed.
Problem lost_while_subscribing(RequestClient& client, const endpoint::Error& error) {
  if (error.kind == endpoint::ErrorKind::kLost) client.drain();
  const auto& how = client.disconnected();
  return how && !how->section.empty() ? unexpected_disconnect(client) : lost(error);
}

// Does a step connect, disconnect or subscribe, or may client ids matter? They end with the names
// of the clients, and only a name of one letter says nothing.
bool is_about_connections(const scenario::Case& test_case) {
  const bool named = std::any_of(
      test_case.clients.begin(), test_case.clients.end(), [](const scenario::ClientSpec& spec) {
        return spec.name.size() != 1 || spec.name.front() < 'a' || spec.name.front() > 'z';
      });
  return named ||
         std::any_of(test_case.steps.begin(), test_case.steps.end(),
                     [](const scenario::Step& step) {
                       return std::holds_alternative<scenario::ConnectStep>(step.what) ||
                              std::holds_alternative<scenario::DisconnectStep>(step.what) ||
                              std::holds_alternative<scenario::SubscribeStep>(step.what) ||
                              std::holds_alternative<scenario::UnsubscribeStep>(step.what) ||
                              std::holds_alternative<scenario::DisturbStep>(step.what);
                     });
}

}  // namespace

CaseClients::CaseClients(const scenario::Case& test_case, endpoint::Session& session,
                         const RunSettings& settings, std::string tag, std::string key_prefix,
                         std::vector<TranscriptEntry>& transcript)
    : case_(test_case),
      session_(session),
      settings_(settings),
      id_prefix_("fp-" + settings.run_id + "-" + std::move(tag) + "-"),
      key_prefix_(std::move(key_prefix)),
      start_(session.clock().now()),
      about_connections_(is_about_connections(test_case)),
      transcript_(transcript) {}

const scenario::ClientSpec& CaseClients::spec_of(const std::string& name) const {
  const auto found =
      std::find_if(case_.clients.begin(), case_.clients.end(),
                   [&](const scenario::ClientSpec& spec) { return spec.name == name; });
  FENCEPOST_CHECK(found != case_.clients.end());  // the loader has checked the names
  return *found;
}

std::string CaseClients::client_id(const std::string& name) const { return id_prefix_ + name; }

std::string CaseClients::client_id(const scenario::ClientSpec& spec) const {
  if (!spec.same_id_as.empty()) return client_id(spec_of(spec.same_id_as));
  const auto fixed = settings_.client_ids.find(spec.role);
  return fixed == settings_.client_ids.end() ? client_id(spec.name) : fixed->second;
}

std::shared_ptr<Received> CaseClients::received_by(const std::string& id) {
  std::shared_ptr<Received>& received = received_[id];
  if (!received) received = std::make_shared<Received>();
  return received;
}

Result<RequestClient*, Problem> CaseClients::get(const std::string& name) {
  const auto found = clients_.find(name);
  if (found != clients_.end()) return found->second.get();
  if (auto problem = connect(name)) return fail(std::move(*problem));
  return clients_[name].get();
}

std::optional<endpoint::Will> CaseClients::will_of(const scenario::ClientSpec& spec) const {
  if (!spec.will) return std::nullopt;
  return endpoint::Will{judge::resolve(spec.will->topic, key_prefix_),
                        judge::resolve(spec.will->payload, key_prefix_)};
}

MaybeProblem CaseClients::unsubscribe(const std::string& name) {
  const auto client = get(name);
  if (!client) return client.error();
  const auto done =
      (*client)->raw().unsubscribe(codec::notification_filter((*client)->client_id()));
  if (!done) return lost(done.error());
  (*client)->note("unsubscribed from its notifications");
  return std::nullopt;
}

// May the client use a connection that others have used, and leave it to others?
bool CaseClients::may_share(const scenario::ClientSpec& spec) const {
  if (settings_.pool == nullptr || about_connections_ || !spec.subscribes || spec.drops ||
      !spec.clean_start || spec.will || !spec.same_id_as.empty() ||
      spec.session_expiry_seconds > 0 || spec.receive_maximum > 0 || spec.max_packet_size > 0 ||
      spec.extras != endpoint::MqttExtras{} || settings_.client_ids.contains(spec.role)) {
    return false;
  }
  return std::none_of(
      case_.clients.begin(), case_.clients.end(),
      [&](const scenario::ClientSpec& other) { return other.same_id_as == spec.name; });
}

std::unique_ptr<RequestClient> CaseClients::reused(const scenario::ClientSpec& spec) {
  auto spare = settings_.pool->take({spec.role, spec.observes});
  if (!spare) return nullptr;
  std::shared_ptr<Received> received = received_by(spare->client_id);
  auto client = std::make_unique<RequestClient>(
      spec.name, *std::move(spare), session_.clock(),
      Recording{transcript_, start_, settings_.transcripts}, received);
  client->note("continues as " + client->client_id());
  return client;
}

Result<std::unique_ptr<RequestClient>, Problem> CaseClients::fresh(const scenario::ClientSpec& spec,
                                                                   const std::string& id) {
  auto connection = session_.connect({.client_id = id,
                                      .role = spec.role,
                                      .clean_start = spec.clean_start,
                                      .session_expiry_seconds = spec.session_expiry_seconds,
                                      .receive_maximum = spec.receive_maximum,
                                      .max_packet_size = spec.max_packet_size,
                                      .will = will_of(spec),
                                      .extras = spec.extras,
                                      .droppable = spec.drops});
  if (!connection) return fail(lost(connection.error()));
  auto client = std::make_unique<RequestClient>(
      spec.name, std::move(*connection), id, session_.clock(),
      Recording{transcript_, start_, settings_.transcripts}, received_by(id));
  client->note("connected as " + id);
  if (!spec.subscribes) return client;
  // What this case has subscribed to is in force, and a client relies on it. Req: ENV-MQTT5-3
  const bool subscribed = !subscribed_.insert(id).second;
  if (subscribed && client->raw().has_resumed()) {
    client->note("the broker continues its session");
    return client;
  }
  for (const std::string& filter : {client->response_topic(), codec::notification_filter(id)}) {
    const auto done = client->raw().subscribe(filter);
    if (!done) return fail(lost_while_subscribing(*client, done.error()));
    if (!spec.observes) break;
  }
  return client;
}

MaybeProblem CaseClients::connect(const std::string& name) {
  const scenario::ClientSpec& spec = spec_of(name);
  if (auto problem = let_go(name)) return problem;
  if (may_share(spec)) {
    if (auto client = reused(spec)) {
      clients_[name] = std::move(client);
      return std::nullopt;
    }
  }
  const std::string id = may_share(spec) ? settings_.pool->next_id() : client_id(spec);
  for (const auto& [other, client] : clients_) {
    if (client->client_id() == id) client->expect_end();  // its session is taken over
  }
  auto client = fresh(spec, id);
  if (!client) return client.error();
  clients_[name] = std::move(*client);
  return std::nullopt;
}

MaybeProblem CaseClients::disconnect(const std::string& name, bool drop) {
  const auto client = get(name);
  if (!client) return client.error();
  if (auto problem = check_leftovers(**client)) return problem;
  if (auto problem = check_unsolicited()) return problem;
  (*client)->note(drop ? "drops the connection" : "disconnects");
  if (drop) {
    (*client)->raw().drop();
  } else {
    (*client)->raw().disconnect();
  }
  settle(**client);
  note_round_trips(**client);
  clients_.erase(name);
  return std::nullopt;
}

// Req: LIFE-DISCONNECT-1. The store learns from its broker that a connection has ended, and may
// take a moment: a longer one where it is so busy that requests take long. Where it has registered
// nothing, that may take longer and matters to no step.
void CaseClients::settle(const RequestClient& ended) {
  constexpr Duration kLongest = std::chrono::seconds{2};
  const auto& exchanges = ended.exchanges();
  Duration busy{0};
  for (const judge::Exchange& each : exchanges) {
    if (each.reply) busy = std::max(busy, 2 * (each.reply->time - each.sent));
  }
  const bool observes = std::any_of(exchanges.begin(), exchanges.end(), [](const auto& each) {
    return !each.verb || each.verb == codec::Verb::kKeynotify;
  });
  const SlotYield waiting(settings_.slots);
  session_.clock().wait_until(
      session_.clock().now() +
      (observes ? std::max<Duration>(settings_.disconnect_settling, std::min(busy, kLongest))
                : std::min<Duration>(settings_.disconnect_settling, kDisconnectSettling)));
}

MaybeProblem CaseClients::disturb(const endpoint::DisturbanceKind& kind, Duration timeout) {
  if (auto problem = check_leftovers()) return problem;
  for (const auto& [name, client] : clients_) {
    client->note(fmt::format("the {} is {}", kind.object, kind.done));
    if (kind.ends_connections) client->expect_end();
  }
  const auto done = session_.disturb({kind, client_id(std::string(kind.name))});
  if (!done) return lost(done.error());
  if (!kind.ends_connections) return std::nullopt;
  for (const auto& [name, client] : clients_) {
    const auto ended = [&, of = client.get()] { return of->disconnected().has_value(); };
    if (client->pump_until(ended, timeout)) continue;
    return Problem{.verdict = Verdict::kInconclusive,
                   .message = Phrase(fmt::format("the {} was {}, and the connection of client ",
                                                 kind.object, kind.done))
                                  .name(name)
                                  .words(" did not end")};
  }
  if (auto problem = check_leftovers()) return problem;
  for (const auto& [name, client] : clients_) note_round_trips(*client);
  clients_.clear();
  return std::nullopt;
}

// Ends the connection that a client of this name has, if any.
MaybeProblem CaseClients::let_go(const std::string& name) {
  const auto found = clients_.find(name);
  if (found == clients_.end()) return std::nullopt;
  if (auto problem = check_leftovers(*found->second)) return problem;
  if (auto problem = check_unsolicited()) return problem;
  if (found->second->disconnected()) settle(*found->second);
  note_round_trips(*found->second);
  clients_.erase(found);
  return std::nullopt;
}

// Is it the response to a request that another client has open? Req: ENV-RESPONSE-TOPIC-1
bool CaseClients::is_for_another(RequestClient& client) const {
  const auto& message = client.unsolicited().front().message;
  if (!message || !message->correlation_data) return false;
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& other) {
    if (other.second.get() == &client) return false;
    const auto& exchanges = other.second->exchanges();
    return std::any_of(exchanges.begin(), exchanges.end(), [&](const judge::Exchange& each) {
      return !each.reply && each.request.correlation_data == message->correlation_data;
    });
  });
}

MaybeProblem CaseClients::check_misdirected(const judge::Exchange& exchange) {
  for (const auto& [name, client] : clients_) {
    if (!client->disconnected()) client->drain();
    if (client->unsolicited().empty()) continue;
    const auto& message = client->unsolicited().front().message;
    if (message && message->correlation_data == exchange.request.correlation_data) {
      return check_unsolicited();
    }
  }
  return std::nullopt;
}

MaybeProblem CaseClients::check_unsolicited() {
  for (const auto& [name, client] : clients_) {
    if (client->unsolicited().empty()) continue;
    Problem problem{
        .message = Phrase("client ").name(name).words(" received a message that nobody asked for"),
        .expected = "responses to open requests, and notifications of observed keys",
        .actual = client->unsolicited().front().text,
        .attribution = {.direct = client->unsolicited().front().rule},
        .kind = judge::Mismatch::kUnsolicited};
    if (is_for_another(*client)) problem.attribution.direct = judge::kResponseOfAnother;
    client->unsolicited().clear();
    return problem;
  }
  return std::nullopt;
}

MaybeProblem CaseClients::check_leftovers() {
  for (const auto& [name, client] : clients_) {
    if (auto problem = check_leftovers(*client)) return problem;
  }
  return check_unsolicited();
}

MaybeProblem CaseClients::check_leftovers(RequestClient& client) {
  if (!client.disconnected()) {
    client.raw().await_acknowledgements(scaled(kStandstill, settings_.timeout_scale));
    client.drain();
  }
  if (leave_out_) leave_out_(client);
  if (!client.notifications().empty()) {
    const Notified& notified = client.notifications().front();
    const std::string rule = rule_of_unexpected(client, notified);
    return Problem{.message = Phrase("client ")
                                  .name(client.name())
                                  .words(" received a notification that the case does not expect"),
                   .expected = "no further notification",
                   .actual = shown_notification(notified.message.payload, notified.key),
                   .attribution = {.requirement = is_told_again(rule) ? rule : "", .direct = rule}};
  }
  if (client.ended_unexpectedly()) return unexpected_disconnect(client);
  return std::nullopt;
}

bool CaseClients::any_exchange(const auto& holds) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& each) {
    const auto& exchanges = each.second->exchanges();
    return std::any_of(exchanges.begin(), exchanges.end(), holds);
  });
}

std::optional<codec::Operation> CaseClients::told_again(const Notified& notified) const {
  const auto decoded = codec::decode_notification(notified.message.payload);
  if (!notified.told_before || !decoded) return std::nullopt;
  // What it would be of, if it were that of another request.
  const bool deleted = decoded->operation == codec::Operation::kDelete;
  const bool used = any_exchange([&](const judge::Exchange& one) {
    const bool same = one.command && one.command->key == notified.key &&
                      one.command->verb != codec::Verb::kKeynotify &&
                      codec::removes(one.command->verb) == deleted;
    return same && one.sent > *notified.told_before && one.sent <= notified.time;
  });
  return used ? std::nullopt : std::optional(decoded->operation);
}

bool is_told_again(std::string_view rule) { return rule == "NTF-SEND-1" || rule == "NTF-SEND-2"; }

std::string CaseClients::rule_of_unexpected(const RequestClient& client,
                                            const Notified& notified) const {
  const bool named = any_exchange(
      [&](const judge::Exchange& one) { return one.command && one.command->key == notified.key; });
  return std::string(
      judge::rule_of_unasked({.key = notified.key,
                              .of_client = client.exchanges(),
                              .named = named,
                              .observed = former_.contains({client.client_id(), notified.key}),
                              .again = told_again(notified)}));
}

void CaseClients::note_round_trips(const RequestClient& client) {
  for (const judge::Exchange& exchange : client.exchanges()) {
    if (exchange.verb == codec::Verb::kKeynotify) {
      const auto& command = exchange.command;
      if (command) former_.emplace(client.client_id(), command->key);
    }
    if (exchange.reply) round_trips_.push_back(exchange.reply->time - exchange.sent);
  }
}

std::vector<Duration> CaseClients::close(bool passed) {
  for (const auto& [name, client] : clients_) {
    note_round_trips(*client);
    const scenario::ClientSpec& spec = spec_of(name);
    if (!passed || !may_share(spec) || !client->is_clean()) continue;
    settings_.pool->give({spec.role, spec.observes}, client->release());
  }
  clients_.clear();
  return std::move(round_trips_);
}

}  // namespace fencepost::run
