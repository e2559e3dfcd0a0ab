#include "suite/run/client_pool.h"

#include <utility>

#include <fmt/format.h>

namespace fencepost::run {
namespace {

// What a connection remembers of its requests grows with them.
constexpr std::size_t kMaxRequests = 4096;

}  // namespace

std::optional<SpareClient> ClientPool::pop(const ClientKind& kind) {
  const std::lock_guard lock(mutex_);
  std::vector<SpareClient>& idle = idle_[kind];
  if (idle.empty()) return std::nullopt;
  SpareClient spare = std::move(idle.back());
  idle.pop_back();
  return spare;
}

// What came while nobody used the connection would have found a fresh one closed: it must not
// disturb the case that comes next.
std::optional<SpareClient> ClientPool::take(const ClientKind& kind) {
  while (auto spare = pop(kind)) {
    if (!spare->connection->receive(endpoint::Duration::zero())) return spare;
  }
  return std::nullopt;
}

void ClientPool::give(const ClientKind& kind, SpareClient spare) {
  if (spare.correlation_data.size() > kMaxRequests) return;
  const std::lock_guard lock(mutex_);
  std::vector<SpareClient>& idle = idle_[kind];
  if (idle.size() < most_) idle.push_back(std::move(spare));
}

void ClientPool::clear() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
}

std::string ClientPool::next_id() {
  const std::lock_guard lock(mutex_);
  return fmt::format("fp-{}-{:08x}-0", run_id_, ++ids_);
}

}  // namespace fencepost::run
