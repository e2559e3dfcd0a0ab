#include "report/site.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report_sample.h"

namespace fencepost::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SiteCertificate certificate(const std::string& name, const std::string& version,
                            const std::string& started, run::Verdict verdict) {
  Sample run({{.id = "good"}, {.id = "other", .verdict = verdict, .message = "no"}});
  scenario::Library library;
  library.catalogue = test::catalogue();
  summarize(run.result, library.catalogue, false);
  ReportContext context = sample_context();
  context.started = started;
  const std::string json = certificate_json(run.result, library, context,
                                            {.name = name, .version = version, .owner = "<i>"});
  auto read = read_certificate({name + ".json", json});
  EXPECT_TRUE(read) << (read ? "" : read.error());
  return {*read, json, "signature\n"};
}

std::map<std::string, std::string> site(std::vector<SiteCertificate> all) {
  std::map<std::string, std::string> out;
  for (const SiteFile& file : site_of(std::move(all), test::catalogue())) {
    EXPECT_TRUE(out.emplace(file.path, file.content).second) << file.path;
  }
  return out;
}

TEST(Site, HasAPageForEachImplementationAndItsHistory) {
  const SiteCertificate before =
      certificate("A store", "1", "2026-01-01T00:00:00Z", run::Verdict::kFailed);
  const SiteCertificate now =
      certificate("A store", "2", "2026-02-01T00:00:00Z", run::Verdict::kPassed);
  auto files = site({before, now, now});
  EXPECT_EQ(files.size(), 10U);
  EXPECT_EQ(files["certificates/a-store-1.json"], before.json);
  EXPECT_EQ(files["certificates/a-store-2.json"], now.json);
  EXPECT_EQ(files["certificates/a-store-2.json.sig"], "signature\n");
  EXPECT_THAT(files["index.html"], AllOf(HasSubstr("1 implementation"), HasSubstr("1/1")));
  EXPECT_THAT(files["store-a-store.html"], AllOf(HasSubstr("no longer broken: R-MUST-1"),
                                                 HasSubstr("certificates/a-store-1.html")));
  EXPECT_THAT(files["badges/a-store.svg"], HasSubstr("conformant, 1/1 MUST"));
  EXPECT_THAT(files["rules.html"], HasSubstr("R-MUST-1"));
}

TEST(Site, NamesOfOthersAreTextAndNoPaths) {
  const std::string hostile = "../<script>x</script>\"";
  auto files = site({certificate(hostile, "1", "2026-01-01T00:00:00Z", run::Verdict::kFailed),
                     certificate("script x script", "1", "x", run::Verdict::kFailed),
                     certificate("--", "1", "x", run::Verdict::kFailed)});
  for (const auto& [path, content] : files) {
    EXPECT_THAT(path, Not(HasSubstr(".."))) << path;
    if (path.ends_with(".json")) continue;
    EXPECT_THAT(content, AllOf(Not(HasSubstr("<script>x")), Not(HasSubstr("<i>")))) << path;
  }
  EXPECT_TRUE(files.contains("store-script-x-script.html"));
  EXPECT_TRUE(files.contains("store-script-x-script-2.html"));
  EXPECT_TRUE(files.contains("store-unnamed.html"));
}

}  // namespace
}  // namespace fencepost::report
