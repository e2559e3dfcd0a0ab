// Cases that send what client libraries refuse to send, against brokers that are right about it and
// brokers that are not.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/run/case_runner.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kTwoClients = "requires: [raw-packets]\nclients: {a: {}, b: {}}";

scenario::Case broken_packet() {
  return case_of({.more = kTwoClients, .steps = R"(
- set: {key: k, value: "two", packet: {twice: [response_topic], topic_alias: 3, id: 7}}
  expect: disconnect
- get: {key: k, client: b}
  expect: missing
)"});
}

// Looks at nothing but the message.
Behaviour careless() { return reference_store(); }

Behaviour strict(bool carries_out) {
  return [carries_out, store = reference_store()](const Published& request) {
    if (!request.odd) return store(request);
    if (carries_out) (void)store(request);
    return Effects{{.what = endpoint::Disconnected{.reason_code = 0x82}}};
  };
}

TEST(RawPacket, HasToEndTheConnectionAndChangesNothing) {
  EXPECT_EQ(outcome_text(strict(false), broken_packet()), "passed");
  EXPECT_THAT(outcome_text(careless(), broken_packet()),
              StartsWith("failed 1 R-MUST-1: the reply is not the expected one"));
  EXPECT_THAT(outcome_text(strict(true), broken_packet()),
              StartsWith("failed 2 R-MUST-1: the reply is not the expected one"));
}

TEST(RawPacket, IsSentAsTheCaseSays) {
  FakeEndpoint endpoint({.behaviour = strict(false)});
  const scenario::Case test_case = broken_packet();
  EXPECT_EQ(outcome_text(run_on(endpoint, test_case)), "passed");
  const Published sent = endpoint.published().at(0);
  const std::string topic = *sent.message.response_topic;
  ASSERT_TRUE(sent.odd);
  EXPECT_EQ(sent.odd->packet_id, 7);
  EXPECT_EQ(sent.odd->more_properties, std::string("\x08\0", 2) + static_cast<char>(topic.size()) +
                                           topic + std::string("\x23\0\x03", 3));
  EXPECT_FALSE(endpoint.published().at(1).odd);
}

// Req: ENV-DUP-1
TEST(RawPacket, IsARequestLikeAnyOtherWhenItHasDup) {
  const scenario::Case test_case = case_of({.more = "requires: [raw-packets]", .steps = R"(
- set: {key: k, value: v, packet: {dup: true}}
  expect: ok
)"});
  EXPECT_EQ(outcome_text(careless(), test_case), "passed");
  const Behaviour deaf = [store = reference_store()](const Published& request) {
    return request.odd && request.odd->duplicate ? Effects{} : store(request);
  };
  EXPECT_THAT(outcome_text(deaf, test_case), StartsWith("failed 1 R-MUST-1: no response"));
}

class Mqtt311Step : public testing::Test {
 protected:
  // What becomes of its request, and of the case.
  static std::string outcome(Script script, const std::string& expected = "none") {
    const scenario::Case test_case =
        case_of({.more = "requires: [raw-packets]\nclients: {a: {}, old: {protocol: \"3.1.1\"}}",
                 .steps = "- set: {key: k, value: \"one\"}\n  expect: ok\n"
                          "- set: {key: k, value: \"two\", client: old}\n  expect: " +
                          expected + "\n- get: k\n  expect: {reply: {value: \"one\"}}\n"});
    FakeEndpoint endpoint(std::move(script));
    return outcome_text(run_on(endpoint, test_case));
  }
  static std::optional<endpoint::Error> refusal(endpoint::ErrorKind kind,
                                                const endpoint::ClientOptions& options) {
    if (!options.mqtt_3_1_1) return std::nullopt;
    return endpoint::Error{kind, "no such protocol"};
  }
};

TEST_F(Mqtt311Step, ChangesNothing) {
  EXPECT_EQ(outcome({.behaviour = reference_store()}), "passed");
  // As if it had said where the reply goes.
  const Behaviour obliging = [store = reference_store()](const Published& request) {
    Published whole = request;
    if (!whole.message.response_topic) {
      whole.message.response_topic = "nowhere";
      whole.message.correlation_data = "c";
      whole.message.user_properties = {{"__ts", "1767225600000:0:old"}};
      (void)store(whole);
      return Effects{};
    }
    return store(whole);
  };
  EXPECT_THAT(outcome({.behaviour = obliging}),
              StartsWith("failed 3 R-MUST-1: the reply is not the expected one"));
}

TEST_F(Mqtt311Step, KnowsWhatBecomesOfTheConnection) {
  using enum endpoint::ErrorKind;
  const auto refuses = [](const endpoint::ClientOptions& options) {
    return refusal(kNotAllowed, options);
  };
  EXPECT_EQ(outcome({.behaviour = reference_store(), .on_connect = refuses}, "disconnect"),
            "passed");
  EXPECT_THAT(outcome({.behaviour = reference_store(), .on_connect = refuses}),
              HasSubstr("otherwise | that it takes the PUBLISH | no such protocol"));
  EXPECT_THAT(outcome({.behaviour = reference_store()}, "disconnect"),
              HasSubstr("otherwise | that the connection is refused or ends"));
  // Nobody can tell.
  const auto fails = [](const endpoint::ClientOptions& options) {
    return refusal(kTimeout, options);
  };
  EXPECT_THAT(outcome({.behaviour = reference_store(), .on_connect = fails}), StartsWith("lost"));
}

}  // namespace
}  // namespace fencepost::run
