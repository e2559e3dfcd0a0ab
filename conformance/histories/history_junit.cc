#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/bytes.h"
#include "conformance/histories/checked_history.h"
#include "conformance/text/printable.h"
#include "conformance/text/text_wrap.h"

namespace fencepost::histories {
namespace {

using history::Answer;

constexpr std::size_t kMostTests = 1000;        // for keys that are ok
constexpr std::size_t kMostBytesOfName = 200;   // of a key
constexpr std::size_t kMostLinesOfTest = 1000;  // operations of a violation

struct JunitCounts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  double seconds = 0;
};

void append_counts(pugi::xml_node node, const JunitCounts& counts) {
  node.append_attribute("tests") = counts.tests;
  node.append_attribute("failures") = counts.failures;
  node.append_attribute("errors") = counts.errors;
  node.append_attribute("skipped") = 0;
  node.append_attribute("time") = fmt::format("{:.6f}", counts.seconds).c_str();
}

class HistorySuite {
 public:
  HistorySuite(const CheckedHistory& checked, const scenario::Catalogue& catalogue)
      : checked_(checked), catalogue_(catalogue) {}

  // Appends the suite to `root`.
  JunitCounts write(pugi::xml_node root) {
    suite_ = root.append_child("testsuite");
    suite_.append_attribute("name") = text::printable(checked_.file).c_str();
    const std::size_t good = checked_.count(Answer::kOk);
    const bool each = good <= kMostTests;
    counts_.tests = checked_.keys.size() - (each ? 0 : good - 1);
    counts_.failures = checked_.count(Answer::kViolation);
    counts_.errors = checked_.count(Answer::kUnknown);
    counts_.tests += checked_.whole.size();
    for (const history::Verdict& verdict : checked_.whole) {
      ++(verdict.answer == Answer::kViolation ? counts_.failures : counts_.errors);
    }
    counts_.seconds = checked_.seconds;
    append_counts(suite_, counts_);
    if (!each) add_test(text::counted(good, "key") + " that are ok");
    for (const history::KeyVerdict& key : checked_.keys) {
      if (key.verdict.answer == Answer::kOk && !each) continue;
      add_outcome(key.verdict, add_test("key \"" + escape(key.key, kMostBytesOfName) + '"'));
    }
    for (const history::Verdict& verdict : checked_.whole) {
      add_outcome(verdict,
                  add_test(verdict.requirement.empty() ? "all requests" : verdict.requirement));
    }
    return counts_;
  }

 private:
  // Readers drop the second of two tests with one name.
  pugi::xml_node add_test(const std::string& name) {
    std::string unique = name;
    for (int number = 2; !names_.insert(unique).second; ++number) {
      unique = fmt::format("{} #{}", name, number);
    }
    pugi::xml_node test = suite_.append_child("testcase");
    test.append_attribute("name") = unique.c_str();
    test.append_attribute("classname") = "statestore.history";
    test.append_attribute("time") = "0.000000";
    return test;
  }

  void add_outcome(const history::Verdict& verdict, pugi::xml_node test) const {
    if (verdict.answer == Answer::kOk) return;
    const bool violation = verdict.answer == Answer::kViolation;
    pugi::xml_node child = test.append_child(violation ? "failure" : "error");
    const scenario::Requirement* rule = catalogue_.find(verdict.requirement);
    const bool should = rule != nullptr && rule->level == scenario::Level::kShould;
    child.append_attribute("type") = violation ? (should ? "SHOULD" : "MUST") : "unknown";
    const std::string message =
        violation ? verdict.requirement + ": " + verdict.text : verdict.text;
    child.append_attribute("message") = text::one_line(message).c_str();
    std::string lines;
    if (rule != nullptr) lines += rule->text + "\n";
    if (const std::string values = values_text(verdict); !values.empty()) lines += values + "\n";
    std::size_t written = 0;
    for (const std::string& line : witness_lines(checked_, verdict.operations)) {
      if (++written <= kMostLinesOfTest) lines += line + "\n";
    }
    if (!lines.empty()) child.text().set(text::printable(lines).c_str());
  }

  const CheckedHistory& checked_;
  const scenario::Catalogue& catalogue_;
  pugi::xml_node suite_{};
  JunitCounts counts_{};
  std::set<std::string> names_{};
};

}  // namespace

std::string junit(const std::vector<CheckedHistory>& all, const scenario::Catalogue& catalogue) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  JunitCounts total;
  for (const CheckedHistory& one : all) {
    const JunitCounts counts = HistorySuite(one, catalogue).write(root);
    total.tests += counts.tests;
    total.failures += counts.failures;
    total.errors += counts.errors;
    total.seconds += counts.seconds;
  }
  root.append_attribute("name") = "fencepost check";
  append_counts(root, total);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fencepost::histories
