// What a probe has found, as a descriptor and as text for people.
#pragma once

#include <string>

#include "suite/scenario/requirement.h"
#include "suite/target/descriptor.h"
#include "suite/target/probe.h"

namespace fencepost::target {

struct ProbeContext {
  const Descriptor& given;  // what the endpoint was probed with
  const scenario::Catalogue& catalogue;
  std::string endpoint;  // URL without password
  std::string when;      // ISO 8601, UTC
  std::string suite{};   // our version
};

// A descriptor that load_descriptor() takes, with comments that say what was measured and what is
// left to fill in. No password goes into it: roles name environment variables.
[[nodiscard]] std::string to_descriptor(const Findings& findings, const ProbeContext& context);

// The same for the console; `in_full` with what was seen of each unspecified point.
[[nodiscard]] std::string to_summary(const Findings& findings, const ProbeContext& context,
                                     bool in_full);

}  // namespace fencepost::target
