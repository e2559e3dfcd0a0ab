#include "codec/testing/naive_decoder.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fencepost::codec::naive {
namespace {

using Text = std::string_view;

// What every rule of the grammar returns: what it recognised and the text behind it.
template <typename T>
struct Match {
  T what;
  Text rest;
};

template <typename T>
using Maybe = std::optional<Match<T>>;

// <literal>
Maybe<Text> literal(Text text, Text wanted) {
  if (!text.starts_with(wanted)) return {};
  return Match<Text>{wanted, text.substr(wanted.size())};
}

// line := any byte but CR and LF, as often as there are some; CR LF
Maybe<Text> line(Text text) {
  const Text before = text.substr(0, text.find_first_of("\r\n"));
  const auto end = literal(text.substr(before.size()), "\r\n");
  if (!end) return {};
  return Match<Text>{before, end->rest};
}

// natural := "0" | nonzero digit*
bool is_natural(Text text) {
  if (text == "0") return true;
  if (text.empty() || text[0] == '0') return false;
  return text.find_first_not_of("0123456789") == std::string::npos;
}

// Both are naturals: the longer one is greater, and among equally long ones the order is that of
// the text.
bool greater(Text left, Text right) {
  if (left.size() != right.size()) return left.size() > right.size();
  return left > right;
}

// The caller has made sure that the number fits. Downwards from zero, so that the least integer
// fits as well.
std::int64_t negated(Text natural) {
  std::int64_t number = 0;
  for (const char digit : natural) number = 10 * number - (digit - '0');
  return number;
}

// number := natural CR LF, not above `most`
Maybe<std::size_t> number(Text text, std::size_t most, const Limits& limits) {
  const auto digits = line(text);
  if (!digits || !is_natural(digits->what)) return {};
  if (digits->what.size() > limits.max_header_digits) return {};
  if (greater(digits->what, std::to_string(most))) return {};
  return Match<std::size_t>{static_cast<std::size_t>(-negated(digits->what)), digits->rest};
}

// bulk := "$" number <that many bytes> CR LF
Maybe<Text> bulk(Text text, const Limits& limits) {
  const auto dollar = literal(text, "$");
  if (!dollar) return {};
  const auto length = number(dollar->rest, limits.max_bulk_bytes, limits);
  if (!length || length->rest.size() < length->what) return {};
  const auto end = literal(length->rest.substr(length->what), "\r\n");
  if (!end) return {};
  return Match<Text>{length->rest.substr(0, length->what), end->rest};
}

// integer := ":" ( natural | "-" nonzero digit* ) CR LF, within 64 bits
Maybe<Tree> integer(Text text) {
  const auto colon = literal(text, ":");
  if (!colon) return {};
  const auto digits = line(colon->rest);
  if (!digits) return {};
  const auto minus = literal(digits->what, "-");
  const Text natural = minus ? minus->rest : digits->what;
  if (!is_natural(natural) || (minus && natural == "0")) return {};
  if (greater(natural, minus ? "9223372036854775808" : "9223372036854775807")) return {};
  const std::int64_t below_zero = negated(natural);
  return Match<Tree>{Tree{.type = ValueType::kInteger, .integer = minus ? below_zero : -below_zero},
                     digits->rest};
}

// simple := "+" line, error := "-" line, not longer than the limit
Maybe<Tree> marked_line(Text text, Text mark, ValueType type, const Limits& limits) {
  const auto marked = literal(text, mark);
  if (!marked) return {};
  const auto content = line(marked->rest);
  if (!content || content->what.size() > limits.max_line_bytes) return {};
  return Match<Tree>{Tree{.type = type, .text = content->what}, content->rest};
}

Maybe<Tree> value(Text text, std::size_t levels_left, const Limits& limits);

// array := "*" number value*
Maybe<Tree> array(Text text, std::size_t levels_left, const Limits& limits) {
  const auto star = literal(text, "*");
  if (!star || levels_left == 0) return {};
  const auto count = number(star->rest, limits.max_elements, limits);
  if (!count) return {};
  Tree tree{.type = ValueType::kArray};
  Text rest = count->rest;
  while (tree.elements.size() < count->what) {
    auto element = value(rest, levels_left - 1, limits);
    if (!element) return {};
    tree.elements.push_back(std::move(element->what));
    rest = element->rest;
  }
  return Match<Tree>{std::move(tree), rest};
}

// value := simple | error | integer | null | bulk | array. The alternatives exclude each other.
Maybe<Tree> value(Text text, std::size_t levels_left, const Limits& limits) {
  if (auto found = marked_line(text, "+", ValueType::kSimpleString, limits)) return found;
  if (auto found = marked_line(text, "-", ValueType::kError, limits)) return found;
  if (auto found = integer(text)) return found;
  if (const auto null = literal(text, "$-1\r\n")) return Match<Tree>{Tree{}, null->rest};
  if (const auto found = bulk(text, limits)) {
    return Match<Tree>{Tree{.type = ValueType::kBulk, .text = found->what}, found->rest};
  }
  return array(text, levels_left, limits);
}

bool same(const Value& ours, const Tree& theirs) {
  if (ours.type != theirs.type || ours.text != theirs.text) return false;
  if (ours.integer != theirs.integer) return false;
  if (ours.elements.size() != theirs.elements.size()) return false;
  for (std::size_t i = 0; i < theirs.elements.size(); ++i) {
    if (!same(ours.elements[i], theirs.elements[i])) return false;
  }
  return true;
}

}  // namespace

// command := "*" number bulk bulk*
std::optional<std::vector<Text>> read_command(Text input, const Limits& limits) {
  const auto star = literal(input, "*");
  if (!star) return {};
  const auto count = number(star->rest, limits.max_elements, limits);
  if (!count || count->what == 0) return {};
  std::vector<Text> arguments;
  arguments.reserve(std::min<std::size_t>(count->what, 8));  // most have no more
  Text rest = count->rest;
  while (arguments.size() < count->what) {
    const auto argument = bulk(rest, limits);
    if (!argument) return {};
    arguments.push_back(argument->what);
    rest = argument->rest;
  }
  if (!rest.empty()) return {};
  return arguments;
}

std::optional<Tree> read_value(Text input, const Limits& limits) {
  auto found = value(input, limits.max_depth, limits);
  if (!found || !found->rest.empty()) return {};
  return std::move(found->what);
}

bool agree(const Result<CommandFrame, DecodeError>& ours,
           const std::optional<std::vector<Text>>& theirs) {
  if (ours.has_value() != theirs.has_value()) return false;
  if (!theirs) return true;
  if (ours->count != theirs->size()) return false;
  for (std::size_t i = 0; i < theirs->size() && i < CommandFrame::kStored; ++i) {
    if (ours->arguments[i] != (*theirs)[i]) return false;
  }
  return true;
}

bool agree(const Result<Value, DecodeError>& ours, const std::optional<Tree>& theirs) {
  if (ours.has_value() != theirs.has_value()) return false;
  return !theirs || same(*ours, *theirs);
}

bool agree_on_command(Text input, const Limits& limits) {
  return agree(decode_command(input, limits), read_command(input, limits));
}

bool agree_on_value(Text input, const Limits& limits) {
  return agree(decode_value(input, limits), read_value(input, limits));
}

}  // namespace fencepost::codec::naive
