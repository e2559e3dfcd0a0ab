#include "selftest/selftest_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "selftest/selftest_document.h"

namespace fencepost::selftest {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShown = 5;  // ids in a line

std::string some_ids(const std::vector<const scenario::Case*>& cases) {
  std::string out;
  for (std::size_t i = 0; i < cases.size() && i < kShown; ++i) out += " " + cases[i]->id;
  if (cases.size() > kShown) out += fmt::format(" and {} more", cases.size() - kShown);
  return out;
}

// A line of the console with `indent` blanks before it, and more before the lines that follow.
std::string wrapped(std::size_t indent, const std::string& line) {
  const text::WrapOptions options{.width = 100, .indent = indent + 2, .first = indent};
  return std::string(indent, ' ') + text::wrap(line, options) + "\n";
}

// The stores that are not as they should be, and the verdicts of the cases.
std::string describe_wrong(const std::vector<SubjectResult>& subjects) {
  std::string out;
  for (const SubjectResult& subject : subjects) {
    if (subject.as_it_should_be()) continue;
    out += fmt::format("  {} ({})\n",
                       subject.fault == nullptr
                           ? "reference"
                           : fmt::format("{} {}", subject.fault->id, subject.fault->name),
                       codec::dialect(subject.dialect).name);
    if (subject.fault != nullptr) out += fmt::format("      {}\n", subject.fault->text);
    if (!subject.error.empty()) out += fmt::format("      {}\n", subject.error);
    for (const auto& [what, cases] : {std::pair{"failed", &subject.detecting},
                                      {"failed", &subject.non_detecting},
                                      {"passed", &subject.passes},
                                      {"inconclusive", &subject.inconclusive}}) {
      if (!cases->empty()) out += wrapped(6, fmt::format("{}:{}", what, some_ids(*cases)));
    }
  }
  return out;
}

std::size_t number(const ordered_json& object, const char* name) {
  return object.at(name).get<std::size_t>();
}

// `335 of 350 caught`, counted by store and dialect.
std::string score_line(const char* heading, const ordered_json& score, const char* said) {
  return fmt::format("{:<12} {:>6} of {:<6} {}\n", heading, number(score, "as_they_should_be"),
                     number(score, "total"), said);
}

std::string areas_table(const ordered_json& areas) {
  std::string out;
  for (const auto& [letters, area] : areas.items()) {
    const std::size_t excused = number(area, "needs_concurrency");
    out += fmt::format(
        "  {:<2} {:<24} {:>3} of {:<3}{}\n", letters, area.at("name").get<std::string>(),
        number(area, "caught"), number(area, "total"),
        excused == 0
            ? ""
            : fmt::format("  {} {} concurrent requests", excused, excused == 1 ? "needs" : "need"));
  }
  return out;
}

// A survivor in both dialects for the same reason is one line.
std::string survivors_table(const ordered_json& survivors) {
  std::string out;
  std::vector<std::string> written;
  for (const ordered_json& survivor : survivors) {
    const std::string id = survivor.at("id").get<std::string>();
    const std::string why = survivor.at("text").get<std::string>();
    if (std::find(written.begin(), written.end(), id + why) != written.end()) continue;
    written.push_back(id + why);
    const store::Fault* fault = store::find_fault(id);
    out += wrapped(2, fmt::format("{} {}: {}", id, fault->name, fault->text));
    out += wrapped(
        6,
        fmt::format("{}: {}", survivor.at("excused").get<bool>() ? "excused" : "NOT CAUGHT", why));
  }
  return out;
}

// Faults that a report names first by a rule which they do not break.
std::string misnamed(const SelftestResult& result) {
  std::string out;
  std::vector<std::string> named;
  for (const SubjectResult& fault : result.faults) {
    const Diagnosis& diagnosis = fault.diagnosis;
    if (diagnosis.right || diagnosis.rules.empty()) continue;
    std::string words = wrapped(
        2, fmt::format("{} {}: named {}, but it breaks {}", fault.fault->id, fault.fault->name,
                       diagnosis.rules.front(), fmt::join(fault.fault->requirements, ", ")));
    if (std::find(named.begin(), named.end(), words) != named.end()) continue;
    named.push_back(words);
    out += words;
  }
  return out;
}

std::string canaries(const SelftestResult& result) {
  if (!result.has_canaries) return {};
  std::string out = fmt::format("{:<12} {:>6} of {:<6} failed, as they should\n", "canaries",
                                result.canaries - result.canary_survivors.size(), result.canaries);
  for (const CanarySurvivor& survivor : result.canary_survivors) {
    out += fmt::format("  {} ({}): {}\n", survivor.test_case->id,
                       codec::dialect(survivor.dialect).name, survivor.what);
  }
  return out;
}

// The results of simulated runs with many clients.
std::string overlaps_lines(const SelftestResult& result, const ordered_json& document) {
  const auto found = document.find("meetings");
  if (found == document.end()) return {};
  std::string out =
      fmt::format("{:<12} {:>6} of {:<6} caught within {}; median {}, of which {} show it\n",
                  "histories", number(*found, "caught"), number(*found, "faults"),
                  text::counted(number(*found, "most_runs"), "run"),
                  text::counted(number(*found, "median_operations"), "operation"),
                  number(*found, "median_witness"));
  out += fmt::format("{:<12} {:>6} of {:<6} conforming stores pass\n", "", number(*found, "passed"),
                     number(*found, "right"));
  for (const OverlapResult& one : result.overlaps) {
    if (one.as_it_should_be()) continue;
    const std::string name =
        one.fault == nullptr ? "reference" : fmt::format("{} {}", one.fault->id, one.fault->name);
    const std::string why = one.unknown > 0 && one.requirement.empty()
                                ? text::counted(one.unknown, "key") + " could not be decided"
                                : one.requirement;
    out += fmt::format("  {} ({}): {}\n", name, codec::dialect(one.dialect).name,
                       one.is_right() ? why : "NOT CAUGHT in " + text::counted(one.runs, "run"));
  }
  return out;
}

// Did all stores of the catalogue run that can?
bool is_whole(const ordered_json& document) {
  const ordered_json& all = document.at("catalogue");
  const ordered_json& score = document.at("score");
  return number(score.at("faults"), "stores") + number(score.at("concurrency_faults"), "stores") ==
             number(all, "faults") &&
         number(score.at("benign"), "stores") == number(all, "benign") &&
         number(score.at("null_stores"), "stores") == number(all, "null_stores");
}

std::string verdict(const SelftestResult& result, const ordered_json& document) {
  if (result.interrupted) return "interrupted: the results above are incomplete\n";
  if (!result.proved()) return "NOT proved\n";
  if (!is_whole(document)) return "proved for the stores that were selected\n";
  const bool without_histories = !document.at("survivors").empty() && result.overlaps.empty();
  return without_histories ? "proved, except for faults that need concurrent requests\n"
                           : "proved\n";
}

}  // namespace

std::string selftest_text(const SelftestResult& result) {
  const ordered_json document = selftest_document(result, 0);
  const ordered_json& score = document.at("score");
  const auto right = std::count_if(result.references.begin(), result.references.end(),
                                   [](const SubjectResult& one) { return one.as_it_should_be(); });
  std::string out = fmt::format("{:<12} {:>6} of {:<6} pass every case\n", "reference", right,
                                result.references.size());
  out += describe_wrong(result.references);
  out += score_line("faults", score.at("faults"), "caught by a case that cites what they break");
  const auto warned = std::count_if(result.faults.begin(), result.faults.end(),
                                    [](const SubjectResult& one) { return one.only_warned(); });
  if (warned > 0) {
    out += fmt::format(
        "{:<12} {:>6} of them as a warning: the rule does not apply to that dialect\n", "", warned);
  }
  const ordered_json& diagnosis = document.at("diagnosis");
  out += fmt::format(
      "{:<12} {:>6} of {:<6} first named by a rule they break; root causes: {} (median), {} "
      "(most)\n",
      "diagnosis", number(diagnosis, "right"), number(diagnosis, "total"),
      number(diagnosis, "differences_median"), number(diagnosis, "differences_most"));
  out += fmt::format("{:<12} {:>6} of {:<6} failures attributed to a rule that is broken\n", "",
                     number(diagnosis, "charged"), number(diagnosis, "failures"));
  if (is_whole(document)) {
    out += fmt::format(
        "{:<12} {:>6} of {:<6} rules that a store can break are attributed at least once\n", "",
        result.rules - result.never_attributed.size(), result.rules);
    for (const std::string& rule : result.never_attributed)
      out += "  never attributed: " + rule + "\n";
  }
  out += misnamed(result);
  if (number(score.at("concurrency_faults"), "total") > 0) {
    out += score_line("concurrency", score.at("concurrency_faults"),
                      "caught, of those that concurrent requests show");
  }
  out += overlaps_lines(result, document);
  out += areas_table(document.at("areas"));
  if (!document.at("survivors").empty()) {
    out += "survivors\n" + survivors_table(document.at("survivors"));
  }
  out += score_line("benign", score.at("benign"), "pass; each that fails is a false positive");
  out += describe_wrong(result.benign);
  out += score_line("null stores", score.at("null_stores"), "fail every case");
  out += describe_wrong(result.nulls);
  out += canaries(result);
  if (const auto times = document.find("time_to_kill"); times != document.end()) {
    out += fmt::format("time to detect {:.1f} ms (median), {:.1f} ms (longest)\n",
                       times->at("median_ms").get<double>(), times->at("longest_ms").get<double>());
  }
  out += fmt::format("time {:.2f} s\n", static_cast<double>(result.duration.count()) / 1e6);
  return out + verdict(result, document);
}

}  // namespace fencepost::selftest
