#include "suite/scenario/timestamp_expression.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {
namespace {

constexpr std::string_view kForms =
    "a timestamp is `now` or a saved name, then optionally `+ 61s` or `- 1ms`, `counter + 1` "
    "(or `- 1`, or `= 7`), and `node \"B\"`; or `skew-limit`, which needs `- 100ms` (less than a "
    "minute ahead) or `+ 100ms` (more)";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(' ', at)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads `+ 61s`, `- 1ms` at words[i].
bool read_offset(const std::vector<std::string_view>& words, std::size_t i,
                 TimestampExpression& out) {
  if (i + 1 >= words.size()) return false;
  const auto duration = parse_duration(words[i + 1]);
  if (!duration) return false;
  out.offset_ms = words[i] == "+" ? duration->count() : -duration->count();
  return true;
}

// Reads `counter + 1`, `counter - 1`, `counter = 7` at words[i].
bool read_counter(const std::vector<std::string_view>& words, std::size_t i,
                  TimestampExpression& out) {
  if (i + 2 >= words.size()) return false;
  const auto number = parse_number<std::uint64_t>(words[i + 2]);
  if (!number) return false;
  if (words[i + 1] == "=") {
    out.counter = *number;
    return true;
  }
  constexpr std::uint64_t kMaxOffset = 1'000'000'000'000;
  if (*number > kMaxOffset || (words[i + 1] != "+" && words[i + 1] != "-")) return false;
  const auto offset = static_cast<std::int64_t>(*number);
  out.counter_offset = words[i + 1] == "+" ? offset : -offset;
  return true;
}

// Reads `node "B"` at words[i]; the name has no blanks.
bool read_node(const std::vector<std::string_view>& words, std::size_t i,
               TimestampExpression& out) {
  if (i + 1 >= words.size()) return false;
  std::string_view quoted = words[i + 1];
  if (quoted.size() < 3 || !quoted.starts_with('"') || !quoted.ends_with('"')) return false;
  out.node = std::string(quoted.substr(1, quoted.size() - 2));
  return true;
}

}  // namespace

bool is_name(std::string_view text) {
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '_' && c != '-') return false;
  }
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && text[0] != '-';
}

Result<TimestampExpression, std::string> parse_timestamp_expression(std::string_view text) {
  const std::vector<std::string_view> words = split(text);
  const auto wrong = [&] {
    return fail("\"" + std::string(text) + "\" is not a timestamp: " + std::string(kForms));
  };
  if (words.empty() || !is_name(words[0])) return wrong();
  TimestampExpression out;
  out.base = words[0];
  std::size_t i = 1;
  std::set<std::string_view> seen;
  while (i < words.size()) {
    // If there were two offsets, counters or nodes, one would be ignored.
    if (!seen.insert(words[i] == "-" ? "+" : words[i]).second) return wrong();
    if (words[i] == "+" || words[i] == "-") {
      if (!read_offset(words, i, out)) return wrong();
      i += 2;
    } else if (words[i] == "counter") {
      if (!read_counter(words, i, out)) return wrong();
      i += 3;
    } else if (words[i] == "node") {
      if (!read_node(words, i, out)) return wrong();
      i += 2;
    } else {
      return wrong();
    }
  }
  // On the limit itself nothing can be proved.
  if (out.base == kSkewLimit && out.offset_ms == 0) return wrong();
  return out;
}

Result<hlc::Timestamp, std::string> evaluate(const TimestampExpression& expression,
                                             std::uint64_t now_ms, const std::string& node,
                                             const std::map<std::string, hlc::Timestamp>& saved) {
  hlc::Timestamp out{now_ms, 0, node};
  if (expression.base != "now" && expression.base != kSkewLimit) {
    const auto found = saved.find(expression.base);
    if (found == saved.end()) return fail("no timestamp was saved as " + expression.base);
    out = found->second;
  }
  const auto back = static_cast<std::uint64_t>(-std::min<std::int64_t>(expression.offset_ms, 0));
  const auto ahead = static_cast<std::uint64_t>(std::max<std::int64_t>(expression.offset_ms, 0));
  if (out.wall_ms < back) {
    return fail(std::string("the wall clock of the timestamp would be negative"));
  }
  if (out.wall_ms > hlc::kMaxWallMs || ahead > hlc::kMaxWallMs - out.wall_ms) {
    return fail(std::string("the wall clock of the timestamp would be above 2^63 - 1"));
  }
  out.wall_ms = out.wall_ms - back + ahead;
  // Another wall clock decides the order alone. A version may have a counter, left by others, that
  // the store that issued it takes from no client. Req: HLC-PARSE-OPEN-2
  constexpr std::uint64_t kMaxPortable = std::numeric_limits<std::int32_t>::max();
  const bool only_moved = expression.offset_ms != 0 && expression.counter_offset == 0;
  if (only_moved && out.counter > kMaxPortable) out.counter = 0;  // an explicit one follows
  if (expression.counter) out.counter = *expression.counter;
  const std::int64_t step = expression.counter_offset;
  if (step < 0 && out.counter < static_cast<std::uint64_t>(-step)) {
    return fail(std::string("the counter of the timestamp would be negative"));
  }
  constexpr std::uint64_t kMaxCounter = std::numeric_limits<std::uint64_t>::max();
  if (step > 0 && out.counter > kMaxCounter - static_cast<std::uint64_t>(step)) {
    return fail(std::string("the counter of the timestamp would be above 2^64 - 1"));
  }
  out.counter += static_cast<std::uint64_t>(step);
  if (expression.node) out.node = *expression.node;
  return out;
}

}  // namespace fencepost::scenario
