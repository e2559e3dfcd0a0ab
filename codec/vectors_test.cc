// The hostile vectors, each under its row number: what has broken parsers of this family before,
// and what this one answers. A malformed request gets exactly one error of the protocol, and
// decoding it allocates nothing, for any bytes.
#include "codec/testing/vectors.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <locale>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "codec/command.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "codec/resp3.h"
#include "codec/testing/naive_decoder.h"

namespace {

std::atomic<std::size_t> allocation_count{0};
std::atomic<std::size_t> allocated_bytes{0};

void* counted_malloc(std::size_t size) noexcept {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(size, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}

void* counted_new(std::size_t size) {
  if (void* memory = counted_malloc(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Every unaligned form is replaced, so that no block is taken from one allocator and given to
// another: the address sanitizer would report that. Inlined, they would make GCC take a pair of new
// and free() for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) { return counted_new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return counted_new(size); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_malloc(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted_malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace fencepost::codec {
namespace {

using namespace std::string_literals;

struct Allocations {
  std::size_t count;
  std::size_t bytes;
};

template <typename Action>
Allocations allocations_of(const Action& action) {
  const std::size_t count = allocation_count.load();
  const std::size_t bytes = allocated_bytes.load();
  action();
  return {allocation_count.load() - count, allocated_bytes.load() - bytes};
}

// At most Limits::max_depth arrays are open at the same time, and none may ask for more elements
// than the input could still hold at three bytes each.
std::size_t most_bytes_for(std::size_t input_size) {
  return Limits{}.max_depth * (input_size / 3 + 1) * sizeof(Value);
}

using vectors::all_replies;
using vectors::all_requests;
using vectors::ReplyVector;
using vectors::request;
using vectors::RequestVector;
using vectors::set_of;

class RequestVectors : public testing::TestWithParam<RequestVector> {};

TEST_P(RequestVectors, GetTheirAnswerInBothDialects) {
  for (const DialectId id : kDialects) {
    const Result<Command, ErrorCode> command = parse_command(GetParam().payload, dialect(id));
    ASSERT_EQ(command.has_value(), !GetParam().error.has_value());
    if (command) {
      EXPECT_EQ(encode(*command), GetParam().payload) << "not byte-exact";
    } else {
      EXPECT_EQ(name(command.error()), name(*GetParam().error));
    }
  }
}

TEST_P(RequestVectors, AllocateNothing) {
  const std::string& payload = GetParam().payload;
  EXPECT_EQ(allocations_of([&] { (void)decode_command(payload); }).count, 0U);
  const Dialect& deployed = dialect(DialectId::kDeployed);
  EXPECT_EQ(allocations_of([&] { (void)parse_command(payload, deployed); }).count, 0U);
}

TEST_P(RequestVectors, AllocateInProportionAsValues) {
  const std::string& payload = GetParam().payload;
  EXPECT_LE(allocations_of([&] { (void)decode_value(payload); }).bytes,
            most_bytes_for(payload.size()));
}

TEST_P(RequestVectors, AgreeWithTheSecondDecoder) {
  EXPECT_TRUE(naive::agree_on_command(GetParam().payload));
  EXPECT_TRUE(naive::agree_on_value(GetParam().payload));
}

INSTANTIATE_TEST_SUITE_P(Table, RequestVectors, testing::ValuesIn(all_requests()),
                         [](const auto& test) { return label(test.param); });

class ReplyVectors : public testing::TestWithParam<ReplyVector> {};

TEST_P(ReplyVectors, AreReadAsWhatTheyAre) {
  const Result<DecodedReply, DecodeError> reply = decode_reply(GetParam().payload);
  ASSERT_EQ(reply.has_value(), GetParam().reply.has_value());
  if (reply) {
    EXPECT_EQ(*reply, *GetParam().reply);
  }
}

TEST_P(ReplyVectors, AllocateInProportion) {
  const std::string& payload = GetParam().payload;
  EXPECT_LE(allocations_of([&] { (void)decode_value(payload); }).bytes,
            most_bytes_for(payload.size()));
}

TEST_P(ReplyVectors, AgreeWithTheSecondDecoder) {
  EXPECT_TRUE(naive::agree_on_value(GetParam().payload));
}

INSTANTIATE_TEST_SUITE_P(Table, ReplyVectors, testing::ValuesIn(all_replies()),
                         [](const auto& test) { return label(test.param); });

// Without this, a counter that counts nothing would make every claim above true.
TEST(AllocationCounter, SeesAnAllocation) {
  const Allocations seen = allocations_of([] {
    (void)encode_command({"SET", "a key that is not short", "a value"});
  });
  EXPECT_GT(seen.count, 0U);
  EXPECT_GT(seen.bytes, 0U);
  EXPECT_EQ(allocations_of([] { (void)decode_value("*1\r\n+x\r\n"); }).count, 1U);
}

// Row 6, the worst case: each level claims as many elements as the bytes behind it could hold, then
// the input ends.
TEST(Vectors, Row06NestedClaimsStayInProportion) {
  std::string payload;
  const std::string filler(30'000, '!');
  for (std::size_t level = 0; level < Limits{}.max_depth; ++level) payload += "*10000\r\n";
  payload += filler;
  const Allocations seen = allocations_of([&] { EXPECT_FALSE(decode_value(payload)); });
  EXPECT_LE(seen.bytes, most_bytes_for(payload.size()));
  EXPECT_GE(seen.bytes, 10'000 * sizeof(Value)) << "the claims were meant to be believed";
}

// Elements of three bytes each: a count of one more than would fit is still believed, for the bytes
// that are missing are then named at the end.
TEST(Vectors, Row06ACountThatTheInputCannotHoldAllocatesNothing) {
  const std::string rest(30, '!');
  const std::string at = "*11\r\n" + rest;
  EXPECT_EQ(allocations_of([&] { EXPECT_FALSE(decode_value(at)); }).count, 1U);
  const std::string above = "*12\r\n" + rest;
  EXPECT_EQ(allocations_of([&] { EXPECT_FALSE(decode_value(above)); }).count, 0U);
}

TEST(Vectors, Row27EveryTruncationOfASetIsRefusedWhereItEnds) {
  const std::string whole = request({"SET", "key", "value", "NEX", "PX", "1000"});
  ASSERT_TRUE(decode_command(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string prefix = whole.substr(0, size);
    const Result<CommandFrame, DecodeError> frame = decode_command(prefix);
    ASSERT_FALSE(frame) << escape(prefix);
    const auto code = size == 0 ? DecodeErrorCode::kEmptyInput : DecodeErrorCode::kTruncated;
    EXPECT_EQ(frame.error(), (DecodeError{code, size})) << escape(prefix);
    EXPECT_EQ(parse_command(prefix, dialect(DialectId::kDeployed)).error(), ErrorCode::kSyntax);
    EXPECT_TRUE(naive::agree_on_command(prefix)) << escape(prefix);
  }
}

std::string nested(std::size_t depth) {
  std::string out;
  for (std::size_t i = 0; i < depth; ++i) out += "*1\r\n";
  return out + "$1\r\nx\r\n";
}

// A decoder which recursed as deep as its input says would overflow its stack at the last one.
TEST(Vectors, Row30DepthIsBounded) {
  for (const std::size_t depth : {2U, 8U, 1024U, 1'000'000U}) {
    const Result<CommandFrame, DecodeError> frame = decode_command(nested(depth));
    ASSERT_FALSE(frame) << depth;
    EXPECT_EQ(frame.error(), (DecodeError{DecodeErrorCode::kUnexpectedType, 4})) << depth;
  }
  EXPECT_TRUE(decode_command(nested(1)));
  for (const std::size_t depth : {1U, 8U}) EXPECT_TRUE(decode_value(nested(depth))) << depth;
  for (const std::size_t depth : {9U, 1024U, 1'000'000U}) {
    const std::string payload = nested(depth);
    const Allocations seen = allocations_of([&] {
      const Result<Value, DecodeError> value = decode_value(payload);
      ASSERT_FALSE(value) << depth;
      EXPECT_EQ(value.error().code, DecodeErrorCode::kDepthLimit) << depth;
    });
    EXPECT_LE(seen.count, Limits{}.max_depth) << depth;
  }
}

struct ExpiryForm {
  std::string text;
  std::optional<std::int64_t> documented{};  // milliseconds; nothing: refused
  std::optional<std::int64_t> deployed{};
};

const std::string kMaxMilliseconds = std::to_string(kMaxExpiry.count());
const std::string kTooManyMilliseconds = std::to_string(kMaxExpiry.count() + 1);

const std::vector<ExpiryForm> kExpiryForms = {
    {"0", 0, 0},
    {"1", 1, 1},
    {"05", 5, 5},
    {kMaxMilliseconds, kMaxExpiry.count(), kMaxExpiry.count()},
    // Client libraries send fractions; only the deployed dialect drops them.
    {"1.5", std::nullopt, 1},
    {"0.9", std::nullopt, 0},
    {"1500.5", std::nullopt, 1500},
    {kMaxMilliseconds + ".9", std::nullopt, kMaxExpiry.count()},
    // Refused in both.
    {kTooManyMilliseconds},
    {kTooManyMilliseconds + ".0"},
    {"1."},
    {".5"},
    {"1.5.5"},
    {"1.-5"},
    {"-1"},
    {"+1"},
    {"-0"},
    {"1e3"},
    {"1E+16"},
    {"1.5e3"},
    {"1500,5"},
    {"abc"},
    {"0x10"},
    {" 5"},
    {"5 "},
    {"5:"},
    {"5/"},
    {""},
    {"."},
    {"5\0"s},
    {"99999999999999999999"},
    {"18446744073709551617"},
};

TEST(Vectors, Row34ExpiryForms) {
  for (const ExpiryForm& form : kExpiryForms) {
    const std::string payload = request({"SET", "k", "v", "PX", form.text});
    for (const DialectId id : kDialects) {
      const auto& expected = id == DialectId::kDocumented ? form.documented : form.deployed;
      const Result<Command, ErrorCode> command = parse_command(payload, dialect(id));
      ASSERT_EQ(command.has_value(), expected.has_value()) << escape(form.text);
      if (command) {
        EXPECT_EQ(command->expires_after->count(), *expected) << escape(form.text);
      } else {
        EXPECT_EQ(command.error(), ErrorCode::kSyntax) << escape(form.text);
      }
    }
  }
}

TEST(Vectors, Row37KeysAndValuesOfEverySize) {
  for (const std::size_t size : {1U, 65'535U, 65'536U, 1U << 20U}) {
    const std::string payload = request({"GET", std::string(size, 'k')});
    const Allocations seen = allocations_of([&] {
      const auto command = parse_command(payload, dialect(DialectId::kDeployed));
      ASSERT_TRUE(command);
      EXPECT_EQ(command->key.size(), size);
    });
    EXPECT_EQ(seen.count, 0U) << size;
  }
  const std::string payload = request({"SET", "k", std::string(16U << 20U, 'v')});
  const Allocations seen = allocations_of([&] {
    EXPECT_EQ(parse_command(payload, dialect(DialectId::kDeployed))->value.size(), 16U << 20U);
  });
  EXPECT_EQ(seen.count, 0U);
}

TEST(Vectors, Row37HeaderOfTheLargestValueAllocatesNothing) {
  struct Case {
    std::string bulk;
    DecodeErrorCode code;
  };
  const std::vector<Case> cases = {
      {"$268435455\r\n",
       DecodeErrorCode::kTruncated},  // the limit itself: only the bytes are missing
      {"$268435456\r\n", DecodeErrorCode::kLengthLimit},  // one past
  };
  for (const Case& c : cases) {
    const std::string payload = set_of(c.bulk);
    const Allocations seen = allocations_of([&] {
      EXPECT_EQ(decode_command(payload).error().code, c.code);
      EXPECT_EQ(decode_value(c.bulk).error().code, c.code);
    });
    EXPECT_EQ(seen.count, 0U) << escape(c.bulk);
  }
}

// That the time does not grow with the header shows in the offset: the decoder gave up at the first
// digit too many.
TEST(Vectors, Row38EndlessHeadersAreLeftAtTheLimit) {
  const std::size_t digits = Limits{}.max_header_digits;
  for (const std::string& run : {std::string(64U << 10U, '1'), std::string(1U << 20U, '0')}) {
    for (const std::string end : {"", "\r\n"}) {
      const DecodeError at_count{DecodeErrorCode::kLengthLimit, 1 + digits};
      EXPECT_EQ(decode_command("*" + run + end).error(), at_count);
      EXPECT_EQ(decode_value("*" + run + end).error(), at_count);
      EXPECT_EQ(decode_value("$" + run + end).error(), at_count);
      EXPECT_EQ(decode_command("*1\r\n$" + run + end).error(),
                (DecodeError{DecodeErrorCode::kLengthLimit, 5 + digits}));
      EXPECT_EQ(decode_value(":" + run + end).error(),
                (DecodeError{DecodeErrorCode::kLineLimit, 1 + Limits{}.max_line_bytes}));
    }
  }
}

TEST(Vectors, Row42NotificationForms) {
  const DecodedNotification set{.operation = Operation::kSet, .value = "abc", .form = std::nullopt};
  EXPECT_EQ(decode_notification(request({"NOTIFY", "SET", "VALUE", "abc"})), set);
  const DecodedNotification empty{.operation = Operation::kSet, .form = std::nullopt};
  EXPECT_EQ(decode_notification(request({"NOTIFY", "SET", "VALUE", ""})), empty);
  EXPECT_EQ(decode_notification(request({"NOTIFY", "DEL"}))->form, DialectId::kDocumented);
  EXPECT_EQ(decode_notification(request({"NOTIFY", "DELETE"}))->form, DialectId::kDeployed);
  const std::vector<std::vector<std::string>> refused = {
      {"NOTIFY"},
      {"NOTIFY", "SET"},
      {"NOTIFY", "SET", "VALUE"},
      {"NOTIFY", "SET", "abc"},
      {"NOTIFY", "SET", "VALUE", "abc", "more"},
      {"NOTIFY", "SET", "value", "abc"},
      {"NOTIFY", "DEL", "VALUE"},
      {"NOTIFY", "DELETE", "VALUE", "abc"},
      {"NOTIFY", "DELETED"},
      {"NOTIFY", "delete"},
      {"notify", "DEL"},
      {"SET", "NOTIFY"},
  };
  for (const std::vector<std::string>& arguments : refused) {
    const std::string payload = request(arguments);
    EXPECT_FALSE(decode_notification(payload)) << escape(payload);
  }
}

const std::vector<std::string> kLegalMessages = {
    request({"SET", "SETKEY2", "VALUE5"}),
    request({"SET", "k", "", "NX", "PX", "10"}),
    request({"SET", "k\r\n", "*1\r\n", "NEX"}),
    request({"GET", "\0\xff"s}),
    request({"VDEL", "k", "$-1\r\n"}),
    request({"KEYNOTIFY", "k", "STOP"}),
    request({"NOTIFY", "SET", "VALUE", "abc"}),
    request({"NOTIFY", "DELETE"}),
    "+OK\r\n",
    "-1\r\n",
    "-ERR syntax error\r\n",
    ":-1\r\n",
    ":9223372036854775807\r\n",
    "$-1\r\n",
    "$0\r\n\r\n",
    "$4\r\n1234\r\n",
    "*0\r\n",
    "*3\r\n*2\r\n:1\r\n$-1\r\n+x\r\n*1\r\n*0\r\n",
};

// There is no streaming interface: a message arrives whole, in one payload. What corresponds to a
// split is a payload that is a part of a larger buffer, and that a decoder might read beyond. Its
// answer must not depend on what follows.
TEST(Vectors, Row43AnswerDoesNotDependOnWhatFollowsInMemory) {
  for (const std::string& whole : kLegalMessages) {
    const std::string buffer = whole + whole;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const std::string_view within = std::string_view(buffer).substr(0, size);
      // Exactly as large as the prefix, so that the address sanitizer sees a read of one byte more.
      const auto exact = std::make_unique<char[]>(size);
      within.copy(exact.get(), size);
      const std::string_view alone(exact.get(), size);
      EXPECT_EQ(decode_value(within), decode_value(alone)) << escape(within);
      EXPECT_EQ(decode_value(alone).has_value(), size == whole.size()) << escape(within);
      EXPECT_EQ(decode_command(within).has_value(), decode_command(alone).has_value());
      EXPECT_FALSE(size < whole.size() && decode_command(alone)) << escape(within);
      EXPECT_TRUE(naive::agree_on_value(std::string(alone))) << escape(within);
    }
  }
}

TEST(Vectors, Row44LengthsCountBytes) {
  EXPECT_EQ(encode_command({"GET", "\xc3\xa4"}), "*2\r\n$3\r\nGET\r\n$2\r\n\xc3\xa4\r\n");
  EXPECT_EQ(encode_command({"\0"}), "*1\r\n$0\r\n\r\n");
  EXPECT_EQ(encode_command({std::string_view("\0", 1)}), "*1\r\n$1\r\n\0\r\n"s);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string text(byte + 1, static_cast<char>(byte));
    std::string out;
    append_bulk(out, text);
    ASSERT_TRUE(decode_value(out)) << byte;
    EXPECT_EQ(decode_value(out)->text, text) << byte;
  }
}

// A locale that groups digits with points, as some countries write them.
struct Grouped : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Vectors, Row44DigitsIgnoreTheLocale) {
  const std::locale previous = std::locale::global(std::locale(std::locale(), new Grouped));
  const Command command{.verb = Verb::kSet,
                        .key = "k",
                        .value = "v",
                        .expires_after = std::chrono::milliseconds{1'234'567}};
  std::string reply;
  append_reply(reply, {.kind = ReplyKind::kCount, .count = 1'234'567}, Verb::kDel,
               dialect(DialectId::kDeployed));
  std::string bulk;
  append_bulk(bulk, std::string(65'536, 'x'));
  const std::string encoded = encode(command);
  const bool reads_back = decode_value(bulk).has_value();
  std::locale::global(previous);
  EXPECT_EQ(encoded, request({"SET", "k", "v", "PX", "1234567"}));
  EXPECT_EQ(reply, ":1234567\r\n");
  EXPECT_EQ(bulk.substr(0, 8), "$65536\r\n");
  EXPECT_TRUE(reads_back);
}

// std::uniform_int_distribution differs between libraries; a remainder gives the same mutations
// everywhere.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  std::string next() {
    std::string text = pick(kLegalMessages);
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  void edit(std::string& text) {
    static constexpr std::string_view kBytes("$*+-:0123456789\r\n\0\xffSETx ", 25);
    const char byte = kBytes[below(kBytes.size())];
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, 1, byte);
        return;
      case 1:
        text.erase(at, 1 + below(3));
        return;
      case 2:
        if (at < text.size()) text[at] = byte;
        return;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), 1 + below(8)));
        return;
      case 4:
        text.insert(at, pick(kLegalMessages));
        return;
      default:
        if (at < text.size() && text[at] >= '0' && text[at] < '9') ++text[at];
        return;
    }
  }

  std::mt19937_64 engine_;
};

TEST(Vectors, Row45MutationsAgreeWithTheSecondDecoder) {
  constexpr std::uint64_t kSeed = 45;
  Mutator mutator(kSeed);
  std::size_t accepted = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = mutator.next();
    ASSERT_TRUE(naive::agree_on_command(text)) << "mutation " << i << ": " << escape(text);
    ASSERT_TRUE(naive::agree_on_value(text)) << "mutation " << i << ": " << escape(text);
    accepted += decode_value(text) ? 1U : 0U;
  }
  // Both verdicts must occur often, or the comparison would be of little worth.
  EXPECT_GT(accepted, 10'000U);
  EXPECT_LT(accepted, 90'000U);
}

TEST(Vectors, EveryRowHasATest) {
  std::set<int> rows = {27, 30, 34, 37, 38, 42, 43, 44, 45};  // those with a test of their own
  for (const RequestVector& vector : all_requests()) rows.insert(vector.row);
  for (const ReplyVector& vector : all_replies()) rows.insert(vector.row);
  for (int row = 1; row <= 45; ++row) EXPECT_EQ(rows.count(row), 1U) << row;
}

}  // namespace
}  // namespace fencepost::codec
