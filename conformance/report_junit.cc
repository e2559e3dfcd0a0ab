#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "conformance/report.h"

namespace fencepost::conformance {
namespace {

// The bytes of the character at the beginning of `text`, when it is one that XML 1.0 can hold and
// its UTF-8 is right; 0 when not.
std::size_t xml_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) {
    return (byte(0) >= 0x20 && byte(0) != 0x7f) || text[0] == '\n' || text[0] == '\t' ? 1 : 0;
  }
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = byte(0) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool legal =
      code >= kLeast[length] && code <= 0x10ffff && !surrogate && code != 0xfffe && code != 0xffff;
  return legal ? length : 0;
}

// XML 1.0 cannot hold most control characters, not even escaped, nor bytes that are no UTF-8.
std::string xml_safe(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = xml_character(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

// The level of what failed, as people know it from standards: MUST, SHOULD, MAY.
std::string level_of_failure(const CaseResult& result, const Catalogue& catalogue) {
  const Requirement* requirement = catalogue.find(result.requirement);
  const Level level =
      requirement != nullptr ? requirement->level : catalogue.level_of(*result.test_case);
  std::string text(name(level));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return text;
}

std::string seconds(std::chrono::microseconds time) {
  return fmt::format("{:.6f}", static_cast<double>(time.count()) / 1e6);
}

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  std::chrono::microseconds time{0};

  void add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
    time += other.time;
  }
};

void set_counts(pugi::xml_node node, const Counts& counts) {
  node.append_attribute("tests") = counts.tests;
  node.append_attribute("failures") = counts.failures;
  node.append_attribute("errors") = counts.errors;
  node.append_attribute("skipped") = counts.skipped;
  node.append_attribute("time") = seconds(counts.time).c_str();
}

void add_property(pugi::xml_node properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  property.append_attribute("name") = name;
  property.append_attribute("value") = xml_safe(value).c_str();
}

std::string failure_text(const CaseResult& result, const Catalogue& catalogue,
                         const ReportContext& context) {
  const Requirement* requirement = catalogue.find(result.requirement);
  std::string text;
  if (requirement != nullptr) text += requirement->id + ": " + requirement->text + "\n";
  if (result.step > 0) {
    text +=
        fmt::format("step {} at {}:{}\n", result.step, result.position.file, result.position.line);
  }
  if (!result.expected.empty()) text += "expected: " + result.expected + "\n";
  if (!result.actual.empty()) text += "actual:   " + result.actual + "\n";
  text += "reproduce: " + reproduce_command(context, *result.test_case) + "\n";
  return text;
}

void add_child(pugi::xml_node test, const char* kind, const std::string& type,
               const std::string& message, const std::string& text) {
  pugi::xml_node child = test.append_child(kind);
  child.append_attribute("message") = xml_safe(message).c_str();
  if (!type.empty()) child.append_attribute("type") = type.c_str();
  if (!text.empty()) child.text().set(xml_safe(text).c_str());
}

// Adds the one child that says why a test is not simply passed, if it is not.
void add_outcome(pugi::xml_node test, const CaseResult& result, const Catalogue& catalogue,
                 const ReportContext& context, Counts& counts) {
  const std::string text = failure_text(result, catalogue, context);
  switch (result.verdict) {
    case Verdict::kPassed:
      return;
    case Verdict::kSkipped:
      ++counts.skipped;
      add_child(test, "skipped", "", result.message, "");
      return;
    case Verdict::kExpectedFailure:
      ++counts.skipped;
      add_child(test, "skipped", "xfail", "KF: " + result.baseline, "");
      return;
    case Verdict::kFailed:
      if (is_warning(result, catalogue, context.strict)) return;
      ++counts.failures;
      add_child(test, "failure", level_of_failure(result, catalogue), result.message, text);
      return;
    case Verdict::kInconclusive:
    case Verdict::kLost:
    case Verdict::kNotRun:
      ++counts.errors;
      add_child(test, "error", std::string(name(result.verdict)),
                result.message.empty() ? "the run ended before this case" : result.message, text);
      return;
  }
}

Counts add_case(pugi::xml_node suite, const CaseResult& result, const Catalogue& catalogue,
                const ReportContext& context) {
  const Case& test_case = *result.test_case;
  Counts counts{.tests = 1, .time = result.duration};
  pugi::xml_node test = suite.append_child("testcase");
  test.append_attribute("name") = xml_safe(test_case.id + " " + test_case.title).c_str();
  test.append_attribute("classname") = ("statestore." + test_case.area).c_str();
  test.append_attribute("time") = seconds(result.duration).c_str();
  test.append_attribute("file") = test_case.position.file.c_str();
  test.append_attribute("line") = test_case.position.line;
  pugi::xml_node properties = test.append_child("properties");
  for (const std::string& id : test_case.requirements) add_property(properties, "requirement", id);
  add_property(properties, "level", std::string(name(catalogue.level_of(test_case))));
  add_outcome(test, result, catalogue, context, counts);
  const bool warning =
      result.verdict == Verdict::kFailed && is_warning(result, catalogue, context.strict);
  if (warning) add_property(properties, "warning", failure_text(result, catalogue, context));
  if (result.verdict == Verdict::kFailed || result.verdict == Verdict::kInconclusive) {
    std::string lines;
    for (const TranscriptEntry& entry : result.transcript) lines += to_line(entry) + "\n";
    test.append_child("system-out").text().set(xml_safe(lines).c_str());
  }
  return counts;
}

}  // namespace

std::string to_junit(const SuiteResult& result, const Catalogue& catalogue,
                     const ReportContext& context) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = "fencepost";
  std::map<std::string, std::pair<pugi::xml_node, Counts>> suites;
  for (const CaseResult& entry : result.cases) {
    auto [found, inserted] = suites.try_emplace(entry.test_case->area);
    auto& [suite, counts] = found->second;
    if (inserted) {
      suite = root.append_child("testsuite");
      suite.append_attribute("name") = entry.test_case->area.c_str();
      suite.append_attribute("timestamp") = context.started.c_str();
      suite.append_attribute("hostname") = xml_safe(context.endpoint).c_str();
      suite.append_attribute("file") = entry.test_case->position.file.c_str();
      pugi::xml_node properties = suite.append_child("properties");
      add_property(properties, "endpoint", context.endpoint);
      add_property(properties, "profile", std::string(name(context.profile)));
      add_property(properties, "dialect_observed", observed_dialect(result));
      add_property(properties, "seed", std::to_string(context.seed));
    }
    counts.add(add_case(suite, entry, catalogue, context));
  }
  Counts total;
  for (auto& [area, entry] : suites) {
    set_counts(entry.first, entry.second);
    total.add(entry.second);
  }
  total.time = result.duration;
  set_counts(root, total);
  root.append_attribute("timestamp") = context.started.c_str();
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fencepost::conformance
