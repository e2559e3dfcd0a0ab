#include "suite/run/client_pool.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/run/case_runner.h"
#include "suite/run/request_client.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using testing::ElementsAre;
using testing::IsEmpty;

// Runs cases one after the other in one session, with one pool.
class ClientReuse : public testing::Test {
 protected:
  void serve(Behaviour behaviour) {
    endpoint_ = std::make_unique<FakeEndpoint>(Script{.behaviour = std::move(behaviour)});
    auto session = endpoint_->open_session();
    FENCEPOST_CHECK(session.has_value());
    session_ = std::move(*session);
  }

  std::string run(const std::string& steps, const std::string& more = {}) {
    RunSettings with_pool = settings();
    with_pool.pool = &pool_;
    const std::string id = "t.case" + std::to_string(++cases_);
    last_ = run_case(case_of({.id = id, .more = more, .steps = steps}), *session_, with_pool);
    return outcome_text(last_);
  }

  // The client ids of the connections that were made, in turn.
  [[nodiscard]] std::vector<std::string> connected() const {
    std::vector<std::string> out;
    for (const auto& options : endpoint_->connected()) out.push_back(options.client_id);
    return out;
  }

  [[nodiscard]] bool noted(const std::string& summary) const {
    return std::any_of(last_.transcript.begin(), last_.transcript.end(),
                       [&](const TranscriptEntry& entry) { return entry.summary == summary; });
  }

 private:
  std::unique_ptr<FakeEndpoint> endpoint_;
  std::unique_ptr<endpoint::Session> session_;
  ClientPool pool_{"run", 4};  // after its session, whose clients it keeps
  CaseResult last_;
  int cases_ = 0;
};

const std::string kSet = "- {set: {key: k, value: v}, expect: ok}\n";
const std::string kGet = "- {get: k, expect: missing}\n";
const std::string kObserver = "clients: {b: {}}\n";

TEST_F(ClientReuse, ServesTheNextCaseAndRemovesTheKeys) {
  serve(reference_store());
  EXPECT_EQ(run(kSet), "passed");
  EXPECT_EQ(run(kGet + kSet), "passed");
  EXPECT_TRUE(noted("continues as fp-run-00000001-0"));
  EXPECT_THAT(connected(), ElementsAre("fp-run-00000001-0"));
}

TEST_F(ClientReuse, LeavesAloneWhatSomebodyIsRegisteredOn) {
  serve(reference_store());
  const std::string observed = "- {keynotify: {key: k, client: b}, expect: ok}\n";
  EXPECT_EQ(run(observed, kObserver), "passed");
  EXPECT_EQ(run(observed, kObserver), "passed");
  EXPECT_THAT(connected(), ElementsAre("fp-run-00000001-0", "fp-run-00000002-0"));
}

TEST_F(ClientReuse, LeavesAloneWhatAFailedCaseHasUsed) {
  serve(reference_store());
  EXPECT_THAT(run("- {set: {key: k, value: v}, expect: missing}\n"), testing::StartsWith("failed"));
  EXPECT_EQ(run(kGet), "passed");
  // The second is the cleaner of the first case.
  EXPECT_THAT(connected(), ElementsAre("fp-run-00000001-0", "fp-run-00000002-0"));
}

TEST_F(ClientReuse, LeavesAloneCasesThatAreAboutConnections) {
  serve(reference_store());
  EXPECT_EQ(run(kGet), "passed");
  EXPECT_EQ(run("- {disconnect: a}\n" + kGet), "passed");
  const std::vector<std::string> ids = connected();
  ASSERT_GE(ids.size(), 2U);
  EXPECT_EQ(ids[0], "fp-run-00000001-0");
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_THAT(ids[i], testing::EndsWith("-a"));
  EXPECT_EQ(run(kGet, "clients: {a: {receive_maximum: 1}}\nrequires: [transport]\n"), "passed");
  EXPECT_FALSE(noted("continues as fp-run-00000001-0"));
  EXPECT_EQ(run("- {get: {key: k, client: plant/line}, expect: missing}\n",
                "clients: {plant/line: {}}\n"),
            "passed");
  EXPECT_FALSE(noted("continues as fp-run-00000001-0"));
}

// Each request is answered a second time, a moment after the case has ended.
TEST_F(ClientReuse, TakesNothingOnWhichSomethingHasComeSince) {
  serve(changed(reference_store(), [](const Published& /*request*/, Effects& effects) {
    Effect again = effects.front();
    again.after = Duration{1'000'000};
    effects.push_back(std::move(again));
  }));
  EXPECT_EQ(run(kGet), "passed");
  EXPECT_EQ(run("- {wait: 2s}\n" + kGet), "passed");
  EXPECT_THAT(connected(), ElementsAre("fp-run-00000001-0", "fp-run-00000002-0"));
}

// The same, and it comes while the next case uses the connection.
TEST_F(ClientReuse, FailsNoCaseForWhatAnEarlierOneHasCaused) {
  serve(changed(reference_store(), [](const Published& request, Effects& effects) {
    if (verb_of(request) != codec::Verb::kDel) return;
    Effect again = effects.front();
    again.after = Duration{10};
    effects.push_back(std::move(again));
  }));
  EXPECT_EQ(run("- {del: k, expect: {reply: {count: 0}}}\n"), "passed");
  EXPECT_EQ(run(kGet + kGet), "passed");
  EXPECT_TRUE(noted("this belongs to a request from before this case"));
  EXPECT_THAT(connected(), ElementsAre("fp-run-00000001-0"));
}

// A store may send it late. (Req: NTF-ORDER-OPEN-2)
TEST_F(ClientReuse, LeavesOutWhatAnEarlierOneHasObserved) {
  // Both keys are notified of when another is read.
  FakeEndpoint endpoint(Script{
      .behaviour = changed(reference_store(), [](const Published& request, Effects& effects) {
        if (verb_of(request) != codec::Verb::kGet) return;
        for (const std::string key : {"k", "l"}) {
          effects.push_back(effects.front());
          auto& message = std::get<endpoint::MessageReceived>(effects.back().what).message;
          message.topic = codec::notification_topic("c", key).value();
        }
      })});
  const auto session = endpoint.open_session();
  ASSERT_TRUE(session);
  auto connection = (*session)->connect({.client_id = "c"});
  ASSERT_TRUE(connection);
  RequestClient first("a", std::move(*connection), "c", (*session)->clock());
  for (const std::string& filter : {first.response_topic(), codec::notification_filter("c")}) {
    ASSERT_TRUE(first.raw().subscribe(filter));
  }
  const auto sent = first.send(first.request({"KEYNOTIFY", "k"}));
  ASSERT_TRUE(sent);
  ASSERT_TRUE(first.await(**sent, std::chrono::seconds(1)));
  EXPECT_FALSE(first.is_clean());
  ASSERT_TRUE(first.end_registrations(std::chrono::seconds(1)));
  EXPECT_TRUE(first.is_clean());

  RequestClient second("b", first.release(), (*session)->clock());
  ASSERT_TRUE(second.send(second.request({"GET", "other"})));
  second.pump_until([&] { return !second.notifications().empty(); }, std::chrono::seconds(1));
  ASSERT_EQ(second.notifications().size(), 1U);
  EXPECT_EQ(second.notifications().front().key, "l");
}

// A connection that has ended while nobody used it.
TEST_F(ClientReuse, TakesNoConnectionThatHasEnded) {
  serve(changed(reference_store(), [](const Published& /*request*/, Effects& effects) {
    effects.push_back({endpoint::Disconnected{}, Duration{1'000'000}});
  }));
  EXPECT_EQ(run(kGet), "passed");
  EXPECT_EQ(run("- {wait: 2s}\n" + kGet), "passed");
  EXPECT_THAT(connected(), ElementsAre("fp-run-00000001-0", "fp-run-00000002-0"));
}

TEST(ClientPool, KeepsNoMoreThanItsLimit) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  auto session = endpoint.open_session();
  ASSERT_TRUE(session);
  ClientPool pool("run", 1);
  for (int i = 0; i < 2; ++i) {
    const std::string id = pool.next_id();
    auto connection = (*session)->connect({.client_id = id});
    ASSERT_TRUE(connection);
    pool.give({}, {std::move(*connection), id});
  }
  EXPECT_FALSE(pool.take({.observes = true}));
  EXPECT_FALSE(pool.take({.role = "restricted"}));
  const auto first = pool.take({});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->client_id, "fp-run-00000001-0");
  EXPECT_FALSE(pool.take({}));
}

}  // namespace
}  // namespace fencepost::run
