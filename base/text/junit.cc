#include "base/text/junit.h"

#include <cstddef>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/text/printable.h"

namespace fencepost::text {
namespace {

// GitLab refuses files of more than 30 MB. Texts and outputs share this much of it; what is left is
// enough for thousands of cases, which need about a kilobyte each.
constexpr std::size_t kMaxBytesOfTexts = 20'000'000;
constexpr std::size_t kMaxBytesOfOneText = 20'000;
constexpr std::size_t kMaxBytesOfOneMessage = 2'000;

// As much of any text as one attribute may be.
std::string message_text(std::string_view text) {
  return shortened(printable(text), kMaxBytesOfOneMessage);
}

// Jenkins takes three digits behind the point.
std::string seconds(std::chrono::microseconds time) {
  return fmt::format("{:.3f}", static_cast<double>(time.count()) / 1e6);
}

// windyroad's schema wants no time zone.
std::string without_zone(std::string time) {
  if (time.ends_with('Z')) time.pop_back();
  return time;
}

// What the text takes in the file.
std::size_t escaped_size(std::string_view text) {
  std::size_t size = text.size();
  for (const char c : text) size += c == '&' || c == '<' || c == '>' ? 4 : 0;
  return size;
}

const char* element_of(JunitOutcome outcome) {
  switch (outcome) {
    case JunitOutcome::kSkipped:
      return "skipped";
    case JunitOutcome::kFailure:
      return "failure";
    case JunitOutcome::kError:
      return "error";
    case JunitOutcome::kPassed:
      break;
  }
  return "";
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = printable(value).c_str();
}

class Writer {
 public:
  // The schemas want all of a suite, and in this order.
  void add(pugi::xml_node root, const JunitSuite& suite) {
    pugi::xml_node node = root.append_child("testsuite");
    set(node, "name", suite.name);
    add_counts(node, suite);
    set(node, "timestamp", without_zone(suite.timestamp));
    set(node, "hostname", suite.hostname);
    node.append_attribute("package") = "statestore";
    node.append_attribute("id") = suites_++;
    pugi::xml_node properties = node.append_child("properties");
    for (const auto& [name, value] : suite.properties) add_property(properties, name, value);
    std::string output;
    for (const JunitCase& each : suite.cases) {
      const std::string name = unique(one_line(each.name));
      for (const auto& [what, value] : each.properties) {
        add_property(properties, fmt::format("{}: {}", name, what), value);
      }
      add(node, each, name);
      for (const auto& [what, lines] : each.outputs) {
        output += fmt::format("{}: {}\n{}\n", name, what, within_budget(printable(lines)));
      }
    }
    node.append_child("system-out").text().set(output.c_str());
    node.append_child("system-err");
  }

 private:
  static void add_counts(pugi::xml_node node, const JunitSuite& suite) {
    const auto count = [&](const char* name, JunitOutcome outcome) {
      std::size_t found = 0;
      for (const JunitCase& each : suite.cases) found += each.outcome == outcome ? 1 : 0;
      node.append_attribute(name) = found;
    };
    std::chrono::microseconds time{0};
    for (const JunitCase& each : suite.cases) time += each.time;
    node.append_attribute("tests") = suite.cases.size();
    count("failures", JunitOutcome::kFailure);
    count("errors", JunitOutcome::kError);
    count("skipped", JunitOutcome::kSkipped);
    set(node, "time", seconds(suite.time.value_or(time)));
  }

  static void add_property(pugi::xml_node properties, const std::string& name,
                           const std::string& value) {
    pugi::xml_node property = properties.append_child("property");
    set(property, "name", name);
    property.append_attribute("value") = message_text(value).c_str();
  }

  void add(pugi::xml_node suite, const JunitCase& each, const std::string& name) {
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "name", name);
    set(test, "classname", each.classname);
    set(test, "time", seconds(each.time));
    if (each.outcome == JunitOutcome::kPassed) return;
    pugi::xml_node child = test.append_child(element_of(each.outcome));
    if (each.outcome != JunitOutcome::kSkipped) set(child, "type", each.type);
    child.append_attribute("message") = message_text(each.message).c_str();
    const std::string text = within_budget(shortened(printable(each.text), kMaxBytesOfOneText));
    if (!text.empty()) child.text().set(text.c_str());
  }

  std::string unique(const std::string& wanted) {
    std::string found = wanted;
    for (int number = 2; !names_.insert(found).second; ++number) {
      found = fmt::format("{} #{}", wanted, number);
    }
    return found;
  }

  // The text, while the file has room for it.
  std::string within_budget(std::string text) {
    const std::size_t size = escaped_size(text);
    if (bytes_of_texts_ + size > kMaxBytesOfTexts) {
      return "(left out to keep this file small; the JSON report has it)\n";
    }
    bytes_of_texts_ += size;
    return text;
  }

  std::set<std::string> names_;
  std::size_t suites_ = 0;
  std::size_t bytes_of_texts_ = 0;
};

}  // namespace

std::string junit(const std::vector<JunitSuite>& suites) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  Writer writer;
  for (const JunitSuite& suite : suites) writer.add(root, suite);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fencepost::text
