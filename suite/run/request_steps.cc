#include "suite/run/request_steps.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "codec/command.h"
#include "codec/resp3.h"
#include "suite/run/mqtt311_step.h"
#include "suite/run/no_response.h"
#include "suite/run/reply_judge.h"
#include "suite/run/request_builder.h"
#include "suite/run/run_slots.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {
namespace {

// A request that is in flight.
struct Sent {
  const scenario::RequestStep* step;
  RequestClient* from;
  judge::Exchange* exchange;
};

Result<Sent, Problem> send(const scenario::RequestStep& step, CaseState& state) {
  auto from = state.clients.get(step.client);
  if (!from) return fail(from.error());
  auto message = build_request(step, **from, state);
  if (!message) return fail(message.error());
  for (const scenario::BytesSpec& key : step.written_keys) state.keys.add(state.bytes_of(key));
  state.keys.note_token(*message, state.store_wall_ms());
  state.largest_payload = std::max(state.largest_payload, message->payload.size());
  const auto odd = raw_packet(step, *message);
  auto exchange = (*from)->send(std::move(*message), odd);
  if (!exchange) return fail(lost(exchange.error()));
  if (!step.mark.empty()) state.marks[step.mark] = {.sent = (*exchange)->sent};
  return Sent{&step, *from, *exchange};
}

template <typename Kind>
void record_open(const scenario::RequestStep& step, CaseState& state) {
  for (const scenario::Outcome& outcome : step.expect.outcomes) {
    if (std::holds_alternative<Kind>(outcome.what)) state.note_unspecified(step, outcome);
  }
}

// Req: SET-PX-1. After the reply, the key lives at most for this time.
void note_expiry(const judge::Exchange& exchange, CaseState& state) {
  constexpr std::chrono::milliseconds kMaxWait = std::chrono::hours{1};  // no case waits for more
  if (exchange.verb != codec::Verb::kSet || !exchange.reply ||
      !exchange.reply->is(codec::ReplyKind::kOk)) {
    return;
  }
  const auto& command = exchange.command;
  if (!command) return;
  // A new SET takes the old time away. Req: SET-PX-3
  const std::string key(command->key);
  state.expiries.erase(key);
  if (!command->expires_after || *command->expires_after > kMaxWait) return;
  state.expiries[key] = exchange.reply->time + *command->expires_after;
}

std::string non_reply_text(const judge::Exchange& exchange, bool probed) {
  std::string out = exchange.refused
                        ? fmt::format("PUBACK with reason code 0x{:02x}", *exchange.refused)
                        : std::string(probed ? "no reply" : "nothing");
  if (probed) out += "; a later request on the same connection was answered";
  return out;
}

// After a silence that has lasted: what was published and is not acknowledged is what is wrong, and
// may have kept later requests from being sent at all. (MQTT 5, 4.9; Req: ENV-MQTT5-3)
bool is_unacknowledged(RequestClient& from) {
  from.raw().await_acknowledgements({});
  from.drain();
  return from.disconnected().has_value();
}

Problem no_response(const char* message, const Sent& sent, const CaseState& state) {
  Problem out = nobody_answers(message, expected_text(*sent.step, *sent.exchange, state), state);
  out.kind = judge::Mismatch::kNoResponse;
  return out;
}

// Silence and disconnection. Time alone would not show which it is: a GET sent after the request
// shows that the store is there. It may answer the later one first.
// (MQTT 5, 4.6 orders packets, not what a store does; Req: ENV-ORDER-OPEN-1)
MaybeProblem await_non_reply(const Sent& sent, CaseState& state) {
  RequestClient& from = *sent.from;
  judge::Exchange& exchange = *sent.exchange;
  const auto probe = from.send(from.request({"GET", state.key_prefix + "probe"}));
  const auto probed = [&] { return probe && (*probe)->reply; };
  const auto known = [&] { return exchange.is_over() || probed(); };
  const bool in_time = from.pump_until(known, state.reply_timeout());
  if (!in_time && !from.disconnected() &&
      explain_no_response(from, known, exchange.verb, state) == NoResponse::kStore) {
    if (is_unacknowledged(from)) return unexpected_disconnect(from);
    return no_response("neither this request nor the next one was answered", sent, state);
  }
  if (!exchange.is_over() && !from.disconnected() && probed()) {
    const SlotYield waiting(state.settings.slots);
    from.pump_until([&] { return exchange.is_over(); }, state.scaled(kOvertaken));
  }
  // A refusal may be followed by the end of the connection: only the probe shows that it is not
  // (MQTT 5, 4.13.2). And no later connection is to get the reply to it.
  if (exchange.is_over() && !probed()) from.pump_until(probed, state.reply_timeout());
  if (exchange.reply) return judge_reply(*sent.step, exchange, from.exchanges(), state);
  if (from.disconnected()) {
    if (!sent.step->expect.allows<scenario::Disconnection>()) return unexpected_disconnect(from);
    const auto code = from.disconnected()->reason_code;
    state.note_observed(sent.step->packet ? "ENV-PACKET-OPEN-1" : "ENV-RESPONSE-TOPIC-OPEN-3",
                        code ? fmt::format("DISCONNECT with reason code 0x{:02x}", *code)
                             : "connection closed without DISCONNECT");
    from.expect_end();
    record_open<scenario::Disconnection>(*sent.step, state);
    return std::nullopt;
  }
  const bool silent = exchange.refused || probed();
  if (silent && sent.step->expect.allows<scenario::NoReply>()) {
    exchange.closed = judge::forbids_replies(*sent.step);
    record_open<scenario::NoReply>(*sent.step, state);
    return std::nullopt;
  }
  return Problem{.message = silent ? "the client stayed connected and got no reply"
                                   : "neither this request nor the next one was answered",
                 .expected = expected_text(*sent.step, exchange, state),
                 .actual = non_reply_text(exchange, probed()),
                 .kind = silent ? judge::Mismatch::kOther : judge::Mismatch::kNoResponse};
}

// What is not answered soon is waited for: others run meanwhile.
void await_patiently(RequestClient& from, const judge::Exchange& exchange, CaseState& state) {
  constexpr endpoint::Duration kSoon = std::chrono::milliseconds{500};
  const endpoint::Duration limit = state.reply_timeout();
  if (from.await(exchange, std::min(kSoon, limit)) || limit <= kSoon) return;
  const SlotYield waiting(state.settings.slots);
  from.await(exchange, limit - kSoon);
}

MaybeProblem await_reply(const Sent& sent, CaseState& state) {
  if (sent.step->expect.allows<scenario::NoReply>() ||
      sent.step->expect.allows<scenario::Disconnection>()) {
    return await_non_reply(sent, state);
  }
  RequestClient& from = *sent.from;
  const judge::Exchange& exchange = *sent.exchange;
  await_patiently(from, exchange, state);
  const auto known = [&] { return exchange.is_over() || !from.unsolicited().empty(); };
  if (!known()) {
    if (auto problem = state.clients.check_misdirected(exchange)) return problem;
  }
  if (!known() && !from.disconnected() &&
      explain_no_response(from, known, exchange.verb, state) == NoResponse::kStore) {
    if (is_unacknowledged(from)) return unexpected_disconnect(from);
    return no_response("no response", sent, state);
  }
  note_expiry(exchange, state);
  state.changes.note(*sent.exchange, sent.from->client_id());
  if (exchange.reply) return judge_reply(*sent.step, exchange, from.exchanges(), state);
  if (exchange.refused) {
    return Problem{.message = "the broker refused the PUBLISH",
                   .expected = expected_text(*sent.step, exchange, state),
                   .actual = fmt::format("PUBACK with reason code 0x{:02x}", *exchange.refused)};
  }
  if (from.disconnected()) return unexpected_disconnect(from);
  // A reply that nobody can find, e.g. with other correlation data, says more than its absence.
  if (!from.unsolicited().empty()) return state.clients.check_unsolicited();
  return Problem{.message = "no response",
                 .expected = expected_text(*sent.step, exchange, state),
                 .actual = nothing_within(state.reply_timeout()),
                 .kind = judge::Mismatch::kNoResponse};
}

// By the outcome that an earlier open request had.
MaybeProblem await_settled(const Sent& sent, CaseState& state) {
  scenario::RequestStep step = *sent.step;
  step.expect = state.settled(step.expect);
  return await_reply({&step, sent.from, sent.exchange}, state);
}

MaybeProblem finish(const Sent& sent, CaseState& state) {
  const bool depends = !sent.step->expect.by.empty();
  MaybeProblem problem = depends ? await_settled(sent, state) : await_reply(sent, state);
  state.key_states.note(*sent.exchange);
  const auto mark = state.marks.find(sent.step->mark);
  if (mark != state.marks.end())
    mark->second.rule_of_effect = judge::rule_of_effect(*sent.exchange);
  if (!problem) return std::nullopt;
  if (problem->subject.empty()) problem->subject = judge::subject_of(*sent.exchange);
  if (sent.exchange->reply) return problem;
  const std::string promised = state.rule_of_outcome(sent.step->expect.by);
  // What has come in its place, or why there is nothing, may say more.
  problem->attribution.complete(judge::attribute(judge::ResponseDifference{
      .kind = problem->kind,
      .failed = problem->verdict == Verdict::kFailed && problem->doubt == Doubt::kNone,
      .step = *sent.step,
      .exchange = *sent.exchange,
      .keys = state.key_states,
      .promised = promised}));
  return problem;
}

}  // namespace

MaybeProblem run_request(const scenario::RequestStep& step, CaseState& state) {
  if (state.clients.spec_of(step.client).old) return run_old_request(step, state);
  const auto sent = send(step, state);
  if (!sent) return sent.error();
  return finish(*sent, state);
}

MaybeProblem run_requests(const std::vector<scenario::RequestStep>& steps, CaseState& state,
                          const std::function<void(const judge::Exchange&)>& seen) {
  std::vector<Sent> all;
  std::set<RequestClient*> gathering;
  MaybeProblem unsent;
  for (const scenario::RequestStep& step : steps) {
    const auto client = state.clients.get(step.client);
    // A caller reads several at a time: what it makes of the first must be seen by the second.
    if (client && gathering.insert(*client).second) (*client)->raw().gather(true);
    const auto sent = send(step, state);
    if (!sent) {
      unsent = sent.error();
      break;
    }
    all.push_back(*sent);
  }
  for (RequestClient* client : gathering) client->raw().gather(false);
  if (unsent) return unsent;
  for (const Sent& sent : all) {
    if (auto problem = finish(sent, state)) return problem;
    seen(*sent.exchange);
  }
  return std::nullopt;
}

MaybeProblem run_command(RequestClient& from, const std::vector<std::string_view>& arguments,
                         CaseState& state) {
  scenario::RequestStep step;
  step.client = from.name();
  step.payload = {scenario::LiteralBytes{codec::encode_command(arguments)}};
  // Req: HLC-REQUIRED-1
  if (arguments.front() == "SET") step.timestamp = scenario::TimestampExpression{.base = "now"};
  step.expect.outcomes = {{scenario::PlainReply{codec::ReplyKind::kOk}}};
  return run_request(step, state);
}

}  // namespace fencepost::run
