#include "report/baseline/root_cause_updater.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/baseline/known_root_cause.h"

namespace fencepost::baseline {

bool RootCauseUpdater::is_ours(const run::CaseResult& result) const {
  return result.verdict == run::Verdict::kFailed && !result.unexpected_pass &&
         find(baseline_, result.test_case->id) == nullptr;
}

std::vector<KnownRootCause> RootCauseUpdater::run(const scenario::Catalogue& catalogue,
                                                  bool strict) {
  entries_ = baseline_.differences;
  note_known();
  for (const report::Difference& found : report::differences(result_, catalogue, strict)) {
    if (found.kind == report::FindingKind::kFailure) place(found);
  }
  std::vector<KnownRootCause> out;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool added = i >= baseline_.differences.size();
    const KnownRootCause before = added ? KnownRootCause{} : baseline_.differences[i];
    settle(entries_[i], before);
    if (!entries_[i].causes.empty()) out.push_back(std::move(entries_[i]));
  }
  return out;
}

void RootCauseUpdater::note_known() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    for (const std::string& cause : entries_[i].causes) entry_of_cause_.emplace(cause, i);
  }
  for (const run::CaseResult& entry : result_.cases) {
    if (is_ours(entry)) cases_of_cause_[entry.failure.cause].push_back(&entry);
  }
  // What is seen no more is forgotten.
  for (KnownRootCause& known : entries_) {
    std::erase_if(known.causes,
                  [&](const std::string& cause) { return !cases_of_cause_.contains(cause); });
  }
}

void RootCauseUpdater::place(const report::Difference& found) {
  Cases unknown;
  // A baseline has no entry for a warning.
  for (const run::CaseResult* entry : found.failing()) {
    if (is_ours(*entry) && !entry_of_cause_.contains(entry->failure.cause)) {
      unknown.push_back(entry);
    }
  }
  if (unknown.empty()) return;
  KnownRootCause& owner = owner_of(found, unknown);
  const auto at = static_cast<std::size_t>(&owner - entries_.data());
  for (const run::CaseResult* entry : unknown) {
    const std::string cause = entry->failure.cause;
    if (entry_of_cause_.emplace(cause, at).second) owner.causes.push_back(cause);
  }
}

KnownRootCause& RootCauseUpdater::owner_of(const report::Difference& found, const Cases& unknown) {
  std::map<std::size_t, std::size_t> failures;  // by entry
  for (const run::CaseResult* entry : found.cases) {
    const auto known = entry_of_cause_.find(entry->failure.cause);
    if (is_ours(*entry) && known != entry_of_cause_.end()) ++failures[known->second];
  }
  if (!failures.empty()) {
    const auto most =
        std::max_element(failures.begin(), failures.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return entries_[most->first];
  }
  const auto orphan =
      std::find_if(entries_.begin(), entries_.end(), [&](const KnownRootCause& known) {
        return known.causes.empty() && known.requirement == found.rule_id;
      });
  if (orphan != entries_.end()) return *orphan;
  entries_.push_back({.requirement = found.rule_id, .case_id = unknown.front()->test_case->id});
  return entries_.back();
}

// The numbers that follow from the causes, and what has changed.
void RootCauseUpdater::settle(KnownRootCause& known, const KnownRootCause& before) {
  if (known.causes.empty()) {
    changes_.push_back({"removed", title_of(before), "no failure matches it"});
    return;
  }
  std::size_t failures = 0;
  bool shown = false;
  for (const std::string& cause : known.causes) {
    for (const run::CaseResult* entry : cases_of_cause_[cause]) {
      ++failures;
      shown = shown || entry->test_case->id == known.case_id;
    }
  }
  if (!shown) known.case_id = cases_of_cause_[known.causes.front()].front()->test_case->id;
  const std::string count = text::counted(failures, "failure");
  if (before.causes.empty()) {
    known.failures = failures;
    changes_.push_back({"added", title_of(known), count + "; write its reason"});
    return;
  }
  // Cases come and go. But an entry that covers more than it may is left to a person: what the
  // limit is for would be hidden.
  const bool follows = known.causes != before.causes || failures < before.failures;
  if (follows) known.failures = failures;
  if (follows || known.case_id != before.case_id) {
    changes_.push_back(
        {"changed", title_of(known),
         fmt::format("{}, {}; was {}, {}", count, text::counted(known.causes.size(), "cause"),
                     text::counted(before.failures, "failure"),
                     text::counted(before.causes.size(), "cause"))});
  }
}

}  // namespace fencepost::baseline
