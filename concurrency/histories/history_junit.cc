#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/text/junit.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "concurrency/histories/checked_history.h"

namespace fencepost::histories {
namespace {

using history::Answer;

constexpr std::size_t kMaxTests = 1000;        // for keys that are ok
constexpr std::size_t kMaxBytesOfName = 200;   // of a key
constexpr std::size_t kMaxLinesOfTest = 1000;  // operations of a violation

text::JunitCase test_of(std::string name, const history::Verdict& verdict,
                        const CheckedHistory& checked, const scenario::Catalogue& catalogue) {
  text::JunitCase out{.name = std::move(name), .classname = "statestore.history"};
  if (verdict.answer == Answer::kOk) return out;
  const bool violation = verdict.answer == Answer::kViolation;
  const scenario::Requirement* rule = catalogue.find(verdict.requirement);
  const bool should = rule != nullptr && rule->level == scenario::Level::kShould;
  out.outcome = violation ? text::JunitOutcome::kFailure : text::JunitOutcome::kError;
  out.type = violation ? (should ? "SHOULD" : "MUST") : "unknown";
  out.message =
      text::one_line(violation ? verdict.requirement + ": " + verdict.text : verdict.text);
  if (rule != nullptr) out.text += rule->text + "\n";
  if (const std::string values = values_text(verdict); !values.empty()) out.text += values + "\n";
  std::size_t written = 0;
  for (const std::string& line : counter_example_lines(verdict, checked.counts_lines)) {
    if (++written <= kMaxLinesOfTest) out.text += line + "\n";
  }
  return out;
}

text::JunitSuite suite_of(const CheckedHistory& checked, const scenario::Catalogue& catalogue,
                          const std::string& started) {
  constexpr double kSecond = 1e6;
  text::JunitSuite out{.name = checked.file,
                       .timestamp = started,
                       .time = std::chrono::microseconds(std::llround(kSecond * checked.seconds))};
  const auto add = [&](std::string name, const history::Verdict& verdict) {
    out.cases.push_back(test_of(std::move(name), verdict, checked, catalogue));
  };
  const std::size_t good = checked.count(Answer::kOk);
  const bool each = good <= kMaxTests;
  if (!each) add(text::counted(good, "key") + " that are ok", {.answer = Answer::kOk});
  for (const history::KeyVerdict& key : checked.keys) {
    if (key.verdict.answer == Answer::kOk && !each) continue;
    add("key \"" + escape(key.key, kMaxBytesOfName) + '"', key.verdict);
  }
  for (const history::Verdict& verdict : checked.whole) {
    add(verdict.requirement.empty() ? "all requests" : verdict.requirement, verdict);
  }
  return out;
}

}  // namespace

std::string junit(const std::vector<CheckedHistory>& all, const scenario::Catalogue& catalogue,
                  const std::string& started) {
  std::vector<text::JunitSuite> suites;
  for (const CheckedHistory& one : all) suites.push_back(suite_of(one, catalogue, started));
  return text::junit(suites);
}

}  // namespace fencepost::histories
