// Reports of a run: JSON (docs/report.schema.json), JUnit XML (docs/junit.xsd), SARIF 2.1.0, a
// badge.
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
  // How many cases there were to select from: fewer results are a part of a run. 0: unknown.
  std::size_t known_cases = 0;
};

// The command that runs one case again.
[[nodiscard]] std::string reproduce_command(const ReportContext& context, const Case& test_case);

[[nodiscard]] std::string to_json(const SuiteResult& result, const Catalogue& catalogue,
                                  const ReportContext& context);
[[nodiscard]] std::string to_junit(const SuiteResult& result, const Catalogue& catalogue,
                                   const ReportContext& context);
// A log of results that are problems, for code scanning: a rule is a requirement.
[[nodiscard]] std::string to_sarif(const SuiteResult& result, const Catalogue& catalogue,
                                   const ReportContext& context);
// What a badge service draws: how many of the MUST requirements that the run covers are kept.
[[nodiscard]] std::string to_badge(const SuiteResult& result, const Catalogue& catalogue,
                                   const ReportContext& context);

// The version of this suite.
[[nodiscard]] const char* suite_version();

}  // namespace fencepost::conformance
