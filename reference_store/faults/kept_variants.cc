// Stores whose database keeps in an unusual way what has to outlive a restart or a kill.

#include <algorithm>
#include <iterator>
#include <thread>

#include "reference_store/faults/keeper.h"

namespace fencepost::store {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Never more than that ahead of the wall clock: tokens may be a minute ahead of it at most.
void set_clock_ahead(KeptKeys& kept, microseconds wall) {
  const auto ahead = static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(wall + std::chrono::seconds{50}).count());
  if (!kept.clock || kept.clock->wall_ms >= ahead) return;
  kept.clock->wall_ms = ahead;
  kept.clock->counter = 0;
}

// A store that writes its clock rarely reserves versions, and continues behind them.
void reserve_versions(KeptKeys& kept, microseconds wall) {
  const auto ahead = static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(wall + std::chrono::seconds{10}).count());
  if (kept.clock && kept.clock->wall_ms < ahead) kept.clock->wall_ms = ahead;
}

void skip_numbers(KeptKeys& kept, microseconds /*wall*/) {
  if (kept.clock) kept.clock->counter += 100'000;
}

void reverse(KeptKeys& kept, microseconds /*wall*/) {
  std::reverse(kept.keys.begin(), kept.keys.end());
}

void sort_by_key(KeptKeys& kept, microseconds /*wall*/) {
  std::stable_sort(kept.keys.begin(), kept.keys.end(),
                   [](const KeptKey& a, const KeptKey& b) { return a.key < b.key; });
}

void begin_slowly(KeptKeys& /*kept*/, microseconds /*wall*/) {
  std::this_thread::sleep_for(std::chrono::seconds{1});
}

void expire_late(KeptKeys& kept, microseconds /*wall*/) {
  for (KeptKey& key : kept.keys) {
    if (key.expires) *key.expires += milliseconds{150};
  }
}

void drop_what_has_expired(KeptKeys& kept, microseconds wall) {
  std::erase_if(kept.keys,
                [wall](const KeptKey& key) { return key.expires && *key.expires <= wall; });
}

void write_twice(KeptKeys& kept, microseconds /*wall*/) {
  const std::vector<KeptKey> again = kept.keys;
  kept.keys.insert(kept.keys.end(), again.begin(), again.end());
}

bool leave_a_mark(KeptKey& key, const KeepingContext& context) {
  if (!key.gone || context.before == nullptr) return true;
  key = *context.before;
  key.value.clear();
  key.expires = microseconds{1};
  return true;
}

bool round_expiry_up(KeptKey& key, const KeepingContext& /*context*/) {
  constexpr milliseconds kUnit{100};
  if (!key.expires) return true;
  const auto units =
      (key.expires->count() + microseconds(kUnit).count() - 1) / microseconds(kUnit).count();
  key.expires = units * kUnit;
  return true;
}

// Also what has not changed: as a database that is compacted.
class WritesAllAgain {
 public:
  void operator()(KeptKeys& kept, microseconds /*wall*/) {
    constexpr std::size_t kEvery = 50;
    for (const KeptKey& key : kept.keys) {
      if (key.gone) {
        all_.erase(key.key);
      } else {
        all_[key.key] = key;
      }
    }
    if (kept.empty() || ++commits_ % kEvery != 0) return;
    for (const auto& [name, key] : all_) kept.keys.push_back(key);
  }

 private:
  std::map<std::string, KeptKey> all_{};
  std::size_t commits_ = 0;
};

Fault variant(std::string_view id, std::string_view name, std::string_view text, MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .needs = FaultNeeds::kKill,
          .kind = FaultKind::kBenign,
          .make = std::move(make)};
}

}  // namespace

std::vector<Fault> kept_variants() {
  return {
      variant("B21", "versions-ahead-after-a-start",
              "after a restart, versions are 50 s ahead of the wall clock",
              with_keeping({.load = set_clock_ahead})),
      variant("B22", "versions-reserved",
              "the file has versions 10 s ahead, from where a restart continues",
              with_keeping({.write_all = reserve_versions})),
      variant("B23", "counter-jumps-at-a-start",
              "a restart adds 100,000 to the counter of versions",
              with_keeping({.load = skip_numbers})),
      variant("B24", "keys-read-backwards", "keys are read in reverse order",
              with_keeping({.load = reverse})),
      variant("B25", "changes-in-another-order",
              "changes that are written together are sorted by key",
              with_keeping({.write_all = sort_by_key})),
      variant("B26", "slow-start", "the store needs a second more to start",
              with_keeping({.load = begin_slowly})),
      variant("B27", "expiry-late-after-a-start", "after a restart, keys expire 150 ms late",
              with_keeping({.load = expire_late})),
      variant("B28", "expired-keys-not-read",
              "keys that have expired meanwhile are not read, and nobody is notified of them",
              with_keeping({.load = drop_what_has_expired})),
      variant("B29", "changes-written-twice", "each change is written twice",
              with_keeping({.write_all = write_twice})),
      variant("B30", "deleted-keys-leave-a-mark",
              "a deleted key stays in the file, as one that has expired long ago",
              with_keeping({.write = leave_a_mark})),
      variant("B31", "expiry-in-tenths-of-a-second",
              "the file rounds times of expiry up to tenths of a second",
              with_keeping({.write = round_expiry_up})),
      variant("B32", "file-written-again", "now and then all keys are written again",
              [](const ServiceOptions& options, std::uint64_t seed) {
                return with_keeping({.write_all = WritesAllAgain()})(options, seed);
              }),
  };
}

}  // namespace fencepost::store
