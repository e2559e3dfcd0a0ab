#include "suite/run/preflight.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/in_process.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::Verb;
using endpoint::ErrorKind;
using testing::HasSubstr;
using testing::SizeIs;

// `no broker: text`, with the hint after a bar; `fine` when all is well.
std::string outcome_text(FakeEndpoint& endpoint) {
  const auto report = preflight(endpoint, "run");
  if (report) return "fine";
  const PreflightError& error = report.error();
  std::string out = "no broker";
  if (error.kind == PreflightErrorKind::kNoStore) out = "no store";
  if (error.kind == PreflightErrorKind::kNotAllowed) out = "not allowed";
  return out + ": " + error.text + (error.hint.empty() ? "" : " | " + error.hint);
}

std::string outcome_text(Behaviour behaviour) {
  FakeEndpoint endpoint({.behaviour = std::move(behaviour)});
  return outcome_text(endpoint);
}

PreflightReport report_of(Behaviour behaviour) {
  FakeEndpoint endpoint({.behaviour = std::move(behaviour)});
  const auto report = preflight(endpoint, "run");
  EXPECT_TRUE(report);
  return report.value_or(PreflightReport{});
}

TEST(Preflight, IsContentWithTheReferenceStore) {
  const auto endpoint = endpoint::make_in_process_endpoint({});
  const auto report = preflight(*endpoint, "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->clock_offset_ms, 0);
  EXPECT_EQ(report->round_trip_p50, kTimeOfOneRequest);
  EXPECT_EQ(outcome_text(reference_store()), "fine");
}

TEST(Preflight, FindsNoBroker) {
  FakeEndpoint unreachable({.behaviour = reference_store(), .on_reach = [] {
                              return endpoint::Error{ErrorKind::kUnreachable, "refused"};
                            }});
  EXPECT_EQ(outcome_text(unreachable),
            "no broker: refused | is the broker running, and are host and port right?");
  EXPECT_THAT(unreachable.connected(), SizeIs(0));
  endpoint::Error tls{ErrorKind::kUnreachable, "handshake"};
  FakeEndpoint no_session({.behaviour = reference_store(), .on_open = [&] { return tls; }});
  FakeEndpoint no_client(
      {.behaviour = reference_store(), .on_connect = [&](const auto&) { return tls; }});
  for (FakeEndpoint* endpoint : {&no_session, &no_client}) {
    EXPECT_EQ(outcome_text(*endpoint),
              "no broker: handshake | is the broker running, and are host, port and TLS settings "
              "right?");
  }
}

TEST(Preflight, FindsNoStore) {
  EXPECT_THAT(outcome_text(Behaviour{}),
              HasSubstr("no store: the broker accepted a GET on the request "
                        "topic, and no response came within 3 s | "));
  EXPECT_THAT(outcome_text(Behaviour{}), HasSubstr("fencepost serve"));
}

TEST(Preflight, GivesUpInLessThanFiveSeconds) {
  for (const Behaviour& behaviour : {Behaviour{}, silent_on(Verb::kSet), silent_on(Verb::kDel)}) {
    FakeEndpoint endpoint({.behaviour = behaviour});
    static_cast<void>(preflight(endpoint, "run"));
    EXPECT_LT(endpoint.published().back().now, 5s - 3s);  // 3 s may follow the last request
  }
}

TEST(Preflight, FindsThatItIsNotAllowed) {
  endpoint::Error denied{ErrorKind::kNotAllowed, "denied", 0x87};
  FakeEndpoint no_client(
      {.behaviour = reference_store(), .on_connect = [&](const auto&) { return denied; }});
  FakeEndpoint no_subscription(
      {.behaviour = reference_store(), .on_subscribe = [&](const auto&) { return denied; }});
  for (FakeEndpoint* endpoint : {&no_client, &no_subscription}) {
    EXPECT_THAT(outcome_text(*endpoint),
                HasSubstr("not allowed: denied | are user name and password right"));
  }
  EXPECT_THAT(outcome_text(refusing(Verb::kGet, 0x87)),
              HasSubstr("not allowed: the broker refused a PUBLISH to the request topic with 0x87 "
                        "| are user name and password right"));
  EXPECT_THAT(
      outcome_text(answering(Verb::kGet, "-ERR not authorized\r\n")),
      HasSubstr(R"(not allowed: the store answered a GET with: -ERR not authorized\r\n | )"));
  EXPECT_THAT(
      outcome_text(answering(Verb::kSet, "-ERR not authorized\r\n")),
      HasSubstr(R"(not allowed: the store answered a SET with: -ERR not authorized\r\n | )"));
}

TEST(Preflight, SaysThatTheConnectionEnded) {
  EXPECT_EQ(outcome_text(kicking(Verb::kGet, {0x82})),
            "no broker: the broker closed the connection");
}

TEST(Preflight, LeavesAStoreThatAnswersOnlySomeRequestsToTheCases) {
  int gets = 0;
  const Behaviour loses_one =
      changed(reference_store(), [&](const Published& request, Effects& effects) {
        if (verb_of(request) == Verb::kGet && ++gets == 50) effects.clear();
      });
  EXPECT_EQ(outcome_text(loses_one), "fine");
  EXPECT_EQ(gets, 50);
  for (const Behaviour& behaviour : {silent_on(Verb::kSet), kicking(Verb::kSet, {0x82})}) {
    EXPECT_EQ(outcome_text(behaviour), "fine");
  }
}

TEST(Preflight, LeavesUnusualRepliesToTheCases) {
  EXPECT_EQ(outcome_text(always("?")), "fine");
  EXPECT_EQ(outcome_text(echo()), "fine");
  EXPECT_EQ(outcome_text(answering(Verb::kSet, "-ERR syntax error\r\n")), "fine");
  EXPECT_EQ(outcome_text(wrong_reply(Verb::kSet, [](Message& m) { drop_property(m, "__ts"); })),
            "fine");
  EXPECT_EQ(outcome_text(wrong_reply(Verb::kSet, [](Message& m) { set_property(m, "__ts", "?"); })),
            "fine");
}

TEST(Preflight, TakesOnlyResponsesToItsOwnRequests) {
  const Behaviour noisy =
      changed(reference_store(), [](const Published& request, Effects& effects) {
        Effect unmatched = reply(request, "-ERR not authorized\r\n");
        std::get<endpoint::MessageReceived>(unmatched.what).message.correlation_data = "stray";
        effects.insert(effects.begin(), unmatched);
      });
  EXPECT_EQ(outcome_text(noisy), "fine");
  EXPECT_THAT(outcome_text(on_reply(reference_store(),
                                    [](const auto&, Message& m) { m.correlation_data = "other"; })),
              HasSubstr("no store: "));
}

TEST(Preflight, UsesAClientAndAKeyOfItsRunAndRemovesTheKey) {
  const auto keys = std::make_shared<std::size_t>(99);
  const Behaviour versionless =
      changed(reference_store({}, keys), [](const auto&, Effects& effects) {
        for (Effect& effect : effects) {
          std::get<endpoint::MessageReceived>(effect.what).message.user_properties.clear();
        }
      });
  for (const Behaviour& behaviour : {reference_store({}, keys), versionless}) {
    FakeEndpoint endpoint({.behaviour = behaviour});
    EXPECT_EQ(outcome_text(endpoint), "fine");
    EXPECT_EQ(*keys, 0U);
    ASSERT_THAT(endpoint.connected(), SizeIs(1));
    EXPECT_EQ(endpoint.connected()[0].client_id, "fp-run-preflight");
    for (const Published& request : endpoint.published()) {
      EXPECT_THAT(request.message.payload, HasSubstr("fencepost/preflight/fp-run-preflight"));
    }
  }
}

// --- how fast ----------------------------------------------------------------------------------

TEST(PreflightRoundTrip, IsMeasuredOverManyGets) {
  int gets = 0;
  const PreflightReport report =
      report_of(changed(reference_store(), [&](const Published& request, Effects& effects) {
        if (verb_of(request) != Verb::kGet) return;
        // The first one, which warms up, and a few others are slow.
        const bool slow = gets == 0 || gets % 50 == 49;
        effects.front().after = slow ? 9ms : 1ms;
        ++gets;
      }));
  EXPECT_EQ(gets, 200);
  EXPECT_EQ(report.round_trip_p50, 1ms + kTimeOfOneRequest);
  EXPECT_EQ(report.round_trip_p99, 9ms + kTimeOfOneRequest);
}

TEST(PreflightRoundTrip, TakesFewerProbesOfASlowNetwork) {
  FakeEndpoint endpoint({.behaviour = delayed(Verb::kGet, 200ms)});
  const auto report = preflight(endpoint, "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->round_trip_p50, 200ms + kTimeOfOneRequest);
  EXPECT_LT(endpoint.published().size(), 8U);
}

// --- whose clock -------------------------------------------------------------------------------

// A store whose clock, and so the version of each key, is so far from ours.
Behaviour off_by(std::int64_t milliseconds, endpoint::Duration to_store = {},
                 endpoint::Duration to_us = {}) {
  return changed(reference_store(), [=](const Published& request, Effects& effects) {
    const auto clock = static_cast<std::int64_t>(request.wall_ms) + milliseconds + to_store / 1ms;
    for (Effect& effect : effects) {
      effect.after = to_store + to_us;
      auto& message = std::get<endpoint::MessageReceived>(effect.what).message;
      set_property(message, "__ts",
                   hlc::format({static_cast<std::uint64_t>(clock), 0, "StateStore"}));
    }
  });
}

TEST(PreflightClock, IsMeasuredBehindAndAhead) {
  for (const std::int64_t offset : {0, -2, 2, -5'000, 50'000, -600'000}) {
    const PreflightReport report = report_of(off_by(offset));
    EXPECT_EQ(report.clock_offset_ms, offset);
    // Clocks are read in whole milliseconds.
    EXPECT_EQ(report.clock_bounds, (judge::ClockBounds{offset - 1, offset + 1}));
    EXPECT_EQ(report.clock_source, judge::ClockSource::kVersions);
  }
}

// What a response needs on its way is no difference between the clocks.
TEST(PreflightClock, TakesASlowNetworkForNoDifference) {
  for (const auto& [to_store, to_us] : {std::pair{0ms, 300ms}, {300ms, 0ms}, {150ms, 150ms}}) {
    const PreflightReport report = report_of(off_by(0, to_store, to_us));
    EXPECT_EQ(report.clock_offset_ms, 0);
    EXPECT_EQ(report.clock_bounds, (judge::ClockBounds{-1 - to_us / 1ms, 1 + to_store / 1ms}));
  }
  const PreflightReport behind = report_of(off_by(-1000, 0ms, 300ms));
  EXPECT_EQ(behind.clock_bounds, (judge::ClockBounds{-1301, -999}));
}

TEST(PreflightClock, AsksWithATimestampThatSaysNothing) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  EXPECT_EQ(outcome_text(endpoint), "fine");
  for (const Published& request : endpoint.published()) {
    if (verb_of(request) != Verb::kSet) continue;
    const auto sent = hlc::parse(*request.message.property("__ts"));
    ASSERT_TRUE(sent);
    EXPECT_LT(sent->wall_ms, kEpochMs - 1'000'000);
  }
}

// Somebody has moved the versions of the store ahead of its clock, as is legal.
TEST(PreflightClock, IsMeasuredWhenVersionsAreAheadOfIt) {
  for (const auto offset : {0ms, 30'000ms, -600'000ms}) {
    FakeEndpoint endpoint({.behaviour = clocked(offset)});
    RunSettings known = settings();
    known.clock_offset_ms = offset.count();
    const scenario::Case ahead =
        case_of({.steps = "- set: {key: k, value: \"v\", ts: now + 55003ms}\n  expect: ok"});
    EXPECT_EQ(test::outcome_text(run_on(endpoint, ahead, known)), "passed");
    std::size_t before = endpoint.published().size();
    const auto report = preflight(endpoint, "run");
    ASSERT_TRUE(report);
    EXPECT_EQ(report->clock_source, judge::ClockSource::kRefusals);
    EXPECT_GT(offset.count(), report->clock_bounds.low_ms);
    EXPECT_LT(offset.count(), report->clock_bounds.high_ms);
    EXPECT_LE(report->clock_bounds.high_ms - report->clock_bounds.low_ms, 10);
    for (const Published& request : endpoint.published()) {
      if (verb_of(request) != Verb::kSet || before-- > 0) continue;
      // Every timestamp that is ahead is offered in vain.
      const auto sent = hlc::parse(*request.message.property("__ts"));
      EXPECT_TRUE(sent->wall_ms < kEpochMs - 1'000'000'000 ||
                  request.message.payload.ends_with("$2\r\nNX\r\n"));
    }
  }
}

TEST(PreflightClock, SaysWhenNothingIsKnownOfIt) {
  const PreflightReport silent = report_of(always("?"));
  EXPECT_EQ(silent.clock_source, judge::ClockSource::kAssumed);
  EXPECT_EQ(silent.clock_bounds, judge::ClockBounds{});
  EXPECT_EQ(silent.clock_offset_ms, 0);
}

// A store that ends the connection for a timestamp that is too far ahead is for the cases to find.
TEST(PreflightClock, GoesOnWithoutAnAnswerToATimestampAhead) {
  const Behaviour kicks = changed(clocked(0ms), [](const Published& request, Effects& effects) {
    if (request.message.payload.ends_with("$2\r\nNX\r\n"))
      effects = {{endpoint::Disconnected{0x82}}};
  });
  FakeEndpoint endpoint({.behaviour = kicks});
  const scenario::Case ahead =
      case_of({.steps = "- set: {key: k, value: \"v\", ts: now + 55003ms}\n  expect: ok"});
  EXPECT_EQ(test::outcome_text(run_on(endpoint, ahead)), "passed");
  const auto report = preflight(endpoint, "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->clock_source, judge::ClockSource::kVersionBound);
}

// Req: ENV-MQTT5-3
TEST(Preflight, LeavesABrokerThatBreaksMqttToTheCases) {
  const endpoint::Disconnected wrong{.text = "a PUBACK for no packet", .section = "4.3.2"};
  FakeEndpoint always({.behaviour = [&](const Published&) -> Effects { return {{wrong}}; }});
  const auto report = preflight(always, "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->clock_source, judge::ClockSource::kAssumed);
  EXPECT_EQ(report->clock_bounds, judge::ClockBounds{});
  EXPECT_THAT(
      test::outcome_text(run_on(always, case_of({.steps = "- get: k\n  expect: missing\n"}))),
      HasSubstr("the broker does what MQTT 5 forbids a server, section 4.3.2"));
  EXPECT_EQ(outcome_text([&](const Published& request) -> Effects {
              if (verb_of(request) == Verb::kSet) return {{wrong}};
              return {reply(request, "$-1\r\n")};
            }),
            "fine");
}

TEST(PreflightTimeout, IsScaled) {
  FakeEndpoint endpoint({.behaviour = delayed(Verb::kGet, 4s)});
  EXPECT_FALSE(preflight(endpoint, "run"));
  const auto report = preflight(endpoint, "run", 2.0);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->round_trip_p50, 4s + kTimeOfOneRequest);
}

}  // namespace
}  // namespace fencepost::run
