#include "traffic/record/workload_scenario.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "endpoint/in_process.h"
#include "traffic/record/capture.h"
#include "traffic/search/judged_run.h"

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The clock of the reference store is that of the run, read twice.
constexpr judge::ClockBounds kOneClock{.low_ms = -1, .high_ms = 1};
// What is unspecified and no scenario checks: the version that a deletion returns.
constexpr std::string_view kNeverExpected = "VER-OPEN-4";

CapturedEvent event_of(const search::Packet& packet, microseconds start) {
  const microseconds time = start + packet.at;
  if (packet.kind == search::Packet::Kind::kDisconnected) {
    return CapturedConnection{.client_id = packet.client_id, .time = time};
  }
  const bool asks = packet.kind == search::Packet::Kind::kRequest;
  return CapturedMessage{
      .direction = asks ? CaptureDirection::kToStore : CaptureDirection::kToClient,
      .client_id = packet.client_id,
      .time = time,
      .message = packet.message};
}

Capture capture_of(const search::JudgedRun& run) {
  Capture capture{.from_start = true,
                  .in_order = true,
                  .sees_replies = true,
                  .sees_notifications = true,
                  .clock = kOneClock};
  for (const search::Packet& packet : run.packets)
    capture.events.push_back(event_of(packet, run.clocks_apart));
  return capture;
}

// Is there nothing that another conforming store may answer differently?
bool has_one_answer(const search::JudgedRun& run) {
  const auto is_harmless = [](const std::string& point) {
    return point.starts_with(kNeverExpected);
  };
  return std::all_of(run.open.begin(), run.open.end(), is_harmless) &&
         std::all_of(run.observed.begin(), run.observed.end(),
                     [&](const auto& seen) { return is_harmless(seen.first); });
}

}  // namespace

std::optional<CaptureScenario> workload_scenario(const workload::Trace& trace,
                                                 const WorkloadScenarioOptions& options) {
  endpoint::InProcessOptions store;
  store.service.dialect = options.dialect;
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(store));
  const auto session = endpoint->open_session();
  if (!session) return std::nullopt;
  search::JudgedRunOptions judged{
      .client_id_prefix = "c", .short_expiry = options.short_expiry, .keeps_packets = true};
  judged.oracle.clock = kOneClock;
  const search::JudgedRun run = search::run_judged(**session, trace, judged);
  if (run.lost || run.rejection || !has_one_answer(run)) return std::nullopt;
  CaptureScenario made = capture_scenario(capture_of(run), options.capture);
  if (made.cases.empty() || !made.flagged.empty()) return std::nullopt;
  return made;
}

}  // namespace fencepost::record
