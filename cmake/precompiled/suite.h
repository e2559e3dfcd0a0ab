// The same as common.h, of the suite's own values: what a case, a run and a report copy, move and
// end. For suite/, the rooms above it and the program; after any change here, they are all compiled
// again, as they are today.
#pragma once

#include "cmake/precompiled/common.h"
#include "codec/message.h"
#include "endpoint/endpoint.h"
#include "report/report.h"
#include "suite/run/case_result.h"
#include "suite/run/suite.h"
#include "suite/scenario/scenario.h"

namespace fencepost::precompiled {

inline void use_suite(const scenario::Case& test_case, const run::CaseResult& result,
                      const run::SuiteResult& results, const endpoint::Event& event) {
  use_value(test_case);
  use_value(test_case.steps);
  use_value(scenario::Step());
  use_value(scenario::Expectation());
  use_value(scenario::Outcome());
  use_value(result);
  use_value(results);
  use_value(run::TranscriptEntry());
  use_value(run::Failure());
  use_value(event);
  use_value(codec::Message());
  use_value(endpoint::Capabilities());
  use_value(endpoint::ClientOptions());
  use_map(std::map<std::string, run::CaseResult>(), result);
}

}  // namespace fencepost::precompiled
