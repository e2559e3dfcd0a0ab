#include "base/text/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pugixml.hpp>

namespace fencepost::text {
namespace {

using testing::HasSubstr;
using testing::Not;

pugi::xml_document read(const std::string& xml) {
  pugi::xml_document out;
  const auto outcome = out.load_buffer(xml.data(), xml.size());
  EXPECT_TRUE(outcome) << outcome.description();
  return out;
}

TEST(Junit, IsInOneForm) {
  const std::string xml = junit(
      {{.name = "set",
        .timestamp = "2026-01-01T00:00:00Z",
        .hostname = "host",
        .properties = {{"seed", "7"}},
        .cases = {{.name = "good", .classname = "statestore.set", .time = std::chrono::seconds(1)},
                  {.name = "bad",
                   .classname = "statestore.set",
                   .time = std::chrono::microseconds(1500),
                   .outcome = JunitOutcome::kFailure,
                   .type = "MUST",
                   .message = "wrong",
                   .text = "a\nb\n",
                   .properties = {{"title", "t"}},
                   .outputs = {{"packets", "p\n"}}}}}});
  EXPECT_EQ(xml, R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="set" tests="2" failures="1" errors="0" skipped="0" time="1.002" )"
                 R"(timestamp="2026-01-01T00:00:00" hostname="host" package="statestore" id="0">
    <properties>
      <property name="seed" value="7" />
      <property name="bad: title" value="t" />
    </properties>
    <testcase name="good" classname="statestore.set" time="1.000" />
    <testcase name="bad" classname="statestore.set" time="0.002">
      <failure type="MUST" message="wrong">a
b
</failure>
    </testcase>
    <system-out>bad: packets
p

</system-out>
    <system-err />
  </testsuite>
</testsuites>
)");
}

TEST(Junit, CountsOutcomesAndTakesTheTimeThatASuiteSays) {
  const auto document = read(junit({{.name = "a"},
                                    {.name = "b",
                                     .time = std::chrono::seconds(9),
                                     .cases = {{.name = "1", .outcome = JunitOutcome::kError},
                                               {.name = "2", .outcome = JunitOutcome::kSkipped},
                                               {.name = "3", .time = std::chrono::seconds(1)}}}}));
  const pugi::xml_node suite = document.child("testsuites").last_child();
  EXPECT_STREQ(suite.attribute("id").value(), "1");
  EXPECT_STREQ(suite.attribute("tests").value(), "3");
  EXPECT_STREQ(suite.attribute("failures").value(), "0");
  EXPECT_STREQ(suite.attribute("errors").value(), "1");
  EXPECT_STREQ(suite.attribute("skipped").value(), "1");
  EXPECT_STREQ(suite.attribute("time").value(), "9.000");
  EXPECT_STREQ(suite.attribute("hostname").value(), "localhost");
}

TEST(Junit, GivesTwoTestsOfOneNameTwoNamesInAllSuites) {
  const std::string xml = junit({{.name = "a", .cases = {{.name = "one"}, {.name = "one"}}},
                                 {.name = "b", .cases = {{.name = "one"}, {.name = "o\nne"}}}});
  EXPECT_THAT(xml, HasSubstr("name=\"one #2\""));
  EXPECT_THAT(xml, HasSubstr("name=\"one #3\""));
  EXPECT_THAT(xml, HasSubstr("name=\"o ne\""));
}

TEST(Junit, HoldsAnyBytesAndCutsWhatIsLong) {
  const std::string xml = junit({{.name = "a\x01",
                                  .cases = {{.name = "n\xff",
                                             .classname = "c",
                                             .outcome = JunitOutcome::kFailure,
                                             .type = "t\x02",
                                             .message = std::string(5'000, 'm'),
                                             .text = std::string(50'000, 't')}}}});
  const auto document = read(xml);
  const pugi::xml_node test = document.child("testsuites").first_child().child("testcase");
  EXPECT_STREQ(test.attribute("name").value(), "n\\xff");
  EXPECT_STREQ(test.child("failure").attribute("type").value(), "t\\x02");
  EXPECT_LE(std::string(test.child("failure").attribute("message").value()).size(), 2'000U);
  EXPECT_LE(std::string(test.child("failure").text().get()).size(), 20'000U);
}

TEST(Junit, LeavesOutTextsThatTheFileHasNoRoomFor) {
  JunitSuite suite{.name = "a"};
  for (int i = 0; i < 3; ++i) {
    suite.cases.push_back({.name = "c", .outputs = {{"packets", std::string(2'400'000, '&')}}});
  }
  const std::string xml = junit({suite});
  EXPECT_LT(xml.size(), 30'000'000U);
  EXPECT_THAT(xml.substr(xml.size() - 300), HasSubstr("c #3: packets\n(left out to keep"));
  EXPECT_THAT(xml, Not(HasSubstr("c #2: packets\n&amp;")));
}

}  // namespace
}  // namespace fencepost::text
