#include "report/page/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page/clients_page.h"

namespace fencepost::page {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<scenario::SourceFile>& files() {
  static const std::vector<scenario::SourceFile> kFiles = {
      {.name = "a.html", .content = "<p title=\"{{policy}}\">{{one}}</p>\n"},
      {.name = "b.html", .content = "{{style}}{{script}}{{one}}"},
      {.name = "a.css", .content = "a{}"},
      {.name = "a.js", .content = "f();"}};
  return kFiles;
}

TEST(FillPage, PutsValuesInTheirPlacesAndSearchesNone) {
  const std::string page = fill_page(files(), {{"one", "{{two}}"}});
  EXPECT_THAT(page, HasSubstr(">{{two}}</p>\na{}f();{{two}}"));
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'; style-src 'sha256-"),
                          HasSubstr("script-src 'sha256-")));
}

TEST(VerdictPage, HasTheVerdictOnTopAsText) {
  const auto page = [](const std::string& version) {
    return verdict_page(
        clients_page_files(), {"failed", "✗", "Not <b>", "1 & 2"},
        {.product = "a \"b\"", .main = "rest", .document = "<i>", .version = version},
        {{"facts", "<p>f</p>"}, {"findings", ""}, {"kept", ""}});
  };
  EXPECT_THAT(
      page("1.0"),
      AllOf(HasSubstr("<meta name=\"generator\" content=\"Fencepost 1.0\">\n<title>✗ &lt;i&gt; "
                      "(Fencepost)</title>"),
            HasSubstr("data-verdict=\"failed\""), HasSubstr("Not &lt;b&gt;</span></h1>"),
            HasSubstr("<p class=\"lead\">1 &amp; 2</p>\n<p>f</p>"),
            HasSubstr("Skip to the rest</a>"), HasSubstr("a &quot;b&quot;")));
  EXPECT_THAT(page(""), Not(HasSubstr("generator")));
}

}  // namespace
}  // namespace fencepost::page
