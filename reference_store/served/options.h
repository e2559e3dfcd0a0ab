// The plugin's options, as they stand in the broker's configuration file.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "reference_store/delay_queue.h"
#include "reference_store/faults/fault.h"
#include "reference_store/service.h"
#include "reference_store/variants/choices.h"

namespace fencepost::served {

using OptionList = std::vector<std::pair<std::string, std::string>>;

struct Options {
  store::ServiceOptions service{};
  std::optional<pid_t> parent{};  // stop the broker when its parent is no longer this process
  std::chrono::milliseconds clock_offset{0};  // of the store's wall clock from the machine's
  store::DelayOptions delay{};                // of all that the store sends
  std::vector<const store::Fault*>
      faults{};                             // serve a store that is faulty or unusual in these ways
  std::optional<store::Decisions> right{};  // or this right one
  std::uint64_t seed = 1;                   // of all that is random in it
  std::string record{};                     // append all traffic to this file; empty: do not
  // Requests and notifications are routed like any message: every subscriber sees them, and
  // observers have to.
  bool open_routing = false;
  std::string database{};  // a file that keeps what the store holds; empty: memory alone
  bool control = false;    // clients may make the store wrong, slow and right again: see control.h
  // Other processes use the database, too. One of them leads, and serves: see kClusterTopic.
  bool cluster = false;
};

// Reads dialect, quota, max_bytes, max_registrations, authorization (a file), node_id, parent_pid,
// clock_offset_ms, response_delay_ms, response_jitter_ms, right, fault, seed, record (a file),
// routing (open or private), database (a file), cluster and control (on or off). The error names
// the option, what was seen and what was expected.
[[nodiscard]] Result<Options, std::string> parse_options(const OptionList& list);

}  // namespace fencepost::served
