#include "report/certificate.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

const std::string kDigest(64, 'a');

class CertificateTest : public testing::Test {
 protected:
  explicit CertificateTest(run::Verdict second = run::Verdict::kSkipped)
      : run_({{.id = "good"}, {.id = "other", .verdict = second, .message = "no"}}) {
    library_.catalogue = test::catalogue();
    context_.command = "'/my tools/fencepost' certify --seed 7";
    run_.result.unspecified_points["R-MAY-1"] = {"a"};
    summarize(run_.result, library_.catalogue, false);
    run_.result.unspecified_points["R-MAY-1"] = {"a"};
  }

  std::string written() { return certificate_json(run_.result, library_, context_, subject_); }
  // Of a certificate that somebody has changed.
  std::string error_of(const std::string& pointer, const json& value) {
    json document = json::parse(written());
    document[json::json_pointer(pointer)] = value;
    const auto read = read_certificate({"c.json", document.dump()});
    return read ? "" : read.error();
  }

  Sample run_;
  scenario::Library library_;
  ReportContext context_ = sample_context();
  CertificateSubject subject_{.name = "Store <b>",
                              .version = "2.1",
                              .owner = "Example",
                              .evidence = "run.fpe",
                              .evidence_sha256 = kDigest,
                              .signing_key = "SHA256:" + std::string(43, 'k')};
};

TEST_F(CertificateTest, SaysWhatTheRunHasShownAndReadsItBack) {
  ASSERT_EQ(why_no_certificate(run_.result, context_), "");
  const auto read = read_certificate({"c.json", written()});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(verdict_word(*read), "conformant");
  EXPECT_EQ(subject_text(read->subject), "Store <b> 2.1 (Example)");
  EXPECT_EQ(read->subject.evidence_sha256, kDigest);
  EXPECT_EQ(read->command, "fencepost certify --seed 7");
  EXPECT_EQ(read->must.kept, 1U);
  EXPECT_EQ(read->bounds.front().second, "1 of 2 cases ran");
  EXPECT_EQ(read->column.seen.at("R-MAY-1"), std::set<std::string>{"a"});
  EXPECT_EQ(json::parse(written()).count("cases"), 0U);
}

TEST_F(CertificateTest, ThePageShowsItAsText) {
  const auto read = read_certificate({"c.json", written()});
  ASSERT_TRUE(read) << read.error();
  EXPECT_THAT(certificate_html(*read, library_.catalogue),
              AllOf(HasSubstr("Store &lt;b&gt; 2.1 (Example)"), Not(HasSubstr("Store <b>")),
                    HasSubstr("1 of 2 cases ran"), HasSubstr("R-MAY-1"), HasSubstr(kDigest)));
}

TEST_F(CertificateTest, IsWorthWhatStandsBehindIt) {
  subject_ = {.name = "Store"};
  const auto read = read_certificate({"c.json", written()});
  ASSERT_TRUE(read) << read.error();
  EXPECT_THAT(worth_of(*read)[0], HasSubstr("not signed"));
  EXPECT_THAT(worth_of(*read)[1], HasSubstr("No evidence"));
}

TEST_F(CertificateTest, TheNameIsThatOfTheEndpointWhereTheOwnerSaysNone) {
  subject_ = {};
  const auto read = read_certificate({"c.json", written()});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->subject.name, "mqtt://host:1883");
}

TEST_F(CertificateTest, OnlyAWholeRunWithAVerdictGetsOne) {
  context_.known_cases = 3;
  EXPECT_EQ(why_no_certificate(run_.result, context_), "2 of 3 cases selected");
  context_.known_cases = 2;
  context_.stopped_because = "3 failures";
  EXPECT_EQ(why_no_certificate(run_.result, context_), "3 failures");
  context_.stopped_because = "";
  run_.result.endpoint_lost = true;
  EXPECT_EQ(why_no_certificate(run_.result, context_), "the endpoint was lost");
  run_.result.endpoint_lost = false;
  EXPECT_EQ(why_no_certificate(run_.result, context_), "");
}

TEST_F(CertificateTest, RefusesWhatNoRunWrites) {
  EXPECT_THAT(error_of("/format", "fencepost"), HasSubstr("c.json: this is not a certificate"));
  EXPECT_THAT(error_of("/format_version", 2), HasSubstr("/format_version"));
  EXPECT_THAT(error_of("/verdict", "not conformant"), HasSubstr("/verdict"));
  EXPECT_THAT(error_of("/exit_code", 1), HasSubstr("/verdict"));
  EXPECT_THAT(error_of("/must/kept", 9), HasSubstr("/must/kept"));
  EXPECT_THAT(error_of("/product/name", "a\nb"), HasSubstr("/product/name"));
  EXPECT_THAT(error_of("/evidence/file", "../run.fpe"), HasSubstr("/evidence/file"));
  EXPECT_THAT(error_of("/evidence/sha256", "A"), HasSubstr("/evidence/sha256"));
  for (const char* part : {"", "SHA256", "SHA256:k"}) {
    EXPECT_THAT(error_of("/signing_key", part), HasSubstr("/signing_key")) << part;
  }
  EXPECT_THAT(error_of("/command", "rm -r /"), HasSubstr("/command"));
  EXPECT_THAT(error_of("/summary/failed", 1), HasSubstr("changed after it was written"));
  EXPECT_THAT(error_of("/requirements/0/state", "broken"), HasSubstr("more rules are kept"));
}

class FailedCertificateTest : public CertificateTest {
 protected:
  FailedCertificateTest() : CertificateTest(run::Verdict::kFailed) {}
};

TEST_F(FailedCertificateTest, ARunThatFailedHasOneThatSaysSo) {
  ASSERT_EQ(why_no_certificate(run_.result, context_), "");
  const auto read = read_certificate({"c.json", written()});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(verdict_word(*read), "not conformant");
  EXPECT_THAT(certificate_html(*read, library_.catalogue),
              AllOf(HasSubstr("Not conformant"), HasSubstr("Broken rules"), HasSubstr("R-MUST-1")));
}

}  // namespace
}  // namespace fencepost::report
