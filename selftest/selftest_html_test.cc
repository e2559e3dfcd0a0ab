#include "selftest/selftest_html.h"

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "selftest/selftest_document.h"

namespace fencepost::selftest {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr auto kDeployed = codec::DialectId::kDeployed;
constexpr auto kDocumented = codec::DialectId::kDocumented;

scenario::Case make_case(const std::string& id, const std::string& requirement) {
  scenario::Case out;
  out.id = id;
  out.area = "t";
  out.title = "Case " + id;
  out.requirements = {requirement};
  return out;
}

// A result as run_selftest() makes it, with as little in it as can be proved.
class SelftestHtml : public testing::Test {
 protected:
  SelftestHtml() {
    result_.cases = {&kills_, &stands_by_};
    result_.references = {{.dialect = kDeployed, .passed = 2}};
    result_.has_canaries = true;
    result_.canaries = 1234;
    add(result_.faults, "S01").detecting = {&kills_};
    result_.faults.back().passed = 1;
    result_.faults.back().first_detecting = &kills_;
    result_.faults.back().time_to_kill = std::chrono::microseconds{1500};
  }

  static SubjectResult& add(std::vector<SubjectResult>& to, std::string_view id,
                            codec::DialectId dialect = kDeployed) {
    const store::Fault* fault = store::find_fault(id);
    EXPECT_NE(fault, nullptr) << id;
    to.push_back({.fault = fault, .dialect = dialect});
    return to.back();
  }

  [[nodiscard]] std::string page() const { return selftest_html(result_, 7); }
  [[nodiscard]] json document() const { return json::parse(selftest_json(result_, 7)); }

  // What stands in the head of the page under this name, e.g. "9 of 9".
  [[nodiscard]] std::string figure(const std::string& name) const {
    const std::string text = page();
    std::smatch match;
    const std::regex pattern(
        name +
        "</dt><dd><span class=\"value\"><b>([0-9,]+)</b> <span class=\"of\">of ([0-9,]+)</span>");
    if (!std::regex_search(text, match, pattern)) return "no figure of that name";
    return match[1].str() + " of " + match[2].str();
  }

  // The data of the page.
  [[nodiscard]] json island() const {
    const std::string text = page();
    const std::string open = "<script type=\"application/json\" id=\"p_data\">";
    const std::size_t begin = text.find(open) + open.size();
    return json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  }

  scenario::Case kills_ = make_case("t.kills", "SET-NX-2");
  scenario::Case stands_by_ = make_case("t.stands-by", "GET-HIT-1");
  SelftestResult result_;
};

TEST_F(SelftestHtml, HoldsTheDocumentAndTheScores) {
  EXPECT_EQ(island(), document());
  EXPECT_THAT(page(), HasSubstr("Proved for a selection"));
  EXPECT_EQ(figure("Faults caught"), "1 of 1");
  EXPECT_EQ(figure("Wrong expectations detected"), "1,234 of 1,234");
  EXPECT_EQ(figure("Conforming variants passed"), "0 of 0");
}

TEST_F(SelftestHtml, LoadsNothingAndRunsNothingElse) {
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("default-src 'none'; style-src 'sha256-"));
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_THAT(text, Not(HasSubstr(outside))) << outside;
  }
  EXPECT_THAT(text, Not(HasSubstr("{{")));
}

TEST_F(SelftestHtml, LetsNoTextOutOfItsPlace) {
  kills_.title = "</script><img src=x onerror=alert(1)>\xff";
  SubjectResult& broken = add(result_.faults, "S02");
  broken.error = "<b>no</b> & \"broker\"";
  const std::string text = page();
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("<b>no</b>")));
  EXPECT_THAT(text,
              HasSubstr("&lt;b&gt;no&lt;/b&gt; &amp; &quot;broker&quot;"));  // without scripts
  EXPECT_EQ(island()["cases"][0]["title"], "</script><img src=x onerror=alert(1)>\uFFFD");
}

TEST_F(SelftestHtml, SaysWhatIsNotProved) {
  add(result_.faults, "S02").non_detecting = {&stands_by_};
  add(result_.benign, "B01").non_detecting = {&stands_by_};
  add(result_.nulls, "Z01").passes = {&kills_};
  result_.canary_survivors = {{.test_case = &kills_, .what = "step 1: reply"}};
  EXPECT_THAT(page(), HasSubstr("NOT proved"));
  EXPECT_THAT(page(),
              HasSubstr("1 fault was not caught; 1 conforming store failed; 1 store that does "
                        "nothing passed a case; 1 wrong expectation passed."));
  EXPECT_EQ(figure("Faults caught"), "1 of 2");
}

TEST_F(SelftestHtml, CountsWhatConcurrentRequestsShow) {
  EXPECT_EQ(figure("Faults caught with concurrent requests"), "no figure of that name");
  result_.overlaps = {{.runs = 5},
                      {.fault = store::find_fault("T01"),
                       .runs = 2,
                       .requirement = "SET-WRITE-2",
                       .operations = 300,
                       .counter_example = 3},
                      {.fault = store::find_fault("T02"), .runs = 20}};
  EXPECT_EQ(figure("Faults caught with concurrent requests"), "1 of 2");
  EXPECT_THAT(page(), HasSubstr("NOT proved"));
  EXPECT_THAT(page(), HasSubstr("1 fault was not caught with concurrent requests."));
  const json stores = island()["meetings"]["stores"];
  EXPECT_EQ(stores[0]["name"], "reference");
  EXPECT_EQ(stores[1]["name"], store::find_fault("T01")->name);
}

TEST_F(SelftestHtml, SaysThatAllIsProvedOfTheWholeCatalogueOnly) {
  result_.faults.clear();
  for (const store::Fault& fault : store::faults()) {
    if (!can_be_met(fault, false)) continue;
    const bool null = fault.kind == store::FaultKind::kNull;
    const bool benign = fault.kind == store::FaultKind::kBenign;
    SubjectResult& run = add(null     ? result_.nulls
                             : benign ? result_.benign
                                      : result_.faults,
                             fault.id);
    if (!null && !benign) run.detecting = {&kills_};
  }
  EXPECT_THAT(page(), HasSubstr("<span id=\"p_verdict\">The suite is proved</span>"));
  EXPECT_THAT(page(), Not(HasSubstr("only with --endpoint")));
  // Over the network the whole is another one: B13 is not met there, nor what needs simulated
  // clients.
  result_.has_canaries = false;
  EXPECT_THAT(page(), Not(HasSubstr("The suite is proved")));
  const auto direct =
      std::remove_if(result_.benign.begin(), result_.benign.end(),
                     [](const SubjectResult& run) { return !can_be_met(*run.fault, true); });
  result_.benign.erase(direct, result_.benign.end());
  EXPECT_THAT(page(), HasSubstr("The suite is proved"));
  const auto elsewhere =
      std::count_if(store::faults().begin(), store::faults().end(), [](const store::Fault& fault) {
        return !can_be_met(fault, true) && fault.needs < store::FaultNeeds::kKill;
      });
  EXPECT_GT(elsewhere, 30);
  EXPECT_THAT(page(), HasSubstr(std::to_string(elsewhere) +
                                " more stores run only with --endpoint inproc:."));
  result_.has_canaries = true;
  result_.benign.pop_back();
  EXPECT_THAT(page(), HasSubstr("<span id=\"p_verdict\">Proved for a selection</span>"));
}

TEST_F(SelftestHtml, HasAVerdictForRunsThatSayNothing) {
  result_.faults.clear();
  EXPECT_THAT(page(), HasSubstr("No fault ran"));
  result_.interrupted = true;
  EXPECT_THAT(page(), HasSubstr("Interrupted"));
  EXPECT_THAT(selftest_html(SelftestResult{}, 1), HasSubstr("The reference store did not run"));
}

// ---- why a fault survives

struct ReasonRow {
  const char* name;
  const char* fault;
  const char* reason;
  bool excused;
  void (*change)(SubjectResult& run, const scenario::Case& citing, const scenario::Case& other);
};

class SelftestReason : public SelftestHtml, public testing::WithParamInterface<ReasonRow> {};

TEST_P(SelftestReason, IsGivenForASurvivor) {
  const ReasonRow& row = GetParam();
  SubjectResult& run = add(result_.faults, row.fault, kDocumented);
  run.passed = 1;
  kills_.requirements = {std::string(run.fault->requirements.front())};
  row.change(run, kills_, stands_by_);
  result_.interrupted = row.reason == std::string("interrupted");
  result_.has_canaries = !row.excused;  // what is excused, is over the network
  const json survivors = document()["survivors"];
  ASSERT_EQ(survivors.size(), 1U);
  EXPECT_EQ(survivors[0]["id"], row.fault);
  EXPECT_EQ(survivors[0]["dialect"], "documented");
  EXPECT_EQ(survivors[0]["reason"], row.reason);
  EXPECT_EQ(survivors[0]["excused"], row.excused);
}

INSTANTIATE_TEST_SUITE_P(
    All, SelftestReason,
    testing::Values(ReasonRow{"NotRun", "L06", "not-run", false,
                              [](SubjectResult& run, const scenario::Case&, const scenario::Case&) {
                                run.error = "no broker";
                              }},
                    ReasonRow{"Concurrency", "L06", "needs-concurrency", true,
                              [](SubjectResult&, const scenario::Case&, const scenario::Case&) {}},
                    ReasonRow{"Interrupted", "S02", "interrupted", false,
                              [](SubjectResult& run, const scenario::Case& citing,
                                 const scenario::Case&) { run.inconclusive = {&citing}; }},
                    ReasonRow{"OtherRule", "S02", "other-rule", false,
                              [](SubjectResult& run, const scenario::Case& citing,
                                 const scenario::Case& other) {
                                run.non_detecting = {&other};
                                run.inconclusive = {&citing};
                              }},
                    ReasonRow{"Skipped", "S02", "skipped", false,
                              [](SubjectResult& run, const scenario::Case& citing,
                                 const scenario::Case&) { run.skipped = {&citing}; }},
                    ReasonRow{"Inconclusive", "S02", "inconclusive", false,
                              [](SubjectResult& run, const scenario::Case& citing,
                                 const scenario::Case&) { run.inconclusive = {&citing}; }},
                    ReasonRow{"NotCaught", "S02", "not-caught", false,
                              [](SubjectResult&, const scenario::Case&, const scenario::Case&) {}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_F(SelftestHtml, ANoCaseReasonIsThatNoneCitesTheRule) {
  add(result_.faults, "H01");
  EXPECT_EQ(document()["survivors"][0]["reason"], "no-case");
}

// ---- counting

TEST_F(SelftestHtml, CountsAStoreWhenItIsRightInEveryDialect) {
  add(result_.faults, "S01", kDocumented);
  EXPECT_EQ(document()["score"]["faults"],
            json::parse(R"({"as_they_should_be": 1, "total": 2, "stores_as_they_should_be": 0,
                            "stores": 1})"));
  EXPECT_EQ(document()["areas"]["S"], json::parse(R"({"name": "SET, NX, NEX", "caught": 0,
                                                      "total": 1, "needs_concurrency": 0})"));
}

TEST_F(SelftestHtml, CountsFaultsThatNeedConcurrencyApart) {
  add(result_.faults, "L06");
  result_.has_canaries = false;  // as over the network
  const json out = document();
  EXPECT_EQ(out["score"]["faults"]["total"], 1);
  EXPECT_EQ(out["score"]["concurrency_faults"]["total"], 1);
  EXPECT_EQ(out["areas"]["L"]["needs_concurrency"], 1);
  EXPECT_THAT(page(), HasSubstr("1 more fault shows only with concurrent requests."));
}

TEST_F(SelftestHtml, ExcusesFaultsOfConcurrentRequestsOverTheNetworkOnly) {
  add(result_.faults, "L06");
  EXPECT_FALSE(result_.proved());
  EXPECT_EQ(document()["survivors"][0]["excused"], false);
  result_.has_canaries = false;  // as over the network
  EXPECT_TRUE(result_.proved());
  const json survivor = document()["survivors"][0];
  EXPECT_EQ(survivor["excused"], true);
  EXPECT_EQ(survivor["reason"], "needs-concurrency");
}

TEST_F(SelftestHtml, NamesCasesThatAloneCatchAFaultAndThoseThatCatchNone) {
  SubjectResult& both = add(result_.faults, "S07");
  both.detecting = {&kills_, &stands_by_};
  json out = document();
  EXPECT_EQ(out["unique_killers"],
            json::parse(R"([{"case": 0, "faults": [{"id": "S01", "dialect": "deployed"}]}])"));
  EXPECT_EQ(out["cases_without_kill"], json::array());
  result_.faults.pop_back();
  EXPECT_EQ(document()["cases_without_kill"], json::array({1}));
  result_.faults.back().passed = 0;
  EXPECT_EQ(document()["cases_without_kill"], json::array()) << "it was not run with this fault";
  EXPECT_EQ(document()["faults"][0]["dialects"]["deployed"]["only_citing"], true);
  result_.faults.back().skipped = {&stands_by_};
  EXPECT_EQ(document()["cases_without_kill"], json::array()) << "it did not run";
}

TEST_F(SelftestHtml, TellsTheTimeToKill) {
  const json out = document();
  EXPECT_EQ(out["faults"][0]["dialects"]["deployed"]["time_to_kill_ms"], 1.5);
  EXPECT_EQ(out["faults"][0]["dialects"]["deployed"]["first_killer"], 0);
  EXPECT_EQ(out["time_to_kill"], json::parse(R"({"median_ms": 1.5, "longest_ms": 1.5})"));
  result_.faults.clear();
  EXPECT_FALSE(document().contains("time_to_kill"));
}

}  // namespace
}  // namespace fencepost::selftest
