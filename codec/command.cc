#include "codec/command.h"

#include <charconv>

#include "base/check.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kNx = "NX";
constexpr std::string_view kNex = "NEX";
constexpr std::string_view kPx = "PX";
constexpr std::string_view kStop = "STOP";

bool all_digits(std::string_view text) {
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return !text.empty();
}

// Whole milliseconds; in the deployed dialect a fraction may follow, which is dropped. Leading
// zeros are harmless and accepted; signs, blanks and exponents are not.
std::optional<std::chrono::milliseconds> parse_expiry(std::string_view text,
                                                      const Dialect& dialect) {
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) {
    // Digits on both sides: clients print neither `1.` nor `.5`. Req: SET-PX-OPEN-4
    if (!dialect.fractional_expiry || !all_digits(text.substr(point + 1))) return std::nullopt;
    text = text.substr(0, point);
  }
  if (!all_digits(text)) return std::nullopt;
  std::int64_t milliseconds = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  // Beyond 64 bits it is an integer overflow, and so an invalid payload (RESP-INVALID-3); the bound
  // below that is our own. Req: SET-PX-OPEN-5
  if (code != std::errc{} || milliseconds > kMaxExpiry.count()) return std::nullopt;
  return std::chrono::milliseconds{milliseconds};
}

// Reads NX, NEX and PX in any order, each at most once, NX and NEX not together. False when they
// are not that. All of this is open; refusing what nobody can mean is how the reference store
// decides it. Req: SET-OPTION-OPEN-1 to SET-OPTION-OPEN-3. NEX takes no argument: SET-NEX-4
bool parse_set_options(const CommandFrame& frame, const Dialect& dialect, Command& command) {
  for (std::size_t i = 3; i < frame.count; ++i) {
    const std::string_view option = frame.arguments[i];
    if (option == kNx || option == kNex) {
      if (command.condition != Condition::kAlways) return false;
      command.condition = option == kNx ? Condition::kIfAbsent : Condition::kIfAbsentOrEqual;
    } else if (option == kPx) {
      if (command.expires_after || ++i == frame.count) return false;
      command.expires_after = parse_expiry(frame.arguments[i], dialect);
      if (!command.expires_after) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool parse_options(const CommandFrame& frame, const Dialect& dialect, Command& command) {
  if (has_value(command.verb)) command.value = frame.arguments[2];
  if (command.verb == Verb::kSet) return parse_set_options(frame, dialect, command);
  if (command.verb != Verb::kKeynotify) return true;
  // STOP is the only option in any list, though the text of an example has GET. Req: NTF-GET-OPEN-1
  command.stop = frame.count == 3;
  return !command.stop || frame.arguments[2] == kStop;
}

std::optional<ErrorCode> parse_into(Command& command, std::string_view payload,
                                    const Dialect& dialect, const Limits& limits) {
  const Result<CommandFrame, DecodeError> frame = decode_command(payload, limits);
  if (!frame) return ErrorCode::kSyntax;
  const std::optional<Verb> verb = verb_named(frame->arguments[0]);
  if (!verb) return ErrorCode::kUnknownCommand;
  // Before the options: `PX 1 PX 2` makes one argument too many, also where that would be
  // (SET-OPTION-OPEN-1).
  const VerbFacts& allowed = facts_of(*verb);
  if (frame->count < allowed.least || frame->count > allowed.most) {
    return ErrorCode::kWrongArgumentCount;
  }
  static_assert(CommandFrame::kStored >= 6, "the longest command must fit");
  command.verb = *verb;
  command.key = frame->arguments[1];
  if (!parse_options(*frame, dialect, command)) return ErrorCode::kSyntax;
  // Last of all, as the order of checks is open. Req: ERR-ORDER-OPEN-1, KEY-EMPTY-1
  if (command.key.empty()) return ErrorCode::kEmptyKey;
  return std::nullopt;
}

}  // namespace

// The result is made where the caller wants it: it is too large to be copied for nothing.
Result<Command, ErrorCode> parse_command(std::string_view payload, const Dialect& dialect,
                                         const Limits& limits) {
  Result<Command, ErrorCode> command;
  const std::optional<ErrorCode> failed = parse_into(*command, payload, dialect, limits);
  if (failed) command = fail(*failed);
  return command;
}

std::optional<Verb> verb_of(std::string_view payload, const Limits& limits) {
  const Result<CommandFrame, DecodeError> frame = decode_command(payload, limits);
  if (!frame) return std::nullopt;
  return verb_named(frame->arguments[0]);
}

std::string encode(const Command& command) {
  const std::string expiry =
      command.expires_after ? std::to_string(command.expires_after->count()) : std::string();
  std::vector<std::string_view> arguments = {name(command.verb), command.key};
  if (has_value(command.verb)) arguments.push_back(command.value);
  // The condition goes before PX, as all clients send it: the other order is open
  // (SET-OPTION-OPEN-3).
  if (command.condition == Condition::kIfAbsent) arguments.push_back(kNx);
  if (command.condition == Condition::kIfAbsentOrEqual) arguments.push_back(kNex);
  if (command.expires_after) {
    arguments.push_back(kPx);
    arguments.push_back(expiry);
  }
  if (command.stop) arguments.push_back(kStop);
  return encode_command(arguments);
}

}  // namespace fencepost::codec
