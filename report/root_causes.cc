#include "report/root_causes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/where.h"
#include "suite/judge/reply_rule.h"
#include "suite/judge/root_cause.h"

namespace fencepost::report {
namespace {

using run::CaseResult;

judge::Testimony testimony(const CaseResult& result) {
  const run::Failure& failure = result.failure;
  const scenario::Case& test_case = *result.test_case;
  return {.requirement = failure.requirement,
          .direct = failure.direct,
          .candidates = failure.candidates,
          .about = test_case.requirements,
          .named = judge::is_named(test_case, failure.step, failure.requirement, failure.direct),
          .cause = failure.cause,
          .theme = failure.theme,
          .kind = failure.kind};
}

// By the clients of the case until it failed: a request with fewer options shows a rule better.
std::size_t bytes_sent(const CaseResult& result) {
  std::size_t out = 0;
  for (const run::TranscriptEntry& entry : result.transcript) {
    if (entry.direction == run::Direction::kSent) out += entry.payload_bytes;
  }
  return out;
}

// Did it fail among requests in flight together? One after the other are easier to follow.
bool is_pipelined(const CaseResult& result) {
  return result.failure.step > 0 && std::holds_alternative<scenario::PipelineStep>(
                                        result.test_case->steps[result.failure.step - 1].what);
}

using Cases = std::vector<const CaseResult*>;

// What a case shows that passed: its own rules, and those of the requests that it sent.
std::set<std::string> kept_by(const scenario::Case& test_case) {
  std::set<std::string> out(test_case.requirements.begin(), test_case.requirements.end());
  const auto add = [&](const scenario::RequestStep& step) {
    if (std::string rule(judge::rule_kept_by(step)); !rule.empty()) out.insert(std::move(rule));
  };
  for (const scenario::Step& step : test_case.steps) {
    if (const auto* request = std::get_if<scenario::RequestStep>(&step.what)) add(*request);
    if (const auto* all = std::get_if<scenario::PipelineStep>(&step.what)) {
      std::for_each(all->requests.begin(), all->requests.end(), add);
    }
  }
  return out;
}

class Explainer {
 public:
  Explainer(const run::SuiteResult& result, const scenario::Catalogue& catalogue, bool strict)
      : catalogue_(catalogue), strict_(strict) {
    for (const CaseResult& entry : result.cases) {
      if (entry.verdict != run::Verdict::kPassed) continue;
      for (const std::string& rule : kept_by(*entry.test_case)) ++passed_[rule];
    }
  }

  // What breaks a rule that applies to the store and what does not are explained together: one rule
  // that is not kept is one root cause.
  [[nodiscard]] std::vector<Difference> explain(const Cases& cases) const {
    std::vector<judge::Testimony> failures;
    for (const CaseResult* entry : cases) failures.push_back(testimony(*entry));
    std::vector<Difference> out;
    for (const judge::RootCause& found : judge::root_causes(failures, passed_, catalogue_)) {
      out.push_back(made_of(found, cases));
    }
    return out;
  }

 private:
  [[nodiscard]] FindingKind kind_of(const CaseResult& entry) const {
    if (entry.verdict == run::Verdict::kExpectedFailure) return FindingKind::kExpectedFailure;
    return is_warning(entry, catalogue_, strict_) ? FindingKind::kWarning : FindingKind::kFailure;
  }

  [[nodiscard]] Difference made_of(const judge::RootCause& root, const Cases& cases) const {
    Difference out{.rule_id = root.rule, .rule = catalogue_.find(root.rule)};
    for (const std::vector<std::size_t>& group : root.groups) {
      out.causes.push_back(cases[group.front()]->failure.cause);
      for (const std::size_t i : group) out.cases.push_back(cases[i]);
    }
    const auto rank = [&](const CaseResult* entry) {
      const scenario::Case& test_case = *entry->test_case;
      const judge::Testimony says = testimony(*entry);
      return std::tuple(kind_of(*entry) == FindingKind::kWarning, !judge::is_about(says, root.rule),
                        !judge::speaks_for(says, root.rule), is_pipelined(*entry),
                        entry->failure.step, test_case.clients.size(), bytes_sent(*entry),
                        test_case.steps.size(), std::string_view(test_case.id));
    };
    std::sort(out.cases.begin(), out.cases.end(),
              [&](const CaseResult* a, const CaseResult* b) { return rank(a) < rank(b); });
    out.kind = kind_of(*out.cases.front());
    // Where nothing fails the run, no "must" is broken.
    if (out.kind == FindingKind::kWarning && out.rule != nullptr &&
        out.rule->level == scenario::Level::kMust) {
      out.rule_id = out.cases.front()->failure.requirement;
      out.rule = catalogue_.find(out.rule_id);
    }
    if (out.kind != FindingKind::kFailure) return out;
    out.warnings = static_cast<std::size_t>(std::count_if(
        out.cases.begin(), out.cases.end(),
        [&](const CaseResult* entry) { return kind_of(*entry) == FindingKind::kWarning; }));
    return out;
  }

  const scenario::Catalogue& catalogue_;
  const bool strict_;
  std::map<std::string, std::size_t> passed_;  // cases, by the rules that they show to be kept
};

}  // namespace

std::span<const CaseResult* const> Difference::failing() const {
  return std::span(cases).first(cases.size() - warnings);
}

bool Difference::blocks(const CaseResult& result) const {
  return !judge::is_about(testimony(result), rule_id);
}

std::size_t Difference::blocked() const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult* each) { return blocks(*each); }));
}

bool Difference::is_open() const { return rule != nullptr && rule->level == scenario::Level::kMay; }

std::vector<Difference> differences(const run::SuiteResult& result,
                                    const scenario::Catalogue& catalogue, bool strict) {
  Cases seen;
  Cases known;
  for (const CaseResult& entry : result.cases) {
    if (entry.verdict == run::Verdict::kExpectedFailure && !entry.failure.requirement.empty()) {
      known.push_back(&entry);
    }
    if (entry.verdict == run::Verdict::kFailed && !entry.unexpected_pass) seen.push_back(&entry);
  }
  const Explainer explainer(result, catalogue, strict);
  std::vector<Difference> out = explainer.explain(seen);
  std::stable_partition(out.begin(), out.end(), [](const Difference& found) {
    return found.kind == FindingKind::kFailure;
  });
  for (Difference& found : explainer.explain(known)) {
    out.push_back(std::move(found));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].name = fmt::format("D{}", i + 1);
    out[i].where = where_of(out[i].cases, result);
  }
  return out;
}

std::string sentence_of(const std::vector<Difference>& all) {
  std::size_t failures = 0;
  std::size_t count = 0;
  for (const Difference& each : all) {
    if (each.kind != FindingKind::kFailure) continue;
    ++count;
    failures += each.failing().size();
  }
  return fmt::format("{} {} {}", text::counted(count, "root cause"),
                     count == 1 ? "explains" : "explain", text::counted(failures, "failure"));
}

}  // namespace fencepost::report
