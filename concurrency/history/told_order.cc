#include "concurrency/history/told_order.h"

#include <algorithm>
#include <vector>

namespace fencepost::history {

void observe_order(const Observation& observation, const std::map<std::uint32_t, ClientLife>& lives,
                   OrderObservation& out) {
  std::vector<const Notification*> in_time;
  for (const Notification& told : observation.told) {
    const auto life = lives.find(told.client);
    const bool broken = life != lives.end() && !life->second.breaks.empty();
    const bool counts = told.operation == codec::Operation::kSet && told.version;
    if (counts && !told.duplicate && !broken) in_time.push_back(&told);
  }
  std::stable_sort(in_time.begin(), in_time.end(), [](const auto* left, const auto* right) {
    return left->arrived < right->arrived;
  });
  std::map<std::uint32_t, hlc::Timestamp> greatest;  // by client
  for (const Notification* told : in_time) {
    const auto [before, first] = greatest.try_emplace(told->client, *told->version);
    if (first) continue;
    ++out.compared;
    if (*told->version < before->second) {
      ++out.against;
    } else {
      before->second = *told->version;
    }
  }
}

}  // namespace fencepost::history
