#include "conformance/run/reply_judge.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/judge/attribution.h"
#include "conformance/judge/clock_doubt.h"
#include "conformance/run/message_checks.h"
#include "conformance/run/reply_rule.h"
#include "conformance/run/suspects.h"

namespace fencepost::run {
namespace {

using codec::ReplyKind;
using endpoint::Duration;

judge::ReplyContext context_of(const judge::Exchange& exchange, const CaseState& state) {
  return {.verb = exchange.verb,
          .profile = state.settings.profile,
          .key_prefix = state.key_prefix,
          .fillings = &state.fillings};
}

// Does the reply say that the key was there, with its value, token or expiry? Then it was before,
// too, however late the reply. `+OK` says nothing of the kind: a condition may have become true.
bool shows_key(const judge::ReceivedReply& reply) {
  return reply.is(ReplyKind::kValue) || reply.is(ReplyKind::kNotApplied) ||
         reply.is(ReplyKind::kError) || (reply.is(ReplyKind::kCount) && reply.decoded->count > 0);
}

// Req: SET-PX-1. After its time a key may go: a reply that came after the evidence window proves
// nothing, and fails nothing.
MaybeProblem check_window(const scenario::Expectation& expect, Duration replied,
                          const CaseState& state) {
  if (!expect.before || replied < state.time_of(*expect.before)) return std::nullopt;
  const scenario::TimePoint begin{expect.before->mark, expect.before->after_reply,
                                  std::chrono::milliseconds{0}};
  return Problem{
      .verdict = Verdict::kInconclusive,
      .message = fmt::format("the reply came {} ms after {}, when it no longer proves "
                             "anything; the machine or the network is too slow",
                             (replied - state.time_of(begin)).count() / 1000, expect.before->mark)};
}

// A right reply in the wrong dialect is reported as that: what has to change is a spelling, not a
// behaviour.
Problem unmatched_reply(const scenario::Expectation& expect, const judge::Exchange& exchange,
                        CaseState& state) {
  judge::ReplyContext context = context_of(exchange, state);
  Problem problem{.message = "the reply is not the expected one",
                  .expected = describe(expect.outcomes, context),
                  .actual = describe(*exchange.reply),
                  .kind = judge::Mismatch::kReply,
                  .malformed = !exchange.reply->decoded};
  if (judge::is_error_with_detail(expect.outcomes, *exchange.reply, context)) {
    problem.message = "the error has more than its listed text";
    problem.kind = judge::Mismatch::kErrorDetail;
    return problem;
  }
  context.profile = codec::Profile::kAuto;
  const auto match = judge::match_reply(expect.outcomes, *exchange.reply, context);
  if (match && match->form) blame_dialect(*match->form, "reply", state, problem);
  return problem;
}

MaybeProblem check_form(const judge::ReceivedReply& reply) {
  if (reply.decoded) return std::nullopt;
  return Problem{
      .message = "the reply is not well formed: " + codec::describe(reply.decoded.error()),
      .expected = "a reply of the protocol",
      .actual = describe(reply),
      .kind = judge::Mismatch::kReplyForm,
      .malformed = true};
}

MaybeProblem judge_payload(const scenario::RequestStep& step, const judge::Exchange& exchange,
                           CaseState& state) {
  const scenario::Expectation& expect = step.expect;
  if (expect.outcomes.empty()) return check_form(*exchange.reply);
  const auto match =
      judge::match_reply(expect.outcomes, *exchange.reply, context_of(exchange, state));
  if (!match) {
    auto doubt = judge::doubt_about_clock(expect.outcomes, exchange, state.store_clock);
    if (!doubt) return unmatched_reply(expect, exchange, state);
    return Problem{.verdict = Verdict::kInconclusive,
                   .message = std::move(*doubt),
                   .expected = expected_text(step, exchange, state),
                   .actual = describe(*exchange.reply)};
  }
  judge::note_version(exchange, state.store_clock);
  if (match->form) state.result.forms.push_back(*match->form);
  state.note_open_point(step, *match->outcome);
  return std::nullopt;
}

// The key of a request that was to be carried out and is refused, and not for what has a name of
// its own. Req: KEY-BINARY-1, LIMIT-KEY-1
std::optional<std::string_view> refused_key(const scenario::Expectation& expect,
                                            const judge::Exchange& exchange) {
  const auto carried_out = [](const scenario::Outcome& outcome) {
    return std::holds_alternative<scenario::PlainReply>(outcome.what) ||
           std::holds_alternative<scenario::ValueReply>(outcome.what) ||
           std::holds_alternative<scenario::CountReply>(outcome.what);
  };
  const bool wanted = std::all_of(expect.outcomes.begin(), expect.outcomes.end(), carried_out);
  const auto error = exchange.reply->error();
  if (!wanted || !exchange.reply->is(ReplyKind::kError) ||
      (error && error != codec::ErrorCode::kSyntax)) {
    return std::nullopt;
  }
  const auto& command = exchange.command;
  return command ? std::optional(command->key) : std::nullopt;
}

bool wants_error(const scenario::Expectation& expect, codec::ErrorCode code) {
  return std::any_of(expect.outcomes.begin(), expect.outcomes.end(), [&](const auto& outcome) {
    const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what);
    return error != nullptr && error->code == code;
  });
}

judge::MismatchFacts facts_of(const scenario::Expectation& expect, const judge::Exchange& exchange,
                              const CaseState& state) {
  const judge::ReceivedReply& reply = *exchange.reply;
  judge::MismatchFacts out{.verb = exchange.verb};
  if (reply.decoded) {
    out.reply = reply.decoded->kind;
    out.removed = reply.is(ReplyKind::kCount) && reply.decoded->count > 0;
  } else if (reply.error() && state.settings.profile != codec::Profile::kDeployed) {
    out.reply = ReplyKind::kError;  // without its line end, which the article leaves out, too
  } else {
    out.malformed = reply.payload();
  }
  // Another sign before a text that is listed.
  out.odd_error = reply.error() && !reply.payload().starts_with("-ERR ") &&
                  exchange.verb != codec::Verb::kKeynotify && wants_error(expect, *reply.error());
  if (const auto wanted = wanted_reply(expect)) {
    out.wanted = wanted->kind;
    out.wanted_error = wanted->error;
    const bool removes = exchange.verb == codec::Verb::kDel || exchange.verb == codec::Verb::kVdel;
    const bool nothing = wanted->kind == ReplyKind::kMissing ||
                         (removes && wanted->kind == ReplyKind::kCount && !wanted->removed);
    out.missing_key_is_error = nothing && reply.is(ReplyKind::kError) && !reply.error();
  }
  out.refused_key = refused_key(expect, exchange);
  const auto& command = exchange.command;
  out.set_again = command && state.changes.is_set_again(command->key, state.clock.now());
  return out;
}

// Req: VER-OPEN-3
std::string spelling_of(std::string_view version) {
  const std::size_t colon = version.find(':');
  const std::size_t second = colon == std::string_view::npos ? colon : version.find(':', colon + 1);
  if (second == std::string_view::npos) return "other padding";
  const std::string_view wall = version.substr(0, colon);
  const std::string_view counter = version.substr(colon + 1, second - colon - 1);
  constexpr std::size_t kWall = 15;
  constexpr std::size_t kCounter = 5;
  const auto padded = [](std::string_view number) {
    return number.size() > 1 && number.front() == '0';
  };
  // A greater counter, as other cases may leave it, has more digits.
  const bool fills = counter.size() == kCounter || (counter.size() > kCounter && !padded(counter));
  if (wall.size() == kWall && fills) return "padded to 15 and 5 digits";
  return padded(wall) || padded(counter) ? "other padding" : "unpadded";
}

void note_habits(const codec::Message& response, CaseState& state) {
  state.note_habit("ENV-RESPONSE-OPEN-1", fmt::format("QoS {} {} retain", response.qos,
                                                      response.retain ? "with" : "without"));
  const std::string* version = response.property(codec::kTimestampProperty);
  if (version != nullptr) state.note_habit("VER-OPEN-3", spelling_of(*version));
  if (response.payload.starts_with("-ERR")) {
    state.note_habit("NTF-ERROR-OPEN-1", response.payload.starts_with("-ERR:")
                                             ? "-ERR and a colon"
                                             : "-ERR without a colon");
  }
}

// With the version of the value that the reply has.
std::optional<scenario::TimestampCheck> timestamp_check(const scenario::RequestStep& step,
                                                        const judge::ReceivedReply& reply) {
  std::optional<scenario::TimestampCheck> out = step.expect.timestamp;
  if (!out || out->of_value.empty() || !reply.is(ReplyKind::kValue)) return out;
  const auto found = out->of_value.find(std::string(reply.decoded->value));
  if (found != out->of_value.end()) out->equals = found->second;
  return out;
}

// A version that is no legal one of its key is the difference, and not what is compared with it.
std::string rule_of_compared_version(const Problem& problem, const judge::Exchange& exchange,
                                     const CaseState& state) {
  if (problem.kind != judge::Mismatch::kVersionOther) return {};
  const auto& command = exchange.command;
  return command ? std::string(state.key_states.rule_of_version(command->key)) : std::string();
}

// Of an effect that does not fit the reply of the open request that was to have it: what that reply
// promises. A key that is gone may have had too short a life as well. Req: SET-PX-2
std::string rule_of_promise(const Problem& problem, const scenario::RequestStep& step,
                            const judge::Exchange& exchange, const CaseState& state) {
  if (problem.kind != judge::Mismatch::kReply) return {};
  const auto& command = exchange.command;
  const bool gone = exchange.reply->is(ReplyKind::kMissing);
  if (gone && command && state.key_states.of(command->key, exchange.sent).expires) return {};
  return state.rule_of_outcome(step.expect.by);
}

}  // namespace

MaybeProblem judge_reply(const scenario::RequestStep& step, const judge::Exchange& exchange,
                         CaseState& state) {
  const judge::ReceivedReply& reply = *exchange.reply;
  note_habits(reply.message, state);
  if (!step.mark.empty()) state.marks[step.mark].replied = reply.time;
  MaybeProblem late = check_window(step.expect, reply.time, state);
  if (late && !shows_key(reply)) return late;
  const auto charged = [&](MaybeProblem problem) -> MaybeProblem {
    if (!problem) return std::nullopt;
    if (late) return late;
    problem->subject = subject_of(exchange);
    judge::MismatchFacts facts = facts_of(step.expect, exchange, state);
    facts.kind = problem->kind;
    std::string usual(judge::usual_rule_of(facts));
    const bool refused = facts.reply == ReplyKind::kError && facts.wanted &&
                         facts.wanted != ReplyKind::kError &&
                         problem->kind == judge::Mismatch::kReply;
    const std::string promised = rule_of_promise(*problem, step, exchange, state);
    if (usual.empty()) usual = promised;
    if (usual.empty() && refused) usual = rule_of_refusal(exchange, state);
    if (usual.empty()) usual = rule_of_reply(step, exchange, state);
    if (promised.empty()) problem->suspects = suspects_of(*problem, step, exchange, state);
    problem->direct = rule_of_compared_version(*problem, exchange, state);
    // Req: RESP-VERBS-1. That a verb is unknown says nothing of what it takes.
    const bool unknown = refused && exchange.reply->error() == codec::ErrorCode::kUnknownCommand;
    if (unknown && step.expect.cites.ends_with("-GRAMMAR-1")) problem->cites = "RESP-VERBS-1";
    return state.charge(std::move(*problem), step.expect.cites, facts, usual);
  };
  if (auto problem = charged(judge_payload(step, exchange, state))) return problem;
  // Of an open point's outcomes, a refusal carries no version.
  const bool refusal =
      (step.expect.open || !step.expect.by.empty()) && reply.payload().starts_with('-');
  if (!refusal) {
    auto problem = charged(
        check_timestamp(timestamp_check(step, reply), &exchange, reply.message, state.saved));
    if (problem) return problem;
  }
  return charged(check_properties(step.expect, reply.message));
}

text::Phrase expected_text(const scenario::RequestStep& step, const judge::Exchange& exchange,
                           const CaseState& state) {
  return describe(step.expect.outcomes, context_of(exchange, state));
}

void blame_dialect(const judge::SeenForm& form, const char* what, CaseState& state,
                   Problem& problem) {
  state.result.forms.push_back(form);
  problem.other_dialect = true;
  problem.message =
      fmt::format("the {} has the form of the {} dialect, and this run judges by the {} one", what,
                  codec::dialect(form.second).name, name(state.settings.profile));
  problem.cites = std::string(judge::requirement_of(form.first));
}

}  // namespace fencepost::run
