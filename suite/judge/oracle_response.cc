#include "suite/judge/oracle_response.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/error_code.h"
#include "codec/message.h"
#include "suite/judge/judge.h"
#include "suite/judge/mismatch.h"
#include "suite/judge/reply_requirement.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;

constexpr std::uint64_t kMinuteMs = 60'000;

std::string text_of(const hlc::Timestamp& version) {
  return hlc::format(version, hlc::Padding::kNone);
}

// The version of a value that was there before: that one, or, of a deletion, a newer one.
std::optional<Judgement> check_version_of_value(const Branch& branch, const CandidateState& before,
                                                const Asked& asked, const Answered& answered) {
  MismatchFacts facts{
      .kind = Mismatch::kVersionMissing, .verb = asked.command.verb, .reply = branch.kind};
  const std::string_view absent = rule_of(facts);
  if (!answered.version) return rejected(absent, "the response has no version");
  if (!before.version) return std::nullopt;
  const bool right = branch.version == VersionRule::kSame ? *answered.version == *before.version
                                                          : *answered.version > *before.version;
  if (right) return std::nullopt;
  facts.kind = Mismatch::kVersionOther;
  // For a deletion, no rule but the one that requires a version covers it.
  const std::string_view other = rule_of(facts);
  return rejected(other.empty() ? absent : other,
                  fmt::format("the version is {}, that of the value {}", text_of(*answered.version),
                              text_of(*before.version)));
}

// The version that a SET has given its value.
std::optional<Judgement> check_fresh_version(const CandidateState& before, const Asked& asked,
                                             const Answered& answered) {
  MismatchFacts facts{
      .kind = Mismatch::kVersionMissing, .verb = codec::Verb::kSet, .reply = ReplyKind::kOk};
  if (!answered.version) return rejected(rule_of(facts), "the response has no version");
  const hlc::Timestamp& version = *answered.version;
  const auto sent = hlc::parse(asked.timestamp == nullptr ? std::string_view() : *asked.timestamp);
  if (sent) {
    facts.kind = Mismatch::kVersionNotGreater;
    if (version <= *sent) {
      return rejected(rule_of(facts),
                      "the version is not greater than the request's __ts: " + text_of(version));
    }
    // A client may have taken the store's node id for its own (HLC-PARSE-OPEN-1): only of a store
    // whose versions were seen to have others is it known that this one is the client's.
    const bool others_seen = !asked.store_nodes->empty();
    if (sent->node == version.node && others_seen && !asked.store_nodes->contains(version.node)) {
      return rejected("VER-NODE-1", "the version has the client's node id: " + text_of(version));
    }
    // By HLC updates the wall clock of a version is the greatest of three: the request's, the
    // store's own clock and its last version. Only `wall_low` is certain of the store's clock, and
    // that it is not coarser than seconds.
    const std::uint64_t clock = asked.wall_low - std::min(asked.wall_low, kCoarsestTickMs);
    if (version.wall_ms < std::max(sent->wall_ms, clock)) {
      return rejected("HLC-SKEW-4", "the version is behind the store's clock: " + text_of(version));
    }
  }
  // After a deletion, too: a lock that is taken again has a greater version, so that the token of
  // its former holder is older. (Req: LOCK-TOKEN-4)
  if (before.version && version <= *before.version) {
    return rejected(before.exists ? "VER-UPDATE-3" : "LOCK-TOKEN-4",
                    fmt::format("the version is not greater than the one before: {} after {}",
                                text_of(version), text_of(*before.version)));
  }
  // A conforming store takes nothing that is further ahead (HLC-SKEW-1), so no version gets there.
  if (version.wall_ms > asked.wall_high + kMinuteMs + kCoarsestTickMs) {
    return rejected("VER-DRIFT-1", "the version is more than a minute ahead: " + text_of(version));
  }
  return std::nullopt;
}

std::optional<Judgement> check_any_version(const Branch& branch, const CandidateState& before,
                                           const Asked& asked, const Answered& answered) {
  switch (branch.version) {
    case VersionRule::kAny:
      return std::nullopt;
    case VersionRule::kNone:
      if (!answered.has_version) return std::nullopt;
      return rejected(rule_of({.kind = Mismatch::kVersionUnasked,
                               .verb = asked.command.verb,
                               .reply = branch.kind}),
                      "a version of a key that does not exist");
    case VersionRule::kSame:
    case VersionRule::kNewer:
      return check_version_of_value(branch, before, asked, answered);
    case VersionRule::kFresh:
      return check_fresh_version(before, asked, answered);
  }
  return std::nullopt;
}

std::optional<Judgement> check_properties(const codec::Message& reply, const OracleBasis& basis) {
  const std::string* status = reply.property(codec::kStatusProperty);
  const std::string_view status_rule = rule_of({.kind = Mismatch::kStatus});
  if ((status == nullptr || *status != "200") && basis.binds(status_rule)) {
    return rejected(status_rule,
                    "the response has " + (status == nullptr ? std::string("no __stat")
                                                             : "__stat " + escape(*status)));
  }
  // It may be absent. (Req: ENV-CONTENT-TYPE-1)
  if (reply.content_type && *reply.content_type != codec::kContentType &&
      basis.binds("ENV-CONTENT-TYPE-1")) {
    return rejected("ENV-CONTENT-TYPE-1", "content type " + escape(*reply.content_type));
  }
  // It may be absent, and the minor version is free. (Req: ENV-PROTVER-1)
  const std::string* protocol = reply.property("__protVer");
  if (protocol != nullptr && !protocol->starts_with("1.") && basis.binds("ENV-PROTVER-1")) {
    return rejected("ENV-PROTVER-1", "__protVer " + escape(*protocol));
  }
  return std::nullopt;
}

// The listed error that a text begins with, as far as words go. (Req: ERR-DETAIL-OPEN-1)
std::optional<ErrorCode> error_with_detail(std::string_view text) {
  for (const ErrorCode code : codec::kErrorCodes) {
    for (const codec::DialectId id : codec::kDialects) {
      const std::string_view listed = codec::text(code, codec::dialect(id));
      if (text.size() > listed.size() && text.starts_with(listed) &&
          std::isalnum(static_cast<unsigned char>(text[listed.size()])) == 0) {
        return code;
      }
    }
  }
  return std::nullopt;
}

// The reply as one of the protocol; nothing when it is read, else why it is malformed.
std::optional<Judgement> read_reply(const Exchange& exchange, const OracleBasis& basis,
                                    Answered& answered) {
  const std::string& payload = exchange.reply->message.payload;
  const auto wrong_form = [&] {
    return rejected(payload.starts_with('-') ? "RESP-ERROR-FORM-1" : "ENV-RESPONSE-1",
                    "not a reply of the protocol: " + describe_reply(payload));
  };
  if (exchange.reply->decoded) {
    answered.reply = *exchange.reply->decoded;
  } else {
    // The article prints its first error without the final CR LF. (Req: RESP-ERROR-FORM-1)
    if (basis.dialect == codec::DialectId::kDeployed || payload.ends_with("\r\n")) {
      return wrong_form();
    }
    answered.completed = payload + "\r\n";
    const auto decoded = codec::decode_reply(answered.completed);
    if (!decoded || decoded->kind != ReplyKind::kError) return wrong_form();
    answered.reply = *decoded;
  }
  if (answered.reply.kind != ReplyKind::kError) return std::nullopt;
  // `-ERR: ` is the form of the failures of KEYNOTIFY alone. (Req: NTF-ERROR-1)
  if (answered.reply.form && exchange.verb && exchange.verb != codec::Verb::kKeynotify) {
    return rejected("RESP-ERROR-FORM-1", "a colon behind -ERR: " + describe_reply(payload));
  }
  answered.error = codec::error_with_text(answered.reply.value);
  if (answered.error) return std::nullopt;
  const auto code = error_with_detail(answered.reply.value);
  answered.has_detail = code.has_value();
  // By the article alone detail may follow, and the error is the one that the text names. (Req:
  // ERR-DETAIL-OPEN-1)
  if (!basis.binds(rule_of({.kind = Mismatch::kErrorDetail}))) answered.error = code;
  return std::nullopt;
}

}  // namespace

std::optional<Judgement> check_envelope(const Exchange& exchange, const OracleBasis& basis,
                                        Answered& answered) {
  const codec::Message& request = exchange.request;
  const codec::Message& reply = exchange.reply->message;
  // MQTT 5.0, 4.10: a response goes to the response topic of its request, with its correlation
  // data; a client has nothing else to match responses with requests by.
  if (reply.topic != request.response_topic) {
    return rejected("ENV-RESPONSE-TOPIC-1", "the response came to " + escape(reply.topic));
  }
  if (reply.correlation_data != request.correlation_data) {
    return rejected("ENV-CORRELATION-1", "the response has other correlation data");
  }
  if (auto wrong = check_properties(reply, basis)) return wrong;
  if (auto wrong = read_reply(exchange, basis, answered)) return wrong;
  if (const std::string* text = reply.property(codec::kTimestampProperty)) {
    answered.has_version = true;
    const auto version = hlc::parse(*text);
    if (!version) {
      return rejected(rule_of({.kind = Mismatch::kVersionForm}),
                      "no timestamp in __ts: " + escape(*text));
    }
    answered.version = *version;
  }
  return std::nullopt;
}

std::optional<Judgement> check_version(const Branch& branch, const CandidateState& before,
                                       const Asked& asked, const Answered& answered,
                                       const OracleBasis& basis) {
  auto wrong = check_any_version(branch, before, asked, answered);
  if (wrong && !basis.binds(wrong->requirement)) return std::nullopt;
  return wrong;
}

// The documents and the deployed service each spell these things in a way of their own, and a store
// may follow either (docs/decisions/0005-judging-dialects.md). Clients compare bytes: one that does
// both breaks them.
std::optional<Judgement> Spellings::check(codec::Divergence where, codec::DialectId form) {
  if (dialect_ && form != *dialect_) {
    return rejected(requirement_of(where),
                    fmt::format("{} is spelled as in the {} dialect", codec::name(where),
                                codec::dialect(form).name));
  }
  const auto [seen, is_new] = seen_.emplace(where, form);
  if (is_new || seen->second == form) return std::nullopt;
  return rejected(requirement_of(where),
                  fmt::format("{} is spelled in two ways", codec::name(where)));
}

std::optional<Judgement> Spellings::check(codec::Verb verb, const Answered& answered) {
  if (answered.reply.kind == ReplyKind::kNotApplied && answered.reply.form) {
    return check(verb == codec::Verb::kSet ? codec::Divergence::kSetNotApplied
                                           : codec::Divergence::kVdelMismatch,
                 *answered.reply.form);
  }
  // Where the article is judged by, errors of KEYNOTIFY may have both forms. (Req:
  // NTF-ERROR-OPEN-1)
  const bool colon = answered.reply.kind == ReplyKind::kError && answered.reply.form.has_value();
  if (colon && dialect_ == codec::DialectId::kDeployed) {
    return check(codec::Divergence::kKeynotifyError, *answered.reply.form);
  }
  if (answered.error != ErrorCode::kTokenLower) return std::nullopt;
  for (const codec::DialectId id : codec::kDialects) {
    if (codec::dialect(id).lower_token_text != answered.reply.value) continue;
    return check(codec::Divergence::kLowerTokenText, id);
  }
  return std::nullopt;
}

std::optional<Judgement> Spellings::check_deletion(codec::DialectId form) {
  return check(codec::Divergence::kDeleteOperation, form);
}

}  // namespace fencepost::judge
