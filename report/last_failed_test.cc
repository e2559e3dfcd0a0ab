#include "report/last_failed.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.h"
#include "report/report.h"
#include "report/report_sample.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class LastFailedTest : public testing::Test {
 protected:
  [[nodiscard]] std::string report(const std::string& content) const {
    return folder_.write("r.json", content).string();
  }
  [[nodiscard]] std::string sample_report() const {
    const Sample run = every_verdict();
    return report(to_json(run.result, test::catalogue(), sample_context()));
  }

  test::TemporaryFolder folder_;
};

TEST_F(LastFailedTest, IsWhatFailedOrWasInconclusiveAndNotWhatOnlyWarns) {
  const auto ids = last_failed(sample_report(), {});
  ASSERT_TRUE(ids) << ids.error();
  EXPECT_THAT(*ids, ElementsAre("bad", "late"));
}

TEST_F(LastFailedTest, OfItWhatAnyGlobMatches) {
  EXPECT_THAT(*last_failed(sample_report(), {"late", "no*", "b?d", "good"}),
              ElementsAre("bad", "late"));
  EXPECT_THAT(*last_failed(sample_report(), {"good"}), IsEmpty());
}

TEST_F(LastFailedTest, EntriesOfAnyShapeAreNoFailures) {
  for (const char* cases : {"[]", R"([{"verdict": 5, "id": []}, 7, null, [], {}])",
                            R"([{"verdict": "passed", "id": "a"}])"}) {
    const auto ids = last_failed(report(std::string(R"({"cases": )") + cases + "}"), {});
    ASSERT_TRUE(ids) << ids.error();
    EXPECT_THAT(*ids, IsEmpty()) << cases;
  }
}

TEST_F(LastFailedTest, RefusesWhatIsNoReport) {
  for (const char* content : {"", "{}", "{", "[]", "7", R"({"cases": {}})", R"({"cases": 1})"}) {
    const std::string path = report(content);
    EXPECT_EQ(last_failed(path, {}).error(),
              "--last-failed " + path + ": this is not a JSON report of certify");
  }
  const std::string nowhere = (folder_.path() / "none.json").string();
  EXPECT_THAT(last_failed(nowhere, {}).error(), StartsWith("--last-failed cannot read " + nowhere));
}

TEST_F(LastFailedTest, RefusesAFileThatWouldTakeTooMuchMemory) {
  std::string content = R"({"cases": [0)";
  while (json_limit_broken(content).empty()) content += std::string(content.size(), ',');
  EXPECT_THAT(last_failed(report(content), {}).error(), HasSubstr(kTooManyValues));
}

}  // namespace
}  // namespace fencepost::report
