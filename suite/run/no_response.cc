#include "suite/run/no_response.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "suite/run/run_slots.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {
namespace {

using endpoint::Duration;

// A request that every store answers and that changes nothing. Not one of the verb that was not
// answered: a store that never answers GET is wrong, and does not stand still.
class Question {
 public:
  Question(RequestClient& client, std::optional<codec::Verb> unanswered, const std::string& key) {
    const bool get = unanswered != codec::Verb::kGet;
    const auto sent = client.send(client.request({get ? "GET" : "DEL", key}));
    if (sent) exchange_ = *sent;
  }

  [[nodiscard]] bool answered() const { return exchange_ != nullptr && exchange_->reply; }
  [[nodiscard]] Duration round_trip() const { return exchange_->reply->time - exchange_->sent; }

 private:
  const judge::Exchange* exchange_ = nullptr;
};

// Is a client that has nothing to do with it answered?
bool another_is_answered(std::optional<codec::Verb> unanswered, const Probing& probing) {
  auto connection = probing.session.connect({.client_id = probing.witness});
  if (!connection) return false;
  RequestClient prober("witness", std::move(*connection), probing.witness, probing.session.clock(),
                       probing.recording);
  if (!prober.raw().subscribe(prober.response_topic())) return false;
  const Question asked(prober, unanswered, probing.key);
  return prober.pump_until([&] { return asked.answered(); }, probing.standstill);
}

}  // namespace

NoResponse explain_no_response(RequestClient& client, const std::function<bool()>& done,
                               std::optional<codec::Verb> unanswered, const Probing& probing) {
  const Question asked(client, unanswered, probing.key);
  const auto known = [&] { return done() || asked.answered(); };
  const auto ended = [&] { return done() || client.disconnected(); };
  client.pump_until(known, probing.standstill);
  bool another = false;
  if (!known() && !ended()) {
    another = another_is_answered(unanswered, probing);
    // What stood still may have continued meanwhile, for this client as well.
    if (another) client.pump_until(known, probing.reply_timeout);
  }
  if (ended()) return NoResponse::kEnded;
  if (!asked.answered()) return another ? NoResponse::kClient : NoResponse::kStore;
  client.pump_until(done, std::max(probing.grace, asked.round_trip()));
  return ended() ? NoResponse::kEnded : NoResponse::kLeftOut;
}

NoResponse explain_no_response(RequestClient& client, const std::function<bool()>& done,
                               std::optional<codec::Verb> unanswered, CaseState& state) {
  client.note("sends a probe: does the store still answer?");
  const SlotYield waiting(state.settings.slots);  // may take long: others run meanwhile
  const Probing probing{
      .session = state.session,
      .key = state.key_prefix + "probe",
      .witness = state.clients.client_id(fmt::format("witness-{}", ++state.probers)),
      .reply_timeout = state.reply_timeout(),
      .standstill = state.scaled(kStandstill),
      .grace = state.scaled(std::max<Duration>(kGrace, state.path_tail())),
      .recording = Recording{state.result.transcript, state.start, state.settings.transcripts}};
  return explain_no_response(client, done, unanswered, probing);
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
