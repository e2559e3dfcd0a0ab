#include "selftest/matrix/matrix.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/text/text_wrap.h"
#include "concurrency/history/requirements.h"
#include "selftest/matrix/explain.h"
#include "selftest/matrix/matrix_formats.h"
#include "suite/testing/built_in_library.h"

namespace fencepost::matrix {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kSections = R"(sections:
- {title: First, documents: [ga, preview], note: A word on it.,
   headings: {cs: Prvni, es: Primero, it: Primo}}
- {title: Empty, documents: [preview], headings: {it: Vuoto}, note: It states no rule.}
- {title: Second, documents: [ga], headings: {cs: Druhy}}
)";
constexpr const char* kRules = R"(requirements:
- {id: R-MUST-1, level: must, binds: store, text: "The `first` rule.", section: Second,
   documents: [ga], source: article, observe: o,
   dialects: {documented: '-1\r\n', deployed: ':-1\r\n'}}
- {id: R-MUST-2, level: must, binds: store, text: The second | rule <b>., section: First,
   documents: [ga, preview], source: article, observe: o}
- {id: R-SHOULD-1, level: should, binds: store, text: A recommendation., section: First,
   documents: [], source: deployed, observe: o}
- {id: R-CLIENT-1, level: must, binds: client, text: Clients behave., section: First,
   documents: [ga], source: article, untestable: applies to the client}
- {id: R-CLIENT-2, level: must, binds: client, text: Clients speak MQTT., section: First,
   documents: [ga], source: article, untestable: shows in their packets, judged_of_clients: true}
- {id: R-OPEN-1, level: may, binds: store, text: This is not said., section: First,
   documents: [ga, preview], source: article, observe: o, open: true,
   outcomes: [yes-it-is, no-it-is-not]}
)";
constexpr const char* kCases = R"(area: some
cases:
- id: some.one
  title: The first one
  requirements: [R-MUST-1, R-OPEN-1]
  divergence: [set-not-applied]
  steps:
  - set: {key: k, value: "v", options: [NX]}
    expect: not-applied
  - get: k
    expect: {reply: {open: {yes-it-is: missing, no-it-is-not: error}}, cites: R-OPEN-1}
- id: some.two
  title: The second one
  requirements: [R-MUST-2]
  requires: [transport]
  tags: [slow]
  steps:
  - get: k
    expect: missing
)";

scenario::Library library_of(const std::string& requirements, const std::string& cases,
                             std::vector<scenario::LoadError>& errors) {
  return load_library({{"requirements.yaml", requirements}, {"some.yaml", cases}}, errors);
}

const scenario::Library& library() {
  static const scenario::Library loaded = [] {
    std::vector<scenario::LoadError> errors;
    scenario::Library out = library_of(std::string(kSections) + kRules, kCases, errors);
    for (const scenario::LoadError& error : errors) ADD_FAILURE() << describe(error);
    return out;
  }();
  return loaded;
}

std::vector<std::string> ids(const std::vector<const MatrixRow*>& rows) {
  std::vector<std::string> out;
  for (const MatrixRow* row : rows) out.push_back(row->requirement->id);
  return out;
}

const MatrixRow& row_of(const Matrix& matrix, const std::string& id) {
  for (const MatrixRow& row : matrix.rows) {
    if (row.requirement->id == id) return row;
  }
  FENCEPOST_CHECK(false);
  return matrix.rows.front();
}

// --- the matrix

TEST(Matrix, CountsWhatIsCoveredAndWhatCannotBe) {
  const Matrix matrix = make_matrix(library());
  EXPECT_EQ(matrix.totals.requirements, 6U);
  EXPECT_EQ(matrix.totals.testable, 4U);
  EXPECT_EQ(matrix.totals.covered, 3U);
  EXPECT_EQ(matrix.totals.of_clients, 1U);
  EXPECT_EQ(matrix.totals.untestable, 1U);
  EXPECT_EQ(matrix.totals.open, 1U);
  EXPECT_EQ(matrix.totals.cases, 2U);
  EXPECT_EQ(matrix.levels.at(scenario::Level::kMust).testable, 2U);
  EXPECT_EQ(matrix.levels.at(scenario::Level::kMust).cases, 2U);
  EXPECT_EQ(matrix.levels.at(scenario::Level::kShould).covered, 0U);
  EXPECT_THAT(matrix.cases_without_requirement, IsEmpty());
}

TEST(Matrix, NamesTheGaps) {
  const Matrix matrix = make_matrix(library());
  EXPECT_THAT(ids(matrix.gaps()), ElementsAre("R-SHOULD-1"));
  EXPECT_THAT(ids(matrix.gaps(scenario::Level::kMust)), IsEmpty());
  EXPECT_THAT(ids(matrix.gaps(scenario::Level::kShould)), ElementsAre("R-SHOULD-1"));
}

TEST(Matrix, SectionsStandInTheOrderOfTheArticle) {
  const std::vector<MatrixSection> sections = sections_of(make_matrix(library()));
  ASSERT_THAT(sections, SizeIs(3));
  EXPECT_EQ(sections[0].title, "First");
  EXPECT_EQ(sections[0].totals.requirements, 5U);
  EXPECT_EQ(sections[0].totals.cases, 2U);
  EXPECT_EQ(sections[1].title, "Empty");
  EXPECT_THAT(sections[1].rows, IsEmpty());
  EXPECT_EQ(sections[2].title, "Second");
  EXPECT_EQ(sections[2].totals.cases, 1U);
}

TEST(Matrix, SectionsThatTheCatalogueDoesNotListComeLast) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library plain = library_of(kRules, kCases, errors);
  ASSERT_THAT(errors, IsEmpty());
  const std::vector<MatrixSection> sections = sections_of(make_matrix(plain));
  ASSERT_THAT(sections, SizeIs(2));
  EXPECT_EQ(sections[0].title, "Second");
  EXPECT_EQ(sections[0].section, nullptr);
}

TEST(Matrix, AreasKnowWhatTheyCite) {
  const std::vector<MatrixArea> areas = areas_of(make_matrix(library()));
  ASSERT_THAT(areas, SizeIs(1));
  EXPECT_EQ(areas[0].cases, 2U);
  EXPECT_THAT(areas[0].requirements, ElementsAre("R-MUST-1", "R-MUST-2", "R-OPEN-1"));
}

// --- coverage

struct CoverageRow {
  std::string name;
  std::string from;  // a text of the library
  std::string to;    // and what stands in its place
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

TEST(Coverage, TellsErrorsFromWarnings) {
  const std::string should = "R-SHOULD-1 (should) is testable, but no case cites it";
  const std::vector<CoverageRow> rows = {
      {"as it is", "", "", {}, {should}},
      {"a must without a case",
       "requirements: [R-MUST-2]",
       "requirements: [R-MUST-1]",
       {"R-MUST-2 (must) is testable, but no case cites it"},
       {should}},
      {"a may without a case",
       "[R-MUST-1, R-OPEN-1]",
       "[R-MUST-1, R-SHOULD-1]",
       {"R-SHOULD-1 cannot be attributed"},
       {"R-OPEN-1 (may) is testable, but no case cites it"}},
      {"a rule of the store that no failure is attributed to",
       "requirements: [R-MUST-2]",
       "requirements: [R-SHOULD-1, R-MUST-2]",
       {"R-MUST-2 cannot be attributed: it is not the first requirement of any case, and no step "
        "cites it"},
       {}},
      {"an untestable one with a case",
       "requirements: [R-MUST-2]",
       "requirements: [R-MUST-2, R-CLIENT-1]",
       {"R-CLIENT-1 is marked as untestable, but the case some.two cites it"},
       {should}},
  };
  for (const CoverageRow& row : rows) {
    std::string cases = kCases;
    if (!row.from.empty()) cases.replace(cases.find(row.from), row.from.size(), row.to);
    if (row.to == "[R-MUST-1, R-SHOULD-1]") {
      cases.replace(cases.find(", cites: R-OPEN-1"), 17, "");
    }
    std::vector<scenario::LoadError> errors;
    const scenario::Library changed = library_of(kRules, cases, errors);
    ASSERT_THAT(errors, IsEmpty()) << row.name;
    const CoverageProblems problems = check_coverage(make_matrix(changed));
    ASSERT_THAT(problems.errors, SizeIs(row.errors.size())) << row.name;
    ASSERT_THAT(problems.warnings, SizeIs(row.warnings.size())) << row.name;
    for (std::size_t i = 0; i < row.errors.size(); ++i) {
      EXPECT_THAT(describe(problems.errors[i]), StartsWith("requirements.yaml:")) << row.name;
      EXPECT_THAT(problems.errors[i].text, StartsWith(row.errors[i])) << row.name;
    }
    for (std::size_t i = 0; i < row.warnings.size(); ++i) {
      EXPECT_THAT(problems.warnings[i].text, StartsWith(row.warnings[i])) << row.name;
    }
  }
}

TEST(Coverage, OfTheBuiltInLibraryIsComplete) {
  const scenario::Library& built_in = test::built_in_library();
  const CoverageProblems problems = check_coverage(make_matrix(built_in));
  for (const scenario::LoadError& error : problems.errors) ADD_FAILURE() << describe(error);
  for (const scenario::LoadError& warning : problems.warnings) ADD_FAILURE() << describe(warning);
  EXPECT_THAT(built_in.catalogue.sections(), SizeIs(30));
}

// --- the sections of the catalogue

struct SectionRow {
  std::string name;
  std::string from;
  std::string to;
  std::string diagnostic;
};

TEST(CatalogueSections, AreChecked) {
  const std::vector<SectionRow> rows = {
      {"a requirement elsewhere", "section: Second,", "section: Secnd,",
       "R-MUST-1 is in the section \"Secnd\", which is not one of the sections; did you mean "
       "\"Second\"?"},
      {"an empty section without a note", ", note: It states no rule.", "",
       R"(no requirement is in the section "Empty"; add a note that says why)"},
      {"an unknown document of a section", "[preview]", "[beta]", R"(there is no document "beta")"},
      {"an unknown document of a rule", "documents: []", "documents: [draft]",
       R"(there is no document "draft"; there are ga and preview)"},
      {"an unknown key", "title: Empty", "name: Empty", "name"},
  };
  for (const SectionRow& row : rows) {
    std::string text = std::string(kSections) + kRules;
    text.replace(text.find(row.from), row.from.size(), row.to);
    std::vector<scenario::LoadError> errors;
    (void)scenario::Catalogue::load({"requirements.yaml", text}, errors);
    std::string all;
    for (const scenario::LoadError& error : errors) all += describe(error) + "\n";
    EXPECT_THAT(all, HasSubstr(row.diagnostic)) << row.name;
    EXPECT_THAT(all, StartsWith("requirements.yaml:")) << row.name;
  }
}

TEST(CatalogueSections, KeepHeadingsAndNotes) {
  const std::vector<scenario::Section>& sections = library().catalogue.sections();
  EXPECT_THAT(sections[0].headings,
              ElementsAre(Pair("cs", "Prvni"), Pair("es", "Primero"), Pair("it", "Primo")));
  EXPECT_THAT(sections[1].documents, ElementsAre("preview"));
  EXPECT_EQ(sections[1].note, "It states no rule.");
  EXPECT_EQ(sections[1].position.line, 4);
}

// --- a run

std::string report_of(const std::string& cases) {
  return R"({"suite_version": "9", "endpoint": "inproc:", "profile": "auto",
             "dialect_observed": "deployed",
             "started": "2026-01-01T00:00:00Z", "exit_code": 1, "cases": [)" +
         cases + "]}";
}

Matrix with_run(const std::string& cases) {
  Matrix matrix = make_matrix(library());
  auto findings = read_findings(report_of(cases));
  if (findings) {
    add_findings(matrix, std::move(*findings));
  } else {
    ADD_FAILURE() << findings.error();
  }
  return matrix;
}

TEST(MatrixRun, AttributesAFailureToItsRequirement) {
  const Matrix matrix = with_run(R"(
      {"id": "some.one", "verdict": "failed", "message": "no",
       "failure": {"requirement": "R-MUST-1"}},
      {"id": "some.two", "verdict": "passed"})");
  EXPECT_EQ(row_of(matrix, "R-MUST-1").finding->verdict, "failed");
  EXPECT_EQ(row_of(matrix, "R-OPEN-1").finding->verdict, "cut-short");
  EXPECT_EQ(row_of(matrix, "R-MUST-2").finding->verdict, "passed");
  EXPECT_FALSE(row_of(matrix, "R-SHOULD-1").finding);
  EXPECT_EQ(matrix.run->exit_code, 1);
}

TEST(MatrixRun, TakesTheStatesOfTheReport) {
  const std::string text = R"({"cases": [{"id": "some.one", "verdict": "failed",
                                           "failure": {"requirement": "R-MUST-1"}}],
                               "requirements": [{"id": "R-MUST-1", "state": "broken"},
                                                {"id": "R-OPEN-1", "state": "not-shown"}]})";
  Matrix matrix = make_matrix(library());
  add_findings(matrix, read_findings(text).value());
  EXPECT_EQ(row_of(matrix, "R-MUST-1").finding->verdict, "broken");
  EXPECT_EQ(row_of(matrix, "R-OPEN-1").finding->verdict, "not-shown");
  const auto wrong =
      read_findings(R"({"cases": [], "requirements": [{"id": "R-MUST-1", "state": "fine"}]})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error(),
            "the requirement R-MUST-1 has the state \"fine\", which is not a known one");
}

TEST(MatrixRun, AttributesAFailureThatTheCaseDoesNotCite) {
  const Matrix matrix = with_run(
      R"({"id": "some.two", "verdict": "failed", "failure": {"requirement": "R-SHOULD-1"}})");
  EXPECT_EQ(row_of(matrix, "R-SHOULD-1").finding->verdict, "failed");
  EXPECT_EQ(row_of(matrix, "R-MUST-2").finding->verdict, "cut-short");
  EXPECT_EQ(matrix.absent_cases, 1U);
  EXPECT_EQ(matrix.unknown_cases, 0U);
}

TEST(MatrixRun, ReportsWhatWasSeenOfAnUnspecifiedPoint) {
  const Matrix matrix = with_run(
      R"({"id": "some.one", "verdict": "passed",
          "open_points_observed": {"R-OPEN-1": ["yes-it-is"]}},
         {"id": "other", "verdict": "passed"})");
  EXPECT_THAT(row_of(matrix, "R-OPEN-1").finding->observed, ElementsAre("yes-it-is"));
  EXPECT_THAT(row_of(matrix, "R-MUST-1").finding->observed, IsEmpty());
  EXPECT_EQ(matrix.unknown_cases, 1U);
  EXPECT_EQ(matrix.absent_cases, 1U);
}

// Both cases cite one requirement, with these verdicts.
std::string verdict_of_two(const std::string& one, const std::string& two) {
  std::string cases = kCases;
  cases.replace(cases.find("[R-MUST-2]"), 10, "[R-MUST-1]");
  std::vector<scenario::LoadError> errors;
  const scenario::Library both = library_of(kRules, cases, errors);
  FENCEPOST_CHECK(errors.empty());
  Matrix matrix = make_matrix(both);
  auto findings = read_findings(report_of(R"({"id": "some.one", "verdict": ")" + one +
                                          R"("}, {"id": "some.two", "verdict": ")" + two + "\"}"));
  FENCEPOST_CHECK(findings.has_value());
  add_findings(matrix, std::move(*findings));
  return row_of(matrix, "R-MUST-1").finding->verdict;
}

TEST(MatrixRun, TheWorseVerdictCounts) {
  EXPECT_EQ(verdict_of_two("passed", "skipped"), "passed");
  EXPECT_EQ(verdict_of_two("skipped", "skipped"), "skipped");
  EXPECT_EQ(verdict_of_two("not-run", "passed"), "not-run");
  EXPECT_EQ(verdict_of_two("lost", "not-run"), "lost");
  EXPECT_EQ(verdict_of_two("inconclusive", "lost"), "inconclusive");
  EXPECT_EQ(verdict_of_two("passed", "expected-failure"), "expected-failure");
  EXPECT_EQ(verdict_of_two("warning", "expected-failure"), "warning");
  EXPECT_EQ(verdict_of_two("warning", "failed"), "failed");
}

TEST(MatrixRun, RefusesWhatIsNoReport) {
  const auto diagnostic = [](const std::string& text) {
    const auto findings = read_findings(text);
    return findings ? std::string("none") : findings.error();
  };
  EXPECT_EQ(diagnostic("{"), "it is not JSON");
  EXPECT_EQ(diagnostic("\xff"), "it is not JSON");
  EXPECT_THAT(diagnostic("[]"), HasSubstr("not a report"));
  EXPECT_THAT(diagnostic(R"({"cases": {}})"), HasSubstr("no list of cases"));
  EXPECT_EQ(diagnostic(R"({"cases": [1]})"), "one of its cases has no id");
  EXPECT_EQ(diagnostic(R"({"cases": [{"id": ""}]})"), "one of its cases has no id");
  EXPECT_THAT(diagnostic(R"({"cases": [{"id": "a", "verdict": "ok"}]})"),
              HasSubstr("the case a has the verdict \"ok\""));
  EXPECT_THAT(diagnostic(R"({"cases": [{"id": "a", "verdict": "cut-short"}]})"),
              HasSubstr("which is not a known one"));
  EXPECT_EQ(diagnostic(R"({"cases": [{"id": "a", "verdict": "passed", "failure": 1,
                                      "open_points_observed": {"R": [1, {}]}}]})"),
            "none");
}

// --- formats

TEST(MatrixJson, HasTheRunWhereThereIsOne) {
  const auto plain = matrix_document(make_matrix(library()));
  EXPECT_FALSE(plain.contains("run"));
  EXPECT_EQ(plain["totals"]["uncovered"], 1);
  EXPECT_EQ(plain["requirements"][0]["dialects"]["deployed"], ":-1\\r\\n");
  EXPECT_EQ(plain["sections"][1]["note"], "It states no rule.");
  const auto run = matrix_document(with_run(
      R"({"id": "some.two", "verdict": "failed", "message": "m",
          "failure": {"requirement": "R-MUST-2"}})"));
  EXPECT_EQ(run["run"]["endpoint"], "inproc:");
  EXPECT_EQ(run["requirements"][1]["result"]["verdict"], "failed");
  EXPECT_FALSE(run["requirements"][2].contains("result"));
  EXPECT_EQ(run["cases"][1]["result"]["charged"], "R-MUST-2");
  EXPECT_FALSE(run["cases"][0].contains("result"));
}

TEST(MatrixHtml, DataCannotLeaveItsIsland) {
  const std::string page = matrix_html(with_run(
      R"({"id": "some.two", "verdict": "failed",
          "message": "</script><script>alert(1)//& \u2028"})"));
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(
      page, HasSubstr(R"(\u003c/script\u003e\u003cscript\u003ealert(1)//\u0026 \\xe2\\x80\\xa8)"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_THAT(page, Not(HasSubstr("innerHTML")));
  for (const char* word : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(word))) << word;
  }
}

TEST(MatrixMarkdown, ShowsEveryHeadingAndEveryRule) {
  const std::string text = matrix_markdown(make_matrix(library()));
  EXPECT_THAT(text,
              HasSubstr("| [First](#first) | Prvni | Primero |  | 4 | 2 | 2 | 1 | 1 | 1 |  |"));
  EXPECT_THAT(text, HasSubstr("| Empty |  | Vuoto | 0 | 0 | 0 | 0 | 0 | 0 | It states no rule. |"));
  EXPECT_THAT(text, HasSubstr("| [First](#first) |  | Primo | 2 | 2 | 2 | 0 | 0 | 1 |  |"));
  EXPECT_THAT(text, HasSubstr("### First\n\nA word on it.\n\n| rule |"));
  EXPECT_THAT(text, HasSubstr("| R-MUST-1 | must | store | ga | The `first` rule. | 1 case |"));
  EXPECT_THAT(text, HasSubstr("The second \\| rule \\<b>. | 1 case |"));
  EXPECT_THAT(
      text, HasSubstr("| R-SHOULD-1 | should | store | deployed | A recommendation. | **none** |"));
  EXPECT_THAT(text, HasSubstr("| Clients behave. | untestable: applies to the client |"));
  EXPECT_THAT(text, HasSubstr("| Clients speak MQTT. | of clients: shows in their packets |"));
  EXPECT_THAT(text, HasSubstr("| R-OPEN-1 | may, open | store | ga, preview |"));
  EXPECT_THAT(text, HasSubstr("| must | 4 | 2 | 2 | 1 | 1 | 0 |"));
  EXPECT_TRUE(text.ends_with("|\n"));
}

TEST(MatrixText, SaysWhatIsMissing) {
  const std::string text = matrix_text(make_matrix(library()), {});
  EXPECT_THAT(text, HasSubstr("R-CLIENT-1 (must, client)  applies to the client"));
  EXPECT_THAT(text, Not(HasSubstr("R-CLIENT-2 (must, client)  shows in their packets")));
  EXPECT_THAT(text, HasSubstr("testable, but without a case: 1"));
  EXPECT_THAT(text, HasSubstr("  R-SHOULD-1 (should) requirements.yaml:"));
  EXPECT_THAT(text, HasSubstr("6 requirements: 4 testable, 3 of them covered; 1 of clients; 1 "
                              "untestable; 1 unspecified"));
  EXPECT_THAT(text, HasSubstr("complete: every testable must has a case"));
  EXPECT_THAT(text, Not(HasSubstr("some.one")));
  EXPECT_THAT(text, Not(HasSubstr("\033[")));
  EXPECT_THAT(matrix_text(make_matrix(library()), {.colour = true}), HasSubstr("\033[1m"));
}

TEST(MatrixText, IsIncompleteWithoutACaseForAMust) {
  std::string cases = kCases;
  cases.replace(cases.find("[R-MUST-2]"), 10, "[R-MUST-1]");
  std::vector<scenario::LoadError> errors;
  const scenario::Library changed = library_of(kRules, cases, errors);
  const std::string text = matrix_text(make_matrix(changed), {});
  EXPECT_THAT(text, HasSubstr("incomplete: 1 testable must is without a case"));
  EXPECT_THAT(text, Not(HasSubstr("complete: every")));
}

TEST(MatrixText, InFullNamesTheCases) {
  const std::string text = matrix_text(with_run(
                                           R"({"id": "some.one", "verdict": "passed",
              "open_points_observed": {"R-OPEN-1": ["yes-it-is"]}})"),
                                       {.full = true});
  EXPECT_THAT(text, HasSubstr("  R-OPEN-1 (may, store, open)  This is not said."));
  EXPECT_THAT(text, HasSubstr("    the run: passed (1 passed); seen: yes-it-is\n    some.one"));
  EXPECT_THAT(text, HasSubstr("4 testable requirements: 2 not in the run, 2 passed"));
}

// --- explain

TEST(Explain, ARequirement) {
  const std::string text =
      explain_requirement(*library().catalogue.find("R-MUST-1"), library(), {.width = 80});
  EXPECT_THAT(text, StartsWith("R-MUST-1  must, applies to the store\n\n  The `first` rule.\n"));
  EXPECT_THAT(text, HasSubstr("section      Second (general availability)\n"));
  EXPECT_THAT(text, HasSubstr("article      https://learn.microsoft.com/"));
  EXPECT_THAT(
      text,
      HasSubstr("dialects     documented    -1\\r\\n\n               deployed      :-1\\r\\n"));
  EXPECT_THAT(text, HasSubstr("divergence   set-not-applied\n"));
  EXPECT_THAT(text, HasSubstr("defined at   requirements.yaml:7\n"));
  EXPECT_THAT(text, HasSubstr("checked by 1 case\n    some.one\n      The first one\n"));
  EXPECT_THAT(text, HasSubstr("fencepost certify --requirement R-MUST-1"));
}

TEST(Explain, ARequirementWithoutCases) {
  const auto text = [](const char* id) {
    return explain_requirement(*library().catalogue.find(id), library(), {});
  };
  EXPECT_THAT(text("R-CLIENT-1"), HasSubstr("untestable   applies to the client"));
  EXPECT_THAT(text("R-CLIENT-1"), Not(HasSubstr("no case checks it")));
  EXPECT_THAT(text("R-CLIENT-2"), HasSubstr("clients      Clients speak MQTT."));
  EXPECT_THAT(text("R-CLIENT-2"), HasSubstr("no case      shows in their packets"));
  EXPECT_THAT(text("R-SHOULD-1"), HasSubstr("no case checks it"));
  EXPECT_THAT(text("R-SHOULD-1"), HasSubstr("in no edition of the article"));
  EXPECT_THAT(text("R-OPEN-1"), AllOf(HasSubstr("- yes-it-is"), HasSubstr("- no-it-is-not")));
}

TEST(Explain, ACase) {
  const std::string text = explain_case(library().cases.front(), library(), {});
  EXPECT_THAT(text, StartsWith("some.one  must, area some\n\n  The first one\n"));
  EXPECT_THAT(text, HasSubstr("checks       R-MUST-1  (must) The `first` rule.\n"));
  EXPECT_THAT(text, HasSubstr("deployed    :-1\\r\\n"));
  EXPECT_THAT(text, HasSubstr("open         R-OPEN-1: passes with any of yes-it-is, no-it-is-not"));
  EXPECT_THAT(text,
              HasSubstr("source, some.yaml:3\n    - id: some.one\n      title: The first one\n"));
  EXPECT_THAT(text, HasSubstr("run it with: fencepost certify --run some.one --trace"));
  const std::string other = explain_case(library().cases[1], library(), {.certify = "f certify"});
  EXPECT_THAT(other, AllOf(HasSubstr("needs        transport"), HasSubstr("tags         slow"),
                           HasSubstr("run it with: f certify --run some.two")));
}

TEST(Explain, SaysWhatIsJudgedForConcurrentRequests) {
  const scenario::Library& built_in = test::built_in_library();
  for (const std::string_view id : history::judged_requirements()) {
    const scenario::Requirement* rule = built_in.catalogue.find(std::string(id));
    ASSERT_NE(rule, nullptr) << id;
    EXPECT_THAT(explain_requirement(*rule, built_in, {}), HasSubstr("fencepost stress"));
  }
  const scenario::Requirement* other = built_in.catalogue.find("VER-MISS-1");
  ASSERT_NE(other, nullptr);
  EXPECT_THAT(explain_requirement(*other, built_in, {}), Not(HasSubstr("fencepost stress")));
}

TEST(Explain, FitsTheTerminal) {
  const scenario::Library& built_in = test::built_in_library();
  for (const std::size_t width : {60U, 80U, 120U}) {
    for (const scenario::Requirement& requirement : built_in.catalogue.all()) {
      std::string_view rest = requirement.text;
      const std::string text = text::wrap(rest, {.width = width, .indent = 2, .first = 2});
      std::size_t begin = 0;
      while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        const std::size_t word = line.find_first_not_of(' ');
        const bool one_word = line.find(' ', std::min(word, line.size())) == std::string::npos;
        EXPECT_TRUE(text::columns(line) <= width || one_word) << line;
        begin = end + 1;
      }
    }
  }
}

// --- wrapping

TEST(Wrap, BreaksAtBlanks) {
  EXPECT_EQ(text::wrap("aa bb cc", {.width = 5}), "aa bb\ncc");
  EXPECT_EQ(text::wrap("aa bb cc", {.width = 4, .indent = 1}), "aa\n bb\n cc");
  EXPECT_EQ(text::wrap("aa bb cc", {.width = 8}), "aa bb cc");
  EXPECT_EQ(text::wrap("aa bb", {.width = 6, .indent = 2, .first = 4}), "aa\n  bb");
  EXPECT_EQ(text::wrap("aaaaaaaa bb", {.width = 4}), "aaaaaaaa\nbb");
  EXPECT_EQ(text::wrap("a\nb c", {.width = 9, .indent = 2}), "a\n  b c");
  EXPECT_EQ(text::wrap("", {}), "");
  EXPECT_EQ(text::wrap("a  b ", {.width = 9}), "a  b");
}

TEST(Wrap, CountsCharactersNotBytes) {
  EXPECT_EQ(text::columns("Přehled"), 7U);
  EXPECT_EQ(text::wrap("äöü äöü", {.width = 7}), "äöü äöü");
  EXPECT_EQ(text::padded("é", 3), "é  ");
  EXPECT_EQ(text::padded("abc", 2), "abc");
}

}  // namespace
}  // namespace fencepost::matrix
