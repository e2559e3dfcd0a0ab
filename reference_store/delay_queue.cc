#include "reference_store/delay_queue.h"

#include <algorithm>
#include <utility>

namespace fencepost::store {

using std::chrono::microseconds;

DelayQueue::DelayQueue(DelayOptions options) : options_(options), random_(options.seed) {}

bool DelayQueue::add(std::string_view caller, Delivery delivery, microseconds now) {
  if (waiting_.size() >= options_.most) return false;
  microseconds due = now + options_.delay;
  if (options_.jitter.count() > 0) {
    const auto most = static_cast<std::uint64_t>(microseconds(options_.jitter).count());
    due += microseconds{static_cast<microseconds::rep>(random_() % (most + 1))};
  }
  microseconds& last =
      last_due_[delivery.client_id.empty() ? std::string(caller) : delivery.client_id];
  last = std::max(last, due);
  waiting_.emplace(last, std::move(delivery));
  return true;
}

std::optional<microseconds> DelayQueue::next_due() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

void DelayQueue::take_due(microseconds now, std::vector<Delivery>& out) {
  const auto end = waiting_.upper_bound(now);
  for (auto at = waiting_.begin(); at != end; ++at) out.push_back(std::move(at->second));
  waiting_.erase(waiting_.begin(), end);
  if (waiting_.empty()) last_due_.clear();
}

void DelayQueue::disconnect(std::string_view client_id) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.second.client_id == client_id; });
}

}  // namespace fencepost::store
