// The reference store, a function call away, on a clock that is stepped by hand: waiting for an
// expiry costs nothing. Every session is a store and a small broker of its own, so cases cannot
// disturb one another.
#pragma once

#include <functional>
#include <memory>

#include "endpoint/conditions.h"
#include "endpoint/endpoint.h"
#include "reference_store/service.h"

namespace fencepost::endpoint {

// Makes the store of a session.
using MakeStore = std::function<std::unique_ptr<store::Handler>(const store::ServiceOptions&)>;

struct InProcessOptions {
  store::ServiceOptions service{};
  MakeStore make_store{};            // empty: the correct store
  std::size_t quota = 0;             // of sessions for cases that fill it; 0: there are none
  std::vector<std::string> roles{};  // a role is the user name that its clients connect with
  Conditions conditions{};           // of the store; the session's clock is this machine's
  std::string url = "inproc:";       // what it calls itself
  std::string key_prefix = Capabilities{}.key_prefix;
};

// For those who look at the stores behind the sessions.
class InProcessEndpoint : public Endpoint {
 public:
  // The store of a new session; `isolated`: of one for cases that fill the quota.
  [[nodiscard]] virtual std::unique_ptr<store::Handler> make_store(bool isolated) const = 0;
  // A session as all others, with this store.
  [[nodiscard]] virtual std::unique_ptr<Session> open_session_with(
      std::unique_ptr<store::Handler> store) const = 0;
  [[nodiscard]] virtual const Conditions& conditions() const = 0;
};

// The sessions share nothing and may be used by different threads.
[[nodiscard]] std::unique_ptr<InProcessEndpoint> make_in_process_endpoint(InProcessOptions options);

}  // namespace fencepost::endpoint
