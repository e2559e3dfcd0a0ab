// The reference store as an ordinary client of a broker that is not ours: it subscribes to the
// request topic, and publishes responses and notifications.
//
//   StoreClient store(broker, {.client_id = "store", .store = options}, {}, report);
//   if (auto opened = store.open(); !opened) return opened;
//   while (!stopped) {
//     if (auto served = store.serve(100ms); !served) return served;
//   }
//
// What it cannot know or do is in docs/CLIENTS.md: who has sent a request is what sender_of() says,
// and a registration ends with its STOP. Not thread safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "reference_store/served/served_store.h"

namespace fencepost::serve {

struct StoreClientOptions {
  std::string client_id;
  served::Options store{};  // without parent, authorization and database
};

class StoreClient {
 public:
  using Tell = std::function<void(const std::string& text)>;

  // `endpoint` must outlive it, and have Capabilities::raw_packets. `tell` gets, for people, what
  // goes wrong while the store is served.
  StoreClient(endpoint::Endpoint& endpoint, StoreClientOptions options,
              std::optional<served::TrafficLog> log, Tell tell);

  // Connects, makes sure that no other store answers (kInvalid), and subscribes: clients are served
  // from now on. Takes half a second more than these.
  [[nodiscard]] Result<void, endpoint::Error> open();

  // Serves for this time. When the connection ends, it is made again, with longer and longer
  // pauses, and the store keeps what it holds. An error is final: another client has connected with
  // our id (kLost), or another store answers (kInvalid).
  [[nodiscard]] Result<void, endpoint::Error> serve(endpoint::Duration time);

 private:
  [[nodiscard]] Result<void, endpoint::Error> connect();
  [[nodiscard]] Result<void, endpoint::Error> reconnect();
  [[nodiscard]] Result<bool, endpoint::Error> another_store_answers();
  [[nodiscard]] Result<void, endpoint::Error> take(const endpoint::Event& event);
  [[nodiscard]] Result<void, endpoint::Error> take(const codec::Message& message);
  [[nodiscard]] Result<void, endpoint::Error> lost(const endpoint::Disconnected& end);
  void handle(const codec::Message& request);
  void refuse_unknown_observer(const codec::Message& request);
  void send_due(std::string_view caller);
  void send(const codec::Message& message);
  void tell(const std::string& text) const;
  void tell_once(const std::string& text);
  [[nodiscard]] served::Clocks now() const;

  [[nodiscard]] endpoint::Error another_store() const;
  [[nodiscard]] bool is_own_reply(const codec::Message& message) const;

  endpoint::Endpoint& endpoint_;
  StoreClientOptions options_;
  Tell tell_;
  std::set<std::string> reported_{};  // by tell_once()
  served::ServedStore store_;
  std::unique_ptr<endpoint::Session> session_{};
  std::unique_ptr<endpoint::Client> client_{};  // null: not connected
  std::string question_{};                      // correlation data of our own request
  endpoint::Duration retry_at_{0};              // on the session's clock
  endpoint::Duration pause_{0};                 // before the next attempt
  std::string failure_{};                       // of the last attempt, which was reported
  std::vector<store::Delivery> deliveries_{};   // kept between calls only to reuse its memory
};

}  // namespace fencepost::serve
