// A stress run over real connections: few threads, however many clients. With a client library that
// serves in place, requests are sent by the thread that reads replies; one more judges meanwhile.
//
//   auto run = run_load(endpoint, {.traffic = traffic, .duration = std::chrono::seconds{5}}, stop);
//   if (run && run->judged.violations.empty()) print(run->progress.counts.replies);
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "concurrency/stress/history_writer.h"
#include "concurrency/stress/online_checker.h"
#include "concurrency/stress/traffic.h"
#include "endpoint/durability.h"
#include "endpoint/endpoint.h"
#include "endpoint/network_faults.h"

namespace fencepost::stress {

struct LoadOptions {
  TrafficOptions traffic{};
  std::chrono::milliseconds duration{10'000};  // of sending; then it waits for what is in flight
  history::Bounds bounds{};
  history::CheckLimits limits{};
  bool stop_at_violation = true;
  bool judge = true;                 // else nothing is checked: for measuring what checking costs
  HistoryWriter* history = nullptr;  // where the history goes, too
  std::int64_t wall_offset_ms = 0;   // of the store's clock: requests have its time
  // Turned on while requests are sent; null: none. The endpoint connects through it. A run ends
  // then when an attempt to connect fails that began after `max_outage` without any connection.
  endpoint::NetworkFaults* network = nullptr;
  // What the store must keep when its broker is disturbed. Where it need not, requests pause
  // meanwhile, and those after it are for new keys.
  endpoint::Durability durability = endpoint::Durability::kNone;
  // How long the broker may take to acknowledge what it has answered. (MQTT 5, 4.3.2)
  std::chrono::milliseconds acknowledged_within{10'000};
  std::chrono::seconds max_outage{10};
};

struct LoadProgress {
  std::chrono::milliseconds elapsed{0};
  TrafficCounts counts{};
  std::size_t operations = 0;  // over, and with the judge
  std::size_t decided = 0;     // of these
  std::size_t violations = 0;
  std::size_t clients = 0;  // connected
  std::size_t reconnected = 0;
  std::map<endpoint::NetworkFault, std::size_t> injected{};  // how many of each kind
};

struct LoadResult {
  LoadProgress progress{};
  Judged judged{};
  std::vector<DeliveryFinding> deliveries{};
  DeliveryDoubts doubts{};
  std::chrono::duration<double> judging{0};  // of processor time, of `asking`
  std::chrono::duration<double> asking{0};   // from the first request to the last
  std::string lost{};   // why the run ended early: no client was connected any more
  std::string error{};  // the history could not be written
  bool interrupted = false;
  // Of the disturbances of the broker: how often a value of before was there afterwards, or not.
  std::size_t kept = 0;
  std::size_t not_kept = 0;
};

// Connects all clients, and runs. The error: not all clients could be connected. `stop` ends it
// early: what was sent until then is judged. Deletes its keys at the end, as far as it can.
// `progress` is called now and then, from the caller's thread.
[[nodiscard]] Result<LoadResult, endpoint::Error> run_load(
    endpoint::Endpoint& endpoint, const LoadOptions& options, const std::atomic<bool>& stop,
    const std::function<void(const LoadProgress&)>& progress = {});

}  // namespace fencepost::stress
