#include "codec/resp3.h"

#include <charconv>
#include <limits>

#include "base/check.h"

namespace fencepost::codec {
namespace {

constexpr std::string_view kTerminator = "\r\n";

// A position in the input. Every step checks what is left before it reads. A step that can fail
// returns false when it did, and error() says why: an optional error in its place would travel
// through memory at every step.
class Cursor {
 public:
  Cursor(std::string_view input, const Limits& limits) : input_(input), limits_(&limits) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == input_.size(); }
  [[nodiscard]] std::size_t left() const { return input_.size() - offset_; }
  [[nodiscard]] char peek() const { return input_[offset_]; }
  void skip(std::size_t bytes) { offset_ += bytes; }

  [[nodiscard]] const DecodeError& error() const { return error_; }
  [[nodiscard]] bool fail_at(std::size_t offset, DecodeErrorCode code) {
    error_ = {code, offset};
    return false;
  }
  [[nodiscard]] bool fail_here(DecodeErrorCode code) { return fail_at(offset_, code); }
  [[nodiscard]] bool fail_truncated() {
    return fail_at(input_.size(), DecodeErrorCode::kTruncated);
  }

  // Reads `digits CR LF`. Most lengths have one digit. The others are read by a copy, and what
  // a command needs is inlined, so that the cursor stays in registers: half the cost of a short
  // command is else to store and load its offset.
  [[nodiscard, gnu::always_inline]] bool read_length(std::size_t& length) {
    if (left() >= 3 && is_digit(peek()) && is_terminator(offset_ + 1) &&
        limits_->max_header_digits != 0) {
      length = static_cast<std::size_t>(peek() - '0');
      offset_ += 3;
      return true;
    }
    Cursor other = *this;
    std::size_t value = 0;
    const bool is_read = other.read_any_length(value);
    *this = other;
    length = value;
    return is_read;
  }

  [[nodiscard, gnu::always_inline]] bool read_terminator() {
    if (left() >= 2 && is_terminator(offset_)) {
      offset_ += 2;
      return true;
    }
    for (const char expected : kTerminator) {
      if (at_end()) return fail_truncated();
      if (peek() != expected) return fail_here(DecodeErrorCode::kMissingTerminator);
      ++offset_;
    }
    return true;
  }

  // Reads what follows `$`: length, bytes, CR LF.
  [[nodiscard, gnu::always_inline]] bool read_bulk(std::string_view& bytes) {
    const std::size_t start = offset_;
    std::size_t length = 0;
    if (!read_length(length)) return false;
    if (length > limits_->max_bulk_bytes) return fail_at(start, DecodeErrorCode::kLengthLimit);
    if (length > left()) return fail_truncated();
    bytes = input_.substr(offset_, length);
    offset_ += length;
    return read_terminator();
  }

  // Reads what follows `*`: the count of elements, CR LF.
  [[nodiscard, gnu::always_inline]] bool read_count(std::size_t& count) {
    const std::size_t start = offset_;
    if (!read_length(count)) return false;
    if (count > limits_->max_elements) return fail_at(start, DecodeErrorCode::kElementLimit);
    return true;
  }

  // Reads up to the next CR LF; a lone CR or LF within the line is an error.
  [[nodiscard]] bool read_line(std::string_view& line) {
    const std::size_t start = offset_;
    while (!at_end() && peek() != '\r' && peek() != '\n') {
      if (offset_ - start == limits_->max_line_bytes) return fail_here(DecodeErrorCode::kLineLimit);
      ++offset_;
    }
    line = input_.substr(start, offset_ - start);
    return read_terminator();
  }

 private:
  [[nodiscard]] static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  // Two bytes have to be left there.
  [[nodiscard]] bool is_terminator(std::size_t offset) const {
    return input_[offset] == '\r' && input_[offset + 1] == '\n';
  }

  // The number is at most 10^max_header_digits, so the arithmetic cannot wrap.
  [[nodiscard, gnu::noinline]] bool read_any_length(std::size_t& length) {
    const std::size_t start = offset_;
    std::size_t value = 0;
    while (!at_end() && is_digit(peek())) {
      if (offset_ - start == limits_->max_header_digits) {
        return fail_here(DecodeErrorCode::kLengthLimit);
      }
      value = value * 10 + static_cast<std::size_t>(peek() - '0');
      ++offset_;
    }
    if (at_end()) return fail_truncated();
    const std::size_t digits = offset_ - start;
    if (digits == 0) return fail_here(DecodeErrorCode::kBadLength);
    if (digits > 1 && input_[start] == '0') return fail_at(start, DecodeErrorCode::kBadLength);
    if (peek() != '\r') return fail_here(DecodeErrorCode::kBadLength);
    length = value;
    return read_terminator();
  }

  std::string_view input_;
  const Limits* limits_;
  std::size_t offset_ = 0;
  DecodeError error_{};
};

bool read_integer(Cursor& cursor, std::int64_t& integer) {
  const std::size_t start = cursor.offset();
  std::string_view line;
  if (!cursor.read_line(line)) return false;
  const std::string_view digits = line.substr(line.starts_with('-') ? 1 : 0);
  const bool padded = digits.size() > 1 && digits.front() == '0';
  const bool negative_zero = digits == "0" && line != digits;
  const char* end = line.data() + line.size();
  const auto [stop, code] = std::from_chars(line.data(), end, integer);
  if (digits.empty() || padded || negative_zero || code != std::errc{} || stop != end) {
    return cursor.fail_at(start, DecodeErrorCode::kBadInteger);
  }
  return true;
}

bool read_value(Cursor& cursor, Value& value, const Limits& limits, std::size_t depth);

bool read_array(Cursor& cursor, Value& value, const Limits& limits, std::size_t depth) {
  value.type = ValueType::kArray;
  std::size_t count = 0;
  if (depth == limits.max_depth) {
    return cursor.fail_at(cursor.offset() - 1, DecodeErrorCode::kDepthLimit);
  }
  if (!cursor.read_count(count)) return false;
  // The shortest element, `+CRLF`, has three bytes: a count that the input cannot hold allocates
  // nothing.
  if (count > cursor.left() / 3 + 1) return cursor.fail_truncated();
  value.elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!read_value(cursor, value.elements.emplace_back(), limits, depth + 1)) return false;
  }
  return true;
}

// `$-1` is the null value; any other length is a bulk string.
bool read_bulk_or_null(Cursor& cursor, Value& value) {
  value.type = ValueType::kBulk;
  if (cursor.at_end() || cursor.peek() != '-') return cursor.read_bulk(value.text);
  const std::size_t start = cursor.offset();
  std::string_view line;
  if (!cursor.read_line(line)) return false;
  if (line != "-1") return cursor.fail_at(start, DecodeErrorCode::kBadLength);
  value.type = ValueType::kNull;
  return true;
}

// Recursion is bounded by Limits::max_depth.
bool read_value(Cursor& cursor, Value& value, const Limits& limits, std::size_t depth) {
  if (cursor.at_end()) return cursor.fail_truncated();
  const char type = cursor.peek();
  if (std::string_view("+-:$*").find(type) == std::string_view::npos) {
    return cursor.fail_here(DecodeErrorCode::kUnexpectedType);
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

bool read_command(Cursor& cursor, CommandFrame& frame) {
  if (cursor.at_end()) return cursor.fail_here(DecodeErrorCode::kEmptyInput);
  if (cursor.peek() != '*') return cursor.fail_here(DecodeErrorCode::kUnexpectedType);
  cursor.skip(1);
  if (!cursor.read_count(frame.count)) return false;
  if (frame.count == 0) return cursor.fail_at(1, DecodeErrorCode::kNoElements);
  for (std::size_t i = 0; i < frame.count; ++i) {
    if (cursor.at_end()) return cursor.fail_truncated();
    if (cursor.peek() != '$') return cursor.fail_here(DecodeErrorCode::kUnexpectedType);
    cursor.skip(1);
    std::string_view argument;
    if (!cursor.read_bulk(argument)) return false;
    if (i < CommandFrame::kStored) frame.arguments[i] = argument;
  }
  return cursor.at_end() || cursor.fail_here(DecodeErrorCode::kTrailingBytes);
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

// The result is made where the caller wants it: a frame is too large to be copied for nothing.
Result<CommandFrame, DecodeError> decode_command(std::string_view input, const Limits& limits) {
  Cursor cursor(input, limits);
  Result<CommandFrame, DecodeError> frame;
  if (!read_command(cursor, *frame)) frame = fail(cursor.error());
  return frame;
}

Result<Value, DecodeError> decode_value(std::string_view input, const Limits& limits) {
  Cursor cursor(input, limits);
  if (cursor.at_end()) return fail(DecodeError{DecodeErrorCode::kEmptyInput, 0});
  Value value;
  if (!read_value(cursor, value, limits, 0)) return fail(cursor.error());
  if (!cursor.at_end()) {
    return fail(DecodeError{DecodeErrorCode::kTrailingBytes, cursor.offset()});
  }
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
