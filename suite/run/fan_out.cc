#include "suite/run/fan_out.h"

#include <algorithm>
#include <array>
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
#include "suite/run/no_response.h"
#include "suite/run/request_steps.h"
#include "suite/run/run_slots.h"

namespace fencepost::run {
namespace {

constexpr std::chrono::milliseconds kNotifiedWithin{5'000};
constexpr std::size_t kRegisteredAtOnce = 16;
constexpr std::array kValues = {"one", "two"};

class FanOut {
 public:
  FanOut(const scenario::FanOutStep& step, CaseState& state)
      : step_(step), state_(state), key_(state.key_prefix + step.key) {}

  MaybeProblem run() {
    if (auto problem = connect_observers()) return problem;
    for (std::size_t first = 0; first < observers_.size(); first += kRegisteredAtOnce) {
      const std::size_t end = std::min(first + kRegisteredAtOnce, observers_.size());
      if (auto problem = register_observers(first, end)) return problem;
    }
    for (const std::string value : kValues) {
      if (auto problem = write(value)) return problem;
      const SlotYield waiting(state_.settings.slots);
      for (const auto& observer : observers_) {
        if (auto problem = await_notified(*observer, value + step_.ending)) return problem;
      }
    }
    return std::nullopt;
  }

 private:
  MaybeProblem connect_observers() {
    std::vector<std::string> names;
    std::vector<endpoint::ClientOptions> all;
    for (std::size_t i = 0; i < step_.observers; ++i) {
      names.push_back(fmt::format("observer-{}", i + 1));
      all.push_back({.client_id = state_.clients.client_id(names.back())});
    }
    const auto subscribe = [&](std::size_t number,
                               endpoint::Client& client) -> Result<void, endpoint::Error> {
      const std::string& id = all[number].client_id;
      if (auto done = client.subscribe(codec::recommended_response_topic(id)); !done) return done;
      return client.subscribe(codec::notification_filter(id));
    };
    auto connections = state_.session.connect_all(all, subscribe);
    for (std::size_t i = 0; i < connections.size(); ++i) {
      if (!connections[i]) return lost(connections[i].error());
      observers_.push_back(std::make_unique<RequestClient>(
          names[i], std::move(*connections[i]), all[i].client_id, state_.clock,
          Recording{state_.result.transcript, state_.start, state_.settings.transcripts}));
    }
    return std::nullopt;
  }

  // Some requests are concurrent: a round trip for each is long where it is far to the store.
  MaybeProblem register_observers(std::size_t first, std::size_t end) {
    std::vector<const judge::Exchange*> asked;
    for (std::size_t i = first; i < end; ++i) {
      const auto sent = observers_[i]->send(observers_[i]->request({"KEYNOTIFY", key_}));
      if (!sent) return lost(sent.error());
      asked.push_back(*sent);
    }
    for (std::size_t i = first; i < end; ++i) {
      if (auto problem = await_registered(*observers_[i], *asked[i - first])) return problem;
    }
    return std::nullopt;
  }

  MaybeProblem await_registered(RequestClient& observer, const judge::Exchange& asked) {
    const auto known = [&] { return asked.is_over(); };
    if (!observer.pump_until(known, state_.reply_timeout()) && !observer.disconnected() &&
        explain_no_response(observer, known, codec::Verb::kKeynotify, state_) ==
            NoResponse::kStore) {
      return nobody_answers("no response to KEYNOTIFY of " + observer.name(), ok(), state_);
    }
    if (asked.reply && asked.reply->is(codec::ReplyKind::kOk)) return std::nullopt;
    if (observer.disconnected()) return unexpected_disconnect(observer);
    return Problem{.message = fmt::format("{} of {} could not register for the key",
                                          observer.name(), step_.observers),
                   .expected = ok(),
                   .actual = asked.reply ? judge::describe(*asked.reply) : "no reply",
                   .attribution = {.requirement = step_.cites}};
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
  MaybeProblem await_notified(RequestClient& observer, const std::string& value) {
    const auto notified = [&] { return !observer.notifications().empty(); };
    if (!observer.pump_until(notified, state_.scaled(kNotifiedWithin)) &&
        !observer.disconnected() &&
        explain_no_response(observer, notified, std::nullopt, state_) == NoResponse::kStore) {
      return nobody_answers("no notification", describe(value), state_);
    }
    if (!notified()) {
      if (observer.disconnected()) return unexpected_disconnect(observer);
      return missing(observer, value, "nothing", step_.cites);
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
    const bool sent = std::any_of(kValues.begin(), kValues.end(), [&](std::string_view each) {
      return read && read->value == std::string(each) + step_.ending;
    });
    const bool other_value =
        read && read->operation == codec::Operation::kSet && key == key_ && !sent;
    return missing(observer, value, shown_notification(message.payload),
                   other_value ? "NTF-VALUE-1" : step_.cites);
  }

  [[nodiscard]] MaybeProblem missing(const RequestClient& observer, const std::string& value,
                                     text::Phrase actual, const std::string& rule) const {
    return Problem{.message = fmt::format("{} of {} was not told once of each value",
                                          observer.name(), step_.observers),
                   .expected = describe(value),
                   .actual = std::move(actual),
                   .attribution = {.requirement = rule}};
  }

  [[nodiscard]] static text::Phrase describe(const std::string& value) {
    return fmt::format("a notification of SET \"{}\" as the next one", value);
  }

  [[nodiscard]] static text::Phrase ok() { return text::Phrase("+OK\\r\\n").means("+OK"); }

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
