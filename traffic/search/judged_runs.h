// What `explore` judges its runs by. Pure and thread safe.
#pragma once

#include <string>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/run/run_settings.h"
#include "suite/scenario/requirement.h"
#include "traffic/search/explore.h"

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

}  // namespace fencepost::search
