#include "conformance/selftest/conversations.h"

#include <utility>
#include <variant>

namespace fencepost::selftest {
namespace {

using endpoint::Client;
using endpoint::ClientOptions;
using endpoint::Clock;
using endpoint::Duration;
using endpoint::Endpoint;
using endpoint::Error;
using endpoint::Event;
using endpoint::Session;
using Conversation = Conversations::Conversation;

bool same(const std::optional<Error>& left, const std::optional<Error>& right) {
  if (left.has_value() != right.has_value()) return false;
  return !left || (left->kind == right->kind && left->text == right->text &&
                   left->reason_code == right->reason_code);
}

bool same(const std::optional<Event>& left, const std::optional<Event>& right) {
  if (left.has_value() != right.has_value()) return false;
  if (!left) return true;
  if (left->time != right->time || left->what.index() != right->what.index()) return false;
  if (const auto* received = std::get_if<endpoint::MessageReceived>(&left->what)) {
    return received->message == std::get<endpoint::MessageReceived>(right->what).message;
  }
  if (const auto* refused = std::get_if<endpoint::PublishRefused>(&left->what)) {
    const auto& other = std::get<endpoint::PublishRefused>(right->what);
    return refused->reason_code == other.reason_code &&
           refused->correlation_data == other.correlation_data;
  }
  const auto& ended = std::get<endpoint::Disconnected>(left->what);
  const auto& other = std::get<endpoint::Disconnected>(right->what);
  return ended.reason_code == other.reason_code && ended.text == other.text;
}

std::optional<Error> error_of(const Result<void, Error>& result) {
  if (result) return std::nullopt;
  return result.error();
}

// Keeps the calls of one session.
struct Ear {
  Conversation& conversation;
  Clock& clock;

  void keep(Call call) const {
    call.clock = clock.now();
    conversation.calls.push_back(std::move(call));
  }
};

class ListeningClock final : public Clock {
 public:
  explicit ListeningClock(Ear ear) : ear_(ear) {}
  [[nodiscard]] std::uint64_t wall_ms() const override { return ear_.clock.wall_ms(); }
  [[nodiscard]] Duration now() const override { return ear_.clock.now(); }
  void wait_until(Duration time) override {
    ear_.clock.wait_until(time);
    ear_.keep({.what = Call::What::kWait, .time = time});
  }

 private:
  Ear ear_;
};

class ListeningClient final : public Client {
 public:
  ListeningClient(std::unique_ptr<Client> client, Ear ear, std::size_t number)
      : client_(std::move(client)), ear_(ear), number_(number) {}
  ~ListeningClient() override {
    client_.reset();
    ear_.keep({.what = Call::What::kDestroy, .client = number_});
  }
  ListeningClient(const ListeningClient&) = delete;
  ListeningClient& operator=(const ListeningClient&) = delete;

  Result<void, Error> subscribe(const std::string& filter) override {
    auto done = client_->subscribe(filter);
    ear_.keep({.what = Call::What::kSubscribe,
               .client = number_,
               .filter = filter,
               .error = error_of(done)});
    return done;
  }
  Result<void, Error> unsubscribe(const std::string& filter) override {
    auto done = client_->unsubscribe(filter);
    ear_.keep({.what = Call::What::kUnsubscribe,
               .client = number_,
               .filter = filter,
               .error = error_of(done)});
    return done;
  }
  Result<void, Error> publish(const codec::Message& message) override {
    auto done = client_->publish(message);
    ear_.keep({.what = Call::What::kPublish,
               .client = number_,
               .message = message,
               .error = error_of(done)});
    return done;
  }
  std::optional<Event> receive(Duration timeout) override {
    auto event = client_->receive(timeout);
    ear_.keep({.what = Call::What::kReceive, .client = number_, .time = timeout, .event = event});
    return event;
  }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override {
    return client_->packet_limit();
  }
  void disconnect() override {
    client_->disconnect();
    ear_.keep({.what = Call::What::kDisconnect, .client = number_});
  }
  void drop() override {
    client_->drop();
    ear_.keep({.what = Call::What::kDrop, .client = number_});
  }

 private:
  std::unique_ptr<Client> client_;
  Ear ear_;
  std::size_t number_;
};

class ListeningSession final : public Session {
 public:
  ListeningSession(std::unique_ptr<Session> session, Conversation& conversation)
      : session_(std::move(session)), ear_{conversation, session_->clock()}, clock_(ear_) {}

  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    auto client = session_->connect(options);
    ClientOptions kept = options;
    kept.on_event = {};  // whom it calls is gone later
    ear_.keep({.what = Call::What::kConnect,
               .options = std::move(kept),
               .error = client ? std::nullopt : std::optional(client.error())});
    if (!client) return client;
    return std::make_unique<ListeningClient>(std::move(*client), ear_, clients_++);
  }
  Duration measured(Duration time) override { return session_->measured(time); }
  Result<void, Error> restart_broker(const std::string& client_id) override {
    ear_.conversation.repeatable = false;
    return session_->restart_broker(client_id);
  }

 private:
  std::unique_ptr<Session> session_;
  Ear ear_;
  ListeningClock clock_;
  std::size_t clients_ = 0;
};

// Asks a session what was asked in a conversation.
class Repetition {
 public:
  explicit Repetition(Session& session) : session_(session) {}

  // Is the answer the same?
  bool ask(const Call& call) {
    std::optional<Error> error;
    std::optional<Event> event;
    switch (call.what) {
      case Call::What::kConnect: {
        auto client = session_.connect(call.options);
        if (client) {
          clients_.push_back(std::move(*client));
        } else {
          error = client.error();
        }
        break;
      }
      case Call::What::kSubscribe:
        error = error_of(clients_[call.client]->subscribe(call.filter));
        break;
      case Call::What::kUnsubscribe:
        error = error_of(clients_[call.client]->unsubscribe(call.filter));
        break;
      case Call::What::kPublish:
        error = error_of(clients_[call.client]->publish(call.message));
        break;
      case Call::What::kReceive:
        event = clients_[call.client]->receive(call.time);
        break;
      case Call::What::kDisconnect:
        clients_[call.client]->disconnect();
        break;
      case Call::What::kDrop:
        clients_[call.client]->drop();
        break;
      case Call::What::kDestroy:
        clients_[call.client].reset();
        break;
      case Call::What::kWait:
        session_.clock().wait_until(call.time);
        break;
    }
    return same(error, call.error) && same(event, call.event) &&
           session_.clock().now() == call.clock;
  }

 private:
  Session& session_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace

class ListeningEndpoint final : public Endpoint {
 public:
  ListeningEndpoint(Endpoint& endpoint, Conversations& heard)
      : endpoint_(endpoint), heard_(heard.by_caller_) {}

  [[nodiscard]] const std::string& url() const override { return endpoint_.url(); }
  [[nodiscard]] const endpoint::Capabilities& capabilities() const override {
    return endpoint_.capabilities();
  }
  Result<std::unique_ptr<Session>, Error> open_session() override {
    return endpoint_.open_session();
  }
  Result<std::unique_ptr<Session>, Error> open_isolated_session() override {
    return endpoint_.open_isolated_session();
  }
  Result<void, Error> check_reachable(Duration timeout) override {
    return endpoint_.check_reachable(timeout);
  }
  Result<std::unique_ptr<Session>, Error> open_session_for(const std::string& caller,
                                                           bool isolated) override {
    auto session = endpoint_.open_session_for(caller, isolated);
    const auto [at, is_new] = heard_.try_emplace(caller, Conversation{.isolated = isolated});
    Conversation& conversation = at->second;
    // Two at a time may depend on each other.
    if (!is_new || !session) conversation.repeatable = false;
    if (!session) return session;
    return std::make_unique<ListeningSession>(std::move(*session), conversation);
  }

 private:
  Endpoint& endpoint_;
  std::map<std::string, Conversation>& heard_;
};

std::unique_ptr<Endpoint> Conversations::listen_to(Endpoint& endpoint) {
  return std::make_unique<ListeningEndpoint>(endpoint, *this);
}

bool Conversations::are_the_same(const std::string& caller, Endpoint& other) const {
  const auto found = by_caller_.find(caller);
  if (found == by_caller_.end() || !found->second.repeatable) return false;
  auto session = other.open_session_for(caller, found->second.isolated);
  if (!session) return false;
  Repetition repetition(**session);
  for (const Call& call : found->second.calls) {
    if (!repetition.ask(call)) return false;
  }
  return true;
}

}  // namespace fencepost::selftest
