// Runs one case on one session of an endpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/judge/judge.h"
#include "conformance/judge/store_clock.h"
#include "conformance/run/clean_up.h"
#include "conformance/run/transcript.h"
#include "conformance/run/work_places.h"
#include "conformance/scenario/scenario.h"
#include "endpoint/endpoint.h"

namespace fencepost::run {

enum class Verdict {
  kPassed,
  kFailed,           // the store broke a rule
  kExpectedFailure,  // not passed, in the way that the baseline says
  kInconclusive,     // the evidence does not decide
  kSkipped,          // the endpoint lacks what the case needs
  kLost,             // the endpoint went away: no verdict
  kNotRun,           // the run ended before
};
[[nodiscard]] std::string_view name(Verdict verdict);

struct RunSettings {
  codec::Profile profile = codec::Profile::kAuto;
  std::string run_id;                                            // in every key and client id
  std::string key_prefix = endpoint::Capabilities{}.key_prefix;  // of every key
  std::uint64_t seed = 0;                                        // of everything random
  double timeout_scale = 1.0;                                    // factor of every time limit
  std::int64_t clock_offset_ms = 0;  // what to add to the session's clock to estimate the store's
  judge::ClockBounds clock_bounds{-1, 1};  // what is certain of it
  // How long a request may be under way to the store before `skew-limit + 1ms` is no longer so far
  // ahead of the store's clock for sure.
  std::chrono::milliseconds way_allowance{100};
  std::optional<std::size_t> quota{};  // keys the endpoint holds
  bool clean_up = true;                // remove the keys that the case has written
  WorkPlaces* places = nullptr;  // the case holds one of these, if any, and pauses while it waits
};

struct CaseResult {
  const scenario::Case* test_case = nullptr;
  Verdict verdict = Verdict::kNotRun;
  // Of whatever is not a pass: which rule, where, and why.
  std::string requirement{};
  std::string message{};
  std::string expected{};
  std::string actual{};
  std::string signature{};  // of a failure, to know it again: conformance/run/signature.h
  std::string baseline{};   // what the baseline says of this case, when it does: reason and ticket
  bool unexpected_pass = false;  // failed, because the baseline says that it fails and it does not
  std::size_t step = 0;          // from 1; 0 when no step is to blame
  scenario::Position position{};
  std::chrono::microseconds duration{0};  // wall time
  std::vector<TranscriptEntry> transcript{};
  std::vector<endpoint::Duration> round_trips{};
  std::vector<judge::SeenForm> forms{};
  std::vector<std::pair<std::string, std::string>> open_points{};  // requirement id, outcome seen
  // Of a lost case alone: what is still to be removed, if the endpoint turns out to be alive.
  WrittenKeys left_behind{};
};

// The session's clock decides how long waits take. Removes what the case has written, if the
// settings say so and unless the case is lost: nobody knows then whether there is somebody to ask.
// Thread safe as far as the session is.
[[nodiscard]] CaseResult run_case(const scenario::Case& test_case, endpoint::Session& session,
                                  const RunSettings& settings);

}  // namespace fencepost::run
