// What a case concludes from times: replies that come late, and clocks that differ.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/run/case_runner.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::Verb;
using testing::StartsWith;

// --- replies that come late --------------------------------------------------------------------

scenario::Case windowed(const std::string& before) {
  return case_of({.steps = R"(
- {set: {key: k, value: "v", mark: t1}, expect: ok}
- get: k
  expect: {reply: {value: "v"}, before: )" +
                           before + "}\n"});
}

const std::string kTooLate =
    "the reply came 950 ms after t1, when it no longer proves anything; the machine or the network "
    "is too slow";

TEST(CaseRunnerWindow, FailsNothingWithAReplyThatComesTooLate) {
  const scenario::Case test_case = windowed("t1 + 900ms");
  EXPECT_EQ(outcome_text(reference_store(), test_case), "passed");
  EXPECT_EQ(outcome_text(answering(Verb::kGet, "$-1\r\n", 950ms), test_case),
            "inconclusive 2 R-MUST-1: " + kTooLate);
  EXPECT_EQ(outcome_text(answering(Verb::kGet, "$1\r\nw\r\n", 950ms), test_case),
            "inconclusive 2 R-MUST-1: " + kTooLate);
  EXPECT_EQ(outcome_text(silent_on(Verb::kGet), test_case),
            R"(failed 2 R-MUST-1: no response | $1\r\nv\r\n | nothing within 3000 ms)");
  EXPECT_THAT(outcome_text(answering(Verb::kGet, "$-1\r\n", 800ms), test_case),
              StartsWith("failed 2 R-MUST-1: the reply is not the expected one"));
}

// What was there when the late reply was made was there before.
TEST(CaseRunnerWindow, TakesALateReplyThatShowsTheKey) {
  EXPECT_EQ(outcome_text(delayed(Verb::kGet, 950ms), windowed("t1 + 900ms")), "passed");
  const std::string table[] = {
      "set: {key: k, value: \"w\", options: [NX]}\n  expect: {reply: not-applied, before: t1 + "
      "1ms}",
      "vdel: {key: k, value: \"w\"}\n  expect: {reply: not-applied, before: t1 + 1ms}",
      "del: k\n  expect: {reply: {count: 1}, before: t1 + 1ms}"};
  const Behaviour slow = changed(reference_store(), [](const Published&, Effects& effects) {
    for (Effect& effect : effects) effect.after = 500ms;
  });
  for (const std::string& step : table) {
    const bool set = step.starts_with("set");
    const bool vdel = step.starts_with("vdel");
    const std::string divergence = set ? "set-not-applied" : vdel ? "vdel-mismatch" : std::string();
    const scenario::Case test_case =
        case_of({.more = "divergence: [" + divergence + "]",
                 .steps = "- {set: {key: k, value: \"v\", mark: t1}, expect: ok}\n- " + step});
    EXPECT_EQ(outcome_text(slow, test_case), "passed") << step;
  }
}

// A key that has expired meanwhile gives these, too.
TEST(CaseRunnerWindow, DecidesNothingWithALateReplyThatAnExpiryCouldHaveBroughtAbout) {
  const Behaviour slow = changed(reference_store(), [](const Published&, Effects& effects) {
    for (Effect& effect : effects) effect.after = 950ms;
  });
  for (const std::string step :
       {"set: {key: k, value: \"v\", options: [NEX], mark: t1}\n  expect: {reply: ok, before: t1 + "
        "1ms}",
        "get: {key: other, mark: t1}\n  expect: {reply: missing, before: t1 + 1ms}",
        "del: {key: other, mark: t1}\n  expect: {reply: {count: 0}, before: t1 + 1ms}"}) {
    const scenario::Case test_case = case_of({.steps = "- " + step + "\n"});
    EXPECT_EQ(outcome_text(slow, test_case), "inconclusive 1 R-MUST-1: " + kTooLate) << step;
  }
}

TEST(CaseRunnerWindow, CountsFromTheReplyWhenTheCaseSaysSo) {
  // The SET is answered after 500 ms, and the GET, which is wrong, 500 ms later.
  const Behaviour slow = changed(reference_store(), [](const Published& request, Effects& effects) {
    if (verb_of(request) == Verb::kGet) effects = {reply(request, "$-1\r\n")};
    for (Effect& effect : effects) effect.after = 500ms;
  });
  EXPECT_THAT(outcome_text(slow, windowed("t1 + 900ms")), StartsWith("inconclusive 2 "));
  EXPECT_THAT(outcome_text(slow, windowed("t1.reply + 900ms")), StartsWith("failed 2 "));
}

// --- clocks that differ ------------------------------------------------------------------------

TEST(CaseRunnerToken, EstimatesTheClockOfTheStore) {
  RunSettings behind = settings();
  behind.clock_offset_ms = -1500;
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case =
      case_of({.steps = "- set: {key: k, value: \"one\"}\n  expect: ok\n"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case, behind)), "passed");
  const auto sent = hlc::parse(*endpoint.published().at(0).message.property("__ts"));
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->wall_ms, kEpochMs - 1500);
}

// What a run knows that has measured the offset of the store's clock.
RunSettings measured(std::chrono::milliseconds offset) {
  RunSettings out = settings();
  out.clock_offset_ms = offset.count();
  out.clock_bounds = {offset.count() - 1, offset.count() + 1};
  return out;
}

RunSettings unmeasured() {
  RunSettings out = settings();
  out.clock_bounds = judge::ClockBounds{};
  return out;
}

// What it knows when all went wrong, or answers took too long.
RunSettings roughly(std::chrono::milliseconds offset) {
  RunSettings out = measured(offset);
  out.clock_bounds = {(offset - 60s).count(), (offset + 60s).count()};
  return out;
}

scenario::Case setting(const std::string& options, const std::string& expect) {
  return case_of({.steps = "- set: {key: k, value: \"v\", " + options +
                           "}\n  expect: {reply: " + expect + "}\n"});
}
const std::string kTooFar = "{error: timestamp-too-far-ahead}";
const std::string kTokenTooFar = "{error: token-too-far-ahead}";

scenario::Case within() { return setting("ts: skew-limit - 100ms", "ok"); }
scenario::Case beyond() { return setting("ts: skew-limit + 100ms", kTooFar); }
scenario::Case token_within() { return setting("ft: skew-limit - 100ms", "ok"); }
scenario::Case token_beyond() { return setting("ft: skew-limit + 100ms", kTokenTooFar); }

constexpr std::chrono::milliseconds kOffsets[] = {0ms, 30s, -10min};

TEST(CaseRunnerClock, GoesToTheLimitOfEveryConformingStore) {
  for (const auto offset : kOffsets) {
    for (const scenario::Case& test_case : {within(), beyond(), token_within(), token_beyond()}) {
      EXPECT_EQ(outcome_text(clocked(offset), test_case, measured(offset)), "passed");
    }
  }
}

// A store that refuses what is more than `limit` ahead of its clock, and nothing else.
Behaviour limited(std::chrono::milliseconds offset, std::chrono::milliseconds limit) {
  return [offset, limit](const Published& request) {
    const std::int64_t clock_ms = static_cast<std::int64_t>(request.wall_ms) + offset.count();
    for (const auto& [name, error] : {std::pair{"__ts", codec::ErrorCode::kTimestampTooFarAhead},
                                      {"__ft", codec::ErrorCode::kTokenTooFarAhead}}) {
      const std::string* text = request.message.property(name);
      const auto timestamp = hlc::parse(text == nullptr ? "" : *text);
      if (!timestamp || judge::wall_of(*timestamp) - clock_ms <= limit.count()) continue;
      const auto& dialect = codec::dialect(codec::DialectId::kDeployed);
      return Effects{reply(request, "-ERR " + std::string(codec::text(error, dialect)) + "\r\n")};
    }
    return Effects{reply(request, "+OK\r\n")};
  };
}

TEST(CaseRunnerClock, FailsALimitThatIsWrongByLittle) {
  for (const auto offset : kOffsets) {
    const Behaviour small = limited(offset, 59'800ms);
    const Behaviour large = limited(offset, 60'300ms);
    for (const scenario::Case& test_case : {within(), token_within()}) {
      EXPECT_THAT(outcome_text(small, test_case, measured(offset)),
                  StartsWith("failed 1 R-MUST-1: the reply is not the expected one"));
      EXPECT_EQ(outcome_text(large, test_case, measured(offset)), "passed");
    }
    for (const scenario::Case& test_case : {beyond(), token_beyond()}) {
      EXPECT_EQ(outcome_text(small, test_case, measured(offset)), "passed");
      EXPECT_THAT(outcome_text(large, test_case, measured(offset)),
                  StartsWith("failed 1 R-MUST-1: the reply is not the expected one"));
    }
  }
}

TEST(CaseRunnerClock, DecidesNothingThatDependsOnAClockThatIsNotKnown) {
  EXPECT_THAT(outcome_text(clocked(-30s), setting("ts: now + 50s", "ok"), unmeasured()),
              StartsWith("inconclusive 1 R-MUST-1: whether a timestamp 50000 ms ahead of our clock "
                         "may be refused depends on the store's clock; all that is known is that "
                         "it is ahead of ours by between -60000 ms and 60000 ms | +OK"));
  EXPECT_THAT(outcome_text(clocked(30s), setting("ts: now + 70s", kTooFar), unmeasured()),
              StartsWith("inconclusive 1 R-MUST-1: whether a timestamp 70000 ms ahead of our clock "
                         "may be accepted depends"));
  EXPECT_THAT(outcome_text(clocked(-30s), setting("ft: now + 50s", "ok"), unmeasured()),
              StartsWith("inconclusive 1 "));
  EXPECT_THAT(outcome_text(clocked(30s), setting("ft: now + 70s", kTokenTooFar), unmeasured()),
              StartsWith("inconclusive 1 "));
}

TEST(CaseRunnerClock, FailsWhatIsWrongWhateverTheClock) {
  const std::string error =
      "-ERR the request timestamp is too far in the future; ensure that the "
      "client and broker system clocks are synchronized\r\n";
  const Behaviour refuses = answering(Verb::kSet, error);
  EXPECT_THAT(outcome_text(refuses, setting("ts: now", "ok"), unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(refuses, setting("ts: now - 1s", "ok"), unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(refuses, setting("ts: none", "ok"), unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(refuses, setting("ts: {text: x}", "ok"), unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(refuses, setting("ft: now + 70s", kTokenTooFar), unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(always("+OK\r\n"), setting("ts: now + 121s", kTooFar), unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(always("-ERR syntax error\r\n"), setting("ts: now + 70s", kTooFar),
                           unmeasured()),
              StartsWith("failed 1 "));
  EXPECT_THAT(outcome_text(always("?"), setting("ts: now + 70s", kTooFar), unmeasured()),
              StartsWith("failed 1 "));
  // Where the request may also be carried out, a third reply is wrong.
  EXPECT_THAT(
      outcome_text(always(":7\r\n"), setting("ts: now + 60s", "{any_of: [ok, " + kTooFar + "]}"),
                   unmeasured()),
      StartsWith("failed 1 "));
}

scenario::Case beyond_version(const std::string& distance) {
  return case_of({.steps = R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1}}
- set: {key: k, value: "two", ts: v1 + )" +
                           distance + R"(}
  expect: {reply: {error: timestamp-too-far-ahead}}
)"});
}

// The store's clock is not ahead of a version that it gave, regardless of what else is unknown of
// it.
TEST(CaseRunnerClock, LearnsFromVersions) {
  // It sees no timestamp, so that none is too far ahead.
  const Behaviour takes_all = [right = clocked(-10min)](const Published& request) {
    Published without = request;
    set_property(without.message, "__ts", "1:0:old");
    return right(without);
  };
  const RunSettings rough = roughly(-10min);
  EXPECT_THAT(outcome_text(takes_all, beyond_version("65s"), rough), StartsWith("failed 2 "));
  EXPECT_THAT(outcome_text(takes_all, beyond_version("60001ms"), rough),
              StartsWith("inconclusive 2 "));
  const Behaviour slowly = changed(takes_all, [](const Published&, Effects& effects) {
    for (Effect& effect : effects) effect.after = 2900ms;
  });
  EXPECT_THAT(outcome_text(slowly, beyond_version("65s"), rough), StartsWith("inconclusive 2 "));
  EXPECT_EQ(outcome_text(clocked(-10min), beyond_version("65s"), rough), "passed");
}

// A version too far ahead for the store itself is no matter of clocks.
TEST(CaseRunnerClock, FailsAStoreThatRefusesItsOwnVersions) {
  const Behaviour runs_ahead = on_reply(limited(0ms, 60s), [](const auto&, Message& message) {
    if (message.payload.starts_with("+OK")) {
      message.user_properties = {{"__ts", hlc::format({kEpochMs + 600'000, 0, "StateStore"})}};
    }
  });
  const scenario::Case test_case = case_of({.steps = R"(
- set: {key: k, value: "one"}
  expect: {reply: ok, ts: {save: v1}}
- set: {key: guard, value: "x", ft: v1}
  expect: ok
)"});
  EXPECT_THAT(outcome_text(runs_ahead, test_case), StartsWith("failed 2 "));
  EXPECT_THAT(outcome_text(runs_ahead, test_case, unmeasured()), StartsWith("failed 2 "));
}

TEST(CaseRunnerClock, RemovesKeysWithATokenThatTheStoreTakes) {
  for (const auto offset : kOffsets) {
    const auto keys = std::make_shared<std::size_t>(99);
    const Behaviour behaviour = [right = reference_store({}, keys),
                                 offset](const Published& request) {
      Published there = request;
      there.wall_ms += static_cast<std::uint64_t>(offset.count());
      return right(there);
    };
    EXPECT_EQ(outcome_text(behaviour, token_within(), measured(offset)), "passed");
    EXPECT_EQ(*keys, 0U);
  }
}

}  // namespace
}  // namespace fencepost::run
