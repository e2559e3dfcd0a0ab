#include "report/baseline/baseline_file.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/fake_endpoint.h"

namespace fencepost::baseline {
namespace {

using namespace test;  // made for this test
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// The baseline in a file of that text. A test whose text is wrong ends with the error.
Baseline loaded(const std::string& text, const std::string& name = "known.yaml") {
  std::vector<scenario::LoadError> errors;
  auto baseline = load_baseline({name, text}, errors);
  for (const scenario::LoadError& error : errors)
    std::fprintf(stderr, "%s\n", describe(error).c_str());
  FENCEPOST_CHECK(baseline.has_value());
  FENCEPOST_CHECK(errors.empty());
  return std::move(*baseline);
}

// The errors about it.
std::vector<std::string> diagnostics(const std::string& text,
                                     const std::string& name = "known.yaml") {
  std::vector<scenario::LoadError> errors;
  EXPECT_FALSE(load_baseline({name, text}, errors).has_value());
  std::vector<std::string> out;
  for (const scenario::LoadError& error : errors) out.push_back(describe(error));
  return out;
}

std::vector<scenario::Case> cases_of(const std::vector<std::string>& ids) {
  std::vector<scenario::Case> out;
  for (const std::string& id : ids) {
    out.push_back(case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
  }
  return out;
}

std::vector<std::string> overlaps(const std::string& text, const std::vector<std::string>& ids) {
  std::vector<scenario::LoadError> errors;
  check_overlaps(loaded(text), cases_of(ids), errors);
  std::vector<std::string> out;
  for (const scenario::LoadError& error : errors) out.push_back(describe(error));
  return out;
}

constexpr const char* kFull = R"(# Known failures of Acme.
version: 1
sut: {name: acme-broker, version: ">=2.1 <2.3"}
fail:                                   # must fail, with this signature
  - {case: set.nex, signature: 'R-1: wrong | want $1\r\na | got it''s',
     reason: "NEX", ticket: ACME-12, expires: 2026-03-01}
  - {case: "scan.*", max: 12, reason: SCAN absent}
flaky:
  - case: expiry.late
    statuses: [passed, inconclusive]
    reason: 1 s sweep
    expires: "2028-02-29"
skip: [{case: crash.1, reason: crashes, ticket: ACME-51}]
)";

// --- reading ------------------------------------------------------------------------------------

TEST(BaselineFile, ReadsEveryMember) {
  const Baseline baseline = loaded(kFull);
  EXPECT_EQ(baseline.file, "known.yaml");
  EXPECT_FALSE(baseline.text_list);
  EXPECT_EQ(baseline.sut_name, "acme-broker");
  EXPECT_EQ(baseline.sut_version, ">=2.1 <2.3");
  ASSERT_THAT(baseline.entries, SizeIs(4));
  const BaselineEntry& nex = baseline.entries[0];
  EXPECT_EQ(nex.list, BaselineList::kFail);
  EXPECT_EQ(nex.cases, "set.nex");
  EXPECT_EQ(nex.signature, R"(R-1: wrong | want $1\r\na | got it's)");
  EXPECT_EQ(nex.reason, "NEX");
  EXPECT_EQ(nex.ticket, "ACME-12");
  EXPECT_EQ(to_string(*nex.expires), "2026-03-01");
  EXPECT_FALSE(nex.max.has_value());
  EXPECT_EQ(place(nex), "known.yaml:5");
  EXPECT_EQ(baseline.entries[1].max, 12U);
  EXPECT_EQ(baseline.entries[1].signature, "");
  const BaselineEntry& late = baseline.entries[2];
  EXPECT_EQ(late.list, BaselineList::kFlaky);
  EXPECT_THAT(late.statuses, ElementsAre(run::Verdict::kPassed, run::Verdict::kInconclusive));
  EXPECT_EQ(to_string(*late.expires), "2028-02-29");
  EXPECT_EQ(place(late), "known.yaml:9");
  EXPECT_EQ(baseline.entries[3].list, BaselineList::kSkip);
  EXPECT_EQ(baseline.entries[3].ticket, "ACME-51");
}

TEST(BaselineFile, MaySayNothing) {
  EXPECT_THAT(loaded("version: 1\n").entries, IsEmpty());
  EXPECT_THAT(loaded("version: 1\nfail:\nskip: []\n").entries, IsEmpty());
}

// A missing reason fails the run, and is no reason not to run.
TEST(BaselineFile, TakesAnEntryWithoutReason) {
  for (const char* reason : {"", ", reason: ''", ", reason: '  '", ", reason:", ", reason: ~"}) {
    const Baseline baseline = loaded("version: 1\nfail: [{case: x" + std::string(reason) + "}]\n");
    ASSERT_THAT(baseline.entries, SizeIs(1)) << reason;
    EXPECT_EQ(baseline.entries[0].reason, "") << reason;
  }
}

struct Wrong {
  const char* text;
  const char* diagnostic;  // how it begins
};

TEST(BaselineFile, SaysWhereAFileIsWrong) {
  const std::vector<Wrong> all = {
      {"fail: [\n", "known.yaml:2:1: this is not YAML: "},
      {"", "known.yaml:1:1: a baseline must be a mapping, not nothing"},
      {"- x\n", "known.yaml:1:1: a baseline must be a mapping"},
      {"fail: []\n", "known.yaml:1:1: a baseline needs the key \"version\""},
      {"version: 2\n", "known.yaml:1:10: version: this program knows version 1"},
      {"version: one\n", "known.yaml:1:10: version must be a whole number"},
      {"version: 1\nfails: []\n",
       "known.yaml:2:1: a baseline has no key \"fails\"; did you mean \"fail\"?"},
      {"version: 1\nversion: 1\n", "known.yaml:2:1: the key \"version\" is twice"},
      {"version: 1\nsut: acme\n", "known.yaml:2:6: sut must be a mapping"},
      {"version: 1\nsut: {names: a}\n", "known.yaml:2:7: sut has no key \"names\""},
      {"version: 1\nsut: {version: 1.10}\n", "known.yaml:2:16: version: YAML does not read 1.10"},
      {"version: 1\nfail: x\n", "known.yaml:2:7: fail must be a list of entries"},
      {"version: 1\nfail: [x]\n", "known.yaml:2:8: an entry of fail must be a mapping"},
      {"version: 1\nfail: [{reason: r}]\n",
       "known.yaml:2:8: an entry of fail needs the key \"case\""},
      {"version: 1\nfail: [{case: x, resaon: r}]\n",
       "known.yaml:2:18: an entry of fail has no key \"resaon\"; did you mean \"reason\"?"},
      {"version: 1\nfail: [{case: x, statuses: [failed]}]\n",
       "known.yaml:2:18: an entry of fail has no key \"statuses\""},
      {"version: 1\nskip: [{case: x, signature: s}]\n",
       "known.yaml:2:18: an entry of skip has no key \"signature\""},
      {"version: 1\nflaky: [{case: x}]\n",
       "known.yaml:2:9: an entry of flaky needs the key \"statuses\""},
      {"version: 1\nflaky: [{case: x, statuses: failed}]\n",
       "known.yaml:2:29: statuses must be a list of texts"},
      {"version: 1\nflaky: [{case: x, statuses: [passed, lost]}]\n",
       "known.yaml:2:38: statuses may have passed, failed and inconclusive, not \"lost\""},
      {"version: 1\nflaky: [{case: x, statuses: [failed, failed]}]\n",
       "known.yaml:2:29: statuses must name at least two of passed, failed and inconclusive"},
      {"version: 1\nfail: [{case: a b}]\n", "known.yaml:2:15: case: \"a b\" is not a case id"},
      {"version: 1\nfail: [{case: ''}]\n", "known.yaml:2:15: case: \"\" is not a case id"},
      {"version: 1\nfail: [{case: 1.20}]\n", "known.yaml:2:15: case: YAML does not read 1.20"},
      {"version: 1\nfail: [{case: x, max: 3}]\n", "known.yaml:2:23: max is only for globs"},
      {"version: 1\nfail: [{case: x*, max: 0}]\n", "known.yaml:2:24: max must be a whole number"},
      {"version: 1\nfail: [{case: x, expires: 2026-02-29}]\n",
       "known.yaml:2:27: expires must be a day that exists, such as 2026-03-01, not"},
      {"version: 1\nfail: [{case: x, expires: 2026-13-01}]\n", "known.yaml:2:27: expires must be"},
      {"version: 1\nfail: [{case: x, expires: 2026-3-01}]\n", "known.yaml:2:27: expires must be"},
      {"version: 1\nfail: [{case: x, expires: 2026-03-+1}]\n", "known.yaml:2:27: expires must be"},
      {"version: 1\nfail: [{case: x, expires: -026-03-01}]\n", "known.yaml:2:27: expires must be"},
      {"version: 1\nfail: [{case: x, expires: 20260301}]\n", "known.yaml:2:27: expires must be"},
      {"version: 1\nfail: [{case: x, expires: [1]}]\n", "known.yaml:2:27: expires must be"},
      {"version: 1\nfail: [{case: x, signature: \"want :1\\r\\n\"}]\n",
       "known.yaml:2:29: signature: a signature cannot have these characters; YAML"},
      {"version: 1\nfail: [{case: x, reason: [r]}]\n", "known.yaml:2:26: reason must be text"},
  };
  for (const Wrong& wrong : all) {
    EXPECT_THAT(diagnostics(wrong.text), ElementsAre(StartsWith(wrong.diagnostic))) << wrong.text;
  }
}

// --- the same case twice ------------------------------------------------------------------------

TEST(BaselineFile, RejectsACaseThatTwoEntriesName) {
  const std::string head = "version: 1\nfail:\n  - {case: set.*, reason: r}\n";
  EXPECT_THAT(overlaps(head + "skip:\n  - {case: set.nx, reason: r}\n", {"set.nx"}),
              ElementsAre("known.yaml:5:5: set.nx is in skip here, and already in fail at "
                          "known.yaml:3: keep one of the two"));
  EXPECT_THAT(
      overlaps(head + "  - {case: '*.nx', reason: r}\n", {"get", "set.nx", "set.a.nx"}),
      ElementsAre(StartsWith("known.yaml:4:5: set.nx is in fail here, and already in fail at")));
  EXPECT_THAT(overlaps(head + "  - {case: '*.nx', reason: r}\n", {"get", "set", "set.a", "nex.nx"}),
              IsEmpty());
  // Twins, even where no case has that id.
  EXPECT_THAT(
      overlaps(head + "flaky:\n  - {case: set.*, reason: r, statuses: [passed, failed]}\n",
               {"get"}),
      ElementsAre(StartsWith("known.yaml:5:5: set.* is in flaky here, and already in fail at")));
}

// --- lists --------------------------------------------------------------------------------------

TEST(BaselineList, HasAGlobOnEachLineAndItsReasonBehindIt) {
  const Baseline baseline = loaded(
      "# Known failures.\n\nset.nex.*  # not honoured, ACME-12\n  get.k#  why not  "
      "\r\n\nbare\n#end",
      "known.txt");
  EXPECT_TRUE(baseline.text_list);
  ASSERT_THAT(baseline.entries, SizeIs(3));
  EXPECT_EQ(baseline.entries[0].list, BaselineList::kFail);
  EXPECT_EQ(baseline.entries[0].cases, "set.nex.*");
  EXPECT_EQ(baseline.entries[0].reason, "not honoured, ACME-12");
  EXPECT_EQ(baseline.entries[0].signature, "");
  EXPECT_EQ(place(baseline.entries[0]), "known.txt:3");
  EXPECT_EQ(baseline.entries[1].cases, "get.k");
  EXPECT_EQ(baseline.entries[1].reason, "why not");
  EXPECT_EQ(baseline.entries[1].position.column, 3);
  EXPECT_EQ(baseline.entries[2].cases, "bare");
  EXPECT_EQ(baseline.entries[2].reason, "");
  EXPECT_THAT(baseline.header, ElementsAre("# Known failures.", ""));
  EXPECT_THAT(baseline.footer, ElementsAre("#end"));
}

TEST(BaselineList, SaysWhereItIsWrong) {
  EXPECT_THAT(diagnostics("good\n version: 1\ntwo globs\n", "known"),
              ElementsAre("known:2:2: \"version: 1\" is not a case id or a glob of case ids; the "
                          "name of a baseline in YAML ends in .yaml",
                          StartsWith("known:3:1: \"two globs\" is not a case id")));
}

// Each is matched with each case.
TEST(BaselineList, HasALimit) {
  std::string lines;
  for (int i = 0; i < 20'001; ++i) lines += "a\n";
  EXPECT_THAT(diagnostics(lines, "known"),
              ElementsAre("known:20001:1: the file has more than 20,000 entries"));
  // A glob of stars takes its length times the length of an id.
  EXPECT_THAT(diagnostics(std::string(301, '*'), "known"),
              ElementsAre(AllOf(HasSubstr("is not a case id"), SizeIs(testing::Le(500U)))));
}

TEST(BaselineList, HasAMillionLinesAtMost) {
  const std::string blank(999'999, '\n');
  EXPECT_THAT(diagnostics(blank + "\nset.*\n", "known"),
              ElementsAre("known:1000001:1: the file has more than 1,000,000 lines"));
  EXPECT_THAT(loaded(blank + "set.*\n", "known").entries, SizeIs(1));
}

TEST(BaselineList, IsWhatAFileIsWhoseNameSaysNothingElse) {
  EXPECT_TRUE(empty_baseline("known").text_list);
  EXPECT_TRUE(empty_baseline("known.yaml.txt").text_list);
  EXPECT_FALSE(empty_baseline("known.yaml").text_list);
  EXPECT_FALSE(empty_baseline("known.yml").text_list);
}

// --- writing ------------------------------------------------------------------------------------

TEST(BaselineFile, IsWrittenLikeThis) {
  EXPECT_EQ(to_text(loaded(kFull)), R"(# Known failures of Acme.
version: 1
sut:
  name: acme-broker
  version: '>=2.1 <2.3'
# must fail, with this signature
fail:
  - case: set.nex
    signature: 'R-1: wrong | want $1\r\na | got it''s'
    reason: NEX
    ticket: ACME-12
    expires: 2026-03-01
  - case: 'scan.*'
    max: 12
    reason: 'SCAN absent'
flaky:
  - case: expiry.late
    statuses: [passed, inconclusive]
    reason: '1 s sweep'
    expires: 2028-02-29
skip:
  - case: crash.1
    reason: crashes
    ticket: ACME-51
)");
}

TEST(BaselineFile, IsReadBackAsItWasWritten) {
  Baseline baseline = empty_baseline("known.yaml");
  for (const std::string reason :
       {"", "yes", "1.20", "it's", "a: b # c", "two\nlines", "tab\t", "\xc3\xa9", "- x", "'", "\"",
        "back\\slash", "~", "null", "2026-01-01"}) {
    baseline.entries.push_back({.cases = "c" + std::to_string(baseline.entries.size()),
                                .signature = R"(a\r\n'"$ #x: | %)",
                                .reason = reason,
                                .ticket = reason});
  }
  const Baseline again = loaded(to_text(baseline));
  ASSERT_THAT(again.entries, SizeIs(baseline.entries.size()));
  for (std::size_t i = 0; i < again.entries.size(); ++i) {
    const std::string& reason = baseline.entries[i].reason;
    EXPECT_EQ(again.entries[i].cases, baseline.entries[i].cases);
    EXPECT_EQ(again.entries[i].signature, baseline.entries[i].signature);
    EXPECT_EQ(again.entries[i].reason, reason == "tab\t" ? "tab" : reason);
    EXPECT_EQ(again.entries[i].ticket, reason);
  }
  EXPECT_EQ(to_text(again).substr(0, 40), to_text(baseline).substr(0, 40));
}

TEST(BaselineFile, KeepsItsCommentsWhereTheyBelong) {
  const std::string text = R"(# Header.

# More of it.
version: 1
# The store.
sut:
  name: acme

# Failures.
fail:
  # About a.
  - case: a
    reason: 'has # no comment'

  # A heading.

  # About b.
  - case: b
    reason: "don't"
# The end.
)";
  std::string expected = text;
  expected.replace(expected.find("\"don't\""), 7, "'don''t'");
  EXPECT_EQ(to_text(loaded(text)), expected);
  EXPECT_EQ(to_text(loaded(expected)), expected);
}

TEST(BaselineFile, KeepsCommentsBehindContent) {
  EXPECT_EQ(to_text(loaded("version: 1  # one\nfail: # must\n"
                           "- {case: a, reason: \"x # y\"} # about a\n"
                           "- case: b # b1\n  reason: it's # b2\n")),
            "# one\nversion: 1\n# must\nfail:\n  # about a\n  - case: a\n    reason: 'x # y'\n"
            "  # b1\n  # b2\n  - case: b\n    reason: 'it''s'\n");
}

TEST(BaselineList, IsWrittenAsAList) {
  const std::string text = "# Header.\n\na.*  # why\n\n# About b.\nb\n# End.\n";
  EXPECT_EQ(to_text(loaded(text, "known.txt")), text);
}

}  // namespace
}  // namespace fencepost::baseline
