// What becomes of a difference that a search has found on a live store: a file, and an explanation
// on the console.
#pragma once

#include <string>

#include "conformance/report/console.h"
#include "conformance/report/report.h"
#include "conformance/scenario/requirement.h"
#include "conformance/search/live_fuzz.h"
#include "conformance/search/live_plan.h"
#include "endpoint/endpoint.h"

namespace fencepost::cli {

// What the command that runs a saved scenario again consists of; empty: not said.
struct Reproduce {
  std::string program;
  std::string endpoint;
  std::string descriptor;
};

struct DifferenceReport {
  std::string found_by;  // "fuzz-live" or "explore": what ids begin with
  std::string folder;    // for the files, made when it is needed
  const scenario::Catalogue& catalogue;
  report::ReportContext context;
  Reproduce reproduce;
};

// "ft" of FT-LOWER-1
[[nodiscard]] std::string area_of(const std::string& requirement);

// Gives the difference its name and saves it. False after a complaint.
[[nodiscard]] bool save(search::Difference& difference, DifferenceReport& report);

// Rule, bytes, packets, how it was found and where it was saved, to standard output.
void print(const search::Difference& difference, report::Console& console,
           const DifferenceReport& report);

// What can be sent to a store whose replies take `round_trip`, at `rate` requests a second (0: no
// limit): how soon a key may expire.
[[nodiscard]] search::LiveOptions live_options(endpoint::Duration round_trip, double rate);

}  // namespace fencepost::cli
