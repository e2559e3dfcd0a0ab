#include "report/baseline/baseline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "base/glob.h"
#include "report/baseline/known_root_cause.h"

namespace fencepost::baseline {
namespace {

bool needs_its_entry(const BaselineEntry& entry, const run::CaseResult& result) {
  switch (entry.list) {
    case BaselineList::kFail:
      return result.verdict == run::Verdict::kFailed;
    case BaselineList::kFlaky:
      return result.verdict == run::Verdict::kFailed ||
             result.verdict == run::Verdict::kInconclusive;
    case BaselineList::kSkip:
      return true;
  }
  return false;
}

std::string statuses_of(const BaselineEntry& entry) {
  std::string out;
  for (const run::Verdict status : entry.statuses) {
    out += (out.empty() ? "" : ", ") + std::string(name(status));
  }
  return out;
}

// Puts one run against one baseline.
class BaselineApplier {
 public:
  BaselineApplier(const Baseline& baseline, const BaselineRun& run, run::SuiteResult& result)
      : baseline_(baseline), run_(run), result_(result) {}

  void apply() {
    for (const BaselineEntry& entry : baseline_.entries) apply(entry);
    apply_root_causes(baseline_, run_, result_);
    add_notes();
  }

 private:
  void diagnose(const BaselineEntry& entry, const std::string& text) {
    result_.baseline_errors.push_back(place(entry) + ": " + text);
  }

  void apply(const BaselineEntry& entry) {
    check_reason(entry);
    const bool out_of_date = check_date(entry);
    std::vector<run::CaseResult*> matching;
    for (run::CaseResult& result : result_.cases) {
      if (matches(entry, result.test_case->id)) matching.push_back(&result);
    }
    if (matching.empty()) {
      // An entry for a case that does not exist any more would hide nothing and stay for ever.
      // Where only some cases were selected, it may be of one of the others.
      if (run_.whole_suite) {
        diagnose(entry, fmt::format("{} matches no case: remove the entry, or correct the id",
                                    entry.cases));
      } else {
        not_selected_.push_back(&entry);
      }
      return;
    }
    const bool too_many = check_max(entry, matching);
    // What the baseline skips was not run, so there is nothing else to judge.
    if (entry.list == BaselineList::kSkip || out_of_date || too_many) return;
    std::set<Finding> findings;
    for (run::CaseResult* result : matching) findings.insert(apply(entry, *result));
    // A glob is undecided, or not needed, only if all its cases are: one that failed as expected
    // justifies the entry.
    if (findings == std::set{Finding::kUndecided}) undecided_.push_back(&entry);
    if (findings == std::set{Finding::kPassed}) not_needed_.push_back(&entry);
  }

  void check_reason(const BaselineEntry& entry) {
    if (!entry.reason.empty()) return;
    diagnose(entry, fmt::format("{} has no reason: say why it is in the baseline{}", entry.cases,
                                baseline_.text_list ? ", in a comment after it" : ""));
  }

  bool check_date(const BaselineEntry& entry) {
    if (!expired(entry.expires, run_.today)) return false;
    diagnose(entry, fmt::format("the entry for {} expired on {} (today is {}): {}", entry.cases,
                                to_string(*entry.expires), to_string(run_.today),
                                "remove it, or give it a later date if there is good reason"));
    return true;
  }

  // A glob also covers cases that are added later. Its limit keeps it from hiding a store that has
  // become much worse.
  bool check_max(const BaselineEntry& entry, const std::vector<run::CaseResult*>& matching) {
    if (!is_glob(entry)) return false;
    const auto needing = static_cast<std::size_t>(std::count_if(
        matching.begin(), matching.end(),
        [&](const run::CaseResult* result) { return needs_its_entry(entry, *result); }));
    if (needing <= entry.max.value_or(kDefaultMax)) return false;
    diagnose(
        entry,
        fmt::format("the glob {} covers {} {} cases; its limit is {}{}: narrow it{}", entry.cases,
                    needing, entry.list == BaselineList::kSkip ? "skipped" : "failing",
                    entry.max.value_or(kDefaultMax), entry.max ? "" : " (the default of max)",
                    baseline_.text_list ? "" : fmt::format(", or set max: {}", needing)));
    return true;
  }

  Finding apply(const BaselineEntry& entry, run::CaseResult& result) {
    const Finding finding = judge(entry, result);
    const std::string& id = result.test_case->id;
    if (finding != Finding::kUndecided && finding != Finding::kPassed) {
      result.baseline = words_of(entry.reason, entry.ticket);
    }
    switch (finding) {
      case Finding::kAsExpected:
        if (result.verdict == run::Verdict::kInconclusive) {
          result.baseline = "inconclusive this time: " + result.baseline;
        }
        result.verdict = run::Verdict::kExpectedFailure;
        break;
      case Finding::kUnexpectedPass:
        refuse_pass(entry, result);
        break;
      // The case is known to fail, but not like this: a second fault must not hide behind the
      // first.
      case Finding::kOtherSignature:
        result.failure.message += fmt::format(
            "; this is not the failure that {} knows: its signature is {}, the entry has {}",
            place(entry), run::quoted_signature(signature(result.failure)),
            run::quoted_signature(entry.signature));
        diagnose(entry, fmt::format("{} fails with another signature: if it is the same bug, set "
                                    "signature: {}",
                                    id, run::quoted_signature(signature(result.failure))));
        break;
      case Finding::kNotAccepted:
        result.failure.message +=
            fmt::format("; {} accepts {} only", place(entry), statuses_of(entry));
        diagnose(entry, fmt::format("{} is {}, and the entry accepts {} only", id,
                                    name(result.verdict), statuses_of(entry)));
        break;
      case Finding::kPassed:
      case Finding::kUndecided:
        break;
    }
    return finding;
  }

  void refuse_pass(const BaselineEntry& entry, run::CaseResult& result) {
    const std::string cure =
        is_glob(entry) ? fmt::format("remove the entry, or narrow its glob {}", entry.cases)
                       : "remove the entry";
    result.verdict = run::Verdict::kFailed;
    result.unexpected_pass = true;
    result.failure.message = fmt::format(
        "it passes, but the baseline expects it to fail: in {}, {}", place(entry), cure);
    result.failure.expected = "a failure: " + words_of(entry.reason, entry.ticket);
    if (!entry.signature.empty()) result.failure.expected += ", with signature " + entry.signature;
    result.failure.actual = "a pass";
    result.failure.step = 0;
    result.failure.position = result.test_case->position;
    diagnose(entry, fmt::format("{} passes: {}", result.test_case->id, cure));
  }

  void add_notes() {
    add_note(undecided_, "not judged, since their cases were skipped, inconclusive or not run");
    add_note(not_needed_, "not needed this time, since their flaky cases passed");
    if (!not_selected_.empty()) {
      result_.baseline_notes.push_back(
          fmt::format("not judged, since this run selects none of their cases: {} of {} entries",
                      not_selected_.size(), baseline_.entries.size()));
    }
  }

  void add_note(const std::vector<const BaselineEntry*>& entries, const char* what) {
    if (entries.empty()) return;
    constexpr std::size_t kMax = 10;
    std::string places;
    for (std::size_t i = 0; i < std::min(kMax, entries.size()); ++i) {
      places += fmt::format("{}{} ({})", i == 0 ? "" : ", ", place(*entries[i]), entries[i]->cases);
    }
    if (entries.size() > kMax) places += fmt::format(" and {} more", entries.size() - kMax);
    result_.baseline_notes.push_back(fmt::format("{}: {}", what, places));
  }

  const Baseline& baseline_;
  const BaselineRun& run_;
  run::SuiteResult& result_;
  std::vector<const BaselineEntry*> not_selected_;
  std::vector<const BaselineEntry*> undecided_;
  std::vector<const BaselineEntry*> not_needed_;
};

bool is_skipped(const Baseline& baseline, const std::string& id) {
  const BaselineEntry* entry = find(baseline, id);
  return entry != nullptr && entry->list == BaselineList::kSkip;
}

}  // namespace

std::string_view name(BaselineList list) {
  switch (list) {
    case BaselineList::kFail:
      return "fail";
    case BaselineList::kFlaky:
      return "flaky";
    case BaselineList::kSkip:
      return "skip";
  }
  return "unknown";
}

bool is_glob(const BaselineEntry& entry) {
  return entry.cases.find_first_of("*?[") != std::string::npos;
}

bool matches(const BaselineEntry& entry, const std::string& id) {
  return glob_matches(entry.cases, id);
}

const BaselineEntry* find(const Baseline& baseline, const std::string& id) {
  const auto found = std::find_if(baseline.entries.begin(), baseline.entries.end(),
                                  [&](const BaselineEntry& entry) { return matches(entry, id); });
  return found == baseline.entries.end() ? nullptr : &*found;
}

std::string place(const BaselineEntry& entry) {
  return fmt::format("{}:{}", entry.position.file, entry.position.line);
}

std::string place(const KnownRootCause& known) {
  return fmt::format("{}:{}", known.position.file, known.position.line);
}

std::string words_of(const std::string& reason, const std::string& ticket) {
  std::string out = reason.empty() ? "no reason given" : reason;
  if (!ticket.empty()) out += ", " + ticket;
  return out;
}

bool expired(const std::optional<Date>& last_day, const Date& today) {
  return last_day && today > *last_day;
}

std::string to_string(const Date& date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

Finding judge(const BaselineEntry& entry, const run::CaseResult& result) {
  if (entry.list == BaselineList::kSkip) return Finding::kUndecided;
  const bool flaky = entry.list == BaselineList::kFlaky;
  const bool accepted = flaky && entry.statuses.contains(result.verdict);
  switch (result.verdict) {
    case run::Verdict::kPassed:
      return accepted ? Finding::kPassed : Finding::kUnexpectedPass;
    case run::Verdict::kInconclusive:
      return accepted ? Finding::kAsExpected : Finding::kUndecided;
    case run::Verdict::kFailed:
      if (flaky && !accepted) return Finding::kNotAccepted;
      return entry.signature.empty() || entry.signature == signature(result.failure)
                 ? Finding::kAsExpected
                 : Finding::kOtherSignature;
    case run::Verdict::kExpectedFailure:
    case run::Verdict::kSkipped:
    case run::Verdict::kLost:
    case run::Verdict::kNotRun:
      break;
  }
  return Finding::kUndecided;
}

std::vector<const scenario::Case*> without_skipped(
    const Baseline& baseline, const std::vector<const scenario::Case*>& cases) {
  std::vector<const scenario::Case*> out;
  std::copy_if(
      cases.begin(), cases.end(), std::back_inserter(out),
      [&](const scenario::Case* test_case) { return !is_skipped(baseline, test_case->id); });
  return out;
}

void add_skipped(const Baseline& baseline, const std::vector<const scenario::Case*>& cases,
                 run::SuiteResult& result) {
  std::vector<run::CaseResult> merged;
  auto next = result.cases.begin();
  for (const scenario::Case* test_case : cases) {
    const BaselineEntry* entry = find(baseline, test_case->id);
    if (entry != nullptr && entry->list == BaselineList::kSkip) {
      merged.push_back({.test_case = test_case,
                        .verdict = run::Verdict::kSkipped,
                        .failure = {.message = "skipped by the baseline: " +
                                               words_of(entry->reason, entry->ticket),
                                    .position = test_case->position},
                        .baseline = words_of(entry->reason, entry->ticket)});
    } else {
      FENCEPOST_CHECK(next != result.cases.end() && next->test_case == test_case);
      merged.push_back(std::move(*next++));
    }
  }
  result.cases = std::move(merged);
}

bool expects(const Baseline& baseline, const BaselineRun& run, const run::CaseResult& result) {
  if (const KnownRootCause* known = known_by(baseline, result)) {
    return !expired(known->expires, run.today);
  }
  const BaselineEntry* entry = find(baseline, result.test_case->id);
  return entry != nullptr && !expired(entry->expires, run.today) &&
         judge(*entry, result) == Finding::kAsExpected;
}

void apply(const Baseline& baseline, const BaselineRun& run, run::SuiteResult& result) {
  BaselineApplier(baseline, run, result).apply();
}

}  // namespace fencepost::baseline
