#include "suite/judge/judge.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/reply.h"
#include "suite/scenario/bytes_loader.h"

namespace fencepost::judge {
namespace {

using codec::DialectId;
using codec::Divergence;
using codec::ErrorCode;
using codec::Reply;
using codec::ReplyKind;
using codec::Verb;
using text::Phrase;

constexpr std::size_t kMaxShown = 200;  // bytes of a payload in a message

std::string encode(const Reply& reply, const ReplyContext& context, DialectId id) {
  std::string out;
  codec::append_reply(out, reply, context.verb, codec::dialect(id));
  return out;
}

std::string resolved(const scenario::BytesSpec& spec, const ReplyContext& context) {
  if (context.fillings == nullptr) return resolve(spec, context.key_prefix);
  return resolve(spec, context.key_prefix, *context.fillings);
}

// The deployed dialect has this form for every verb, the documented one for all but KEYNOTIFY.
std::string plain_error(ErrorCode code, const ReplyContext& context) {
  return encode({.kind = ReplyKind::kError, .error = code}, context, DialectId::kDeployed);
}

// The payloads that this outcome allows in this dialect; empty for outcomes that are no fixed
// bytes.
std::vector<std::string> payloads(const scenario::Outcome& outcome, const ReplyContext& context,
                                  DialectId id) {
  if (const auto* plain = std::get_if<scenario::PlainReply>(&outcome.what)) {
    return {encode({.kind = plain->kind}, context, id)};
  }
  if (const auto* count = std::get_if<scenario::CountReply>(&outcome.what)) {
    return {encode({.kind = ReplyKind::kCount, .count = count->count}, context, id)};
  }
  if (const auto* value = std::get_if<scenario::ValueReply>(&outcome.what)) {
    const std::string bytes = resolved(value->value, context);
    return {encode({.kind = ReplyKind::kValue, .value = bytes}, context, id)};
  }
  if (const auto* exact = std::get_if<scenario::ExactBytes>(&outcome.what)) {
    return {resolved(exact->bytes, context)};
  }
  if (const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what)) {
    std::string bytes = encode({.kind = ReplyKind::kError, .error = error->code}, context, id);
    // By the deployed service the line end belongs to the form: no client SDK decodes an error
    // without it. Req: RESP-ERROR-FORM-1
    if (id != DialectId::kDocumented) return {bytes};
    // The article prints its first error without the final CR LF.
    std::vector<std::string> forms = {bytes, bytes.substr(0, bytes.size() - 2)};
    // It has one form for the failures of KEYNOTIFY and another for all invalid payloads, and a
    // KEYNOTIFY may be both. (Req: NTF-ERROR-OPEN-1)
    if (context.verb == Verb::kKeynotify) {
      const std::string plain = plain_error(error->code, context);
      forms.push_back(plain);
      forms.push_back(plain.substr(0, plain.size() - 2));
    }
    return forms;
  }
  return {};
}

// Where the dialects spell this outcome differently, if they do.
std::optional<Divergence> divergence_of(const scenario::Outcome& outcome,
                                        const ReplyContext& context) {
  if (const auto* plain = std::get_if<scenario::PlainReply>(&outcome.what)) {
    if (plain->kind != ReplyKind::kNotApplied) return std::nullopt;
    // Two kinds, though they are spelled alike: what an endpoint must not do is use both forms of
    // one (docs/decisions/0005-judging-dialects.md).
    return context.verb == Verb::kVdel ? Divergence::kVdelMismatch : Divergence::kSetNotApplied;
  }
  if (const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what)) {
    if (error->code == ErrorCode::kTokenLower) return Divergence::kLowerTokenText;
    if (context.verb == Verb::kKeynotify) return Divergence::kKeynotifyError;
  }
  return std::nullopt;
}

bool is_error(const ReceivedReply& reply, DialectId id) {
  if (reply.decoded) return reply.is(ReplyKind::kError);
  if (id != DialectId::kDocumented) return false;
  // The article prints its first error without the final CR LF.
  const std::string completed = reply.message.payload + "\r\n";
  const auto error = codec::decode_reply(completed);
  return error && error->kind == ReplyKind::kError;
}

bool matches_in(const scenario::Outcome& outcome, const ReceivedReply& reply,
                const ReplyContext& context, DialectId id) {
  // Where the dialects differ in what is done, and not only in its spelling.
  if (outcome.only_in && *outcome.only_in != id) return false;
  if (std::holds_alternative<scenario::AnyError>(outcome.what)) return is_error(reply, id);
  // By bytes, not by meaning: one that decodes to the same may still be another to clients, which
  // compare whole texts. Req: ERR-EXACT-1
  const std::vector<std::string> allowed = payloads(outcome, context, id);
  return std::find(allowed.begin(), allowed.end(), reply.payload()) != allowed.end();
}

std::string_view label(const scenario::Outcome& outcome) {
  if (const auto* plain = std::get_if<scenario::PlainReply>(&outcome.what)) {
    if (plain->kind == ReplyKind::kNotApplied) return " (not applied)";
    if (plain->kind == ReplyKind::kMissing) return " (no such key)";
  }
  return "";
}

// A reply regardless of its value and its numbers. Failures with one such form are put together:
// each case has values of its own, while another error is another difference
// (docs/decisions/0018-differences.md).
std::string general_form(std::string_view payload) {
  if (payload.starts_with("$-1")) return "no such key";
  if (payload.starts_with("$0\r")) return "an empty value";
  if (payload.starts_with('$')) return "a value";
  if (payload.starts_with('+') || payload.starts_with(':') || payload.starts_with('-')) {
    return escape(payload.substr(0, payload.find("\r\n")), kMaxShown);
  }
  return "";
}

Phrase described(std::string_view payload,
                 const Result<codec::DecodedReply, codec::DecodeError>& reply) {
  Phrase out;
  out.bytes(payload, kMaxShown);
  if (!reply) {
    const std::string wrong = codec::describe(reply.error());
    // Where the payload goes wrong is different in each case, so its offset does not count.
    return out.words(" (" + wrong + ")").means("no reply: " + Phrase(wrong).general());
  }
  if (reply->kind == ReplyKind::kNotApplied) out.words(" (not applied)");
  if (reply->kind == ReplyKind::kMissing) out.words(" (no such key)");
  return out.means(general_form(payload));
}

}  // namespace

namespace {

std::string resolve_wire(const scenario::WireBytes& wire, const std::string& key_prefix) {
  std::string out;
  for (const scenario::WireBytes::Piece& piece : wire.pieces) {
    out += piece.bytes;
    if (piece.key.empty()) continue;
    std::string key = key_prefix + piece.key;
    const auto size = static_cast<std::int64_t>(key.size()) + piece.change;
    if (piece.is_length) {
      out += std::to_string(size);
    } else {
      // Only ever shorter: `change` takes bytes of a key away, and adds to a length alone. A key of
      // fewer bytes than go has none left.
      key.resize(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)));
      out += key;
    }
  }
  return out;
}

}  // namespace

std::string resolve(const scenario::BytesSpec& spec, const std::string& key_prefix,
                    const Fillings& fillings) {
  if (const auto* literal = std::get_if<scenario::LiteralBytes>(&spec.what)) return literal->bytes;
  if (const auto* many = std::get_if<scenario::LongBytes>(&spec.what)) return bytes_of(*many);
  if (const auto* key = std::get_if<scenario::KeyBytes>(&spec.what)) {
    return key_prefix + key->name + key->append;
  }
  if (const auto* fill = std::get_if<scenario::FillBytes>(&spec.what)) {
    const auto found = fillings.find(fill->excess);
    return found == fillings.end() ? std::string() : found->second;
  }
  if (const auto* wire = std::get_if<scenario::WireBytes>(&spec.what)) {
    return resolve_wire(*wire, key_prefix);
  }
  std::string out;
  if (const auto* joined = std::get_if<scenario::JoinedBytes>(&spec.what)) {
    for (const scenario::BytesSpec& part : joined->parts)
      out += resolve(part, key_prefix, fillings);
    return out;
  }
  const auto& command = std::get<scenario::CommandBytes>(spec.what);
  // Not codec::encode(), which makes requests of the protocol alone: a case also sends others.
  codec::append_array_header(out, command.arguments.size());
  for (const scenario::BytesSpec& argument : command.arguments) {
    codec::append_bulk(out, resolve(argument, key_prefix, fillings));
  }
  return out;
}

std::optional<ReplyMatch> match_reply(const std::vector<scenario::Outcome>& expected,
                                      const ReceivedReply& reply, const ReplyContext& context) {
  const std::vector<DialectId> dialects = codec::dialects_of(context.profile);
  for (const scenario::Outcome& outcome : expected) {
    std::vector<DialectId> matching;
    // The first outcome that matches in any dialect counts. That one endpoint does not mix dialects
    // is checked over the whole run: run::summarize().
    for (const DialectId id : dialects) {
      if (matches_in(outcome, reply, context, id)) matching.push_back(id);
    }
    if (matching.empty()) continue;
    ReplyMatch match{.outcome = &outcome};
    const auto divergence = divergence_of(outcome, context);
    const auto* error = std::get_if<scenario::ErrorReply>(&outcome.what);
    const bool plain =
        divergence == Divergence::kKeynotifyError && error != nullptr &&
        std::string(reply.payload()) + (reply.payload().ends_with("\r\n") ? "" : "\r\n") ==
            plain_error(error->code, context);
    // The plain form of an error is that of both dialects, whichever this run judges by.
    if (plain && context.profile == codec::Profile::kDocumented) return match;
    // A form is evidence of a dialect only if the other one does not have it: where both match,
    // nothing is seen.
    if (divergence && matching.size() == 1) match.form = SeenForm{*divergence, matching.front()};
    return match;
  }
  return std::nullopt;
}

bool is_error_with_detail(const std::vector<scenario::Outcome>& expected,
                          const ReceivedReply& reply, const ReplyContext& context) {
  const auto line_of = [](std::string_view payload) {
    return payload.ends_with("\r\n") ? payload.substr(0, payload.size() - 2) : payload;
  };
  const auto goes_on = [&](std::string_view listed, DialectId id) {
    // The article prints its first error without the final CR LF.
    if (id == DialectId::kDeployed && !reply.payload().ends_with("\r\n")) return false;
    const std::string_view line = line_of(reply.payload());
    if (!line.starts_with(line_of(listed))) return false;
    const std::string_view detail = line.substr(line_of(listed).size());
    // Detail begins behind the word: `syntax errors` is another text.
    const bool another_word =
        detail.empty() || std::isalnum(static_cast<unsigned char>(detail.front())) != 0;
    // An error is one line, so what has more of them is malformed. Req: RESP-ERROR-FORM-1
    return !another_word && detail.find_first_of("\r\n") == std::string_view::npos;
  };
  for (const scenario::Outcome& outcome : expected) {
    if (!std::holds_alternative<scenario::ErrorReply>(outcome.what)) continue;
    for (const DialectId id : codec::dialects_of(context.profile)) {
      if (outcome.only_in && *outcome.only_in != id) continue;
      const std::vector<std::string> listed = payloads(outcome, context, id);
      if (std::any_of(listed.begin(), listed.end(),
                      [&](const std::string& payload) { return goes_on(payload, id); })) {
        return true;
      }
    }
  }
  return false;
}

std::vector<std::string> right_payloads(const scenario::Outcome& outcome,
                                        const ReplyContext& context, DialectId id) {
  if (outcome.only_in && *outcome.only_in != id) return {};
  return payloads(outcome, context, id);
}

Phrase describe(const std::vector<scenario::Outcome>& expected, const ReplyContext& context) {
  if (expected.empty()) return "any well-formed reply";
  std::vector<Phrase> forms;
  for (const scenario::Outcome& outcome : expected) {
    if (std::holds_alternative<scenario::AnyError>(outcome.what))
      forms.push_back(Phrase("-ERR <any text>\\r\\n").means("-ERR <any text>"));
    if (std::holds_alternative<scenario::NoReply>(outcome.what)) forms.emplace_back("no reply");
    if (std::holds_alternative<scenario::Disconnection>(outcome.what)) {
      forms.emplace_back("disconnection by the broker");
    }
    for (const DialectId id : codec::dialects_of(context.profile)) {
      if (outcome.only_in && *outcome.only_in != id) continue;
      for (const std::string& payload : payloads(outcome, context, id)) {
        Phrase form = Phrase().bytes(payload, kMaxShown).words(label(outcome));
        forms.push_back(std::move(form.means(general_form(payload))));
      }
    }
  }
  return Phrase::any_of(std::move(forms));
}

std::string describe_reply(std::string_view payload) {
  return described(payload, codec::decode_reply(payload)).text();
}

Phrase describe(const ReceivedReply& reply) { return described(reply.payload(), reply.decoded); }

}  // namespace fencepost::judge
