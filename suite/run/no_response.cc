#include "suite/run/no_response.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "suite/run/run_slots.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {
namespace {

using endpoint::Duration;

// How long after the reply to a later request something may still come: a store may answer two
// requests of one client in any order. (Req: ENV-ORDER-OPEN-1)
constexpr std::chrono::milliseconds kMinGrace{1'000};

// A request that every store answers and that changes nothing. Not one of the verb that was not
// answered: a store that never answers GET is wrong, and does not stand still.
codec::Message question(RequestClient& client, std::optional<codec::Verb> unanswered,
                        const CaseState& state) {
  const bool get = unanswered != codec::Verb::kGet;
  return client.request({get ? "GET" : "DEL", state.key_prefix + "probe"});
}

class Question {
 public:
  Question(RequestClient& client, std::optional<codec::Verb> unanswered, const CaseState& state) {
    const auto sent = client.send(question(client, unanswered, state));
    if (sent) exchange_ = *sent;
  }

  [[nodiscard]] bool answered() const { return exchange_ != nullptr && exchange_->reply; }
  [[nodiscard]] Duration round_trip() const { return exchange_->reply->time - exchange_->sent; }

 private:
  const judge::Exchange* exchange_ = nullptr;
};

// Is a client that has nothing to do with the case answered?
bool another_is_answered(std::optional<codec::Verb> unanswered, CaseState& state) {
  const std::string id = state.clients.client_id(fmt::format("witness-{}", ++state.probers));
  auto connection = state.session.connect({.client_id = id});
  if (!connection) return false;
  RequestClient prober("witness", std::move(*connection), id, state.clock,
                       Recording{state.result.transcript, state.start, state.settings.transcripts});
  if (!prober.raw().subscribe(prober.response_topic())) return false;
  const Question asked(prober, unanswered, state);
  return prober.pump_until([&] { return asked.answered(); }, state.scaled(kStandstill));
}

}  // namespace

NoResponse explain_no_response(RequestClient& client, const std::function<bool()>& done,
                               std::optional<codec::Verb> unanswered, CaseState& state) {
  client.note("sends a probe: does the store still answer?");
  const SlotYield waiting(state.settings.slots);  // may take long: others run meanwhile
  const Question asked(client, unanswered, state);
  const auto known = [&] { return done() || asked.answered(); };
  const auto ended = [&] { return done() || client.disconnected(); };
  client.pump_until(known, state.scaled(kStandstill));
  bool another = false;
  if (!known() && !ended()) {
    another = another_is_answered(unanswered, state);
    // What stood still may have continued meanwhile, for this client as well.
    if (another) client.pump_until(known, state.reply_timeout());
  }
  if (ended()) return NoResponse::kEnded;
  if (!asked.answered()) return another ? NoResponse::kClient : NoResponse::kStore;
  const Duration grace = std::max<Duration>({kMinGrace, asked.round_trip(), state.path_tail()});
  client.pump_until(done, state.scaled(grace));
  return ended() ? NoResponse::kEnded : NoResponse::kLeftOut;
}

text::Phrase nothing_within(endpoint::Duration time) {
  return text::Phrase("nothing within ").milliseconds(time.count() / 1000).means("nothing");
}

Problem nobody_answers(text::Phrase message, text::Phrase expected, const CaseState& state) {
  return {.verdict = Verdict::kLost,
          .doubt = Doubt::kSilence,
          .message = std::move(message),
          .expected = std::move(expected),
          .actual = nothing_within(state.reply_timeout())
                        .words(", nor did another client get an answer; the store, its broker, "
                               "the network or this machine stood still")};
}

}  // namespace fencepost::run
