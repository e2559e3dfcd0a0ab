#include "traffic/replay/printer.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "suite/testing/paper.h"
#include "suite/testing/temporary_folder.h"
#include "traffic/replay/saved_fixture.h"

namespace fencepost::replay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string printed(Session& session, const report::ConsoleOptions& style = {},
                    bool only_begin = false) {
  const test::Paper paper;
  report::Console console(paper.file(), style);
  Printer printer(session, paper.file(), style, console);
  if (only_begin) {
    printer.begin();
  } else {
    printer.end();
  }
  return paper.text();
}

Session ran(const std::vector<scenario::SourceFile>& files, test::Behaviour store,
            std::size_t runs = 1) {
  Session out = session_of(files, runs);
  run_at(std::move(store), out);
  return out;
}

TEST(ReplayPrinter, BeginsWithWhatIsAboutToRun) {
  Session session = session_of({{"get.yaml", kGetCase}});
  session.suite.jobs = 4;
  const std::string version = report::suite_version();
  EXPECT_EQ(printed(session, {}, true), "fencepost replay " + version +
                                            "  endpoint fake:  profile auto  1 case in 1 file, 4 "
                                            "in parallel  seed 7\n");
  Session more = session_of({{"get.yaml", kGetCase}, {"nx.yaml", nx_case()}}, 3);
  more.context.edition = scenario::Edition::kGa;
  more.context.profile = codec::Profile::kDeployed;
  EXPECT_THAT(
      printed(more, {}, true),
      EndsWith("profile deployed (ga edition)  2 cases in 2 files, 1 in parallel  seed 7  3 "
               "runs\n"));
  EXPECT_EQ(printed(more, {.quiet = true}, true), "");
}

TEST(ReplayPrinter, SaysThatNothingFails) {
  Session session = ran({{"saved/nx.yaml", nx_case(recorded_at(overwrites()))}}, right());
  EXPECT_EQ(printed(session),
            "\n  ✓ fixed          saved/nx.yaml:4  saved.nx  NX keeps the value\n"
            "\n1 case: 1 fixed\nno case fails\n");
  EXPECT_EQ(printed(session, {.quiet = true}), "\n1 case: 1 fixed\nno case fails\n");
}

TEST(ReplayPrinter, TellsAFailureWithWhatIsRecorded) {
  Session session = ran({{"saved/nx.yaml", nx_case(recorded_at(overwrites()))}}, says_missing());
  const std::string text = printed(session);
  EXPECT_THAT(text, StartsWith("\n  ✗ changed        saved/nx.yaml:4  saved.nx  NX keeps"));
  EXPECT_THAT(text, HasSubstr("  signature '"));
  EXPECT_THAT(text, HasSubstr("  outcome   changed\n  recorded  'SET-NX-2"));
  EXPECT_THAT(text, HasSubstr("fencepost certify --endpoint fake: --scenarios saved/nx.yaml --seed "
                              "7 --run saved.nx"));
  EXPECT_THAT(text, EndsWith("\n1 case: 1 changed\n"));
  EXPECT_THAT(text, Not(HasSubstr("  runs      ")));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(ReplayPrinter, SaysWhenAFailureWasRecorded) {
  Session session = ran({{"nx.yaml", nx_case("    recorded: {by: hand, when: "
                                             "'2026-01-01T00:00:00Z', requirement: SET-NX-2}\n")}},
                        overwrites());
  EXPECT_THAT(printed(session), HasSubstr("  recorded  SET-NX-2 on 2026-01-01T00:00:00Z\n"));
  Session plain = ran({{"nx.yaml", nx_case()}}, overwrites());
  EXPECT_THAT(printed(plain),
              AllOf(HasSubstr("  outcome   fails\n"), Not(HasSubstr("  recorded  "))));
}

TEST(ReplayPrinter, CountsRunsThatAreNotAlike) {
  int requests = 0;
  const test::Behaviour store = [&requests, a = right(), b = overwrites(),
                                 c = says_missing()](const test::Published& request) {
    ++requests;  // two of each run, and one that cleans up
    return requests > 6 ? c(request) : requests > 3 ? b(request) : a(request);
  };
  Session session = ran({{"nx.yaml", nx_case()}}, store, 3);
  const std::string text = printed(session);
  EXPECT_THAT(text, HasSubstr("✗ flaky          nx.yaml:4  saved.nx  failed in 2 of 3 runs\n"));
  EXPECT_THAT(text, HasSubstr("  runs      failed in 2 of 3, with different failures\n"));
}

TEST(ReplayPrinter, SaysWhyACaseDidNotRun) {
  Session skipped =
      ran({{"get.yaml", std::string(kGetCase).replace(std::string(kGetCase).find("    steps"), 0,
                                                      "    requires: [restart]\n")}},
          right());
  EXPECT_THAT(printed(skipped), AllOf(HasSubstr("  - skipped        get.yaml:3  saved.get  "),
                                      HasSubstr("restart"), EndsWith("\n1 case: 1 skipped\n")));
  Session lost = session_of({{"get.yaml", kGetCase}});
  do_not_begin(lost, "no\nbroker", run::ExitCode::kUnreachable);
  EXPECT_EQ(printed(lost),
            "\n  · not run        get.yaml:3  saved.get  no broker\nno broker\n\n1 case: 1 not "
            "run\n");
}

TEST(ReplayPrinter, EndsWithTheVerdict) {
  Session session = ran({{"get.yaml", kGetCase}}, right());
  session.run.load_errors = {"broken.yaml:1:1: no"};
  EXPECT_THAT(
      printed(session),
      EndsWith(
          "\n1 case: 1 passes\nnot all cases were run: some files cannot be loaded, see above\n"));
  session = ran({{"get.yaml", kGetCase}}, right());
  session.run.cases[0].outcome = Replayed::kInconclusive;
  session.run.cases[0].result.verdict = run::Verdict::kInconclusive;
  session.run.cases[0].result.failure.message = "too late";
  EXPECT_THAT(printed(session),
              AllOf(HasSubstr("  ? inconclusive   get.yaml:3  saved.get  too late\n"),
                    HasSubstr("  because   too late\n"), Not(HasSubstr("  outcome  ")),
                    EndsWith("\n1 case: 1 inconclusive\nno failure, but not everything could be "
                             "decided\n")));
}

TEST(ReplayPrinter, TellsWhatWasHealedAndWhatIsMixed) {
  Session session = ran({{"get.yaml", kGetCase}}, right());
  session.run.healed = {"a.yaml:1 a: fixed"};
  session.run.not_healed = {"b.yaml: the file is read-only"};
  session.run.mixed_forms = {"set-not-applied"};
  session.context.stopped_because = "interrupted";
  EXPECT_EQ(printed(session, {.quiet = true}),
            "healed a.yaml:1 a: fixed\nnot healed b.yaml: the file is read-only\n"
            "the endpoint mixes both forms of set-not-applied\ninterrupted\n\n1 case: 1 passes\n");
}

TEST(ReplayPrinter, UsesColoursAndTheLiveLineOnATerminal) {
  Session session = ran({{"get.yaml", kGetCase}}, right());
  EXPECT_THAT(printed(session, {.colour = true, .live = true}),
              AllOf(StartsWith("\r\033[K"), HasSubstr("\033[32m✓\033[0m"),
                    HasSubstr("\033[32mno case fails\033[0m")));
}

TEST(ReplayReports, AreWrittenWhereTheyHaveAName) {
  const test::TemporaryFolder folder;
  const Session session = ran({{"nx.yaml", nx_case()}}, overwrites(), 3);
  EXPECT_TRUE(write_reports(session, {}));
  EXPECT_TRUE(write_reports(session, {{"json", (folder.path() / "out.json").string()},
                                      {"junit", (folder.path() / "out.xml").string()}}));
  EXPECT_EQ(folder.read("out.json"), to_json(session.run, session.context));
  EXPECT_EQ(folder.read("out.xml"), to_junit(session));
  const std::string xml = folder.read("out.xml");
  EXPECT_THAT(xml, AllOf(HasSubstr("tests=\"1\""), HasSubstr("<failure")));
}

TEST(ReplayReports, AreBothTriedWhenOneCannotBeWritten) {
  const test::TemporaryFolder folder;
  const Session session = ran({{"get.yaml", kGetCase}}, right());
  const std::string nowhere = (folder.path() / "no/out.json").string();
  const auto written =
      write_reports(session, {{"json", nowhere}, {"junit", (folder.path() / "out.xml").string()}});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error(), HasSubstr(nowhere));
  EXPECT_THAT(folder.read("out.xml"), HasSubstr("<testsuites"));
}

TEST(ReplayReports, HaveAllThatProgramsNeed) {
  Session session = ran({{"nx.yaml", nx_case(recorded_at(overwrites()))}}, overwrites(), 3);
  const auto json = nlohmann::json::parse(to_json(session.run, session.context));
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["runs"], 3);
  EXPECT_EQ(json["seed"], 7);
  for (const char* list : {"load_errors", "mixed_forms", "healed", "not_healed"}) {
    EXPECT_EQ(json[list], nlohmann::json::array()) << list;
  }
  const auto& one = json["cases"].at(0);
  EXPECT_EQ(one["outcome"], "still failing");
  EXPECT_EQ(one["passed"], 0);
  EXPECT_EQ(one["failed"], 3);
  EXPECT_EQ(one["recorded"]["by"], "hand");
  EXPECT_EQ(one["recorded"]["seed"], 7);
  EXPECT_EQ(one["recorded"]["signature"], one["failure"]["signature"]);
  EXPECT_EQ(one["failure"]["signature"], signature(session.run.cases[0].result.failure));
}

}  // namespace
}  // namespace fencepost::replay
