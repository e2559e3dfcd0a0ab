#include "selftest/conversations.h"

#include <algorithm>
#include <utility>

namespace fencepost::selftest {
namespace {

using endpoint::Endpoint;
using endpoint::Error;
using endpoint::InProcessEndpoint;
using endpoint::Session;
using store::Delivery;
using store::Handler;
using Conversation = Conversations::Conversation;

bool same(const std::vector<Delivery>& left, const std::vector<Delivery>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Delivery& one, const Delivery& other) {
                      return one.client_id == other.client_id && one.message == other.message;
                    });
}

// Keeps the requests to the store of one session.
class ListeningHandler final : public Handler {
 public:
  ListeningHandler(std::unique_ptr<Handler> store, Conversation& conversation)
      : store_(std::move(store)), calls_(conversation.calls) {}

  [[nodiscard]] bool serves(std::string_view topic) const override {
    if (store_->serves(topic)) return true;  // and is handed over
    calls_.push_back({.what = Call::What::kIsNotServed});
    calls_.back().request.topic = topic;
    return false;
  }

  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<Delivery>& out) override {
    Call& call = calls_.emplace_back(Call{.what = Call::What::kHandle,
                                          .client_id = std::string(caller.client_id),
                                          .user_name = std::string(caller.user_name),
                                          .request = request,
                                          .now = now});
    call.handling = store_->handle(caller, request, now, call.sent);
    out.insert(out.end(), call.sent.begin(), call.sent.end());
    knows_expiry_ = false;
    return call.handling;
  }

  void expire(const store::Instant& now, std::vector<Delivery>& out) override {
    Call& call = calls_.emplace_back(Call{.what = Call::What::kExpire, .now = now});
    store_->expire(now, call.sent);
    out.insert(out.end(), call.sent.begin(), call.sent.end());
    knows_expiry_ = false;
  }

  // Repeated while time passes: what has not changed since is kept once.
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    const auto next = store_->next_expiry();
    if (!std::exchange(knows_expiry_, true)) {
      calls_.push_back({.what = Call::What::kNextExpiry, .next_expiry = next});
    }
    return next;
  }

  void disconnect(std::string_view client_id) override {
    calls_.push_back({.what = Call::What::kDisconnect, .client_id = std::string(client_id)});
    store_->disconnect(client_id);
    knows_expiry_ = false;
  }

  [[nodiscard]] store::Service* service_within() override { return store_->service_within(); }

 private:
  std::unique_ptr<Handler> store_;
  std::vector<Call>& calls_;
  mutable bool knows_expiry_ = false;
};

// Is the answer the same? `sent` is there to reuse its memory.
bool answers_the_same(Handler& store, const Call& call, std::vector<Delivery>& sent) {
  sent.clear();
  switch (call.what) {
    case Call::What::kIsNotServed:
      return !store.serves(call.request.topic);
    case Call::What::kHandle:
      return store.serves(call.request.topic) &&
             store.handle({.client_id = call.client_id, .user_name = call.user_name}, call.request,
                          call.now, sent) == call.handling &&
             same(sent, call.sent);
    case Call::What::kExpire:
      store.expire(call.now, sent);
      return same(sent, call.sent);
    case Call::What::kNextExpiry:
      return store.next_expiry() == call.next_expiry;
    case Call::What::kDisconnect:
      store.disconnect(call.client_id);
      return true;
  }
  return false;
}

}  // namespace

class ListeningEndpoint final : public Endpoint {
 public:
  ListeningEndpoint(const InProcessEndpoint& endpoint, Conversations& received)
      : endpoint_(endpoint), received_(received.by_caller_) {}

  [[nodiscard]] const std::string& url() const override { return endpoint_.url(); }
  [[nodiscard]] const endpoint::Capabilities& capabilities() const override {
    return endpoint_.capabilities();
  }
  Result<void, Error> check_reachable(endpoint::Duration /*timeout*/,
                                      const std::string& /*caller*/) override {
    return {};
  }
  Result<std::unique_ptr<Session>, Error> open_session(
      const endpoint::SessionRequest& request) override {
    const auto& [caller, isolated] = request;
    if (caller.empty()) return endpoint_.open_session_with(endpoint_.make_store(isolated));
    const auto [at, is_new] = received_.try_emplace(caller, Conversation{.isolated = isolated});
    Conversation& conversation = at->second;
    // Two at a time may depend on each other.
    if (!is_new) conversation.repeatable = false;
    return endpoint_.open_session_with(
        std::make_unique<ListeningHandler>(endpoint_.make_store(isolated), conversation));
  }

 private:
  const InProcessEndpoint& endpoint_;
  std::map<std::string, Conversation, std::less<>>& received_;
};

std::unique_ptr<Endpoint> Conversations::listen_to(const InProcessEndpoint& endpoint) {
  conditions_ = endpoint.conditions();
  return std::make_unique<ListeningEndpoint>(endpoint, *this);
}

bool Conversations::are_the_same(const std::string& caller, const InProcessEndpoint& other) const {
  const auto found = by_caller_.find(caller);
  if (found == by_caller_.end() || !found->second.repeatable) return false;
  if (conditions_ != other.conditions()) return false;
  const std::unique_ptr<Handler> store = other.make_store(found->second.isolated);
  std::vector<Delivery> sent;
  return std::all_of(found->second.calls.begin(), found->second.calls.end(),
                     [&](const Call& call) { return answers_the_same(*store, call, sent); });
}

}  // namespace fencepost::selftest
