#include "traffic/replay/session.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/replay/saved_fixture.h"

namespace fencepost::replay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ReplaySession, FollowsTheStore) {
  const std::vector<scenario::SourceFile> files = {
      {"saved/get.yaml", kGetCase}, {"saved/nx.yaml", nx_case(recorded_at(overwrites()))}};
  const struct {
    test::Behaviour store;
    const char* nx;
    run::ExitCode code;
  } kTable[] = {
      {right(), "saved.nx fixed", run::ExitCode::kConformant},
      {overwrites(), "saved.nx still failing", run::ExitCode::kFailed},
      {says_missing(), "saved.nx changed", run::ExitCode::kFailed},
  };
  for (const auto& row : kTable) {
    Session session = session_of(files);
    run_at(row.store, session);
    EXPECT_THAT(outcomes(session), ElementsAre("saved.get passes", row.nx));
    EXPECT_EQ(exit_code(session.run), row.code);
    EXPECT_EQ(session.context.stopped_because, "");
  }
}

TEST(ReplaySession, RunsEachCaseAsOftenAsAsked) {
  Session session = session_of({{"nx.yaml", nx_case()}}, 3);
  run_at(overwrites(), session);
  const Replay& replay = session.run.cases.at(0);
  EXPECT_EQ(replay.runs, 3U);
  EXPECT_EQ(replay.failed, 3U);
  EXPECT_TRUE(replay.always_alike);
}

TEST(ReplaySession, HasFreshKeysAndRandomNumbersInEachRun) {
  Session session = session_of({{"get.yaml", kGetCase}}, 2);
  test::FakeEndpoint endpoint({.behaviour = right()});
  run_rounds(session, endpoint, no_progress, kNeverStop);
  std::size_t first = 0;
  std::size_t second = 0;
  std::set<std::string> random;  // of the seed, which each run has of its own
  for (const test::Published& each : endpoint.published()) {
    if (each.message.payload.find("fencepost/run0/") != std::string::npos) ++first;
    if (each.message.payload.find("fencepost/run1/") != std::string::npos) ++second;
    if (test::verb_of(each) != codec::Verb::kSet) continue;
    random.insert(each.message.correlation_data.value_or(""));
  }
  EXPECT_GT(first, 0U);
  EXPECT_EQ(first, second);
  EXPECT_THAT(random, SizeIs(2));
}

TEST(ReplaySession, RunsCasesOfOneIdInRoundsOfTheirOwn) {
  Session session = session_of({{"a.yaml", nx_case()}, {"b.yaml", nx_case()}}, 2);
  test::FakeEndpoint endpoint({.behaviour = right()});
  std::vector<std::size_t> done;
  const Progress progress = [&](const run::CaseResult&, std::size_t so_far, std::size_t total) {
    done.push_back(so_far);
    EXPECT_EQ(total, 4U);
  };
  run_rounds(session, endpoint, progress, kNeverStop);
  EXPECT_THAT(done, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(outcomes(session), ElementsAre("saved.nx passes", "saved.nx passes"));
  EXPECT_EQ(session.run.cases[0].passed, 2U);
  EXPECT_EQ(session.run.cases[1].passed, 2U);
}

TEST(ReplaySession, NamesTheFormsThatAreMixed) {
  int seen = 0;
  const test::Behaviour store =
      test::wrong_reply(codec::Verb::kSet, [&seen](test::Message& message) {
        if (message.payload == ":-1\r\n" && ++seen == 2) message.payload = "-1\r\n";
      });
  Session session = session_of({{"a.yaml", nx_case()}, {"b.yaml", nx_case()}});
  run_at(store, session);
  EXPECT_THAT(outcomes(session), ElementsAre("saved.nx passes", "saved.nx passes"));
  EXPECT_THAT(session.run.mixed_forms, ElementsAre("set-not-applied"));
  EXPECT_EQ(exit_code(session.run), run::ExitCode::kFailed);
}

// That a rule does not apply to the store which is judged is no failure of it.
TEST(ReplaySession, PassesWhatBreaksNoRuleOfThisStore) {
  std::string text = test::kCatalogueText;
  text.replace(text.find("documents: [ga, preview]"), 24, "documents: [preview]");
  const std::string one =
      "area: t\ncases:\n- {id: t.one, title: A case, requirements: [R-MUST-1], "
      "steps: [{get: k, expect: ok}]}\n";
  for (const scenario::Edition edition : {scenario::Edition::kGa, scenario::Edition::kPreview}) {
    Session session = session_of({{"requirements.yaml", text}, {"one.yaml", one}});
    ASSERT_THAT(session.run.load_errors, IsEmpty());
    session.suite.settings.edition = edition;
    run_at(right(), session);
    EXPECT_THAT(outcomes(session),
                ElementsAre(edition == scenario::Edition::kGa ? "t.one passes" : "t.one fails"));
  }
}

// --- what ends early -----------------------------------------------------------------------------

TEST(ReplaySession, RunsNothingMoreWhenItIsStopped) {
  Session session = session_of({{"get.yaml", kGetCase}}, 3);
  test::FakeEndpoint endpoint({.behaviour = right()});
  std::atomic<bool> stop{false};
  run_rounds(
      session, endpoint, [&](const run::CaseResult&, std::size_t, std::size_t) { stop = true; },
      stop);
  EXPECT_THAT(outcomes(session), ElementsAre("saved.get not run"));
  EXPECT_EQ(session.run.cases[0].passed, 1U);
  EXPECT_EQ(session.run.cases[0].runs, 3U);
  EXPECT_EQ(session.context.stopped_because, "interrupted");
  EXPECT_EQ(exit_code(session.run), run::ExitCode::kInterrupted);
}

TEST(ReplaySession, RunsNothingMoreWhenTheEndpointIsLost) {
  Session session = session_of({{"get.yaml", kGetCase}}, 2);
  bool lost = false;
  test::FakeEndpoint endpoint(
      {.behaviour =
           [&lost](const test::Published&) {
             lost = true;
             return test::Effects{{endpoint::Disconnected{}}};
           },
       .on_reach =
           [&lost] {
             return lost ? std::optional(endpoint::Error{endpoint::ErrorKind::kLost, "it is gone"})
                         : std::nullopt;
           },
       .on_connect =
           [&lost](const endpoint::ClientOptions&) {
             return lost ? std::optional(endpoint::Error{endpoint::ErrorKind::kLost, "it is gone"})
                         : std::nullopt;
           }});
  run_rounds(session, endpoint, no_progress, kNeverStop);
  EXPECT_THAT(endpoint.published(), SizeIs(1));  // the second round sends no request
  EXPECT_THAT(outcomes(session), ElementsAre("saved.get not run"));
  EXPECT_EQ(session.context.stopped_because,
            "the endpoint was lost during the run: " + session.run.lost_message);
  EXPECT_THAT(session.run.lost_message, HasSubstr("it is gone"));
  EXPECT_EQ(exit_code(session.run), run::ExitCode::kUnreachable);
}

TEST(ReplaySession, SaysWhyNothingWasBegun) {
  Session session = session_of({{"get.yaml", kGetCase}, {"nx.yaml", nx_case()}});
  do_not_begin(session, "no broker", run::ExitCode::kUnreachable);
  EXPECT_THAT(outcomes(session), ElementsAre("saved.get not run", "saved.nx not run"));
  EXPECT_EQ(session.run.cases[1].result.failure.message, "no broker");
  EXPECT_EQ(session.run.cases[1].result.failure.position.line,
            session.saved.cases[1].position.line);
  EXPECT_EQ(session.context.stopped_because, "no broker");
  EXPECT_EQ(exit_code(session.run), run::ExitCode::kUnreachable);
}

TEST(ReplaySession, SaysHowCertifyRunsACase) {
  EXPECT_EQ(certify_flags({}, ""), " --strict");
  EXPECT_EQ(certify_flags({.profile = codec::Profile::kDeployed, .edition = scenario::Edition::kGa},
                          "paho"),
            " --profile deployed --edition ga --driver paho --strict");
}

}  // namespace
}  // namespace fencepost::replay
