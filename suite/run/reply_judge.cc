#include "suite/run/reply_judge.h"

#include <utility>

#include <fmt/format.h>

#include "suite/judge/attribution.h"
#include "suite/judge/clock_doubt.h"
#include "suite/run/message_checks.h"

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

// The expected reply in the wrong dialect is reported as that: what has to change is a spelling,
// not a behaviour.
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
  if (match && match->form) attribute_dialect(*match->form, "reply", state, problem);
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
  state.note_unspecified(step, *match->outcome);
  return std::nullopt;
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

void note_observed_forms(const codec::Message& response, CaseState& state) {
  state.note_observed("ENV-RESPONSE-OPEN-1", fmt::format("QoS {} {} retain", response.qos,
                                                         response.retain ? "with" : "without"));
  const std::string* version = response.property(codec::kTimestampProperty);
  if (version != nullptr) state.note_observed("VER-OPEN-3", spelling_of(*version));
  if (response.payload.starts_with("-ERR")) {
    state.note_observed("NTF-ERROR-OPEN-1", response.payload.starts_with("-ERR:")
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

}  // namespace

MaybeProblem judge_reply(const scenario::RequestStep& step, const judge::Exchange& exchange,
                         const judge::Exchanges& of_client, CaseState& state) {
  const judge::ReceivedReply& reply = *exchange.reply;
  note_observed_forms(reply.message, state);
  if (!step.mark.empty()) state.marks[step.mark].replied = reply.time;
  MaybeProblem late = check_window(step.expect, reply.time, state);
  if (late && !shows_key(reply)) return late;
  const auto attributed = [&](MaybeProblem problem) -> MaybeProblem {
    if (!problem) return std::nullopt;
    if (late) return late;
    problem->subject = subject_of(exchange);
    const std::string promised = state.rule_of_outcome(step.expect.by);
    const auto& command = exchange.command;
    problem->attribution = judge::attribute(judge::ResponseDifference{
        .kind = problem->kind,
        .failed = problem->verdict == Verdict::kFailed,
        .step = step,
        .exchange = exchange,
        .keys = state.key_states,
        .of_client = &of_client,
        .profile = state.settings.profile,
        .promised = promised,
        .other_form = problem->other_form,
        .set_again = command && state.changes.is_set_again(command->key, state.clock.now())});
    return state.unless_excused(std::move(*problem));
  };
  if (auto problem = attributed(judge_payload(step, exchange, state))) return problem;
  // Among the outcomes of unspecified behaviour, a refusal carries no version.
  const bool refusal =
      (step.expect.open || !step.expect.by.empty()) && reply.payload().starts_with('-');
  if (!refusal) {
    auto problem = attributed(
        check_timestamp(timestamp_check(step, reply), &exchange, reply.message, state.saved));
    if (problem) return problem;
  }
  return attributed(check_properties(step.expect, reply.message));
}

text::Phrase expected_text(const scenario::RequestStep& step, const judge::Exchange& exchange,
                           const CaseState& state) {
  return describe(step.expect.outcomes, context_of(exchange, state));
}

void attribute_dialect(const judge::SeenForm& form, const char* what, CaseState& state,
                       Problem& problem) {
  state.result.forms.push_back(form);
  problem.other_form = form.first;
  problem.message =
      fmt::format("the {} has the form of the {} dialect, and this run judges by the {} one", what,
                  codec::dialect(form.second).name, name(state.settings.profile));
}

}  // namespace fencepost::run
