#include "reference_store/served/served_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "codec/topics.h"
#include "reference_store/faults/switched_store.h"
#include "reference_store/served/control.h"
#include "reference_store/variants/variant_store.h"

namespace fencepost::served {
namespace {

std::unique_ptr<store::Handler> make_store(const Options& options) {
  if (options.control) {
    auto store = std::make_unique<store::SwitchedStore>(options.service, options.seed);
    if (!options.faults.empty()) store->become(options.faults);
    return store;
  }
  if (!options.faults.empty()) {
    return store::make_store(options.faults, options.service, options.seed);
  }
  if (options.right) return store::make_variant(*options.right)(options.service);
  return std::make_unique<store::Service>(options.service);
}

// Where a client publishes that has the request topic wrong. (Req: ENV-TOPIC-2)
bool looks_like_a_request(std::string_view topic) {
  return topic.starts_with("statestore") || topic.find("FA9AE35F") != std::string_view::npos;
}

}  // namespace

ServedStore::ServedStore(const Options& options, std::optional<TrafficLog> log, Complain complain)
    : options_(options),
      store_(make_store(options)),
      delayed_(options.delay),
      log_(std::move(log)),
      complain_(std::move(complain)) {}

void ServedStore::start(const Clocks& now, bool holds_keys) {
  if (log_) note(log_->started(now.wall, options_.clock_offset, holds_keys));
}

store::Handling ServedStore::handle(const store::Caller& caller, const codec::Message& request,
                                    const Clocks& now) {
  if (log_) note(log_->request(now.wall, std::string(caller.client_id), request));
  const store::Handling handling = store_->handle(caller, request, instant(now), deliveries_);
  if (handling == store::Handling::kDisconnect) ended_by_store_ = caller.client_id;
  return handling;
}

void ServedStore::expire(const Clocks& now) { store_->expire(instant(now), deliveries_); }

void ServedStore::elsewhere(const std::string& client_id, std::string_view topic,
                            const Clocks& now) {
  if (log_ && looks_like_a_request(topic)) note(log_->elsewhere(now.wall, client_id, topic));
}

void ServedStore::disconnect(const std::string& client_id, const Clocks& now) {
  if (log_) {
    note(log_->disconnected(now.wall, client_id, ended_by_store_ == client_id));
    ended_by_store_.reset();
  }
  store_->disconnect(client_id);
  delayed_.disconnect(client_id);
}

void ServedStore::take(std::string_view caller, const Clocks& now,
                       std::vector<store::Delivery>& out) {
  if (delayed_.delays()) hold_back(caller, now.steady);
  for (const store::Delivery& delivery : deliveries_) {
    if (log_) note(log_->delivery(now.wall, delivery.client_id, delivery.message));
  }
  std::move(deliveries_.begin(), deliveries_.end(), std::back_inserter(out));
  deliveries_.clear();
}

// Puts all deliveries into the queue, and takes out those that are due.
void ServedStore::hold_back(std::string_view caller, std::chrono::microseconds now) {
  for (store::Delivery& delivery : deliveries_) {
    if (delayed_.add(caller, std::move(delivery), now)) continue;
    complain_("too many messages are delayed; one is lost");
  }
  deliveries_.clear();
  delayed_.take_due(now, deliveries_);
}

std::optional<std::chrono::microseconds> ServedStore::next_wake() const {
  const auto expiry = store_->next_expiry();
  const auto due = delayed_.next_due();
  if (!expiry || !due) return expiry ? expiry : due;
  return std::min(*expiry, *due);
}

void ServedStore::control(const std::string& client_id, const codec::Message& message,
                          const Clocks& now, std::vector<store::Delivery>& out) {
  Options changed = options_;
  const std::string wrong = apply_control(message.payload, changed).value_or("");
  if (wrong.empty()) {
    // Where clients may change the store, it is one that can be changed.
    if (changed.faults != options_.faults) {
      static_cast<store::SwitchedStore&>(*store_).become(changed.faults);
    }
    delayed_.change(changed.delay.delay, changed.delay.jitter);
    options_ = std::move(changed);
    out.push_back(control_state_message());
  }
  const std::string answer = wrong.empty() ? control_state(options_) : "refused: " + wrong;
  if (message.response_topic && !codec::response_topic_fault(*message.response_topic)) {
    store::Delivery& reply = out.emplace_back();
    reply.message.topic = *message.response_topic;
    reply.message.payload = answer;
    reply.message.correlation_data = message.correlation_data;
  }
  if (log_) note(log_->control(now.wall, client_id, answer));
}

store::Delivery ServedStore::control_state_message() const {
  store::Delivery state;
  state.message.topic = kControlStateTopic;
  state.message.payload = control_state(options_);
  state.message.retain = true;
  return state;
}

store::Instant ServedStore::instant(const Clocks& now) const {
  const auto wall =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.wall) + options_.clock_offset;
  return {.wall_ms = static_cast<std::uint64_t>(wall.count()), .steady = now.steady};
}

void ServedStore::note(bool written) const {
  if (!written) complain_("the recording is incomplete: cannot write");
}

}  // namespace fencepost::served
