#include "suite/target/probe.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/target/probe_report.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::target {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::Verb;
using endpoint::ErrorKind;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const std::atomic<bool> kNeverStop{false};

// A library with one case of each kind that a probe runs or leaves out.
const std::string kRules = R"(requirements:
- {id: PLAIN-1, level: must, text: A rule.,
   binds: store, section: S, documents: [], source: article, observe: o}
- {id: OPEN-1, level: may, text: A choice.,
   binds: store, section: S, documents: [], source: article, observe: o,
   open: true, outcomes: [one, other]}
- {id: OPEN-2, level: may, text: Another choice.,
   binds: store, section: S, documents: [], source: article, observe: o,
   open: true, outcomes: [one, other]}
)";
const std::string kCases = R"(area: t
cases:
- {id: plain, title: t, requirements: [PLAIN-1], steps: [{get: k, expect: missing}]}
- id: open
  title: t
  requirements: [PLAIN-1, OPEN-1]
  steps:
  - get: k
    expect: {reply: {open: {there: {value: v}, not-there: missing}}, cites: OPEN-1}
- id: form
  title: t
  requirements: [PLAIN-1]
  divergence: [set-not-applied]
  steps:
  - set: {key: k, value: v}
    expect: ok
  - set: {key: k, value: w, options: [NX]}
    expect: not-applied
- {id: rights, title: t, requirements: [PLAIN-1], requires: [restricted-client],
   clients: {r: {role: restricted}}, steps: [{get: k, expect: missing}]}
- {id: places, title: t, requirements: [OPEN-2], requires: [quota], exclusive: true,
   steps: [{fill_quota: {key: k}}]}
- {id: again, title: t, requirements: [OPEN-2], requires: [restart], exclusive: true,
   steps: [{restart: broker}, {get: k, expect: missing}]}
)";

const scenario::Library& library() {
  static const scenario::Library loaded = [] {
    std::vector<scenario::LoadError> errors;
    scenario::Library out =
        load_library({{"requirements.yaml", kRules}, {"t.yaml", kCases}}, errors);
    for (const scenario::LoadError& error : errors) ADD_FAILURE() << describe(error);
    return out;
  }();
  return loaded;
}

ProbeSettings settings_with(std::size_t quota_up_to = 0) {
  return {.run = settings(), .jobs = 1, .quota_up_to = quota_up_to};
}

Findings found(endpoint::Endpoint& endpoint, std::size_t quota_up_to = 0,
               const std::atomic<bool>& stop = kNeverStop) {
  auto findings = probe_endpoint(endpoint, library(), settings_with(quota_up_to), stop);
  if (findings) return std::move(*findings);
  ADD_FAILURE() << findings.error().text;
  return {};
}

store::ServiceOptions with_quota(std::size_t keys) { return {.store = {.quota = keys}}; }

std::vector<std::string> keys_of(const FakeEndpoint& endpoint, Verb verb, const std::string& part) {
  std::vector<std::string> out;
  for (const Published& request : endpoint.published()) {
    const auto command = codec::decode_command(request.message.payload);
    if (!command || verb_of(request) != verb) continue;
    const std::string key(command->arguments[1]);
    if (key.find(part) != std::string::npos) out.push_back(key);
  }
  return out;
}

// --- which cases it runs -----------------------------------------------------------------------

std::vector<std::string> ids(const std::vector<const scenario::Case*>& cases) {
  std::vector<std::string> out;
  for (const scenario::Case* test_case : cases) out.push_back(test_case->id);
  return out;
}

TEST(ProbeCases, AreThoseThatShowAChoiceAFormOrARight) {
  EXPECT_THAT(ids(probe_cases(library(), false)), ElementsAre("open", "form", "rights"));
  EXPECT_THAT(ids(probe_cases(library(), true)), ElementsAre("open", "form", "rights", "places"));
}

TEST(Probe, ReportsWhatTheCasesSaw) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const Findings findings = found(endpoint);
  EXPECT_EQ(observed_dialect(findings.cases), "deployed");
  EXPECT_THAT(findings.cases.unspecified_points,
              ElementsAre(testing::Pair("OPEN-1", ElementsAre("not-there"))));
  EXPECT_EQ(findings.cases.summary.passed, 2U);
  EXPECT_EQ(findings.cases.summary.skipped, 1U);  // no restricted client
  EXPECT_FALSE(findings.quota);
}

TEST(Probe, SaysWhyAnEndpointIsOfNoUse) {
  FakeEndpoint endpoint({.on_reach = [] {
    return endpoint::Error{ErrorKind::kUnreachable, "nobody there"};
  }});
  const auto findings = probe_endpoint(endpoint, library(), settings_with(), kNeverStop);
  ASSERT_FALSE(findings);
  EXPECT_EQ(findings.error().kind, run::PreflightErrorKind::kNoBroker);
  EXPECT_EQ(findings.error().text, "nobody there");
}

TEST(Probe, LearnsThePacketLimitFromTheConnection) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .packet_limit = 5'000});
  EXPECT_EQ(found(endpoint).offered.max_packet_size, 5'000U);
  FakeEndpoint silent({.behaviour = reference_store()});
  EXPECT_EQ(found(silent).offered.max_packet_size, std::nullopt);
}

TEST(Probe, KeepsToTheKeyPrefix) {
  FakeEndpoint endpoint({.behaviour = reference_store(), .capabilities = {.key_prefix = "a/b"}});
  static_cast<void>(found(endpoint, 3));
  EXPECT_THAT(keys_of(endpoint, Verb::kSet, ""), Not(IsEmpty()));
  EXPECT_THAT(keys_of(endpoint, Verb::kSet, ""), Each(StartsWith("a/b/")));
  EXPECT_THAT(keys_of(endpoint, Verb::kGet, ""), Each(StartsWith("a/b/")));
}

// --- roles -------------------------------------------------------------------------------------

TEST(ProbeRoles, TriesEachAndRunsItsCases) {
  FakeEndpoint endpoint(
      {.behaviour = reference_store(), .capabilities = {.roles = {"restricted", "other"}}});
  const Findings findings = found(endpoint);
  ASSERT_THAT(findings.roles, SizeIs(2));
  EXPECT_EQ(findings.roles[0].problem, "");
  EXPECT_EQ(findings.cases.summary.passed, 3U);
}

TEST(ProbeRoles, SkipsTheCasesOfARoleThatDoesNotLogIn) {
  FakeEndpoint endpoint(
      {.behaviour = reference_store(),
       .on_connect = [](const endpoint::ClientOptions& options) -> std::optional<endpoint::Error> {
         if (options.role.empty()) return std::nullopt;
         return endpoint::Error{ErrorKind::kNotAllowed, "wrong password"};
       },
       .capabilities = {.roles = {"restricted"}}});
  const Findings findings = found(endpoint);
  ASSERT_THAT(findings.roles, SizeIs(1));
  EXPECT_EQ(findings.roles[0].problem, "wrong password");
  EXPECT_EQ(findings.cases.summary.skipped, 1U);
}

// --- the quota ---------------------------------------------------------------------------------

TEST(ProbeQuota, CountsTheKeysThatFitAndDeletesThem) {
  for (const std::size_t places : {1U, 63U, 64U, 65U, 150U}) {
    const auto keys = std::make_shared<std::size_t>(0);
    FakeEndpoint endpoint({.behaviour = reference_store(with_quota(places), keys)});
    const Findings findings = found(endpoint, 1'000);
    ASSERT_TRUE(findings.quota);
    EXPECT_EQ(findings.quota->stored, places);
    EXPECT_TRUE(findings.quota->refused);
    EXPECT_EQ(findings.quota->problem, "");
    EXPECT_EQ(findings.quota->left_behind, 0U);
    EXPECT_EQ(*keys, 0U);
    EXPECT_EQ(findings.offered.quota, places);
    // With the quota known its unspecified points can be looked at.
    EXPECT_TRUE(findings.cases.cases.back().test_case->id == "places");
    EXPECT_EQ(findings.cases.cases.back().verdict, run::Verdict::kPassed);
  }
}

TEST(ProbeQuota, WritesNoMoreThanItMay) {
  const auto keys = std::make_shared<std::size_t>(0);
  FakeEndpoint endpoint({.behaviour = reference_store(with_quota(1'000), keys)});
  const Findings findings = found(endpoint, 70);
  EXPECT_EQ(findings.quota->stored, 70U);
  EXPECT_FALSE(findings.quota->refused);
  EXPECT_THAT(keys_of(endpoint, Verb::kSet, "/quota/"), SizeIs(70));
  EXPECT_EQ(*keys, 0U);
  EXPECT_EQ(findings.offered.quota, std::nullopt);
}

TEST(ProbeQuota, IsNotLookedAtUnlessAsked) {
  FakeEndpoint endpoint({.behaviour = reference_store(with_quota(20))});
  EXPECT_FALSE(found(endpoint).quota);
  EXPECT_THAT(keys_of(endpoint, Verb::kSet, "/quota/"), IsEmpty());
}

TEST(ProbeQuota, StopsAtAnAnswerThatSaysSomethingElse) {
  const auto denied = [](const Published& request, Effects& effects) {
    const auto command = codec::decode_command(request.message.payload);
    if (verb_of(request) != Verb::kSet || !command->arguments[1].ends_with("/quota/5")) return;
    effects = {reply(request, "-ERR not authorized\r\n")};
  };
  FakeEndpoint endpoint({.behaviour = changed(reference_store(), denied)});
  const Findings findings = found(endpoint, 1'000);
  EXPECT_EQ(findings.quota->stored, 63U);  // of the first 64
  EXPECT_FALSE(findings.quota->refused);
  EXPECT_EQ(findings.quota->problem, "the store answered a SET with: -ERR not authorized\\r\\n");
  EXPECT_EQ(findings.quota->left_behind, 0U);
}

// A connection that ends in the middle: the keys are deleted over another one.
TEST(ProbeQuota, CleansUpOverAnotherConnection) {
  const auto keys = std::make_shared<std::size_t>(0);
  const auto kicked = [](const Published& request, Effects& effects) {
    const auto command = codec::decode_command(request.message.payload);
    if (verb_of(request) != Verb::kSet || !command->arguments[1].ends_with("/quota/70")) return;
    effects = {{endpoint::Disconnected{}}};
  };
  FakeEndpoint endpoint({.behaviour = changed(reference_store({}, keys), kicked)});
  const Findings findings = found(endpoint, 1'000);
  EXPECT_EQ(findings.quota->stored, 70U);  // whose replies came before the end
  EXPECT_THAT(findings.quota->problem, HasSubstr("not connected"));
  EXPECT_EQ(findings.quota->left_behind, 0U);
  EXPECT_EQ(*keys, 0U);
}

TEST(ProbeQuota, SaysHowManyKeysItCouldNotDelete) {
  const auto kept = [](const Published& request, Effects& effects) {
    const auto command = codec::decode_command(request.message.payload);
    if (verb_of(request) == Verb::kDel && command->arguments[1].ends_with("/quota/1")) {
      effects.clear();
    }
  };
  FakeEndpoint endpoint({.behaviour = changed(reference_store(with_quota(3)), kept)});
  const Findings findings = found(endpoint, 1'000);
  EXPECT_EQ(findings.quota->stored, 3U);
  EXPECT_EQ(findings.quota->left_behind, 1U);
}

TEST(ProbeQuota, WritesNothingOnceItIsToStop) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const std::atomic<bool> stop{true};
  const Findings findings = found(endpoint, 1'000, stop);
  EXPECT_EQ(findings.quota->problem, "interrupted");
  EXPECT_TRUE(findings.cases.interrupted);
  EXPECT_THAT(keys_of(endpoint, Verb::kSet, "/quota/"), IsEmpty());
}

// --- what it writes ----------------------------------------------------------------------------

Descriptor given(const std::string& yaml) {
  std::vector<scenario::LoadError> errors;
  auto descriptor = load_descriptor({"d.yaml", yaml}, errors);
  for (const scenario::LoadError& error : errors) ADD_FAILURE() << describe(error);
  return descriptor.value_or(Descriptor{});
}

std::string written(const Descriptor& descriptor, const Findings& findings) {
  return to_descriptor(findings, {.given = descriptor,
                                  .catalogue = library().catalogue,
                                  .endpoint = "the endpoint",
                                  .when = "2026-01-01T00:00:00Z"});
}

std::string summary(const Descriptor& descriptor, const Findings& findings) {
  return to_summary(findings,
                    {.given = descriptor,
                     .catalogue = library().catalogue,
                     .endpoint = "the endpoint",
                     .when = {}},
                    true);
}

Findings some_findings() {
  FakeEndpoint endpoint({.behaviour = reference_store(with_quota(7)),
                         .packet_limit = 5'000,
                         .capabilities = {.roles = {"restricted"}, .key_prefix = "a/b"}});
  return found(endpoint, 100);
}

TEST(ProbeDescriptor, IsOneThatLoadsAndSaysTheSame) {
  setenv("SUITE_PASSWORD", "the secret", 1);
  setenv("FENCEPOST_RESTRICTED_PASSWORD", "other \"secret\"", 1);
  const std::string ca = std::filesystem::absolute("/proc/self/status").string();
  const Descriptor before = given(
      "url: mqtts://[::1]:8884\nprofile: documented\ntimeout: 1500ms\nclock_tolerance: 70ms\n"
      "tls: {ca: " +
      ca + ", certificate: " + ca + ", key: " + ca +
      "}\nroles:\n"
      "  default: {user: 'me: \"#1\"', password_env: SUITE_PASSWORD}\n"
      "  restricted: {client_id: Sensor, user: 'yes', password: 'other \"secret\"', "
      "certificate: " +
      ca +
      "}\n"
      "key_prefix: a/b\ncapabilities: {max_packet_size: 5000}\n"
      "hooks: {restart: 'echo \"a\\b\" # c', timeout: 5s}\n");
  const std::string text = written(before, some_findings());
  EXPECT_THAT(text, Not(HasSubstr("the secret")));
  EXPECT_THAT(text, Not(HasSubstr("other")));
  const Descriptor after = given(text);
  EXPECT_EQ(after.url, "mqtts://[::1]:8884");
  EXPECT_EQ(after.profile, codec::Profile::kDeployed);  // as seen
  EXPECT_EQ(after.mqtt.timeout, before.mqtt.timeout);
  EXPECT_EQ(after.clock_tolerance, before.clock_tolerance);
  EXPECT_EQ(after.mqtt.ca, ca);
  EXPECT_EQ(after.mqtt.certificate, ca);
  EXPECT_EQ(after.mqtt.key, ca);
  EXPECT_EQ(after.mqtt.credentials.user, "me: \"#1\"");
  EXPECT_EQ(after.mqtt.credentials.password, "the secret");
  EXPECT_EQ(after.mqtt.roles.at("restricted").user, "yes");
  EXPECT_EQ(after.mqtt.capabilities.client_ids.at("restricted"), "Sensor");
  EXPECT_EQ(after.mqtt.roles.at("restricted").password, "other \"secret\"");
  EXPECT_EQ(after.mqtt.roles.at("restricted").certificate, ca);
  EXPECT_EQ(after.mqtt.capabilities.key_prefix, "a/b");
  EXPECT_EQ(after.mqtt.capabilities.quota, 7U);
  EXPECT_EQ(after.mqtt.capabilities.max_packet_size, 5'000U);
  ASSERT_EQ(after.hooks.size(), 1U);
  EXPECT_EQ(after.hooks.at("restart").command, before.hooks.at("restart").command);
  EXPECT_EQ(after.hooks.at("restart").timeout, 5s);
}

TEST(ProbeDescriptor, TakesTheUserOutOfTheUrl) {
  Descriptor descriptor;
  descriptor.url = "mqtt://me:geheim@host:1884";
  const std::string text = written(descriptor, some_findings());
  EXPECT_THAT(text, Not(HasSubstr("geheim")));
  setenv("FENCEPOST_PASSWORD", "geheim", 1);
  const Descriptor after = given(text);
  EXPECT_EQ(after.url, "mqtt://host:1884");
  EXPECT_EQ(after.mqtt.credentials.user, "me");
  EXPECT_EQ(after.mqtt.credentials.password, "geheim");
  descriptor.url = "mqtt://me@host:1884";
  EXPECT_THAT(written(descriptor, some_findings()), Not(HasSubstr("password_env: FENCEPOST_PASS")));
}

TEST(ProbeDescriptor, SaysWhatIsLeftToFillIn) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  const std::string text = written(given("url: mqtt://host"), found(endpoint));
  EXPECT_THAT(text, AllOf(HasSubstr("\n# clock_tolerance: 1s\n"),
                          HasSubstr("\n# roles:\n#   restricted: {user: NAME, "),
                          HasSubstr("\"fencepost/*/read-only/*\""),
                          HasSubstr("\n# capabilities: {quota: KEYS, max_packet_size: BYTES}\n"),
                          HasSubstr("\n# hooks: {restart: COMMAND, timeout: 60s}\n")));
  EXPECT_EQ(given(text).url, "mqtt://host:1883");
}

TEST(ProbeDescriptor, LeavesTheEndpointsOfTheSuiteAsTheyAre) {
  for (const std::string url : {"embedded?dialect=documented", "inproc:"}) {
    Descriptor descriptor;
    descriptor.url = url;
    const Descriptor after = given(written(descriptor, some_findings()));
    EXPECT_EQ(after.url, url);
  }
}

TEST(ProbeDescriptor, NamesNoProfileOfAStoreThatMixesThem) {
  Findings findings = some_findings();
  findings.cases.forms[codec::Divergence::kVdelMismatch] = {codec::DialectId::kDocumented};
  const std::string text = written(given("url: mqtt://host"), findings);
  EXPECT_THAT(text, HasSubstr("\n# profile: auto\n"));
  EXPECT_FALSE(given(text).profile);
}

TEST(ProbeDescriptor, ListsWhatWasSeenOfEachUnspecifiedPoint) {
  const std::string text = written(given("url: mqtt://host"), some_findings());
  EXPECT_THAT(text, HasSubstr("1 of 2 unspecified points were observed"));
  EXPECT_THAT(text, HasSubstr("\n#   OPEN-1\n#     not-there                    open\n"));
}

TEST(ProbeSummary, SaysItInOneLineEach) {
  const std::string text = summary(given("url: mqtt://host"), some_findings());
  EXPECT_THAT(text,
              AllOf(HasSubstr("endpoint       the endpoint: a broker with a state store\n"),
                    HasSubstr("dialect        deployed (set-not-applied deployed)\n"),
                    HasSubstr("packet limit   5000 bytes, announced by the broker\n"),
                    HasSubstr("quota          7 keys were stored, and the next one was refused\n"),
                    HasSubstr("restricted logs in; 1 of 1 cases of its rights passed\n"),
                    HasSubstr("cases run      4 of 4 passed\n"),
                    HasSubstr("missing        restart: name a command"),
                    HasSubstr("  OPEN-1                     not-there\n")));
}

struct QuotaWords {
  QuotaFinding finding;
  std::string words;
};

TEST(ProbeSummary, SaysHowTheQuotaWasFoundOrNot) {
  const QuotaWords kTable[] = {
      {{.stored = 9}, "quota          more than 9 keys\n"},
      {{.stored = 9, .problem = "it broke"}, "quota          not found: after 9 keys it broke\n"},
      {{.stored = 9, .refused = true, .left_behind = 2},
       "quota          9 keys were stored, and the next one was refused; 2 keys may be left "
       "behind\n"},
  };
  for (const QuotaWords& row : kTable) {
    Findings findings = some_findings();
    findings.quota = row.finding;
    EXPECT_THAT(summary(given("url: mqtt://host"), findings), HasSubstr(row.words));
  }
  Findings unasked = some_findings();
  unasked.quota.reset();
  unasked.offered.quota.reset();
  EXPECT_THAT(summary(given("url: mqtt://host"), unasked),
              HasSubstr("not measured; --quota-up-to"));
}

TEST(ProbeSummary, NamesACaseThatFailed) {
  FakeEndpoint endpoint({.behaviour = answering(Verb::kGet, "+what\r\n")});
  const Findings findings = found(endpoint);
  EXPECT_THAT(summary(given("url: mqtt://host"), findings),
              HasSubstr("cases run      1 of 2 passed; first failure: open: the reply is not"));
}

}  // namespace
}  // namespace fencepost::target
