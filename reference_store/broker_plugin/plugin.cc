// A mosquitto plugin that makes the broker serve the reference store. C ABI glue only: what the
// store says is decided in reference_store/served/served_store.h.
//
//   plugin /usr/lib/fencepost/fencepost_statestore.so
//   plugin_opt_dialect deployed            # or documented
//   plugin_opt_quota 1000                  # keys; 0 or absent: no limit
//   plugin_opt_max_bytes 268435456         # of all keys and values; 0 or absent: no limit
//   plugin_opt_max_registrations 100000    # of one client; 0 or absent: no limit
//   plugin_opt_authorization /path/x.json  # docs/AUTHORIZATION.md; absent: everybody may do
//                                          # everything
//   plugin_opt_node_id StateStore          # of the versions that the store gives out
//   plugin_opt_parent_pid 4711             # stop the broker when this is no longer the parent
//                                          # process
//   plugin_opt_clock_offset_ms -600000     # the store's clock is ten minutes behind the machine's
//   plugin_opt_response_delay_ms 200       # all that the store sends is so late ...
//   plugin_opt_response_jitter_ms 50       # ... and up to so much more, in order for each client
//   plugin_opt_fault S01                   # a faulty store: see reference_store/faults
//   plugin_opt_seed 1                      # of all that is random in it
//   plugin_opt_record /path/x.log          # append all traffic to this file: see traffic_log.h
//   plugin_opt_routing open                # every subscriber sees requests and notifications,
//                                          # and observers have to subscribe
//   plugin_opt_database /path/x.db         # a file that keeps keys and clock: database.h
//   plugin_opt_cluster on                  # one of several processes with this database, of which
//                                          # one serves: control.h
//   plugin_opt_control on                  # clients may change fault and conditions: control.h
//
// The broker must run with `per_listener_settings false` (otherwise it delivers no ticks). All
// callbacks run on the broker's only thread. No exception leaves an entry point.

#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <mosquitto.h>
#include <mosquitto_broker.h>
#include <mosquitto_plugin.h>

#include "codec/message.h"
#include "codec/topics.h"
#include "reference_store/broker_plugin/database.h"
#include "reference_store/broker_plugin/properties.h"
#include "reference_store/broker_plugin/wake_timer.h"
#include "reference_store/served/control.h"
#include "reference_store/served/options.h"
#include "reference_store/served/served_store.h"
#include "reference_store/served/traffic_log.h"
#include "reference_store/service.h"

namespace fencepost::broker_plugin {
namespace {

using served::Clocks;
using served::Options;
using served::read_clocks;
using served::TrafficLog;

// Requests are moved to this topic before the broker routes them: no client can observe other
// clients' requests there. The broker acknowledges with 0x00 only while somebody subscribes to it
// (see leave_sink_session() in endpoint/broker_process.cc), otherwise with 0x10, which one public
// client SDK refuses.
constexpr std::string_view kSinkTopic = "$fencepost/sink";

// An expiry that is kept by the wall clock must not become earlier when this thread is interrupted
// between the two readings: what is written reads the wall clock last, what is loaded first, as
// read_clocks() does.
Clocks clocks_to_write() {
  const auto steady = served::clock_reading(CLOCK_MONOTONIC);
  return {.wall = served::clock_reading(CLOCK_REALTIME), .steady = steady};
}

codec::Message read_message(const mosquitto_evt_message& event) {
  codec::Message message;
  message.topic = event.topic;
  if (event.payload != nullptr) {
    message.payload.assign(static_cast<const char*>(event.payload), event.payloadlen);
  }
  message.qos = event.qos;
  message.retain = event.retain;
  read_properties(event.properties, message);
  return message;
}

void send(const store::Delivery& delivery) {
  const codec::Message& message = delivery.message;
  Properties properties = make_properties(message);
  const char* client_id = delivery.client_id.empty() ? nullptr : delivery.client_id.c_str();
  const int failed = mosquitto_broker_publish_copy(
      client_id, message.topic.c_str(), static_cast<int>(message.payload.size()),
      message.payload.data(), message.qos, message.retain, properties.get());
  if (failed != 0) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: cannot publish to %s: %s", message.topic.c_str(),
                         mosquitto_strerror(failed));
    return;
  }
  (void)properties.release();  // the broker owns them now
}

void complain(const std::string& text) {
  mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: %s", text.c_str());
}

class Plugin {
 public:
  Plugin(const Options& options, std::optional<TrafficLog> log)
      : options_(options), store_(std::in_place, options, std::move(log), complain) {
    if (options_.control) send(store_->control_state_message());
  }

  // To be called once, before the first request. Returns what is wrong with the database, or
  // nothing.
  std::optional<std::string> begin() {
    if (!options_.database.empty() && !options_.cluster) {
      if (auto wrong = open_database()) return wrong;
    }
    store_->start(read_clocks(), database_ && store_->service_within()->key_count() > 0);
    return std::nullopt;
  }

  int on_message(mosquitto_evt_message& event) {
    if (has_failed_) return MOSQ_ERR_PROTOCOL;
    const char* client_id = mosquitto_client_id(event.client);
    if (options_.control && event.topic == served::kControlTopic) {
      return on_control(event, client_id == nullptr ? "" : client_id);
    }
    if (options_.cluster && event.topic == served::kClusterTopic) return on_order(event);
    if (!store_->serves(event.topic)) {
      if (client_id != nullptr) store_->elsewhere(client_id, event.topic, read_clocks());
      return MOSQ_ERR_SUCCESS;
    }
    const char* user_name = mosquitto_client_username(event.client);
    if (client_id == nullptr || follows()) return MOSQ_ERR_PROTOCOL;
    const store::Caller caller{.client_id = client_id,
                               .user_name = user_name == nullptr ? "" : user_name};
    const store::Handling handling = store_->handle(caller, read_message(event), read_clocks());
    // With a database the tick follows which the broker makes after it has read from all clients:
    // their requests are one transaction.
    if (!database_ || store_->delays()) flush(caller.client_id);
    // The broker answers this code with DISCONNECT 0x82 and closes the connection; no PUBACK is
    // sent.
    if (handling == store::Handling::kDisconnect) return MOSQ_ERR_PROTOCOL;
    event.retain = false;
    return options_.open_routing ? MOSQ_ERR_SUCCESS : hide_request(event);
  }

  void on_disconnect(const mosquitto_evt_disconnect& event) {
    // Sockets that never sent a CONNECT are reported without a client id.
    const char* client_id = mosquitto_client_id(event.client);
    if (client_id == nullptr) return;
    // What waits is for this connection, and not for the next one of the same name.
    if (database_) flush({});
    store_->disconnect(client_id, read_clocks());
  }

  void on_tick() {
    if (follows()) {
      if (is_replaced_) end_clients();
    } else {
      store_->expire(read_clocks());
      flush({});  // an expiry answers no request
    }
    if (options_.parent && getppid() != *options_.parent) kill(getpid(), SIGTERM);
  }

 private:
  // Takes over what the database holds.
  std::optional<std::string> open_database() {
    store::Service* service = store_->service_within();
    if (service == nullptr) {
      return "option database cannot be combined with fault " + store::ids_of(options_.faults) +
             ": such a store does not keep its keys where the reference store does";
    }
    auto opened =
        Database::open(options_.database, service->state(), read_clocks(), store_->keeper(),
                       options_.cluster ? options_.service.store.node_id : "");
    if (!opened) return opened.error();
    database_ = std::move(*opened);
    return std::nullopt;
  }

  // Does another node of the cluster serve?
  [[nodiscard]] bool follows() const {
    return options_.cluster && (is_replaced_ || database_ == nullptr);
  }

  int on_order(mosquitto_evt_message& event) {
    const bool leads = read_message(event).payload == "lead";
    if (!leads) is_replaced_ = true;
    if (leads) {
      forget();
      if (const auto wrong = open_database()) {
        complain(*wrong);
        return MOSQ_ERR_PROTOCOL;
      }
    }
    event.retain = false;
    return hide_request(event);
  }

  // Not within another callback: the broker may use one of them.
  void end_clients() {
    mosquitto_kick_client_by_clientid(nullptr, false);
    forget();
  }

  // What a node held is of no use any more, nor is what it was to say.
  void forget() {
    store::Keeper* keeper = store_->keeper();
    const bool remembers =
        keeper != nullptr && keeper->when_replaced() == store::WhenReplaced::kRemembers;
    database_.reset();
    is_replaced_ = false;
    store_->take({}, read_clocks(), deliveries_);
    deliveries_.clear();
    timer_.arm(std::nullopt, {});
    if (!remembers) store_.emplace(options_, std::nullopt, complain);
  }

  int on_control(mosquitto_evt_message& event, const std::string& client_id) {
    store_->control(client_id, read_message(event), read_clocks(), deliveries_);
    for (const store::Delivery& delivery : deliveries_) send(delivery);
    deliveries_.clear();
    event.retain = false;
    return hide_request(event);
  }

  // In place: who frees a topic that is replaced depends on the version, the plugin before
  // mosquitto 2.0.15 and the broker from then on.
  static int hide_request(mosquitto_evt_message& event) {
    static_assert(kSinkTopic.size() <= served::kControlTopic.size());
    static_assert(kSinkTopic.size() <= served::kClusterTopic.size());
    static_assert(kSinkTopic.size() <= codec::kRequestTopic.size());
    event.topic[kSinkTopic.copy(event.topic, kSinkTopic.size())] = '\0';
    return MOSQ_ERR_SUCCESS;
  }

  // Sends what the store has to say, and what it had to say long enough ago.
  void flush(std::string_view caller) {
    if (!keep()) return;
    const Clocks now = read_clocks();
    store_->take(caller, now, deliveries_);
    for (store::Delivery& delivery : deliveries_) {
      if (options_.open_routing) delivery.client_id.clear();
      send(delivery);
    }
    deliveries_.clear();
    timer_.arm(store_->next_wake(), now.steady);
  }

  // Puts what has changed on the disk. False: it is not there, so nobody may learn of it.
  bool keep() {
    if (!database_ || has_failed_) return !has_failed_;
    const auto kept = database_->commit(clocks_to_write());
    is_replaced_ = is_replaced_ || database_->replaced();
    if (kept) return !is_replaced_;
    complain(kept.error());
    has_failed_ = true;
    kill(getpid(), SIGTERM);
    return false;
  }

  const Options options_;
  std::optional<served::ServedStore> store_;  // never nothing
  std::unique_ptr<Database> database_;        // null: memory alone; it uses the store
  bool is_replaced_ = false;                  // as leader of the cluster; its clients are to go
  bool has_failed_ = false;                   // what the store holds is not what the database does
  WakeTimer timer_;
  std::vector<store::Delivery> deliveries_;  // kept between calls only to reuse its memory
};

// Runs `body` for a callback of the broker: a failure is logged and becomes `code`, never an
// exception.
template <typename Body>
int guarded(int code, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: %s", error.what());
  } catch (...) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: unknown exception");
  }
  return code;
}

int message_callback(int /*event*/, void* data, void* plugin) {
  return guarded(MOSQ_ERR_UNKNOWN, [&] {
    return static_cast<Plugin*>(plugin)->on_message(*static_cast<mosquitto_evt_message*>(data));
  });
}

int disconnect_callback(int /*event*/, void* data, void* plugin) {
  return guarded(MOSQ_ERR_SUCCESS, [&] {
    static_cast<Plugin*>(plugin)->on_disconnect(*static_cast<mosquitto_evt_disconnect*>(data));
    return MOSQ_ERR_SUCCESS;
  });
}

int tick_callback(int /*event*/, void* /*data*/, void* plugin) {
  return guarded(MOSQ_ERR_SUCCESS, [&] {
    static_cast<Plugin*>(plugin)->on_tick();
    return MOSQ_ERR_SUCCESS;
  });
}

mosquitto_plugin_id_t* plugin_identifier = nullptr;
// MOSQ_EVT_CLIENT_OFFLINE of mosquitto 2.1, with the data of MOSQ_EVT_DISCONNECT, which it replaces
// where the session of the client stays.
constexpr int kEventClientOffline = 28;

int register_callbacks(mosquitto_plugin_id_t* identifier, Plugin* plugin) {
  plugin_identifier = identifier;
  int failed =
      mosquitto_callback_register(identifier, MOSQ_EVT_MESSAGE, message_callback, nullptr, plugin);
  if (failed != 0) return failed;
  failed = mosquitto_callback_register(identifier, MOSQ_EVT_DISCONNECT, disconnect_callback,
                                       nullptr, plugin);
  if (failed != 0) return failed;
  // Earlier versions do not know it, and need it not.
  (void)mosquitto_callback_register(identifier, kEventClientOffline, disconnect_callback, nullptr,
                                    plugin);
  return mosquitto_callback_register(identifier, MOSQ_EVT_TICK, tick_callback, nullptr, plugin);
}

int start(mosquitto_plugin_id_t* identifier, void** user_data, mosquitto_opt* given, int count) {
  served::OptionList list;
  for (int i = 0; i < count; ++i) list.emplace_back(given[i].key, given[i].value);
  Result<Options, std::string> options = served::parse_options(list);
  if (!options) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: %s", options.error().c_str());
    return MOSQ_ERR_INVAL;
  }
  std::optional<TrafficLog> log;
  if (!options->record.empty()) {
    auto opened = TrafficLog::open(options->record);
    if (!opened) {
      mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: %s", opened.error().c_str());
      return MOSQ_ERR_INVAL;
    }
    log.emplace(std::move(*opened));
  }
  auto plugin = std::make_unique<Plugin>(*options, std::move(log));
  if (const auto wrong = plugin->begin()) {
    mosquitto_log_printf(MOSQ_LOG_ERR, "fencepost: %s", wrong->c_str());
    return MOSQ_ERR_INVAL;
  }
  const int failed = register_callbacks(identifier, plugin.get());
  if (failed == 0) *user_data = plugin.release();
  return failed;
}

}  // namespace
}  // namespace fencepost::broker_plugin

#define FENCEPOST_EXPORT extern "C" __attribute__((visibility("default")))

FENCEPOST_EXPORT int mosquitto_plugin_version(int count, const int* versions) {
  for (int i = 0; i < count; ++i) {
    if (versions[i] == MOSQ_PLUGIN_VERSION) return MOSQ_PLUGIN_VERSION;
  }
  return -1;
}

FENCEPOST_EXPORT int mosquitto_plugin_init(mosquitto_plugin_id_t* identifier, void** user_data,
                                           mosquitto_opt* options, int option_count) {
  using namespace fencepost::broker_plugin;
  return guarded(MOSQ_ERR_UNKNOWN,
                 [&] { return start(identifier, user_data, options, option_count); });
}

FENCEPOST_EXPORT int mosquitto_plugin_cleanup(void* user_data, mosquitto_opt* /*options*/,
                                              int /*option_count*/) {
  using namespace fencepost::broker_plugin;
  return guarded(MOSQ_ERR_UNKNOWN, [&] {
    mosquitto_callback_unregister(plugin_identifier, MOSQ_EVT_MESSAGE, message_callback, nullptr);
    mosquitto_callback_unregister(plugin_identifier, MOSQ_EVT_DISCONNECT, disconnect_callback,
                                  nullptr);
    mosquitto_callback_unregister(plugin_identifier, kEventClientOffline, disconnect_callback,
                                  nullptr);
    mosquitto_callback_unregister(plugin_identifier, MOSQ_EVT_TICK, tick_callback, nullptr);
    delete static_cast<Plugin*>(user_data);
    return MOSQ_ERR_SUCCESS;
  });
}
