// A store that becomes wrong, and right again, while clients use it.
//
//   SwitchedStore store({.dialect = codec::DialectId::kDeployed}, seed);
//   store.become(*find_faults("S01+D02"));   // keys, versions and observers stay
//   store.become({});                        // the right one again
//
// Not thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "reference_store/faults/fault.h"
#include "reference_store/service.h"

namespace fencepost::store {

class SwitchedStore final : public Handler {
 public:
  // Begins as the conforming store. `seed` decides all that is random in the faulty ones.
  SwitchedStore(ServiceOptions options, std::uint64_t seed);

  // From the next request on the store has these faults, which must be combinable; none: it is
  // the conforming one. A complete store, which has no place for the keys, begins empty: they are
  // put aside until the next change.
  void become(const std::vector<const Fault*>& faults);

  [[nodiscard]] bool serves(std::string_view topic) const override {
    return active_->serves(topic);
  }
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override;
  void expire(const Instant& now, std::vector<Delivery>& out) override;
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override;
  void disconnect(std::string_view client_id) override;
  [[nodiscard]] Service* service_within() override { return active_->service_within(); }

 private:
  ServiceOptions options_;
  std::uint64_t seed_;
  Service aside_;  // holds the keys while the active store cannot
  std::unique_ptr<Handler> active_;
};

}  // namespace fencepost::store
