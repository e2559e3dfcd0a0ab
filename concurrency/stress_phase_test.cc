#include "concurrency/stress_phase.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "concurrency/histories/history_check.h"
#include "suite/target/target.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::concurrency {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::atomic<bool> kNeverStop{false};

TEST(StressDuration, IsShortForARunOfAllCases) {
  EXPECT_EQ(*stress_duration("", true, 1), 2s);
  EXPECT_EQ(*stress_duration("", false, 1), 0s);
  EXPECT_EQ(*stress_duration("short", false, 1), 2s);
  EXPECT_EQ(*stress_duration("none", true, 1), 0s);
  EXPECT_EQ(*stress_duration("150ms", false, 1), 150ms);
}

TEST(StressDuration, IsZeroInAllShardsButTheFirst) {
  for (const char* option : {"", "short", "none", "10s", "soon"}) {
    EXPECT_EQ(*stress_duration(option, true, 2), 0s) << option;
  }
}

TEST(StressDuration, RefusesWhatIsNoDuration) {
  for (const std::string option : {"0s", "soon", "-1s", "10", "Short"}) {
    EXPECT_EQ(stress_duration(option, true, 1).error(),
              "--stress " + option + ": expected none, short or a duration such as 10s");
  }
}

// --- findings ----------------------------------------------------------------------------------

history::Operation get_of(std::uint32_t client, history::Time called, history::Time returned) {
  return {.client = client,
          .action = history::Action::kGet,
          .key = "k",
          .called = called,
          .returned = returned,
          .outcome = returned == history::kNever ? history::Outcome::kUnknown
                                                 : history::Outcome::kMissing};
}

std::vector<std::string> rules_of(const run::StressResult& result) {
  std::vector<std::string> out;
  for (const run::PhaseFinding& each : result.findings) out.push_back(each.requirement);
  return out;
}

TEST(FindingsOf, ShowsTheOperationsInTheOrderOfTheirCalls) {
  const std::vector<history::KeyVerdict> violations = {
      {.key = std::string("a\0b", 3),
       .verdict = {
           .answer = history::Answer::kViolation,
           .operations = {0, 2, 1},
           .shown = {get_of(1, 9ms, 12ms), get_of(3, 7ms, history::kNever), get_of(2, 5ms, 6ms)},
           .requirement = "R-MUST-1",
           .text = "wrong"}}};
  const auto findings = findings_of(violations);
  ASSERT_THAT(findings, SizeIs(1));
  const run::PhaseFinding& found = findings[0];
  EXPECT_EQ(found.requirement, "R-MUST-1");
  EXPECT_EQ(found.key, "a\\x00b");
  EXPECT_EQ(found.text, "wrong");
  EXPECT_TRUE(found.fails);
  ASSERT_THAT(found.operations, SizeIs(3));
  EXPECT_EQ(found.operations[0].client, 2U);
  EXPECT_EQ(found.operations[0].called, 0us);
  EXPECT_EQ(found.operations[0].returned, 1'000us);
  EXPECT_EQ(found.operations[0].request, "GET");
  EXPECT_EQ(found.operations[1].client, 3U);
  EXPECT_EQ(found.operations[1].called, 2'000us);
  EXPECT_FALSE(found.operations[1].returned);
  EXPECT_THAT(found.operations[1].reply, HasSubstr("no response"));
  EXPECT_EQ(found.operations[2].client, 1U);
  EXPECT_EQ(found.operations[2].returned, 7'000us);
}

TEST(FindingsOf, OfOperationsThatAreNotThereShowsNothing) {
  const std::vector<history::KeyVerdict> violations = {
      {.verdict = {.operations = {0, 1}, .requirement = "R-1"}}, {}, {}};
  const auto findings = findings_of(violations);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[0].operations, IsEmpty());
}

// --- which fail --------------------------------------------------------------------------------

constexpr const char* kRules = R"(requirements:
- {id: MUST, level: must, text: Rule., binds: store, section: S, documents: [ga, preview],
   source: article, observe: o}
- {id: SHOULD, level: should, text: Rule., binds: store, section: S, documents: [ga, preview],
   source: article, observe: o}
- {id: MAY, level: may, text: Rule., binds: store, section: S, documents: [ga, preview],
   source: article, observe: o}
- {id: OF-GA, level: must, text: Rule., binds: store, section: S, documents: [ga],
   source: article, observe: o}
)";

// The ids of the rules whose findings fail.
std::vector<std::string> failing(const std::vector<std::string>& rules, bool strict,
                                 const run::SuiteResult& result) {
  std::vector<scenario::LoadError> errors;
  const auto catalogue = scenario::Catalogue::load({"requirements.yaml", kRules}, errors);
  EXPECT_THAT(errors, IsEmpty());
  run::StressResult stress;
  for (const std::string& rule : rules) stress.findings.push_back({.requirement = rule});
  run::mark_failures(stress.findings, catalogue, strict, result);
  std::vector<std::string> out;
  for (const run::PhaseFinding& found : stress.findings) {
    if (found.fails) out.push_back(found.requirement);
    const bool excused = found.text.find("the baseline lists failures") != std::string::npos;
    EXPECT_FALSE(found.fails && excused);
    EXPECT_TRUE(result.summary.expected_failures > 0 || found.text.empty());
  }
  return out;
}

TEST(MarkFailures, FailsWhereABindingRuleIsBroken) {
  const std::vector<std::string> all = {"MUST", "SHOULD", "MAY", "OF-GA", "UNKNOWN"};
  EXPECT_THAT(failing(all, false, {}), ElementsAre("MUST", "OF-GA", "UNKNOWN"));
  EXPECT_THAT(failing(all, true, {}), ElementsAre("MUST", "SHOULD", "OF-GA", "UNKNOWN"));
  run::SuiteResult preview;
  preview.basis = {codec::DialectId::kDocumented, scenario::Edition::kPreview};
  EXPECT_THAT(failing(all, false, preview), ElementsAre("MUST", "UNKNOWN"));
}

TEST(MarkFailures, WarnsWhereTheBaselineKnowsFailures) {
  run::SuiteResult result;
  result.summary.expected_failures = 1;
  result.cases.push_back(
      {.verdict = run::Verdict::kExpectedFailure, .failure = {.requirement = "R-MUST-1"}});
  run::StressResult stress{.findings = {{.requirement = "R-MUST-1", .text = "wrong"},
                                        {.requirement = "R-MAY-1", .text = "wrong"}}};
  run::mark_failures(stress.findings, test::catalogue(), false, result);
  EXPECT_EQ(stress.findings[0].text, "wrong (a warning: the baseline lists failures of this rule)");
  EXPECT_EQ(stress.findings[1].text, "wrong");
  // What breaks another rule is news.
  result.cases[0].failure.requirement = "R-OTHER-1";
  stress = {.findings = {{.requirement = "R-MUST-1", .text = "wrong"}}};
  run::mark_failures(stress.findings, test::catalogue(), false, result);
  EXPECT_TRUE(stress.findings[0].fails);
}

// --- replies, regardless of what was sent at the same time ---------------------------------------

TEST(ReplyCheck, FindsWhatNoOrderOfRequestsExplains) {
  const auto check = [](std::string_view payload, codec::Message reply, judge::OracleBasis basis) {
    codec::Message request{.topic = "t", .payload = std::string(payload)};
    request.response_topic = "r";
    request.correlation_data = "c";
    reply.topic = "r";
    reply.correlation_data = "c";
    const auto problem = reply_check(std::move(basis))(request, reply);
    return problem ? problem->requirement : std::string();
  };
  const std::string set = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";
  codec::Message right{.payload = "+OK\r\n"};
  right.user_properties = {{"__stat", "200"}, {"__ts", "1:0:n"}};
  EXPECT_EQ(check(set, right, {}), "");
  codec::Message bare{.payload = "+OK\r\n"};
  EXPECT_EQ(check(set, bare, {}), "ENV-STATUS-1");
  EXPECT_EQ(check(set, bare, {.waived = {"ENV-STATUS-1"}}), "VER-SET-1");
  EXPECT_EQ(check(set, bare, {.waived = {"ENV-STATUS-1", "VER-SET-1"}}), "");
  codec::Message malformed = right;
  malformed.user_properties[1].second = "99999999999999999999:1:x";
  EXPECT_NE(check(set, malformed, {}), "");
  codec::Message nothing = right;
  nothing.payload = "nonsense";
  EXPECT_EQ(check(set, nothing, {}), "ENV-RESPONSE-1");
}

// --- the phase ---------------------------------------------------------------------------------

class StressPhaseTest : public testing::Test {
 protected:
  StressPhaseTest() { suite_.settings = test::settings(); }

  // Against what `url` names.
  run::StressResult run(const std::string& url, const std::atomic<bool>& stop = kNeverStop) {
    descriptor_.url = url;
    auto target = target::open_target(descriptor_, codec::DialectId::kDeployed);
    EXPECT_TRUE(target) << target.error().text;
    return run_stress_phase(phase_, *target->endpoint, stop);
  }

  target::Descriptor descriptor_;
  run::SuiteOptions suite_;
  StressPhase phase_{.descriptor = descriptor_,
                     .suite = suite_,
                     .round_trip_p99 = 2'500us,
                     .command = "fencepost stress",
                     .duration = 200ms};
};

TEST_F(StressPhaseTest, ARightStoreBreaksNoRule) {
  const run::StressResult out = run("inproc:");
  EXPECT_EQ(out.error, "");
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_TRUE(out.simulated);
  EXPECT_EQ(out.clients, 16U);
  EXPECT_EQ(out.seed, 7U);
  EXPECT_GT(out.replies, 1'000U);
  EXPECT_LE(out.replies, out.requests);
  EXPECT_GT(out.notifications, 0U);
  EXPECT_GT(out.keys_ok, 0U);
  EXPECT_GT(out.duration, 0us);
  EXPECT_EQ(out.command,
            "fencepost stress --workload everything --clients 16 --seed 7 --duration 200ms");
}

TEST_F(StressPhaseTest, AStoreThatIsWrongUnderConcurrencyIsShown) {
  suite_.settings.profile = codec::Profile::kDocumented;
  const run::StressResult out = run("inproc:?fault=T01");
  ASSERT_THAT(out.findings, Not(IsEmpty()));
  EXPECT_NE(out.findings[0].requirement, "");
  EXPECT_THAT(out.findings[0].operations, Not(IsEmpty()));
  EXPECT_TRUE(run::fails(out.findings));
  EXPECT_THAT(out.command, HasSubstr("fencepost stress --profile documented --workload"));
}

TEST_F(StressPhaseTest, ItsHistoryShowsTheSameAgain) {
  std::string lines;
  phase_.keep = [&](const std::string& line) { lines += line; };
  const run::StressResult out = run("inproc:?fault=T01");
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / "fencepost_stress_phase.jsonl";
  std::ofstream(file) << lines;
  const auto checked = histories::check_history(file.string(), 1'000'000);
  std::filesystem::remove(file);
  ASSERT_TRUE(checked) << checked.error();
  const run::StressResult again = judged_again(*checked, out);
  EXPECT_EQ(again.requests, out.requests);
  ASSERT_THAT(out.findings, Not(IsEmpty()));
  ASSERT_THAT(again.findings, Not(IsEmpty()));
  EXPECT_EQ(again.findings[0].requirement, out.findings[0].requirement);
  EXPECT_EQ(again.undecided, "");
}

TEST_F(StressPhaseTest, OneKeyDoesWhereThereIsLittleRoom) {
  suite_.offered = endpoint::Capabilities{};
  suite_.offered->quota = 4'999;
  EXPECT_EQ(run("inproc:").workload, "hot-key");
  suite_.offered->quota = 5'000;
  EXPECT_EQ(run("inproc:").workload, "everything");
  suite_.offered->quota = 1;
  suite_.offered->has_isolated_broker = true;
  EXPECT_EQ(run("inproc:").workload, "everything");
  suite_.offered->max_packet_size = 8'191;
  EXPECT_EQ(run("inproc:").workload, "hot-key");
  suite_.offered->max_packet_size = 8'192;
  EXPECT_EQ(run("inproc:").workload, "everything");
}

TEST_F(StressPhaseTest, EndsWhenItIsStopped) {
  const std::atomic<bool> stopped{true};
  const run::StressResult out = run("inproc:", stopped);
  EXPECT_LT(out.requests, 1'000U);
}

TEST_F(StressPhaseTest, SaysWhyItDidNotBegin) {
  test::FakeEndpoint fake({.on_connect = [](const endpoint::ClientOptions&) {
    return std::optional(endpoint::Error{endpoint::ErrorKind::kNotAllowed, "go away"});
  }});
  EXPECT_THAT(run_stress_phase(phase_, fake, kNeverStop).error,
              AllOf(HasSubstr("cannot connect: "), HasSubstr("go away")));
  endpoint::Capabilities simulated;
  simulated.transport = false;
  test::FakeEndpoint elsewhere({.capabilities = simulated});
  descriptor_.url = "mqtt://host";
  const run::StressResult out = run_stress_phase(phase_, elsewhere, kNeverStop);
  EXPECT_NE(out.error, "");
  EXPECT_EQ(out.requests, 0U);
}

TEST_F(StressPhaseTest, TheCommandOfALiveRunHasWhatWasInForce) {
  test::FakeEndpoint fake({.on_connect = [](const endpoint::ClientOptions&) {
    return std::optional(endpoint::Error{endpoint::ErrorKind::kNotAllowed, "go away"});
  }});
  suite_.settings.profile = codec::Profile::kDeployed;
  suite_.settings.clock_offset_ms = -600'000;
  suite_.settings.timeout_scale = 1.5;
  EXPECT_EQ(run_stress_phase(phase_, fake, kNeverStop).command,
            "fencepost stress --profile deployed --clock-offset -600000ms --network-delay 12ms "
            "--timeout-scale 1.5 --workload everything --clients 16 --seed 7 --duration 200ms");
  suite_.settings = test::settings();
  phase_.round_trip_p99 = 0us;
  EXPECT_EQ(run_stress_phase(phase_, fake, kNeverStop).command,
            "fencepost stress --workload everything --clients 16 --seed 7 --duration 200ms");
}

TEST_F(StressPhaseTest, ALiveStoreMayBeLateByWhatThePathTakes) {
  suite_.settings.timeout_scale = 2;
  suite_.settings.clock_offset_ms = 5;
  suite_.settings.expiry_tolerance = 300ms;
  const stress::Mix& mix = *stress::find_mix("hot-key");
  stress::LoadOptions out = load_options(phase_, mix);
  EXPECT_EQ(out.traffic.script.mix, &mix);
  EXPECT_EQ(out.traffic.script.clients, 16U);
  EXPECT_EQ(out.traffic.script.seed, 7U);
  EXPECT_EQ(out.traffic.script.prefix, suite_.settings.key_prefix + "/run/stress/");
  EXPECT_EQ(out.traffic.client_prefix, "fencepost-stress-run-");
  EXPECT_EQ(out.traffic.patience, 6s);
  EXPECT_EQ(out.duration, 200ms);
  EXPECT_EQ(out.wall_offset_ms, 5);
  EXPECT_EQ(out.bounds.expiry_late, history::Bounds{}.expiry_late + 12ms);
  EXPECT_EQ(out.bounds.notification_late, history::Bounds{}.notification_late + 12ms);
  EXPECT_TRUE(out.bounds.versions_grow);
  phase_.versions_grow = false;
  EXPECT_FALSE(load_options(phase_, mix).bounds.versions_grow);
  suite_.settings.expiry_tolerance = 5s;
  EXPECT_EQ(load_options(phase_, mix).bounds.expiry_late, 5'012ms);
}

// --- its end -----------------------------------------------------------------------------------

// Why the run stopped, after a phase that came to `stress`.
struct Ended {
  std::string reason;
  run::SuiteResult result;
};

Ended ended(const run::StressResult& stress, bool interrupted, bool reachable) {
  test::FakeEndpoint endpoint({.on_reach = [&]() -> std::optional<endpoint::Error> {
    if (reachable) return std::nullopt;
    return endpoint::Error{endpoint::ErrorKind::kLost, "gone"};
  }});
  Ended out;
  out.result.stress = stress;
  out.reason = end_stress_phase(endpoint, interrupted, out.result);
  return out;
}

// --- judged again -------------------------------------------------------------------------------

histories::CheckedHistory history_with(std::vector<history::KeyVerdict> keys) {
  return {.operations = 10, .refused = 2, .keys = std::move(keys)};
}

history::KeyVerdict violation_of(const std::string& requirement) {
  return {.key = "k",
          .verdict = {.answer = history::Answer::kViolation,
                      .operations = {3},
                      .shown = {get_of(1, 9ms, 12ms)},
                      .requirement = requirement,
                      .text = "wrong"}};
}

TEST(JudgedAgain, IsWhatTheHistoryShows) {
  run::StressResult then{.workload = "everything", .clients = 16, .requests = 1, .keys_ok = 99};
  const auto now = judged_again(history_with({violation_of("R-1"),
                                              violation_of("R-2"),
                                              {.key = "o", .verdict = {history::Answer::kOk}},
                                              violation_of("R-1")}),
                                then);
  EXPECT_THAT(rules_of(now), ElementsAre("R-1", "R-2"));
  EXPECT_EQ(now.findings[0].operations.at(0).client, 1U);
  EXPECT_EQ(now.workload, "everything");
  EXPECT_EQ(now.requests, 10U);
  EXPECT_EQ(now.replies, 10U);
  EXPECT_EQ(now.refused, 2U);
  EXPECT_EQ(now.keys_ok, 1U);
  EXPECT_EQ(now.undecided, "");
}

TEST(JudgedAgain, TellsFirstWhatTheRunHasFoundAndLeavesNothingOut) {
  const run::StressResult then{.findings = {{.requirement = "R-2"}}};
  EXPECT_THAT(
      rules_of(judged_again(history_with({violation_of("R-1"), violation_of("R-2")}), then)),
      ElementsAre("R-2", "R-1"));
}

TEST(JudgedAgain, IsUndecidedWhereTheHistoryDoesNotShowWhatTheRunFound) {
  const run::StressResult then{.findings = {{.requirement = "R-3", .text = "no reply"}}};
  const auto now = judged_again(history_with({violation_of("R-1")}), then);
  EXPECT_THAT(rules_of(now), ElementsAre("R-1"));
  EXPECT_EQ(now.undecided, "the run reported R-3: no reply; its history does not show that");
}

TEST(JudgedAgain, DoesNotKnowWhetherAReplyWasOwed) {
  histories::CheckedHistory checked = history_with({});
  checked.without_reply = 1;
  EXPECT_EQ(judged_again(checked, {}).undecided,
            "1 request without a response; the history does not show whether one was due");
  // Messages are lost on purpose there.
  EXPECT_EQ(judged_again(checked, {.simulated = true}).undecided, "");
  EXPECT_EQ(judged_again(checked, {.simulated = true}).replies, 9U);
  checked.without_reply = 0;
  checked.whole = {{.answer = history::Answer::kUnknown, .text = "nothing is known"}};
  EXPECT_EQ(judged_again(checked, {.undecided = "so it was"}).undecided,
            "so it was; nothing is known");
}

TEST(EndStressPhase, SaysThatTheRunWasInterrupted) {
  const Ended out = ended({.requests = 1, .error = "x"}, true, false);
  EXPECT_EQ(out.reason, "interrupted");
  EXPECT_TRUE(out.result.interrupted);
  EXPECT_FALSE(out.result.endpoint_lost);
}

TEST(EndStressPhase, SaysThatTheEndpointWasLost) {
  const Ended out = ended({.requests = 1, .error = "x"}, false, false);
  EXPECT_EQ(out.reason, "the endpoint was lost during the concurrent checks: gone");
  EXPECT_TRUE(out.result.endpoint_lost);
  EXPECT_EQ(out.result.lost_message, "gone");
}

TEST(EndStressPhase, ElseSaysNothing) {
  for (const Ended& out :
       {ended({.requests = 1, .error = "x"}, false, true), ended({.requests = 1}, false, false),
        ended({.requests = 0, .error = "x"}, false, false)}) {
    EXPECT_EQ(out.reason, "");
    EXPECT_FALSE(out.result.endpoint_lost);
    EXPECT_FALSE(out.result.interrupted);
  }
}

}  // namespace
}  // namespace fencepost::concurrency
