#include "suite/judge/root_cause.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

namespace fencepost::judge {
namespace {

// By what a failure says of a rule.
// Chosen on the faults that `selftest` measures, and held there by tests/selftest_gate.py. What
// else was tried is in docs/decisions/0018-differences.md.
constexpr double kDirect = 1.0;    // the difference breaks it, regardless of what the case is about
constexpr double kOwnStep = 1.0;   // the step that fails checks it, and the case is about it
constexpr double kOnTheWay = 0.6;  // the step checks it before what the case is about
constexpr double kCandidate = 0.5;  // it is one of several that may have come before
constexpr double kFirst = 0.4;      // nothing names a rule: it is the case's first
constexpr double kAbout = 0.3;      // the case is about it, among others, which share this
// The weight of a GET, where other requests may have made what it returns: a fault of theirs shows
// in most GETs, and a fault of GET in few others.
constexpr double kSeenByGet = 0.2;

// A rule explains all failures with one cause when one in `kShare` of them speaks for it: in which
// words a case tells of a fault depends on what it does next.
constexpr std::size_t kShare = 5;
// The same for those of which the rule is only a candidate.
constexpr std::size_t kPossibleShare = 2;

// Where this share of the failures name one rule in a step of their own that checks it, it is that
// one: what has few or no failures of its own does not outweigh what the cases say.
constexpr double kNearlyAll = 0.75;

bool has(const std::vector<std::string>& rules, std::string_view rule) {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

bool candidates(const Testimony& failure, std::string_view rule) {
  return has(failure.candidates, rule);
}

// Is it a rule of GET, where the value or the version may have been made by another request?
bool is_seen_by_get(const Testimony& failure, std::string_view rule) {
  // SET-VALUE-1 and -2 are suspected where no other request has made what was seen
  // (candidate_rules.cc).
  return rule.starts_with("GET") &&
         std::any_of(failure.candidates.begin(), failure.candidates.end(),
                     [](const std::string& each) {
                       return !each.starts_with("GET") && !each.starts_with("SET-VALUE");
                     });
}

// What makes a request fail, so that nothing comes of it: a later GET shows whether that was kept.
bool forbids_effects(std::string_view rule) {
  return rule == "ENV-QOS-1" || rule == "ENV-CORRELATION-2" || rule == "ENV-RESPONSE-TOPIC-5";
}

// All that a failure may come of.
std::set<std::string> rules_of(const Testimony& failure) {
  std::set<std::string> out(failure.about.begin(), failure.about.end());
  out.emplace(failure.requirement);
  if (!failure.direct.empty()) out.emplace(failure.direct);
  out.insert(failure.candidates.begin(), failure.candidates.end());
  std::erase_if(out, [&](const std::string& rule) { return !may_break(failure, rule); });
  return out;
}

// The rules of a family, FT-ACCEPT-1 and -2, say the same of different requests. A fault usually
// breaks several of them: against other rules they are weighed together.
std::string family_of(const std::string& rule) { return rule.substr(0, rule.rfind('-')); }

using Failures = std::vector<std::size_t>;
using Counts = std::map<std::string, std::size_t>;

class Explainer {
 public:
  Explainer(const std::vector<Testimony>& all, const Counts& passed,
            const scenario::Catalogue& catalogue)
      : all_(all), passed_(passed), catalogue_(catalogue) {
    for (const Testimony& each : all_) {
      for (const std::string& rule : rules_of(each)) {
        // No case shows what may have come before.
        const bool before =
            candidates(each, rule) && !is_about(each, rule) && !speaks_for(each, rule);
        if (!before) ++failed_[rule];
      }
    }
  }

  // One rule that is not kept is one root cause: also one that is named again for what it did not
  // explain whole.
  [[nodiscard]] std::vector<RootCause> explain() const {
    std::vector<Failures> groups = grouped();
    std::vector<RootCause> out;
    while (!groups.empty()) {
      const std::string rule = best_rule(groups);
      const std::set<std::string_view> themes = themes_of(groups, rule);
      auto rest = std::stable_partition(groups.begin(), groups.end(), [&](const Failures& group) {
        return !is_explained(group, rule) && !themes.contains(all_[group.front()].theme);
      });
      // A rule that explains no group as a whole explains the one that speaks for it most.
      if (rest == groups.end()) rest = std::prev(most_for(groups, rule));
      auto owner = std::find_if(out.begin(), out.end(),
                                [&](const RootCause& each) { return each.rule == rule; });
      if (owner == out.end()) owner = out.insert(owner, {rule, {}});
      owner->groups.insert(owner->groups.end(), std::make_move_iterator(rest),
                           std::make_move_iterator(groups.end()));
      groups.erase(rest, groups.end());
    }
    for (RootCause& each : out) {
      std::stable_sort(each.groups.begin(), each.groups.end(),
                       [](const Failures& a, const Failures& b) { return a.size() > b.size(); });
    }
    return out;
  }

 private:
  [[nodiscard]] std::vector<Failures> grouped() const {
    // By cause, and not by what comes first: the order of the failures must not matter.
    std::map<std::string_view, Failures> found;
    for (std::size_t i = 0; i < all_.size(); ++i) found[all_[i].cause].push_back(i);
    std::vector<Failures> out;
    for (auto& [cause, members] : found) out.push_back(std::move(members));
    return out;
  }

  // An unspecified point explains only what is attributed to it; a rule of another catalogue
  // nothing else.
  [[nodiscard]] bool can_be_named(const Testimony& failure, const std::string& rule) const {
    const scenario::Requirement* found = catalogue_.find(rule);
    if (found == nullptr) return failure.requirement == rule;
    return found->level != scenario::Level::kMay;
  }

  // A rule whose other cases passed is less likely.
  [[nodiscard]] double likelihood(const std::string& rule) const {
    const auto of = [&](const Counts& counts) {
      const auto found = counts.find(rule);
      return found == counts.end() ? 0.0 : static_cast<double>(found->second);
    };
    // A rule that is only a candidate has no failed case, and is not impossible for that.
    constexpr double kNever = 0.5;
    return (of(failed_) + kNever) / (of(failed_) + of(passed_) + kNever);
  }

  // What failures say of a rule, or of all rules of a family.
  struct Support {
    double score = 0;
    double explained = 0;  // failures that may come of it
  };
  void add(const Testimony& failure, std::map<std::string, Support>& rules,
           std::map<std::string, Support>& families) const {
    std::map<std::string, Support> of_family;
    for (const std::string& rule : rules_of(failure)) {
      if (!can_be_named(failure, rule)) continue;
      const double score = weight(failure, rule);
      const bool explains = speaks_for(failure, rule) || candidates(failure, rule);
      rules[rule].score += score;
      if (explains) ++rules[rule].explained;
      Support& family = of_family[family_of(rule)];
      family.score = std::max(family.score, score);
      if (explains) family.explained = 1;
    }
    for (const auto& [family, support] : of_family) {
      families[family].score += support.score;
      families[family].explained += support.explained;
    }
  }

  // The rule that nearly all failures name; empty: there is none.
  [[nodiscard]] std::string named_by_nearly_all(const std::vector<Failures>& groups) const {
    Counts named;
    std::size_t all = 0;
    for (const Failures& group : groups) {
      all += group.size();
      for (const std::size_t i : group) {
        std::string rule(all_[i].requirement);
        if (!all_[i].named || !is_about(all_[i], rule) || !can_be_named(all_[i], rule) ||
            !may_break(all_[i], rule)) {
          continue;
        }
        ++named[std::move(rule)];
      }
    }
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& each) {
      return static_cast<double>(each.second) >= kNearlyAll * static_cast<double>(all);
    });
    return found == named.end() ? std::string() : found->first;
  }

  [[nodiscard]] std::string best_rule(const std::vector<Failures>& groups) const {
    if (std::string rule = named_by_nearly_all(groups); !rule.empty()) return rule;
    std::map<std::string, Support> rules;
    std::map<std::string, Support> families;
    double all = 0;
    for (const Failures& group : groups) {
      for (const std::size_t i : group) {
        add(all_[i], rules, families);
        ++all;
      }
    }
    // What few of the failures come of is less likely than what all may come of.
    const auto likely = [&](const Support& support, const std::string& rule) {
      return support.score * likelihood(rule) * (support.explained + 1) / (all + 1);
    };
    // Of each family the likeliest: they are in the order of their names.
    std::vector<std::string> best_of_families;
    for (const auto& [rule, support] : rules) {
      const bool same =
          !best_of_families.empty() && family_of(best_of_families.back()) == family_of(rule);
      if (!same) {
        best_of_families.push_back(rule);
      } else if (likely(support, rule) >
                 likely(rules[best_of_families.back()], best_of_families.back())) {
        best_of_families.back() = rule;
      }
    }
    // Where no rule can be named, it is the one to which the failure is attributed, so that all
    // failures get explained.
    std::string best(all_[groups.front().front()].requirement);
    double most = 0;
    for (const std::string& rule : best_of_families) {
      const double value = likely(families[family_of(rule)], rule);
      if (value <= most) continue;
      most = value;
      best = rule;
    }
    return best;
  }

  // The themes of the failures that speak for the rule.
  [[nodiscard]] std::set<std::string_view> themes_of(const std::vector<Failures>& groups,
                                                     const std::string& rule) const {
    std::set<std::string_view> out;
    for (const Failures& group : groups) {
      const std::string_view theme = all_[group.front()].theme;
      if (!theme.empty() &&
          count(group, [&](const Testimony& each) { return speaks_for(each, rule); }) > 0) {
        out.insert(theme);
      }
    }
    return out;
  }

  [[nodiscard]] std::size_t count(const Failures& group, const auto& holds) const {
    return static_cast<std::size_t>(
        std::count_if(group.begin(), group.end(), [&](std::size_t i) { return holds(all_[i]); }));
  }

  [[nodiscard]] bool is_explained(const Failures& group, const std::string& rule) const {
    const auto speaking = count(group, [&](const auto& each) { return speaks_for(each, rule); });
    const auto possible = count(
        group, [&](const auto& each) { return speaks_for(each, rule) || candidates(each, rule); });
    if (speaking * kShare >= group.size() || possible * kPossibleShare >= group.size()) return true;
    return count(group, [&](const auto& each) { return is_about(each, rule); }) == group.size();
  }

  // Moves the group that speaks for the rule most to the end, which is returned.
  [[nodiscard]] std::vector<Failures>::iterator most_for(std::vector<Failures>& groups,
                                                         const std::string& rule) const {
    const auto sum = [&](const Failures& group) {
      double out = 0;
      for (const std::size_t i : group) out += weight(all_[i], rule);
      return out;
    };
    const auto most =
        std::max_element(groups.begin(), groups.end(),
                         [&](const Failures& a, const Failures& b) { return sum(a) < sum(b); });
    std::rotate(most, std::next(most), groups.end());
    return groups.end();
  }

  const std::vector<Testimony>& all_;
  const Counts& passed_;
  const scenario::Catalogue& catalogue_;
  Counts failed_;
};

}  // namespace

bool is_named(const scenario::Case& test_case, std::size_t step, std::string_view attributed,
              std::string_view direct) {
  // By default a failure is attributed to the first rule of the case: another one was named by
  // something.
  if (attributed != test_case.requirements.front() || attributed == direct) return true;
  if (step == 0) return true;
  const auto& what = test_case.steps[step - 1].what;
  if (const auto* request = std::get_if<scenario::RequestStep>(&what)) {
    return request->expect.cites == attributed;
  }
  if (const auto* awaited = std::get_if<scenario::NotificationStep>(&what)) {
    return awaited->cites == attributed;
  }
  const auto* silence = std::get_if<scenario::SilenceStep>(&what);
  return silence != nullptr && silence->cites == attributed;
}

bool may_break(const Testimony& failure, std::string_view rule) {
  if (failure.direct.starts_with("SET-WRITE-") && rule.starts_with("ENV-")) {
    return forbids_effects(rule);
  }
  return may_break(failure.kind, rule);
}

bool is_about(const Testimony& failure, std::string_view rule) { return has(failure.about, rule); }

bool speaks_for(const Testimony& failure, std::string_view rule) {
  return failure.requirement == rule || failure.direct == rule;
}

double weight(const Testimony& failure, std::string_view rule) {
  const bool about = is_about(failure, rule);
  const bool seen_by_get = is_seen_by_get(failure, rule);
  double out = failure.direct == rule ? (seen_by_get ? kSeenByGet : kDirect) : 0;
  if (out == 0 && candidates(failure, rule)) out = seen_by_get ? kSeenByGet : kCandidate;
  if (failure.requirement == rule) {
    out += !failure.named ? kFirst : about ? kOwnStep : kOnTheWay;
  }
  if (out > 0 || !about) return out;
  return kAbout / static_cast<double>(failure.about.size());
}

std::vector<RootCause> root_causes(const std::vector<Testimony>& failures, const Counts& passed,
                                   const scenario::Catalogue& catalogue) {
  return Explainer(failures, passed, catalogue).explain();
}

}  // namespace fencepost::judge
