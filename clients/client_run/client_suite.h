// All cases for clients, with as many adapters in parallel as are wanted. One that is lost is
// started again.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "clients/client_run/case_player.h"

namespace fencepost::client_run {

enum class CaseVerdict { kPassed, kFailed, kSkipped };
// "passed", "failed", "skipped"
[[nodiscard]] std::string_view name(CaseVerdict verdict);

struct CaseOutcome {
  const ClientCase* test_case = nullptr;  // never null
  CaseVerdict verdict = CaseVerdict::kSkipped;
  std::vector<std::string> lacks{};  // capabilities, of a case that is skipped
  PlayResult played{};
};

struct ClientSuiteOptions {
  std::vector<std::string> command{};  // the adapter, with its arguments
  std::vector<std::string>
      variables{};  // of our environment that it gets in addition to the usual ones
  PlayOptions play{};
  Milliseconds to_start{20'000};  // until it greets
  // Cases in parallel, each with its own adapter; 0: jobs_for() the time of the first one.
  std::size_t jobs = 1;
  std::size_t most_failures = 0;  // ends the run; 0: none does
  // From any thread, one at a time.
  std::function<void(const CaseOutcome&)> on_case{};
};

// Why there is no result, or no complete one.
enum class SuiteErrorKind {
  kCannotStart,  // the adapter: there is no such program, or it may not be run
  kNoGreeting,   // it does not greet, or not as it should
  kAdapter,      // it has written what is no result
  kOurOwn,       // no port, no pipe, no process to be had: it says nothing of the client
};
struct SuiteError {
  SuiteErrorKind kind = SuiteErrorKind::kOurOwn;
  std::string text{};
};

struct ClientSuiteResult {
  Greeting greeting{};
  std::vector<CaseOutcome> outcomes{};  // in the order of the cases; of those that were played
  std::size_t restarts = 0;
  bool stopped = false;                  // before all cases were played
  std::optional<SuiteError> ended_by{};  // why, where neither a signal nor a limit did
  double seconds = 0;

  [[nodiscard]] std::size_t count(CaseVerdict verdict) const;
};

// Cases wait more than they compute, so more of them may run in parallel than there are processors:
// as many adapters of this size as have half a GiB together, from 8 to 32. 8 where the size is not
// known.
[[nodiscard]] std::size_t jobs_for(std::size_t adapter_bytes);

// The cases have to live longer than the result.
[[nodiscard]] Result<ClientSuiteResult, SuiteError> run_client_suite(
    const std::vector<const ClientCase*>& cases, const ClientSuiteOptions& options);

}  // namespace fencepost::client_run
