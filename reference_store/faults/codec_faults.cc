// Faults of the parser and of what is written back.

#include <algorithm>
#include <array>
#include <cctype>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::ErrorCode;

// ---- helpers: a tolerant reader, for parsers that take more than they should

constexpr std::size_t kNoPosition = std::string::npos;

std::size_t line_end(std::string_view text, std::size_t from) { return text.find("\r\n", from); }

// The number after the type byte at `at`; nothing unless it is plain digits.
std::optional<std::uint64_t> number_at(std::string_view text, std::size_t at, std::size_t end) {
  if (at >= end || end == kNoPosition || end - at > 19) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = at; i < end; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  return number;
}

// Where the first value of `text` ends when it is an array of bulk strings, else kNoPosition.
std::size_t end_of_command(std::string_view text) {
  if (!text.starts_with('*')) return kNoPosition;
  std::size_t end = line_end(text, 1);
  const auto count = number_at(text, 1, end);
  if (!count) return kNoPosition;
  std::size_t at = end + 2;
  for (std::uint64_t i = 0; i < *count; ++i) {
    if (at >= text.size() || text[at] != '$') return kNoPosition;
    end = line_end(text, at);
    const auto length = number_at(text, at + 1, end);
    if (!length || *length > text.size() || end + 2 + *length + 2 > text.size()) return kNoPosition;
    at = end + 2 + *length + 2;
  }
  return at;
}

char upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

template <typename Change>
void change_argument(codec::Message& request, std::size_t index, Change change) {
  std::vector<std::string> arguments = arguments_of(request);
  if (index >= arguments.size()) return;
  change(arguments[index]);
  set_arguments(request, arguments);
}

constexpr std::size_t kKey = 1;
constexpr std::size_t kValue = 2;

bool has_value(const std::vector<std::string>& arguments) {
  return arguments.size() > kValue && (arguments[0] == "SET" || arguments[0] == "VDEL");
}

// ---- the request, misread

void verbs_in_any_case(codec::Message& request) {
  change_argument(request, 0, [](std::string& verb) {
    std::transform(verb.begin(), verb.end(), verb.begin(), upper);
  });
}

void options_in_any_case(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  if (arguments.empty() || arguments[0] != "SET") return;
  for (std::size_t i = kValue + 1; i < arguments.size(); ++i) {
    std::transform(arguments[i].begin(), arguments[i].end(), arguments[i].begin(), upper);
  }
  set_arguments(request, arguments);
}

void extra_arguments_ignored(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  if (arguments.empty()) return;
  const bool two = arguments[0] == "GET" || arguments[0] == "DEL";
  const std::size_t wanted = two ? 2 : arguments[0] == "VDEL" ? 3 : arguments.size();
  if (arguments.size() <= wanted) return;
  arguments.resize(wanted);
  set_arguments(request, arguments);
}

void trailing_bytes_ignored(codec::Message& request) {
  const std::size_t end = end_of_command(request.payload);
  if (end != kNoPosition) request.payload.resize(end);
}

void terminator_unchecked(codec::Message& request) {
  std::string& text = request.payload;
  if (end_of_command(text) != text.size()) return;
  std::size_t at = line_end(text, 1) + 2;
  while (at < text.size()) {
    const std::size_t end = line_end(text, at);
    at = end + 2 + *number_at(text, at + 1, end);
    text.replace(at, 2, "\r\n");
    at += 2;
  }
}

void last_terminator_missing(codec::Message& request) {
  const bool whole = end_of_command(request.payload) == request.payload.size();
  if (!whole && end_of_command(request.payload + "\r\n") == request.payload.size() + 2) {
    request.payload += "\r\n";
  }
}

// C06: lengths are read into 32 bits.
void length_wraps(codec::Message& request) {
  const std::string_view text = request.payload;
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const char type = text[at];
    const std::size_t end = line_end(text, at);
    const auto number = type == '$' || type == '*' ? number_at(text, at + 1, end) : std::nullopt;
    if (!number) break;
    const auto wrapped = static_cast<std::uint32_t>(*number);
    out += type + std::to_string(wrapped) + "\r\n";
    at = end + 2;
    if (type == '*') continue;
    const std::size_t body = std::min(std::size_t{wrapped} + 2, text.size() - at);
    out += text.substr(at, body);
    at += body;
  }
  out += text.substr(std::min(at, text.size()));
  request.payload = out;
}

void leading_zeros_and_signs(codec::Message& request) {
  constexpr std::size_t kShort = 4096;  // large values are left alone: this takes its time
  std::string& text = request.payload;
  if (text.size() > kShort) return;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    const bool line_start = at == 0 || text[at - 1] == '\n';
    if (!line_start || (text[at] != '$' && text[at] != '*')) continue;
    while (at + 2 < text.size() && (text[at + 1] == '0' || text[at + 1] == '+') &&
           std::isdigit(static_cast<unsigned char>(text[at + 2])) != 0) {
      text.erase(at + 1, 1);
    }
  }
}

void bare_line_feeds(codec::Message& request) {
  if (request.payload.find('\r') != std::string::npos) return;
  std::string out;
  for (const char c : request.payload) {
    if (c == '\n') out += '\r';
    out += c;
  }
  request.payload = out;
}

void value_cut_at_nul(codec::Message& request) {
  if (!has_value(arguments_of(request))) return;
  change_argument(request, kValue, [](std::string& value) {
    value.resize(std::min(value.size(), value.find('\0')));
  });
}

void line_ends_normalised(codec::Message& request) {
  if (!has_value(arguments_of(request))) return;
  change_argument(request, kValue, [](std::string& value) {
    std::string out;
    for (const char c : value) {
      if (c != '\r') out += c;
    }
    value = out;
  });
}

void invalid_utf8_replaced(codec::Message& request) {
  if (!has_value(arguments_of(request))) return;
  change_argument(request, kValue, [](std::string& value) {
    constexpr unsigned char kNeverLegal = 0xf5;
    std::string out;
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      const bool bad = byte >= kNeverLegal || byte == 0xc0 || byte == 0xc1;
      out += bad ? std::string("\xef\xbf\xbd") : std::string(1, c);
    }
    value = out;
  });
}

void key_in_any_case(codec::Message& request) {
  change_argument(request, kKey, [](std::string& key) {
    std::transform(key.begin(), key.end(), key.begin(), lower);
  });
}

void key_trimmed(codec::Message& request) {
  change_argument(request, kKey, [](std::string& key) {
    while (!key.empty() && key.back() == ' ') key.pop_back();
  });
}

void key_cut_at_255(codec::Message& request) {
  change_argument(request, kKey,
                  [](std::string& key) { key.resize(std::min<std::size_t>(key.size(), 255)); });
}

void key_cut_at_nul(codec::Message& request) {
  change_argument(request, kKey,
                  [](std::string& key) { key.resize(std::min(key.size(), key.find('\0'))); });
}

void empty_key_accepted(codec::Message& request) {
  change_argument(request, kKey, [](std::string& key) {
    if (key.empty()) key = "the-empty-key";
  });
}

void value_length_modulo_65536(codec::Message& request) {
  if (!has_value(arguments_of(request))) return;
  change_argument(request, kValue, [](std::string& value) {
    if (value.size() >= 0x10000) value.resize(value.size() % 0x10000);
  });
}

// ---- the reply, miswritten

void length_in_characters(Exchange& exchange) {
  if (!exchange.replies(codec::ReplyKind::kValue)) return;
  const std::string value(exchange.reply()->value);
  const auto characters = std::count_if(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;  // all but continuation bytes
  });
  exchange.response()->payload = "$" + std::to_string(characters) + "\r\n" + value + "\r\n";
}

void empty_value_is_missing(Exchange& exchange) {
  codec::Message* response = exchange.response();
  if (response != nullptr && response->payload == "$0\r\n\r\n") response->payload = "$-1\r\n";
}

void reply_without_line_end(Exchange& exchange) {
  codec::Message* response = exchange.response();
  if (response == nullptr || response->payload.starts_with("-ERR")) return;
  response->payload.resize(response->payload.size() - 2);
}

void malformed_gets_no_reply(Exchange& exchange) {
  if (exchange.replies(ErrorCode::kSyntax) && !exchange.command) exchange.out.clear();
}

// C21: the text of an error holds what the request held.
void error_echoes_the_request(Exchange& exchange) {
  if (!exchange.replies(ErrorCode::kUnknownCommand)) return;
  const std::vector<std::string> arguments = arguments_of(exchange.request);
  if (arguments.empty()) return;
  exchange.response()->payload = "-ERR unknown command " + arguments[0] + "\r\n";
}

// C29: more behind the listed text than clients expect there.
void error_has_detail(Exchange& exchange) {
  if (exchange.response() == nullptr || !exchange.replies(codec::ReplyKind::kError)) return;
  std::string& payload = exchange.response()->payload;
  payload.insert(payload.size() - 2, " (see the log)");
}

// C30: the form that the article has for KEYNOTIFY alone.
void every_error_has_a_colon(Exchange& exchange) {
  constexpr std::string_view kPlain = "-ERR ";
  codec::Message* response = exchange.response();
  if (response == nullptr || !response->payload.starts_with(kPlain)) return;
  response->payload.replace(0, kPlain.size(), "-ERR: ");
}

void unknown_and_syntax_swapped(Exchange& exchange) {
  const bool unknown = exchange.replies(ErrorCode::kUnknownCommand);
  if (!unknown && !exchange.replies(ErrorCode::kSyntax)) return;
  const ErrorCode other = unknown ? ErrorCode::kSyntax : ErrorCode::kUnknownCommand;
  answer_error(exchange, other);
}

void arity_is_a_syntax_error(Exchange& exchange) {
  if (!exchange.replies(ErrorCode::kWrongArgumentCount)) return;
  answer_error(exchange, ErrorCode::kSyntax);
}

// C07, C08: after a request with a negative, or a huge, length the store answers no client.
class DiesOf final : public Decorator {
 public:
  DiesOf(const ServiceOptions& options, std::string_view what) : Decorator(options), what_(what) {}

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    dead_ = dead_ || request.payload.find(what_) != std::string::npos;
    return dead_ ? Handling::kIgnored : Decorator::handle(caller, request, now, out);
  }

 private:
  std::string_view what_;
  bool dead_ = false;
};

MakeHandler dies_of(std::string_view what) {
  return [what](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<DiesOf>(options, what);
  };
}

// C20: what a truncated request left is taken for the beginning of the next.
class StateLeaksToTheNextRequest final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    const bool whole = end_of_command(request.payload) == request.payload.size();
    const std::string received = request.payload;
    request.payload = rest_ + request.payload;
    rest_.clear();
    if (!whole && received.starts_with('*')) rest_ = received;
  }

  std::string rest_;
};

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> codec_faults() {
  return {
      {.id = "C02",
       .name = "options-in-any-case",
       .text = "nx, nex and px are accepted as options",
       .kind = FaultKind::kBenign,
       .make = with_request(options_in_any_case)},
      {.id = "C05",
       .name = "terminator-unchecked",
       .text = "any two bytes are accepted as the end of a bulk string",
       .requirements = {"RESP-BULK-1", "RESP-CRLF-1", "RESP-INVALID-4"},
       .make = with_request(terminator_unchecked)},
      {.id = "C06",
       .name = "length-wraps-at-32-bits",
       .text = "a length of 2^32 or more wraps around to 0",
       .requirements = {"RESP-INVALID-3", "RESP-INVALID-4"},
       .make = with_request(length_wraps)},
      {.id = "C07",
       .name = "stops-on-a-negative-length",
       .text = "a negative length stops the store",
       .requirements = {"RESP-INVALID-1"},
       .make = dies_of("$-2\r\n")},
      {.id = "C08",
       .name = "stops-on-a-huge-count",
       .text = "a huge count of elements stops the store",
       .requirements = {"RESP-INVALID-1"},
       .make = dies_of("*1000000000\r\n")},
      {.id = "C09",
       .name = "value-cut-at-nul",
       .text = "a value is cut at its first NUL",
       .requirements = {"RESP-BINARY-1", "SET-VALUE-1", "GET-HIT-3"},
       .make = with_request(value_cut_at_nul)},
      {.id = "C10",
       .name = "line-ends-normalised",
       .text = "CR is dropped from values",
       .requirements = {"RESP-BINARY-1", "SET-VALUE-1", "GET-HIT-3"},
       .make = with_request(line_ends_normalised)},
      {.id = "C11",
       .name = "invalid-utf-8-replaced",
       .text = "bytes of a value that are not UTF-8 are replaced by U+FFFD",
       .requirements = {"SET-VALUE-1", "GET-HIT-3"},
       .make = with_request(invalid_utf8_replaced)},
      {.id = "C12",
       .name = "length-in-characters",
       .text = "the length of a value counts characters",
       .requirements = {"GET-HIT-2"},
       .make = with_exchange(length_in_characters)},
      {.id = "C13",
       .name = "keys-in-any-case",
       .text = "keys that differ only in letter case are the same",
       .requirements = {"KEY-BINARY-1"},
       .make = with_request(key_in_any_case)},
      {.id = "C14",
       .name = "key-cut-at-255-bytes",
       .text = "keys that differ only after byte 255 are the same",
       .requirements = {"KEY-BINARY-1"},
       .make = with_request(key_cut_at_255)},
      {.id = "C23",
       .name = "key-trimmed",
       .text = "spaces at the end of a key are ignored",
       .requirements = {"KEY-BINARY-1"},
       .make = with_request(key_trimmed)},
      {.id = "C24",
       .name = "key-cut-at-nul",
       .text = "a key is cut at its first NUL",
       .requirements = {"KEY-BINARY-1", "RESP-BINARY-1"},
       .make = with_request(key_cut_at_nul)},
      {.id = "C15",
       .name = "empty-key-accepted",
       .text = "a key may be empty",
       .requirements = {"KEY-EMPTY-1"},
       .make = with_request(empty_key_accepted)},
      {.id = "C16",
       .name = "empty-value-is-missing",
       .text = "GET of an empty value answers $-1",
       .requirements = {"GET-HIT-4", "SET-VALUE-2"},
       .make = with_exchange(empty_value_is_missing)},
      {.id = "C17",
       .name = "value-length-modulo-65536",
       .text = "the length of values of 64 KiB and more is taken modulo 65536",
       .requirements = {"LIMIT-VALUE-1", "GET-HIT-3", "SET-VALUE-1"},
       .make = with_request(value_length_modulo_65536)},
      {.id = "C18",
       .name = "reply-without-line-end",
       .text = "responses lack their last CR LF",
       .requirements = {"SET-OK-1", "GET-HIT-1"},
       .make = with_exchange(reply_without_line_end)},
      {.id = "C19",
       .name = "malformed-gets-no-reply",
       .text = "a payload that is not a request is not answered",
       .requirements = {"RESP-INVALID-1"},
       .make = with_exchange(malformed_gets_no_reply)},
      {.id = "C20",
       .name = "state-leaks-to-the-next-request",
       .text = "the remainder of a truncated request corrupts the next request",
       .requirements = {"RESP-INVALID-1", "ENV-RESPONSE-1", "ERR-STATE-1"},
       .make = with_decorator<StateLeaksToTheNextRequest>()},
      {.id = "C21",
       .name = "error-echoes-the-request",
       .text = "the text of an unknown command contains the verb of the request, including its "
               "line endings",
       .requirements = {"RESP-ERROR-FORM-1", "ERR-EXACT-1", "ERR-COMMAND-1", "ERR-TEXT-8"},
       .make = with_exchange(error_echoes_the_request)},
      {.id = "C29",
       .name = "error-with-detail",
       .text = "the text of an error has more after the listed text",
       .requirements = {"ERR-EXACT-1"},
       .make = with_exchange(error_has_detail)},
      {.id = "C30",
       .name = "colon-in-every-error",
       .text = "every error begins with \"-ERR: \"",
       .requirements = {"RESP-ERROR-FORM-1"},
       .make = with_exchange(every_error_has_a_colon)},
      {.id = "C22",
       .name = "unknown-and-syntax-swapped",
       .text = "an unknown command gets the text of a syntax error, and vice versa",
       .requirements = {"ERR-COMMAND-1", "ERR-SYNTAX-1", "ERR-TEXT-6", "ERR-TEXT-8"},
       .make = with_exchange(unknown_and_syntax_swapped)},
      {.id = "C25",
       .name = "arity-is-a-syntax-error",
       .text = "a wrong number of arguments is answered with the text of a syntax error",
       .requirements = {"ERR-ARITY-1", "ERR-TEXT-9"},
       .make = with_exchange(arity_is_a_syntax_error)},
      {.id = "C26",
       .name = "last-line-end-optional",
       .text = "a request without its last CR LF is accepted",
       .requirements = {"RESP-CRLF-1", "RESP-INVALID-4"},
       .make = with_request(last_terminator_missing)},
      // The article leaves these open.
      {.id = "C01",
       .name = "verbs-in-any-case",
       .text = "get is accepted as GET",
       .kind = FaultKind::kBenign,
       .make = with_request(verbs_in_any_case)},
      {.id = "C03",
       .name = "extra-arguments-ignored",
       .text = "extra arguments of GET, DEL and VDEL are ignored",
       .requirements = {"ERR-ARITY-1", "ERR-ARITY-OPEN-1"},
       .make = with_request(extra_arguments_ignored)},
      {.id = "C04",
       .name = "trailing-bytes-ignored",
       .text = "bytes after the request are ignored",
       .kind = FaultKind::kBenign,
       .make = with_request(trailing_bytes_ignored)},
      {.id = "C27",
       .name = "leading-zeros-and-signs-in-lengths",
       .text = "lengths with leading zeros or a plus sign are accepted",
       .kind = FaultKind::kBenign,
       .make = with_request(leading_zeros_and_signs)},
      {.id = "C28",
       .name = "bare-line-feeds",
       .text = "lines may end in a bare LF",
       .kind = FaultKind::kBenign,
       .make = with_request(bare_line_feeds)},
  };
}

}  // namespace fencepost::store
