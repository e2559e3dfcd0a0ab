// Scenarios of captured traffic: the requests of clients and the responses, as cases that
// any store can be run against. Keys become keys of the case, timestamps relative to versions or to
// `now`, and time passes only where a key's time runs out, unless waits are kept.
//
//   CaptureScenario made = capture_scenario(capture, {.title = "a lock is taken over"});
//   write(path, made.text());                  // what `certify --scenarios` runs
//   if (!made.flagged.empty()) complain(made.flagged);
//
// Clients that share no keys get cases of their own. What was observed is expected, also where no
// conforming store does it: then it is in `flagged` and in a note of the file. Pure and thread
// safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario.h"
#include "suite/scenario/writer.h"
#include "traffic/record/capture.h"

namespace fencepost::record {

inline constexpr std::string_view kRecordArea = "record";

struct CaptureOptions {
  std::string title{};  // of each case, in one line; empty: what happens in it
  // How long after its time a key may still be there. (Req: SET-PX-OPEN-8)
  std::chrono::milliseconds expiry_slack{250};
  // The case waits between requests as long as the clients did.
  bool keeps_waits = false;
};

struct CaptureScenario {
  std::vector<scenario::Case> cases{};
  scenario::FileComments comments{};
  std::vector<std::string> notes{};    // what is not known, or could not be written
  std::vector<std::string> flagged{};  // "client a, SET k: broke SET-NX-2: ..."
  std::size_t requests = 0;            // that were seen

  // A scenario file; empty when there is no case.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] CaptureScenario capture_scenario(const Capture& capture,
                                               const CaptureOptions& options);

// Only what is flagged.
[[nodiscard]] std::vector<std::string> flagged(const Capture& capture);

}  // namespace fencepost::record
