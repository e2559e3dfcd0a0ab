#include <algorithm>
#include <functional>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/page/report_page.h"
#include "report/report.h"
#include "suite/testing/failure_sample.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// What a hostile store may send, and what would end or open something in HTML.
constexpr char kEvil[] =
    "</script></noscript></style><img src=x onerror=alert(1)> \"'&<!-- {{data}} \0 \xff\xc3 "
    "\xe2\x80\xa8 \xef\xbf\xbe";
const std::string kEvilText(kEvil, sizeof(kEvil) - 1);

ReportContext context() {
  return {.endpoint = "mqtt://host:1883",
          .profile = codec::Profile::kAuto,
          .seed = 18'446'744'073'709'551'615ULL,
          .command = "fencepost certify --seed 7",
          .started = "2026-01-01T00:00:00Z",
          .preflight = {}};
}

// A run with these verdicts, one case each, summarized as a run is.
struct Sample {
  explicit Sample(const std::vector<run::Verdict>& verdicts, std::string requirement = "R-MUST-1") {
    cases.reserve(verdicts.size());
    for (const run::Verdict verdict : verdicts) {
      cases.push_back(case_of({.id = "t.case-" + std::to_string(cases.size() + 1),
                               .requirements = requirement,
                               .steps = "- get: k\n  expect: missing\n"}));
      run::CaseResult entry{.test_case = &cases.back(), .verdict = verdict};
      entry.failure.position = cases.back().position;
      if (verdict == run::Verdict::kFailed || verdict == run::Verdict::kInconclusive ||
          verdict == run::Verdict::kExpectedFailure) {
        entry.failure.requirement = requirement;
        entry.failure.step = 1;
      }
      result.cases.push_back(std::move(entry));
    }
    run::summarize(result, catalogue(), false);
  }

  [[nodiscard]] std::string page(const ReportContext& given = context()) const {
    return to_html(result, catalogue(), given);
  }

  std::vector<scenario::Case> cases;
  run::SuiteResult result;
};

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "no " + begin;
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

std::string island_of(const std::string& page) {
  return between(page, "id=\"p_data\">", "</script>");
}

// The page without the data: what a browser takes for HTML, CSS and JavaScript.
std::string without_data(std::string page) {
  const std::string island = island_of(page);
  page.erase(page.find(island), island.size());
  return page;
}

// A run in which everything that can be hostile is.
std::string hostile_page() {
  Sample run({run::Verdict::kFailed, run::Verdict::kPassed});
  run.cases[0].title = kEvilText;
  run.cases[0].source = kEvilText;
  run::CaseResult& entry = run.result.cases[0];
  entry.failure.message = entry.failure.expected = entry.failure.actual = entry.baseline =
      kEvilText;
  codec::Message message;
  message.topic = message.payload = kEvilText;
  message.user_properties = {{kEvilText, kEvilText}};
  entry.transcript.push_back(
      make_entry(Duration{1}, kEvilText, run::Direction::kReceived, message));
  run.result.baseline_errors = {kEvilText};
  ReportContext given = context();
  given.endpoint = given.command = given.started = given.stopped_because = kEvilText;
  return run.page(given);
}

TEST(HtmlReport, KeepsDataInsideItsElement) {
  const std::string page = hostile_page();
  EXPECT_EQ(count(page, "</script>"), 2U);
  EXPECT_EQ(count(page, "<script"), 2U);
  EXPECT_EQ(count(page, "</style>"), 1U);
  EXPECT_EQ(count(page, "</noscript>"), 1U);
  EXPECT_EQ(count(page, "<img"), 0U);
  const std::string island = island_of(page);
  for (const char c : island) {
    EXPECT_TRUE(c >= 0x20 && c < 0x7f && c != '<') << int{c};
  }
  const json data = json::parse(island);
  EXPECT_THAT(data["report"]["cases"][0]["title"].get<std::string>(),
              HasSubstr("</script></noscript></style><img src=x onerror=alert(1)> \"'&<!--"));
}

TEST(HtmlReport, DoesNotExpandPlacesInsideValues) {
  const std::string page = without_data(hostile_page());
  EXPECT_EQ(count(page, "id=\"p_data\""), 1U);
  EXPECT_THAT(between(page, "<dt>Endpoint</dt><dd class=\"mono\">", "</dd>"),
              HasSubstr("{{data}}"));
}

TEST(HtmlReport, FillsEveryPlace) {
  const std::string page = without_data(Sample({run::Verdict::kPassed}).page());
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(HtmlReport, LoadsNothing) {
  ReportContext given = context();
  given.endpoint = "inproc:";  // an address in the text of the page is not loaded
  const std::string page = without_data(Sample({run::Verdict::kFailed}).page(given));
  const std::regex reference(
      R"re(https?:|//[a-z]|\bsrc\s*=|\bsrcset|@import|url\(|<link|<iframe|<object)re"
      R"re(|fetch\(|href="[^#])re");
  for (std::sregex_iterator at(page.begin(), page.end(), reference), end; at != end; ++at) {
    const std::string before = at->prefix().str();
    ADD_FAILURE() << before.substr(before.size() - std::min<std::size_t>(before.size(), 60))
                  << at->str();
  }
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\">");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_TRUE(std::regex_search(policy, std::regex("script-src 'sha256-[A-Za-z0-9+/]{43}='")));
  EXPECT_TRUE(std::regex_search(policy, std::regex("style-src 'sha256-[A-Za-z0-9+/]{43}='")));
}

// Data gets onto the page as text, or not at all.
TEST(HtmlReport, HasScriptsThatNeverParseData) {
  for (const scenario::SourceFile& file : page::report_page_files()) {
    for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                             "eval(", "DOMParser", "Function(", "</script"}) {
      if (!file.name.ends_with(".js")) continue;
      EXPECT_THAT(file.content, Not(HasSubstr(word))) << file.name;
    }
  }
}

TEST(HtmlReport, SaysTheVerdictOfEveryExitCode) {
  struct Row {
    std::vector<run::Verdict> verdicts;
    std::string title;
    std::string sentence;
    std::function<void(run::SuiteResult&)> change = [](run::SuiteResult&) {};
    std::string requirement = "R-MUST-1";
  };
  using enum run::Verdict;
  const std::vector<Row> rows = {
      {{kPassed, kSkipped}, "Conformant", "Every case that ran passed."},
      {{kPassed, kExpectedFailure},
       "Conformant, with 1 expected failure",
       "The baseline accepts what failed. Every other case that ran passed."},
      {{kPassed, kFailed, kFailed, kExpectedFailure},
       "Conformant, with 2 warnings and 1 expected failure",
       "Some recommendations were not followed. The baseline accepts what failed. Every other case "
       "that ran passed.",
       [](run::SuiteResult&) {},
       "R-SHOULD-1"},
      {{kPassed, kFailed, kFailed, kSkipped},
       "NOT conformant",
       "2 of 3 cases that ran failed; 1 root cause explains them."},
      {{kPassed},
       "Baseline out of date",
       "Every failure is known to the baseline, but the baseline does not match this run.",
       [](run::SuiteResult& result) { result.baseline_errors = {"no such case"}; }},
      {{kPassed, kFailed},
       "Baseline out of date",
       "Every failure is known to the baseline; 1 case passed that it expects to fail.",
       [](run::SuiteResult& result) { result.cases[1].unexpected_pass = true; }},
      {{kFailed, kFailed},
       "NOT conformant",
       "1 of 2 cases that ran failed; 1 root cause explains them. The baseline is out of date.",
       [](run::SuiteResult& result) {
         result.cases[1].unexpected_pass = true;
         result.baseline_errors = {"t.case-2 passes"};
       }},
      {{kPassed, kInconclusive, kNotRun},
       "Inconclusive",
       "No case failed, but 1 case could not be decided and 1 was not run."},
      {{kNotRun, kNotRun},
       "Endpoint unreachable",
       "The run could not begin. No verdict: 2 of 2 cases not run.",
       [](run::SuiteResult& result) { result.endpoint_lost = true; }},
      {{kPassed, kLost, kNotRun},
       "Endpoint lost",
       "The connection to it was lost during the run. No verdict: 2 of 3 cases not run.",
       [](run::SuiteResult& result) { result.endpoint_lost = true; }},
      {{kPassed, kNotRun},
       "Interrupted",
       "The run was interrupted. No verdict: 1 of 2 cases not run.",
       [](run::SuiteResult& result) { result.interrupted = true; }},
      {{}, "Nothing certified", "No case was selected."},
      {{kSkipped},
       "Nothing certified",
       "Every selected case was skipped: the endpoint lacks what they need."}};
  for (const Row& row : rows) {
    Sample run(row.verdicts, row.requirement);
    row.change(run.result);
    const std::string page = run.page();
    EXPECT_EQ(between(page, "<span id=\"p_verdict\">", "</span>"), row.title);
    EXPECT_EQ(between(page, "<p class=\"lead\">", "</p>"), row.sentence) << row.title;
    EXPECT_THAT(between(page, "<title>", "</title>"), HasSubstr(row.title + ": mqtt://host:1883"));
    EXPECT_EQ(between(page, "<dt>Exit code</dt><dd>", "</dd>"),
              std::to_string(static_cast<int>(exit_code(run.result))));
  }
}

TEST(HtmlReport, TellsByColourAloneNothingButRepeatsTheVerdict) {
  const auto kind = [](const std::vector<run::Verdict>& verdicts) {
    return between(Sample(verdicts).page(), "\"masthead\" data-verdict=\"", "\"");
  };
  EXPECT_EQ(kind({run::Verdict::kPassed}), "conformant");
  EXPECT_EQ(kind({run::Verdict::kFailed}), "failed");
  EXPECT_EQ(kind({run::Verdict::kInconclusive}), "open");
}

TEST(HtmlReport, CountsWhatWasPlanned) {
  using enum run::Verdict;
  const std::string page =
      Sample({kPassed, kPassed, kFailed, kInconclusive, kSkipped, kLost, kNotRun}).page();
  EXPECT_EQ(between(page, "<p class=\"sum\">", "</p>"),
            "7 planned = 4 ran + 1 skipped + 2 not run");
  EXPECT_THAT(page, HasSubstr("<b>2</b> of <b>7</b> cases passed"));
  const std::string counts = between(page, "<ul class=\"counts\">", "</ul>");
  for (const char* part : {"<b>2</b> passed", "<b>1</b> failed", "<b>1</b> inconclusive",
                           "<b>1</b> skipped", "<b>2</b> not run"}) {
    EXPECT_THAT(counts, HasSubstr(part));
  }
  EXPECT_THAT(counts, Not(HasSubstr("warnings")));
  EXPECT_THAT(between(page, "MUST requirements:", "</p>"), HasSubstr("of <b>1</b> met"));
}

TEST(HtmlReport, SaysHowTheRunWas) {
  const std::string page = Sample({run::Verdict::kPassed}).page();
  EXPECT_THAT(page, HasSubstr("18446744073709551615"));
  EXPECT_THAT(page, HasSubstr("2026-01-01T00:00:00Z"));
  EXPECT_THAT(page, HasSubstr(suite_version()));
  EXPECT_THAT(page, HasSubstr("unknown (no reply shows it)"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"alert\"")));
}

TEST(HtmlReport, SaysFirstWhatIsWrongWithTheRunItself) {
  Sample run({run::Verdict::kFailed});
  run.result.cases[0].unexpected_pass = true;
  run.result.baseline_errors = {"<t.gone> matches no case"};
  run.result.baseline_notes = {"not judged: <t.skipped>"};
  ReportContext given = context();
  given.stopped_because = "interrupted by <me>";
  const std::string page = run.page(given);
  EXPECT_THAT(page, HasSubstr("<b>Stopped:</b> interrupted by &lt;me&gt;"));
  EXPECT_THAT(page, HasSubstr("<li>&lt;t.gone&gt; matches no case</li>"));
  EXPECT_THAT(page, HasSubstr("<li>not judged: &lt;t.skipped&gt;</li>"));
  EXPECT_THAT(page, HasSubstr("Unexpected pass: <a class=\"id\" href=\"#t.case-1\">t.case-1</a>"));
}

TEST(HtmlReport, SaysWhichPartOfTheCasesItIsAbout) {
  const Sample run({run::Verdict::kPassed});
  EXPECT_THAT(run.page(), Not(HasSubstr("<dt>Selected</dt>")));
  ReportContext given = context();
  given.selection = {.run = {"t.*"}, .tags = {"<b>"}, .shard = 2, .shards = 5};
  given.known_cases = 12;
  EXPECT_THAT(
      run.page(given),
      HasSubstr("<dt>Selected</dt><dd><code>--run 't.*' --tag '&lt;b&gt;' --shard 2/5</code>: 1 "
                "of 12 cases</dd>"));
}

TEST(HtmlReport, TellsWithoutJavaScriptWhatDidNotPass) {
  Sample run({run::Verdict::kPassed, run::Verdict::kFailed, run::Verdict::kSkipped});
  run.result.cases[1].failure = test::failure("R-MUST-1", "wrong", "a<b", "c");
  const std::string text = between(run.page(), "<noscript>", "</noscript>");
  EXPECT_THAT(
      text,
      HasSubstr(
          "<b>failed</b> <code>t.case-2</code> A case: wrong; want a&lt;b, got c. Rule R-MUST-1 "
          "(must): The first rule. Expected <code>a&lt;b</code>, actual "
          "<code>c</code>."));
  EXPECT_THAT(text, Not(HasSubstr("t.case-1")));
  EXPECT_THAT(between(Sample({run::Verdict::kPassed}).page(), "<noscript>", "</noscript>"),
              HasSubstr("Every case passed."));
}

// The report in the data of a page, as the page's scripts put it together.
json unpacked(const json& data) {
  json out = data["report"];
  for (json& entry : out["cases"]) {
    if (!entry.contains("reproduce")) {
      entry["reproduce"] =
          out["command"].get<std::string>() + " --run " + entry["id"].get<std::string>();
    }
    if (!entry.contains("transcript")) continue;
    for (json& message : entry["transcript"]) {
      json members;
      const json& names = data["values"][message[0].get<std::size_t>()];
      for (std::size_t i = 0; i < names.size(); ++i) {
        members[names[i].get<std::string>()] = data["values"][message[i + 1].get<std::size_t>()];
      }
      message = std::move(members);
    }
  }
  return out;
}

// Two messages that have much in common.
std::vector<run::TranscriptEntry> exchange() {
  codec::Message request;
  request.topic = "topic-of-the-request";
  request.payload = "asked";
  request.correlation_data = "same";
  codec::Message reply = request;
  reply.payload = "answered";
  reply.content_type = "text";
  return {run::make_entry(Duration{1}, "a", run::Direction::kSent, request),
          run::make_entry(Duration{2}, "a", run::Direction::kReceived, reply),
          {.time = Duration{3}, .client = "a", .summary = "disconnected"}};
}

TEST(HtmlReport, HasEveryMessageAndSharedValuesOnce) {
  Sample run({run::Verdict::kPassed, run::Verdict::kFailed});
  for (run::CaseResult& entry : run.result.cases) entry.transcript = exchange();
  ReportContext given = context();
  given.commands["t.case-2"] = "another command";
  const std::string island = island_of(run.page(given));
  EXPECT_EQ(unpacked(json::parse(island)), json::parse(to_json(run.result, catalogue(), given)));
  EXPECT_EQ(count(island, "topic-of-the-request"), 1U);
}

TEST(HtmlReport, LeavesTranscriptsOfPassedCasesOutOnlyWhereTheReportDoes) {
  Sample run({run::Verdict::kPassed, run::Verdict::kFailed});
  for (run::CaseResult& entry : run.result.cases) entry.transcript = exchange();
  ReportContext given = context();
  given.transcripts = Transcripts::kFailures;
  const json cases = unpacked(json::parse(island_of(run.page(given))))["cases"];
  EXPECT_FALSE(cases[0].contains("transcript"));
  EXPECT_THAT(cases[1]["transcript"], SizeIs(3));
}

TEST(HtmlReport, HoldsTheReportTheRulesAndTheLinesOfEachCase) {
  const Sample run({run::Verdict::kPassed, run::Verdict::kFailed});
  const json data = json::parse(island_of(run.page()));
  EXPECT_EQ(unpacked(data), json::parse(to_json(run.result, catalogue(), context())));
  ASSERT_THAT(data["sources"], SizeIs(2));
  EXPECT_EQ(data["sources"][1], run.cases[1].source);
  EXPECT_EQ(data["source_of"], (nlohmann::json{0, 1}));
  EXPECT_THAT(run.cases[1].source, Not(IsEmpty()));
  ASSERT_THAT(data["requirements"], SizeIs(catalogue().all().size()));
  EXPECT_EQ(data["requirements"][2], json::parse(R"({
    "id": "R-SHOULD-1", "level": "should", "binds": "store", "text": "A recommendation.",
    "section": "S", "source": "article", "documents": ["ga", "preview"],
    "dialects": {}, "observe": "o",
    "untestable": "", "open": false, "outcomes": []})"));
}

}  // namespace
}  // namespace fencepost::report
