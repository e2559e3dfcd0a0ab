#include "suite/judge/attribution.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "suite/judge/candidate_rules.h"
#include "suite/judge/reply_requirement.h"
#include "suite/judge/reply_rule.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

// The first reading that names a rule is believed.
template <typename Facts, std::size_t kCount>
std::string_view first_of(const std::array<std::string_view (*)(const Facts&), kCount>& readings,
                          const Facts& facts) {
  for (const auto reading : readings) {
    if (const std::string_view rule = reading(facts); !rule.empty()) return rule;
  }
  return {};
}

// A step about the version of a value cites a rule of versions: another value is no matter of
// these.
bool is_about(std::string_view cites, Mismatch kind, std::optional<Verb> verb) {
  if (!may_break(kind, cites)) return false;
  if (kind == Mismatch::kVersionNotLater) return !cites.starts_with("NTF-VERSION-");
  const bool payload = kind == Mismatch::kReply && verb == Verb::kGet;
  return !payload || !cites.starts_with("VER-");
}

// --- Responses

struct OfResponse {
  const ResponseDifference& difference;
  const Exchange& exchange;
  const MismatchFacts facts;
  // An error came where the request was to be carried out.
  [[nodiscard]] bool refused() const {
    return facts.kind == Mismatch::kReply && facts.reply == ReplyKind::kError && facts.wanted &&
           facts.wanted != ReplyKind::kError;
  }
};

// The key of a request that was to be carried out and is refused, and not for what has a name of
// its own. Req: KEY-BINARY-1, LIMIT-KEY-1
std::optional<std::string_view> refused_key(const scenario::Expectation& expect,
                                            const Exchange& exchange) {
  const auto carried_out = [](const scenario::Outcome& outcome) {
    return std::holds_alternative<scenario::PlainReply>(outcome.what) ||
           std::holds_alternative<scenario::ValueReply>(outcome.what) ||
           std::holds_alternative<scenario::CountReply>(outcome.what);
  };
  const bool wanted = std::all_of(expect.outcomes.begin(), expect.outcomes.end(), carried_out);
  const auto error = exchange.reply->error();
  if (!wanted || !exchange.reply->is(ReplyKind::kError) || (error && error != ErrorCode::kSyntax)) {
    return std::nullopt;
  }
  const auto& command = exchange.command;
  return command ? std::optional(command->key) : std::nullopt;
}

bool wants_error(const scenario::Expectation& expect, ErrorCode code) {
  return std::any_of(expect.outcomes.begin(), expect.outcomes.end(), [&](const auto& outcome) {
    const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what);
    return error != nullptr && error->code == code;
  });
}

MismatchFacts facts_of(const ResponseDifference& difference) {
  const scenario::Expectation& expect = difference.step.expect;
  const Exchange& exchange = difference.exchange;
  MismatchFacts out{.kind = difference.kind, .verb = exchange.verb};
  out.set_again = difference.set_again;
  if (!exchange.reply) return out;
  const ReceivedReply& reply = *exchange.reply;
  if (reply.decoded) {
    out.reply = reply.decoded->kind;
    out.removed = reply.is(ReplyKind::kCount) && reply.decoded->count > 0;
  } else if (reply.error() && difference.profile != codec::Profile::kDeployed) {
    out.reply = ReplyKind::kError;  // without its line end, which the article leaves out, too
  } else {
    out.malformed = reply.payload();
  }
  // Another sign before a text that is listed.
  out.wrong_error = reply.error() && !reply.payload().starts_with("-ERR ") &&
                    exchange.verb != Verb::kKeynotify && wants_error(expect, *reply.error());
  if (const auto wanted = wanted_reply(expect)) {
    out.wanted = wanted->kind;
    out.wanted_error = wanted->error;
    const bool removes = exchange.verb && codec::removes(*exchange.verb);
    const bool nothing = wanted->kind == ReplyKind::kMissing ||
                         (removes && wanted->kind == ReplyKind::kCount && !wanted->removed);
    out.missing_key_is_error = nothing && reply.is(ReplyKind::kError) && !reply.error();
  }
  out.refused_key = refused_key(expect, exchange);
  return out;
}

// Has the store given its reply to an earlier request with this correlation data once more? No
// version is given twice, so it has not answered this one. Req: ENV-RESPONSE-1
std::string_view of_repeated_reply(const OfResponse& seen) {
  const Exchange& own = seen.exchange;
  if (seen.difference.of_client == nullptr || !own.reply) return {};
  const codec::Message& reply = own.reply->message;
  const std::string* version = reply.property(codec::kTimestampProperty);
  const bool repeated = std::any_of(
      seen.difference.of_client->begin(), seen.difference.of_client->end(),
      [&](const Exchange& other) {
        if (&other == &own || !other.reply || other.sent > own.sent) return false;
        const codec::Message& first = other.reply->message;
        return other.request.correlation_data == own.request.correlation_data &&
               other.request.payload != own.request.payload && first.payload == reply.payload &&
               first.user_properties == reply.user_properties;
      });
  return repeated && version != nullptr ? "ENV-RESPONSE-1" : "";
}

// A version that is no legal one of its key is the difference, and not what is compared with it.
std::string_view of_version_itself(const OfResponse& seen) {
  const auto& command = seen.exchange.command;
  if (seen.facts.kind != Mismatch::kVersionOther || !command) return {};
  return seen.difference.keys.rule_of_version(command->key);
}

// What has to change is a spelling, not a behaviour.
std::string_view of_other_form(const OfResponse& seen) {
  const auto& form = seen.difference.other_form;
  return form ? requirement_of(*form) : std::string_view();
}

// What was right before the broker ended, and is not so afterwards: another rule that it breaks is
// one that the store kept until then. Req: LIFE-DURABLE-1 to LIFE-DURABLE-5
std::string_view of_durability(const OfResponse& seen) {
  const Mismatch kind = seen.facts.kind;
  const bool compared = kind == Mismatch::kVersionOther || kind == Mismatch::kVersionNotLater ||
                        (kind == Mismatch::kReply && !seen.facts.malformed);
  const std::string_view cites = seen.difference.step.expect.cites;
  return compared && cites.starts_with("LIFE-DURABLE-") ? cites : std::string_view();
}

// That a verb is unknown says nothing of what it takes, which such a step is about.
// Req: RESP-VERBS-1
std::string_view of_unknown_verb(const OfResponse& seen) {
  const bool unknown = seen.refused() && seen.exchange.reply->error() == ErrorCode::kUnknownCommand;
  return unknown && seen.difference.step.expect.cites.ends_with("-GRAMMAR-1") ? "RESP-VERBS-1" : "";
}

// The difference shows it, regardless of what the case is about.
std::string_view of_difference(const OfResponse& seen) {
  return seen.exchange.reply && seen.difference.failed ? rule_of(seen.facts) : std::string_view();
}

std::string_view of_missing_key(const OfResponse& seen) {
  return seen.exchange.reply ? usual_rule_of(seen.facts) : std::string_view();
}

// An effect that does not fit the reply of the request that was to have it breaks what that reply
// promises. A key that is gone may have had too short a life as well. Req: SET-PX-2
std::string_view of_promise(const OfResponse& seen) {
  if (seen.facts.kind != Mismatch::kReply || !seen.exchange.reply) return {};
  const auto& command = seen.exchange.command;
  const bool gone = seen.exchange.reply->is(ReplyKind::kMissing);
  const bool expires =
      gone && command && seen.difference.keys.of(command->key, seen.exchange.sent).expires;
  return expires ? std::string_view() : seen.difference.promised;
}

// The reason that a store gives for refusing what it must carry out.
std::string_view of_refusal(const OfResponse& seen) {
  return seen.refused() ? rule_of_refusal(seen.exchange, seen.difference.keys) : std::string_view();
}

std::string_view of_expected_reply(const OfResponse& seen) {
  if (!seen.exchange.reply) return {};
  return rule_of_reply(seen.difference.step, seen.exchange, seen.difference.keys);
}

// A request that is like any other has to be answered; of others the case knows more.
// Req: ENV-RESPONSE-1, RESP-INVALID-1
std::string_view of_no_reply(const OfResponse& seen) {
  constexpr std::size_t kLarge = 4'096;
  if (seen.exchange.reply) return {};
  const scenario::RequestStep& step = seen.difference.step;
  const bool usual = seen.exchange.request.payload.size() < kLarge && !step.topic &&
                     !step.response_topic && !step.no_response_topic && !step.correlation &&
                     !step.no_correlation && step.qos == 1 && !step.retain &&
                     !step.expiry_seconds && step.user_properties.empty() && !step.packet;
  const auto& command = seen.exchange.command;
  // Req: ENV-RESPONSE-TOPIC-7
  const bool only_topic = step.response_topic && step.expect.cites.empty() && command &&
                          !step.expect.allows<scenario::NoReply>() &&
                          !step.expect.allows<scenario::Disconnection>();
  if (only_topic && !seen.exchange.refused) return "ENV-RESPONSE-TOPIC-7";
  if (!usual) return step.expect.cites;
  return command ? "ENV-RESPONSE-1" : "RESP-INVALID-1";
}

// Where the case does not say what its step is about: by the reply that was expected.
using ResponseReading = std::string_view (*)(const OfResponse&);
constexpr std::array<ResponseReading, 4> kUsual = {of_missing_key, of_promise, of_refusal,
                                                   of_expected_reply};

// The author of the case knows what the reply is for, if the step is about what differs.
std::string_view of_step(const OfResponse& seen) {
  if (!seen.exchange.reply) return {};
  const std::string& cites = seen.difference.step.expect.cites;
  return is_about(cites, seen.facts.kind, seen.facts.verb) ? cites : first_of(kUsual, seen);
}

// What an earlier request was answered is what its effect has to be.
std::string_view of_earlier_outcome(const OfResponse& seen) { return seen.difference.promised; }

// Where there must be no reply, or no connection any more, the step knows the rule.
std::string_view of_forbidden_reply(const OfResponse& seen) {
  const scenario::RequestStep& step = seen.difference.step;
  return seen.difference.failed && forbids_replies(step) ? std::string_view(step.expect.cites)
                                                         : std::string_view();
}

constexpr std::array<ResponseReading, 8> kAttributed = {
    of_repeated_reply, of_other_form, of_unknown_verb,    of_durability,
    of_difference,     of_step,       of_earlier_outcome, of_forbidden_reply};
// What such a difference breaks regardless of what the case is about: of_step() is not used, and a
// response that does not come may name a rule by itself.
constexpr std::array<ResponseReading, 11> kDirect = {
    of_repeated_reply, of_version_itself, of_other_form,  of_unknown_verb,
    of_durability,     of_difference,     of_missing_key, of_promise,
    of_refusal,        of_expected_reply, of_no_reply};

// Was another request of the client in flight as well? Then the reply may be the one to that.
bool meets_another(const ResponseDifference& difference) {
  if (difference.of_client == nullptr || !difference.exchange.reply) return false;
  const Exchange& own = difference.exchange;
  return std::any_of(difference.of_client->begin(), difference.of_client->end(),
                     [&](const Exchange& other) {
                       return &other != &own && other.sent < own.reply->time &&
                              (!other.reply || other.reply->time > own.sent);
                     });
}

// --- Notifications

struct OfNotification {
  const NotificationDifference& difference;
  const MismatchFacts facts;
};

// That it is the observer's own change matters where nothing else has come before: no deletion of
// the key, and no STOP. (Req: NTF-SELF-1)
Cause certain_cause(const NotificationDifference& difference) {
  const bool own = difference.cause == Cause::kOwnChange && difference.own_is_notified;
  const bool before =
      difference.stop_before || !difference.keys.past_of(difference.key).removal.empty();
  return own && before ? Cause::kUnknown : difference.cause;
}

std::string_view of_version_itself(const OfNotification& seen) {
  return seen.facts.kind == Mismatch::kVersionOther
             ? seen.difference.keys.rule_of_version(seen.difference.key)
             : std::string_view();
}

// What a store that does not keep all bytes makes of the key.
std::string_view of_distorted_key(const OfNotification& seen) {
  const auto& other = seen.difference.seen_key;
  const bool distorted =
      other && !seen.difference.keys.knows(*other) && is_distorted(*other, seen.difference.key);
  return distorted ? "KEY-BINARY-1" : "";
}

std::string_view of_other_form(const OfNotification& seen) {
  const auto& form = seen.difference.other_form;
  return form ? requirement_of(*form) : std::string_view();
}

std::string_view of_difference(const OfNotification& seen) { return rule_of(seen.facts); }

std::string_view of_kind(const OfNotification& seen) { return usual_rule_of(seen.facts); }

std::string_view of_step(const OfNotification& seen) {
  const std::string_view cites = seen.difference.cites;
  return is_about(cites, seen.facts.kind, std::nullopt) ? cites : of_kind(seen);
}

using NotificationReading = std::string_view (*)(const OfNotification&);
constexpr std::array<NotificationReading, 4> kAttributedOfNotification = {
    of_distorted_key, of_other_form, of_difference, of_step};
constexpr std::array<NotificationReading, 5> kDirectOfNotification = {
    of_version_itself, of_distorted_key, of_other_form, of_difference, of_kind};

// --- Unsolicited messages

// By what the client has requested. Req: NTF-SEND-3, NTF-SEND-4, NTF-STOP-1, ERR-STATE-1
std::string_view rule_by_registrations(std::string_view key, const Exchanges& of_client) {
  std::string_view out = "NTF-SEND-3";
  for (const Exchange& exchange : of_client) {
    const auto& command = exchange.command;
    if (!command || command->verb != Verb::kKeynotify) continue;
    // Req: NTF-REQUEST-3. A name is not a pattern, and not the beginning of one.
    const std::string_view prefix =
        command->key.substr(0, command->key.find_last_not_of("*#?+") + 1);
    const bool taken = exchange.reply && exchange.reply->is(ReplyKind::kOk);
    if (taken && prefix.size() < command->key.size() && key != command->key &&
        key.starts_with(prefix)) {
      out = "NTF-REQUEST-3";
    }
    if (command->key != key || !exchange.reply) continue;
    const bool refused = exchange.reply->is(ReplyKind::kError) && !command->stop;
    if (refused && out == "NTF-SEND-3") out = "ERR-STATE-1";
    if (taken) out = command->stop ? "NTF-STOP-1" : "NTF-SEND-4";
  }
  return out;
}

// Is it a key that nobody has named, and that one which is observed may have become?
// Req: KEY-BINARY-1
bool is_distorted_registration(const UnaskedNotification& notification) {
  return std::any_of(
      notification.of_client.begin(), notification.of_client.end(), [&](const Exchange& each) {
        if (each.verb != Verb::kKeynotify) return false;
        const std::string_view own = each.command ? each.command->key : std::string_view();
        if (own == notification.key) return false;  // without a reply: it is as it was sent
        return notification.named ? are_similar(notification.key, own)
                                  : is_distorted(notification.key, own);
      });
}

}  // namespace

void Attribution::complete(Attribution other) {
  if (requirement.empty()) requirement = std::move(other.requirement);
  if (direct.empty()) direct = std::move(other.direct);
  if (candidates.empty()) candidates = std::move(other.candidates);
}

bool forbids_replies(const scenario::RequestStep& step) {
  return std::all_of(step.expect.outcomes.begin(), step.expect.outcomes.end(),
                     [](const scenario::Outcome& outcome) {
                       return std::holds_alternative<scenario::NoReply>(outcome.what) ||
                              std::holds_alternative<scenario::Disconnection>(outcome.what);
                     });
}

Attribution attribute(const ResponseDifference& difference) {
  const OfResponse seen{difference, difference.exchange, facts_of(difference)};
  Attribution out{.requirement = std::string(first_of(kAttributed, seen)),
                  .direct = std::string(first_of(kDirect, seen))};
  // It is known which reply has promised the effect of an open request.
  if (of_promise(seen).empty()) {
    out.candidates =
        candidates_of(difference.kind, difference.step, difference.exchange, difference.keys);
  }
  if (difference.kind == Mismatch::kReply && meets_another(difference)) {
    out.candidates.emplace_back("ENV-CORRELATION-1");
  }
  return out;
}

Attribution attribute(const NotificationDifference& difference) {
  const OfNotification seen{difference,
                            {.kind = difference.kind,
                             .operation = difference.operation,
                             .cause = certain_cause(difference),
                             .set_again = difference.set_again}};
  Attribution out{.requirement = std::string(first_of(kAttributedOfNotification, seen)),
                  .direct = std::string(first_of(kDirectOfNotification, seen)),
                  .candidates = candidates_of(difference.kind, difference.key, difference.operation,
                                              difference.cause, difference.now, difference.keys)};
  if (difference.kind == Mismatch::kNotificationMissing && difference.other_stop) {
    out.candidates.emplace_back("NTF-STOP-2");
  }
  return out;
}

// Req: LIFE-DISCONNECT-1. A registration ends with the connection that made it.
std::string_view rule_of_unasked(const UnaskedNotification& notification) {
  // There is one change, and one notification of it to each. Where a connection before has observed
  // the key, too, it may be that registration. Req: NTF-SEND-1, NTF-SEND-2, LIFE-DISCONNECT-2
  if (notification.again && !notification.observed) {
    return *notification.again == codec::Operation::kSet ? "NTF-SEND-1" : "NTF-SEND-2";
  }
  const std::string_view out = rule_by_registrations(notification.key, notification.of_client);
  if (out != "NTF-SEND-3") return out;
  if (is_distorted_registration(notification)) return "KEY-BINARY-1";
  return notification.observed ? "LIFE-DISCONNECT-1" : out;
}

// If its client observes the key, the notification is its own, and the topic is wrong.
std::string_view rule_of_other_topic(std::optional<std::string_view> key,
                                     const Exchanges& of_client) {
  const bool own = key && rule_by_registrations(*key, of_client) == "NTF-SEND-4";
  return key && !own ? "NTF-SEND-3" : "NTF-TOPIC-1";
}

// Req: ENV-RESPONSE-1, ENV-CORRELATION-1, ENV-RESPONSE-TOPIC-1
std::string_view rule_of_unasked(const codec::Message& response, const Exchanges& of_client) {
  bool same_topic = false;
  bool same_correlation = false;
  const codec::Message* earlier = nullptr;  // the response that this request has had
  for (const Exchange& exchange : of_client) {
    if (exchange.closed) continue;
    const bool topic = exchange.request.response_topic.value_or("") == response.topic;
    const bool correlation = exchange.request.correlation_data == response.correlation_data;
    if (topic && correlation && exchange.reply) earlier = &exchange.reply->message;
    same_topic = same_topic || (topic && !exchange.reply);
    same_correlation = same_correlation || (correlation && !exchange.reply);
  }
  if (earlier != nullptr) {
    // What is not the same once more is the response to another request, which still waits for it.
    const bool same = earlier->payload == response.payload &&
                      earlier->user_properties == response.user_properties;
    return same_topic && !same ? "ENV-CORRELATION-1" : "ENV-RESPONSE-1";
  }
  if (same_topic) return "ENV-CORRELATION-1";
  return same_correlation ? kResponseOfAnother : "";
}

}  // namespace fencepost::judge
