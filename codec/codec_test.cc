// Unit tests of the codec: what each decoder says is wrong and where, each limit at and one past,
// the exact bytes of commands, replies and notifications in both dialects, and the topics.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "codec/base16.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/message.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "codec/resp3.h"
#include "codec/topics.h"

namespace fencepost::codec {
namespace {

using namespace std::string_literals;
using std::chrono::milliseconds;
using enum DecodeErrorCode;

const Dialect& documented() { return dialect(DialectId::kDocumented); }
const Dialect& deployed() { return dialect(DialectId::kDeployed); }

// Which error, and where.

struct Malformed {
  std::string input;
  DecodeErrorCode code;
  std::size_t offset;
};

TEST(Resp3Decode, NamesTheFaultOfACommandAndItsPlace) {
  const std::vector<Malformed> cases = {
      {"", kEmptyInput, 0},
      {"GET k\r\n", kUnexpectedType, 0},
      {"*1\r\n+GET\r\n", kUnexpectedType, 4},
      {"*2\r\n$3\r\nGET\r\n:1\r\n", kUnexpectedType, 13},
      {"*x\r\n", kBadLength, 1},
      {"*\r\n", kBadLength, 1},
      {"*1x\r\n", kBadLength, 2},
      {"*01\r\n", kBadLength, 1},
      {"*-1\r\n", kBadLength, 1},
      {"*1\n", kBadLength, 2},
      {"*0\n", kBadLength, 2},
      {"*0x", kBadLength, 2},
      {"*0\r", kTruncated, 3},
      {"*1\r\n$-1\r\n", kBadLength, 5},
      {"*1\r\n$03\r\nGET\r\n", kBadLength, 5},
      {"*1\r\n$1234567890\r\n", kLengthLimit, 14},
      {"*1\r\n$268435456\r\n", kLengthLimit, 5},
      {"*1234567890\r\n", kLengthLimit, 10},
      {"*1048577\r\n", kElementLimit, 1},
      {"*1048576\r\n", kTruncated, 10},
      {"*0\r\n", kNoElements, 1},
      {"*", kTruncated, 1},
      {"*1", kTruncated, 2},
      {"*1\r", kTruncated, 3},
      {"*1\r\n", kTruncated, 4},
      {"*1\r\n$3\r\nGE", kTruncated, 10},
      {"*1\r\n$3\r\nGET", kTruncated, 11},
      {"*1\r\n$3\r\nGET\r", kTruncated, 12},
      {"*1\rx", kMissingTerminator, 3},
      {"*1\r\n$3\r\nGETX\r\n", kMissingTerminator, 11},
      {"*1\r\n$3\r\nGET\rX", kMissingTerminator, 12},
      {"*1\r\n$3\r\nGET\r\nX", kTrailingBytes, 13},
  };
  for (const Malformed& c : cases) {
    const Result<CommandFrame, DecodeError> frame = decode_command(c.input);
    ASSERT_FALSE(frame) << escape(c.input);
    EXPECT_EQ(frame.error().code, c.code) << escape(c.input) << ": " << describe(frame.error());
    EXPECT_EQ(frame.error().offset, c.offset) << escape(c.input);
  }
}

TEST(Resp3Decode, NamesTheFaultOfAValueAndItsPlace) {
  const std::string line_limit = "+" + std::string(4097, 'x') + "\r\n";
  const std::vector<Malformed> cases = {
      {"", kEmptyInput, 0},
      {"_\r\n", kUnexpectedType, 0},
      {"*2\r\n:1\r\n#t\r\n", kUnexpectedType, 8},
      {"$-2\r\n", kBadLength, 1},
      {"$-01\r\n", kBadLength, 1},
      {"*-1\r\n", kBadLength, 1},
      {":\r\n", kBadInteger, 1},
      {":-\r\n", kBadInteger, 1},
      {":+1\r\n", kBadInteger, 1},
      {":01\r\n", kBadInteger, 1},
      {":-0\r\n", kBadInteger, 1},
      {":1.5\r\n", kBadInteger, 1},
      {":9223372036854775808\r\n", kBadInteger, 1},
      {":-9223372036854775809\r\n", kBadInteger, 1},
      {"$268435456\r\n", kLengthLimit, 1},
      {"*1048577\r\n", kElementLimit, 1},
      {line_limit, kLineLimit, 4097},
      {"+OK", kTruncated, 3},
      {"+OK\r", kTruncated, 4},
      {":1\r", kTruncated, 3},
      {"$-1\r", kTruncated, 4},
      {"$4\r\n123", kTruncated, 7},
      {"*1\r\n", kTruncated, 4},
      {"+a\nb\r\n", kMissingTerminator, 2},
      {"+a\rb\r\n", kMissingTerminator, 3},
      {"+OK\r\n+OK\r\n", kTrailingBytes, 5},
      {"*0\r\n ", kTrailingBytes, 4},
  };
  for (const Malformed& c : cases) {
    const Result<Value, DecodeError> value = decode_value(c.input);
    ASSERT_FALSE(value) << escape(c.input);
    EXPECT_EQ(value.error().code, c.code) << escape(c.input) << ": " << describe(value.error());
    EXPECT_EQ(value.error().offset, c.offset) << escape(c.input);
  }
}

// A count which the rest of the input cannot hold is refused early; what is missing is still
// missing at the end.
TEST(Resp3Decode, PlacesTheMissingElementsOfAnArrayAtTheEnd) {
  for (const std::string input : {"*9\r\n", "*9\r\n+a\r\n", "*1\r\n*5\r\n+a\r\n"}) {
    EXPECT_EQ(decode_value(input).error(), (DecodeError{kTruncated, input.size()}))
        << escape(input);
  }
}

TEST(Resp3Decode, DescribesEachFaultInItsOwnWords) {
  std::set<std::string> sentences;
  for (const DecodeErrorCode code :
       {kEmptyInput, kUnexpectedType, kBadLength, kBadInteger, kLengthLimit, kElementLimit,
        kDepthLimit, kLineLimit, kNoElements, kTruncated, kMissingTerminator, kTrailingBytes}) {
    const std::string sentence = describe({code, 14});
    EXPECT_TRUE(sentence.ends_with(", at offset 14")) << sentence;
    EXPECT_GT(sentence.size(), std::string_view("a word, at offset 14").size()) << sentence;
    sentences.insert(sentence);
  }
  EXPECT_EQ(sentences.size(), 12U);
  EXPECT_EQ(describe({kTrailingBytes, 14}), "bytes after the end of the value, at offset 14");
}

TEST(Resp3Decode, ReadsEveryTypeOfTheSubset) {
  const Result<Value, DecodeError> value =
      decode_value("*6\r\n+a b\r\n-ERR x\r\n:-42\r\n$3\r\na\r\n\r\n$-1\r\n*0\r\n");
  ASSERT_TRUE(value);
  ASSERT_EQ(value->elements.size(), 6U);
  EXPECT_EQ(value->elements[0], (Value{.type = ValueType::kSimpleString, .text = "a b"}));
  EXPECT_EQ(value->elements[1], (Value{.type = ValueType::kError, .text = "ERR x"}));
  EXPECT_EQ(value->elements[2], (Value{.type = ValueType::kInteger, .integer = -42}));
  EXPECT_EQ(value->elements[3], (Value{.type = ValueType::kBulk, .text = "a\r\n"}));
  EXPECT_EQ(value->elements[4], (Value{.type = ValueType::kNull}));
  EXPECT_EQ(value->elements[5], (Value{.type = ValueType::kArray}));
  EXPECT_EQ(decode_value(":9223372036854775807\r\n")->integer, INT64_MAX);
  EXPECT_EQ(decode_value(":-9223372036854775808\r\n")->integer, INT64_MIN);
}

TEST(Resp3Decode, KeepsTheFirstArgumentsAndCountsTheRest) {
  constexpr std::size_t kStored = CommandFrame::kStored;
  for (const std::size_t count : {std::size_t{1}, kStored, kStored + 1, std::size_t{1000}}) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) texts.push_back(std::to_string(i));
    const std::string input = encode_command({texts.begin(), texts.end()});
    const Result<CommandFrame, DecodeError> frame = decode_command(input);
    ASSERT_TRUE(frame) << count;
    EXPECT_EQ(frame->count, count);
    for (std::size_t i = 0; i < std::min(count, kStored); ++i) {
      EXPECT_EQ(frame->arguments[i], texts[i]);
    }
  }
}

// Limits: accepted at the limit, refused one past it, and with which error.

TEST(Resp3Limits, ElementsOfACommandAndOfAnArray) {
  const Limits limits{.max_elements = 2};
  const std::string two = "*2\r\n$1\r\na\r\n$1\r\nb\r\n";
  const std::string three = "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n";
  EXPECT_TRUE(decode_command(two, limits));
  EXPECT_TRUE(decode_value(two, limits));
  EXPECT_EQ(decode_command(three, limits).error(), (DecodeError{kElementLimit, 1}));
  EXPECT_EQ(decode_value(three, limits).error(), (DecodeError{kElementLimit, 1}));
}

TEST(Resp3Limits, BytesOfABulkString) {
  const Limits limits{.max_bulk_bytes = 4};
  EXPECT_TRUE(decode_value("$4\r\n1234\r\n", limits));
  EXPECT_EQ(decode_value("$5\r\n12345\r\n", limits).error(), (DecodeError{kLengthLimit, 1}));
  EXPECT_TRUE(decode_command("*1\r\n$4\r\n1234\r\n", limits));
  EXPECT_EQ(decode_command("*1\r\n$5\r\n12345\r\n", limits).error(),
            (DecodeError{kLengthLimit, 5}));
}

TEST(Resp3Limits, DigitsOfAHeader) {
  const Limits limits{.max_header_digits = 2};
  const std::string of_99 = "$99\r\n" + std::string(99, 'x') + "\r\n";
  const std::string of_100 = "$100\r\n" + std::string(100, 'x') + "\r\n";
  EXPECT_TRUE(decode_value(of_99, limits));
  EXPECT_EQ(decode_value(of_100, limits).error(), (DecodeError{kLengthLimit, 3}));
  EXPECT_EQ(decode_command("*100\r\n", limits).error(), (DecodeError{kLengthLimit, 3}));
}

TEST(Resp3Limits, BytesOfALine) {
  const Limits limits{.max_line_bytes = 3};
  for (const std::string type : {"+", "-"}) {
    EXPECT_TRUE(decode_value(type + "abc\r\n", limits)) << type;
    EXPECT_EQ(decode_value(type + "abcd\r\n", limits).error(), (DecodeError{kLineLimit, 4}));
    EXPECT_EQ(decode_value(type + "abc", limits).error(), (DecodeError{kTruncated, 4}));
  }
  EXPECT_TRUE(decode_value("+" + std::string(4096, 'x') + "\r\n"));
}

TEST(Resp3Limits, DepthOfArrays) {
  const Limits limits{.max_depth = 2};
  EXPECT_TRUE(decode_value("*1\r\n*1\r\n:1\r\n", limits));
  EXPECT_TRUE(decode_value("*1\r\n*0\r\n", limits));
  // The offending byte is the `*` that opens the third array, also when nothing follows it.
  for (const std::string input : {"*1\r\n*1\r\n*0\r\n", "*1\r\n*1\r\n*"}) {
    EXPECT_EQ(decode_value(input, limits).error(), (DecodeError{kDepthLimit, 8})) << escape(input);
  }
  EXPECT_FALSE(decode_value("*0\r\n", Limits{.max_depth = 0}));
}

TEST(Resp3Encode, WritesHeadersAndBulkStrings) {
  std::string out = "kept";
  append_array_header(out, 0);
  append_array_header(out, 18446744073709551615U);
  append_bulk(out, "");
  append_bulk(out, "a\r\n"s + '\0');
  EXPECT_EQ(out, "kept*0\r\n*18446744073709551615\r\n$0\r\n\r\n$4\r\na\r\n\0\r\n"s);
  EXPECT_EQ(encode_command({}), "*0\r\n");
}

// Commands.

Command set(std::string_view key, std::string_view value, Condition condition = Condition::kAlways,
            std::optional<milliseconds> expires_after = std::nullopt) {
  return {.verb = Verb::kSet,
          .key = key,
          .value = value,
          .condition = condition,
          .expires_after = expires_after};
}

// The bytes that the public client libraries put into their own tests.
TEST(Command, ReadsAndWritesTheGoldenVectors) {
  constexpr auto kNx = Condition::kIfAbsent;
  constexpr auto kNex = Condition::kIfAbsentOrEqual;
  struct Case {
    std::string_view bytes;
    Command command;
  };
  const std::string six = "*6\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n";
  const std::string test = "$3\r\nSET\r\n$7\r\ntestkey\r\n$9\r\ntestvalue\r\n";
  const std::string nx_px = six + "$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n1000\r\n";
  const std::string nex_px = six + "$3\r\nNEX\r\n$2\r\nPX\r\n$4\r\n1000\r\n";
  const std::string plain = "*3\r\n" + test, nx = "*4\r\n" + test + "$2\r\nNX\r\n";
  const std::string nex = "*4\r\n" + test + "$3\r\nNEX\r\n";
  const std::string px = "*5\r\n" + test + "$2\r\nPX\r\n$2\r\n10\r\n";
  const std::vector<Case> cases = {
      {"*3\r\n$3\r\nSET\r\n$7\r\nSETKEY2\r\n$6\r\nVALUE5\r\n", set("SETKEY2", "VALUE5")},
      {"*2\r\n$3\r\nGET\r\n$7\r\nSETKEY2\r\n", {.verb = Verb::kGet, .key = "SETKEY2"}},
      {"*2\r\n$3\r\nDEL\r\n$7\r\nSETKEY2\r\n", {.verb = Verb::kDel, .key = "SETKEY2"}},
      {"*3\r\n$4\r\nVDEL\r\n$7\r\nSETKEY2\r\n$3\r\nABC\r\n",
       {.verb = Verb::kVdel, .key = "SETKEY2", .value = "ABC"}},
      {plain, set("testkey", "testvalue")},
      {nx, set("testkey", "testvalue", kNx)},
      {nex, set("testkey", "testvalue", kNex)},
      {px, set("testkey", "testvalue", Condition::kAlways, milliseconds{10})},
      {nx_px, set("key", "value", kNx, milliseconds{1000})},
      {nex_px, set("key", "value", kNex, milliseconds{1000})},
      {"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n", set("key", "")},
      {"*2\r\n$9\r\nKEYNOTIFY\r\n$1\r\nK\r\n", {.verb = Verb::kKeynotify, .key = "K"}},
      {"*3\r\n$9\r\nKEYNOTIFY\r\n$1\r\nK\r\n$4\r\nSTOP\r\n",
       {.verb = Verb::kKeynotify, .key = "K", .stop = true}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(parse_command(c.bytes, documented()), c.command) << escape(c.bytes);
    EXPECT_EQ(parse_command(c.bytes, deployed()), c.command) << escape(c.bytes);
    EXPECT_EQ(encode(c.command), c.bytes);
  }
}

TEST(Command, ReadsOptionsInAnyOrder) {
  for (const auto& [word, condition] :
       {std::pair{"NX", Condition::kIfAbsent}, std::pair{"NEX", Condition::kIfAbsentOrEqual}}) {
    const Command expected = set("k", "v", condition, milliseconds{10});
    EXPECT_EQ(parse_command(encode_command({"SET", "k", "v", word, "PX", "10"}), deployed()),
              expected);
    EXPECT_EQ(parse_command(encode_command({"SET", "k", "v", "PX", "10", word}), deployed()),
              expected);
  }
}

// Option words in the place of key and value are only bytes.
TEST(Command, DoesNotMistakeArgumentsForOptions) {
  EXPECT_EQ(parse_command(encode_command({"SET", "NX", "PX"}), deployed()), set("NX", "PX"));
  EXPECT_EQ(parse_command(encode_command({"SET", "SET", "NEX", "NX"}), deployed()),
            set("SET", "NEX", Condition::kIfAbsent));
  EXPECT_EQ(parse_command(encode_command({"KEYNOTIFY", "STOP"}), deployed())->stop, false);
}

TEST(Command, TakesZeroAndTheLargestExpiryInBothDialects) {
  for (const milliseconds expiry : {milliseconds{0}, kMaxExpiry}) {
    const std::string bytes = encode(set("k", "v", Condition::kAlways, expiry));
    EXPECT_EQ(parse_command(bytes, documented())->expires_after, expiry);
    EXPECT_EQ(parse_command(bytes, deployed())->expires_after, expiry);
  }
  const std::string above = encode(set("k", "v", Condition::kAlways, kMaxExpiry + milliseconds{1}));
  EXPECT_EQ(parse_command(above, documented()).error(), ErrorCode::kSyntax);
  EXPECT_EQ(parse_command(above, deployed()).error(), ErrorCode::kSyntax);
  EXPECT_EQ(kMaxExpiry.count(), 3'155'760'000'000);
}

// Each case has the fault it is named after and every later one: the earlier is reported.
TEST(Command, ReportsTheFirstFaultInTheOrderOfTheHeader) {
  struct Case {
    std::string bytes;
    ErrorCode error;
  };
  const std::vector<Case> cases = {
      {encode_command({"set", ""}) + "x", ErrorCode::kSyntax},
      {encode_command({"set", "", "", "XX", "", "", ""}), ErrorCode::kUnknownCommand},
      {encode_command({"SET", "", "", "XX", "", "", ""}), ErrorCode::kWrongArgumentCount},
      {encode_command({"KEYNOTIFY", "", "XX", ""}), ErrorCode::kWrongArgumentCount},
      {encode_command({"SET", "", "", "XX"}), ErrorCode::kSyntax},
      {encode_command({"KEYNOTIFY", "", "XX"}), ErrorCode::kSyntax},
      {encode_command({"SET", "", ""}), ErrorCode::kEmptyKey},
      {encode_command({"KEYNOTIFY", "", "STOP"}), ErrorCode::kEmptyKey},
  };
  for (const Case& c : cases) {
    const Result<Command, ErrorCode> command = parse_command(c.bytes, deployed());
    ASSERT_FALSE(command) << escape(c.bytes);
    EXPECT_EQ(name(command.error()), name(c.error)) << escape(c.bytes);
  }
}

TEST(Command, HonoursTheLimitsItIsGiven) {
  const Limits limits{.max_bulk_bytes = 3};
  EXPECT_TRUE(parse_command(encode_command({"GET", "abc"}), deployed(), limits));
  EXPECT_EQ(parse_command(encode_command({"GET", "abcd"}), deployed(), limits).error(),
            ErrorCode::kSyntax);
  EXPECT_EQ(verb_of(encode_command({"GET", "abcd"}), limits), std::nullopt);
}

TEST(Command, NamesTheVerbAlsoOfAWrongCommand) {
  for (const Verb verb : kVerbs) {
    EXPECT_EQ(verb_of(encode_command({name(verb)})), verb);
    EXPECT_EQ(verb_of(encode_command({name(verb), "", "", "", "", "", "", "", "", ""})), verb);
  }
  EXPECT_EQ(verb_of(encode_command({"get", "k"})), std::nullopt);
  EXPECT_EQ(verb_of(encode_command({"GET", "k"}) + "x"), std::nullopt);
  EXPECT_EQ(verb_of(""), std::nullopt);
}

// Replies.

struct Spelling {
  Reply reply;
  std::optional<Verb> verb;
  std::string documented;
  std::string deployed;
};

const std::vector<Spelling> kSpellings = {
    {{.kind = ReplyKind::kOk}, Verb::kSet, "+OK\r\n", "+OK\r\n"},
    {{.kind = ReplyKind::kOk}, Verb::kKeynotify, "+OK\r\n", "+OK\r\n"},
    {{.kind = ReplyKind::kNotApplied}, Verb::kSet, "-1\r\n", ":-1\r\n"},
    {{.kind = ReplyKind::kNotApplied}, Verb::kVdel, "-1\r\n", ":-1\r\n"},
    {{.kind = ReplyKind::kValue, .value = "1234"}, Verb::kGet, "$4\r\n1234\r\n", "$4\r\n1234\r\n"},
    {{.kind = ReplyKind::kValue}, Verb::kGet, "$0\r\n\r\n", "$0\r\n\r\n"},
    {{.kind = ReplyKind::kMissing}, Verb::kGet, "$-1\r\n", "$-1\r\n"},
    {{.kind = ReplyKind::kCount, .count = 1}, Verb::kDel, ":1\r\n", ":1\r\n"},
    {{.kind = ReplyKind::kCount, .count = 0}, Verb::kKeynotify, ":0\r\n", ":0\r\n"},
};

TEST(Reply, IsSpelledAsItsDialectHasIt) {
  for (const Spelling& c : kSpellings) {
    std::string out = "kept";
    append_reply(out, c.reply, c.verb, documented());
    EXPECT_EQ(out, "kept" + c.documented);
    out.clear();
    append_reply(out, c.reply, c.verb, deployed());
    EXPECT_EQ(out, c.deployed);
  }
}

TEST(Reply, IsReadInEitherDialect) {
  for (const Spelling& c : kSpellings) {
    for (const DialectId id : kDialects) {
      const std::string& bytes = id == DialectId::kDocumented ? c.documented : c.deployed;
      const bool differs = c.documented != c.deployed;
      const DecodedReply expected{.kind = c.reply.kind,
                                  .value = c.reply.value,
                                  .count = c.reply.count,
                                  .form = differs ? std::optional(id) : std::nullopt};
      EXPECT_EQ(decode_reply(bytes), expected) << escape(bytes);
    }
  }
}

TEST(Reply, RefusesValuesThatNoReplyIs) {
  for (const std::string bytes : {"+ok\r\n", "+\r\n", ":-2\r\n", "-2\r\n", "-ERR\r\n", "-ERR:x\r\n",
                                  "-err x\r\n", "*0\r\n"}) {
    ASSERT_TRUE(decode_value(bytes)) << escape(bytes);
    const Result<DecodedReply, DecodeError> reply = decode_reply(bytes);
    ASSERT_FALSE(reply) << escape(bytes);
    EXPECT_EQ(reply.error(), (DecodeError{kUnexpectedType, 0})) << escape(bytes);
  }
  EXPECT_EQ(decode_reply("$5\r\n12345\r\n", Limits{.max_bulk_bytes = 4}).error(),
            (DecodeError{kLengthLimit, 1}));
}

// Typed once more from the source document, so that a slip in the table of texts does not go
// unseen.
struct ErrorText {
  ErrorCode code;
  std::string_view text;
};

constexpr std::array kErrorTexts = {
    ErrorText{ErrorCode::kTimestampTooFarAhead,
              "the request timestamp is too far in the future; ensure that the client and broker "
              "system clocks are synchronized"},
    ErrorText{ErrorCode::kTokenRequired, "a fencing token is required for this request"},
    ErrorText{ErrorCode::kTokenTooFarAhead,
              "the request fencing token timestamp is too far in the future; ensure that the "
              "client and broker system clocks are synchronized"},
    ErrorText{ErrorCode::kTokenLower,
              "the request fencing token is a lower version that the fencing token protecting the "
              "resource"},
    ErrorText{ErrorCode::kQuotaExceeded, "the quota has been exceeded"},
    ErrorText{ErrorCode::kSyntax, "syntax error"},
    ErrorText{ErrorCode::kNotAuthorized, "not authorized"},
    ErrorText{ErrorCode::kUnknownCommand, "unknown command"},
    ErrorText{ErrorCode::kWrongArgumentCount, "wrong number of arguments"},
    ErrorText{ErrorCode::kMissingTimestamp, "missing timestamp"},
    ErrorText{ErrorCode::kMalformedTimestamp, "malformed timestamp"},
    ErrorText{ErrorCode::kEmptyKey, "the key length is zero"},
};

constexpr std::string_view kDeployedLowerToken =
    "the request fencing token is a lower version than the fencing token protecting the resource";

TEST(ErrorCode, HasTheExactTextInEachDialect) {
  ASSERT_EQ(kErrorTexts.size(), kErrorCodes.size());
  for (const auto& [code, expected] : kErrorTexts) {
    EXPECT_EQ(text(code, documented()), expected);
    EXPECT_EQ(text(code, deployed()),
              code == ErrorCode::kTokenLower ? kDeployedLowerToken : expected);
    EXPECT_EQ(error_with_text(expected), code);
  }
  EXPECT_EQ(error_with_text(kDeployedLowerToken), ErrorCode::kTokenLower);
}

TEST(ErrorCode, IsFoundByItsExactTextOnly) {
  for (const std::string_view other : {"", "unknown", "Syntax error", "syntax error ", "syntax"}) {
    EXPECT_EQ(error_with_text(other), std::nullopt) << other;
  }
}

TEST(ErrorCode, IsSentWithAColonOnlyForKeynotifyAsDocumented) {
  for (const auto& [code, unused] : kErrorTexts) {
    for (const DialectId id : kDialects) {
      for (const std::optional<Verb> verb :
           {std::optional<Verb>{}, std::optional{Verb::kSet}, std::optional{Verb::kKeynotify}}) {
        const bool colon = id == DialectId::kDocumented && verb == Verb::kKeynotify;
        const std::string expected(text(code, dialect(id)));
        std::string out;
        append_reply(out, {.kind = ReplyKind::kError, .error = code}, verb, dialect(id));
        EXPECT_EQ(out, (colon ? "-ERR: " : "-ERR ") + expected + "\r\n");
        const Result<DecodedReply, DecodeError> reply = decode_reply(out);
        ASSERT_TRUE(reply) << escape(out);
        EXPECT_EQ(reply->kind, ReplyKind::kError);
        EXPECT_EQ(reply->value, expected);
        EXPECT_EQ(reply->form, colon ? std::optional(id) : std::nullopt);
      }
    }
  }
}

// Names.

TEST(Names, OfErrorsDivergencesAndDialectsReadBack) {
  std::set<std::string_view> seen;
  for (const ErrorCode code : kErrorCodes) {
    EXPECT_EQ(error_named(name(code)), code);
    seen.insert(name(code));
  }
  for (const Divergence divergence : kDivergences) {
    EXPECT_EQ(divergence_named(name(divergence)), divergence);
    seen.insert(name(divergence));
  }
  for (const DialectId id : kDialects) {
    EXPECT_EQ(dialect(id).id, id);
    EXPECT_EQ(dialect_named(dialect(id).name), id);
    seen.insert(dialect(id).name);
  }
  EXPECT_EQ(seen.size(), kErrorCodes.size() + kDivergences.size() + kDialects.size());
  for (const std::string_view other : {"", "unknown", "Syntax", "deployed "}) {
    EXPECT_EQ(error_named(other), std::nullopt) << other;
    EXPECT_EQ(divergence_named(other), std::nullopt) << other;
    EXPECT_EQ(dialect_named(other), std::nullopt) << other;
  }
}

TEST(Names, SayUnknownForValuesOutsideTheirEnumeration) {
  EXPECT_EQ(name(static_cast<Verb>(99)), "unknown");
  EXPECT_EQ(name(static_cast<Divergence>(99)), "unknown");
  EXPECT_EQ(name(static_cast<ErrorCode>(99)), "unknown");
  EXPECT_EQ(text(static_cast<ErrorCode>(99), deployed()), "unknown");
  EXPECT_EQ(describe({static_cast<DecodeErrorCode>(99), 3}), "unknown, at offset 3");
}

TEST(Dialects, DifferInWhatTheyTakeAndHowTheyPrintVersions) {
  EXPECT_FALSE(documented().fractional_expiry);
  EXPECT_FALSE(documented().padded_versions);
  EXPECT_TRUE(deployed().fractional_expiry);
  EXPECT_TRUE(deployed().padded_versions);
}

TEST(Names, AreThoseThatScenariosUse) {
  EXPECT_EQ(dialect(DialectId::kDocumented).name, "documented");
  EXPECT_EQ(dialect(DialectId::kDeployed).name, "deployed");
  EXPECT_EQ(name(ErrorCode::kTokenRequired), "token-required");
  EXPECT_EQ(name(Divergence::kSetNotApplied), "set-not-applied");
  EXPECT_EQ(name(Verb::kKeynotify), "KEYNOTIFY");
}

// Notifications.

TEST(Notification, HasTheExactBytesInEachDialect) {
  const std::string set_bytes = "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$3\r\nabc\r\n";
  for (const DialectId id : kDialects) {
    std::string out;
    append_notification(out, {.operation = Operation::kSet, .value = "abc"}, dialect(id));
    EXPECT_EQ(out, set_bytes);
    EXPECT_EQ(decode_notification(out)->value, "abc");
  }
  std::string out;
  append_notification(out, {.operation = Operation::kDelete}, documented());
  EXPECT_EQ(out, "*2\r\n$6\r\nNOTIFY\r\n$3\r\nDEL\r\n");
  out.clear();
  append_notification(out, {.operation = Operation::kDelete}, deployed());
  EXPECT_EQ(out, "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n");
}

TEST(Notification, SaysWhichDialectSpelledTheDelete) {
  for (const DialectId id : kDialects) {
    std::string out;
    append_notification(out, {.operation = Operation::kDelete}, dialect(id));
    const DecodedNotification expected{.operation = Operation::kDelete, .form = id};
    EXPECT_EQ(decode_notification(out), expected);
  }
}

TEST(Notification, PlacesTheFaultOfAnotherCommandAtItsBegin) {
  for (const std::string& bytes : {encode_command({"notify", "DEL"}), encode_command({"NOTIFY"}),
                                   encode_command({"NOTIFY", "GET"})}) {
    EXPECT_EQ(decode_notification(bytes).error(), (DecodeError{kUnexpectedType, 0}))
        << escape(bytes);
  }
}

TEST(Notification, PassesOnTheFaultOfItsBytes) {
  EXPECT_EQ(decode_notification("").error(), (DecodeError{kEmptyInput, 0}));
  EXPECT_EQ(decode_notification("+NOTIFY\r\n").error(), (DecodeError{kUnexpectedType, 0}));
  EXPECT_EQ(decode_notification("*1\r\n$6\r\nNOTIFY").error(), (DecodeError{kTruncated, 14}));
  EXPECT_EQ(decode_notification("*1\r\n$3\r\nabc\r\n", Limits{.max_bulk_bytes = 2}).error(),
            (DecodeError{kLengthLimit, 5}));
}

// Topics.

const std::string kPrefix(kStorePrefix);

TEST(Topics, SpellClientAndKeyInBase16) {
  const std::string topic = kPrefix + "/636C69656E742D696431/command/notify/534F4D454B4559";
  EXPECT_EQ(notification_topic("client-id1", "SOMEKEY"), topic);
  EXPECT_EQ(notification_filter("client-id1"), kPrefix + "/636C69656E742D696431/command/notify/+");
  EXPECT_EQ(parse_notification_topic(topic), (NotificationTarget{"client-id1", "SOMEKEY"}));
  EXPECT_EQ(recommended_response_topic("c1"),
            "clients/c1/services/statestore/_any_/command/invoke/response");
}

TEST(Topics, AreReadOnlyInTheExactForm) {
  for (const std::string& topic :
       {""s, kPrefix, kPrefix + "/", kPrefix + "/41", kPrefix + "/41/command/notify",
        kPrefix + "/41/command/notify/", kPrefix + "//command/notify/41",
        kPrefix + "/41/command/notify/4", kPrefix + "/4/command/notify/41",
        kPrefix + "/41/command/notify/4b", kPrefix + "/4b/command/notify/41",
        kPrefix + "/41/command/notify/41/42", kPrefix + "/41/42/command/notify/41",
        kPrefix + "/41/command/notify/41`", kPrefix + "41/command/notify/41",
        kPrefix + "/41/command/Notify/41", "/" + kPrefix + "/41/command/notify/41",
        kPrefix + "/41/command/notify/+"}) {
    EXPECT_EQ(parse_notification_topic(topic), std::nullopt) << topic;
  }
  EXPECT_TRUE(parse_notification_topic(kPrefix + "/41/command/notify/41"));
}

// 75 bytes are fixed and each byte of client and key takes two: 32,730 of them fill the 65,535
// bytes.
TEST(Topics, HoldTheLongestObservableKeyAndNoLonger) {
  const std::string client = "c1";
  const std::string longest(32'730 - client.size(), '\xff');
  const std::optional<std::string> topic = notification_topic(client, longest);
  ASSERT_TRUE(topic);
  EXPECT_EQ(topic->size(), kMaxTopicBytes);
  EXPECT_EQ(parse_notification_topic(*topic), (NotificationTarget{client, longest}));
  EXPECT_EQ(notification_topic(client, longest + "k"), std::nullopt);
  EXPECT_EQ(notification_topic(client + "c", longest), std::nullopt);
  EXPECT_EQ(notification_topic(client, std::string(1U << 20U, 'k')), std::nullopt);
  EXPECT_EQ(notification_topic(std::string(1U << 20U, 'c'), "k"), std::nullopt);
}

// The examples of the MQTT 5 standard, section 4.7, and the edges between them.
TEST(Topics, MatchFiltersLevelByLevel) {
  struct Case {
    std::string_view filter;
    std::string_view topic;
    bool matches;
  };
  constexpr std::array kCases = {
      Case{"a/b", "a/b", true},       Case{"a/b", "a", false},
      Case{"a/b", "a/b/c", false},    Case{"a/b", "A/b", false},
      Case{"a/b/#", "a/b", true},     Case{"a/b/#", "a/b/c/d", true},
      Case{"a/b/#", "a/bc", false},   Case{"#", "a/b", true},
      Case{"#", "/", true},           Case{"a/+", "a/b", true},
      Case{"a/+", "a/", true},        Case{"a/+", "a", false},
      Case{"a/+", "a/b/c", false},    Case{"a/+/c", "a/b/c", true},
      Case{"a/+/c", "a/c", false},    Case{"+/+", "/a", true},
      Case{"/+", "/a", true},         Case{"+", "/a", false},
      Case{"+/#", "a", true},         Case{"#", "$SYS/a", false},
      Case{"+/a", "$SYS/a", false},   Case{"$SYS/#", "$SYS/a", true},
      Case{"$SYS/+", "$SYS/a", true}, Case{"a/#", "$SYS/a", false},
  };
  for (const auto& [filter, topic, matches] : kCases) {
    EXPECT_EQ(filter_matches(filter, topic), matches) << filter << " and " << topic;
  }
  const std::string filter = notification_filter("c1");
  EXPECT_TRUE(filter_matches(filter, *notification_topic("c1", "a/b+#")));
  EXPECT_FALSE(filter_matches(filter, *notification_topic("c2", "k")));
}

TEST(Topics, AcceptEveryResponseTopicThatClientsUse) {
  const std::string store = "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke";
  for (const std::string& topic :
       {recommended_response_topic("c1"), "clients/6331/" + store + "/response",
        "clients/c1/services/" + store + "/response", "clients/c1/" + store, "a"s, "/"s,
        kRequestTopic.data() + "/response"s, std::string(kMaxTopicBytes, 'x')}) {
    EXPECT_EQ(response_topic_fault(topic), std::nullopt) << topic;
  }
}

TEST(Topics, RefuseResponseTopicsThatBelongToTheStoreOrToNobody) {
  using enum ResponseTopicFault;
  struct Case {
    std::string topic;
    ResponseTopicFault fault;
  };
  const std::vector<Case> cases = {
      {"", kEmpty},
      {std::string(kRequestTopic), kIsRequestTopic},
      {kPrefix, kHasStorePrefix},
      {kPrefix + "/41/command/notify/41", kHasStorePrefix},
      {kPrefix + "x", kHasStorePrefix},
      {kPrefix + "/#", kHasStorePrefix},
      {"clients/+/response", kWildcard},
      {"clients/#", kWildcard},
      {"a+", kWildcard},
      {"$SYS/response", kReservedPrefix},
      {"$share/group/response", kReservedPrefix},
      {"a\0b"s, kBadCharacter},
      {std::string(kMaxTopicBytes + 1, 'x'), kTooLong},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(response_topic_fault(c.topic), c.fault) << escape(c.topic, 100);
  }
}

// A topic is compared byte by byte: only the prefix as it stands is the store's.
TEST(Topics, TakeTheStorePrefixByTheByte) {
  std::string lower = kPrefix;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  ASSERT_NE(lower, kPrefix);
  EXPECT_EQ(response_topic_fault(lower), std::nullopt);
  EXPECT_EQ(response_topic_fault("C" + kPrefix.substr(1)), std::nullopt);
  EXPECT_EQ(response_topic_fault(kPrefix.substr(0, kPrefix.size() - 1)), std::nullopt);
  EXPECT_EQ(response_topic_fault("x/" + kPrefix), std::nullopt);
}

// Base16 and messages.

TEST(Base16, WritesTwoUpperCaseDigitsAByte) {
  EXPECT_EQ(base16_encode("SOMEKEY"), "534F4D454B4559");
  EXPECT_EQ(base16_encode("\0\xff\x0a"s), "00FF0A");
  EXPECT_EQ(base16_encode(""), "");
  EXPECT_EQ(base16_decode("00FF0A"), "\0\xff\x0a"s);
  EXPECT_EQ(base16_decode(""), "");
}

TEST(Base16, RefusesWhatItDoesNotWrite) {
  for (const std::string_view digits : {"0", "000", "ff", "fF", "0G", "G0", " 0", "0x", "4`"}) {
    EXPECT_EQ(base16_decode(digits), std::nullopt) << digits;
  }
  EXPECT_EQ(base16_decode("0\0"s), std::nullopt);
}

TEST(Message, IsSentAtLeastOnceAndNotRetainedByDefault) {
  const Message message;
  EXPECT_EQ(message.qos, 1);
  EXPECT_FALSE(message.retain);
  EXPECT_FALSE(message.duplicate);
  EXPECT_EQ(kStatusProperty, "__stat");
  EXPECT_EQ(kContentType, "application/octet-stream");
}

TEST(Message, ReadsTheLastPropertyOfAName) {
  Message message;
  EXPECT_EQ(message.property(kTimestampProperty), nullptr);
  message.user_properties = {{"__ts", "first"}, {"__ft", ""}, {"__ts", "last"}, {"__TS", "other"}};
  ASSERT_NE(message.property(kTimestampProperty), nullptr);
  EXPECT_EQ(*message.property(kTimestampProperty), "last");
  ASSERT_NE(message.property(kTokenProperty), nullptr);
  EXPECT_EQ(*message.property(kTokenProperty), "");
  EXPECT_EQ(message.property(kStatusProperty), nullptr);
}

}  // namespace
}  // namespace fencepost::codec
