// JUnit reports: what readers of such files rely on. The text of a whole one is in report_test.cc,
// and tests/junit_sarif_test.py gives real ones and those made here to other people's parsers.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pugixml.hpp>

#include "report/report.h"
#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

struct Junit {
  explicit Junit(const Sample& run, const ReportContext& context = sample_context())
      : text(to_junit(run.result, test::catalogue(), context)) {
    const auto outcome = document.load_buffer(text.data(), text.size());
    EXPECT_TRUE(outcome) << outcome.description();
  }

  // The test of a case.
  [[nodiscard]] pugi::xml_node test(const std::string& id) const {
    return document.select_node(("//testcase[@name='" + id + "']").c_str()).node();
  }
  [[nodiscard]] pugi::xml_node root() const { return document.child("testsuites"); }
  // The property of the test of a case; "none" where it has no such property.
  [[nodiscard]] std::string property(const std::string& id, const std::string& name) const {
    const std::string path = fmt::format("//property[@name='{}: {}']/@value", id, name);
    const auto found = document.select_node(path.c_str());
    return found ? found.attribute().value() : "none";
  }
  [[nodiscard]] std::string output() const {
    std::string out;
    for (const pugi::xml_node suite : root().children()) out += suite.child_value("system-out");
    return out;
  }

  std::string text;
  pugi::xml_document document;
};

std::string attribute(pugi::xml_node node, const char* name) {
  return node.attribute(name).as_string("none");
}

// The names of a node's children, in order.
std::vector<std::string> children(pugi::xml_node node) {
  std::vector<std::string> out;
  for (const pugi::xml_node child : node.children()) out.emplace_back(child.name());
  return out;
}

// The names of a node's attributes, in order.
std::vector<std::string> attributes(pugi::xml_node node) {
  std::vector<std::string> out;
  for (const pugi::xml_attribute entry : node.attributes()) out.emplace_back(entry.name());
  return out;
}

TEST(Junit, SkipsAnExpectedFailureAndSaysWhy) {
  const Junit report(with_baseline());
  EXPECT_THAT(report.text, HasSubstr("<skipped message=\"KF: NEX not honoured, ACME-12\" />"));
  EXPECT_THAT(children(report.test("known")), ElementsAre("skipped"));
}

TEST(Junit, FailsAnUnexpectedPassOfAnyLevel) {
  const Sample run = with_baseline();
  EXPECT_EQ(run.result.summary.failed, 1U);  // the requirement is a "should"
  const Junit report(run);
  const pugi::xml_node failure = report.test("outdated").child("failure");
  EXPECT_EQ(attribute(failure, "type"), "unexpected-pass");
  EXPECT_EQ(attribute(failure, "message"), "the case passes, but the baseline expects it to fail");
  EXPECT_THAT(failure.text().as_string(), HasSubstr("baseline: SCAN absent, ACME-40\n"));
}

TEST(Junit, HasATestForEachErrorOfTheBaseline) {
  const Junit report(with_baseline());
  const pugi::xml_node suite =
      report.root().find_child_by_attribute("testsuite", "name", "baseline");
  EXPECT_EQ(attribute(suite, "tests"), "1");
  EXPECT_EQ(attribute(suite, "failures"), "1");
  const pugi::xml_node failure = suite.child("testcase").child("failure");
  EXPECT_EQ(attribute(failure, "type"), "baseline");
  EXPECT_EQ(attribute(failure, "message"), "known.yaml:4: the entry gone.* matches no case");
}

TEST(Junit, HasItsAttributesInTheirUsualOrder) {
  const Junit report(every_verdict());
  EXPECT_THAT(attributes(report.root()), testing::IsEmpty());
  std::size_t number = 0;
  for (const pugi::xml_node suite : report.root().children()) {
    EXPECT_THAT(attributes(suite), ElementsAre("name", "tests", "failures", "errors", "skipped",
                                               "time", "timestamp", "hostname", "package", "id"));
    EXPECT_EQ(attribute(suite, "id"), std::to_string(number++));
    EXPECT_EQ(attribute(suite, "timestamp"), "2026-01-01T00:00:00");
    EXPECT_EQ(children(suite).front(), "properties");
    EXPECT_EQ(children(suite).back(), "system-err");
    for (const pugi::xml_node test : suite.children("testcase")) {
      EXPECT_THAT(attributes(test), ElementsAre("name", "classname", "time"));
    }
  }
  EXPECT_EQ(number, 2U);
  EXPECT_THAT(children(report.test("bad")), ElementsAre("failure"));
}

TEST(Junit, NamesTheHostThatWasCertified) {
  for (const auto& [endpoint, host] : std::vector<std::pair<std::string, std::string>>{
           {"mqtts://ann:***@[fe80::2]:8883", "fe80::2"},
           {"mqtt://broker.example:1883", "broker.example"},
           {"embedded", "localhost"},
           {every_byte(), "localhost"}}) {
    ReportContext context = sample_context();
    context.endpoint = endpoint;
    const Junit report(every_verdict(), context);
    EXPECT_EQ(attribute(report.root().child("testsuite"), "hostname"), host);
  }
}

TEST(Junit, GivesTheFileOfASuiteOrTheFolderOfItsFiles) {
  const auto file_of = [](const std::vector<std::string>& files) {
    Sample run({{.id = "one"}, {.id = "two"}, {.id = "three"}});
    for (std::size_t i = 0; i < files.size(); ++i) run.cases[i].position.file = files[i];
    const Junit report(run);
    return std::string(
        report.document.select_node("//property[@name='file']/@value").attribute().value());
  };
  EXPECT_EQ(file_of({"s/a.yaml", "s/a.yaml", "s/a.yaml"}), "s/a.yaml");
  EXPECT_EQ(file_of({"s/a.yaml", "s/ab.yaml", "s/a.yaml"}), "s");
  EXPECT_EQ(file_of({"/s/t/a.yaml", "/s/t/b.yaml", "/s/u/c.yaml"}), "/s");
  EXPECT_EQ(file_of({"a.yaml", "b.yaml", "c.yaml"}), ".");
}

TEST(Junit, GivesTwoResultsOfOneCaseTwoNames) {
  Sample run({{.id = "one"}});
  run.result.cases.push_back(run.result.cases.front());
  run.result.cases.push_back(run.result.cases.front());
  const Junit report(run);
  std::vector<std::string> names;
  for (const auto& found : report.document.select_nodes("//testcase")) {
    names.push_back(attribute(found.node(), "name"));
  }
  EXPECT_THAT(names, ElementsAre("one", "one #2", "one #3"));
}

TEST(Junit, HasTheTitleAsAPropertySoThatNamesStay) {
  Sample run({{.id = "one"}});
  run.cases[0].title = "a\nb";
  const Junit report(run);
  EXPECT_EQ(report.property("one", "title"), "a\nb");
}

TEST(Junit, HasAMessageThatTellsOneFailureFromAnother) {
  Sample run({{.id = "one",
               .verdict = run::Verdict::kFailed,
               .message = "the reply is not the expected one",
               .actual = "+OK\\r\\n"}});
  run.result.cases[0].failure.expected = "-1\\r\\n (not applied)";
  EXPECT_EQ(attribute(Junit(run).test("one").child("failure"), "message"),
            "R-MUST-1: expected -1 (not applied), got +OK (step 1); root cause D1");
}

TEST(Junit, SaysWhyARunStopped) {
  ReportContext context = sample_context();
  context.stopped_because = "no broker";
  const Junit report(every_verdict(), context);
  EXPECT_EQ(report.document
                .select_nodes("//testsuite/properties/property[@name='stopped_because' "
                              "and @value='no broker']")
                .size(),
            2U);
}

TEST(Junit, SaysWhatBecameOfACaseBeforeItRanAgain) {
  Sample run = every_verdict();
  run.result.cases[0].first_attempt =
      run::Attempt{.failure = {.message = "no acknowledgement in time"}};
  const Junit report(run);
  EXPECT_EQ(report.property("good", "first_attempt"), "inconclusive: no acknowledgement in time");
  EXPECT_EQ(report.property("bad", "first_attempt"), "none");
}

TEST(Junit, HasTranscriptsOnlyOfWhatSomebodyMustLookAt) {
  Sample run = every_verdict();
  for (run::CaseResult& entry : run.result.cases) {
    entry.transcript = {
        {.client = "a", .direction = run::Direction::kEvent, .summary = "connected"}};
  }
  const Junit report(run);
  std::set<std::string> with_transcript;
  for (const run::CaseResult& entry : run.result.cases) {
    const std::string& id = entry.test_case->id;
    if (report.output().find(id + ": packets\n") != std::string::npos) with_transcript.insert(id);
  }
  EXPECT_THAT(with_transcript, ElementsAre("bad", "late", "warns"));
}

// One test for each case, as tools count them; but one explanation.
TEST(Junit, NamesTheDifferenceInEachFailureAndShowsItOnce) {
  Sample run({{.id = "best", .verdict = run::Verdict::kFailed, .message = "wrong"},
              {.id = "second", .verdict = run::Verdict::kFailed, .message = "wrong"},
              {.id = "on-its-way",
               .verdict = run::Verdict::kFailed,
               .requirements = "R-SHOULD-1",
               .message = "wrong"},
              {.id = "good"}});
  for (run::CaseResult& entry : run.result.cases) {
    if (entry.verdict == run::Verdict::kFailed) entry.failure.requirement = "R-MUST-1";
    entry.transcript = {
        {.client = "a", .direction = run::Direction::kEvent, .summary = "connected"}};
  }
  const Junit report(run);
  int number = 0;
  for (const char* id : {"best", "second", "on-its-way"}) {
    const pugi::xml_node test = report.test(id);
    EXPECT_EQ(attribute(test.child("failure"), "message"),
              fmt::format("R-MUST-1: wrong (step 1); root cause D1, {} of 3 failures", ++number));
    EXPECT_EQ(attribute(test.child("failure"), "type"), "MUST");
    EXPECT_EQ(report.property(id, "difference"), "D1");
    EXPECT_EQ(report.property(id, "explained_by"), "R-MUST-1");
  }
  EXPECT_THAT(report.test("best").child("failure").text().as_string(),
              HasSubstr("\nroot cause D1: 2 others: second, on-its-way\n"));
  EXPECT_THAT(report.test("second").child("failure").text().as_string(),
              HasSubstr("\nroot cause D1: see best, which has the messages\n"));
  EXPECT_THAT(report.test("on-its-way").child("failure").text().as_string(),
              HasSubstr("which has the messages; this case stopped before the step it tests\n"));
  EXPECT_THAT(report.output(), StartsWith("best: packets\n"));
  EXPECT_THAT(report.output(), Not(HasSubstr("second: packets\n")));
  EXPECT_EQ(report.property("good", "difference"), "none");
}

TEST(Junit, StaysBelowTheSizeThatGitLabTakes) {
  constexpr std::size_t kCases = 40;
  std::vector<SampleCase> sample;
  for (std::size_t i = 0; i < kCases; ++i) {
    sample.push_back({.id = fmt::format("c{}", i),
                      .verdict = run::Verdict::kInconclusive,
                      .message = std::string(50'000, '&'),
                      .actual = std::string(50'000, '<')});
  }
  Sample run(sample);
  for (run::CaseResult& entry : run.result.cases) {
    for (int i = 0; i < 900; ++i) {
      entry.transcript.push_back({.client = "a",
                                  .direction = run::Direction::kEvent,
                                  .summary = fmt::format("{} {}", i, std::string(300, '&'))});
    }
  }
  const Junit report(run);
  EXPECT_LT(report.text.size(), 30'000'000U);
  EXPECT_GT(report.text.size(), 19'000'000U);
  const std::string first = report.output();
  EXPECT_THAT(first, StartsWith("c0: packets\n("));
  EXPECT_THAT(first.substr(0, 80), HasSubstr("bytes left out; the JSON report has them)\n"));
  EXPECT_THAT(first, HasSubstr("899 &&"));
  EXPECT_THAT(first, testing::EndsWith(
                         "c39: packets\n(left out to keep this file small; the JSON report has "
                         "it)\n\n"));
  EXPECT_EQ(attribute(report.root().first_child(), "errors"), "40");
}

TEST(Junit, HoldsEveryByte) {
  const Junit report(any_bytes());
  const pugi::xml_node failure = report.test("failed").child("failure");
  std::string shown;
  for (int byte = 0; byte < 0x20; ++byte) {
    shown += byte == '\n' || byte == '\t' ? std::string(1, static_cast<char>(byte))
                                          : fmt::format("\\x{:02x}", byte);
  }
  for (int byte = 0x20; byte < 0x7f; ++byte) shown += static_cast<char>(byte);
  for (int byte = 0x7f; byte < 256; ++byte) shown += fmt::format("\\x{:02x}", byte);
  shown += "]]><!--&amp;<a href=\"x\">'|`*_{0}::error::\xc3\xa9";
  shown += "\\xef\\xbf\\xbe\\xed\\xa0\\x80\\xf0\\x9f";
  EXPECT_THAT(attribute(failure, "message"), StartsWith("R-MUST-1: \\x00\\x01"));
  EXPECT_THAT(attribute(report.test("inconclusive").child("error"), "message"), shown);
  EXPECT_THAT(failure.text().as_string(), HasSubstr("\nactual:   " + shown + "\n"));
  // A packet is a line.
  std::string on_a_line = shown;
  std::replace_if(
      on_a_line.begin(), on_a_line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  EXPECT_THAT(report.output(), HasSubstr(on_a_line));
  EXPECT_EQ(attribute(report.test("expected-failure").child("skipped"), "message"), "KF: " + shown);
}

// What is in them is tested by those who read them: the reports that no real run of today's program
// makes, for tests/junit_sarif_test.py, which names the folder.
TEST(Samples, AreWrittenForOtherParsers) {
  const char* named = std::getenv("FENCEPOST_SAMPLES");  // NOLINT(concurrency-mt-unsafe)
  const std::string folder = named != nullptr ? named : testing::TempDir();
  ReportContext stopped = sample_context(true);
  stopped.stopped_because = every_byte();
  stopped.endpoint = every_byte();
  stopped.command = every_byte();
  const auto write = [&](const std::string& name, const Sample& run, const ReportContext& context) {
    const std::string path = folder + "/fencepost-" + name;
    const scenario::Catalogue catalogue = test::catalogue();
    std::ofstream(path + ".xml") << to_junit(run.result, catalogue, context);
    std::ofstream(path + ".sarif") << to_sarif(run.result, catalogue, context);
    std::ofstream(path + ".badge") << to_badge(run.result, catalogue, context);
    for (const char* kind : {".xml", ".sarif", ".badge"}) {
      EXPECT_GT(std::filesystem::file_size(path + kind), 0U);
      if (named == nullptr) std::filesystem::remove(path + kind);
    }
  };
  write("verdicts", every_verdict(), sample_context());
  write("strict", every_verdict(), sample_context(true));
  write("baseline", with_baseline(), sample_context());
  write("bytes", any_bytes(), stopped);
  write("empty", Sample({}), stopped);
}

}  // namespace
}  // namespace fencepost::report
