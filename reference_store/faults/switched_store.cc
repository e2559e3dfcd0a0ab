#include "reference_store/faults/switched_store.h"

#include <utility>

namespace fencepost::store {

SwitchedStore::SwitchedStore(ServiceOptions options, std::uint64_t seed)
    : options_(std::move(options)),
      seed_(seed),
      aside_(options_),
      active_(std::make_unique<Service>(options_)) {}

void SwitchedStore::become(const std::vector<const Fault*>& faults) {
  if (Service* before = active_->service_within()) aside_.take_state(*before);
  active_ =
      faults.empty() ? std::make_unique<Service>(options_) : make_store(faults, options_, seed_);
  if (Service* now = active_->service_within()) now->take_state(aside_);
}

Handling SwitchedStore::handle(const Caller& caller, const codec::Message& request,
                               const Instant& now, std::vector<Delivery>& out) {
  return active_->handle(caller, request, now, out);
}

void SwitchedStore::expire(const Instant& now, std::vector<Delivery>& out) {
  active_->expire(now, out);
}

std::optional<std::chrono::microseconds> SwitchedStore::next_expiry() const {
  return active_->next_expiry();
}

void SwitchedStore::disconnect(std::string_view client_id) {
  active_->disconnect(client_id);
  aside_.disconnect(client_id);
}

}  // namespace fencepost::store
