// The page of a selftest: selftest_page/page.html with its places filled. What the head of the page
// says is text in the file, so that it is there without JavaScript too; all else is drawn by the
// page's scripts, from the same document as the JSON.

#include "selftest/selftest_html.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/page/html_page.h"
#include "report/page/selftest_page.h"
#include "report/report.h"
#include "selftest/selftest_document.h"

namespace fencepost::selftest {
namespace {

using nlohmann::ordered_json;

// 1776 as "1,776".
std::string grouped(std::size_t number) {
  std::string out = std::to_string(number);
  for (std::size_t at = out.size(); at > 3;) {
    at -= 3;
    out.insert(at, ",");
  }
  return out;
}

std::string seconds(std::chrono::microseconds time) {
  const double value = static_cast<double>(time.count()) / 1e6;
  return value < 120 ? fmt::format("{:.1f} s", value) : fmt::format("{:.1f} min", value / 60);
}

// For the stores of one kind: how many are as they should be, where every dialect counts.
struct Score {
  std::size_t good = 0;
  std::size_t all = 0;
};

Score score_of(const ordered_json& document, const char* name) {
  const ordered_json& score = document["score"][name];
  return {.good = score["stores_as_they_should_be"].get<std::size_t>(),
          .all = score["stores"].get<std::size_t>()};
}

std::size_t bad_references(const SelftestResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.references.begin(), result.references.end(),
                    [](const SubjectResult& subject) { return !subject.as_it_should_be(); }));
}

// --- the verdict in words ----------------------------------------------------------------------

// Every fault of the catalogue that ran, regardless of what it takes to see it.
std::size_t faults_run(const ordered_json& document) { return document["faults"].size(); }

bool whole_catalogue(const ordered_json& document) {
  const ordered_json& sizes = document["catalogue"];
  const auto ran = [&](const char* kind) { return document[kind].size(); };
  const auto all = [&](const char* kind) { return sizes[kind].get<std::size_t>(); };
  return ran("faults") == all("faults") && ran("benign") == all("benign") &&
         ran("null_stores") == all("null_stores");
}

page::PageHeader not_proved(const SelftestResult& result, const ordered_json& document) {
  std::vector<std::string> why;
  const auto add = [&](std::size_t count, std::string_view one, std::string_view many) {
    if (count > 0) why.push_back(fmt::format("{} {}", grouped(count), count == 1 ? one : many));
  };
  const Score faults = score_of(document, "faults");
  const Score benign = score_of(document, "benign");
  const Score nulls = score_of(document, "null_stores");
  add(faults.all - faults.good, "fault was not caught", "faults were not caught");
  add(benign.all - benign.good, "conforming store failed", "conforming stores failed");
  add(nulls.all - nulls.good, "store that does nothing passed a case",
      "stores that do nothing passed a case");
  add(result.canary_survivors.size(), "wrong expectation passed", "wrong expectations passed");
  add(bad_references(result), "run of the reference store was not clean",
      "runs of the reference store were not clean");
  if (const auto met = document.find("meetings"); met != document.end()) {
    const auto missing = [&](const char* good, const char* all) {
      return (*met)[all].get<std::size_t>() - (*met)[good].get<std::size_t>();
    };
    add(missing("caught", "faults"), "fault was not caught with concurrent requests",
        "faults were not caught with concurrent requests");
    add(missing("passed", "right"), "conforming store does not pass with concurrent requests",
        "conforming stores do not pass with concurrent requests");
  }
  if (result.references.empty()) why.emplace_back("the reference store did not run");
  if (result.has_canaries && result.canaries == 0)
    why.emplace_back("no wrong expectation was planted");
  std::string sentence;
  for (const std::string& part : why) sentence += (sentence.empty() ? "" : "; ") + part;
  if (sentence.empty()) sentence = "a fault that needs concurrent requests could not be run";
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return {"failed", "✗", "NOT proved", sentence + "."};
}

page::PageHeader headline(const SelftestResult& result, const ordered_json& document) {
  const std::size_t ran = faults_run(document);
  const std::size_t all = document["catalogue"]["faults"].get<std::size_t>();
  if (result.interrupted) {
    return {"open", "!", "Interrupted",
            fmt::format("The selftest was interrupted and proves nothing: {} of {} faults ran.",
                        ran, all)};
  }
  if (!result.proved()) return not_proved(result, document);
  if (ran == 0) {
    return {"open", "∅", "No fault ran",
            "No fault was selected: the selftest shows nothing about the cases."};
  }
  const Score concurrency = score_of(document, "concurrency_faults");
  const std::size_t later = concurrency.all - concurrency.good;
  std::string sentence =
      "Conforming stores pass; faulty ones are caught by the rule that they break.";
  if (later > 0) {
    sentence +=
        fmt::format(" {} only with concurrent requests.",
                    later == 1 ? "1 more fault shows" : fmt::format("{} more faults show", later));
  }
  if (whole_catalogue(document)) {
    if (const auto left = document["catalogue"]["elsewhere"].get<std::size_t>(); left > 0) {
      sentence +=
          fmt::format(" {} only with --endpoint {}.",
                      left == 1 ? "1 more store runs" : fmt::format("{} more stores run", left),
                      document["over_the_wire"].get<bool>() ? "inproc:" : "embedded");
    }
    return {"proved", "✓", "The suite is proved", sentence};
  }
  return {"proved", "✓", "Proved for a selection",
          fmt::format("{} Only {} of {} faults were selected.", sentence, ran, all)};
}

// --- the figures -------------------------------------------------------------------------------

struct Figure {
  std::string_view name;
  std::string value;
  std::string of;
  std::string_view tone;
  std::string note;
};

std::string_view tone_of(Score score) {
  if (score.all == 0) return "quiet";
  return score.good == score.all ? "good" : "bad";
}

std::string_view sign_of(std::string_view tone) {
  if (tone == "good") return "✓";
  return tone == "bad" ? "✗" : "–";
}

std::string figure_html(const Figure& figure) {
  return fmt::format(
      "<div class=\"figure {0}\"><dt>{1}</dt><dd><span class=\"value\"><b>{2}</b>{3}<span "
      "class=\"sign\" aria-hidden=\"true\">{4}</span></span><span "
      "class=\"hint\">{5}</span></dd></div>\n",
      figure.tone, page::html(figure.name), page::html(figure.value),
      figure.of.empty() ? ""
                        : fmt::format(" <span class=\"of\">of {}</span>", page::html(figure.of)),
      sign_of(figure.tone), page::html(figure.note));
}

Figure score_figure(std::string_view name, Score score, std::string note) {
  return {.name = name,
          .value = grouped(score.good),
          .of = grouped(score.all),
          .tone = tone_of(score),
          .note = std::move(note)};
}

std::string kill_times(const ordered_json& document) {
  if (!document.contains("time_to_kill")) return "no fault was caught";
  const ordered_json& times = document["time_to_kill"];
  const auto text = [](double ms) {
    return ms < 1000 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.1f} s", ms / 1000);
  };
  return fmt::format("a fault is caught after {} (median), {} at most",
                     text(times["median_ms"].get<double>()),
                     text(times["longest_ms"].get<double>()));
}

// Empty without concurrent checks.
std::string overlaps_figures(const ordered_json& document) {
  const auto found = document.find("meetings");
  if (found == document.end()) return {};
  const auto score = [&](const char* good, const char* all) {
    return Score{.good = (*found)[good].get<std::size_t>(),
                 .all = (*found)[all].get<std::size_t>()};
  };
  const Score right = score("passed", "right");
  return figure_html(score_figure(
      "Faults caught with concurrent requests", score("caught", "faults"),
      fmt::format("by the history of simulated clients; {} of {} conforming stores pass",
                  right.good, right.all)));
}

std::string figures(const SelftestResult& result, const ordered_json& document) {
  const Score concurrency = score_of(document, "concurrency_faults");
  std::string of_faults = "a case failed that cites a rule which the fault breaks";
  if (concurrency.all > 0) {
    of_faults += fmt::format("; and {} of {} that need concurrent requests", concurrency.good,
                             concurrency.all);
  }
  const Score canaries = {.good = result.canaries - result.canary_survivors.size(),
                          .all = result.canaries};
  const ordered_json& diagnosis = document.at("diagnosis");
  const auto named = diagnosis.at("right").get<std::size_t>();
  const auto all = diagnosis.at("total").get<std::size_t>();
  return figure_html(score_figure("Faults caught", score_of(document, "faults"), of_faults)) +
         figure_html({.name = "Named by a rule that they break",
                      .value = grouped(named),
                      .of = grouped(all),
                      .tone = "plain",
                      .note = "what a report says first, by fault and dialect"}) +
         figure_html(score_figure("Conforming variants passed", score_of(document, "benign"),
                                  "each that fails is a false positive")) +
         figure_html(score_figure("Stores that do nothing failed",
                                  score_of(document, "null_stores"), "they must fail every case")) +
         figure_html(score_figure("Wrong expectations detected", canaries,
                                  result.has_canaries
                                      ? "canaries: one expectation of a case made wrong"
                                      : "they are planted only in process")) +
         overlaps_figures(document) +
         figure_html({.name = "Time",
                      .value = seconds(result.duration),
                      .of = {},
                      .tone = "plain",
                      .note = kill_times(document)});
}

// For readers without JavaScript: what survived, and why.
std::string static_list(const ordered_json& document) {
  std::string out;
  for (const ordered_json& survivor : document["survivors"]) {
    out += fmt::format("<li><code>{}</code> ({}): {}</li>\n",
                       page::html(survivor["id"].get<std::string>()),
                       page::html(survivor["dialect"].get<std::string>()),
                       page::html(survivor["text"].get<std::string>()));
  }
  return out.empty() ? "<p>No fault survived.</p>\n" : "<ul>\n" + out + "</ul>\n";
}

std::string dialects(const SelftestResult& result) {
  std::string out;
  for (const SubjectResult& reference : result.references) {
    const std::string name(codec::dialect(reference.dialect).name);
    if (out.find(name) == std::string::npos) out += (out.empty() ? "" : ", ") + name;
  }
  return out.empty() ? "none" : out;
}

}  // namespace

std::string selftest_html(const SelftestResult& result, std::uint64_t seed) {
  const ordered_json document = selftest_document(result, seed);
  const page::PageHeader head = headline(result, document);
  return page::verdict_page(
      page::selftest_page_files(), head,
      {.product = "selftest: do the cases catch faulty stores?",
       .main = "results",
       .document = head.title + ": selftest",
       .version = report::suite_version()},
      {{"data", page::data_island(document)},
       {"figures", figures(result, document)},
       {"dialects", page::html(dialects(result))},
       {"place", result.has_canaries ? "in process" : "behind embedded brokers"},
       {"cases", grouped(result.cases.size())},
       {"seed", std::to_string(seed)},
       {"version", page::html(report::suite_version())},
       {"static_list", static_list(document)}});
}

}  // namespace fencepost::selftest
