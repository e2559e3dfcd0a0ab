// The strict RESP3 subset of the state store protocol: bytes to values and back.
//
// Two decoders, one grammar. decode_command() reads what a client may send: one array of bulk
// strings, nothing after it. It allocates nothing; the arguments are views into the input.
// decode_value() reads any one value of the subset (what a store may send, and what a transcript
// wants to show).
//
//   Result<CommandFrame, DecodeError> frame = decode_command("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
//   frame->count == 2;  frame->arguments[1] == "k";
//
// Strict means: lengths are decimal digits without sign, blank or leading zero; every line ends in
// CR LF; the input ends where the value ends. Every limit is checked before any arithmetic with, or
// allocation for, the number. All functions are pure and thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::codec {

// An MQTT packet cannot carry more than 268,435,455 bytes, so no honest length has more than nine
// digits.
struct Limits {
  std::size_t max_elements = 1U << 20U;      // of one array
  std::size_t max_depth = 8;                 // arrays within arrays; commands have none
  std::size_t max_bulk_bytes = 268'435'455;  // of one bulk string
  std::size_t max_header_digits = 9;         // of a length or a count
  std::size_t max_line_bytes =
      4096;  // of a simple string or an error; at least 20, an integer is a line too
};

enum class DecodeErrorCode {
  kEmptyInput,      // no byte at all
  kUnexpectedType,  // the first byte of an element is not of a type allowed here
  kBadLength,       // a length or count with a sign, blank, leading zero, no digit, or other byte
  kBadInteger,      // the same for an integer value
  kLengthLimit,     // a length above Limits::max_bulk_bytes or max_header_digits
  kElementLimit,    // a count above Limits::max_elements
  kDepthLimit,      // an array nested deeper than Limits::max_depth
  kLineLimit,       // a line longer than Limits::max_line_bytes
  kNoElements,      // a command without a verb: `*0`
  kTruncated,       // the input ends before the value does
  kMissingTerminator,  // CR LF expected here, another byte found
  kTrailingBytes,      // bytes after the end of the value
};

struct DecodeError {
  DecodeErrorCode code;
  std::size_t offset;  // of the offending byte; the input's size when a byte is missing

  friend bool operator==(const DecodeError&, const DecodeError&) = default;
};

// One sentence for people, e.g. "bytes after the end of the value, at offset 14".
[[nodiscard]] std::string describe(const DecodeError& error);

// A decoded command. The first kStored arguments are kept; more are checked and counted. No command
// of the protocol has more than six arguments, so a caller that needs the seventh only needs to
// know that there is one. Clearing and copying the frame is a good part of the cost of a short
// command: keep it no larger than that.
struct CommandFrame {
  static constexpr std::size_t kStored = 6;

  std::array<std::string_view, kStored> arguments{};  // views into the input
  std::size_t count = 0;                              // arguments in the input, at least 1
};

// Decodes one command. The views live as long as `input`.
[[nodiscard]] Result<CommandFrame, DecodeError> decode_command(std::string_view input,
                                                               const Limits& limits = {});

enum class ValueType { kSimpleString, kError, kInteger, kBulk, kNull, kArray };

// A value of the subset: +simple, -error, :integer, $bulk, $-1 (null), *array.
struct Value {
  ValueType type = ValueType::kNull;
  std::string_view text{};        // simple string, error and bulk: the bytes, a view into the input
  std::int64_t integer = 0;       // integer
  std::vector<Value> elements{};  // array

  friend bool operator==(const Value&, const Value&) = default;
};

// Decodes one value. The views live as long as `input`.
[[nodiscard]] Result<Value, DecodeError> decode_value(std::string_view input,
                                                      const Limits& limits = {});

// Encoders append to `out`, so that one buffer can be used again and again.
void append_array_header(std::string& out, std::size_t count);
void append_bulk(std::string& out, std::string_view bytes);

// The bytes of a command with any arguments. `arguments` may be empty (`*0`).
[[nodiscard]] std::string encode_command(const std::vector<std::string_view>& arguments);

}  // namespace fencepost::codec
