// What `explore` judges its runs by, and what it writes of each into a file of evidence, so that
// `judge` does the same from the file. Pure and thread safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/dialect.h"
#include "conformance/run/run_settings.h"
#include "conformance/scenario/requirement.h"
#include "conformance/search/explore.h"
#include "endpoint/endpoint.h"

namespace fencepost::search {

struct JudgedRunsBasis {
  const scenario::Catalogue& catalogue;
  const run::RunSettings& settings;  // after the preflight
  const endpoint::Capabilities& offers;
  endpoint::Duration round_trip{0};
  double timeout_scale = 1.0;
};
// But for what is a run's own: prefixes, when it is to stop, what is known.
[[nodiscard]] JudgedRunOptions judged_runs(const JudgedRunsBasis& basis);

// Does one of these globs of "REQUIREMENT" or "REQUIREMENT: because" fit?
[[nodiscard]] bool is_ignored(const std::vector<std::string>& globs,
                              const judge::Judgement& judgement);

// "accepted", "rejected SET-NX-2 at operation 3", "cut short", "stopped".
[[nodiscard]] std::string verdict_text(const JudgedRun& run);

// What only explore has, in the head of evidence: what it ignores, and whether it runs saved
// workloads.
struct ExploreEvidence {
  std::vector<std::string> ignore{};
  bool replays = false;
};
[[nodiscard]] std::string to_json(const ExploreEvidence& own);
[[nodiscard]] Result<ExploreEvidence, std::string> read_explore_evidence(const std::string& json);

// The profile that was observed, under this name in evidence, which no run has; and back; nothing
// when the text names no profile.
inline constexpr const char* kObservedProfile = "observed profile";
[[nodiscard]] std::string observed_profile_json(codec::Profile profile);
[[nodiscard]] std::optional<codec::Profile> read_observed_profile(const std::string& json);

// Of one run, and back. The error says why it cannot be read.
struct KeptRunText {
  workload::Trace trace{};
  std::set<std::string> known{};
  std::string verdict{};
  std::size_t stop_asked = 0;  // "stopped": JudgedRun's, so that it is stopped there again
};
[[nodiscard]] std::string kept_run_json(const KeptRun& kept);
[[nodiscard]] Result<KeptRunText, std::string> read_kept_run(const std::string& json);

}  // namespace fencepost::search
