// What `explore` says of a search, and of saved workloads that it has run again. Pure and thread
// safe.
//
//   print(progress_text(result.progress));
//   const Conclusion end = conclude(result);
//   return end.code;
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "suite/run/exit_code.h"
#include "traffic/search/explore.h"
#include "traffic/search/saved_workload.h"

namespace fencepost::search {

// "3 s  200 of 300 workloads  1500 operations (500/s)  2 undecidable  about 2 s to go"; the
// last part only during the run.
[[nodiscard]] std::string progress_text(const ExploreProgress& progress, bool ended = false);

// "the article alone; 12 rules do not apply". `is_auto`: the profile was not given.
[[nodiscard]] std::string basis_text(const judge::OracleBasis& basis, bool is_auto);

// Is too little judged for a pass?
[[nodiscard]] bool too_many_cut_short(std::size_t cut_short, std::size_t workloads);

struct Conclusion {
  run::ExitCode code = run::ExitCode::kConformant;
  std::string text{};        // a line of the screen; may be empty
  std::string diagnostic{};  // the same for standard error
};
// kFailed when something was rejected again and again, else kUnreachable when the endpoint is lost,
// kInterrupted, or kInconclusive when a rejection was seen once, nothing was answered, or less was
// judged than a green verdict rests on: 95 % of the workloads whole, half of the operations
// decided, all workloads of an enumeration.
[[nodiscard]] Conclusion conclude(const ExploreResult& result);

// "undecidable workloads: SET-PX-OPEN-8 (12), ..."; empty: everything was decided.
[[nodiscard]] std::string open_text(const ExploreResult& result);

// A saved workload that was run again, as often as there are `runs`.
struct ReplayedWorkload {
  std::string file{};
  std::string requirement{};  // as saved; may be empty
  std::vector<JudgedRun> runs{};

  // The first that was rejected; null: none was.
  [[nodiscard]] const JudgedRun* rejected() const;
};
// "a.trace  still rejected, 5 times of 5; recorded: FT-LOWER-1"
[[nodiscard]] std::string replayed_text(const ReplayedWorkload& replayed);

}  // namespace fencepost::search
