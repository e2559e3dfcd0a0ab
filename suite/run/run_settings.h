// What all cases of a run have in common.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "codec/dialect.h"
#include "endpoint/endpoint.h"
#include "suite/judge/store_clock.h"
#include "suite/run/client_pool.h"
#include "suite/run/path_times.h"
#include "suite/run/run_slots.h"
#include "suite/run/transcript.h"
#include "suite/scenario/binding.h"

namespace fencepost::run {

// The documents say that a registration ends with the connection and a key with its PX, and not how
// soon. What a descriptor does not state is this.
inline constexpr std::chrono::milliseconds kDisconnectSettling{100};
inline constexpr std::chrono::milliseconds kExpiryTolerance{300};

struct RunSettings {
  codec::Profile profile = codec::Profile::kAuto;
  scenario::Edition edition = scenario::Edition::kAuto;
  // Ids of the rules that do not apply to every store that this one may turn out to be: a case
  // continues when one is broken. Null: there are none. Must outlive the run.
  const std::set<std::string, std::less<>>* unsettled = nullptr;
  std::string run_id{};  // in every key and client id
  // The number of this attempt in this run, from 1: each has keys and clients of its own, as the
  // first may have left some.
  int attempt = 1;
  std::string key_prefix = endpoint::Capabilities{}.key_prefix;  // of every key
  std::map<std::string, std::string> client_ids{};               // of clients of these roles
  std::uint64_t seed = 0;                                        // of everything random
  double timeout_scale = 1.0;                                    // factor of every time limit
  std::int64_t clock_offset_ms = 0;  // what to add to the session's clock to estimate the store's
  judge::ClockBounds clock_bounds{-1, 1};  // what is certain of it
  // How long a request may take to reach the store. A timestamp written as `skew-limit + 1ms` is
  // sent this much further ahead: after a longer way it could be within the limit again.
  std::chrono::milliseconds one_way_delay_allowance{100};
  std::optional<std::size_t> quota{};  // keys the endpoint holds
  bool clean_up = true;                // remove the keys that the case has written
  // The case holds one of these, and lends it while it waits; null: no limit. Must outlive the run.
  RunSlots* slots = nullptr;
  // Where clients are found that other cases have left clean, and left for others; null: each case
  // connects its own. Must outlive the run.
  ClientPool* pool = nullptr;
  // Limits the transcripts of all cases; null: no limit. Must outlive the run.
  TranscriptBudget* transcripts = nullptr;
  // How long requests take in this run; null: nobody has measured it. Must outlive the run.
  PathTimes* path = nullptr;
  // How long after the end of a connection the store may take to notice it. Req: LIFE-DISCONNECT-1
  std::chrono::milliseconds disconnect_settling{kDisconnectSettling};
  // How long after its time a key may still be seen. Req: SET-PX-1
  std::chrono::milliseconds expiry_tolerance{kExpiryTolerance};
};

}  // namespace fencepost::run
