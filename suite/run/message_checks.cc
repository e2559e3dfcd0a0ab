#include "suite/run/message_checks.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/command.h"
#include "codec/dialect.h"

namespace fencepost::run {
namespace {

using text::Phrase;

constexpr std::size_t kMaxStampBytes = 100;  // bytes of a timestamp in a message

// A blank at an end is not seen without quotes.
Phrase shown(const std::string& timestamp) {
  const std::string text = escape(timestamp, kMaxStampBytes);
  const bool quoted = text.starts_with(' ') || text.ends_with(' ');
  const char* quote = quoted ? "\"" : "";
  return Phrase("__ts = ").words(quote).version(text).words(quote).means("__ts");
}

// What `name` in a comparison stands for: a saved timestamp, or "sent", the request's own.
std::optional<hlc::Timestamp> named_timestamp(const std::string& name,
                                              const judge::Exchange* exchange,
                                              const SavedTimestamps& saved) {
  if (name != "sent") {
    const auto found = saved.find(name);
    return found == saved.end() ? std::nullopt : std::optional(found->second.value);
  }
  const std::string* text =
      exchange == nullptr ? nullptr : exchange->request.property(codec::kTimestampProperty);
  const auto parsed = hlc::parse(text == nullptr ? "" : *text);
  return parsed ? std::optional(*parsed) : std::nullopt;
}

bool is_read(const judge::Exchange* exchange) {
  return exchange != nullptr && exchange->command && exchange->command->verb == codec::Verb::kGet;
}

// A read assigns no version. One that was requested with the version itself and another node id
// shows whether the store has that id for its own, in either order of the two. Req: VER-NODE-1
bool differ_in_node_alone(const hlc::Timestamp& one, const hlc::Timestamp& other) {
  return one.wall_ms == other.wall_ms && one.counter == other.counter && one.node != other.node;
}

MaybeProblem compare(const scenario::TimestampCheck& check, const judge::Exchange* exchange,
                     const hlc::Timestamp& seen, const std::string& text,
                     const SavedTimestamps& saved) {
  // As the store has spelled it, so that what is equal looks equal.
  const auto spelled = [&](const std::string& name, const hlc::Timestamp& timestamp) {
    const auto found = saved.find(name);
    return found == saved.end() ? hlc::format(timestamp) : found->second.text;
  };
  const auto wanted = check.equals ? named_timestamp(*check.equals, exchange, saved) : std::nullopt;
  if (wanted && *wanted != seen) {
    return Problem{
        .message = Phrase("the version is not the one saved as ").name(*check.equals),
        .expected = Phrase("__ts equal to ").version(spelled(*check.equals, *wanted)).means("__ts"),
        .actual = shown(text),
        .kind = judge::Mismatch::kVersionOther};
  }
  for (const std::string& name : check.greater_than) {
    const auto other = named_timestamp(name, exchange, saved);
    if (!other && name == "sent") {
      return Problem{
          .verdict = Verdict::kInconclusive,
          .message = "the request's own timestamp is not legal: nothing can be compared with it"};
    }
    if (!other || seen > *other) continue;
    if (name == "sent" && is_read(exchange) && differ_in_node_alone(seen, *other)) continue;
    return Problem{
        .message = name == "sent"
                       ? "the version is not greater than the request's timestamp"
                       : Phrase("the version is not greater than the one saved as ").name(name),
        .expected = Phrase("__ts greater than ").version(spelled(name, *other)).means("__ts"),
        .actual = shown(text),
        .kind = name == "sent" ? judge::Mismatch::kVersionNotGreater
                               : judge::Mismatch::kVersionNotLater};
  }
  return std::nullopt;
}

// Is this `X.Y` with X = 1?
bool is_supported_version(std::string_view version) {
  if (!version.starts_with("1.") || version.size() == 2) return false;
  return version.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

// Rules that hold of a property if it is there at all. No member of `expect` says that; a step that
// cites the rule does.
MaybeProblem check_cited_rule(const std::string& cites, const codec::Message& message) {
  if (cites == kContentTypeRule && message.content_type &&
      *message.content_type != codec::kContentType) {
    return Problem{.message = "the response has another content type",
                   .expected = std::string(codec::kContentType) + ", or none",
                   .actual = "\"" + escape(*message.content_type) + "\"",
                   .kind = judge::Mismatch::kProperty};
  }
  const std::string* version = message.property("__protVer");
  if (cites == kProtocolVersionRule && version != nullptr && !is_supported_version(*version)) {
    return Problem{.message = "the response has an unknown protocol version",
                   .expected = "__protVer of major version 1, e.g. 1.0, or none",
                   .actual = "__protVer = \"" + escape(*version) + "\"",
                   .kind = judge::Mismatch::kProperty};
  }
  return std::nullopt;
}

}  // namespace

Phrase shown_notification(std::string_view payload) {
  constexpr std::size_t kMaxShown = 300;
  Phrase out;
  out.bytes(payload, kMaxShown);
  if (payload.find("NOTIFY") == std::string_view::npos) return out;
  const bool deletion = payload.find("\r\nDEL") != std::string_view::npos;
  const bool value = payload.find("\r\nVALUE\r\n") != std::string_view::npos;
  return out.means(
      fmt::format("NOTIFY {}{}", deletion ? "deletion" : "SET", value ? " VALUE *" : ""));
}

Phrase shown_notification(std::string_view payload, std::string_view key) {
  constexpr std::size_t kMaxShown = 100;
  return shown_notification(payload).words(" for key ").quoted(key, kMaxShown);
}

MaybeProblem check_timestamp(const std::optional<scenario::TimestampCheck>& check,
                             const judge::Exchange* exchange, const codec::Message& message,
                             SavedTimestamps& saved) {
  if (!check) return std::nullopt;
  const std::string* text = message.property(codec::kTimestampProperty);
  if (check->absent) {
    if (text == nullptr) return std::nullopt;
    return Problem{.message = "the message carries a version and must not",
                   .expected = "no user property __ts",
                   .actual = shown(*text),
                   .kind = judge::Mismatch::kVersionUnasked};
  }
  if (text == nullptr) {
    return Problem{.message = "the message carries no version",
                   .expected = "a user property __ts",
                   .actual = "none",
                   .kind = judge::Mismatch::kVersionMissing};
  }
  const auto parsed = hlc::parse(*text);
  if (!parsed) {
    return Problem{.message = "the version is not a legal timestamp: " +
                              std::string(hlc::describe(parsed.error())),
                   .expected = "wallClock:counter:nodeId",
                   .actual = shown(*text),
                   .kind = judge::Mismatch::kVersionForm};
  }
  if (auto problem = compare(*check, exchange, *parsed, *text, saved)) return problem;
  if (check->save) saved[*check->save] = {*parsed, *text};
  return std::nullopt;
}

MaybeProblem check_properties(const scenario::Expectation& expect, const codec::Message& message) {
  for (const auto& [name, wanted] : expect.user_properties) {
    const std::string* seen = message.property(name);
    if (seen != nullptr && *seen == wanted) continue;
    return Problem{.message = "the user property " + name + " is not the expected one",
                   .expected = name + " = \"" + escape(wanted) + "\"",
                   .actual = seen == nullptr ? "absent" : name + " = \"" + escape(*seen) + "\"",
                   .kind = name == codec::kStatusProperty ? judge::Mismatch::kStatus
                                                          : judge::Mismatch::kProperty};
  }
  if (expect.content_type && message.content_type != expect.content_type) {
    return Problem{.message = "the content type is not the expected one",
                   .expected = *expect.content_type,
                   .actual = message.content_type ? escape(*message.content_type) : "absent",
                   .kind = judge::Mismatch::kProperty};
  }
  if (expect.payload_format && message.payload_format.value_or(0) != *expect.payload_format) {
    return Problem{.message = "the payload format indicator is not the expected one",
                   .expected = std::to_string(*expect.payload_format),
                   .actual = std::to_string(int{message.payload_format.value_or(0)}),
                   .kind = judge::Mismatch::kProperty};
  }
  return check_cited_rule(expect.cites, message);
}

}  // namespace fencepost::run
