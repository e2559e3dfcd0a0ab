#include "conformance/run/fan_out.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/command.h"
#include "codec/notification.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "conformance/run/request_steps.h"
#include "conformance/run/run_slots.h"
#include "conformance/run/silence.h"

namespace fencepost::run {
namespace {

constexpr std::chrono::milliseconds kToldWithin{5'000};
constexpr std::size_t kMostBytesShown = 300;

class FanOut {
 public:
  FanOut(const scenario::FanOutStep& step, CaseState& state)
      : step_(step), state_(state), key_(state.key_prefix + step.key) {}

  MaybeProblem run() {
    for (std::size_t i = 0; i < step_.observers; ++i) {
      if (auto problem = add_observer(i)) return problem;
    }
    for (const std::string value : {"one", "two"}) {
      if (auto problem = write(value)) return problem;
      const SlotYield waiting(state_.settings.slots);
      for (const auto& observer : observers_) {
        if (auto problem = await_told(*observer, value + step_.ending)) return problem;
      }
    }
    return std::nullopt;
  }

 private:
  MaybeProblem add_observer(std::size_t number) {
    const std::string name = fmt::format("observer-{}", number + 1);
    const std::string id = state_.clients.client_id(name);
    auto connection = state_.session.connect({.client_id = id});
    if (!connection) return lost(connection.error());
    auto client = std::make_unique<RequestClient>(
        name, std::move(*connection), id, state_.clock,
        Recording{state_.result.transcript, state_.start, state_.settings.transcripts});
    for (const std::string& topic : {client->response_topic(), codec::notification_filter(id)}) {
      if (const auto done = client->raw().subscribe(topic); !done) return lost(done.error());
    }
    const auto asked = client->send(client->request({"KEYNOTIFY", key_}));
    if (!asked) return lost(asked.error());
    const auto known = [&] { return (*asked)->is_over(); };
    if (!client->pump_until(known, state_.reply_timeout()) && !client->disconnected() &&
        explain_silence(*client, known, codec::Verb::kKeynotify, state_) == Silence::kStore) {
      return nobody_answers("no response to KEYNOTIFY of " + name, "+OK\\r\\n", state_);
    }
    const bool registered = (*asked)->reply && (*asked)->reply->is(codec::ReplyKind::kOk);
    observers_.push_back(std::move(client));
    if (registered) return std::nullopt;
    if (observers_.back()->disconnected()) return unexpected_disconnect(*observers_.back());
    return Problem{
        .message = fmt::format("{} of {} could not register for the key", name, step_.observers),
        .expected = "+OK\\r\\n",
        .actual =
            (*asked)->reply ? escape((*asked)->reply->payload(), kMostBytesShown) : "no reply",
        .cites = step_.cites};
  }

  MaybeProblem write(const std::string& value) {
    scenario::RequestStep request;
    request.client = step_.client;
    request.payload = {scenario::CommandBytes{{{scenario::LiteralBytes{"SET"}},
                                               {scenario::KeyBytes{step_.key, ""}},
                                               {scenario::LiteralBytes{value}}}}};
    request.timestamp = scenario::TimestampExpression{.base = "now"};
    request.written_keys = {{scenario::KeyBytes{step_.key, ""}}};
    request.expect.outcomes = {{scenario::PlainReply{codec::ReplyKind::kOk}}};
    request.expect.cites = "SET-OK-1";
    return run_request(request, state_);
  }

  // The very next notification is that of the value: none was left out, and none came twice.
  MaybeProblem await_told(RequestClient& observer, const std::string& value) {
    const auto told = [&] { return !observer.notifications().empty(); };
    if (!observer.pump_until(told, state_.scaled(kToldWithin)) && !observer.disconnected() &&
        explain_silence(observer, told, std::nullopt, state_) == Silence::kStore) {
      return nobody_answers("no notification", describe(value), state_);
    }
    if (!told()) {
      if (observer.disconnected()) return unexpected_disconnect(observer);
      return missing(observer, value, "nothing");
    }
    const codec::Message message = std::move(observer.notifications().front().message);
    const std::string key = std::move(observer.notifications().front().key);
    observer.notifications().pop_front();
    const auto read = codec::decode_notification(message.payload);
    // Req: NTF-VALUE-3. A store may leave the value out.
    const bool valueless = message.payload == codec::encode_command({"NOTIFY", "SET"});
    const bool right =
        valueless ? step_.ending.empty()
                  : read && read->operation == codec::Operation::kSet && read->value == value;
    if (right && key == key_) return std::nullopt;
    return missing(observer, value, escape(message.payload, kMostBytesShown));
  }

  [[nodiscard]] MaybeProblem missing(const RequestClient& observer, const std::string& value,
                                     std::string actual) const {
    return Problem{.message = fmt::format("{} of {} was not told once of each value",
                                          observer.name(), step_.observers),
                   .expected = describe(value),
                   .actual = std::move(actual),
                   .cites = step_.cites};
  }

  [[nodiscard]] std::string describe(const std::string& value) const {
    return fmt::format("a notification of SET \"{}\" as the next one", value);
  }

  const scenario::FanOutStep& step_;
  CaseState& state_;
  const std::string key_;
  std::vector<std::unique_ptr<RequestClient>> observers_;
};

}  // namespace

MaybeProblem run_fan_out(const scenario::FanOutStep& step, CaseState& state) {
  return FanOut(step, state).run();
}

}  // namespace fencepost::run
