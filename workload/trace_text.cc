#include "workload/trace_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace fencepost::workload {

namespace {

constexpr std::array<std::string_view, kStampBases> kBaseNames = {
    "none", "now", "start", "token", "version", "epoch", "max", "bad"};
// Kinds that are requests by their verb.
constexpr std::array<std::string_view, 6> kVerbNames = {"SET",  "GET",       "DEL",
                                                        "VDEL", "KEYNOTIFY", "STOP"};

std::string quoted_value(std::string_view bytes) { return '"' + escape(bytes) + '"'; }

std::string text_of(const Stamp& stamp) {
  std::string text(kBaseNames.at(static_cast<std::size_t>(stamp.base)));
  if (stamp.base == StampBase::kAbsent) return text;
  if (stamp.base == StampBase::kMalformed) {
    return stamp.malformed < malformed_texts().size()
               ? text + std::to_string(stamp.malformed)
               : quoted_value(malformed_text(stamp.malformed));
  }
  if (stamp.of_key < kKeys) text += "@k" + std::to_string(stamp.of_key);
  if (stamp.offset_ms > 0) text += "+";
  if (stamp.offset_ms != 0) text += std::to_string(stamp.offset_ms);
  if (stamp.counter != 0) text += "/" + std::to_string(stamp.counter);
  if (stamp.node != 0) text += "#" + std::to_string(stamp.node);
  if (stamp.padded) text += "p";
  return text;
}

// Takes text from the front of a line.
class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) { blanks(); }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  bool literal(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  // A word with what parts it from the next.
  bool word(std::string_view text) {
    const Scanner before = *this;
    if (literal(text) && (rest_.empty() || rest_.front() == ' ')) {
      blanks();
      return true;
    }
    *this = before;
    return false;
  }

  template <typename T>
  std::optional<T> number() {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  // A small number below `limit`.
  std::optional<std::uint8_t> index(std::size_t limit) {
    const auto value = number<std::uint8_t>();
    if (value && *value < limit) return value;
    return std::nullopt;
  }

  std::optional<std::string> bytes() {
    if (!literal("\"")) return std::nullopt;
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return std::nullopt;
    std::optional<std::string> value = unescape(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }

  void blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  [[nodiscard]] char front() const { return rest_.empty() ? '\0' : rest_.front(); }

 private:
  std::string_view rest_;
};

std::optional<std::uint64_t> read_counter(Scanner& scanner) {
  if (scanner.front() != '-') return scanner.number<std::uint64_t>();
  const auto negative = scanner.number<std::int64_t>();
  if (!negative) return std::nullopt;
  return static_cast<std::uint64_t>(*negative);
}

// What follows the base of a timestamp; false when it is not understood.
bool read_details(Scanner& scanner, Stamp& stamp) {
  if (scanner.literal("@k")) {
    const auto key = scanner.index(kKeys);
    if (!key) return false;
    stamp.of_key = *key;
  }
  if (scanner.front() == '+' || scanner.front() == '-') {
    scanner.literal("+");
    const auto offset = scanner.number<std::int32_t>();
    if (!offset) return false;
    stamp.offset_ms = *offset;
  }
  if (scanner.literal("/")) {
    const auto counter = read_counter(scanner);
    if (!counter) return false;
    stamp.counter = *counter;
  }
  if (scanner.literal("#")) {
    const auto node = scanner.index(nodes().size());
    if (!node) return false;
    stamp.node = *node;
  }
  stamp.padded = scanner.literal("p");
  return true;
}

// A text of nearly_timestamps().
std::optional<Stamp> read_nearly(Scanner& scanner) {
  const auto text = scanner.bytes();
  const std::vector<std::string>& all = nearly_timestamps();
  const auto found = text ? std::lower_bound(all.begin(), all.end(), *text) : all.end();
  if (found == all.end() || *found != *text) return std::nullopt;
  const auto number = malformed_texts().size() + static_cast<std::size_t>(found - all.begin());
  return Stamp{.base = StampBase::kMalformed, .malformed = static_cast<std::uint16_t>(number)};
}

std::optional<Stamp> read_stamp(Scanner& scanner) {
  if (scanner.front() == '"') return read_nearly(scanner);
  for (std::size_t i = 0; i < kBaseNames.size(); ++i) {
    if (!scanner.literal(kBaseNames.at(i))) continue;
    Stamp stamp{.base = static_cast<StampBase>(i)};
    if (stamp.base == StampBase::kMalformed) {
      const auto number = scanner.index(malformed_texts().size());
      if (!number) return std::nullopt;
      stamp.malformed = *number;
    } else if (stamp.base != StampBase::kAbsent && !read_details(scanner, stamp)) {
      return std::nullopt;
    }
    return stamp;
  }
  return std::nullopt;
}

// The options of a request, in any order. Nothing, or what was expected.
std::optional<std::string> read_options(Scanner& scanner, Operation& operation) {
  while (!scanner.at_end()) {
    if (scanner.word("NX")) {
      operation.condition = codec::Condition::kIfAbsent;
    } else if (scanner.word("NEX")) {
      operation.condition = codec::Condition::kIfAbsentOrEqual;
    } else if (scanner.word("PX")) {
      operation.px_ms = scanner.number<std::int64_t>();
      if (!operation.px_ms) return "a number after PX";
    } else {
      const bool timestamp = scanner.literal("ts=");
      if (!timestamp && !scanner.literal("ft=")) return "NX, NEX, PX, ts= or ft=";
      const std::optional<Stamp> stamp = read_stamp(scanner);
      if (!stamp) return "a timestamp";
      (timestamp ? operation.timestamp : operation.token) = *stamp;
      if (!scanner.at_end() && scanner.front() != ' ') return "a blank after the timestamp";
    }
    scanner.blanks();
  }
  return std::nullopt;
}

// What a client does. Nothing, or what was expected.
std::optional<std::string> read_client_operation(Scanner& scanner, Operation& operation) {
  const auto client = scanner.index(kClients);
  if (!client) return "the number of a client";
  operation.client = *client;
  scanner.blanks();
  if (scanner.word("disconnect")) {
    operation.kind = Kind::kDisconnect;
    return std::nullopt;
  }
  bool known = scanner.word("raw");
  if (known) operation.kind = Kind::kRawPayload;
  for (std::size_t i = 0; !known && i < kVerbNames.size(); ++i) {
    known = scanner.word(kVerbNames.at(i));
    if (known) operation.kind = static_cast<Kind>(i);
  }
  if (!known) return "a verb, raw or disconnect";
  operation.timestamp = default_timestamp(operation.kind);
  if (has_key(operation.kind)) {
    if (!scanner.literal("k")) return "a key";
    const auto key = scanner.index(kKeys);
    if (!key) return "the number of a key";
    operation.key = *key;
    scanner.blanks();
  }
  if (has_value(operation.kind)) {
    std::optional<std::string> value = scanner.bytes();
    if (!value) return "a value in quotes";
    operation.value = std::move(*value);
    scanner.blanks();
  }
  return read_options(scanner, operation);
}

std::optional<std::string> read_operation(Scanner& scanner, Operation& operation) {
  if (scanner.literal("c")) return read_client_operation(scanner, operation);
  if (scanner.word("wait")) {
    operation.kind = Kind::kWait;
  } else if (scanner.word("wall")) {
    operation.kind = Kind::kWallStep;
  } else {
    return "a client, wait or wall";
  }
  const auto by = scanner.number<std::int32_t>();
  if (!by) return "a number of milliseconds";
  operation.by_ms = *by;
  scanner.blanks();
  operation.timer = scanner.word("timer");
  return scanner.at_end() ? std::nullopt : std::optional<std::string>("the end of the line");
}

}  // namespace

std::string to_text(const Operation& operation) {
  const Kind kind = operation.kind;
  if (kind == Kind::kWallStep) return "wall " + std::to_string(operation.by_ms);
  if (kind == Kind::kWait) {
    return "wait " + std::to_string(operation.by_ms) + (operation.timer ? " timer" : "");
  }
  std::string text = "c" + std::to_string(operation.client) + " ";
  if (kind == Kind::kDisconnect) return text + "disconnect";
  if (has_key(kind)) {
    text += kVerbNames.at(static_cast<std::size_t>(kind));
    text += " k" + std::to_string(operation.key);
  } else {
    text += "raw";
  }
  if (has_value(kind)) {
    text += " " + quoted_value(operation.value);
  }
  if (operation.condition == codec::Condition::kIfAbsent) text += " NX";
  if (operation.condition == codec::Condition::kIfAbsentOrEqual) text += " NEX";
  if (operation.px_ms) text += " PX " + std::to_string(*operation.px_ms);
  if (operation.timestamp != default_timestamp(kind)) text += " ts=" + text_of(operation.timestamp);
  if (operation.token.base != StampBase::kAbsent) text += " ft=" + text_of(operation.token);
  return text;
}

std::string to_text(const Trace& trace) {
  std::string text;
  for (const Operation& operation : trace) text += to_text(operation) + "\n";
  return text;
}

Result<Trace, std::string> parse_trace(std::string_view text) {
  Trace trace;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    Scanner scanner(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (scanner.at_end() || scanner.front() == '#') continue;
    Operation operation;
    if (const std::optional<std::string> expected = read_operation(scanner, operation)) {
      return fail("line " + std::to_string(line) + ": expected " + *expected);
    }
    if (trace.size() == kMaxOperations) {
      return fail("line " + std::to_string(line) + ": expected at most " +
                  std::to_string(kMaxOperations) + " operations");
    }
    trace.push_back(normalized(std::move(operation)));
  }
  return trace;
}

}  // namespace fencepost::workload
