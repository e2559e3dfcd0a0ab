#include "hlc/hlc.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <locale>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "hlc/append.h"

namespace fencepost::hlc {

// GoogleTest finds this by argument-dependent lookup.
void PrintTo(const Timestamp& timestamp, std::ostream* os) {
  *os << timestamp.wall_ms << ':' << timestamp.counter << ':' << escape(timestamp.node);
}

namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kNow = 1'696'374'425'000;
constexpr std::uint64_t kSecond = 1'000;
constexpr std::uint64_t kHour = 3'600 * kSecond;
constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();
constexpr std::string_view kUuid = "00000000-0000-0000-0000-000000000000";
constexpr ClockLimits kNoDrift{.max_drift_ms = kMax64};

std::uint64_t at(std::int64_t seconds_from_now) {
  return kNow + static_cast<std::uint64_t>(seconds_from_now) * kSecond;
}

// A clock whose last timestamp is {wall_ms, counter}. The wall clock agrees meanwhile, so no drift
// limit refuses it.
Clock clock_at(std::uint64_t wall_ms, std::uint64_t counter, ClockLimits limits = {}) {
  Clock clock("local", limits);
  const auto issued =
      counter == 0 ? clock.now(wall_ms) : clock.update({wall_ms, counter - 1, "past"}, wall_ms);
  EXPECT_TRUE(issued.has_value());
  EXPECT_EQ(clock.last(), (Timestamp{wall_ms, counter, "local"}));
  return clock;
}

// ---- Parsing ----

struct Accepted {
  std::string_view text;
  std::uint64_t wall_ms;
  std::uint64_t counter;
  std::string_view node;
};

TEST(PlainNodeId, IsPrintableAsciiWithoutColonsAndBlanks) {
  for (const char* good : {"a", "StateStore", "!~", "a-b_c.1"}) EXPECT_TRUE(is_plain_node_id(good));
  for (const char* bad : {"", " ", "a b", "a:b", "a\n", "\x7f", "\xc3\xa9", "\xe2\x80\xaex"}) {
    EXPECT_FALSE(is_plain_node_id(bad)) << bad;
  }
}

TEST(HlcParse, AcceptsDecimalFieldsAndAnyNodeWithoutColon) {
  const std::vector<Accepted> cases = {
      {"1696374425000:0:Client1", kNow, 0, "Client1"},
      {"1696374425000:1:StateStore", kNow, 1, "StateStore"},
      {"001696374425000:00000:uuid", kNow, 0, "uuid"},
      {"000000000000000:00000:00000000-0000-0000-0000-000000000000", 0, 0, kUuid},
      {"0:0:n", 0, 0, "n"},
      {"253402300799999:2147483646:n", 253'402'300'799'999, 2'147'483'646, "n"},
      {"9223372036854775807:0:n", kMaxWallMs, 0, "n"},
      {"09223372036854775807:0:n", kMaxWallMs, 0, "n"},
      {"1:2147483647:n", 1, 2'147'483'647, "n"},
      {"1:2147483648:n", 1, 2'147'483'648, "n"},
      {"1:18446744073709551615:n", 1, kMax64, "n"},
      {"00000000000000000001:00000000000000000002:n", 1, 2, "n"},
      {"08:09:n", 8, 9, "n"},
      {"1:0: ", 1, 0, " "},
      {"1:0:a b", 1, 0, "a b"},
      {"1:0:\xc3\xa9", 1, 0, "\xc3\xa9"},
      {"1:0:\xff\0\r\n"sv, 1, 0, "\xff\0\r\n"sv},
      {"1:0:-1", 1, 0, "-1"},
  };
  for (const Accepted& c : cases) {
    SCOPED_TRACE(escape(c.text));
    const auto parsed = parse(c.text);
    ASSERT_TRUE(parsed.has_value()) << describe(parsed.error());
    EXPECT_EQ(*parsed, (Timestamp{c.wall_ms, c.counter, std::string(c.node)}));
  }
}

struct Refused {
  std::string_view text;
  ParseErrorCode code;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    SCOPED_TRACE(escape(c.text));
    const auto parsed = parse(c.text);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error(), c.code) << describe(parsed.error());
  }
}

TEST(HlcParse, RefusesWrongNumberOfFieldsAndBadNode) {
  using enum ParseErrorCode;
  expect_refused({
      {"", kMissingField},
      {":", kMissingField},
      {"NotValid", kMissingField},
      {"1696374425000:1", kMissingField},
      {"253402300799998.97:00012", kMissingField},
      {"253402300799998.97:00000000-0000-0000-0000-000000000000", kMissingField},
      {"12:00000000-0000-0000-0000-000000000000", kMissingField},
      {"1:0:", kEmptyNode},
      {"1696374425000:1:", kEmptyNode},
      {"1:2:3:4", kColonInNode},
      {"1:0:a:b", kColonInNode},
      {"1:0::", kColonInNode},
      {"1:0:a:", kColonInNode},
      {"1:0::a", kColonInNode},
  });
}

TEST(HlcParse, RefusesWallClockThatIsNotPlainDecimalOrTooLarge) {
  using enum ParseErrorCode;
  expect_refused({
      {"::", kBadWallClock},
      {":0:n", kBadWallClock},
      {"-1:0:n", kBadWallClock},
      {"-0:0:n", kBadWallClock},
      {"+1:0:n", kBadWallClock},
      {"1.5:0:n", kBadWallClock},
      {"1e3:0:n", kBadWallClock},
      {"1,000:0:n", kBadWallClock},
      {"1_0:0:n", kBadWallClock},
      {"1'000:0:n", kBadWallClock},
      {" 1:0:n", kBadWallClock},
      {"1 :0:n", kBadWallClock},
      {"\t1:0:n", kBadWallClock},
      {"1\n:0:n", kBadWallClock},
      {"1\0:0:n"sv, kBadWallClock},
      {"0x10:0:n", kBadWallClock},
      {"ff:0:n", kBadWallClock},
      {"NaN:0:n", kBadWallClock},
      {"inf:0:n", kBadWallClock},
      {"/:0:n", kBadWallClock},             // the byte before '0'
      {"\xd9\xa1:0:n", kBadWallClock},      // ARABIC-INDIC DIGIT ONE
      {"\xef\xbc\x91:0:n", kBadWallClock},  // FULLWIDTH DIGIT ONE
      {"9223372036854775808:0:n", kBadWallClock},
      {"18446744073709551615:0:n", kBadWallClock},
      {"18446744073709551616:0:n", kBadWallClock},
      {"99999999999999999999:0:n", kBadWallClock},
      {"253402300799998.97:00012:", kBadWallClock},
      {"253402300799998.97:00012:00000000-0000-0000-0000-000000000000", kBadWallClock},
      {"253402300799998.97:someNonInteger:00000000-0000-0000-0000-000000000000", kBadWallClock},
      {"000000000000000000001:0:n", kTooManyDigits},
      {"100000000000000000000:0:n", kTooManyDigits},
  });
}

TEST(HlcParse, RefusesCounterThatIsNotPlainDecimalOrTooLarge) {
  using enum ParseErrorCode;
  expect_refused({
      {"1::n", kBadCounter},
      {"1:+0:n", kBadCounter},
      {"1:-1:n", kBadCounter},
      {"1: 0:n", kBadCounter},
      {"1:0 :n", kBadCounter},
      {"1:0.5:n", kBadCounter},
      {"1:1e3:n", kBadCounter},
      {"1:1,000:n", kBadCounter},
      {"1:0x1:n", kBadCounter},
      {"1:a:n", kBadCounter},
      {"1:NaN:n", kBadCounter},
      {"1:18446744073709551616:n", kBadCounter},
      {"1:99999999999999999999:n", kBadCounter},
      {"1:000000000000000000000:n", kTooManyDigits},
      {"1:018446744073709551615:n", kTooManyDigits},
  });
}

TEST(HlcParse, DescribesEveryErrorInItsOwnWords) {
  using enum ParseErrorCode;
  std::set<std::string_view> sentences;
  for (const ParseErrorCode code :
       {kMissingField, kBadWallClock, kBadCounter, kEmptyNode, kColonInNode, kTooManyDigits}) {
    EXPECT_NE(describe(code), "unknown");
    EXPECT_FALSE(describe(code).empty());
    sentences.insert(describe(code));
  }
  EXPECT_EQ(sentences.size(), 6U);
  EXPECT_EQ(describe(static_cast<ParseErrorCode>(99)), "unknown");
}

// ---- Formatting ----

struct Format {
  Timestamp timestamp;
  std::string_view canonical;
  std::string_view unpadded;
};

TEST(HlcFormat, PadsToFifteenAndFiveDigitsAndNeverCuts) {
  const std::vector<Format> cases = {
      {{kNow, 1, "StateStore"}, "001696374425000:00001:StateStore", "1696374425000:1:StateStore"},
      {{0, 0, std::string(kUuid)},
       "000000000000000:00000:00000000-0000-0000-0000-000000000000",
       "0:0:00000000-0000-0000-0000-000000000000"},
      {{999'999'999'999'999, 99'999, "n"}, "999999999999999:99999:n", "999999999999999:99999:n"},
      {{1'000'000'000'000'000, 100'000, "n"},
       "1000000000000000:100000:n",
       "1000000000000000:100000:n"},
      {{kMaxWallMs, kMax64, "n"},
       "9223372036854775807:18446744073709551615:n",
       "9223372036854775807:18446744073709551615:n"},
      {{1, 0, "a b"}, "000000000000001:00000:a b", "1:0:a b"},
  };
  for (const Format& c : cases) {
    EXPECT_EQ(format(c.timestamp), c.canonical);
    EXPECT_EQ(format(c.timestamp, Padding::kCanonical), c.canonical);
    EXPECT_EQ(format(c.timestamp, Padding::kNone), c.unpadded);
  }
}

TEST(HlcFormat, AppendsBehindWhatIsThereAndAllocatesNothingWhereThereIsRoom) {
  std::string text = "before ";
  text.reserve(100);
  const char* where = text.data();
  append(text, {kNow, 1, "n"}, Padding::kNone);
  append(text, {kNow, 1, "n"});
  EXPECT_EQ(text, "before 1696374425000:1:n001696374425000:00001:n");
  EXPECT_EQ(text.data(), where);
}

// A locale that writes 1.000 for a thousand.
class Grouped : public std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(HlcFormat, IgnoresTheGlobalLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouped));
  const std::string text = format({kNow, 100'000, "n"}, Padding::kNone);
  const auto plain = parse("1696374425000:100000:n");
  const auto grouped = parse("1.696.374.425.000:100.000:n");
  std::locale::global(before);
  EXPECT_EQ(text, "1696374425000:100000:n");
  EXPECT_TRUE(plain.has_value());
  EXPECT_FALSE(grouped.has_value());
}

// ---- Order ----

TEST(HlcOrder, BeginsWithTheTimestampThatNobodyHasSet) {
  EXPECT_EQ(Timestamp{}, (Timestamp{0, 0, ""}));
  EXPECT_LT(Timestamp{}, (Timestamp{0, 0, "n"}));
}

TEST(HlcOrder, IsNumericOnWallAndCounterAndBytewiseOnNode) {
  const std::vector<std::pair<std::string_view, std::string_view>> ascending = {
      {"1:0:n", "2:0:n"},   // the later wall clock
      {"1:0:n", "1:1:n"},   // the same wall clock, the greater counter
      {"1:1:n", "2:0:n"},   // the wall clock outweighs the counter
      {"1:1:z", "1:2:a"},   // the counter outweighs the node
      {"1:9:z", "2:0:a"},   // the wall clock outweighs both
      {"9:0:n", "10:0:n"},  // as text, 9 would be the greater
      {"99:0:n", "100:0:n"},
      {"1:9:n", "1:10:n"},
      {"1:99:n", "1:100:n"},
      {"1:2147483647:n", "1:2147483648:n"},
      {"0:0:n", "9223372036854775807:0:n"},
      {"1:0:n", "1:18446744073709551615:n"},
      {"1:0:nodeId1", "1:0:nodeId2"},
      {"1:0:node10", "1:0:node9"},  // a node is text, not a number
      {"1:0:a", "1:0:aa"},
      {"1:0:Z", "1:0:a"},
      {"1:0:a", "1:0:a\0"sv},
      {"1:0:z", "1:0:\xc3\xa9"},  // bytes above 0x7f come last: they are unsigned
      {"1:0:\x7f", "1:0:\x80"},
  };
  for (const auto& [low_text, high_text] : ascending) {
    SCOPED_TRACE(escape(low_text) + " < " + escape(high_text));
    const Timestamp low = parse(low_text).value();
    const Timestamp high = parse(high_text).value();
    EXPECT_EQ(low <=> high, std::strong_ordering::less);
    EXPECT_EQ(high <=> low, std::strong_ordering::greater);
    EXPECT_NE(low, high);
  }
}

TEST(HlcOrder, PaddingNeverMatters) {
  const std::vector<std::pair<std::string_view, std::string_view>> equal = {
      {"1:1:X", "000000000000001:00001:X"},
      {"1:1:X", "00000000000000000001:00000000000000000001:X"},
      {"1696374425000:0:n", "001696374425000:00000:n"},
  };
  for (const auto& [plain, padded] : equal) {
    EXPECT_EQ(parse(plain).value(), parse(padded).value());
    EXPECT_EQ(parse(plain).value() <=> parse(padded).value(), std::strong_ordering::equal);
  }
}

// ---- The drift limit ----

TEST(HlcDrift, AllowsExactlyTheLimitAndNothingMore) {
  struct Case {
    std::uint64_t timestamp_ms;
    std::uint64_t wall_ms;
    std::uint64_t max_drift_ms;
    bool too_far;
  };
  const std::vector<Case> cases = {
      {kNow + 60'000, kNow, 60'000, false},
      {kNow + 60'001, kNow, 60'000, true},
      {kNow, kNow, 60'000, false},
      {kNow - 61'000, kNow, 60'000, false},  // behind is never too far ahead
      {0, kNow, 60'000, false},
      {0, 1, 60'000, false},  // 0 - 1 would wrap to a very large drift
      {0, kMaxWallMs, 60'000, false},
      {0, kMax64, 60'000, false},
      {60'000, 0, 60'000, false},
      {60'001, 0, 60'000, true},
      {kMaxWallMs, 0, 60'000, true},
      {kMaxWallMs, kMaxWallMs, 60'000, false},
      {kMaxWallMs, kMaxWallMs - 60'000, 60'000, false},  // wall + 60'000 is at the edge of int64
      {kMaxWallMs, kMaxWallMs - 60'001, 60'000, true},
      {kMax64, kMax64 - 60'000, 60'000, false},  // wall + 60'001 would wrap to 0
      {kMax64, kMax64 - 60'001, 60'000, true},
      {kMax64 - 1, kMax64, 60'000, false},
      {kNow, kNow, 0, false},
      {kNow + 1, kNow, 0, true},
      {kMax64, 0, kMax64, false},
      {kMaxWallMs, 1, kMax64, false},  // wall + drift would wrap to 0
  };
  for (const Case& c : cases) {
    EXPECT_EQ(too_far_ahead({c.timestamp_ms, 0, "n"}, c.wall_ms, c.max_drift_ms), c.too_far)
        << c.timestamp_ms << " at " << c.wall_ms << " with limit " << c.max_drift_ms;
  }
}

TEST(HlcDrift, LimitIsOneMinuteByDefault) {
  EXPECT_EQ(ClockLimits{}.max_drift_ms, 60'000U);
  EXPECT_FALSE(too_far_ahead({kNow + 60'000, 0, "n"}, kNow));
  EXPECT_TRUE(too_far_ahead({kNow + 60'001, 0, "n"}, kNow));
}

TEST(HlcDrift, CounterDoesNotAddToTheDrift) {
  EXPECT_FALSE(too_far_ahead({kNow + 60'000, kMax64, "n"}, kNow));
}

// ---- The clock: a local event ----

TEST(HlcNow, CountsWhileTheWallClockStandsOrGoesBack) {
  Clock clock("local");
  EXPECT_EQ(clock.last(), (Timestamp{0, 0, "local"}));
  const std::vector<std::pair<std::uint64_t, Timestamp>> steps = {
      {kNow, {kNow, 0, "local"}},          {kNow, {kNow, 1, "local"}},
      {kNow - 60'000, {kNow, 2, "local"}}, {kNow, {kNow, 3, "local"}},
      {kNow + 1, {kNow + 1, 0, "local"}},
  };
  for (const auto& [wall_ms, expected] : steps) {
    EXPECT_EQ(clock.now(wall_ms), expected);
    EXPECT_EQ(clock.last(), expected);
  }
}

TEST(HlcNow, FreshClockAtTheEpochStillAdvances) {
  Clock clock("local");
  EXPECT_EQ(clock.now(0), (Timestamp{0, 1, "local"}));
}

TEST(HlcNow, RefusesWhenTheWallClockFellTooFarBehind) {
  struct Case {
    std::int64_t wall_s;
    Result<Timestamp, ClockErrorCode> expected;
  };
  const std::vector<Case> cases = {
      {120, Timestamp{at(120), 0, "local"}}, {30, Timestamp{at(30), 0, "local"}},
      {-30, Timestamp{kNow, 1, "local"}},    {-60, Timestamp{kNow, 1, "local"}},
      {-120, fail(ClockErrorCode::kDrift)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.wall_s);
    Clock clock = clock_at(kNow, 0);
    EXPECT_EQ(clock.now(at(c.wall_s)), c.expected);
    EXPECT_EQ(clock.last(), c.expected.value_or(Timestamp{kNow, 0, "local"}));
  }
}

TEST(HlcNow, RefusesOneMillisecondPastTheLimit) {
  Clock clock = clock_at(kNow, 0);
  EXPECT_EQ(clock.now(kNow - 60'001), fail(ClockErrorCode::kDrift));
  EXPECT_EQ(clock.now(kNow - 60'000), (Timestamp{kNow, 1, "local"}));
}

TEST(HlcNow, IssuesTheLargestCounterAndThenRefuses) {
  Clock clock = clock_at(kNow, 6, {.max_counter = 7});
  EXPECT_EQ(clock.now(kNow), (Timestamp{kNow, 7, "local"}));
  EXPECT_EQ(clock.now(kNow), fail(ClockErrorCode::kOverflow));
  EXPECT_EQ(clock.last(), (Timestamp{kNow, 7, "local"}));
  // A later wall clock needs no counter, so the clock recovers by itself.
  EXPECT_EQ(clock.now(kNow + 1), (Timestamp{kNow + 1, 0, "local"}));
}

TEST(HlcNow, NeverWrapsTheWidestCounter) {
  Clock clock = clock_at(kNow, kMax64);
  EXPECT_EQ(clock.now(kNow), fail(ClockErrorCode::kOverflow));
  EXPECT_EQ(clock.last(), (Timestamp{kNow, kMax64, "local"}));
}

TEST(HlcNow, TakesNoCounterWhenEveryMillisecondAllowsOne) {
  Clock clock("local", {.max_counter = 0});
  EXPECT_EQ(clock.now(kNow), (Timestamp{kNow, 0, "local"}));
  EXPECT_EQ(clock.now(kNow), fail(ClockErrorCode::kOverflow));
}

// ---- The clock: a receipt ----

struct Receipt {
  std::int64_t local_s;  // seconds from the wall clock
  std::int64_t remote_s;
  Result<std::uint64_t, ClockErrorCode> counter;  // of the new timestamp
};

std::uint64_t newest(std::int64_t local_s, std::int64_t remote_s) {
  return at(std::max({local_s, remote_s, std::int64_t{0}}));
}

TEST(HlcUpdate, FollowsTheDriftTable) {
  // The local counter is 0 and the remote counter is 3. The wall clock stands at exactly kNow, so a
  // timestamp of that very millisecond is counted on, where a running clock might have passed it.
  const auto drift = fail(ClockErrorCode::kDrift);
  const std::vector<Receipt> cases = {
      {-120, -120, 0},  {-105, -120, 0},    {-120, -105, 0},   {-120, -30, 0},
      {-30, -120, 0},   {-30, -30, 0},      {-15, -30, 0},     {-30, -15, 0},
      {-120, 0, 4},     {-30, 0, 4},        {0, 0, 4},         {-120, 30, 4},
      {-30, 30, 4},     {0, 30, 4},         {30, 30, 4},       {30, 45, 4},
      {0, -120, 1},     {0, -30, 1},        {30, -120, 1},     {30, -30, 1},
      {30, 0, 1},       {45, 30, 1},        {60, 0, 1},        {0, 60, 4},
      {60, 60, 4},      {-120, 120, drift}, {-30, 120, drift}, {0, 120, drift},
      {30, 120, drift}, {120, -120, drift}, {120, -30, drift}, {120, 0, drift},
      {120, 30, drift}, {120, 120, drift},  {135, 120, drift}, {120, 135, drift},
  };
  for (const Receipt& c : cases) {
    SCOPED_TRACE(testing::Message() << "local " << c.local_s << " remote " << c.remote_s);
    Clock clock = clock_at(at(c.local_s), 0);
    const Timestamp before = clock.last();
    const auto issued = clock.update({at(c.remote_s), 3, "remote"}, kNow);
    if (!c.counter) {
      EXPECT_EQ(issued, fail(c.counter.error()));
      EXPECT_EQ(clock.last(), before);
      continue;
    }
    EXPECT_EQ(issued, (Timestamp{newest(c.local_s, c.remote_s), *c.counter, "local"}));
    EXPECT_EQ(clock.last(), issued);
  }
}

TEST(HlcUpdate, FollowsTheCounterTable) {
  struct Case {
    std::int64_t local_s;
    std::int64_t remote_s;
    std::uint64_t local_counter;
    std::uint64_t remote_counter;
    Result<std::uint64_t, ClockErrorCode> counter;
  };
  constexpr std::uint64_t kTop = 7;
  const auto overflow = fail(ClockErrorCode::kOverflow);
  const std::vector<Case> cases = {
      {30, 15, 0, kTop, 1},  // ours is the newest: the remote counter does not matter
      {15, 30, 0, kTop, overflow},   {15, 30, kTop, 0, 1},        {30, 15, kTop, 0, overflow},
      {-30, -30, kTop, kTop, 0},  // the wall clock is the newest: no counter matters
      {30, 30, 0, kTop, overflow},   {30, 30, kTop, 0, overflow}, {30, 30, kTop, kTop, overflow},
      {30, 30, kTop - 1, 0, kTop},  // the largest counter is itself issued
      {30, 30, 0, kTop - 1, kTop},   {15, 30, 0, kTop - 1, kTop}, {15, 30, 0, kTop + 1, overflow},
      {15, 30, 0, kMax64, overflow},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.local_s << '/' << c.local_counter << " receives "
                                    << c.remote_s << '/' << c.remote_counter);
    Clock clock = clock_at(at(c.local_s), c.local_counter, {.max_counter = kTop});
    const Timestamp before = clock.last();
    const auto issued = clock.update({at(c.remote_s), c.remote_counter, "remote"}, kNow);
    const auto expected = c.counter.map([&](std::uint64_t counter) {
      return Timestamp{newest(c.local_s, c.remote_s), counter, "local"};
    });
    EXPECT_EQ(issued, expected);
    EXPECT_EQ(clock.last(), expected.value_or(before));
  }
}

TEST(HlcUpdate, FollowsTheHourTableWithoutDriftLimit) {
  struct Case {
    Timestamp local;
    Timestamp remote;
    Timestamp expected;
  };
  const std::vector<Case> cases = {
      {{kNow + kHour, 10, "local"},
       {kNow + 10 * kHour, 1, "remote"},
       {kNow + 10 * kHour, 2, "local"}},
      {{kNow + kHour, 1, "local"}, {kNow + kHour, 2, "remote"}, {kNow + kHour, 3, "local"}},
      {{kNow - kHour, 1, "local"}, {kNow - kHour, 2, "remote"}, {kNow, 0, "local"}},
      {{kNow + 10 * kHour, 10, "local"},
       {kNow + kHour, 100, "remote"},
       {kNow + 10 * kHour, 11, "local"}},
  };
  for (const Case& c : cases) {
    Clock clock = clock_at(c.local.wall_ms, c.local.counter, kNoDrift);
    EXPECT_EQ(clock.update(c.remote, kNow), c.expected);
    EXPECT_EQ(clock.last(), c.expected);
  }
}

// Some clocks ignore a timestamp that bears their own name. A store must not: each change of a key
// needs a version greater than every one before, for any client.
TEST(HlcUpdate, AdvancesOnATimestampOfItsOwnNode) {
  Clock clock = clock_at(kNow, 4);
  EXPECT_EQ(clock.update({kNow, 4, "local"}, kNow), (Timestamp{kNow, 5, "local"}));
  EXPECT_EQ(clock.update({kNow + 1, 8, "local"}, kNow), (Timestamp{kNow + 1, 9, "local"}));
  EXPECT_EQ(clock.update({kNow, 0, "local"}, kNow), (Timestamp{kNow + 1, 10, "local"}));
}

TEST(HlcUpdate, FollowsAMixedTraceByTheRuleOfThePaper) {
  struct Step {
    std::uint64_t wall_ms;
    std::optional<Timestamp> remote;  // none: a local event
    std::uint64_t expected_wall_ms;
    std::uint64_t expected_counter;
  };
  const std::vector<Step> steps = {
      {5, {}, 5, 0},
      {6, {}, 6, 0},
      {10, Timestamp{10, 5, "remote"}, 10, 6},
      {7, {}, 10, 7},                          // the wall clock went back
      {8, Timestamp{10, 4, "remote"}, 10, 8},  // one step for a receipt, not one more for the merge
      {10, Timestamp{10, 99, "remote"}, 10, 100},
      {11, Timestamp{10, 31, "remote"}, 11, 0},  // a wall clock ahead of both resets the counter
      {11, {}, 11, 1},
  };
  Clock clock("local");
  for (const Step& step : steps) {
    SCOPED_TRACE(testing::Message() << step.expected_wall_ms << '.' << step.expected_counter);
    const auto issued =
        step.remote ? clock.update(*step.remote, step.wall_ms) : clock.now(step.wall_ms);
    EXPECT_EQ(issued, (Timestamp{step.expected_wall_ms, step.expected_counter, "local"}));
  }
}

TEST(HlcUpdate, AnswersARequestOfTheSameMillisecondWithTheNextCounter) {
  Clock store("StateStore");
  const Timestamp request = parse("1696374425000:0:Client1").value();
  const auto version = store.update(request, kNow);
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(format(*version, Padding::kNone), "1696374425000:1:StateStore");
}

TEST(HlcUpdate, AcceptsRequestsFromThePastWithTheTimeOfTheStore) {
  Clock store("StateStore");
  EXPECT_EQ(store.update({kNow - 61'000, 5, "c"}, kNow), (Timestamp{kNow, 0, "StateStore"}));
  EXPECT_EQ(store.update({0, 0, "c"}, kNow), (Timestamp{kNow, 1, "StateStore"}));
}

TEST(HlcUpdate, RefusesOneMillisecondPastTheLimitAndIsNotPoisoned) {
  Clock clock = clock_at(kNow, 0);
  EXPECT_EQ(clock.update({kNow + 60'001, 0, "r"}, kNow), fail(ClockErrorCode::kDrift));
  EXPECT_EQ(clock.last(), (Timestamp{kNow, 0, "local"}));
  EXPECT_EQ(clock.now(kNow), (Timestamp{kNow, 1, "local"}));
  EXPECT_EQ(clock.update({kNow + 60'000, 0, "r"}, kNow), (Timestamp{kNow + 60'000, 1, "local"}));
}

TEST(HlcUpdate, HoldsTheDriftLimitAtTheEndOfTime) {
  Clock clock("local");
  EXPECT_EQ(clock.update({kMaxWallMs, 0, "r"}, 0), fail(ClockErrorCode::kDrift));
  EXPECT_EQ(clock.last(), (Timestamp{0, 0, "local"}));
  EXPECT_EQ(clock.update({kMaxWallMs, 0, "r"}, kMaxWallMs - 60'001), fail(ClockErrorCode::kDrift));
  EXPECT_EQ(clock.update({kMaxWallMs, 0, "r"}, kMaxWallMs - 60'000),
            (Timestamp{kMaxWallMs, 1, "local"}));
}

TEST(HlcUpdate, RefusesTheWidestCounterAndIsNotPoisoned) {
  const Timestamp remote = parse("1696374425000:18446744073709551615:n").value();
  Clock clock = clock_at(kNow, 3);
  EXPECT_EQ(clock.update(remote, kNow), fail(ClockErrorCode::kOverflow));
  EXPECT_EQ(clock.last(), (Timestamp{kNow, 3, "local"}));
  EXPECT_EQ(clock.now(kNow), (Timestamp{kNow, 4, "local"}));
  // Once the wall clock is ahead of it, the same timestamp is harmless.
  EXPECT_EQ(clock.update(remote, kNow + 1), (Timestamp{kNow + 1, 0, "local"}));
}

TEST(HlcUpdate, NamesTheOverflowWhenTheDriftIsTooLargeAsWell) {
  Clock clock = clock_at(kNow, 0);
  EXPECT_EQ(clock.update({kNow + 60'001, kMax64, "r"}, kNow), fail(ClockErrorCode::kOverflow));
  EXPECT_EQ(clock.last(), (Timestamp{kNow, 0, "local"}));
}

TEST(HlcClockDeathTest, RefusesANodeThatCouldNotBeWritten) {
  EXPECT_DEATH(Clock(""), "check failed");
  EXPECT_DEATH(Clock("a:b"), "check failed");
}

// ---- Fencing ----

enum class Keeps { kNothing, kHeld, kOffered };

struct Fence {
  std::string_view held;  // empty: the key has no token
  std::string_view offered;
  Fencing verdict;
  Keeps keeps;
};

void expect_fencing(const std::vector<Fence>& cases) {
  for (const Fence& c : cases) {
    SCOPED_TRACE(testing::Message() << "held '" << c.held << "' offered '" << c.offered << "'");
    const auto held_token = parse(c.held);
    const auto offered_token = parse(c.offered);
    ASSERT_EQ(held_token.has_value(), !c.held.empty());
    ASSERT_EQ(offered_token.has_value(), !c.offered.empty());
    const Timestamp* held = held_token ? &*held_token : nullptr;
    const Timestamp* offered = offered_token ? &*offered_token : nullptr;
    const std::array<const Timestamp*, 3> kept = {nullptr, held, offered};
    EXPECT_EQ(check_fencing(held, offered), c.verdict);
    EXPECT_EQ(token_after(held, offered), kept.at(static_cast<std::size_t>(c.keeps)));
  }
}

TEST(HlcFencing, ComparesWholeTimestamps) {
  using enum Fencing;
  expect_fencing({
      {"5:5:m", "6:5:m", kAccepted, Keeps::kOffered},  // the wall clock alone differs
      {"5:5:m", "4:5:m", kLower, Keeps::kHeld},
      {"5:5:m", "5:6:m", kAccepted, Keeps::kOffered},  // the counter alone
      {"5:5:m", "5:4:m", kLower, Keeps::kHeld},
      {"5:5:m", "5:5:n", kAccepted, Keeps::kOffered},  // the node alone
      {"5:5:m", "5:5:l", kLower, Keeps::kHeld},
      {"5:5:m", "6:0:a", kAccepted, Keeps::kOffered},
      {"5:5:m", "4:9:z", kLower, Keeps::kHeld},
      {"5:5:m", "10:0:a", kAccepted, Keeps::kOffered},  // numbers, not text
      {"10:0:m", "9:0:m", kLower, Keeps::kHeld},
      {"1:10:m", "1:9:m", kLower, Keeps::kHeld},
      {"1696374425000:0:m", "000000000000000:00000:m", kLower,
       Keeps::kHeld},  // 0 is legal, and old
  });
}

TEST(HlcFencing, AcceptsTheSameTokenHoweverItIsPadded) {
  using enum Fencing;
  expect_fencing({
      {"5:5:m", "5:5:m", kAccepted, Keeps::kHeld},
      {"5:5:m", "000000000000005:00005:m", kAccepted, Keeps::kHeld},
      {"000000000000005:00005:m", "5:5:m", kAccepted, Keeps::kHeld},
  });
}

TEST(HlcFencing, AsksForATokenOnlyWhereOneIsHeld) {
  using enum Fencing;
  expect_fencing({
      {"", "", kAccepted, Keeps::kNothing},
      {"", "5:5:m", kAccepted, Keeps::kOffered},
      {"", "0:0:m", kAccepted, Keeps::kOffered},
      {"5:5:m", "", kRequired, Keeps::kHeld},
      {"0:0:m", "", kRequired, Keeps::kHeld},
  });
}

}  // namespace
}  // namespace fencepost::hlc
