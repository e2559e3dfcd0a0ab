#include "conformance/search/live_fuzz.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "conformance/scenario/library.h"
#include "conformance/scenario/scenario_loader.h"
#include "conformance/search/trace_scenario.h"
#include "endpoint/in_process.h"
#include "endpoint/rate_limit.h"
#include "reference_store/faults/fault.h"
#include "reference_store/service.h"
#include "workload/trace_bytes.h"

namespace fencepost::search {
namespace {

const scenario::Catalogue& catalogue() {
  static const scenario::Library library = [] {
    std::vector<scenario::LoadError> errors;
    return load_library(scenario::built_in_files(), errors);
  }();
  return library.catalogue;
}

std::unique_ptr<endpoint::Endpoint> store_with(std::string_view fault_id) {
  const store::Fault* fault = store::find_fault(fault_id);
  EXPECT_NE(fault, nullptr) << fault_id;
  return endpoint::make_in_process_endpoint(
      {.make_store = [fault](const store::ServiceOptions& options) {
        return fault->make(options, 1);
      }});
}

LiveFuzzOptions options_with(std::uint64_t seed) {
  LiveFuzzOptions options;
  options.seed = seed;
  options.suite.jobs = 2;
  options.suite.settings.run_id = "r";
  options.suite.settings.profile = codec::Profile::kDeployed;
  return options;
}

LiveFuzzResult fuzz(endpoint::Endpoint& endpoint, const LiveFuzzOptions& options) {
  const std::atomic<bool> stop{false};
  return run_live_fuzz(endpoint, catalogue(), options, stop, [](const LiveFuzzProgress&) {});
}

run::Verdict verdict_of(const scenario::Case& test_case, endpoint::Endpoint& endpoint) {
  auto session = endpoint.open_session();
  return run::run_case(test_case, **session,
                       {.profile = codec::Profile::kDeployed, .run_id = "again"})
      .verdict;
}

struct Planted {
  std::string_view fault;
  std::size_t steps;  // at most, of the smallest scenario
};

class LiveFuzzFinds : public testing::TestWithParam<Planted> {};

// A time limit that no machine reaches: what ends the run is the difference.
TEST_P(LiveFuzzFinds, AndMakesAScenarioThatOnlyTheWrongStoreFails) {
  const auto wrong = store_with(GetParam().fault);
  LiveFuzzOptions options = options_with(1);
  options.time = std::chrono::hours{1};
  LiveFuzzResult result = fuzz(*wrong, options);
  ASSERT_EQ(result.differences.size(), 1U);
  Difference& difference = result.differences.front();
  EXPECT_EQ(difference.failed, difference.runs);
  EXPECT_LE(size_of(difference.plan).steps, GetParam().steps) << difference.text;
  EXPECT_EQ(exit_code(result), run::ExitCode::kFailed);

  write_as(difference, {.id = "fuzz-live.x", .title = "t", .note = "n"}, "saved.yaml", catalogue());
  std::vector<scenario::LoadError> errors;
  const std::vector<scenario::Case> cases =
      load_scenario({"saved.yaml", difference.text}, catalogue().ids(), errors);
  ASSERT_EQ(cases.size(), 1U) << difference.text;
  EXPECT_EQ(verdict_of(cases.front(), *wrong), run::Verdict::kFailed);
  const auto right = endpoint::make_in_process_endpoint({});
  EXPECT_EQ(verdict_of(cases.front(), *right), run::Verdict::kPassed) << difference.text;
  EXPECT_EQ(difference.result.position.file, "saved.yaml");
}

INSTANTIATE_TEST_SUITE_P(Faults, LiveFuzzFinds,
                         testing::Values(Planted{"S01", 2}, Planted{"S08", 2}, Planted{"X02", 4},
                                         Planted{"X14", 5}, Planted{"D04", 3}, Planted{"H17", 3},
                                         Planted{"F06", 4}, Planted{"F12", 4}, Planted{"N13", 6},
                                         Planted{"C13", 2}),
                         [](const auto& planted) { return std::string(planted.param.fault); });

TEST(LiveFuzz, TheSameSeedSendsTheSame) {
  const LiveOptions options;
  TraceSearch a(7, options, seed_traces());
  TraceSearch b(7, options, seed_traces());
  TraceSearch c(8, options, seed_traces());
  bool differs = false;
  for (int i = 0; i < 1'000; ++i) {
    const std::string plan = workload::encode_trace(a.next().operations());
    ASSERT_EQ(plan, workload::encode_trace(b.next().operations()));
    differs = differs || plan != workload::encode_trace(c.next().operations());
  }
  EXPECT_TRUE(differs);
  EXPECT_GT(a.progress().edges, 300U);
}

// One store for all sessions, as a broker has it.
class SharedStore final : public store::Handler {
 public:
  explicit SharedStore(std::shared_ptr<store::Service> service, std::shared_ptr<std::mutex> mutex)
      : service_(std::move(service)), mutex_(std::move(mutex)) {}

  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<store::Delivery>& out) override {
    const std::lock_guard lock(*mutex_);
    return service_->handle(caller, request, now, out);
  }
  void expire(const store::Instant& now, std::vector<store::Delivery>& out) override {
    const std::lock_guard lock(*mutex_);
    service_->expire(now, out);
  }
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    const std::lock_guard lock(*mutex_);
    return service_->next_expiry();
  }
  void disconnect(std::string_view client_id) override {
    const std::lock_guard lock(*mutex_);
    service_->disconnect(client_id);
  }

 private:
  std::shared_ptr<store::Service> service_;
  std::shared_ptr<std::mutex> mutex_;
};

// One case runs at a time, as each session has a clock of its own, which begins anew.
struct Shared {
  std::shared_ptr<store::Service> service = std::make_shared<store::Service>();
  std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
  std::unique_ptr<endpoint::Endpoint> endpoint =
      endpoint::make_in_process_endpoint({.make_store = [this](const store::ServiceOptions&) {
        return std::make_unique<SharedStore>(service, mutex);
      }});
};

TEST(LiveFuzz, LeavesNoKeysBehind) {
  Shared shared;
  LiveFuzzOptions options = options_with(3);
  options.suite.jobs = 1;
  options.time = std::chrono::milliseconds{300};
  const LiveFuzzResult result = fuzz(*shared.endpoint, options);
  EXPECT_GT(result.passed, 10U);
  EXPECT_EQ(shared.service->key_count(), 0U);
}

TEST(LiveFuzz, LeavesNoKeysBehindWhenInterrupted) {
  Shared shared;
  LiveFuzzOptions options = options_with(4);
  options.suite.jobs = 1;
  options.time = std::chrono::hours{1};
  std::atomic<bool> stop{false};
  const LiveFuzzResult result =
      run_live_fuzz(*shared.endpoint, catalogue(), options, stop,
                    [&](const LiveFuzzProgress& progress) { stop = stop || progress.cases > 30; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(exit_code(result), run::ExitCode::kInterrupted);
  EXPECT_EQ(shared.service->key_count(), 0U);
}

TEST(LiveFuzz, LooksForMoreDifferencesWhenAsked) {
  const auto wrong = store_with("S08");
  LiveFuzzOptions options = options_with(1);
  options.time = std::chrono::milliseconds{1'500};
  options.stop_after = 3;
  const LiveFuzzResult result = fuzz(*wrong, options);
  ASSERT_GE(result.differences.size(), 1U);
  std::set<std::string> texts;
  for (const Difference& difference : result.differences) {
    texts.insert(scenario_text(difference.plan, {.id = "x", .title = "x"}));
  }
  EXPECT_EQ(texts.size(), result.differences.size());
}

TEST(RateLimit, MessagesHaveTheirTurns) {
  const auto endpoint = endpoint::make_in_process_endpoint({});
  const auto limited = endpoint::limit_rate(*endpoint, 500);
  auto session = limited->open_session();
  auto client = (*session)->connect({.client_id = "c"});
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 26; ++i) ASSERT_TRUE((*client)->publish({.topic = "t"}));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds{50});
}

}  // namespace
}  // namespace fencepost::search
