// Cases that go to the limits of a broker: packets of exactly the size that it takes, and restarts.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/packet_size.h"
#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/packet_fill.h"
#include "suite/testing/built_in_library.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using endpoint::ErrorKind;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// --- how many bytes fill a packet --------------------------------------------------------------

// The size of a PUBLISH whose payload is a bulk string of these bytes.
std::size_t bulk_packet(const std::string& bytes) {
  Message message;
  message.topic = "t";
  codec::append_bulk(message.payload, bytes);
  return endpoint::publish_packet_size(message);
}

std::size_t filled_size(const scenario::PacketGoal& goal) {
  const auto bytes = scenario::packet_filling(goal, bulk_packet);
  return bytes ? bulk_packet(*bytes) : 0;
}

TEST(PacketFilling, ReachesTheLimitAndWhatIsBesideIt) {
  for (const std::uint32_t limit : {100U, 1'000U, 20'000U, 131'072U, 3'000'000U}) {
    for (const std::int64_t excess : {-1, 0, 1, 16, 4'096}) {
      if (limit + excess < 20) continue;
      const auto wanted = static_cast<std::size_t>(limit + excess);
      EXPECT_EQ(filled_size({limit, excess}), wanted) << limit << " " << excess;
    }
  }
}

TEST(PacketFilling, IsAPatternThatNoShiftedCopyEquals) {
  const auto bytes = scenario::packet_filling({5'000, 0}, bulk_packet);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, scenario::patterned_bytes(bytes->size()));
}

// 128 bytes of anything after the header need a second byte to tell, and a value of ten bytes a
// second digit. So no packet has 130 bytes, and none of this kind 23.
TEST(PacketFilling, StaysOnItsSideOfALimitThatNoPacketHas) {
  EXPECT_EQ(filled_size({129, 0}), 129U);
  EXPECT_EQ(filled_size({130, 0}), 129U);
  EXPECT_EQ(filled_size({131, 0}), 131U);
  EXPECT_EQ(filled_size({129, 1}), 131U);
  EXPECT_EQ(filled_size({131, -1}), 129U);
  const std::size_t nine = bulk_packet(std::string(9, 'x'));
  ASSERT_EQ(bulk_packet(std::string(10, 'x')), nine + 2);
  const auto between = static_cast<std::uint32_t>(nine + 1);
  EXPECT_EQ(filled_size({between, 0}), nine);
  EXPECT_EQ(filled_size({between - 1, 1}), nine + 2);
}

TEST(PacketFilling, MayBeEmpty) {
  const auto least = static_cast<std::uint32_t>(bulk_packet(""));
  const auto bytes = scenario::packet_filling({least, 0}, bulk_packet);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, "");
}

TEST(PacketFilling, SaysWhenThereIsNoRoomAtAll) {
  const auto least = static_cast<std::uint32_t>(bulk_packet(""));
  const auto none = scenario::packet_filling({least, -1}, bulk_packet);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr(fmt::format("has {} bytes without any filling", least)));
  EXPECT_FALSE(scenario::packet_filling({0, -1'000}, bulk_packet));
}

// --- what the loader wants of such cases -------------------------------------------------------

std::vector<std::string> diagnostics(const std::string& more, const std::string& steps) {
  const std::string content =
      "area: t\ncases:\n- id: t.case\n  title: A case\n  requirements: [R-MUST-1]\n" +
      indent(more) + "  steps:\n" + indent(steps);
  std::vector<scenario::LoadError> errors;
  (void)load_scenario({"t.yaml", content}, catalogue().ids(), errors);
  std::vector<std::string> out;
  for (const scenario::LoadError& error : errors) out.push_back(describe(error));
  return out;
}

constexpr const char* kFilling = "requires: [packet-limit]";
constexpr const char* kRestarting = "requires: [restart]\nexclusive: true";

TEST(LimitsLoader, TakesFillingsWhereARequestHasBytes) {
  EXPECT_THAT(diagnostics(kFilling, R"(
- set: {key: k, value: {fill_packet: 0}}
  expect: ok
- get: k
  expect: {reply: {value: {filled: 0}}}
- set: {key: {exact: {join: [{key: k}, {fill_packet: 1}]}}, value: v}
- send: {payload: {fill_packet: -5}}
- send: {command: [SET, {filled: -5}, {fill_packet: 0}]}
- notification: {key: k, operation: set, value: {filled: 1}}
- pipeline:
  - set: {key: k, value: {fill_packet: 2}}
  - {get: k, expect: {reply: {value: {filled: 2}}}}
)"),
              IsEmpty());
}

struct Refused {
  std::string steps;
  std::string diagnostic;
};

TEST(LimitsLoader, SaysWhereFillingsDoNotBelong) {
  const std::string nowhere =
      "fill_packet fills what a request sends; to use the same bytes again, write {filled: 0}";
  const Refused kTable[] = {
      {"- {set: {key: k, value: {filled: 0}}, expect: ok}",
       "t.yaml:8:5: no earlier request has {fill_packet: 0}"},
      {"- {set: {key: k, value: {fill_packet: 1}}, expect: ok}\n"
       "- {get: k, expect: {reply: {value: {filled: 0}}}}",
       "t.yaml:9:5: no earlier request has {fill_packet: 0}"},
      {"- {send: {command: [{fill_packet: 0}, {fill_packet: 0}]}, expect: ok}",
       "t.yaml:8:5: a request is filled in one place; write fill_packet once"},
      {"- {get: k, expect: {reply: {value: {fill_packet: 0}}}}", "t.yaml:8:5: " + nowhere},
      {"- {get: k, expect: {reply: {bytes: {fill_packet: 0}}}}", "t.yaml:8:5: " + nowhere},
      {"- {get: {key: k, correlation: {fill_packet: 0}}, expect: ok}", "t.yaml:8:5: " + nowhere},
      {"- {get: {key: k, response_topic: {fill_packet: 0}}, expect: ok}", "t.yaml:8:5: " + nowhere},
      {"- {get: {key: k, topic: {fill_packet: 0}}, expect: ok}", "t.yaml:8:5: " + nowhere},
      {"- notification: {key: k, operation: set, value: {fill_packet: 0}}",
       "t.yaml:8:5: " + nowhere},
      {"- {get: k, expect: missing}\n- subscribe: {filter: {fill_packet: 0}}",
       "t.yaml:9:5: " + nowhere},
  };
  for (const Refused& row : kTable) {
    EXPECT_THAT(diagnostics(kFilling, row.steps), ElementsAre(row.diagnostic)) << row.steps;
  }
}

TEST(LimitsLoader, WantsCasesToDeclareWhatTheyNeed) {
  const std::string fills = "- {set: {key: k, value: {fill_packet: 0}}, expect: ok}";
  EXPECT_THAT(diagnostics("", fills),
              ElementsAre("t.yaml:3:3: this case fills packets: write requires: "
                          "[transport, packet-limit]"));
  const std::string restarts = "- restart: broker\n- {get: k, expect: missing}";
  EXPECT_THAT(diagnostics(kRestarting, restarts), IsEmpty());
  EXPECT_THAT(diagnostics("exclusive: true", restarts),
              ElementsAre("t.yaml:3:3: a case with the step restart needs it: write requires: "
                          "[transport, restart]"));
  EXPECT_THAT(
      diagnostics("requires: [restart]", restarts),
      ElementsAre(
          "t.yaml:3:3: a restart ends the connections of other cases: write exclusive: true"));
  EXPECT_THAT(diagnostics(kRestarting, "- restart: a\n- {get: k, expect: missing}"),
              ElementsAre(HasSubstr("restart: only broker can be restarted, not \"a\"")));
}

// --- running them ------------------------------------------------------------------------------

constexpr std::uint32_t kLimit = 2'000;

std::vector<std::size_t> packet_sizes(const FakeEndpoint& endpoint) {
  std::vector<std::size_t> out;
  for (const Published& request : endpoint.published()) {
    if (verb_of(request) == codec::Verb::kSet) {
      out.push_back(endpoint::publish_packet_size(request.message));
    }
  }
  return out;
}

TEST(RunFilling, SendsPacketsOfTheSizesAskedForAndKnowsTheBytesAgain) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .packet_limit = kLimit});
  const scenario::Case test_case = case_of({.more = kFilling, .steps = R"(
- set: {key: k, value: {fill_packet: 0}}
  expect: ok
- set: {key: m, value: {join: [a, {fill_packet: -7}]}, options: [PX, "60000"]}
  expect: ok
- set: {key: {exact: {join: [{key: x}, {fill_packet: 1}]}}, value: v, properties: [[a, b]]}
  expect: ok
- get: k
  expect: {reply: {value: {filled: 0}}}
- get: m
  expect: {reply: {value: {join: [a, {filled: -7}]}}}
- get: {key: {exact: {join: [{key: x}, {filled: 1}]}}}
  expect: {reply: {value: v}}
)"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  EXPECT_THAT(packet_sizes(endpoint), ElementsAre(kLimit, kLimit - 7, kLimit + 1));
}

TEST(RunFilling, ComparesAllOfTheBytes) {
  const Behaviour cut = wrong_reply(codec::Verb::kGet, [](Message& message) {
    const auto reply = codec::decode_reply(message.payload);
    std::string payload;
    codec::append_bulk(payload, reply->value.substr(1));
    message.payload = payload;
  });
  FakeEndpoint endpoint({.behaviour = cut, .packet_limit = kLimit});
  const scenario::Case test_case = case_of({.more = kFilling, .steps = R"(
- set: {key: k, value: {fill_packet: 0}}
  expect: ok
- get: k
  expect: {reply: {value: {filled: 0}}}
)"});
  EXPECT_THAT(outcome_text(run_on(endpoint, test_case)),
              HasSubstr("failed 2 R-MUST-1: the reply is not the expected one"));
}

TEST(RunFilling, TakesTheLastBytesOfThatNumber) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .packet_limit = kLimit});
  const scenario::Case test_case = case_of({.more = kFilling, .steps = R"(
- set: {key: k, value: {fill_packet: 0}}
  expect: ok
- set: {key: longer-name, value: {fill_packet: 0}}
  expect: ok
- get: longer-name
  expect: {reply: {value: {filled: 0}}}
- get: k
  expect: {reply: {value: {filled: 0}}}
)"});
  EXPECT_THAT(outcome_text(run_on(endpoint, test_case)), HasSubstr("failed 4 R-MUST-1"));
}

TEST(RunFilling, RemovesTheKeyThatItHasFilled) {
  const auto keys = std::make_shared<std::size_t>(0);
  FakeEndpoint endpoint({.behaviour = reference_store({}, keys), .packet_limit = kLimit});
  const scenario::Case test_case = case_of({.more = kFilling, .steps = R"(
- set: {key: {exact: {join: [{key: k}, {fill_packet: 0}]}}, value: v}
  expect: ok
)"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  EXPECT_EQ(*keys, 0U);
}

TEST(RunFilling, ProvesNothingWithoutALimit) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const scenario::Case test_case = case_of(
      {.more = kFilling, .steps = "- {set: {key: k, value: {fill_packet: 0}}, expect: ok}"});
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)),
            "inconclusive 1 R-MUST-1: the broker announces no packet limit");
  EXPECT_THAT(endpoint.published(), IsEmpty());
}

TEST(RunFilling, SkipsACaseThatSendsMoreThanTheBrokerTakes) {
  const scenario::Case test_case = case_of({.steps = R"(
- get: k
  expect: missing
- set: {key: k, value: {size: 2000}}
  expect: ok
)"});
  FakeEndpoint small({.behaviour = reference_store(), .packet_limit = kLimit});
  EXPECT_THAT(outcome_text(run_on(small, test_case)),
              testing::MatchesRegex("skipped 2 R-MUST-1: this case sends a packet of 22[0-9]+ "
                                    "bytes, and the endpoint takes at most 2000"));
  EXPECT_THAT(small.published(), SizeIs(1));
  FakeEndpoint large({.behaviour = reference_store(), .packet_limit = 2 * kLimit});
  EXPECT_EQ(outcome_text(run_on(large, test_case)), "passed");
}

// --- restarts

const std::string kRestartSteps = R"(
- set: {key: k, value: v}
  expect: ok
- connect: b
- restart: broker
- get: k
  expect: {reply: {value: v}}
)";

scenario::Case restarting(const std::string& steps = kRestartSteps) {
  return case_of({.more = std::string(kRestarting) + "\nclients: {a: {}, b: {}}", .steps = steps});
}

std::optional<endpoint::Error> fine() { return std::nullopt; }

TEST(RunRestart, ConnectsEachClientAgainAtItsNextStep) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .on_disturb = fine});
  EXPECT_EQ(outcome_text(run_on(endpoint, restarting())), "passed");
  std::vector<std::string> connected;
  for (const auto& options : endpoint.connected()) {
    connected.push_back(options.client_id.substr(options.client_id.rfind('-')));
  }
  EXPECT_THAT(connected, ElementsAre("-a", "-b", "-a", "-cleaner"));
}

TEST(RunRestart, WantsTheConnectionsToEnd) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .on_disturb = fine, .survives = true});
  EXPECT_EQ(outcome_text(run_on(endpoint, restarting())),
            "inconclusive 3 R-MUST-1: the broker was restarted, and the connection of client a did "
            "not end");
}

TEST(RunRestart, SaysNothingOfTheStoreWhenTheHookFails) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .on_disturb = [] {
                           return endpoint::Error{ErrorKind::kInternal, "the hook said no"};
                         }});
  EXPECT_EQ(outcome_text(run_on(endpoint, restarting())),
            "inconclusive 3 R-MUST-1: the hook said no");
  FakeEndpoint unable({.behaviour = reference_store()});
  EXPECT_THAT(outcome_text(run_on(unable, restarting())),
              EndsWith("inconclusive 3 R-MUST-1: this endpoint cannot be restarted"));
}

TEST(RunRestart, LosesABrokerThatDoesNotComeBack) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .on_disturb = [] {
                           return endpoint::Error{ErrorKind::kUnreachable, "gone"};
                         }});
  EXPECT_EQ(run_on(endpoint, restarting()).verdict, Verdict::kLost);
}

// A notification that arrived before the restart is as wrong as at any other time.
TEST(RunRestart, OverlooksNoNotification) {
  FakeEndpoint endpoint(
      {.behaviour = with_spurious({.verb = codec::Verb::kSet}), .on_disturb = fine});
  EXPECT_THAT(outcome_text(run_on(endpoint, restarting(R"(
- connect: b
- set: {key: k, value: v}
  expect: ok
- restart: broker
)"))),
              HasSubstr("client b received a notification that the case does not expect"));
}

// --- what the built-in cases catch

// A broker that ends the connection when a packet is larger than `limit`.
Behaviour limited(std::size_t limit, const Behaviour& store = reference_store()) {
  return [limit, store](const Published& request) {
    if (endpoint::publish_packet_size(request.message) <= limit) return store(request);
    return Effects{{endpoint::Disconnected{0x95}}};
  };
}

std::string verdict(const Behaviour& behaviour, const std::string& id) {
  FakeEndpoint endpoint({.behaviour = behaviour, .on_disturb = fine, .packet_limit = kLimit});
  const CaseResult result = run_on(endpoint, test::built_in_case(id));
  return std::string(name(result.verdict)) +
         (result.failure.requirement.empty() ? "" : " " + result.failure.requirement);
}

TEST(LimitCases, PassOnABrokerThatKeepsToItsLimitByEitherCount) {
  for (const std::string id :
       {"limit.packet.largest-value", "limit.packet.one-byte-below", "limit.packet.largest-key",
        "limit.packet.vdel-compares-the-largest-value", "limit.packet.one-byte-too-many",
        "limit.packet.too-large", "limit.packet.too-large-for-a-key-that-exists"}) {
    EXPECT_EQ(verdict(limited(kLimit), id), "passed") << id;
    EXPECT_EQ(verdict(limited(kLimit + 5), id), "passed") << id;
  }
}

TEST(LimitCases, CatchABrokerThatRefusesWhatItAnnounces) {
  EXPECT_THAT(verdict(limited(kLimit - 1), "limit.packet.largest-value"), HasSubstr("lost"));
  EXPECT_THAT(verdict(limited(kLimit - 2), "limit.packet.one-byte-below"), HasSubstr("lost"));
}

TEST(LimitCases, CatchABrokerThatTakesAnySize) {
  EXPECT_EQ(verdict(reference_store(), "limit.packet.too-large"), "failed LIMIT-PACKET-1");
  EXPECT_EQ(verdict(reference_store(), "limit.packet.too-large-for-a-key-that-exists"),
            "failed LIMIT-PACKET-1");
}

// It keeps what fits and drops the rest, or says no but has written.
TEST(LimitCases, CatchAStoreThatKeepsAPartOfWhatIsTooLarge) {
  const Behaviour store = reference_store();
  const auto cut = [](const Published& request, std::size_t size) {
    const auto command = codec::decode_command(request.message.payload);
    Published shorter = request;
    shorter.message.payload = codec::encode_command(
        {command->arguments[0], command->arguments[1], command->arguments[2].substr(0, size)});
    return shorter;
  };
  const auto too_large = [](const Published& request) {
    return endpoint::publish_packet_size(request.message) > kLimit;
  };
  const Behaviour cutting = [&, store](const Published& request) {
    return store(too_large(request) ? cut(request, 100) : request);
  };
  EXPECT_EQ(verdict(cutting, "limit.packet.one-byte-too-many"), "failed LIMIT-PACKET-1");
  const Behaviour lying = [&, store](const Published& request) {
    if (!too_large(request)) return store(request);
    static_cast<void>(store(cut(request, 100)));
    return Effects{{endpoint::Disconnected{0x95}}};
  };
  EXPECT_EQ(verdict(lying, "limit.packet.one-byte-too-many"), "failed LIMIT-PACKET-1");
  EXPECT_EQ(verdict(lying, "limit.packet.too-large"), "failed LIMIT-PACKET-1");
  EXPECT_EQ(verdict(lying, "limit.packet.too-large-for-a-key-that-exists"),
            "failed LIMIT-PACKET-1");
}

TEST(LimitCases, CatchAStoreThatCutsTheLargestValue) {
  const Behaviour cutting = wrong_reply(codec::Verb::kGet, [](Message& message) {
    if (message.payload.size() < 1'000) return;
    const std::string value(codec::decode_reply(message.payload)->value.substr(0, 1'000));
    message.payload.clear();
    codec::append_bulk(message.payload, value);
  });
  EXPECT_EQ(verdict(cutting, "limit.packet.largest-value"), "failed LIMIT-VALUE-1");
}

// The fake endpoint tells its store of no disconnection, so registrations stay.
TEST(RestartCases, CatchAStoreThatKeepsRegistrations) {
  EXPECT_EQ(verdict(reference_store(), "lifecycle.restart.registrations-end"),
            "failed LIFE-DISCONNECT-2");
}

TEST(RestartCases, CatchAStoreWhoseVersionsGoBack) {
  const Behaviour store = reference_store();
  EXPECT_EQ(verdict(store, "lifecycle.restart.versions-exceed-those-before"), "passed");
  const auto seen = std::make_shared<int>(0);
  const Behaviour back = wrong_reply(codec::Verb::kSet, [seen](Message& message) {
    if (++*seen == 2)
      set_property(message, codec::kTimestampProperty, "1767225600000:0:StateStore");
  });
  EXPECT_EQ(verdict(back, "lifecycle.restart.versions-exceed-those-before"), "failed VER-SET-2");
}

// --- many keys ---------------------------------------------------------------------------------

const scenario::Case& writing_many() {
  static const scenario::Case test_case = case_of({.steps = "- write_many: {key: m, keys: 150}\n"});
  return test_case;
}

TEST(CaseRunnerManyKeys, PassesAStoreThatKeepsAll) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const CaseResult result = run_on(endpoint, writing_many());
  EXPECT_EQ(outcome_text(result), "passed");
  // 64 of each kind, connected, and two notes for the others of each.
  EXPECT_EQ(result.transcript.size(), 2 * (2 * 64 + 2) + 1U);
}

TEST(CaseRunnerManyKeys, FailsAStoreThatLosesOne) {
  const Behaviour right = reference_store();
  FakeEndpoint endpoint({.behaviour = [&right](const Published& request) {
    const bool lost = request.message.payload.starts_with("*2\r\n$3\r\nGET") &&
                      request.message.payload.ends_with("/m-149\r\n");
    return lost ? Effects{reply(request, "$-1\r\n")} : right(request);
  }});
  EXPECT_THAT(outcome_text(run_on(endpoint, writing_many())),
              testing::StartsWith("failed 1 R-MUST-1: the reply is not the expected one"));
}

TEST(CaseRunnerManyKeys, CannotTellOfAStoreWithoutRoom) {
  FakeEndpoint endpoint({.behaviour = reference_store({.store = {.quota = 149}})});
  EXPECT_EQ(outcome_text(run_on(endpoint, writing_many())),
            "inconclusive 1 R-MUST-1: the store has no room for 150 keys: it refused one of the "
            "first 150 because of its quota");
}

}  // namespace
}  // namespace fencepost::run
