// Test only: an endpoint whose store is a function, on a clock that is stepped by hand. A test says
// what the store does with each message, so any faulty store can be played without one being built.
//
//   FakeEndpoint endpoint({.behaviour = on_reply(reference_store(), drop_version)});
//   auto session = endpoint.open_session();
//   const CaseResult result = run_case(test_case, **session, settings);
//   EXPECT_EQ(endpoint.published().size(), 2U);
//
// Subscriptions are recorded and not checked: what a behaviour sends to a client arrives. The
// second half makes cases and catalogues out of a few lines of YAML.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "codec/command.h"
#include "codec/message.h"
#include "codec/notification.h"
#include "codec/topics.h"
#include "endpoint/endpoint.h"
#include "reference_store/service.h"
#include "suite/run/case_runner.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario_loader.h"

namespace fencepost::test {

using codec::Message;
using endpoint::Duration;

inline constexpr std::uint64_t kEpochMs = 1'767'225'600'000;  // where the wall clock begins
inline constexpr Duration kTimeOfOneRequest{20};

// --- the endpoint ------------------------------------------------------------------------------

// A message that a client has published.
struct Published {
  std::string client_id;
  Message message;
  std::uint64_t wall_ms = 0;
  Duration now{0};
  std::optional<endpoint::RawPacket> odd{};  // how it was published, when not as usual
};

// What the store does about it.
struct Effect {
  decltype(endpoint::Event::what) what;
  Duration after{0};  // counted from the request
  std::string to{};   // a client id; empty: the client that has published
};
using Effects = std::vector<Effect>;
using Behaviour = std::function<Effects(const Published&)>;

struct Script {
  Behaviour behaviour{};  // none: a store that never says anything
  // Reasons to refuse; nothing when all is well.
  std::function<std::optional<endpoint::Error>()> on_reach{};
  std::function<std::optional<endpoint::Error>()> on_open{};
  std::function<std::optional<endpoint::Error>(const endpoint::ClientOptions&)> on_connect{};
  std::function<std::optional<endpoint::Error>(const std::string& filter)> on_subscribe{};
  // Was the broker disturbed? All connections end when it was, unless `survives`.
  std::function<std::optional<endpoint::Error>()> on_disturb{};
  bool survives = false;
  std::optional<std::uint32_t> packet_limit{};  // of every connection; nothing checks it
  endpoint::Capabilities capabilities{};
};

// Shared by an endpoint and what it opens. Thread safe: suites run cases in threads.
class Log {
 public:
  void add(Published published) { append(published_, std::move(published)); }
  void add(endpoint::ClientOptions options) { append(connected_, std::move(options)); }
  void add_filter(std::string filter) { append(filters_, std::move(filter)); }
  void remove_filter(const std::string& filter) {
    const std::lock_guard lock(mutex_);
    std::erase(filters_, filter);
  }
  [[nodiscard]] std::vector<Published> published() const { return copy(published_); }
  [[nodiscard]] std::vector<endpoint::ClientOptions> connected() const { return copy(connected_); }
  [[nodiscard]] std::vector<std::string> filters() const { return copy(filters_); }

 private:
  template <typename T>
  void append(std::vector<T>& list, T item) {
    const std::lock_guard lock(mutex_);
    list.push_back(std::move(item));
  }
  template <typename T>
  [[nodiscard]] std::vector<T> copy(const std::vector<T>& list) const {
    const std::lock_guard lock(mutex_);
    return list;
  }

  mutable std::mutex mutex_;
  std::vector<Published> published_;
  std::vector<endpoint::ClientOptions> connected_;
  std::vector<std::string> filters_;
};

class FakeClient;

class FakeSession final : public endpoint::Session, public endpoint::Clock {
 public:
  FakeSession(std::shared_ptr<const Script> script, std::shared_ptr<Log> log)
      : script_(std::move(script)), log_(std::move(log)) {}

  endpoint::Clock& clock() override { return *this; }
  Result<std::unique_ptr<endpoint::Client>, endpoint::Error> connect(
      const endpoint::ClientOptions& options) override;
  [[nodiscard]] std::uint64_t wall_ms() const override {
    return kEpochMs + static_cast<std::uint64_t>(now_.count() / 1000);
  }
  [[nodiscard]] Duration now() const override { return now_; }
  void wait_until(Duration time) override { now_ = std::max(now_, time); }
  Result<void, endpoint::Error> disturb(const endpoint::Disturbance& disturbance) override;

 private:
  friend class FakeClient;
  void publish(const std::string& client_id, const Message& message,
               const std::optional<endpoint::RawPacket>& odd);

  std::shared_ptr<const Script> script_;
  std::shared_ptr<Log> log_;
  Duration now_{0};
  std::map<std::string, FakeClient*> clients_;  // by client id, while they are connected
};

class FakeClient final : public endpoint::Client {
 public:
  FakeClient(FakeSession& session, std::string client_id)
      : session_(session), client_id_(std::move(client_id)) {}
  ~FakeClient() override { disconnect(); }
  FakeClient(const FakeClient&) = delete;
  FakeClient& operator=(const FakeClient&) = delete;

  Result<void, endpoint::Error> subscribe(const std::string& filter) override {
    session_.log_->add_filter(filter);
    if (!session_.script_->on_subscribe) return {};
    if (auto error = session_.script_->on_subscribe(filter)) return fail(*error);
    return {};
  }

  Result<void, endpoint::Error> unsubscribe(const std::string& filter) override {
    session_.log_->remove_filter(filter);
    return {};
  }

  Result<void, endpoint::Error> publish(const Message& message) override {
    return publish(message, std::nullopt);
  }
  Result<void, endpoint::Error> publish_raw(const Message& message,
                                            const endpoint::RawPacket& odd) override {
    return publish(message, std::optional(odd));
  }
  Result<void, endpoint::Error> publish(const Message& message,
                                        const std::optional<endpoint::RawPacket>& odd) {
    if (closed_at_ && *closed_at_ <= session_.now()) {
      return fail(endpoint::Error{endpoint::ErrorKind::kLost, "the client is not connected"});
    }
    session_.publish(client_id_, message, odd);
    return {};
  }

  std::optional<endpoint::Event> receive(Duration timeout) override {
    const Duration deadline = session_.now() + timeout;
    if (inbox_.empty() || inbox_.front().time > deadline) {
      session_.wait_until(deadline);
      return std::nullopt;
    }
    endpoint::Event event = std::move(inbox_.front());
    inbox_.erase(inbox_.begin());
    session_.wait_until(event.time);
    return event;
  }

  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override {
    return session_.script_->packet_limit;
  }

  void disconnect() override {
    const auto found = session_.clients_.find(client_id_);
    if (found != session_.clients_.end() && found->second == this) session_.clients_.erase(found);
    closed_at_ = session_.now();
  }
  void drop() override { disconnect(); }

  void push(decltype(endpoint::Event::what) what, Duration time) {
    if (closed_at_ && *closed_at_ <= time) return;
    if (std::holds_alternative<endpoint::Disconnected>(what)) closed_at_ = time;
    const auto place =
        std::upper_bound(inbox_.begin(), inbox_.end(), time,
                         [](Duration a, const endpoint::Event& event) { return a < event.time; });
    inbox_.insert(place, {std::move(what), time});
  }

 private:
  FakeSession& session_;
  std::string client_id_;
  std::optional<Duration> closed_at_;
  std::vector<endpoint::Event> inbox_;  // by time, then in the order in which it was sent
};

inline Result<std::unique_ptr<endpoint::Client>, endpoint::Error> FakeSession::connect(
    const endpoint::ClientOptions& options) {
  log_->add(options);
  if (script_->on_connect) {
    if (auto error = script_->on_connect(options)) return fail(*error);
  }
  if (const auto old = clients_.find(options.client_id); old != clients_.end()) {
    old->second->push(endpoint::Disconnected{0x8e}, now_);  // session taken over
  }
  auto client = std::make_unique<FakeClient>(*this, options.client_id);
  clients_[options.client_id] = client.get();
  return client;
}

inline void FakeSession::publish(const std::string& client_id, const Message& message,
                                 const std::optional<endpoint::RawPacket>& odd) {
  now_ += kTimeOfOneRequest;
  const Published published{client_id, message, wall_ms(), now_, odd};
  log_->add(published);
  if (!script_->behaviour) return;
  for (Effect& effect : script_->behaviour(published)) {
    const auto to = clients_.find(effect.to.empty() ? client_id : effect.to);
    if (to != clients_.end()) to->second->push(std::move(effect.what), now_ + effect.after);
  }
}

inline Result<void, endpoint::Error> FakeSession::disturb(
    const endpoint::Disturbance& disturbance) {
  if (!script_->on_disturb) return Session::disturb(disturbance);
  if (auto error = script_->on_disturb()) return fail(*error);
  if (script_->survives) return {};
  for (const auto& [id, client] : clients_) client->push(endpoint::Disconnected{}, now_);
  return {};
}

class FakeEndpoint final : public endpoint::Endpoint {
 public:
  explicit FakeEndpoint(Script script)
      : script_(std::make_shared<const Script>(std::move(script))) {}

  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] const endpoint::Capabilities& capabilities() const override {
    return script_->capabilities;
  }
  Result<std::unique_ptr<endpoint::Session>, endpoint::Error> open_session(
      const endpoint::SessionRequest& /*request*/ = {}) override {
    if (script_->on_open) {
      if (auto error = script_->on_open()) return fail(*error);
    }
    return std::make_unique<FakeSession>(script_, log_);
  }
  Result<void, endpoint::Error> check_reachable(Duration /*timeout*/,
                                                const std::string& /*caller*/ = {}) override {
    if (script_->on_reach) {
      if (auto error = script_->on_reach()) return fail(*error);
    }
    return {};
  }

  // What has happened so far, over all sessions.
  [[nodiscard]] std::vector<Published> published() const { return log_->published(); }
  [[nodiscard]] std::vector<endpoint::ClientOptions> connected() const { return log_->connected(); }
  [[nodiscard]] std::vector<std::string> filters() const { return log_->filters(); }

 private:
  std::shared_ptr<const Script> script_;
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  std::string url_ = "fake:";
};

// --- stores ------------------------------------------------------------------------------------

inline bool is_notification(const Message& message) {
  return message.topic.starts_with(codec::kStorePrefix);
}

inline std::optional<codec::Verb> verb_of(const Published& request) {
  return codec::verb_of(request.message.payload);
}

// A response with the envelope of the request and this payload.
inline Effect reply(const Published& request, std::string payload) {
  Message message;
  message.topic = request.message.response_topic.value_or("");
  message.payload = std::move(payload);
  message.correlation_data = request.message.correlation_data;
  return {endpoint::MessageReceived{std::move(message)}};
}

inline Effect set_notification(const std::string& client_id, const std::string& key,
                               const std::string& value) {
  Message message;
  message.topic = codec::notification_topic(client_id, key).value_or("");
  codec::append_notification(message.payload, {codec::Operation::kSet, value},
                             codec::dialect(codec::DialectId::kDeployed));
  message.user_properties = {{std::string(codec::kTimestampProperty), "1:0:StateStore"}};
  return {endpoint::MessageReceived{std::move(message)}, Duration{0}, client_id};
}

// Answers every request with the same bytes.
inline Behaviour always(std::string payload) {
  return [payload = std::move(payload)](const Published& request) {
    return Effects{reply(request, payload)};
  };
}

// Sends each request back.
inline Behaviour echo() {
  return [](const Published& request) { return Effects{reply(request, request.message.payload)}; };
}

// The conforming store. `keys`, when given, is set to the number of keys after each request.
inline Behaviour reference_store(store::ServiceOptions options = {},
                                 std::shared_ptr<std::size_t> keys = nullptr) {
  struct State {
    explicit State(store::ServiceOptions given) : service(std::move(given)) {}
    std::mutex mutex;
    store::Service service;
  };
  auto state = std::make_shared<State>(std::move(options));
  return [state, keys = std::move(keys)](const Published& request) {
    const std::lock_guard lock(state->mutex);
    const store::Instant now{.wall_ms = request.wall_ms, .steady = request.now};
    std::vector<store::Delivery> deliveries;
    state->service.expire(now, deliveries);
    auto handling = store::Handling::kIgnored;
    if (request.message.topic == codec::kRequestTopic) {
      const store::Caller caller{.client_id = request.client_id, .user_name = {}};
      handling = state->service.handle(caller, request.message, now, deliveries);
    }
    if (keys) *keys = state->service.key_count();
    Effects out;
    for (store::Delivery& delivery : deliveries) {
      out.push_back({endpoint::MessageReceived{std::move(delivery.message)}, Duration{0},
                     std::move(delivery.client_id)});
    }
    if (handling == store::Handling::kDisconnect) out.push_back({endpoint::Disconnected{0x82}});
    return out;
  };
}

// A store that does what `right` does, after `change` has had its way with it.
inline Behaviour changed(Behaviour right, std::function<void(const Published&, Effects&)> change) {
  return [right = std::move(right), change = std::move(change)](const Published& request) {
    Effects effects = right(request);
    change(request, effects);
    return effects;
  };
}

using MessageChange = std::function<void(const Published&, Message&)>;

inline Behaviour on_messages(Behaviour right, bool notifications, MessageChange change) {
  return changed(std::move(right), [notifications, change = std::move(change)](
                                       const Published& request, Effects& effects) {
    for (Effect& effect : effects) {
      auto* received = std::get_if<endpoint::MessageReceived>(&effect.what);
      if (received == nullptr || is_notification(received->message) != notifications) continue;
      change(request, received->message);
    }
  });
}
inline Behaviour on_reply(Behaviour right, MessageChange change) {
  return on_messages(std::move(right), false, std::move(change));
}
inline Behaviour on_notification(Behaviour right, MessageChange change) {
  return on_messages(std::move(right), true, std::move(change));
}

// The conforming store with a clock that is so far ahead of ours.
inline Behaviour clocked(std::chrono::milliseconds offset) {
  return [right = reference_store(), offset](const Published& request) {
    Published there = request;
    there.wall_ms += static_cast<std::uint64_t>(offset.count());
    return right(there);
  };
}

// Replaces all that the store does about one verb, other than that the request takes effect.
inline Behaviour instead_of(codec::Verb verb, Behaviour right,
                            std::function<Effects(const Published&)> replacement) {
  return changed(std::move(right), [verb, replacement = std::move(replacement)](
                                       const Published& request, Effects& effects) {
    if (verb_of(request) == verb) effects = replacement(request);
  });
}

inline Behaviour silent_on(codec::Verb verb) {
  return instead_of(verb, reference_store(), [](const Published&) { return Effects{}; });
}
inline Behaviour answering(codec::Verb verb, std::string payload, Duration after = {}) {
  return instead_of(verb, reference_store(),
                    [payload = std::move(payload), after](const Published& request) {
                      Effects effects = {reply(request, payload)};
                      effects.front().after = after;
                      return effects;
                    });
}
inline Behaviour refusing(codec::Verb verb, int reason_code) {
  return instead_of(verb, reference_store(), [reason_code](const Published& request) {
    const std::string correlation = request.message.correlation_data.value_or("");
    return Effects{{endpoint::PublishRefused{reason_code, correlation}}};
  });
}
inline Behaviour kicking(codec::Verb verb, endpoint::Disconnected how) {
  return instead_of(verb, reference_store(), [how](const Published&) { return Effects{{how}}; });
}

// All that follows from a request of that verb comes late.
inline Behaviour delayed(codec::Verb verb, Duration delay) {
  return changed(reference_store(), [verb, delay](const Published& request, Effects& effects) {
    if (verb_of(request) != verb) return;
    for (Effect& effect : effects) effect.after = delay;
  });
}

inline Behaviour wrong_reply(codec::Verb verb, std::function<void(Message&)> change) {
  return on_reply(reference_store(),
                  [verb, change = std::move(change)](const Published& request, Message& message) {
                    if (verb_of(request) == verb) change(message);
                  });
}
inline Behaviour wrong_notification(std::function<void(Message&)> change) {
  return on_notification(
      reference_store(),
      [change = std::move(change)](const Published&, Message& message) { change(message); });
}

// Adds a notification that nobody is owed: that the key of a request of this verb, or one beside
// it, has got the value x. It goes to the client whose name in the case is `observer`.
struct Spurious {
  codec::Verb verb;
  std::string observer = "b";
  std::string key = "k";
  bool first = false;  // or after all else that the request causes
  Duration after{0};
};
inline Behaviour with_spurious(const Spurious& what) {
  return changed(reference_store(), [what](const Published& request, Effects& effects) {
    const auto command = codec::decode_command(request.message.payload);
    if (verb_of(request) != what.verb || !command) return;
    const std::string client = request.client_id.substr(0, request.client_id.rfind('-') + 1);
    const std::string key(command->arguments[1].substr(0, command->arguments[1].rfind('/') + 1));
    Effect extra = set_notification(client + what.observer, key + what.key, "x");
    extra.after = what.after;
    effects.insert(what.first ? effects.begin() : effects.end(), std::move(extra));
  });
}

inline void set_property(Message& message, std::string_view name, const std::string& value) {
  for (auto& [key, old] : message.user_properties) {
    if (key == name) old = value;
  }
}

inline void drop_property(Message& message, std::string_view name) {
  std::erase_if(message.user_properties, [&](const auto& entry) { return entry.first == name; });
}

// --- cases -------------------------------------------------------------------------------------

inline const std::string kCatalogueText = R"(requirements:
- {id: R-MUST-1, level: must, text: The first rule.,
   binds: store, section: S, documents: [ga, preview], source: article, observe: o}
- {id: R-MUST-2, level: must, text: The second rule.,
   binds: store, section: S, documents: [ga, preview], source: article, observe: o}
- {id: R-SHOULD-1, level: should, text: A recommendation.,
   binds: store, section: S, documents: [ga, preview], source: article, observe: o}
- {id: R-MAY-1, level: may, text: A permission.,
   binds: store, section: S, documents: [ga, preview], source: article, observe: o}
)";

inline scenario::Catalogue catalogue() {
  std::vector<scenario::LoadError> errors;
  scenario::Catalogue out =
      scenario::Catalogue::load({"requirements.yaml", kCatalogueText}, errors);
  FENCEPOST_CHECK(errors.empty());
  return out;
}

struct CaseText {
  std::string id = "t.case";
  std::string area = "t";
  std::string requirements = "R-MUST-1, R-MUST-2";
  std::string more{};  // other members of the case, one per line
  std::string steps;   // a list, one or more lines per step
};

// The line of the file t.yaml on which the first step stands when there are no other members.
inline constexpr int kFirstStepLine = 7;

inline std::string indent(const std::string& text) {
  std::string out;
  std::size_t at = text.starts_with('\n') ? 1 : 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

// A case as the loader makes it. A test whose YAML is wrong ends with the error.
inline scenario::Case case_of(const CaseText& text) {
  const std::string content = "area: " + text.area + "\ncases:\n- id: " + text.id +
                              "\n  title: A case\n  requirements: [" + text.requirements + "]\n" +
                              indent(text.more) + "  steps:\n" + indent(text.steps);
  std::vector<scenario::LoadError> errors;
  std::vector<scenario::Case> cases = load_scenario({"t.yaml", content}, catalogue().ids(), errors);
  for (const scenario::LoadError& error : errors)
    std::fprintf(stderr, "%s\n", describe(error).c_str());
  FENCEPOST_CHECK(errors.empty());
  FENCEPOST_CHECK(cases.size() == 1);
  return std::move(cases.front());
}

// --- runs --------------------------------------------------------------------------------------

inline run::RunSettings settings(codec::Profile profile = codec::Profile::kAuto) {
  return {.profile = profile, .run_id = "run", .seed = 7, .timeout_scale = 1.0};
}

inline run::CaseResult run_on(endpoint::Endpoint& endpoint, const scenario::Case& test_case,
                              const run::RunSettings& given = settings()) {
  auto session = endpoint.open_session();
  FENCEPOST_CHECK(session.has_value());
  return run_case(test_case, **session, given);
}

inline run::CaseResult run_on(Behaviour behaviour, const scenario::Case& test_case,
                              const run::RunSettings& given = settings()) {
  FakeEndpoint endpoint({.behaviour = std::move(behaviour)});
  return run_on(endpoint, test_case, given);
}

inline constexpr std::string_view kSetNotified =
    R"(*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n)";

inline void replace_all(std::string& text, std::string_view from, std::size_t more,
                        std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
    text.replace(at, from.size() + more, to);
  }
}

// Key prefixes become @, and the beginning of a notification of a SET becomes <SET>.
inline std::string shortened(std::string text) {
  replace_all(text, "fencepost/run/", 9, "@");  // eight digits and a slash
  replace_all(text, kSetNotified, 0, "<SET>");
  return text;
}

// `passed`, or `<verdict> <step> <requirement>: <message> | <expected> | <actual>`.
inline std::string outcome_text(const run::CaseResult& result) {
  if (result.verdict == run::Verdict::kPassed) return "passed";
  std::string out = fmt::format("{} {} {}: {}", name(result.verdict), result.failure.step,
                                result.failure.requirement, result.failure.message);
  if (!result.failure.expected.empty() || !result.failure.actual.empty()) {
    out += " | " + result.failure.expected + " | " + result.failure.actual;
  }
  return shortened(out);
}

inline std::string outcome_text(const Behaviour& behaviour, const scenario::Case& test_case,
                                const run::RunSettings& given = settings()) {
  return outcome_text(run_on(behaviour, test_case, given));
}

}  // namespace fencepost::test
