// Traces as text and as bytes, what their timestamps become in a run, and their mutation.
#include <algorithm>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hlc/hlc.h"
#include "workload/rendering.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace fencepost::workload {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

Trace parsed(std::string_view text) {
  Result<Trace, std::string> trace = parse_trace(text);
  EXPECT_TRUE(trace.has_value()) << trace.error();
  return trace ? *trace : Trace{};
}

TEST(TraceText, ReadsEveryField) {
  const Trace trace = parsed(
      "# a comment\n\n"
      "c1 SET k2 \"a\\r\\n\" NEX PX 50 ts=now+60000/3#2p ft=token@k0-1\n"
      "wait 50 timer\n"
      "wall -60001\n"
      "c3 disconnect\n"
      "c0 raw \"*1\" ft=bad4");
  ASSERT_EQ(trace.size(), 5U);
  EXPECT_EQ(trace[0],
            (Operation{.kind = Kind::kSet,
                       .client = 1,
                       .key = 2,
                       .value = "a\r\n",
                       .condition = codec::Condition::kIfAbsentOrEqual,
                       .px_ms = 50,
                       .timestamp = {.base = StampBase::kNow,
                                     .padded = true,
                                     .node = 2,
                                     .offset_ms = 60'000,
                                     .counter = 3},
                       .token = {.base = StampBase::kToken, .of_key = 0, .offset_ms = -1}}));
  EXPECT_EQ(trace[1], (Operation{.kind = Kind::kWait, .by_ms = 50, .timer = true}));
  EXPECT_EQ(trace[2], (Operation{.kind = Kind::kWallStep, .by_ms = -60'001}));
  EXPECT_EQ(trace[3], (Operation{.kind = Kind::kDisconnect, .client = 3}));
  EXPECT_EQ(trace[4], (Operation{.kind = Kind::kRawPayload,
                                 .value = "*1",
                                 .token = {.base = StampBase::kMalformed, .malformed = 4}}));
}

TEST(TraceText, SaysWhatItExpectedAndWhere) {
  const auto error = [](std::string_view text) {
    const Result<Trace, std::string> trace = parse_trace(text);
    return trace ? "none"s : trace.error();
  };
  EXPECT_EQ(error("c0 GET k0\nc9 GET k0"), "line 2: expected the number of a client");
  EXPECT_EQ(error("c0 FETCH k0"), "line 1: expected a verb, raw or disconnect");
  EXPECT_EQ(error("c0 GET x0"), "line 1: expected a key");
  EXPECT_EQ(error("c0 GET k6"), "line 1: expected the number of a key");
  EXPECT_EQ(error("c0 SET k0 v"), "line 1: expected a value in quotes");
  EXPECT_EQ(error("c0 SET k0 \"v"), "line 1: expected a value in quotes");
  EXPECT_EQ(error("c0 SET k0 \"v\" XX"), "line 1: expected NX, NEX, PX, ts= or ft=");
  EXPECT_EQ(error("c0 SET k0 \"v\" PX x"), "line 1: expected a number after PX");
  EXPECT_EQ(error("c0 GET k0 ft=never"), "line 1: expected a timestamp");
  EXPECT_EQ(error("c0 GET k0 ft=now#99"), "line 1: expected a timestamp");
  EXPECT_EQ(error("c0 GET k0 ft=now/3x"), "line 1: expected a blank after the timestamp");
  EXPECT_EQ(error("wait soon"), "line 1: expected a number of milliseconds");
  EXPECT_EQ(error("wait 5 minutes"), "line 1: expected the end of the line");
  EXPECT_EQ(error("sleep 5"), "line 1: expected a client, wait or wall");
  std::string long_text;
  for (std::size_t i = 0; i <= kMaxOperations; ++i) long_text += "wait 1\n";
  EXPECT_THAT(error(long_text), HasSubstr("line 257: expected at most 256 operations"));
}

TEST(TraceBytes, AreAFewBytesAnOperation) {
  EXPECT_EQ(encode_trace(parsed("c0 GET k0")).size(), 2U);
  EXPECT_EQ(encode_trace(parsed("c0 SET k0 \"v\"")).size(), 3U);
  EXPECT_EQ(encode_trace(parsed("c0 SET k0 \"v\" NX PX 50 ft=token-1")).size(), 6U);
  EXPECT_EQ(encode_trace(parsed("wait 50")).size(), 2U);
}

TEST(TraceBytes, EncodesTheOperationsThatFit) {
  const Trace trace = parsed("c0 GET k0\nwait 50\nc0 SET k0 \"v\"");
  const std::string whole = encode_trace(trace);
  EXPECT_EQ(encode_beginning(trace, 7), whole);
  EXPECT_EQ(encode_beginning(trace, 6), whole.substr(0, 4));
  EXPECT_EQ(encode_beginning(trace, 3), whole.substr(0, 2));
  EXPECT_EQ(encode_beginning(trace, 1), "");
}

TEST(TraceBytes, StopAfterTheLargestNumberOfOperations) {
  const std::string bytes(2 * kMaxOperations + 10, '\x01');
  EXPECT_EQ(decode_trace(bytes).size(), kMaxOperations);
}

TEST(TraceBytes, ThatAreMissingCountAsZero) {
  EXPECT_EQ(to_text(decode_trace("\x00"s)), "c0 SET k0 \"v\"\n");
  EXPECT_EQ(decode_trace(""), Trace{});
}

// ---- Timestamps in a run

constexpr std::uint64_t kNow = 1'696'374'425'000;

std::string rendered(std::string_view stamp, const Bases& bases) {
  const Trace trace = parsed("c0 GET k0 ft=" + std::string(stamp));
  Offered offered;
  resolve(trace.at(0).token, bases, offered);
  std::string text;
  append_text(text, trace.at(0).token, offered);
  return text;
}

TEST(Rendering, CountsFromClocks) {
  const Bases bases{.now_ms = kNow, .start_ms = 5'000};
  EXPECT_EQ(rendered("none", bases), "");
  EXPECT_EQ(rendered("now", bases), "1696374425000:0:Client1");
  EXPECT_EQ(rendered("now+60001/3#1", bases), "1696374485001:3:a");
  EXPECT_EQ(rendered("now-1/-1p", bases), "001696374424999:18446744073709551615:Client1");
  EXPECT_EQ(rendered("start-4999#2", bases), "1:0:zz");
  EXPECT_EQ(rendered("epoch-1", bases), "0:0:Client1");
  EXPECT_EQ(rendered("max+1", bases), "9223372036854775807:0:Client1");
  EXPECT_EQ(rendered("bad0", bases), "NotValid");
}

TEST(Rendering, CountsFromWhatTheKeyHolds) {
  const hlc::Timestamp token{.wall_ms = 100, .counter = 7, .node = "n"};
  const hlc::Timestamp version{.wall_ms = 200, .counter = 0, .node = "StateStore"};
  const Bases fenced{.now_ms = kNow, .start_ms = kNow, .token = &token, .version = &version};
  EXPECT_EQ(rendered("token", fenced), "100:7:n");
  EXPECT_EQ(rendered("token-1/-1", fenced), "99:6:n");
  EXPECT_EQ(rendered("token#1", fenced), "100:7:!");
  EXPECT_EQ(rendered("token#2", fenced), "100:7:n~");
  EXPECT_EQ(rendered("version+1", fenced), "201:0:StateStore");
  const Bases open{.now_ms = kNow, .start_ms = kNow, .version = &version};
  EXPECT_EQ(rendered("token", open), "200:0:StateStore");
  EXPECT_EQ(rendered("token", {.now_ms = 5, .start_ms = 5}), "5:0:Client1");
}

TEST(Rendering, MalformedTextsAreWhatAParserRefuses) {
  for (const MalformedText& malformed : malformed_texts()) {
    EXPECT_FALSE(hlc::parse(malformed.text).has_value()) << malformed.text;
  }
}

TEST(Rendering, ACommandIsWhatTheOperationSays) {
  const Trace trace = parsed("c0 SET k0 \"v\" NX PX 50\nc0 VDEL k0 \"v\"\nc0 STOP k0");
  EXPECT_EQ(codec::encode(command_of(trace.at(0), "key")),
            codec::encode_command({"SET", "key", "v", "NX", "PX", "50"}));
  EXPECT_EQ(codec::encode(command_of(trace.at(1), "key")),
            codec::encode_command({"VDEL", "key", "v"}));
  EXPECT_EQ(codec::encode(command_of(trace.at(2), "key")),
            codec::encode_command({"KEYNOTIFY", "key", "STOP"}));
}

// ---- Mutation

TEST(Mutator, ReachesEveryKindConditionAndBase) {
  Random random(1);
  std::array<bool, kKinds> kinds{};
  std::array<bool, 3> conditions{};
  std::array<bool, kStampBases> bases{};
  std::array<bool, kKeys> used_keys{};
  std::array<bool, kClients> used_clients{};
  Trace trace;
  for (int i = 0; i < 20'000; ++i) {
    mutate(trace, random, 32);
    for (const Operation& operation : trace) {
      kinds.at(static_cast<std::size_t>(operation.kind)) = true;
      conditions.at(static_cast<std::size_t>(operation.condition)) = true;
      bases.at(static_cast<std::size_t>(operation.timestamp.base)) = true;
      used_keys.at(operation.key) = true;
      used_clients.at(operation.client) = true;
    }
  }
  const auto all = [](const auto& seen) {
    return std::all_of(seen.begin(), seen.end(), [](bool one) { return one; });
  };
  EXPECT_TRUE(all(kinds));
  EXPECT_TRUE(all(conditions));
  EXPECT_TRUE(all(bases));
  EXPECT_TRUE(all(used_keys));
  EXPECT_TRUE(all(used_clients));
}

TEST(Mutator, UsesTheMutationOfValuesItIsGiven) {
  Random random(1);
  const Trace start = parsed("c0 SET k0 \"v\"");
  bool seen = false;
  for (int i = 0; i < 1'000 && !seen; ++i) {
    Trace trace = start;
    mutate(trace, random, 8, [](std::string& value, Random&) { value = "from outside"; });
    seen = std::any_of(trace.begin(), trace.end(), [](const Operation& operation) {
      return operation.value == "from outside";
    });
  }
  EXPECT_TRUE(seen);
}

TEST(Mutator, CrossesOperationsOfBothInTheirOrder) {
  Random random(1);
  const Trace a = parsed("wait 1\nwait 2\nwait 3\n");
  const Trace b = parsed("wall 1\nwall 2\nwall 3\n");
  bool mixed = false;
  for (int i = 0; i < 200; ++i) {
    const Trace child = cross(a, b, random, 5);
    EXPECT_LE(child.size(), 5U);
    std::int32_t wait = 0;
    std::int32_t wall = 0;
    for (const Operation& operation : child) {
      std::int32_t& last = operation.kind == Kind::kWait ? wait : wall;
      EXPECT_EQ(operation.by_ms, last + 1);
      last = operation.by_ms;
    }
    mixed = mixed || (wait > 0 && wall > 0);
  }
  EXPECT_TRUE(mixed);
}

}  // namespace
}  // namespace fencepost::workload
