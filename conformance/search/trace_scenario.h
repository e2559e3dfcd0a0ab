// The text of a scenario file that does what a plan says. What is run, what is saved and what
// `certify --scenarios` runs again are the same text, loaded by the same loader.
//
// Tokens are compared with tokens, so all of them are written relative to one version, that of a
// key which is set first (`t0`): they keep the order that they have in the model however long the
// requests take. Pure and thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "conformance/scenario/scenario.h"
#include "conformance/search/live_plan.h"

namespace fencepost::search {

// What a scenario says beside its steps.
struct ScenarioWords {
  std::string id{};
  std::string title{};
  std::string note{};  // may be empty
  std::optional<scenario::Recorded> recorded{};
  std::string area = "fuzz-live";
};

// A file with one case, for a plan with at least one request.
[[nodiscard]] std::string scenario_text(const LivePlan& plan, const ScenarioWords& words);

// How many steps that case has, and whether the first of them only makes the version that tokens
// are relative to.
struct ScenarioSize {
  std::size_t steps = 0;
  bool starts_with_version = false;
};
[[nodiscard]] ScenarioSize size_of(const LivePlan& plan);

// The requirement that a failure of the reply to this step is charged to.
[[nodiscard]] std::string_view requirement_of(const LiveStep& step);

// The same of a notification that step brings.
[[nodiscard]] std::string_view requirement_of(const LiveStep& step,
                                              const workload::ExpectedNotification& notification);

// `SET NX`, `GET`: the operation as titles name it.
[[nodiscard]] std::string name_of(const LiveStep& step);

}  // namespace fencepost::search
