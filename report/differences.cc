#include "report/differences.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "report/where.h"
#include "suite/judge/reply_rule.h"
#include "suite/judge/weight.h"

namespace fencepost::report {
namespace {

using run::CaseResult;

judge::Testimony testimony(const CaseResult& result) {
  const run::Failure& failure = result.failure;
  return {failure.requirement, failure.direct, failure.suspects, *result.test_case, failure.step};
}

bool is_about(const CaseResult& result, const std::string& rule) {
  return judge::is_about(testimony(result), rule);
}

bool suspects(const CaseResult& result, const std::string& rule) {
  return judge::suspects(testimony(result), rule);
}

bool speaks_for(const CaseResult& result, const std::string& rule) {
  return judge::speaks_for(testimony(result), rule);
}

double weight(const CaseResult& result, const std::string& rule) {
  return judge::weight(testimony(result), rule);
}

// By the clients of the case until it failed: a request with fewer options shows a rule better.
std::size_t bytes_sent(const CaseResult& result) {
  std::size_t out = 0;
  for (const run::TranscriptEntry& entry : result.transcript) {
    if (entry.direction == run::Direction::kSent) out += entry.payload_bytes;
  }
  return out;
}

// Did it fail among requests under way together? One after the other are easier to follow.
bool is_pipelined(const CaseResult& result) {
  return result.failure.step > 0 && std::holds_alternative<scenario::PipelineStep>(
                                        result.test_case->steps[result.failure.step - 1].what);
}

using Cases = std::vector<const CaseResult*>;

struct Group {
  std::string cause;
  Cases cases;
};

class Explainer {
 public:
  Explainer(const run::SuiteResult& result, const scenario::Catalogue& catalogue, bool strict)
      : catalogue_(catalogue), strict_(strict) {
    for (const CaseResult& entry : result.cases) {
      if (entry.verdict != run::Verdict::kPassed) continue;
      for (const std::string& rule : kept_by(*entry.test_case)) ++passed_[rule];
    }
  }

  // What breaks a rule that binds the store and what does not are explained together: one rule that
  // is not kept is one difference. So is one that is named again for what it did not explain whole.
  std::vector<Difference> explain(const Cases& cases) {
    count(cases);
    std::vector<Group> groups = grouped(cases);
    std::vector<std::pair<std::string, std::vector<Group>>> by_rule;
    while (!groups.empty()) {
      const std::string rule = best_rule(groups);
      const std::set<std::string> themes = themes_of(groups, rule);
      auto rest = std::stable_partition(groups.begin(), groups.end(), [&](const Group& group) {
        return !is_explained(group, rule) && !themes.contains(group.cases.front()->failure.theme);
      });
      // A rule that explains no group as a whole explains the one that speaks for it most.
      if (rest == groups.end()) rest = std::prev(most_for(groups, rule));
      auto owner = std::find_if(by_rule.begin(), by_rule.end(),
                                [&](const auto& each) { return each.first == rule; });
      if (owner == by_rule.end()) owner = by_rule.insert(owner, {rule, {}});
      owner->second.insert(owner->second.end(), std::make_move_iterator(rest),
                           std::make_move_iterator(groups.end()));
      groups.erase(rest, groups.end());
    }
    std::vector<Difference> out;
    for (auto& [rule, explained] : by_rule) out.push_back(made_of(std::move(explained), rule));
    return out;
  }

 private:
  // What a case shows that passed: its own rules, and those of what it has asked on the way.
  static std::set<std::string> kept_by(const scenario::Case& test_case) {
    std::set<std::string> out(test_case.requirements.begin(), test_case.requirements.end());
    const auto add = [&](const scenario::RequestStep& step) {
      if (std::string rule = std::string(judge::rule_kept_by(step)); !rule.empty())
        out.insert(std::move(rule));
    };
    for (const scenario::Step& step : test_case.steps) {
      if (const auto* request = std::get_if<scenario::RequestStep>(&step.what)) add(*request);
      if (const auto* all = std::get_if<scenario::PipelineStep>(&step.what)) {
        std::for_each(all->requests.begin(), all->requests.end(), add);
      }
    }
    return out;
  }

  void count(const Cases& cases) {
    failed_.clear();
    for (const CaseResult* entry : cases) {
      // Of what may have come before no case shows anything.
      std::set<std::string> rules = rules_of(*entry);
      for (const std::string& rule : entry->failure.suspects) {
        if (!is_about(*entry, rule) && !speaks_for(*entry, rule)) rules.erase(rule);
      }
      for (const std::string& rule : rules) ++failed_[rule];
    }
  }

  static std::set<std::string> rules_of(const CaseResult& entry) {
    const auto& own = entry.test_case->requirements;
    std::set<std::string> out(own.begin(), own.end());
    out.insert(entry.failure.requirement);
    if (!entry.failure.direct.empty()) out.insert(entry.failure.direct);
    out.insert(entry.failure.suspects.begin(), entry.failure.suspects.end());
    return out;
  }

  static std::vector<Group> grouped(const Cases& cases) {
    std::map<std::string, Cases> found;
    for (const CaseResult* entry : cases) found[entry->failure.cause].push_back(entry);
    std::vector<Group> out;
    for (auto& [cause, members] : found) out.push_back({cause, std::move(members)});
    return out;
  }

  // An open point explains only what it is charged with; a rule of another catalogue nothing else.
  [[nodiscard]] bool can_be_named(const CaseResult& entry, const std::string& rule) const {
    const scenario::Requirement* found = catalogue_.find(rule);
    if (found == nullptr) return entry.failure.requirement == rule;
    return found->level != scenario::Level::kMay;
  }

  // A rule whose other cases passed is less likely.
  [[nodiscard]] double likelihood(const std::string& rule) const {
    const auto of = [&](const std::map<std::string, std::size_t>& counts) {
      const auto found = counts.find(rule);
      return found == counts.end() ? 0 : found->second;
    };
    return judge::likelihood(of(failed_), of(passed_));
  }

  [[nodiscard]] std::string best_rule(const std::vector<Group>& groups) const {
    std::map<std::string, double> scores;
    std::map<std::string, double> explained;
    double all = 0;
    for (const Group& group : groups) {
      for (const CaseResult* entry : group.cases) {
        ++all;
        for (const std::string& rule : rules_of(*entry)) {
          if (!can_be_named(*entry, rule)) continue;
          scores[rule] += weight(*entry, rule);
          if (speaks_for(*entry, rule) || suspects(*entry, rule)) ++explained[rule];
        }
      }
    }
    std::string best = groups.front().cases.front()->failure.requirement;
    double most = 0;
    for (const auto& [rule, score] : scores) {
      // What few of the failures come of is less likely than what all may come of.
      const double likely = score * likelihood(rule) * (explained[rule] + 1) / (all + 1);
      if (likely <= most) continue;
      most = likely;
      best = rule;
    }
    return best;
  }

  // Of what speaks for the rule.
  static std::set<std::string> themes_of(const std::vector<Group>& groups,
                                         const std::string& rule) {
    std::set<std::string> out;
    for (const Group& group : groups) {
      const bool speaks = std::any_of(group.cases.begin(), group.cases.end(),
                                      [&](const auto* each) { return speaks_for(*each, rule); });
      const std::string theme = group.cases.front()->failure.theme;
      if (speaks && !theme.empty()) out.insert(theme);
    }
    return out;
  }

  static bool is_explained(const Group& group, const std::string& rule) {
    const Cases& cases = group.cases;
    const auto speaking = static_cast<std::size_t>(std::count_if(
        cases.begin(), cases.end(), [&](const auto* each) { return speaks_for(*each, rule); }));
    const auto possible =
        static_cast<std::size_t>(std::count_if(cases.begin(), cases.end(), [&](const auto* each) {
          return speaks_for(*each, rule) || suspects(*each, rule);
        }));
    if (judge::explains(speaking, possible, cases.size())) return true;
    return std::all_of(cases.begin(), cases.end(),
                       [&](const auto* each) { return is_about(*each, rule); });
  }

  [[nodiscard]] FindingKind kind_of(const CaseResult& entry) const {
    if (entry.verdict == run::Verdict::kExpectedFailure) return FindingKind::kExpectedFailure;
    return is_warning(entry, catalogue_, strict_) ? FindingKind::kWarning : FindingKind::kFailure;
  }

  // Moves the group that speaks for the rule most to the end, which is returned.
  static std::vector<Group>::iterator most_for(std::vector<Group>& groups,
                                               const std::string& rule) {
    const auto sum = [&](const Group& group) {
      double out = 0;
      for (const CaseResult* entry : group.cases) out += weight(*entry, rule);
      return out;
    };
    const auto most =
        std::max_element(groups.begin(), groups.end(),
                         [&](const Group& a, const Group& b) { return sum(a) < sum(b); });
    std::rotate(most, std::next(most), groups.end());
    return groups.end();
  }

  [[nodiscard]] Difference made_of(std::vector<Group> groups, const std::string& rule) const {
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return a.cases.size() > b.cases.size();
    });
    Difference out{.rule_id = rule, .rule = catalogue_.find(rule)};
    for (Group& group : groups) {
      out.causes.push_back(std::move(group.cause));
      out.cases.insert(out.cases.end(), group.cases.begin(), group.cases.end());
    }
    const auto rank = [&](const CaseResult* entry) {
      const scenario::Case& test_case = *entry->test_case;
      return std::tuple(kind_of(*entry) == FindingKind::kWarning, !is_about(*entry, rule),
                        !speaks_for(*entry, rule), is_pipelined(*entry), entry->failure.step,
                        test_case.clients.size(), bytes_sent(*entry), test_case.steps.size(),
                        std::string_view(test_case.id));
    };
    std::sort(out.cases.begin(), out.cases.end(),
              [&](const CaseResult* a, const CaseResult* b) { return rank(a) < rank(b); });
    out.kind = kind_of(*out.cases.front());
    if (out.kind != FindingKind::kFailure) return out;
    out.warnings = static_cast<std::size_t>(std::count_if(
        out.cases.begin(), out.cases.end(),
        [&](const CaseResult* entry) { return kind_of(*entry) == FindingKind::kWarning; }));
    return out;
  }

  const scenario::Catalogue& catalogue_;
  const bool strict_;
  std::map<std::string, std::size_t> passed_;  // cases, by the rules that they show to be kept
  std::map<std::string, std::size_t> failed_;
};

}  // namespace

std::span<const CaseResult* const> Difference::failing() const {
  return std::span(cases).first(cases.size() - warnings);
}

bool Difference::blocks(const CaseResult& result) const { return !is_about(result, rule_id); }

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
  Explainer explainer(result, catalogue, strict);
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
  return fmt::format("{} difference{} explain{} {} failure{}", count, count == 1 ? "" : "s",
                     count == 1 ? "s" : "", failures, failures == 1 ? "" : "s");
}

}  // namespace fencepost::report
