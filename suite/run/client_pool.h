// Connections that cases have left clean, for later cases of the same run: a connection costs more
// than most cases send requests on it.
//
//   if (auto spare = pool.take(kind)) use(*spare);  // under the id that it has
//   else connect(pool.next_id());
//   pool.give(kind, client.release());             // nothing is open on it
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "endpoint/endpoint.h"

namespace fencepost::run {

// What clients must have in common so that one can take the other's place.
struct ClientKind {
  std::string role{};     // see ClientOptions
  bool observes = false;  // subscribed to its notifications in addition to the responses

  auto operator<=>(const ClientKind&) const = default;
};

struct SpareClient {
  std::unique_ptr<endpoint::Client> connection;
  std::string client_id;
  std::set<std::string> correlation_data{};       // of all requests that were sent on it
  std::set<std::string, std::less<>> observed{};  // keys that were; they are not used again
};

// Thread safe. Its connections must not outlive the endpoint.
class ClientPool {
 public:
  // Keeps at most `most` idle connections of each kind.
  ClientPool(std::string run_id, std::size_t most) : run_id_(std::move(run_id)), most_(most) {}

  // The connection that was used last, without those on which something has come since, or that
  // have ended: they are closed. Nothing when there is none.
  [[nodiscard]] std::optional<SpareClient> take(const ClientKind& kind);

  // Closes the connection when there are enough of this kind, or when it has served for long.
  void give(const ClientKind& kind, SpareClient spare);

  // Closes all idle connections.
  void clear();

  // A client id that this pool has not given before, of the form that those of cases have: a
  // signature leaves out what changes between runs. No longer than every broker has to take: 23
  // bytes with a run id of 8. (MQTT 5, 3.1.3.1)
  [[nodiscard]] std::string next_id();

 private:
  std::optional<SpareClient> pop(const ClientKind& kind);

  const std::string run_id_;
  const std::size_t most_;
  std::mutex mutex_;
  std::size_t ids_ = 0;
  std::map<ClientKind, std::vector<SpareClient>> idle_;
};

}  // namespace fencepost::run
