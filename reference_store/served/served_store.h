// A store as clients meet it: the one that the options name, with its clock, its delays, its log
// and what clients may change. Who owns it carries the messages: the plugin of a broker
// (broker_plugin/plugin.cc), or a client of a broker (clients/serve/store_client.h).
//
//   ServedStore store(options, std::nullopt, tell);  // without a log
//   store.start(read_clocks(), false);
//   if (store.serves(message.topic)) store.handle(caller, message, read_clocks());
//   store.take(caller.client_id, read_clocks(), out);  // and send these
//   wake_at(store.next_wake());                        // then expire() and take()
//
// Not thread safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference_store/delay_queue.h"
#include "reference_store/served/clocks.h"
#include "reference_store/served/options.h"
#include "reference_store/served/traffic_log.h"
#include "reference_store/service.h"

namespace fencepost::served {

class ServedStore {
 public:
  using Complain = std::function<void(const std::string&)>;

  // `complain` gets what goes wrong later, for people: a log that cannot be written, messages that
  // are too many to be delayed.
  ServedStore(const Options& options, std::optional<TrafficLog> log, Complain complain);

  // To be called once, before the first request. `holds_keys`: the store has keys already.
  void start(const Clocks& now, bool holds_keys);

  [[nodiscard]] bool serves(std::string_view topic) const { return store_->serves(topic); }

  // What it answers waits for take(), in this order.
  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const Clocks& now);
  void expire(const Clocks& now);

  // A message to a topic that it does not serve: logged where it looks like a request.
  void elsewhere(const std::string& client_id, std::string_view topic, const Clocks& now);

  // The connection of a client has ended, in whichever way.
  void disconnect(const std::string& client_id, const Clocks& now);

  // Appends what has to be sent by now. `caller`: whose request was handled since the last call, or
  // empty.
  void take(std::string_view caller, const Clocks& now, std::vector<store::Delivery>& out);

  // When expire() and take() are due, on the steady clock; nothing: not before the next request.
  [[nodiscard]] std::optional<std::chrono::microseconds> next_wake() const;

  // A message to the control topic: changes the store, where the options allow it. Appends the
  // answer, and the state where it has changed: to be sent immediately.
  void control(const std::string& client_id, const codec::Message& message, const Clocks& now,
               std::vector<store::Delivery>& out);
  // The retained message of the state.
  [[nodiscard]] store::Delivery control_state_message() const;

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] bool delays() const { return delayed_.delays(); }
  // See store::Handler.
  [[nodiscard]] store::Service* service_within() { return store_->service_within(); }
  [[nodiscard]] store::Keeper* keeper() { return store_->keeper(); }

 private:
  [[nodiscard]] store::Instant instant(const Clocks& now) const;
  void note(bool written) const;
  void hold_back(std::string_view caller, std::chrono::microseconds now);

  Options options_;
  std::unique_ptr<store::Handler> store_;
  store::DelayQueue delayed_;
  std::optional<TrafficLog> log_;
  Complain complain_;
  std::optional<std::string> ended_by_store_;  // the client that it has refused last
  std::vector<store::Delivery> deliveries_;
};

}  // namespace fencepost::served
