#include "concurrency/stress/load.h"

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gate.h"
#include "endpoint/broker_cluster.h"
#include "endpoint/broker_process.h"
#include "endpoint/mqtt.h"
#include "endpoint/test_driver.h"

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using endpoint::NetworkFault;
using testing::IsEmpty;
using testing::Not;

constexpr auto kPatience = 10min;  // a limit for what must happen; nothing waits that long

class Broker {
 public:
  explicit Broker(const std::string& fault = "", std::chrono::milliseconds delay = 0ms) {
    endpoint::BrokerOptions options;
    options.fault = fault;
    options.conditions.response_delay = delay;
    auto started = endpoint::BrokerProcess::start(options);
    EXPECT_TRUE(started) << started.error().text;
    process = std::move(*started);
    endpoint = endpoint::make_mqtt_endpoint({.url = "mqtt://127.0.0.1",
                                             .host = "127.0.0.1",
                                             .port = process->port(),
                                             .driver = endpoint::test_driver()});
  }

  std::unique_ptr<endpoint::BrokerProcess> process;
  std::unique_ptr<endpoint::Endpoint> endpoint;
};

LoadOptions options_of(std::string_view mix, std::uint32_t clients = 8) {
  return {.traffic = {.script = {.mix = find_mix(mix),
                                 .clients = clients,
                                 .seed = 1,
                                 .prefix = "fencepost/load-test/"},
                      .client_prefix = "load-test-",
                      .patience = kPatience},
          .duration = kPatience,
          .max_outage = kPatience};
}

const std::atomic<bool> kNeverStop{false};

using Condition = std::function<bool(const LoadProgress&)>;

// Sends requests until `enough` is true, which takes a slow machine longer.
Result<LoadResult, endpoint::Error> load_until(endpoint::Endpoint& endpoint,
                                               const LoadOptions& options,
                                               const Condition& enough) {
  std::atomic<bool> stop{false};
  return run_load(endpoint, options, stop, [&](const LoadProgress& now) {
    if (enough(now)) stop = true;
  });
}

Condition replies(std::uint64_t count) {
  return [=](const LoadProgress& now) { return now.counts.replies >= count; };
}

std::size_t times(const LoadProgress& progress, NetworkFault fault) {
  const auto found = progress.injected.find(fault);
  return found == progress.injected.end() ? 0 : found->second;
}

TEST(Load, FindsNothingInAConformingStore) {
  Broker broker;
  const auto run = load_until(*broker.endpoint, options_of("everything"), replies(1'000));
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_THAT(run->judged.violations, IsEmpty());
  EXPECT_EQ(run->judged.unknown_keys, 0U);
  EXPECT_EQ(run->judged.operations, run->progress.counts.requests);
  EXPECT_GE(run->progress.counts.replies, 1'000U);
  EXPECT_EQ(run->progress.counts.unknown(), 0U);
  EXPECT_EQ(run->progress.counts.unmatched, 0U);
  EXPECT_EQ(run->lost, "");
}

// What ends while the judge is at work belongs to keys that he may be about to close.
TEST(Load, JudgesKeysOnlyWhenAllOfThemIsThere) {
  Broker broker;
  Mix mix = *find_mix("register");
  mix.renew_after = 40;
  LoadOptions options = options_of("register", 16);
  options.traffic.script.mix = &mix;
  const auto run = load_until(*broker.endpoint, options, replies(2'000));
  ASSERT_TRUE(run) << run.error().text;
  for (const history::KeyVerdict& key : run->judged.violations) {
    ADD_FAILURE() << key.key << ": " << key.verdict.text;
  }
  EXPECT_GT(run->judged.keys_ok, 0U);
}

// One that shows however few requests overlap: under ThreadSanitizer on a busy machine those are
// few.
TEST(Load, CatchesAFaultAndStops) {
  Broker broker("H10");
  LoadOptions options = options_of("register");
  options.limits.settle_from = 200;  // a slow machine has few requests
  const auto run = run_load(*broker.endpoint, options, kNeverStop);
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_THAT(run->judged.violations, Not(IsEmpty()));
  EXPECT_LT(run->asking, kPatience);
}

TEST(Load, AsksAtARate) {
  Broker broker;
  LoadOptions options = options_of("many-keys");
  options.traffic.rate = 200;
  const auto run = load_until(*broker.endpoint, options, replies(100));
  ASSERT_TRUE(run) << run.error().text;
  const auto seconds = std::chrono::duration<double>(run->asking).count();
  EXPECT_LE(static_cast<double>(run->progress.counts.requests), 200 * seconds + 10);
}

TEST(Load, WritesTheHistoryThatItJudges) {
  Broker broker;
  const std::string path = testing::TempDir() + "load_test_" + std::to_string(getpid()) + ".jsonl";
  LoadOptions options = options_of("everything");
  auto writer = HistoryWriter::open(path, options.bounds);
  ASSERT_TRUE(writer);
  options.history = writer->get();
  const auto run = load_until(*broker.endpoint, options, replies(500));
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_EQ(run->error, "");
  history::Checker checker;
  history::HistoryReader reader([&](const history::Event& event) { checker.add(event); });
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ASSERT_TRUE(reader.line(line)) << line;
  reader.finish();
  EXPECT_EQ(checker.added(), run->judged.operations);
  std::size_t keys = 0;
  for (const history::KeyVerdict& key : checker.finish()) {
    EXPECT_EQ(key.verdict.answer, history::Answer::kOk) << key.key;
    ++keys;
  }
  EXPECT_EQ(keys, run->judged.keys_ok);
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

// All keys are deleted in the end, and observers are notified of it. The history has no such
// deletion: the checker would report these as deletions that no client requested.
TEST(Load, WritesNothingOfItsCleaningUp) {
  Broker broker;
  const std::string path = testing::TempDir() + "load_clean_" + std::to_string(getpid()) + ".jsonl";
  LoadOptions options = options_of("observers", 8);
  Plan plan;
  for (std::uint32_t client = 1; client < 8; ++client) {
    plan.push_back({.client = client, .action = history::Action::kObserve, .key = "clean/k"});
  }
  plan.push_back({.client = 0, .action = history::Action::kSet, .key = "clean/k", .value = "v"});
  options.traffic.script.prefix = "clean/";
  options.traffic.plan = &plan;
  auto writer = HistoryWriter::open(path, options.bounds);
  ASSERT_TRUE(writer);
  options.history = writer->get();
  const auto run = load_until(*broker.endpoint, options, replies(plan.size()));
  ASSERT_TRUE(run) << run.error().text;
  std::size_t sets = 0;
  history::HistoryReader reader([&](const history::Event& event) {
    if (const auto* operation = std::get_if<history::Operation>(&event)) {
      sets += operation->action == history::Action::kSet ? 1U : 0U;
    } else if (const auto* notified = std::get_if<history::Notification>(&event)) {
      EXPECT_EQ(notified->operation, codec::Operation::kSet) << "of client " << notified->client;
    }
  });
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ASSERT_TRUE(reader.line(line)) << line;
  reader.finish();
  EXPECT_EQ(sets, 1U);
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

// Never enough: ends what runs the broker once it has answered.
template <typename Running>
Condition kills(std::unique_ptr<Running>& running) {
  return [&running](const LoadProgress& now) {
    if (now.counts.replies > 50) running.reset();
    return false;
  };
}

TEST(Load, ABrokerThatDiesEndsTheRunAndIsNoViolation) {
  Broker broker;
  const auto run = load_until(*broker.endpoint, options_of("everything"), kills(broker.process));
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_EQ(broker.process, nullptr);
  EXPECT_NE(run->lost, "");
  EXPECT_LT(run->asking, kPatience);
  EXPECT_THAT(run->judged.violations, IsEmpty());
}

// A broker whose clients connect through a proxy.
class DisturbedBroker {
 public:
  explicit DisturbedBroker(const std::string& kinds, std::chrono::milliseconds every = 100ms,
                           const std::string& database = "", std::size_t nodes = 1) {
    auto brokers = endpoint::BrokerCluster::start({.database = database}, nodes);
    EXPECT_TRUE(brokers) << brokers.error().text;
    cluster = std::move(*brokers);
    const auto disturb = [this](std::string_view what) { return cluster->disturb(what); };
    auto started = endpoint::NetworkFaults::start({.kinds = *endpoint::parse_network_faults(kinds),
                                                   .every = every,
                                                   .disturb_broker = disturb},
                                                  {"127.0.0.1", cluster->port()});
    EXPECT_TRUE(started);
    network = std::move(*started);
    disturbed = endpoint::make_mqtt_endpoint({.url = "mqtt://127.0.0.1",
                                              .host = "127.0.0.1",
                                              .driver = endpoint::test_driver(),
                                              .proxy_port = network->port()});
  }

  std::unique_ptr<endpoint::BrokerCluster> cluster;
  std::unique_ptr<endpoint::NetworkFaults> network;
  std::unique_ptr<endpoint::Endpoint> disturbed;
};

TEST(Load, FaultsOfTheNetworkAreNoViolation) {
  DisturbedBroker broker("all");
  LoadOptions options = options_of("everything");
  options.network = broker.network.get();
  options.traffic.patience = 5s;  // a message may have been lost
  const auto run = load_until(*broker.disturbed, options, [](const LoadProgress& now) {
    return now.injected.size() > 5 && now.reconnected > 3 && now.counts.lost > 0;
  });
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_THAT(run->judged.violations, IsEmpty());
  EXPECT_THAT(run->deliveries, IsEmpty());
  EXPECT_EQ(run->lost, "");
  EXPECT_LT(run->asking, kPatience);
  EXPECT_EQ(run->doubts.lost, 0) << "the proxy has ended each connection";
}

// A client that is taken over connects again, and what was sent to its id before is not for it.
TEST(Load, ATakeoverIsNoViolation) {
  DisturbedBroker broker("takeover");
  LoadOptions options = options_of("everything");
  options.network = broker.network.get();
  const auto run = load_until(*broker.disturbed, options, [](const LoadProgress& now) {
    return times(now, NetworkFault::kTakeover) > 1 && now.reconnected > 1;
  });
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_THAT(run->judged.violations, IsEmpty());
  EXPECT_THAT(run->deliveries, IsEmpty());
  EXPECT_LT(run->asking, kPatience) << "the broker ends the connections that are taken over";
  EXPECT_EQ(run->doubts.lost, 0) << "a takeover explains each end";
}

// Nothing is lost, with any declaration of the store.
TEST(Load, ABrokerThatStopsForAWhileIsNoViolation) {
  DisturbedBroker broker("stop", 500ms);
  LoadOptions options = options_of("everything");
  options.network = broker.network.get();
  const auto run = load_until(*broker.disturbed, options, [](const LoadProgress& now) {
    return times(now, NetworkFault::kStop) > 1;  // the first is over
  });
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_THAT(run->judged.violations, IsEmpty());
  EXPECT_THAT(run->deliveries, IsEmpty());
  EXPECT_EQ(run->lost, "");
  EXPECT_LT(run->asking, kPatience);
  EXPECT_EQ(run->kept + run->not_kept, 0U) << "the broker has not ended";
  EXPECT_EQ(run->doubts.lost, 0);
}

const bool kIsInGate = all_or_in_gate(false, true);

// Until the broker has ended and come back, and then for the second time ended: or until `kNever`.
enum class Enough : std::uint8_t { kOnceBack, kNever };
LoadResult run_while_killed(const std::string& database, endpoint::Durability declared,
                            NetworkFault kind = NetworkFault::kKill, std::size_t nodes = 1,
                            Enough enough = Enough::kOnceBack) {
  DisturbedBroker broker(std::string(endpoint::kind_of(kind).name), 500ms, database, nodes);
  LoadOptions options = options_of("everything");
  options.network = broker.network.get();
  options.durability = declared;
  const auto run = load_until(*broker.disturbed, options, [&](const LoadProgress& now) {
    return enough == Enough::kOnceBack && times(now, kind) > 1;
  });
  EXPECT_TRUE(run) << run.error().text;
  EXPECT_LT(run->asking, kPatience);
  return *run;
}

TEST(Load, ADurableStoreLosesNothingWhenItsBrokerIsKilled) {
  const std::string database = testing::TempDir() + "fencepost load " + std::to_string(getpid());
  const LoadResult run = run_while_killed(database, endpoint::Durability::kKill);
  for (const std::string end : {"", "-wal"}) std::remove((database + end).c_str());
  EXPECT_THAT(run.judged.violations, IsEmpty());
  EXPECT_THAT(run.deliveries, IsEmpty());
  EXPECT_EQ(run.lost, "");
  EXPECT_GT(run.kept, 0U);
  EXPECT_EQ(run.not_kept, 0U);
  EXPECT_EQ(run.doubts.lost, 0) << "each connection that ended, ended by a kill";
}

// Of nodes with one database, whose names and clocks differ.
TEST(Load, AClusterLosesNothing) {
  if (kIsInGate)
    GTEST_SKIP() << "only in ci/test --full: durability_test.py has it for the program";
  const std::string database = testing::TempDir() + "fencepost nodes " + std::to_string(getpid());
  const LoadResult run =
      run_while_killed(database, endpoint::Durability::kFailover, NetworkFault::kFailover, 3);
  for (const std::string end : {"", "-wal"}) std::remove((database + end).c_str());
  EXPECT_THAT(run.judged.violations, IsEmpty());
  EXPECT_THAT(run.deliveries, IsEmpty());
  EXPECT_EQ(run.not_kept, 0U);
}

TEST(Load, WhatAStoreDoesNotPromiseToKeepIsNoViolation) {
  if (kIsInGate) GTEST_SKIP() << "only in ci/test --full: stress_test.py has it for the program";
  const LoadResult run = run_while_killed("", endpoint::Durability::kNone);
  EXPECT_THAT(run.judged.violations, IsEmpty());
  EXPECT_THAT(run.deliveries, IsEmpty());
  EXPECT_EQ(run.lost, "");
  EXPECT_EQ(run.kept, 0U);
  EXPECT_GT(run.not_kept, 0U);
}

TEST(Load, AStoreThatLosesWhatItPromisesToKeepIsFound) {
  if (kIsInGate) GTEST_SKIP() << "only in ci/test --full: stress_test.py has it for the program";
  const LoadResult run =
      run_while_killed("", endpoint::Durability::kKill, NetworkFault::kKill, 1, Enough::kNever);
  EXPECT_EQ(run.not_kept, 1U);
  ASSERT_THAT(run.deliveries, Not(IsEmpty()));
  EXPECT_EQ(run.deliveries.front().requirement, "LIFE-DURABLE-1");
}

TEST(Load, IsLostWhenNoClientCanConnectAgain) {
  DisturbedBroker broker("reset", 1h);
  LoadOptions options = options_of("everything", 2);
  options.network = broker.network.get();
  options.max_outage = 1s;
  const auto run = load_until(*broker.disturbed, options, kills(broker.cluster));
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_EQ(broker.cluster, nullptr);
  EXPECT_EQ(run->lost, "no client could connect again within 1 s");
  EXPECT_THAT(run->judged.violations, IsEmpty());
}

TEST(Load, RepliesThatComeTooLateAreUnknownAndNoViolation) {
  Broker broker("", 300ms);
  LoadOptions options = options_of("compare-delete");
  options.traffic.patience = 100ms;
  const auto run = load_until(*broker.endpoint, options, [](const LoadProgress& now) {
    return now.counts.timed_out > 0 && now.counts.unmatched > 0;
  });
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_LT(run->asking, kPatience);
  EXPECT_THAT(run->judged.violations, IsEmpty());
}

TEST(Load, EndsWhenCancelled) {
  Broker broker;
  const auto run = load_until(*broker.endpoint, options_of("hot-key"), replies(0));
  ASSERT_TRUE(run) << run.error().text;
  EXPECT_TRUE(run->interrupted);
  EXPECT_LT(run->asking, kPatience);
  EXPECT_EQ(run->judged.operations, run->progress.counts.requests);
}

TEST(Load, LeavesNoKeyBehind) {
  Broker broker;
  const LoadOptions options = options_of("everything");
  const auto run = load_until(*broker.endpoint, options, replies(200));
  ASSERT_TRUE(run) << run.error().text;
  // The same keys again: what was left would be a violation, as keys begin absent.
  const auto again = load_until(*broker.endpoint, options, replies(200));
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_THAT(again->judged.violations, IsEmpty());
}

TEST(Load, SaysWhoCouldNotConnect) {
  auto endpoint = endpoint::make_mqtt_endpoint({.url = "mqtt://127.0.0.1",
                                                .host = "127.0.0.1",
                                                .port = 1,
                                                .driver = endpoint::test_driver()});
  const auto run = run_load(*endpoint, options_of("register"), kNeverStop);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, endpoint::ErrorKind::kUnreachable);
}

}  // namespace
}  // namespace fencepost::stress
