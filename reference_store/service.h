// The reference store behind MQTT: an MQTT message in, MQTT messages out. Transport-free: a broker
// plugin and the in-process endpoint drive the same code.
//
//   Service service({.dialect = codec::DialectId::kDeployed});
//   std::vector<Delivery> out;
//   if (service.handle(caller, message, now, out) == Handling::kDisconnect) kick(caller);
//   for (const Delivery& delivery : out) send(delivery);
//
// Not thread safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/dialect.h"
#include "codec/message.h"
#include "codec/resp3.h"
#include "reference_store/store.h"

namespace fencepost::store {

struct ServiceOptions {
  codec::DialectId dialect = codec::DialectId::kDeployed;
  StoreOptions store{};
  codec::Limits limits{};
};

// A message that the store sends.
struct Delivery {
  // The session that receives it, subscribed or not (notifications). Empty: all that subscribed to
  // the topic (responses).
  std::string client_id;
  codec::Message message;
};

enum class Handling {
  kAnswered,  // a response was produced
  kIgnored,  // a request whose envelope is not legal: nothing was done, and there is nowhere to say
             // so
  kDisconnect,  // an illegal response topic: nothing was done, and the client has to go (Req:
                // ENV-RESPONSE-TOPIC-3)
};

class Keeper;  // faults/keeper.h
class Service;

// What a transport drives: the Service, or something that stands between it and the transport.
class Handler {
 public:
  Handler() = default;
  virtual ~Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  // Is a message to this topic a request? (Req: ENV-TOPIC-2)
  [[nodiscard]] virtual bool serves(std::string_view topic) const;

  virtual Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                          std::vector<Delivery>& out) = 0;
  virtual void expire(const Instant& now, std::vector<Delivery>& out) = 0;
  [[nodiscard]] virtual std::optional<std::chrono::microseconds> next_expiry() const = 0;
  virtual void disconnect(std::string_view client_id) = 0;

  // The service within, which holds the keys; null when they are held otherwise, or not at all.
  [[nodiscard]] virtual Service* service_within() { return nullptr; }
  // What changes how a file keeps the keys; null: nothing does.
  [[nodiscard]] virtual Keeper* keeper() { return nullptr; }
};

class Service final : public Handler {
 public:
  explicit Service(ServiceOptions options = {});

  // Handles a message published to codec::kRequestTopic. Appends to `out`, in the order in which
  // the messages must reach their clients: notifications before the response.
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override;

  // Removes the keys whose time has come and appends the notifications to `out`.
  void expire(const Instant& now, std::vector<Delivery>& out) override;

  // When `expire` has to be called next, on the steady clock; std::nullopt: not before the next
  // request.
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    return store_.next_expiry();
  }

  // The connection of a client has ended, in whichever way.
  void disconnect(std::string_view client_id) override { store_.disconnect(client_id); }

  [[nodiscard]] Service* service_within() override { return this; }

  // Takes over the keys, the observers and the clock of another service, which is empty then.
  void take_state(Service& from) { store_.take_state(from.store_); }

  [[nodiscard]] std::size_t key_count() const { return store_.size(); }

  // For those who keep what it holds.
  [[nodiscard]] Store& state() { return store_; }

 private:
  friend class Tamper;  // faults/tamper.h: breaks a store on purpose

  [[nodiscard]] codec::Message response(const codec::Message& request, const Outcome& outcome,
                                        std::optional<codec::Verb> verb) const;
  void flush_events(std::vector<Delivery>& out);
  [[nodiscard]] std::string version_text(const hlc::Timestamp& version) const;

  const codec::Dialect& dialect_;
  codec::Limits limits_;
  Store store_;
  std::vector<Event> events_;  // kept between calls only to reuse its memory
};

}  // namespace fencepost::store
