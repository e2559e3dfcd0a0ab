#include "suite/judge/oracle_payload.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "codec/dialect.h"
#include "codec/resp3.h"

namespace fencepost::judge {
namespace {

using codec::ErrorCode;
using codec::Verb;

// (Req: CASE-OPTION-OPEN-1)
std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

// Has it NX or NEX among its options? Then it may be answered with minus one, regardless of what
// else is wrong with it. (Req: ERR-ORDER-OPEN-2)
bool has_condition(const codec::CommandFrame& frame) {
  if (upper(frame.arguments[0]) != "SET") return false;
  const std::size_t count = std::min(frame.count, codec::CommandFrame::kStored);
  for (std::size_t i = 3; i < count; ++i) {
    const std::string word = upper(frame.arguments[i]);
    if (word == "NX" || word == "NEX") return true;
  }
  return false;
}

// May bytes that we do not read as a payload still be a request? Other types, streams, lengths with
// zeros and signs, bare line feeds, inline commands. (Req: RESP-*-OPEN-1)
bool is_open_framing(std::string_view payload, const codec::DecodeError& error) {
  // `$2\r\nk\r\n`: to a store that takes a bare LF, the CR belongs to the two bytes.
  if (error.offset < payload.size() && payload[error.offset] == '\n') return true;
  const std::size_t blank = payload.find(' ');
  if (blank != std::string_view::npos && codec::verb_named(payload.substr(0, blank))) return true;
  if (payload.starts_with("HELLO")) return true;
  if (payload.starts_with('~') || payload.starts_with('>') || payload.starts_with('|')) return true;
  if (!payload.starts_with('*')) return false;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const char c = payload[i];
    const char before = i > 0 ? payload[i - 1] : '\0';
    if (c == '\n' && before != '\r') return true;
    const bool header = before == '*' || before == '$';
    if (header && (c == '+' || c == '-' || c == ' ' || c == '?')) return true;
    if (header && c == '0' && i + 1 < payload.size() && payload[i + 1] != '\r') return true;
    if (header &&
        payload.substr(i, payload.find('\r', i) - i).find(' ') != std::string_view::npos) {
      return true;  // `$3 `
    }
    const bool begins_line = before == '\n';
    if (begins_line && std::string_view("+:_#,(=~%>|").find(c) != std::string_view::npos)
      return true;
  }
  return false;
}

// Does a payload that is broken further on begin with a verb that nobody knows? A store that reads
// as it goes refuses that first. (Req: ERR-ORDER-OPEN-1)
bool may_be_unknown_verb(std::string_view payload) {
  const std::size_t first = payload.find("\r\n");
  if (first == std::string_view::npos) return false;
  // A line of text is a request to a store that takes inline commands. (Req: RESP-INLINE-OPEN-1)
  constexpr std::string_view kTypes = "*$+-:_#,(=~%>|!;";
  const bool is_text = payload[0] > ' ' && payload[0] <= '~';
  if (is_text && kTypes.find(payload[0]) == std::string_view::npos) return true;
  if (!payload.starts_with('*')) return false;
  std::string_view rest = payload.substr(first + 2);
  const std::size_t length = rest.find("\r\n");
  if (!rest.starts_with('$') || length == std::string_view::npos) return false;
  // The length is not believed, as that may be what is broken.
  rest.remove_prefix(length + 2);
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return false;
  return !codec::verb_named(rest.substr(0, end));
}

// May a request without this error have another one, for its timestamp or token?
bool has_other_fault(const codec::Message& request, bool is_set) {
  const std::string* timestamp = request.property(codec::kTimestampProperty);
  const std::string* token = request.property(codec::kTokenProperty);
  // A SET without `__ts` has one already. Req: HLC-REQUIRED-1
  return token != nullptr || timestamp != nullptr || is_set;
}

// `PX 05`.
bool has_leading_zero(const codec::CommandFrame& frame) {
  const std::size_t count = std::min(frame.count, codec::CommandFrame::kStored);
  for (std::size_t i = 4; i < count; ++i) {
    const std::string_view number = frame.arguments[i];
    if (frame.arguments[i - 1] == "PX" && number.size() > 1 && number[0] == '0') return true;
  }
  return false;
}

// May a store take these options, which we refuse, all the same? Regardless of their meaning, they
// are options, and what follows PX is somebody's number. (Req: SET-OPTION-OPEN-*, SET-PX-OPEN-*,
// SET-NEX-OPEN-1)
bool may_be_options(const codec::CommandFrame& frame) {
  const std::size_t count = std::min(frame.count, codec::CommandFrame::kStored);
  for (std::size_t i = 3; i < count; ++i) {
    const std::string word = upper(frame.arguments[i]);
    if (word == "NX") continue;
    const std::string next = i + 1 < count ? upper(frame.arguments[i + 1]) : std::string();
    const bool option_next = next == "NX" || next == "NEX" || next == "PX";
    if (word == "NEX") {
      if (!option_next) ++i;
      continue;
    }
    if (word != "PX") return false;
    if (next.find_first_of("0123456789") == std::string_view::npos && !option_next) return false;
    if (!option_next) ++i;
  }
  return true;
}

}  // namespace

UnspecifiedChoice open_form_of(const codec::Command& command, std::string_view payload) {
  if (command.verb != Verb::kSet || !command.expires_after) return {};
  if (!codec::parse_command(payload, codec::dialect(codec::DialectId::kDocumented))) {
    return {"SET-PX-OPEN-4", {}, {}};
  }
  const auto frame = codec::decode_command(payload);
  if (frame && has_leading_zero(*frame)) return {"SET-PX-OPEN-3", "leading zeros", {}, true};
  if (command.condition == codec::Condition::kAlways) return {};
  const bool px_first = frame && frame->count > 3 && frame->arguments[3] == "PX";
  return px_first ? UnspecifiedChoice{"SET-OPTION-OPEN-3", {}, {}} : UnspecifiedChoice{};
}

bool may_be_refused_for_properties(const codec::Message& request) {
  return request.property(codec::kTimestampProperty) != nullptr ||
         request.property(codec::kTokenProperty) != nullptr;
}

bool is_definite(const codec::Message& request, ErrorCode error) {
  const std::string_view payload = request.payload;
  const auto frame = codec::decode_command(payload);
  if (!frame) {
    // Open are bytes behind the array, no bytes at all, and an array of nothing. Req:
    // RESP-TRAILING-OPEN-1, RESP-EMPTY-OPEN-1, RESP-NULL-OPEN-1
    return !is_open_framing(payload, frame.error()) && !may_be_unknown_verb(payload) &&
           frame.error().code != codec::DecodeErrorCode::kTrailingBytes &&
           frame.error().code != codec::DecodeErrorCode::kEmptyInput &&
           frame.error().code != codec::DecodeErrorCode::kNoElements;
  }
  const std::string_view verb = frame->arguments[0];
  switch (error) {
    case ErrorCode::kUnknownCommand: {
      // Verbs that a newer store may know are words of capitals. (Req: ERR-COMMAND-OPEN-2)
      constexpr std::array kNewer = {"SCAN", "KEYS", "MGET", "MSET", "EXISTS", "EXPIRE", "TTL"};
      // Who looks at the key, or at timestamps, before the verb finds another error.
      return !verb.empty() && (frame->count == 1 || !frame->arguments[1].empty()) &&
             !has_other_fault(request, false) &&
             std::all_of(verb.begin(), verb.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) &&
             std::find(kNewer.begin(), kNewer.end(), verb) == kNewer.end();
    }
    case ErrorCode::kWrongArgumentCount:
      // One too many, or a value that is missing, may be a syntax error as well (ERR-ARITY-OPEN-1);
      // a key that is missing may not.
      return frame->count == 1 && !has_other_fault(request, verb == "SET");
    case ErrorCode::kEmptyKey:
      return verb != "KEYNOTIFY" && !has_other_fault(request, verb == "SET");
    default:
      return false;
  }
}

bool is_lenient(const codec::Message& request, ErrorCode error) {
  const std::string_view payload = request.payload;
  const auto frame = codec::decode_command(payload);
  if (!frame) {
    return is_open_framing(payload, frame.error()) ||
           frame.error().code == codec::DecodeErrorCode::kTrailingBytes;
  }
  if (has_condition(*frame)) return true;
  if (error == ErrorCode::kSyntax && frame->arguments[0] == "SET") return may_be_options(*frame);
  return error == ErrorCode::kSyntax || !is_definite(request, error);
}

}  // namespace fencepost::judge
