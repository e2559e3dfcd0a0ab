#include "concurrency/history/notification_order.h"

#include <algorithm>
#include <vector>

namespace fencepost::history {

void observe_order(const Observation& observation, const std::map<std::uint32_t, ClientLife>& lives,
                   OrderObservation& out) {
  std::vector<const Notification*> in_time;
  for (const Notification& notified : observation.notified) {
    const auto life = lives.find(notified.client);
    const bool broken = life != lives.end() && !life->second.breaks.empty();
    const bool counts = notified.operation == codec::Operation::kSet && notified.version;
    if (counts && !notified.duplicate && !broken) in_time.push_back(&notified);
  }
  std::stable_sort(in_time.begin(), in_time.end(), [](const auto* left, const auto* right) {
    return left->arrived < right->arrived;
  });
  std::map<std::uint32_t, hlc::Timestamp> greatest;  // by client
  for (const Notification* notified : in_time) {
    const auto [before, first] = greatest.try_emplace(notified->client, *notified->version);
    if (first) continue;
    ++out.compared;
    if (*notified->version < before->second) {
      ++out.against;
    } else {
      before->second = *notified->version;
    }
  }
}

}  // namespace fencepost::history
