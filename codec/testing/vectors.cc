#include "codec/testing/vectors.h"

#include <cstdint>

#include "base/bytes.h"

namespace fencepost::codec::vectors {
namespace {

using namespace std::string_literals;

std::string get_of(const std::string& raw_key) { return "*2\r\n$3\r\nGET\r\n" + raw_key; }

// A request whose verb and key are followed by that many arguments `x`.
std::string padded(const std::string& verb, std::size_t more) {
  std::vector<std::string> arguments = {verb, "k"};
  arguments.resize(2 + more, "x");
  return request(arguments);
}

constexpr ErrorCode kSyntax = ErrorCode::kSyntax;
constexpr ErrorCode kUnknown = ErrorCode::kUnknownCommand;
constexpr ErrorCode kArity = ErrorCode::kWrongArgumentCount;
constexpr ErrorCode kEmptyKey = ErrorCode::kEmptyKey;

// Malformed bulk strings. Each is tried as a whole reply, as the key of a GET and as the value of a
// SET.
struct MalformedBulk {
  int row;
  std::string name;
  std::string bytes;
};

const std::vector<MalformedBulk> kMalformedBulks = {
    {2, "NoLength", "$\r\n"},
    {2, "NoLengthWithTerminator", "$\r\n\r\n"},
    {3, "EndsInTheLength", "$5"},
    {3, "EndsAfterTheType", "$"},
    {9, "MinusTwo", "$-2\r\n"},
    {9, "MinusTwoWithBytes", "$-2\r\nab\r\n"},
    {11, "LengthOfInt32Max", "$2147483647\r\nx\r\n"},
    {12, "LengthOfUint64MaxLessOne", "$18446744073709551614\r\n"},
    {13, "LengthOfUint64Max", "$18446744073709551615\r\nX"},
    {14, "LengthWrapsAt32Bits", "$4294967300\r\nabcd\r\n"},
    {15, "LengthOfTwentyDigits", "$99999999999999999999\r\n"},
    {16, "LengthWithLetters", "$4abc\r\n1234\r\n"},
    {16, "LengthWithBlankBehind", "$4 \r\n1234\r\n"},
    {16, "LengthWithBlankBefore", "$ 4\r\n1234\r\n"},
    {17, "LengthWithPlus", "$+4\r\n1234\r\n"},
    {18, "LengthWithLeadingZero", "$04\r\n1234\r\n"},
    {18, "MinusZero", "$-0\r\n\r\n"},
    {19, "LettersForTerminator", "$4\r\n1234XY"},
    {19, "TerminatorReversed", "$4\r\n1234\n\r"},
    {20, "LengthTooShort", "$4\r\n12345\r\n"},
    {21, "LengthSwallowsTerminator", "$6\r\n1234\r\n"},
    {22, "LineFeedsAlone", "$4\n1234\n"},
    {22, "CarriageReturnsAlone", "$4\r1234\r"},
};

const std::vector<RequestVector> kFraming = {
    {1, "Empty", "", kSyntax},
    {2, "StarAlone", "*", kSyntax},
    {2, "StarWithoutCount", "*\r\n", kSyntax},
    {2, "DollarWithoutLength", "$\r\n", kSyntax},
    {3, "DollarAlone", "$", kSyntax},
    {4, "NoVerb", "*0\r\n", kSyntax},
    {5, "CountOfMinusOne", "*-1\r\n", kSyntax},
    {5, "CountOfMinusFive", "*-5\r\n", kSyntax},
    {6, "CountOfABillion", "*1000000000\r\n", kSyntax},
    {6, "CountAtTheElementLimit", "*1048576\r\n", kSyntax},
    {7, "CountWrapsAt32Bits", "*4294967297\r\n", kSyntax},
    {7, "CountWrapsAt64Bits", "*18446744073709551617\r\n", kSyntax},
    {8, "CountTimesElementSizeWraps", "*4611686018427387905\r\n", kSyntax},
    {10, "NullForKey", get_of("$-1\r\n"), kSyntax},
    {10, "NullForValue", set_of("$-1\r\n"), kSyntax},
    {10, "NullForVerb", "*1\r\n$-1\r\n", kSyntax},
    {23, "TerminatorInsideValue", set_of("$4\r\n12\r\n\r\n")},
    {23, "TerminatorInsideKey", get_of("$4\r\n12\r\n\r\n")},
    {24, "NulInKey", request({"SET", "a\0b"s, "\0"s})},
    {24, "InvalidUtf8", request({"SET", "\xff\xfe", "\xc3\x28"})},
    {24, "LoneSurrogate", request({"VDEL", "\xed\xa0\x80", "\xed\xbf\xbf"})},
    {24, "HeaderInsideValue", request({"SET", "\r", "*3\r\n$3\r\nSET\r\n"})},
    {25, "EmptyValue", request({"SET", "k", ""})},
    {25, "EmptyValueOfVdel", request({"VDEL", "k", ""})},
    {25, "EmptyKeyOfSet", request({"SET", "", "v"}), kEmptyKey},
    {25, "EmptyKeyAndValue", request({"SET", "", ""}), kEmptyKey},
    {25, "EmptyKeyOfGet", request({"GET", ""}), kEmptyKey},
    {25, "EmptyKeyOfDel", request({"DEL", ""}), kEmptyKey},
    {25, "EmptyKeyOfVdel", request({"VDEL", "", "v"}), kEmptyKey},
    {25, "EmptyKeyOfKeynotify", request({"KEYNOTIFY", ""}), kEmptyKey},
    {26, "TrailingByte", request({"GET", "k"}) + "x", kSyntax},
    {26, "TrailingNul", request({"GET", "k"}) + "\0"s, kSyntax},
    {26, "TrailingLineEnd", request({"GET", "k"}) + "\r\n", kSyntax},
    {26, "TwoCommands", request({"GET", "k"}) + request({"GET", "k"}), kSyntax},
    {28, "CountAboveElements", "*3\r\n$3\r\nGET\r\n$1\r\nk\r\n", kSyntax},
    {28, "CountBelowElements", "*1\r\n$3\r\nGET\r\n$1\r\nk\r\n", kSyntax},
};

const std::vector<RequestVector> kElements = {
    {29, "IntegerElement", get_of(":1\r\n"), kSyntax},
    {29, "SimpleStringElement", get_of("+x\r\n"), kSyntax},
    {29, "ErrorElement", get_of("-x\r\n"), kSyntax},
    {29, "NestedArray", get_of("*1\r\n$1\r\nk\r\n"), kSyntax},
    {29, "MapElement", get_of("%1\r\n$1\r\nk\r\n$1\r\nv\r\n"), kSyntax},
    {29, "SetElement", get_of("~1\r\n$1\r\nk\r\n"), kSyntax},
    {29, "PushElement", get_of(">1\r\n$1\r\nk\r\n"), kSyntax},
    {29, "NullElement", get_of("_\r\n"), kSyntax},
    {29, "BooleanElement", get_of("#t\r\n"), kSyntax},
    {29, "DoubleElement", get_of(",1.5\r\n"), kSyntax},
    {29, "VerbatimElement", get_of("=5\r\ntxt:k\r\n"), kSyntax},
    {29, "BlobErrorElement", get_of("!1\r\nk\r\n"), kSyntax},
    {29, "BigNumberElement", get_of("(1\r\n"), kSyntax},
    {29, "SimpleStringVerb", "*2\r\n+GET\r\n$1\r\nk\r\n", kSyntax},
    {31, "StreamedString", get_of("$?\r\n;4\r\n1234\r\n;0\r\n"), kSyntax},
    {31, "StreamedArray", "*?\r\n$3\r\nGET\r\n$1\r\nk\r\n.\r\n", kSyntax},
    {31, "AttributeBefore", "|1\r\n+a\r\n+b\r\n" + request({"GET", "k"}), kSyntax},
    {31, "AttributeWithin", get_of("|1\r\n+a\r\n+b\r\n$1\r\nk\r\n"), kSyntax},
    {32, "InlineGet", "GET a\r\n", kSyntax},
    {32, "UnframedKeynotify", "KEYNOTIFY\r\nk\r\n", kSyntax},
    {33, "LowerCaseVerb", request({"set", "k", "v"}), kUnknown},
    {33, "MixedCaseVerb", request({"Set", "k", "v"}), kUnknown},
    {33, "VerbWithBlank", request({"SET ", "k", "v"}), kUnknown},
    {33, "VerbCutShort", request({"SE", "k", "v"}), kUnknown},
    {33, "VerbWithMore", request({"SETX", "k", "v"}), kUnknown},
    {33, "VerbAfterNul", request({"\0SET"s, "k", "v"}), kUnknown},
    {33, "VerbBeforeNul", request({"SET\0"s, "k", "v"}), kUnknown},
    {33, "EmptyVerb", request({"", "k", "v"}), kUnknown},
};

const std::vector<RequestVector> kArguments = {
    {34, "ExpiryMissing", request({"SET", "k", "v", "PX"}), kSyntax},
    {34, "ExpiryMissingAfterCondition", request({"SET", "k", "v", "NX", "PX"}), kSyntax},
    {34, "ExpiryAgainAsTheNumber", request({"SET", "k", "v", "PX", "PX", "1"}), kSyntax},
    {34, "ExpiryAgainWithoutNumber", request({"SET", "k", "v", "PX", "1", "PX"}), kSyntax},
    {34, "ExpiryTwice", request({"SET", "k", "v", "PX", "1", "PX", "2"}), kArity},
    {35, "BothConditions", request({"SET", "k", "v", "NX", "NEX"}), kSyntax},
    {35, "ConditionTwice", request({"SET", "k", "v", "NX", "NX"}), kSyntax},
    {35, "OtherConditionTwice", request({"SET", "k", "v", "NEX", "NEX"}), kSyntax},
    {35, "ConditionWithArgument", request({"SET", "k", "v", "NEX", "v"}), kSyntax},
    {35, "UnknownOption", request({"SET", "k", "v", "XX"}), kSyntax},
    {35, "LowerCaseOption", request({"SET", "k", "v", "nx"}), kSyntax},
    {35, "LowerCaseExpiry", request({"SET", "k", "v", "px", "1"}), kSyntax},
    {35, "EmptyOption", request({"SET", "k", "v", ""}), kSyntax},
    {35, "UnknownOptionOfKeynotify", request({"KEYNOTIFY", "k", "GET"}), kSyntax},
    {35, "StopWithMore", request({"KEYNOTIFY", "k", "STOPX"}), kSyntax},
    {35, "StopCutShort", request({"KEYNOTIFY", "k", "STO"}), kSyntax},
    {35, "LowerCaseStop", request({"KEYNOTIFY", "k", "stop"}), kSyntax},
    {36, "SetWithVerbOnly", request({"SET"}), kArity},
    {36, "SetWithOneFewer", padded("SET", 0), kArity},
    {36, "SetWithOneMore", padded("SET", 5), kArity},
    {36, "SetWithThousandMore", padded("SET", 1004), kArity},
    {36, "GetWithOneFewer", request({"GET"}), kArity},
    {36, "GetWithOneMore", padded("GET", 1), kArity},
    {36, "GetWithThousandMore", padded("GET", 1000), kArity},
    {36, "DelWithOneFewer", request({"DEL"}), kArity},
    {36, "DelWithOneMore", padded("DEL", 1), kArity},
    {36, "DelWithThousandMore", padded("DEL", 1000), kArity},
    {36, "VdelWithOneFewer", padded("VDEL", 0), kArity},
    {36, "VdelWithOneMore", padded("VDEL", 2), kArity},
    {36, "VdelWithThousandMore", padded("VDEL", 1001), kArity},
    {36, "KeynotifyWithOneFewer", request({"KEYNOTIFY"}), kArity},
    {36, "KeynotifyWithOneMore", padded("KEYNOTIFY", 2), kArity},
    {36, "KeynotifyWithThousandMore", padded("KEYNOTIFY", 1001), kArity},
};

DecodedReply error_reply(std::string_view text) {
  return {.kind = ReplyKind::kError, .value = text, .form = std::nullopt};
}

const std::vector<ReplyVector> kReplies = {
    {1, "Empty", ""},
    {4, "EmptyArray", "*0\r\n"},
    {5, "CountOfMinusOne", "*-1\r\n"},
    {5, "CountOfMinusFive", "*-5\r\n"},
    {6, "CountOfABillion", "*1000000000\r\n"},
    {6, "CountAtTheElementLimit", "*1048576\r\n"},
    {7, "CountWrapsAt32Bits", "*4294967297\r\n"},
    {8, "CountTimesElementSizeWraps", "*4611686018427387905\r\n"},
    {23, "TerminatorInside", "$4\r\n12\r\n\r\n",
     DecodedReply{.kind = ReplyKind::kValue, .value = "12\r\n", .form = std::nullopt}},
    {25, "EmptyValue", "$0\r\n\r\n", DecodedReply{.kind = ReplyKind::kValue, .form = std::nullopt}},
    {26, "TwoReplies", "+OK\r\n+OK\r\n"},
    {31, "StreamedString", "$?\r\n;4\r\n1234\r\n;0\r\n"},
    {31, "Attribute", "|1\r\n+a\r\n+b\r\n+OK\r\n"},
    {39, "OkWithoutLineEnd", "+OK"},
    {39, "OkWithBytesBehind", "+OK\r\ntrail"},
    {39, "OkInLowerCase", "+ok\r\n"},
    {39, "ErrorWithoutText", "-\r\n"},
    {39, "ErrorWithoutReason", "-ERR\r\n"},
    {39, "ErrorWithCarriageReturn", "-ERR a\rb\r\n"},
    {39, "ErrorWithLineFeed", "-ERR a\nb\r\n"},
    {39, "ErrorOfAnotherClass", "-WRONG x\r\n"},
    {39, "ErrorWithEmptyReason", "-ERR \r\n", error_reply("")},
    {39, "ErrorWithUnknownText", "-ERR no such thing\r\n", error_reply("no such thing")},
    {40, "IntegerWithoutDigits", ":\r\n"},
    {40, "IntegerWithPlus", ":+1\r\n"},
    {40, "IntegerWithLeadingZero", ":01\r\n"},
    {40, "IntegerAboveInt64", ":9223372036854775808\r\n"},
    {40, "IntegerWithBytesBehind", ":1\r\nx"},
    {40, "IntegerMinusZero", ":-0\r\n"},
    {40, "IntegerMinusAlone", ":-\r\n"},
    {40, "IntegerBelowMinusOne", ":-2\r\n"},
    {40, "IntegerOfInt64Max", ":9223372036854775807\r\n",
     DecodedReply{.kind = ReplyKind::kCount, .count = INT64_MAX, .form = std::nullopt}},
    {41, "NotAppliedDocumented", "-1\r\n",
     DecodedReply{.kind = ReplyKind::kNotApplied, .form = DialectId::kDocumented}},
    {41, "NotAppliedDeployed", ":-1\r\n",
     DecodedReply{.kind = ReplyKind::kNotApplied, .form = DialectId::kDeployed}},
    {41, "NotAppliedOfNeither", "-2\r\n"},
    {41, "ErrorWithColon", "-ERR: syntax error\r\n",
     DecodedReply{
         .kind = ReplyKind::kError, .value = "syntax error", .form = DialectId::kDocumented}},
    {41, "ErrorWithoutColon", "-ERR syntax error\r\n", error_reply("syntax error")},
};

}  // namespace

std::string set_of(const std::string& raw_value) {
  return "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n" + raw_value;
}

std::string request(const std::vector<std::string>& arguments) {
  std::string out = "*" + std::to_string(arguments.size()) + "\r\n";
  for (const std::string& argument : arguments) {
    out += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
  }
  return out;
}

std::vector<RequestVector> all_requests() {
  std::vector<RequestVector> all;
  for (const auto* table : {&kFraming, &kElements, &kArguments}) {
    all.insert(all.end(), table->begin(), table->end());
  }
  for (const MalformedBulk& bulk : kMalformedBulks) {
    all.push_back({bulk.row, bulk.name + "AsKey", get_of(bulk.bytes), kSyntax});
    all.push_back({bulk.row, bulk.name + "AsValue", set_of(bulk.bytes), kSyntax});
  }
  return all;
}

std::vector<ReplyVector> all_replies() {
  std::vector<ReplyVector> all = kReplies;
  for (const MalformedBulk& bulk : kMalformedBulks) {
    all.push_back({bulk.row, bulk.name, bulk.bytes});
  }
  return all;
}

namespace {

std::string label_of(int row, const std::string& name) {
  return (row < 10 ? "Row0" : "Row") + std::to_string(row) + name;
}

}  // namespace

std::string label(const RequestVector& vector) { return label_of(vector.row, vector.name); }
std::string label(const ReplyVector& vector) { return label_of(vector.row, vector.name); }

void PrintTo(const RequestVector& vector, std::ostream* out) {
  *out << label(vector) << ' ' << escape(vector.payload, 200);
}
void PrintTo(const ReplyVector& vector, std::ostream* out) {
  *out << label(vector) << ' ' << escape(vector.payload, 200);
}

}  // namespace fencepost::codec::vectors
