// Holds back what a store sends, so that it looks slow without anybody sleeping: the owner of the
// clock queries when the next message is due, and takes those that are.
//
//   DelayQueue queue({.delay = 200ms, .jitter = 50ms});
//   queue.add("client-7", std::move(delivery), now);
//   wake_at(queue.next_due());
//   queue.take_due(now, out);
//
// What goes to one client stays in order, however the jitter falls. Pure; not thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "reference_store/service.h"

namespace fencepost::store {

struct DelayOptions {
  std::chrono::milliseconds delay{0};   // of every message
  std::chrono::milliseconds jitter{0};  // up to so much more, at random
  std::uint32_t seed = 1;
  std::size_t most = 100'000;  // messages that wait; what comes beyond is lost, as in a broker
};

class DelayQueue {
 public:
  explicit DelayQueue(DelayOptions options);

  // Is there any delay at all, or is somebody still waiting for what an earlier one holds back?
  [[nodiscard]] bool delays() const {
    return options_.delay.count() + options_.jitter.count() > 0 || !waiting_.empty();
  }

  // From now on. What waits already keeps its time, and what goes to one client its order.
  void change(std::chrono::milliseconds delay, std::chrono::milliseconds jitter) {
    options_.delay = delay;
    options_.jitter = jitter;
  }

  // Holds `delivery` back. It goes to the client that it names, or is the response to a request of
  // `caller`. False, and nothing is kept, when the queue is full.
  [[nodiscard]] bool add(std::string_view caller, Delivery delivery, std::chrono::microseconds now);

  // When the next message is due, on the clock of `now`; nothing when none waits.
  [[nodiscard]] std::optional<std::chrono::microseconds> next_due() const;

  // Appends what is due at `now`, in the order in which it has to go out.
  void take_due(std::chrono::microseconds now, std::vector<Delivery>& out);

  // The connection of a client has ended: what only that connection was to get is dropped. The
  // responses to its requests are kept, somebody else may have subscribed to them.
  void disconnect(std::string_view client_id);

 private:
  DelayOptions options_;
  std::minstd_rand random_;  // each session has one: it costs nothing to make
  std::multimap<std::chrono::microseconds, Delivery> waiting_;  // equal times stay in order
  // When the last message for a client is due. Forgotten as soon as nothing waits for anybody.
  std::map<std::string, std::chrono::microseconds> last_due_;
};

}  // namespace fencepost::store
