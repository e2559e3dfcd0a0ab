#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "conformance/report/findings.h"
#include "conformance/report/report.h"
#include "conformance/report/stress_section.h"
#include "conformance/text/printable.h"
#include "endpoint/url.h"

namespace fencepost::report {
namespace {

// GitLab refuses files of more than 30 MB. Texts and transcripts of failures share this much of it;
// what is left is enough for thousands of cases, which need about a kilobyte each.
constexpr std::size_t kMaxBytesOfTexts = 20'000'000;
constexpr std::size_t kMaxBytesOfOneTranscript = 256'000;
constexpr std::size_t kMaxBytesOfOneText = 20'000;
constexpr std::size_t kMaxBytesOfOneMessage = 2'000;
constexpr std::size_t kMaxBytesOfOneForm = 120;  // in a message
constexpr std::size_t kMaxJunitIds = 100;        // of the other cases of a difference

// As much of any text as one attribute may be.
std::string message_text(std::string_view text) {
  return text::shortened(text::printable(text), kMaxBytesOfOneMessage);
}

std::string junit_seconds(std::chrono::microseconds time) {
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

constexpr std::array kCountAttributes = {"tests", "failures", "errors", "skipped", "time"};

// Of a node that counted() has prepared.
void set_counts(pugi::xml_node node, const Counts& counts) {
  node.attribute("tests") = counts.tests;
  node.attribute("failures") = counts.failures;
  node.attribute("errors") = counts.errors;
  node.attribute("skipped") = counts.skipped;
  node.attribute("time") = junit_seconds(counts.time).c_str();
}

void add_property(pugi::xml_node properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  property.append_attribute("name") = name;
  property.append_attribute("value") = message_text(value).c_str();
}

struct Outcome {
  const char* kind;  // skipped, failure or error
  std::string type{};
  std::string message{};
  std::string text{};
};

void add_outcome(pugi::xml_node test, const Outcome& outcome) {
  pugi::xml_node child = test.append_child(outcome.kind);
  if (!outcome.type.empty()) child.append_attribute("type") = outcome.type.c_str();
  child.append_attribute("message") = message_text(outcome.message).c_str();
  if (!outcome.text.empty()) child.text().set(outcome.text.c_str());
}

// Which difference explains a failed case, and as which of its cases, from 0.
struct Explained {
  const Difference* difference = nullptr;
  std::size_t at = 0;
};

// The bytes of a reply without the line feed at their end: `-1 (not applied)`.
std::string shown_form(std::string_view form) {
  constexpr std::string_view kLineBreak = R"(\r\n)";
  std::string out(form);
  for (std::size_t at = out.find(kLineBreak); at != std::string::npos;
       at = out.find(kLineBreak, at)) {
    const bool last = out.find(kLineBreak, at + 1) == std::string::npos;
    out.replace(at, kLineBreak.size(), last || out[at + kLineBreak.size()] == ' ' ? "" : " ");
  }
  return text::shortened(out, kMaxBytesOfOneForm);
}

// "SET-NX-2: expected -1 (not applied)  or  :-1, got +OK (step 2); D1, 1 of 34 failures": in a list
// of failures it is this line that tells one from another.
std::string message_of(const Explained& explained, const run::CaseResult& result) {
  const Difference& found = *explained.difference;
  std::string out = found.rule_id + ": ";
  const bool compared = !result.failure.expected.empty() && !result.failure.actual.empty();
  if (!compared || result.failure.kind != judge::Mismatch::kReply) {
    out += result.failure.message + (compared ? ": " : "");
  }
  if (compared) {
    out += fmt::format("expected {}, got {}", shown_form(result.failure.expected),
                       shown_form(result.failure.actual));
  }
  if (result.failure.step > 0) out += fmt::format(" (step {})", result.failure.step);
  out += "; difference " + found.name;
  const std::size_t cases = found.failing().size();
  if (cases > 1 && explained.at < cases) {
    out += fmt::format(", {} of {} failures", explained.at + 1, cases);
  }
  return text::one_line(out);
}

// How a case stands to the others of its difference, a line.
std::string relation(const Explained& explained) {
  const Difference& found = *explained.difference;
  if (explained.at == 0) {
    const std::string others = others_of(found, kMaxJunitIds);
    return others.empty() ? "" : fmt::format("difference {}: {}\n", found.name, others);
  }
  return fmt::format("difference {}: shown best by {}, which has the messages{}\n", found.name,
                     found.cases.front()->test_case->id,
                     found.blocks(*found.cases[explained.at])
                         ? "; this case does not come to what it checks"
                         : "");
}

// The one child that says why a test is not simply passed; nothing when it is.
std::optional<Outcome> outcome_of(const run::CaseResult& result, const Explained& explained,
                                  const scenario::Catalogue& catalogue,
                                  const ReportContext& context) {
  if (result.verdict == run::Verdict::kSkipped)
    return Outcome{"skipped", "", result.failure.message};
  const Difference* difference = explained.difference;
  const std::string text =
      evidence(result, difference == nullptr ? result.failure.requirement : difference->rule_id,
               catalogue, context);
  if (result.verdict == run::Verdict::kLost || result.verdict == run::Verdict::kNotRun) {
    const std::string reason =
        result.failure.message.empty() ? "the run ended before this case" : result.failure.message;
    return Outcome{"error", std::string(name(result.verdict)), reason, text};
  }
  const auto finding = finding_of(result, catalogue, context.strict);
  if (!finding) return std::nullopt;
  switch (finding->kind) {
    case FindingKind::kFailure: {
      const bool known_rule = difference->rule != nullptr;
      const auto level = known_rule ? difference->rule->level : finding->level;
      return Outcome{"failure", rfc2119_keyword(level), message_of(explained, result),
                     text + relation(explained)};
    }
    case FindingKind::kUnexpectedPass:
      return Outcome{"failure", "unexpected-pass", headline(*finding), text};
    case FindingKind::kInconclusive:
      return Outcome{"error", std::string(name(result.verdict)), headline(*finding), text};
    case FindingKind::kExpectedFailure:
      return Outcome{"skipped", "xfail", "KF: " + result.baseline};
    case FindingKind::kWarning:
      break;
  }
  return std::nullopt;
}

void count(const std::optional<Outcome>& outcome, Counts& counts) {
  if (!outcome) return;
  const std::string_view kind = outcome->kind;
  counts.failures += kind == "failure" ? 1 : 0;
  counts.errors += kind == "error" ? 1 : 0;
  counts.skipped += kind == "skipped" ? 1 : 0;
}

// What the text takes in the file.
std::size_t escaped_size(std::string_view text) {
  std::size_t size = text.size();
  for (const char c : text) size += c == '&' || c == '<' || c == '>' ? 4 : 0;
  return size;
}

// Makes the tests of a document, which share two things: their names are unique, because readers
// drop the second of two tests with one name, and their texts have a size together.
class TestWriter {
 public:
  TestWriter(const std::vector<Difference>& differences, const scenario::Catalogue& catalogue,
             const ReportContext& context)
      : catalogue_(catalogue), context_(context) {
    for (const Difference& found : differences) {
      for (std::size_t i = 0; i < found.cases.size(); ++i) explained_[found.cases[i]] = {&found, i};
    }
  }

  Counts add(pugi::xml_node suite, const run::CaseResult& result) {
    const scenario::Case& test_case = *result.test_case;
    Counts counts{.tests = 1, .time = result.duration};
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("name") = unique_name(test_case).c_str();
    test.append_attribute("classname") = text::printable("statestore." + test_case.area).c_str();
    test.append_attribute("time") = junit_seconds(result.duration).c_str();
    test.append_attribute("file") = text::printable(test_case.position.file).c_str();
    test.append_attribute("line") = test_case.position.line;
    pugi::xml_node properties = test.append_child("properties");
    add_property(properties, "title", test_case.title);
    for (const std::string& id : test_case.requirements) {
      add_property(properties, "requirement", id);
    }
    add_property(properties, "level", std::string(name(catalogue_.level_of(test_case))));
    const auto finding = finding_of(result, catalogue_, context_.strict);
    const auto found = explained_.find(&result);
    const Explained explained = found == explained_.end() ? Explained{} : found->second;
    if (explained.difference != nullptr) {
      add_property(properties, "difference", explained.difference->name);
      add_property(properties, "explained_by", explained.difference->rule_id);
    }
    if (finding && finding->kind == FindingKind::kWarning) {
      add_property(properties, "warning",
                   evidence(result, explained.difference->rule_id, catalogue_, context_) +
                       relation(explained));
    }
    if (result.first_attempt) {
      add_property(properties, "first_attempt", attempt_text(*result.first_attempt));
    }
    auto outcome = outcome_of(result, explained, catalogue_, context_);
    if (outcome) {
      outcome->text =
          within_budget(text::shortened(text::printable(outcome->text), kMaxBytesOfOneText));
      add_outcome(test, *outcome);
    }
    count(outcome, counts);
    // The messages of a difference are there once: GitLab takes files of some size only.
    const bool wanted = finding && finding->kind != FindingKind::kExpectedFailure;
    if (wanted && explained.at == 0) add_transcript(test, result);
    return counts;
  }

 private:
  std::string unique_name(const scenario::Case& test_case) {
    const std::string wanted = text::one_line(test_case.id);
    std::string found = wanted;
    for (int number = 2; !names_.insert(found).second; ++number) {
      found = fmt::format("{} #{}", wanted, number);
    }
    return found;
  }

  void add_transcript(pugi::xml_node test, const run::CaseResult& result) {
    std::string lines;
    for (const run::TranscriptEntry& entry : result.transcript) lines += to_line(entry) + "\n";
    if (lines.empty()) return;
    // The end tells most: it is where the case failed.
    if (lines.size() > kMaxBytesOfOneTranscript) {
      const std::size_t cut = lines.find('\n', lines.size() - kMaxBytesOfOneTranscript) + 1;
      lines =
          fmt::format("({} bytes left out; the JSON report has them)\n", cut) + lines.substr(cut);
    }
    test.append_child("system-out").text().set(within_budget(text::printable(lines)).c_str());
  }

  // The text, while the file has room for it.
  std::string within_budget(std::string text) {
    const std::size_t size = escaped_size(text);
    if (bytes_of_texts_ + size > kMaxBytesOfTexts) {
      return "(left out, to keep this file small; the JSON report has it)\n";
    }
    bytes_of_texts_ += size;
    return text;
  }

  const scenario::Catalogue& catalogue_;
  const ReportContext& context_;
  std::map<const run::CaseResult*, Explained> explained_;
  std::set<std::string> names_;
  std::size_t bytes_of_texts_ = 0;
};

// The file of a suite's cases, or the folder that holds them all.
std::string common_path(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  std::filesystem::path common;
  for (auto part = a.begin(); part != end; ++part) common /= *part;
  return common.empty() ? "." : common.string();
}

// Which host was certified. Ours are processes of this machine.
std::string host_of(const std::string& endpoint) {
  const auto url = endpoint::parse_url(endpoint);
  return url && !url->host.empty() ? url->host : "localhost";
}

struct Suite {
  std::string file{};
  std::vector<const run::CaseResult*> cases{};
};

// By area, in alphabetical order: the cases of an area need not stand together.
std::map<std::string, Suite> suites_of(const run::SuiteResult& result) {
  std::map<std::string, Suite> out;
  for (const run::CaseResult& entry : result.cases) {
    const auto [found, inserted] = out.try_emplace(entry.test_case->area);
    Suite& suite = found->second;
    const std::string& file = entry.test_case->position.file;
    suite.file = inserted ? file : common_path(suite.file, file);
    suite.cases.push_back(&entry);
  }
  return out;
}

// Gives a node its name and a place for its counts, which are known last and stand first.
pugi::xml_node counted(pugi::xml_node node, const std::string& name) {
  node.append_attribute("name") = text::printable(name).c_str();
  for (const char* attribute : kCountAttributes) node.append_attribute(attribute);
  return node;
}

// A stale entry of the baseline fails the run, and belongs to no case: it gets a test of its own.
Counts add_complaints(pugi::xml_node root, const run::SuiteResult& result,
                      const ReportContext& context) {
  Counts counts;
  if (result.baseline_complaints.empty()) return counts;
  pugi::xml_node suite = counted(root.append_child("testsuite"), "baseline");
  suite.append_attribute("timestamp") = context.started.c_str();
  suite.append_attribute("hostname") = text::printable(host_of(context.endpoint)).c_str();
  for (const std::string& complaint : result.baseline_complaints) {
    ++counts.tests;
    ++counts.failures;
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("name") = fmt::format("baseline complaint {}", counts.tests).c_str();
    test.append_attribute("classname") = "statestore.baseline";
    test.append_attribute("time") = junit_seconds({}).c_str();
    add_outcome(test, {"failure", "baseline", complaint});
  }
  set_counts(suite, counts);
  return counts;
}

// What clients that asked at once have shown: a test for each finding, else one for all.
Counts add_stress(pugi::xml_node root, const run::SuiteResult& result,
                  const scenario::Catalogue& catalogue, const ReportContext& context) {
  Counts counts;
  if (!result.stress) return counts;
  const run::StressResult& stress = *result.stress;
  pugi::xml_node suite = counted(root.append_child("testsuite"), "clients-at-once");
  suite.append_attribute("timestamp") = context.started.c_str();
  suite.append_attribute("hostname") = text::printable(host_of(context.endpoint)).c_str();
  const auto add_test = [&](const std::string& test_name) {
    ++counts.tests;
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("name") = text::one_line(test_name).c_str();
    test.append_attribute("classname") = "statestore.clients-at-once";
    test.append_attribute("time") =
        junit_seconds(counts.tests == 1 ? stress.duration : std::chrono::microseconds{0}).c_str();
    return test;
  };
  if (stress.findings.empty()) {
    pugi::xml_node test = add_test("clients at once");
    if (stress.requests == 0) {
      ++counts.skipped;
      add_outcome(test, {"skipped", "", stress.trouble});
    } else {
      test.append_child("system-out").text().set(text::printable(stress_text(stress)).c_str());
    }
  }
  for (const run::StressFinding& found : stress.findings) {
    pugi::xml_node test = add_test(fmt::format("{} #{}", found.requirement, counts.tests + 1));
    const std::string text = text::shortened(
        text::printable(stress_evidence(stress, found, catalogue)), kMaxBytesOfOneText);
    if (found.fails) {
      ++counts.failures;
      const scenario::Requirement* rule = catalogue.find(found.requirement);
      const auto level = rule == nullptr ? scenario::Level::kMust : rule->level;
      add_outcome(test, {"failure", rfc2119_keyword(level), stress_headline(found), text});
    } else {
      test.append_child("system-out").text().set(text.c_str());
    }
  }
  counts.time = stress.duration;
  set_counts(suite, counts);
  return counts;
}

}  // namespace

std::string to_junit(const run::SuiteResult& result, const scenario::Catalogue& catalogue,
                     const ReportContext& context) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = counted(document.append_child("testsuites"), "fencepost");
  root.append_attribute("timestamp") = context.started.c_str();
  const std::vector<Difference> all = differences(result, catalogue, context.strict);
  TestWriter tests(all, catalogue, context);
  Counts total;
  for (const auto& [area, entry] : suites_of(result)) {
    pugi::xml_node suite = counted(root.append_child("testsuite"), area);
    suite.append_attribute("timestamp") = context.started.c_str();
    suite.append_attribute("hostname") = text::printable(host_of(context.endpoint)).c_str();
    suite.append_attribute("file") = text::printable(entry.file).c_str();
    pugi::xml_node properties = suite.append_child("properties");
    add_property(properties, "endpoint", context.endpoint);
    const std::string part = part_text(result, context);
    if (!part.empty()) add_property(properties, "selected", part);
    add_property(properties, "profile", std::string(name(context.profile)));
    add_property(properties, "wording", std::string(name(context.wording)));
    add_property(properties, "judged_by", basis_text(result, catalogue, context));
    add_property(properties, "dialect_observed", observed_dialect(result));
    add_property(properties, "seed", std::to_string(context.seed));
    if (!context.stopped_because.empty()) {
      add_property(properties, "stopped_because", context.stopped_because);
    }
    Counts counts;
    for (const run::CaseResult* test : entry.cases) counts.add(tests.add(suite, *test));
    set_counts(suite, counts);
    total.add(counts);
  }
  total.add(add_complaints(root, result, context));
  total.add(add_stress(root, result, catalogue, context));
  total.time = result.duration;
  set_counts(root, total);
  std::ostringstream out;
  document.save(out, "  ");
  return out.str();
}

}  // namespace fencepost::report
