#include "traffic/search/explore_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/durations.h"
#include "base/text/text_wrap.h"

namespace fencepost::search {
namespace {

constexpr std::size_t kMaxCutShort = 20;  // one workload in this many

}  // namespace

std::string progress_text(const ExploreProgress& progress, bool ended) {
  const double took = std::max(in_seconds(progress.elapsed), 0.001);
  const std::string workloads =
      progress.of > 0
          ? fmt::format("{} of {}", progress.examples, text::counted(progress.of, "workload"))
          : text::counted(progress.examples, "workload");
  std::string out =
      fmt::format("{:.0f} s  {}  {} ({:.0f}/s)  {} undecidable", in_seconds(progress.elapsed),
                  workloads, text::counted(progress.requests, "operation"),
                  static_cast<double>(progress.requests) / took, progress.undecidable);
  if (!ended && progress.examples > 0 && progress.examples < progress.of) {
    out += fmt::format("  about {:.0f} s to go",
                       took * static_cast<double>(progress.of - progress.examples) /
                           static_cast<double>(progress.examples));
  }
  if (progress.ignored > 0) out += fmt::format("  {} ignored", progress.ignored);
  if (progress.cut_short > 0) {
    out += fmt::format("  {} cut short by a connection that ended", progress.cut_short);
  }
  return progress.doing.empty() ? out : out + "  " + progress.doing;
}

std::string basis_text(const judge::OracleBasis& basis, bool is_auto) {
  const bool by_article = basis.dialect == codec::DialectId::kDocumented;
  std::string out = !by_article ? "the article and the deployed service"
                    : is_auto
                        ? "the article alone, because the store uses the spellings of the article"
                        : "the article alone";
  if (basis.waived.empty()) return out;
  return out + fmt::format("; {} not apply", text::counted(basis.waived.size(), "rule") +
                                                 (basis.waived.size() == 1 ? " does" : " do"));
}

bool too_many_cut_short(std::size_t cut_short, std::size_t workloads) {
  return kMaxCutShort * cut_short > workloads;
}

Conclusion conclude(const ExploreResult& result) {
  using enum run::ExitCode;
  const bool proved = std::any_of(result.found.begin(), result.found.end(),
                                  [](const Counterexample& found) { return found.failed > 0; });
  if (proved) return {.code = kFailed, .text = "the store breaks a rule"};
  if (result.lost) {
    return {.code = kUnreachable,
            .diagnostic = "the endpoint was lost during the run: " + result.lost->text};
  }
  if (result.interrupted) return {.code = kInterrupted, .text = "interrupted"};
  if (!result.found.empty()) {
    return {.code = kInconclusive,
            .text = "a rejection was seen once and not reproduced: nothing is proved"};
  }
  const ExploreProgress& done = result.progress;
  const std::string part = done.part.empty() ? "" : done.part + ": ";
  const bool had_no_time = done.of > 0 && done.examples == 0;
  if (done.requests == 0 && !had_no_time) {
    return {.code = kInconclusive, .text = "not decided: no operation was answered"};
  }
  const std::size_t cut_short =
      std::min<std::size_t>(done.cut_short, result.ended_by_broker.value_or(done.cut_short));
  if (too_many_cut_short(cut_short, done.examples)) {
    return {
        .code = kInconclusive,
        .text = fmt::format("not decided: {} of {} workloads were cut short by a connection that "
                            "the broker ended; a pass needs {} % of them complete",
                            cut_short, done.examples, 100 - 100 / kMaxCutShort)};
  }
  if (done.undecidable > done.requests / 2) {
    return {.code = kInconclusive,
            .text = fmt::format("not decided: {} of {} operations could not be judged; a pass "
                                "needs half of them judged",
                                done.undecidable, done.requests)};
  }
  if (done.examples < done.of) {
    return {.code = kInconclusive,
            .text = fmt::format("{}not decided: the time ended after {} of {} workloads, none of "
                                "which breaks a rule; increase --duration",
                                part, done.examples, done.of)};
  }
  if (done.of > 0) {
    const std::string which = done.of < done.in_all ? fmt::format("{} of {}", done.of, done.in_all)
                              : part.empty()        ? fmt::format("all {}", done.of)
                                                    : fmt::format("its {}", done.of);
    return {.code = kConformant,
            .text = fmt::format("{}no rule is broken in {} workloads; {:.1f} % of their operations "
                                "were decided",
                                part, which,
                                100.0 * static_cast<double>(done.requests - done.undecidable) /
                                    static_cast<double>(done.requests))};
  }
  return {.code = kConformant, .text = "no rule is broken"};
}

std::string open_text(const ExploreResult& result) {
  constexpr std::size_t kMax = 3;  // so that it fits a line
  std::vector<std::pair<std::size_t, std::string>> all;
  for (const auto& [requirement, examples] : result.open) all.emplace_back(examples, requirement);
  std::sort(all.rbegin(), all.rend());
  std::string out;
  for (std::size_t i = 0; i < std::min(kMax, all.size()); ++i) {
    out += fmt::format("{}{} ({})", out.empty() ? "undecidable workloads: " : ", ", all[i].second,
                       all[i].first);
  }
  if (all.size() > kMax) out += fmt::format(", and {} more", all.size() - kMax);
  return out;
}

const JudgedRun* ReplayedWorkload::rejected() const {
  const auto found =
      std::find_if(runs.begin(), runs.end(), [](const JudgedRun& one) { return one.rejection; });
  return found == runs.end() ? nullptr : &*found;
}

std::string replayed_text(const ReplayedWorkload& replayed) {
  const JudgedRun* rejected = replayed.rejected();
  const auto times = rejected == nullptr
                         ? static_cast<std::ptrdiff_t>(replayed.runs.size())
                         : std::count_if(replayed.runs.begin(), replayed.runs.end(),
                                         [](const JudgedRun& one) { return one.rejection; });
  const std::string& recorded = replayed.requirement;
  const char* outcome =
      replayed.runs.empty() ? "not run"
      : rejected == nullptr ? "accepted"
      : !recorded.empty() && rejected->rejection->judgement.requirement != recorded
          ? "rejected for another reason"
          : "still rejected";
  const std::string in =
      replayed.runs.empty()
          ? ""
          : fmt::format(" in {} of {}", times, text::counted(replayed.runs.size(), "run"));
  return fmt::format("{}  {}{}{}", replayed.file, outcome, in,
                     recorded.empty() ? "" : "; recorded: " + recorded);
}

}  // namespace fencepost::search
