// Reports of a run: JSON (docs/report.schema.json), JUnit XML and HTML.
#pragma once

#include <string>

#include "conformance/preflight.h"
#include "conformance/requirement.h"
#include "conformance/suite.h"

namespace fencepost::conformance {

// What a report says beyond the results.
struct ReportContext {
  std::string endpoint;  // URL without password
  Profile profile = Profile::kAuto;
  std::uint64_t seed = 0;
  bool strict = false;
  std::string command;  // how the suite was called, e.g. `fencepost certify --endpoint embedded`
  std::string started;  // ISO 8601, UTC
  PreflightReport preflight{};
  std::string stopped_because{};  // why cases were not run, when some were not
};

// The command that runs one case again.
[[nodiscard]] std::string reproduce_command(const ReportContext& context, const Case& test_case);

[[nodiscard]] std::string to_json(const SuiteResult& result, const Catalogue& catalogue,
                                  const ReportContext& context);
[[nodiscard]] std::string to_junit(const SuiteResult& result, const Catalogue& catalogue,
                                   const ReportContext& context);
// One page that is complete in itself, for people.
[[nodiscard]] std::string to_html(const SuiteResult& result, const Catalogue& catalogue,
                                  const ReportContext& context);

// The version of this suite.
[[nodiscard]] const char* suite_version();

}  // namespace fencepost::conformance
