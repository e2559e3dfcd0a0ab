#include "endpoint/in_process.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "codec/topics.h"
#include "reference_store/delay_queue.h"

namespace fencepost::endpoint {
namespace {

constexpr std::uint64_t kEpochMs = 1'767'225'600'000;  // every session begins on 2026-01-01
constexpr Duration kTimeOfOneRequest{20};  // so that time flows a little, as it does on a network
constexpr int kProtocolError = 0x82;
constexpr int kSessionTakenOver = 0x8e;

// What the little broker remembers of a client id, connected or not.
struct SessionState {
  std::vector<std::string> filters;
  bool persistent = false;
};

class InProcessClient;

class InProcessSession final : public Session, public Clock {
 public:
  InProcessSession(std::unique_ptr<store::Handler> store, const Conditions& conditions)
      : store_(std::move(store)),
        clock_offset_(conditions.clock_offset),
        delayed_({.delay = conditions.response_delay, .jitter = conditions.response_jitter}) {}

  Clock& clock() override { return *this; }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override;

  [[nodiscard]] std::uint64_t wall_ms() const override {
    return kEpochMs + static_cast<std::uint64_t>(now_.count() / 1000);
  }
  [[nodiscard]] Duration now() const override { return now_; }
  void wait_until(Duration time) override {
    while (step(time)) {
    }
    now_ = std::max(now_, time);
  }

  // Moves the clock to the next thing that the store does by itself if that is due by `limit`: an
  // expiry, or the delivery of what was held back.
  bool step(Duration limit) {
    const auto expiry = store_->next_expiry();
    const auto due = delayed_.next_due();
    const Duration next = std::min(expiry.value_or(Duration::max()), due.value_or(Duration::max()));
    if ((!expiry && !due) || next > limit) return false;
    now_ = std::max(now_, next);
    std::vector<store::Delivery> out;
    store_->expire(instant(), out);
    send({}, std::move(out));
    return true;
  }

  void subscribe(const std::string& client_id, const std::string& filter) {
    std::vector<std::string>& filters = states_[client_id].filters;
    if (std::find(filters.begin(), filters.end(), filter) == filters.end()) {
      filters.push_back(filter);
    }
  }
  void unsubscribe(const std::string& client_id, const std::string& filter) {
    std::erase(states_[client_id].filters, filter);
  }
  void publish(InProcessClient& from, const codec::Message& message);
  // Ends a connection; the client is informed when it was the broker's doing.
  void close(InProcessClient& client, std::optional<int> broker_reason);

 private:
  [[nodiscard]] store::Instant instant() const {
    return {.wall_ms = wall_ms() + static_cast<std::uint64_t>(clock_offset_.count()),
            .steady = now_};
  }
  // Delivers what the store has to say in answer to `caller` and what is due by now.
  void send(std::string_view caller, std::vector<store::Delivery> deliveries);
  void deliver(const std::vector<store::Delivery>& deliveries);
  void route(const codec::Message& message);

  std::unique_ptr<store::Handler> store_;
  std::chrono::milliseconds clock_offset_;
  store::DelayQueue delayed_;
  Duration now_{0};
  std::map<std::string, SessionState> states_;
  std::map<std::string, InProcessClient*> connected_;
};

class InProcessClient final : public Client {
 public:
  InProcessClient(InProcessSession& session, const ClientOptions& options)
      : session_(session), client_id_(options.client_id), user_name_(options.role) {}
  ~InProcessClient() override { disconnect(); }
  InProcessClient(const InProcessClient&) = delete;
  InProcessClient& operator=(const InProcessClient&) = delete;

  Result<void, Error> subscribe(const std::string& filter) override {
    if (!connected_) return fail(lost());
    session_.subscribe(client_id_, filter);
    return {};
  }

  Result<void, Error> unsubscribe(const std::string& filter) override {
    if (!connected_) return fail(lost());
    session_.unsubscribe(client_id_, filter);
    return {};
  }

  Result<void, Error> publish(const codec::Message& message) override {
    if (!connected_) return fail(lost());
    session_.publish(*this, message);
    return {};
  }

  std::optional<Event> receive(Duration timeout) override {
    const Duration deadline = session_.now() + timeout;
    while (inbox_.empty() && session_.step(deadline)) {
    }
    if (inbox_.empty()) {
      session_.wait_until(deadline);
      return std::nullopt;
    }
    Event event = std::move(inbox_.front());
    inbox_.pop_front();
    return event;
  }

  void disconnect() override {
    if (connected_) session_.close(*this, std::nullopt);
  }
  void drop() override { disconnect(); }

  [[nodiscard]] const std::string& client_id() const { return client_id_; }
  [[nodiscard]] const std::string& user_name() const { return user_name_; }
  void push(decltype(Event::what) what) { inbox_.push_back({std::move(what), session_.now()}); }
  void mark_closed() { connected_ = false; }

 private:
  [[nodiscard]] static Error lost() { return {ErrorKind::kLost, "the client is not connected"}; }

  InProcessSession& session_;
  std::string client_id_;
  std::string user_name_;
  bool connected_ = true;
  std::deque<Event> inbox_;
};

Result<std::unique_ptr<Client>, Error> InProcessSession::connect(const ClientOptions& options) {
  // MQTT 5, 3.1.4: a second connection with the same client id ends the first (0x8e).
  const auto old = connected_.find(options.client_id);
  if (old != connected_.end()) close(*old->second, kSessionTakenOver);
  SessionState& state = states_[options.client_id];
  if (options.clean_start) state.filters.clear();  // MQTT 5, 3.1.2.4
  state.persistent = options.session_expiry_seconds > 0;
  auto client = std::make_unique<InProcessClient>(*this, options);
  connected_[options.client_id] = client.get();
  return client;
}

void InProcessSession::publish(InProcessClient& from, const codec::Message& message) {
  now_ += kTimeOfOneRequest;
  if (!store_->serves(message.topic)) {
    route(message);
    return;
  }
  std::vector<store::Delivery> out;
  const store::Caller caller{.client_id = from.client_id(), .user_name = from.user_name()};
  const store::Handling handling = store_->handle(caller, message, instant(), out);
  send(from.client_id(), std::move(out));
  if (handling == store::Handling::kDisconnect) close(from, kProtocolError);
}

void InProcessSession::close(InProcessClient& client, std::optional<int> broker_reason) {
  if (broker_reason) client.push(Disconnected{broker_reason});
  client.mark_closed();
  // Registrations end with the connection, also when the subscriptions of a persistent session
  // stay. Req: LIFE-DISCONNECT-1, LIFE-DISCONNECT-2
  store_->disconnect(client.client_id());
  delayed_.disconnect(client.client_id());
  if (!states_[client.client_id()].persistent) states_.erase(client.client_id());
  connected_.erase(client.client_id());
}

void InProcessSession::send(std::string_view caller, std::vector<store::Delivery> deliveries) {
  if (delayed_.delays()) {
    for (store::Delivery& delivery : deliveries) {
      // What is too much is lost, as in a broker.
      static_cast<void>(delayed_.add(caller, std::move(delivery), now_));
    }
    deliveries.clear();
    delayed_.take_due(now_, deliveries);
  }
  deliver(deliveries);
}

void InProcessSession::deliver(const std::vector<store::Delivery>& deliveries) {
  for (const store::Delivery& delivery : deliveries) {
    if (delivery.client_id.empty()) {
      route(delivery.message);  // a response goes to all subscribers of its topic
    } else if (const auto to = connected_.find(delivery.client_id); to != connected_.end()) {
      to->second->push(MessageReceived{delivery.message});
    }
  }
}

void InProcessSession::route(const codec::Message& message) {
  for (const auto& [client_id, client] : connected_) {
    const std::vector<std::string>& filters = states_[client_id].filters;
    const bool wanted = std::any_of(filters.begin(), filters.end(), [&](const std::string& filter) {
      return codec::filter_matches(filter, message.topic);
    });
    if (wanted) client->push(MessageReceived{message});
  }
}

class InProcess final : public InProcessEndpoint {
 public:
  explicit InProcess(InProcessOptions options) : options_(std::move(options)) {
    capabilities_.transport = false;
    capabilities_.roles = options_.roles;
    capabilities_.key_prefix = options_.key_prefix;
    if (options_.quota > 0) capabilities_.quota = options_.quota;
    capabilities_.has_isolated_broker = true;
    capabilities_.exact_clock = options_.conditions.clock_offset.count() == 0;
  }

  [[nodiscard]] const std::string& url() const override { return options_.url; }
  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<Session>, Error> open_session(const SessionRequest& request) override {
    return open_session_with(make_store(request.isolated));
  }
  Result<void, Error> check_reachable(Duration /*timeout*/,
                                      const std::string& /*caller*/) override {
    return {};
  }

  [[nodiscard]] std::unique_ptr<store::Handler> make_store(bool isolated) const override {
    store::ServiceOptions service = options_.service;
    if (isolated) service.store.quota = options_.quota;
    if (options_.make_store) return options_.make_store(service);
    return std::make_unique<store::Service>(service);
  }
  [[nodiscard]] std::unique_ptr<Session> open_session_with(
      std::unique_ptr<store::Handler> store) const override {
    return std::make_unique<InProcessSession>(std::move(store), options_.conditions);
  }
  [[nodiscard]] const Conditions& conditions() const override { return options_.conditions; }

 private:
  InProcessOptions options_;
  Capabilities capabilities_;
};

}  // namespace

bool Capabilities::has_role(std::string_view role) const {
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

std::unique_ptr<InProcessEndpoint> make_in_process_endpoint(InProcessOptions options) {
  return std::make_unique<InProcess>(std::move(options));
}

}  // namespace fencepost::endpoint
