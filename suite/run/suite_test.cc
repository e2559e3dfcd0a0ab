#include "suite/run/suite.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/run/capability.h"
#include "suite/scenario/library.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::DialectId;
using codec::Divergence;
using codec::Verb;
using endpoint::Disconnected;
using endpoint::ErrorKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr const char* kGet = "- get: k\n  expect: missing\n";

std::vector<const scenario::Case*> pointers(const std::vector<scenario::Case>& cases) {
  std::vector<const scenario::Case*> out;
  for (const scenario::Case& test_case : cases) out.push_back(&test_case);
  return out;
}

const Progress kIgnored = [](const CaseResult&, std::size_t, std::size_t) {};
const std::atomic<bool> kNeverStop{false};

SuiteResult run(endpoint::Endpoint& endpoint, const std::vector<scenario::Case>& cases,
                const SuiteOptions& options = {.settings = settings()},
                const Progress& progress = kIgnored) {
  return run_suite(endpoint, pointers(cases), catalogue(), options, kNeverStop, progress);
}

SuiteResult run(Behaviour behaviour, const std::vector<scenario::Case>& cases,
                const SuiteOptions& options = {.settings = settings()}) {
  FakeEndpoint endpoint({.behaviour = std::move(behaviour)});
  return run(endpoint, cases, options);
}

// `id verdict`, one entry per case.
std::vector<std::string> verdicts(const SuiteResult& result) {
  std::vector<std::string> out;
  for (const CaseResult& entry : result.cases) {
    out.push_back(entry.test_case->id + " " + std::string(name(entry.verdict)));
  }
  return out;
}

std::string counts(const Summary& summary) {
  return fmt::format("{} passed, {} failed, {} warnings, {} skipped, {} inconclusive, {} not run",
                     summary.passed, summary.failed, summary.warnings, summary.skipped,
                     summary.inconclusive, summary.not_run);
}

// --- selection ---------------------------------------------------------------------------------

const std::vector<scenario::Case>& library() {
  static const std::vector<scenario::Case> cases = [] {
    std::vector<scenario::Case> out;
    out.push_back(case_of({.id = "set.nx.one", .more = "tags: [fast, nx]", .steps = kGet}));
    out.push_back(case_of({.id = "set.px.one", .more = "tags: [slow]", .steps = kGet}));
    out.push_back(case_of({.id = "get.one", .requirements = "R-MUST-2", .steps = kGet}));
    out.push_back(
        case_of({.id = "get.two", .requirements = "R-SHOULD-1, R-MUST-1", .steps = kGet}));
    return out;
  }();
  return cases;
}

struct Wanted {
  std::vector<std::string> run{};
  std::vector<std::string> skip{};
  std::vector<std::string> tags{};
  std::vector<std::string> requirements{};
  std::size_t shard = 1;
  std::size_t shards = 1;
};

std::vector<std::string> selected(const Wanted& wanted,
                                  const std::vector<scenario::Case>& cases = library()) {
  const Selection selection{wanted.run,          wanted.skip,  wanted.tags,
                            wanted.requirements, wanted.shard, wanted.shards};
  std::vector<std::string> out;
  for (const scenario::Case* test_case : select(cases, selection)) out.push_back(test_case->id);
  return out;
}

TEST(SuiteSelection, TakesEverythingInOrderWhenNothingIsSaid) {
  EXPECT_THAT(selected({}), ElementsAre("set.nx.one", "set.px.one", "get.one", "get.two"));
}

TEST(SuiteSelection, MatchesWholeIdsByGlob) {
  EXPECT_THAT(selected({.run = {"set.*"}}), ElementsAre("set.nx.one", "set.px.one"));
  EXPECT_THAT(selected({.run = {"get.one"}}), ElementsAre("get.one"));
  EXPECT_THAT(selected({.run = {"get"}}), IsEmpty());
  EXPECT_THAT(selected({.run = {"*.one", "get.*"}}), SizeIs(4));
  EXPECT_THAT(selected({.run = {"*.NX.*"}}), IsEmpty());
  EXPECT_THAT(selected({.skip = {"*.one"}}), ElementsAre("get.two"));
  EXPECT_THAT(selected({.run = {"get.*"}, .skip = {"get.one"}}), ElementsAre("get.two"));
  EXPECT_THAT(selected({.skip = {"set.*", "get.*"}}), IsEmpty());
}

TEST(SuiteSelection, TakesAnyTagAndAnyRequirementButAllKindsOfFilter) {
  EXPECT_THAT(selected({.tags = {"nx", "slow"}}), ElementsAre("set.nx.one", "set.px.one"));
  EXPECT_THAT(selected({.tags = {"fas"}}), IsEmpty());
  EXPECT_THAT(selected({.requirements = {"R-SHOULD-1"}}), ElementsAre("get.two"));
  EXPECT_THAT(selected({.requirements = {"R-MUST-2"}}),
              ElementsAre("set.nx.one", "set.px.one", "get.one"));
  EXPECT_THAT(selected({.tags = {"slow"}, .requirements = {"R-SHOULD-1"}}), IsEmpty());
  EXPECT_THAT(selected({.run = {"set.*"}, .skip = {"*.px.*"}, .tags = {"slow", "fast"}}),
              ElementsAre("set.nx.one"));
}

TEST(SuiteSelection, CutsIntoShardsThatAreDisjointAndComplete) {
  std::vector<scenario::Case> cases(500);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].id = "case." + std::to_string(i);
  for (const std::size_t shards : {1U, 2U, 3U, 7U}) {
    std::multiset<std::string> seen;
    for (std::size_t shard = 1; shard <= shards; ++shard) {
      const auto part = selected({.shard = shard, .shards = shards}, cases);
      EXPECT_GT(part.size(), cases.size() / shards / 2);  // no shard has next to nothing
      seen.insert(part.begin(), part.end());
    }
    EXPECT_EQ(seen.size(), cases.size());
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), cases.size());
  }
}

TEST(SuiteSelection, PutsACaseIntoTheSameShardWhateverElseThereIs) {
  const std::vector<scenario::Case> alone = {case_of({.id = "get.one", .steps = kGet})};
  for (std::size_t shard = 1; shard <= 4; ++shard) {
    const Wanted part{.run = {"get.one"}, .shard = shard, .shards = 4};
    EXPECT_EQ(selected(part, alone), selected(part));
  }
}

// --- verdicts ----------------------------------------------------------------------------------

TEST(SuiteVerdict, CountsEachCaseOnce) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.id = "good", .steps = kGet}));
  cases.push_back(case_of({.id = "bad", .steps = "- get: k\n  expect: {reply: {value: \"v\"}}\n"}));
  cases.push_back(case_of({.id = "warns",
                           .requirements = "R-SHOULD-1",
                           .steps = "- get: k\n  expect: {reply: {value: \"v\"}}\n"}));
  cases.push_back(case_of({.id = "late", .steps = R"(
- get: {key: j, mark: t}
- get: k
  expect: {reply: missing, before: t + 0ms}
)"}));
  cases.push_back(case_of({.id = "skipped", .more = "requires: [quota]", .steps = kGet}));
  const SuiteResult result = run(reference_store(), cases);
  EXPECT_THAT(verdicts(result), ElementsAre("good passed", "bad failed", "warns failed",
                                            "late inconclusive", "skipped skipped"));
  EXPECT_EQ(counts(result.summary),
            "1 passed, 1 failed, 1 warnings, 1 skipped, 1 inconclusive, 0 not run");
}

SuiteResult failing(const std::string& requirements, bool strict, const std::string& cites = "") {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.requirements = requirements,
                           .steps = "- get: k\n  expect: {reply: {value: \"v\"}" +
                                    (cites.empty() ? "" : ", cites: " + cites) + "}\n"}));
  return run(reference_store(), cases, {.settings = settings(), .strict = strict});
}

TEST(SuiteVerdict, WarnsOfAFailedRecommendationUnlessStrict) {
  EXPECT_EQ(failing("R-SHOULD-1", false).summary.warnings, 1U);
  EXPECT_EQ(exit_code(failing("R-SHOULD-1", false)), ExitCode::kConformant);
  EXPECT_EQ(failing("R-SHOULD-1", true).summary.failed, 1U);
  EXPECT_EQ(exit_code(failing("R-SHOULD-1", true)), ExitCode::kFailed);
  EXPECT_EQ(exit_code(failing("R-MUST-1", false)), ExitCode::kFailed);
}

TEST(SuiteVerdict, GoesByTheRequirementThatFailed) {
  EXPECT_EQ(failing("R-SHOULD-1, R-MUST-1", false).summary.warnings, 1U);
  EXPECT_EQ(failing("R-SHOULD-1, R-MUST-1", false, "R-MUST-1").summary.failed, 1U);
  EXPECT_EQ(failing("R-MUST-1, R-SHOULD-1", false, "R-SHOULD-1").summary.warnings, 1U);
}

TEST(SuiteVerdict, NamesTheCapabilityThatASkippedCaseLacks) {
  const std::vector<std::pair<std::string, std::string>> kTable = {
      {"transport", "transport: "},
      {"quota", "quota: "},
      {"restricted-client", "restricted-client: "},
      {"packet-limit", "packet-limit: "},
      {"restart", "restart: "},
      {"quota, transport", "quota: "}};
  for (const auto& [names, message] : kTable) {
    FakeEndpoint endpoint({.behaviour = reference_store(), .capabilities = {.transport = false}});
    std::vector<scenario::Case> cases;
    cases.push_back(case_of({.more = "requires: [" + names + "]", .steps = kGet}));
    const SuiteResult result = run(endpoint, cases);
    EXPECT_EQ(result.cases[0].verdict, Verdict::kSkipped);
    EXPECT_THAT(result.cases[0].failure.message, StartsWith(message));
    EXPECT_THAT(endpoint.published(), IsEmpty());
  }
  FakeEndpoint able({.behaviour = reference_store(),
                     .capabilities = {.transport = true,
                                      .quota = 5,
                                      .roles = {"restricted"},
                                      .max_packet_size = kMaxPacket,
                                      .disturbances = {"restart"}}});
  std::vector<scenario::Case> cases;
  cases.push_back(
      case_of({.more = "requires: [transport, quota, restricted-client, packet-limit, restart]",
               .steps = kGet}));
  EXPECT_THAT(verdicts(run(able, cases)), ElementsAre("t.case passed"));
}

TEST(SuiteVerdict, SkipsACaseForWhichAKnownQuotaHasNoRoom) {
  const scenario::Case test_case =
      case_of({.steps = "- write_many: {key: k, keys: 64, cites: R-MUST-1}"});
  endpoint::Capabilities offered{.quota = 50};
  EXPECT_EQ(missing_capability(test_case, offered),
            "many-keys: the case writes 64 keys, and the endpoint has room for 50");
  offered.has_isolated_broker = true;
  EXPECT_EQ(missing_capability(test_case, offered), "");
  EXPECT_EQ(missing_capability(test_case, {.quota = 64}), "");
}

TEST(SuiteVerdict, SkipsPacketsThatAreTooLargeToBeSent) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.more = "requires: [packet-limit]", .steps = kGet}));
  FakeEndpoint endpoint(
      {.behaviour = reference_store(), .capabilities = {.max_packet_size = kMaxPacket + 1}});
  EXPECT_THAT(verdicts(run(endpoint, cases)), ElementsAre("t.case skipped"));
}

TEST(SuiteVerdict, KnowsWhatWasFoundOutOfAnEndpoint) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.id = "p", .more = "requires: [packet-limit]", .steps = kGet}));
  cases.push_back(case_of({.id = "q", .more = "requires: [quota]", .steps = kGet}));
  FakeEndpoint endpoint({.behaviour = reference_store(), .capabilities = {.quota = 5}});
  EXPECT_THAT(verdicts(run(endpoint, cases)), ElementsAre("p skipped", "q passed"));
  const SuiteOptions found{.settings = settings(),
                           .offered = endpoint::Capabilities{.max_packet_size = 5'000}};
  EXPECT_THAT(verdicts(run(endpoint, cases, found)), ElementsAre("p passed", "q skipped"));
}

TEST(Capabilities, EachSaysWhatItIsAndHowToProvideIt) {
  for (const Capability& row : all_capabilities()) {
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_FALSE(row.provide.empty()) << row.name;
  }
}

// --- order and concurrency ---------------------------------------------------------------------

TEST(SuiteOrder, StartsTheLongestFirstAndReportsInTheOrderOfTheFiles) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.id = "none", .steps = kGet}));
  cases.push_back(case_of({.id = "two", .steps = std::string(kGet) + "- wait: 1s\n- wait: 1s\n"}));
  cases.push_back(case_of({.id = "three", .steps = std::string(kGet) + "- wait: 3s\n"}));
  cases.push_back(case_of({.id = "also-none", .steps = kGet}));
  FakeEndpoint endpoint({.behaviour = reference_store()});
  std::vector<std::string> finished;
  const SuiteResult result = run(endpoint, cases, {.settings = settings()},
                                 [&](const CaseResult& entry, std::size_t done, std::size_t total) {
                                   finished.push_back(entry.test_case->id);
                                   EXPECT_EQ(done, finished.size());
                                   EXPECT_EQ(total, 4U);
                                 });
  EXPECT_THAT(finished, ElementsAre("three", "two", "none", "also-none"));
  EXPECT_THAT(verdicts(result),
              ElementsAre("none passed", "two passed", "three passed", "also-none passed"));
  EXPECT_EQ(result.longest_wait, 3s);
  EXPECT_THAT(result.round_trips, SizeIs(4));
}

TEST(SuiteOrder, FollowsTheSeedWhereItIsShuffled) {
  std::vector<scenario::Case> cases;
  for (int i = 0; i < 20; ++i) {
    cases.push_back(case_of({.id = "c" + std::to_string(i), .steps = kGet}));
  }
  const auto order_of = [&](std::uint64_t seed, bool shuffled) {
    FakeEndpoint endpoint({.behaviour = reference_store()});
    SuiteOptions options{.settings = settings(), .shuffled = shuffled};
    options.settings.seed = seed;
    std::vector<std::string> order;
    const SuiteResult result =
        run(endpoint, cases, options, [&](const CaseResult& entry, std::size_t, std::size_t) {
          order.push_back(entry.test_case->id);
        });
    EXPECT_EQ(result.cases.front().test_case->id, "c0");
    return order;
  };
  EXPECT_EQ(order_of(1, true), order_of(1, true));
  EXPECT_NE(order_of(1, true), order_of(2, true));
  EXPECT_NE(order_of(1, true), order_of(1, false));
  EXPECT_THAT(order_of(1, true), testing::UnorderedElementsAreArray(order_of(1, false)));
}

// Lets the first `count` requests begin before any of them continues.
class Gate {
 public:
  explicit Gate(int count) : waiting_for_(count) {}
  void pass() {
    std::unique_lock lock(mutex_);
    if (--waiting_for_ <= 0) all_here_.notify_all();
    met_ = all_here_.wait_for(lock, 300s, [this] { return waiting_for_ <= 0; }) && met_;
  }
  [[nodiscard]] bool met() const { return met_; }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int waiting_for_;
  bool met_ = true;
};

TEST(SuiteConcurrency, RunsAsManyCasesInParallelAsRequested) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"a", "b", "c"}) cases.push_back(case_of({.id = id, .steps = kGet}));
  Gate gate(3);
  const SuiteResult result = run(
      [&](const Published& request) {
        gate.pass();
        return Effects{reply(request, "$-1\r\n")};
      },
      cases, {.settings = settings(), .jobs = 3});
  EXPECT_TRUE(gate.met());
  EXPECT_EQ(result.summary.passed, 3U);
}

// A third of many quick cases runs before the rest, one at a time. Where more than one may run, the
// first waits for another, however late a busy machine begins that one.
TEST(SuiteConcurrency, RunsAPartOfManyCasesOneAtATime) {
  const auto most_at_once = [](std::size_t count, bool shuffled,
                               std::chrono::milliseconds patience) {
    std::vector<scenario::Case> cases;
    for (std::size_t i = 0; i < count; ++i) {
      cases.push_back(case_of({.id = fmt::format("c{}", i), .steps = kGet}));
    }
    std::mutex mutex;
    std::condition_variable changed;
    int begun = 0;
    int now = 0;
    int most = 0;
    const SuiteResult result = run(
        [&](const Published& request) {
          {
            std::unique_lock lock(mutex);
            if (++begun <= 30) {
              most = std::max(most, ++now);
              changed.notify_all();
              changed.wait_for(lock, patience, [&] { return most > 1; });
              --now;
            }
          }
          return Effects{reply(request, "$-1\r\n")};
        },
        cases, {.settings = settings(), .jobs = 4, .shuffled = shuffled, .one_at_a_time = 1h});
    EXPECT_EQ(result.summary.passed, count);
    return most;
  };
  EXPECT_EQ(most_at_once(100, false, 1ms), 1);
  EXPECT_GT(most_at_once(99, false, 300s), 1);
  EXPECT_GT(most_at_once(100, true, 300s), 1);
}

TEST(SuiteConcurrency, RunsNoMoreCasesThanAllowed) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"a", "b", "c", "d"}) {
    cases.push_back(case_of({.id = id, .steps = "- wait: 1ms\n- get: k\n  expect: missing\n"}));
  }
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  FakeEndpoint endpoint(
      {.behaviour = always("$-1\r\n"), .on_open = [&]() -> std::optional<endpoint::Error> {
         const int now = ++running;
         if (now > most) most = now;
         std::this_thread::yield();
         --running;
         return std::nullopt;
       }});
  const SuiteResult result =
      run(endpoint, cases, {.settings = settings(), .jobs = 4, .running = 1});
  EXPECT_EQ(result.summary.passed, 4U);
  EXPECT_EQ(most, 1);
}

TEST(SuiteConcurrency, RunsAnExclusiveCaseWhileNoOtherDoes) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"x1", "a", "x2", "b", "c"}) {
    const std::string more = id.front() == 'x' ? "exclusive: true" : "";
    cases.push_back(case_of({.id = id, .more = more, .steps = kGet}));
  }
  std::mutex mutex;
  int running = 0;
  std::vector<int> at_once;  // when each session was opened, itself included
  std::vector<std::string> finished;
  Gate gate(3);  // those that are not exclusive
  FakeEndpoint endpoint({.behaviour =
                             [&](const Published& request) {
                               gate.pass();
                               return Effects{reply(request, "$-1\r\n")};
                             },
                         .on_open = [&]() -> std::optional<endpoint::Error> {
                           const std::lock_guard lock(mutex);
                           at_once.push_back(++running);
                           return std::nullopt;
                         }});
  const SuiteResult result = run(endpoint, cases, {.settings = settings(), .jobs = 4},
                                 [&](const CaseResult& entry, std::size_t, std::size_t) {
                                   const std::lock_guard lock(mutex);
                                   --running;
                                   finished.push_back(entry.test_case->id);
                                 });
  EXPECT_EQ(result.summary.passed, 5U);
  EXPECT_THAT(at_once, ElementsAre(1, 2, 3, 1, 1));
  ASSERT_THAT(finished, SizeIs(5));
  EXPECT_THAT(std::vector<std::string>(finished.begin() + 3, finished.end()),
              ElementsAre("x1", "x2"));
  EXPECT_TRUE(gate.met());
}

// Two connections with one client id would end each other. (MQTT 5, 3.1.4)
TEST(SuiteConcurrency, RunsCasesOfARoleWithOneClientIdOneAfterTheOther) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"r1", "a", "r2", "r3"}) {
    const std::string role = id.front() == 'r' ? "role: restricted" : "";
    cases.push_back(case_of({.id = id, .more = "clients: {a: {" + role + "}}", .steps = kGet}));
  }
  std::mutex mutex;
  int running = 0;
  int most = 0;
  FakeEndpoint endpoint({.behaviour = reference_store(), .on_open = [&] {
                           const std::lock_guard lock(mutex);
                           most = std::max(most, ++running);
                           return std::optional<endpoint::Error>();
                         }});
  RunSettings given = settings();
  given.client_ids["restricted"] = "Sensor-1";
  std::vector<std::string> finished;
  const SuiteResult result = run(endpoint, cases, {.settings = given, .jobs = 4},
                                 [&](const CaseResult& entry, std::size_t, std::size_t) {
                                   const std::lock_guard lock(mutex);
                                   --running;
                                   finished.push_back(entry.test_case->id);
                                 });
  EXPECT_EQ(result.summary.passed, 4U);
  EXPECT_EQ(most, 1);
  EXPECT_THAT(finished, ElementsAre("a", "r1", "r2", "r3"));
}

TEST(SuiteConcurrency, RunsACaseThatFillsAQuotaOfItsOwnBesideTheOthers) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.id = "a", .steps = kGet}));
  cases.push_back(
      case_of({.id = "q", .more = "exclusive: true\nrequires: [quota]", .steps = kGet}));
  cases.push_back(case_of({.id = "b", .steps = kGet}));
  for (const bool isolated : {true, false}) {
    Gate gate(isolated ? 2 : 1);
    FakeEndpoint endpoint({.behaviour =
                               [&](const Published& request) {
                                 gate.pass();
                                 return Effects{reply(request, "$-1\r\n")};
                               },
                           .capabilities = {.quota = 5, .has_isolated_broker = isolated}});
    std::mutex mutex;
    std::vector<std::string> finished;
    const SuiteResult result =
        run(endpoint, cases, {.settings = settings(), .jobs = isolated ? 2U : 1U},
            [&](const CaseResult& entry, std::size_t, std::size_t) {
              const std::lock_guard lock(mutex);
              finished.push_back(entry.test_case->id);
            });
    EXPECT_EQ(result.summary.passed, 3U);
    EXPECT_TRUE(gate.met());
    if (!isolated) {
      EXPECT_THAT(finished, ElementsAre("a", "b", "q"));
    }
  }
}

TEST(SuiteConcurrency, RunsOneCaseAtATimeWhereverItsStoreIs) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.id = "a", .steps = kGet}));
  cases.push_back(
      case_of({.id = "q", .more = "exclusive: true\nrequires: [quota]", .steps = kGet}));
  FakeEndpoint endpoint(
      {.behaviour = reference_store(), .capabilities = {.quota = 5, .has_isolated_broker = true}});
  std::vector<std::string> finished;
  run(endpoint, cases, {.settings = settings(), .jobs = 1},
      [&](const CaseResult& entry, std::size_t, std::size_t) {
        finished.push_back(entry.test_case->id);
      });
  EXPECT_THAT(finished, ElementsAre("q", "a"));
}

// On an endpoint with a small store for them, cases that go to its limits take turns.
TEST(SuiteConcurrency, NeverRunsTwoCasesAtOnceThatGoToLimits) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"p1", "p2", "p3"}) {
    cases.push_back(case_of({.id = id, .more = "requires: [packet-limit]", .steps = kGet}));
  }
  for (const bool isolated : {true, false}) {
    std::mutex mutex;
    int now = 0;
    int most = 0;
    Gate gate(isolated ? 1 : 3);
    FakeEndpoint endpoint(
        {.behaviour =
             [&](const Published& request) {
               {
                 const std::lock_guard lock(mutex);
                 most = std::max(most, ++now);
               }
               gate.pass();
               const std::lock_guard lock(mutex);
               --now;
               return Effects{reply(request, "$-1\r\n")};
             },
         .capabilities = {.has_isolated_broker = isolated, .max_packet_size = 5'000}});
    EXPECT_EQ(run(endpoint, cases, {.settings = settings(), .jobs = 3}).summary.passed, 3U);
    EXPECT_EQ(most == 1, isolated);
  }
}

// --- an endpoint that goes away ----------------------------------------------------------------

TEST(SuiteLoss, StopsWhenTheEndpointIsGoneAndKeepsWhatWasFinished) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"a", "b", "c", "d"}) {
    cases.push_back(case_of({.id = id, .steps = kGet}));
  }
  int requests = 0;
  FakeEndpoint endpoint({.behaviour = [&](const Published& request) -> Effects {
                           if (++requests == 2) return {{Disconnected{}}};
                           return {reply(request, "$-1\r\n")};
                         },
                         .on_reach =
                             [] {
                               return endpoint::Error{ErrorKind::kUnreachable, "gone"};
                             }});
  const SuiteResult result = run(endpoint, cases);
  EXPECT_THAT(verdicts(result), ElementsAre("a passed", "b lost", "c not-run", "d not-run"));
  EXPECT_EQ(counts(result.summary),
            "1 passed, 0 failed, 0 warnings, 0 skipped, 0 inconclusive, 3 not run");
  EXPECT_TRUE(result.endpoint_lost);
  EXPECT_EQ(result.lost_message, "the connection of client a ended unexpectedly; now: gone");
  EXPECT_EQ(exit_code(result), ExitCode::kUnreachable);
}

TEST(SuiteLoss, FailsACaseWhoseClientALivingEndpointThrowsOut) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"a", "b", "c"}) cases.push_back(case_of({.id = id, .steps = kGet}));
  int requests = 0;
  const SuiteResult result = run(
      [&](const Published& request) -> Effects {
        if (++requests == 2) return {{Disconnected{0x82}}};
        return {reply(request, "$-1\r\n")};
      },
      cases);
  EXPECT_THAT(verdicts(result), ElementsAre("a passed", "b failed", "c passed"));
  EXPECT_EQ(result.cases[1].failure.requirement, "R-MUST-1");
  EXPECT_EQ(result.cases[1].failure.expected, "a connection that lasts as long as the case");
  EXPECT_EQ(result.cases[1].failure.actual, "DISCONNECT with reason code 0x82");
  EXPECT_FALSE(result.endpoint_lost);
  EXPECT_EQ(exit_code(result), ExitCode::kFailed);
}

// Req: MQTT 5, 3.1.4. A broker may have a limit of connections, or be busy.
TEST(SuiteLoss, FailsNothingWhenTheBrokerRefusesAConnection) {
  const auto result_of = [](int reason, bool for_all, ErrorKind kind = ErrorKind::kUnreachable) {
    FakeEndpoint endpoint(
        {.behaviour = reference_store(),
         .on_connect = [=](const auto& options) -> std::optional<endpoint::Error> {
           if (!for_all && options.client_id.find("-alive-") != std::string::npos) return {};
           return endpoint::Error{kind, "refused", reason};
         }});
    std::vector<scenario::Case> cases;
    cases.push_back(case_of({.steps = kGet}));
    SuiteResult result = run(endpoint, cases);
    const Failure& failure = result.cases[0].failure;
    return fmt::format("{} {} '{}' {}", name(result.cases[0].verdict), failure.requirement,
                       failure.message, static_cast<int>(exit_code(result)));
  };
  for (const int enough : {0x89, 0x97, 0x9f}) {
    EXPECT_THAT(result_of(enough, true), StartsWith("inconclusive  'refused: run fewer cases"));
  }
  EXPECT_THAT(result_of(0x85, true, ErrorKind::kNotAllowed),
              StartsWith("inconclusive  'refused: allow client ids of more than 23 bytes"));
  EXPECT_EQ(result_of(0x88, false), "inconclusive  'refused' 4");
  EXPECT_EQ(result_of(0x88, true), "lost  'refused' 3");
  EXPECT_EQ(result_of(0x84, false), "failed R-MUST-1 'refused' 1");
}

// That the suite cannot open a session says nothing about the store.
TEST(SuiteLoss, DecidesNothingWhenNoSessionCanBeOpenedAtALivingEndpoint) {
  std::vector<scenario::Case> cases;
  cases.push_back(case_of({.steps = kGet}));
  FakeEndpoint endpoint({.behaviour = reference_store(), .on_open = [] {
                           return endpoint::Error{ErrorKind::kInternal, "no thread"};
                         }});
  const SuiteResult result = run(endpoint, cases);
  EXPECT_THAT(verdicts(result), ElementsAre("t.case inconclusive"));
  EXPECT_EQ(result.cases[0].failure.message, "no thread");
  EXPECT_EQ(result.cases[0].failure.position.file, "t.yaml");
}

TEST(SuiteStop, BeginsNoFurtherCaseAndSaysSo) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"a", "b", "c"}) cases.push_back(case_of({.id = id, .steps = kGet}));
  FakeEndpoint endpoint({.behaviour = reference_store()});
  std::atomic<bool> stop{false};
  const SuiteResult result =
      run_suite(endpoint, pointers(cases), catalogue(), {.settings = settings()}, stop,
                [&](const auto&, auto, auto) { stop = true; });
  EXPECT_THAT(verdicts(result), ElementsAre("a passed", "b not-run", "c not-run"));
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.summary.not_run, 2U);
  EXPECT_EQ(exit_code(result), ExitCode::kInterrupted);
}

struct Ending {
  Summary summary{};
  bool lost = false;
  bool interrupted = false;
  bool nothing_selected = false;
};

int exit_of(const Ending& ending) {
  static const scenario::Case kCase = case_of({.steps = kGet});
  SuiteResult result;
  if (!ending.nothing_selected) result.cases.push_back({.test_case = &kCase});
  result.summary = ending.summary;
  result.endpoint_lost = ending.lost;
  result.interrupted = ending.interrupted;
  return static_cast<int>(exit_code(result));
}

TEST(SuiteExit, FollowsTheOrderOfPrecedence) {
  const Summary failed{.failed = 1, .inconclusive = 1, .not_run = 1};
  const Summary undecided{.inconclusive = 1};
  EXPECT_EQ(exit_of({.summary = {.passed = 1}}), 0);
  EXPECT_EQ(exit_of({.summary = {.warnings = 1}}), 0);
  EXPECT_EQ(exit_of({.summary = failed}), 1);
  EXPECT_EQ(exit_of({.summary = failed, .lost = true, .interrupted = true}), 1);
  EXPECT_EQ(exit_of({.summary = undecided}), 4);
  EXPECT_EQ(exit_of({.summary = undecided, .lost = true}), 3);
  EXPECT_EQ(exit_of({.lost = true, .nothing_selected = true}), 3);
  EXPECT_EQ(exit_of({.nothing_selected = true}), 5);
  EXPECT_EQ(exit_of({.summary = undecided, .interrupted = true}), 130);
}

TEST(SuiteExit, IsNeverConformantWhenACaseWasNotRun) {
  EXPECT_NE(exit_of({.summary = {.passed = 5, .not_run = 1}}), 0);
}

// --- dialects ----------------------------------------------------------------------------------

std::vector<scenario::Case> refusals(int count) {
  std::vector<scenario::Case> cases;
  for (int i = 0; i < count; ++i) {
    cases.push_back(case_of({.id = "nx-" + std::to_string(i),
                             .more = "divergence: [set-not-applied]",
                             .steps = "- set: {key: k, value: \"v\", options: [NX]}\n"
                                      "  expect: not-applied\n"}));
  }
  return cases;
}

TEST(SuiteDialect, FailsOneCaseOfAnEndpointThatMixesForms) {
  const std::vector<scenario::Case> cases = refusals(4);  // the results point to them
  int sets = 0;
  const SuiteResult result = run(
      [&](const Published& request) {
        if (verb_of(request) == Verb::kSet) ++sets;
        return Effects{reply(request, sets % 2 == 0 ? "-1\r\n" : ":-1\r\n")};
      },
      cases);
  EXPECT_EQ(result.summary.passed, 3U);
  EXPECT_EQ(result.summary.failed, 1U);
  EXPECT_EQ(observed_dialect(result), "mixed");
  const CaseResult& first = result.cases[0];
  EXPECT_EQ(first.failure.requirement, "RESP-INVALID-1");
  EXPECT_EQ(first.failure.message, "the endpoint mixes both forms of set-not-applied");
  EXPECT_EQ(first.failure.step, 0U);
  EXPECT_EQ(first.failure.position.line, first.test_case->position.line);
}

// Callers that change verdicts summarize again.
TEST(SuiteDialect, FailsOneCaseHoweverOftenItIsSummarized) {
  const std::vector<scenario::Case> cases = refusals(3);
  int sets = 0;
  SuiteResult result = run(
      [&](const Published& request) {
        if (verb_of(request) == Verb::kSet) ++sets;
        return Effects{reply(request, sets % 2 == 0 ? "-1\r\n" : ":-1\r\n")};
      },
      cases);
  summarize(result, catalogue(), false);
  EXPECT_THAT(verdicts(result), ElementsAre("nx-0 failed", "nx-1 passed", "nx-2 passed"));
  result.cases[0].verdict = Verdict::kExpectedFailure;  // as a baseline says
  summarize(result, catalogue(), false);
  EXPECT_THAT(verdicts(result), ElementsAre("nx-0 expected-failure", "nx-1 passed", "nx-2 passed"));
  EXPECT_EQ(exit_code(result), ExitCode::kConformant);
}

TEST(SuiteDialect, WithdrawsTheFailureWhenTheFormsAreNotMixed) {
  const std::vector<scenario::Case> cases = refusals(2);
  SuiteResult result = run(always(":-1\r\n"), cases);
  const CaseResult right = result.cases[0];
  ASSERT_EQ(outcome_text(right), "passed");
  result.cases[0].forms = {{codec::Divergence::kSetNotApplied, DialectId::kDocumented}};
  summarize(result, catalogue(), false);
  EXPECT_EQ(result.cases[0].verdict, Verdict::kFailed);
  result.cases[0].forms = right.forms;
  summarize(result, catalogue(), false);
  EXPECT_EQ(outcome_text(result.cases[0]), "passed");
  EXPECT_EQ(result.cases[0].failure.message, "");
  EXPECT_EQ(result.cases[0].failure.requirement, "");
}

TEST(SuiteDialect, TellsWhichOneItSaw) {
  const auto seen = [](const std::string& payload) { return run(always(payload), refusals(2)); };
  EXPECT_EQ(observed_dialect(seen("-1\r\n")), "documented");
  EXPECT_EQ(observed_dialect(seen(":-1\r\n")), "deployed");
  EXPECT_EQ(observed_dialect(seen("+OK\r\n")), "unknown");
  EXPECT_EQ(seen(":-1\r\n").summary.passed, 2U);
  EXPECT_THAT(seen("-1\r\n").forms,
              ElementsAre(Pair(Divergence::kSetNotApplied, ElementsAre(DialectId::kDocumented))));
}

TEST(SuiteDialect, CallsDifferentDialectsInDifferentPlacesMixedAndFailsNothing) {
  std::vector<scenario::Case> cases = refusals(1);
  cases.push_back(case_of({.id = "vdel",
                           .more = "divergence: [vdel-mismatch]",
                           .steps = "- vdel: {key: k, value: \"v\"}\n  expect: not-applied\n"}));
  const SuiteResult result = run(
      [](const Published& request) {
        return Effects{reply(request, verb_of(request) == Verb::kVdel ? "-1\r\n" : ":-1\r\n")};
      },
      cases);
  EXPECT_EQ(result.summary.passed, 2U);
  EXPECT_EQ(observed_dialect(result), "mixed");
}

// --- which rules apply ---------------------------------------------------------------------------

// Rules of both kinds, by ids that root causes are attributed to.
const scenario::Catalogue& rules_of_both() {
  static const scenario::Catalogue rules = [] {
    std::vector<scenario::LoadError> errors;
    const std::string end = "binds: store, section: S, observe: o, text: A rule., ";
    return scenario::Catalogue::load({"requirements.yaml",
                                      "requirements:\n"
                                      "- {id: R-MUST-1, level: must, " +
                                          end +
                                          "documents: [ga, preview], source: article}\n"
                                          "- {id: VER-MISS-1, level: must, " +
                                          end + "documents: [], source: deployed}\n"},
                                     errors);
  }();
  return rules;
}

// A store that answers a refused SET like this, and a GET of a missing key with a version.
Behaviour with_version_of_a_miss(const std::string& not_applied) {
  return [not_applied](const Published& request) {
    const bool get = verb_of(request) == Verb::kGet;
    Effect answer = reply(request, get ? "$-1\r\n" : not_applied);
    if (get) {
      std::get<endpoint::MessageReceived>(answer.what)
          .message.user_properties.emplace_back("__ts", "001700000000000:00000:S");
    }
    return Effects{answer};
  };
}

std::vector<scenario::Case> miss_and_refusal(const std::string& more_steps = "") {
  std::vector<scenario::Case> cases = refusals(1);
  cases.push_back(
      case_of({.id = "miss",
               .requirements = "R-MUST-1",
               .steps = "- get: k\n  expect: {reply: missing, ts: absent}\n" + more_steps}));
  return cases;
}

SuiteResult run_by(codec::Profile profile, const std::string& not_applied,
                   const std::vector<scenario::Case>& cases) {
  FakeEndpoint endpoint({.behaviour = with_version_of_a_miss(not_applied)});
  return run_suite(endpoint, pointers(cases), rules_of_both(), {.settings = settings(profile)},
                   kNeverStop, kIgnored);
}

TEST(SuiteBinding, FailsByTheRuleOfTheDeployedServiceWhereThatIsJudgedBy) {
  const std::vector<scenario::Case> cases = miss_and_refusal();
  const SuiteResult result = run_by(codec::Profile::kDeployed, ":-1\r\n", cases);
  EXPECT_THAT(verdicts(result), ElementsAre("nx-0 passed", "miss failed"));
  EXPECT_EQ(result.cases[1].failure.requirement, "VER-MISS-1");
  EXPECT_FALSE(result.cases[1].waived);
  EXPECT_EQ(exit_code(result), ExitCode::kFailed);
}

TEST(SuiteBinding, WarnsByItWhereTheArticleAloneIsJudgedBy) {
  const std::vector<scenario::Case> cases = miss_and_refusal();
  const SuiteResult result = run_by(codec::Profile::kDocumented, "-1\r\n", cases);
  EXPECT_EQ(counts(result.summary),
            "1 passed, 0 failed, 1 warnings, 0 skipped, 0 inconclusive, 0 not run");
  EXPECT_EQ(result.cases[1].failure.requirement, "VER-MISS-1");
  EXPECT_TRUE(result.cases[1].waived);
  EXPECT_EQ(result.cases[1].failure.step, 1U);
  EXPECT_EQ(exit_code(result), ExitCode::kConformant);
}

// A warning hides no failure: the case continues.
TEST(SuiteBinding, FailsByWhatComesLaterAndBinds) {
  const std::vector<scenario::Case> cases =
      miss_and_refusal("- get: k\n  expect: {reply: {value: \"v\"}}\n");
  const SuiteResult result = run_by(codec::Profile::kDocumented, "-1\r\n", cases);
  EXPECT_THAT(verdicts(result), ElementsAre("nx-0 passed", "miss failed"));
  EXPECT_EQ(result.cases[1].failure.requirement, "R-MUST-1");
  EXPECT_EQ(result.cases[1].failure.step, 2U);
  EXPECT_EQ(result.summary.failed, 1U);
}

TEST(SuiteBinding, FollowsWhatTheStoreTurnsOutToBe) {
  const std::vector<scenario::Case> cases = miss_and_refusal();
  const SuiteResult documented = run_by(codec::Profile::kAuto, "-1\r\n", cases);
  EXPECT_EQ(documented.basis.dialect, DialectId::kDocumented);
  EXPECT_EQ(documented.summary.warnings, 1U);
  const SuiteResult deployed = run_by(codec::Profile::kAuto, ":-1\r\n", cases);
  EXPECT_EQ(deployed.basis.dialect, DialectId::kDeployed);
  EXPECT_EQ(deployed.summary.failed, 1U);
}

// In the deployed dialect the deviation that came first is the failure, as if the case had ended
// there.
TEST(SuiteBinding, FailsTheFirstDifferenceThatApplies) {
  const std::vector<scenario::Case> cases =
      miss_and_refusal("- get: k\n  expect: {reply: {value: \"v\"}}\n");
  const SuiteResult result = run_by(codec::Profile::kAuto, ":-1\r\n", cases);
  EXPECT_EQ(result.cases[1].failure.requirement, "VER-MISS-1");
  EXPECT_EQ(result.cases[1].failure.step, 1U);
  EXPECT_EQ(result.cases[1].failure.position.line, kFirstStepLine);
}

TEST(SuiteReport, CollectsUnspecifiedPointsOfAllCases) {
  std::vector<scenario::Case> cases;
  for (const std::string id : {"one", "two"}) {
    cases.push_back(case_of({.id = id, .requirements = "R-MAY-1", .steps = R"(
- get: k
  expect: {reply: {open: {nothing: missing, everything: {value: "v"}}}}
- del: k
  expect: {reply: {count: 0}}
)"}));
  }
  int gets = 0;
  const SuiteResult result = run(
      [&](const Published& request) {
        if (verb_of(request) != Verb::kGet) return Effects{reply(request, ":0\r\n")};
        return Effects{reply(request, ++gets == 1 ? "$-1\r\n" : "$1\r\nv\r\n")};
      },
      cases);
  EXPECT_THAT(result.unspecified_points,
              ElementsAre(Pair("R-MAY-1", ElementsAre("everything", "nothing"))));
}

TEST(SuitePercentile, IsTheValueBelowWhichSoManyLie) {
  std::vector<endpoint::Duration> hundred;
  for (int i = 1; i <= 100; ++i) hundred.emplace_back(i);
  EXPECT_EQ(percentile({}, 50), 0us);
  EXPECT_EQ(percentile({7us}, 0), 7us);
  EXPECT_EQ(percentile({7us}, 99), 7us);
  EXPECT_EQ(percentile({1us, 2us}, 50), 2us);
  EXPECT_EQ(percentile(hundred, 0), 1us);
  EXPECT_EQ(percentile(hundred, 50), 51us);
  EXPECT_EQ(percentile(hundred, 99), 100us);
  EXPECT_EQ(percentile(hundred, 100), 100us);
}

}  // namespace
}  // namespace fencepost::run
