#include "endpoint/rate_limit.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "endpoint/forwarding_client.h"

namespace fencepost::endpoint {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Gives turns at this interval. Thread safe.
class Turns {
 public:
  explicit Turns(double per_second)
      : interval_(std::chrono::duration_cast<SteadyClock::duration>(
            std::chrono::duration<double>(1.0 / per_second))) {}

  void wait_for_turn() {
    SteadyClock::time_point turn;
    {
      const std::lock_guard lock(mutex_);
      turn = std::max(next_, SteadyClock::now());
      next_ = turn + interval_;
    }
    std::this_thread::sleep_until(turn);
  }

 private:
  std::mutex mutex_;
  SteadyClock::duration interval_;
  SteadyClock::time_point next_{};
};

class LimitedClient final : public ForwardingClient {
 public:
  LimitedClient(std::unique_ptr<Client> client, Turns& turns)
      : ForwardingClient(std::move(client)), turns_(turns) {}

  Result<void, Error> publish(const codec::Message& message) override {
    turns_.wait_for_turn();
    return ForwardingClient::publish(message);
  }
  Result<void, Error> publish_raw(const codec::Message& message, const RawPacket& odd) override {
    turns_.wait_for_turn();
    return ForwardingClient::publish_raw(message, odd);
  }
  // What is kept back would be sent immediately, and not at the rate.
  void gather(bool /*on*/) override {}
  // publish() waits, which a thread of the client library must not.
  [[nodiscard]] bool serves_in_place() const override { return false; }

 private:
  Turns& turns_;
};

class LimitedSession final : public Session {
 public:
  LimitedSession(std::unique_ptr<Session> session, Turns& turns)
      : session_(std::move(session)), turns_(turns) {}

  Clock& clock() override { return session_->clock(); }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    auto client = session_->connect(options);
    if (!client) return fail(client.error());
    return std::make_unique<LimitedClient>(std::move(*client), turns_);
  }
  Result<void, Error> disturb(const Disturbance& disturbance) override {
    return session_->disturb(disturbance);
  }

 private:
  std::unique_ptr<Session> session_;
  Turns& turns_;
};

class LimitedEndpoint final : public Endpoint {
 public:
  LimitedEndpoint(Endpoint& endpoint, double per_second)
      : endpoint_(endpoint), turns_(per_second) {}

  [[nodiscard]] const std::string& url() const override { return endpoint_.url(); }
  [[nodiscard]] const Capabilities& capabilities() const override {
    return endpoint_.capabilities();
  }
  Result<std::unique_ptr<Session>, Error> open_session(const SessionRequest& request) override {
    auto session = endpoint_.open_session(request);
    if (!session) return session;
    return std::make_unique<LimitedSession>(std::move(*session), turns_);
  }
  [[nodiscard]] bool sessions_share_clients() const override {
    return endpoint_.sessions_share_clients();
  }
  Result<void, Error> check_reachable(Duration timeout, const std::string& caller) override {
    return endpoint_.check_reachable(timeout, caller);
  }

 private:
  Endpoint& endpoint_;
  Turns turns_;
};

}  // namespace

std::unique_ptr<Endpoint> limit_rate(Endpoint& endpoint, double per_second) {
  FENCEPOST_CHECK(per_second > 0);
  return std::make_unique<LimitedEndpoint>(endpoint, per_second);
}

}  // namespace fencepost::endpoint
