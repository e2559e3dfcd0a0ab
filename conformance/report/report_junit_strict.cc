// The JUnit report for readers that validate: what both junit-10.xsd of Jenkins' xUnit plugin and
// windyroad's JUnit.xsd take. They refuse attributes and elements that they do not know, so what
// lenient readers make use of has to go, or to stand elsewhere.

#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/check.h"
#include "conformance/report/report.h"

namespace fencepost::report {
namespace {

// What a suite of a strict file says at its end.
std::string take_out(pugi::xml_node test) {
  std::string out;
  const char* name = test.attribute("name").value();
  const pugi::xml_node properties = test.child("properties");
  for (const pugi::xml_node property : properties.children("property")) {
    if (std::string_view(property.attribute("name").value()) != "warning") continue;
    out += fmt::format("{}: warning\n{}\n", name, property.attribute("value").value());
  }
  if (const pugi::xml_node packets = test.child("system-out"); packets) {
    out += fmt::format("{}: packets\n{}\n", name, packets.text().get());
  }
  test.remove_child("properties");
  test.remove_child("system-out");
  test.remove_attribute("file");
  test.remove_attribute("line");
  return out;
}

// windyroad's schema wants no time zone; the other one takes any text.
std::string without_zone(std::string time) {
  if (time.ends_with('Z')) time.pop_back();
  return time;
}

// Jenkins takes three digits behind the point.
void shorten_time(pugi::xml_node node) {
  pugi::xml_attribute time = node.attribute("time");
  const std::string seconds = time.value();
  FENCEPOST_CHECK(seconds.size() > 3);
  time = seconds.substr(0, seconds.size() - 3).c_str();
}

void make_strict(pugi::xml_node suite, std::size_t number) {
  suite.remove_attribute("file");
  suite.append_attribute("package") = "statestore";
  suite.append_attribute("id") = number;
  pugi::xml_attribute timestamp = suite.attribute("timestamp");
  timestamp = without_zone(timestamp.value()).c_str();
  if (!suite.child("properties")) suite.prepend_child("properties");
  std::string output;
  shorten_time(suite);
  for (const pugi::xml_node test : suite.children("testcase")) {
    shorten_time(test);
    output += take_out(test);
  }
  suite.append_child("system-out").text().set(output.c_str());
  suite.append_child("system-err");
}

}  // namespace

std::string strict_junit(const std::string& junit) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(
      junit.data(), junit.size(), pugi::parse_default | pugi::parse_declaration);
  FENCEPOST_CHECK(parsed);
  pugi::xml_node root = document.child("testsuites");
  root.remove_attributes();
  std::size_t number = 0;
  for (const pugi::xml_node suite : root.children("testsuite")) make_strict(suite, number++);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fencepost::report
