#include "concurrency/stress_session.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::concurrency {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::atomic<bool> kGoesOn{false};
const std::atomic<bool> kStopped{true};

class StressSessionTest : public testing::Test {
 protected:
  StressSessionTest() {
    settings_.descriptor.url = "inproc:";
    settings_.size = {.mix = stress::find_mix("hot-key"), .clients = 16};
    settings_.seed = 6;
    settings_.run_id = "run";
    settings_.duration = 20ms;
    settings_.shrink_time = 1h;  // no result depends on how fast the machine is
    settings_.history = path("history.jsonl");
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  [[nodiscard]] std::string history() const { return *read_whole_file(settings_.history); }

  // Of the store with this fault.
  histories::StressRun run(const std::string& fault) {
    settings_.descriptor.url = "inproc:?fault=" + fault;
    auto out = run_simulated(settings_, kGoesOn, {});
    EXPECT_TRUE(out) << out.error().text;
    return out ? std::move(*out) : histories::StressRun{};
  }

  TemporaryFolder folder_;
  StressSettings settings_;
};

TEST_F(StressSessionTest, AConformingStoreBreaksNoRule) {
  std::size_t said = 0;
  const auto out = run_simulated(settings_, kGoesOn,
                                 [&](std::chrono::milliseconds, double seconds,
                                     const stress::TrafficCounts&, const stress::Judged&) {
                                   EXPECT_GE(seconds, 0);
                                   ++said;
                                 });
  ASSERT_TRUE(out) << out.error().text;
  EXPECT_THAT(out->judged.violations, IsEmpty());
  EXPECT_GT(out->counts.replies, 100U);
  EXPECT_TRUE(out->simulated);
  EXPECT_EQ(out->endpoint, "inproc:");
  EXPECT_EQ(out->error, "");
  EXPECT_FALSE(out->interrupted || out->shrunk || out->enough);
  EXPECT_GT(said, 0U);
  EXPECT_THAT(history(), Not(IsEmpty()));
}

TEST_F(StressSessionTest, OfAFaultTheRequestsThatAreEnoughAreFound) {
  const histories::StressRun out = run("L01");
  ASSERT_THAT(out.judged.violations, Not(IsEmpty()));
  ASSERT_TRUE(out.shrunk);
  EXPECT_GT(out.shrunk->failed, 0U);
  EXPECT_LT(out.shrunk->size.clients, 16U);
  ASSERT_TRUE(out.enough);
  EXPECT_LT(out.enough->plan.size(), 20U);
  EXPECT_LT(out.enough->plan.size(), out.enough->asked);
  EXPECT_THAT(out.enough->plan, Each(Field(&history::Operation::key, out.enough->plan[0].key)));
}

TEST_F(StressSessionTest, IsTheSameForTheSameSettings) {
  settings_.shrink_time = 0ms;
  const histories::StressRun first = run("L01");
  const std::string written = history();
  const histories::StressRun second = run("L01");
  EXPECT_EQ(history(), written);
  ASSERT_THAT(first.judged.violations, Not(IsEmpty()));
  ASSERT_THAT(second.judged.violations, Not(IsEmpty()));
  EXPECT_EQ(second.judged.violations[0].verdict.text, first.judged.violations[0].verdict.text);
  EXPECT_EQ(second.counts.requests, first.counts.requests);
  EXPECT_FALSE(first.shrunk || first.enough);
  settings_.seed = 7;
  (void)run("L01");
  EXPECT_NE(history(), written);
}

TEST_F(StressSessionTest, ThatIsStoppedJudgesWhatThereIsAndLooksForNothingSmaller) {
  settings_.descriptor.url = "inproc:?fault=L01";
  const auto out = run_simulated(settings_, kStopped, {});
  ASSERT_TRUE(out) << out.error().text;
  EXPECT_TRUE(out->interrupted);
  EXPECT_FALSE(out->shrunk || out->enough);
}

TEST_F(StressSessionTest, SaysWhyThereIsNoRun) {
  settings_.history = path("nowhere/history.jsonl");
  auto out = run_simulated(settings_, kGoesOn, {});
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().text, HasSubstr("nowhere"));
  EXPECT_EQ(out.error().code, run::ExitCode::kUsage);
  settings_.descriptor.url = "mqtt://127.0.0.1";
  out = run_simulated(settings_, kGoesOn, {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, run::ExitCode::kUsage);
}

TEST_F(StressSessionTest, WithoutConnectionsThereIsNoRun) {
  target::Target target;
  target.endpoint = std::make_unique<test::FakeEndpoint>(
      test::Script{.on_connect = [](const endpoint::ClientOptions&) {
        return std::optional(endpoint::Error{endpoint::ErrorKind::kNotAllowed, "go away"});
      }});
  auto out = run_over_connections(settings_, target, kGoesOn, {});
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().text, HasSubstr("go away"));
  EXPECT_EQ(out.error().code, run::ExitCode::kUnreachable);
  out = run_over_connections(settings_, target, kStopped, {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, run::ExitCode::kInterrupted);
  settings_.history = path("nowhere/history.jsonl");
  EXPECT_EQ(run_over_connections(settings_, target, kGoesOn, {}).error().code,
            run::ExitCode::kUsage);
}

TEST_F(StressSessionTest, AStoreMayBeLateByWhatTheNetworkTakes) {
  settings_.clock_offset = -5s;
  settings_.on_the_way = 200ms;
  settings_.timeout_scale = 2;
  const stress::LoadOptions out = load_options(settings_, nullptr);
  EXPECT_EQ(out.wall_offset_ms, -5'000);
  EXPECT_EQ(out.bounds.expiry_late, history::Bounds{}.expiry_late + 200ms);
  EXPECT_EQ(out.bounds.notification_late, history::Bounds{}.notification_late + 200ms);
  EXPECT_EQ(out.traffic.patience, 6s);
  EXPECT_TRUE(out.bounds.versions_grow);
  EXPECT_FALSE(out.traffic.ends_are_injected);
  settings_.descriptor.expiry_tolerance = 5s;
  settings_.dialect = codec::DialectId::kDocumented;
  EXPECT_EQ(load_options(settings_, nullptr).bounds.expiry_late, 5'200ms);
  EXPECT_FALSE(load_options(settings_, nullptr).bounds.versions_grow);
}

TEST_F(StressSessionTest, GoesPastAViolationWhereItMay) {
  EXPECT_TRUE(load_options(settings_, nullptr).stop_at_violation);
  settings_.stop_at_violation = false;
  EXPECT_FALSE(load_options(settings_, nullptr).stop_at_violation);
}

TEST_F(StressSessionTest, OneClientHasOneRequestInFlight) {
  EXPECT_GT(load_options(settings_, nullptr).traffic.first_window, 1U);
  settings_.size.clients = 1;
  EXPECT_EQ(load_options(settings_, nullptr).traffic.first_window,
            stress::TrafficOptions{}.first_window);
}

}  // namespace
}  // namespace fencepost::concurrency
