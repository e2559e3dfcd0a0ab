#include "codec/resp3.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/check.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kTerminator = "\r\n";

// A position in the input. Every step checks what is left before it reads.
class Cursor {
 public:
  Cursor(std::string_view input, const Limits& limits) : input_(input), limits_(limits) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == input_.size(); }
  [[nodiscard]] std::size_t left() const { return input_.size() - offset_; }
  [[nodiscard]] char peek() const { return input_[offset_]; }
  void skip(std::size_t bytes) { offset_ += bytes; }

  [[nodiscard]] DecodeError error(DecodeErrorCode code) const { return {code, offset_}; }

  // Reads `digits CR LF`. The number is at most 10^max_header_digits, so the arithmetic cannot wrap.
  [[nodiscard]] std::optional<DecodeError> read_length(std::size_t& length) {
    const std::size_t start = offset_;
    std::size_t value = 0;
    while (!at_end() && peek() >= '0' && peek() <= '9') {
      if (offset_ - start == limits_.max_header_digits) return error(DecodeErrorCode::kLengthLimit);
      value = value * 10 + static_cast<std::size_t>(peek() - '0');
      ++offset_;
    }
    if (at_end()) return error(DecodeErrorCode::kTruncated);
    const std::size_t digits = offset_ - start;
    if (digits == 0) return error(DecodeErrorCode::kBadLength);
    if (digits > 1 && input_[start] == '0') return DecodeError{DecodeErrorCode::kBadLength, start};
    if (peek() != '\r') return error(DecodeErrorCode::kBadLength);
    length = value;
    return read_terminator();
  }

  [[nodiscard]] std::optional<DecodeError> read_terminator() {
    for (const char expected : kTerminator) {
      if (at_end()) return error(DecodeErrorCode::kTruncated);
      if (peek() != expected) return error(DecodeErrorCode::kMissingTerminator);
      ++offset_;
    }
    return std::nullopt;
  }

  // Reads what follows `$`: length, bytes, CR LF.
  [[nodiscard]] std::optional<DecodeError> read_bulk(std::string_view& bytes) {
    const std::size_t start = offset_;
    std::size_t length = 0;
    if (auto failed = read_length(length)) return failed;
    if (length > limits_.max_bulk_bytes) return DecodeError{DecodeErrorCode::kLengthLimit, start};
    if (length > left()) return DecodeError{DecodeErrorCode::kTruncated, input_.size()};
    bytes = input_.substr(offset_, length);
    offset_ += length;
    return read_terminator();
  }

  // Reads what follows `*`: the count of elements, CR LF.
  [[nodiscard]] std::optional<DecodeError> read_count(std::size_t& count) {
    const std::size_t start = offset_;
    if (auto failed = read_length(count)) return failed;
    if (count > limits_.max_elements) return DecodeError{DecodeErrorCode::kElementLimit, start};
    return std::nullopt;
  }

  // Reads up to the next CR LF; a lone CR or LF within the line is an error.
  [[nodiscard]] std::optional<DecodeError> read_line(std::string_view& line) {
    const std::size_t start = offset_;
    while (!at_end() && peek() != '\r' && peek() != '\n') {
      if (offset_ - start == limits_.max_line_bytes) return error(DecodeErrorCode::kLineLimit);
      ++offset_;
    }
    line = input_.substr(start, offset_ - start);
    return read_terminator();
  }

 private:
  std::string_view input_;
  const Limits& limits_;
  std::size_t offset_ = 0;
};

std::optional<DecodeError> read_integer(Cursor& cursor, std::int64_t& integer) {
  const std::size_t start = cursor.offset();
  std::string_view line;
  if (auto failed = cursor.read_line(line)) return failed;
  const std::string_view digits = line.substr(line.starts_with('-') ? 1 : 0);
  const bool padded = digits.size() > 1 && digits.front() == '0';
  const bool negative_zero = digits == "0" && line != digits;
  const char* end = line.data() + line.size();
  const auto [stop, code] = std::from_chars(line.data(), end, integer);
  if (digits.empty() || padded || negative_zero || code != std::errc{} || stop != end) {
    return DecodeError{DecodeErrorCode::kBadInteger, start};
  }
  return std::nullopt;
}

std::optional<DecodeError> read_value(Cursor& cursor, Value& value, const Limits& limits,
                                      std::size_t depth);

std::optional<DecodeError> read_array(Cursor& cursor, Value& value, const Limits& limits,
                                      std::size_t depth) {
  value.type = ValueType::kArray;
  std::size_t count = 0;
  const std::size_t start = cursor.offset();
  if (depth == limits.max_depth) return cursor.error(DecodeErrorCode::kDepthLimit);
  if (auto failed = cursor.read_count(count)) return failed;
  // The shortest element, `+CRLF`, has three bytes: a count that the input cannot hold allocates nothing.
  if (count > cursor.left() / 3 + 1) return DecodeError{DecodeErrorCode::kTruncated, start};
  value.elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (auto failed = read_value(cursor, value.elements.emplace_back(), limits, depth + 1)) {
      return failed;
    }
  }
  return std::nullopt;
}

// `$-1` is the null value; any other length is a bulk string.
std::optional<DecodeError> read_bulk_or_null(Cursor& cursor, Value& value) {
  value.type = ValueType::kBulk;
  if (cursor.at_end() || cursor.peek() != '-') return cursor.read_bulk(value.text);
  const std::size_t start = cursor.offset();
  std::string_view line;
  if (auto failed = cursor.read_line(line)) return failed;
  if (line != "-1") return DecodeError{DecodeErrorCode::kBadLength, start};
  value.type = ValueType::kNull;
  return std::nullopt;
}

// Recursion is bounded by Limits::max_depth.
std::optional<DecodeError> read_value(Cursor& cursor, Value& value, const Limits& limits,
                                      std::size_t depth) {
  if (cursor.at_end()) return cursor.error(DecodeErrorCode::kTruncated);
  const char type = cursor.peek();
  if (std::string_view("+-:$*").find(type) == std::string_view::npos) {
    return cursor.error(DecodeErrorCode::kUnexpectedType);
  }
  cursor.skip(1);
  switch (type) {
    case '+':
      value.type = ValueType::kSimpleString;
      return cursor.read_line(value.text);
    case '-':
      value.type = ValueType::kError;
      return cursor.read_line(value.text);
    case ':':
      value.type = ValueType::kInteger;
      return read_integer(cursor, value.integer);
    case '$':
      return read_bulk_or_null(cursor, value);
    default:
      return read_array(cursor, value, limits, depth);
  }
}

std::string_view text_of(DecodeErrorCode code) {
  switch (code) {
    case DecodeErrorCode::kEmptyInput:
      return "the payload is empty";
    case DecodeErrorCode::kUnexpectedType:
      return "a value of this type is not allowed here";
    case DecodeErrorCode::kBadLength:
      return "a length must be decimal digits without sign, blank or leading zero";
    case DecodeErrorCode::kBadInteger:
      return "an integer must be decimal digits, optionally after '-', within 64 bits";
    case DecodeErrorCode::kLengthLimit:
      return "a length is above the limit";
    case DecodeErrorCode::kElementLimit:
      return "an element count is above the limit";
    case DecodeErrorCode::kDepthLimit:
      return "arrays are nested too deeply";
    case DecodeErrorCode::kLineLimit:
      return "a line is longer than the limit";
    case DecodeErrorCode::kNoElements:
      return "a command needs a verb";
    case DecodeErrorCode::kTruncated:
      return "the payload ends before the value does";
    case DecodeErrorCode::kMissingTerminator:
      return "CR LF expected";
    case DecodeErrorCode::kTrailingBytes:
      return "bytes after the end of the value";
  }
  return "unknown";
}

}  // namespace

std::string describe(const DecodeError& error) {
  return std::string(text_of(error.code)) + ", at offset " + std::to_string(error.offset);
}

Result<CommandFrame, DecodeError> decode_command(std::string_view input, const Limits& limits) {
  Cursor cursor(input, limits);
  if (cursor.at_end()) return fail(cursor.error(DecodeErrorCode::kEmptyInput));
  if (cursor.peek() != '*') return fail(cursor.error(DecodeErrorCode::kUnexpectedType));
  cursor.skip(1);
  CommandFrame frame;
  if (auto failed = cursor.read_count(frame.count)) return fail(*failed);
  if (frame.count == 0) return fail(DecodeError{DecodeErrorCode::kNoElements, 1});
  for (std::size_t i = 0; i < frame.count; ++i) {
    if (cursor.at_end()) return fail(cursor.error(DecodeErrorCode::kTruncated));
    if (cursor.peek() != '$') return fail(cursor.error(DecodeErrorCode::kUnexpectedType));
    cursor.skip(1);
    std::string_view argument;
    if (auto failed = cursor.read_bulk(argument)) return fail(*failed);
    if (i < CommandFrame::kStored) frame.arguments[i] = argument;
  }
  if (!cursor.at_end()) return fail(cursor.error(DecodeErrorCode::kTrailingBytes));
  return frame;
}

Result<Value, DecodeError> decode_value(std::string_view input, const Limits& limits) {
  Cursor cursor(input, limits);
  if (cursor.at_end()) return fail(cursor.error(DecodeErrorCode::kEmptyInput));
  Value value;
  if (auto failed = read_value(cursor, value, limits, 0)) return fail(*failed);
  if (!cursor.at_end()) return fail(cursor.error(DecodeErrorCode::kTrailingBytes));
  return value;
}

namespace {

void append_number(std::string& out, char type, std::size_t number) {
  std::array<char, std::numeric_limits<std::size_t>::digits10 + 2> digits{};
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  FENCEPOST_CHECK(code == std::errc{});
  out += type;
  out.append(digits.data(), end);
  out += kTerminator;
}

}  // namespace

void append_array_header(std::string& out, std::size_t count) { append_number(out, '*', count); }

void append_bulk(std::string& out, std::string_view bytes) {
  append_number(out, '$', bytes.size());
  out += bytes;
  out += kTerminator;
}

std::string encode_command(const std::vector<std::string_view>& arguments) {
  std::string out;
  append_array_header(out, arguments.size());
  for (const std::string_view argument : arguments) append_bulk(out, argument);
  return out;
}

}  // namespace fencepost::codec
