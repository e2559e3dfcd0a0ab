// Stores that are right as long as one node of a cluster leads. Another one that begins to lead, or
// the former leader, is wrong.

#include <algorithm>
#include <iterator>

#include "reference_store/faults/keeper.h"

namespace fencepost::store {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

using TakesOver = void (*)(KeptKeys& kept, microseconds wall);

MakeHandler taken_over_as(TakesOver change) {
  return with_keeping({.load = [change](KeptKeys& kept, microseconds wall) {
    if (kept.taken_over) change(kept, wall);
  }});
}

MakeHandler when_replaced(WhenReplaced what) { return with_keeping({.when_replaced = what}); }

// A node that leads again after itself knows what is gone.
MakeHandler deletions_not_replicated() {
  static constexpr microseconds kLongAgo{1};
  return with_keeping({.write =
                           [](KeptKey& key, const KeepingContext& context) {
                             if (!key.gone || !context.last.command || context.before == nullptr) {
                               return true;
                             }
                             key = *context.before;
                             key.expires = kLongAgo;
                             return true;
                           },
                       .load =
                           [](KeptKeys& kept, microseconds /*wall*/) {
                             for (KeptKey& key : kept.keys) {
                               if (kept.taken_over && key.expires == kLongAgo) key.expires.reset();
                             }
                           }});
}

// What this node held when it led last stays as it was.
MakeHandler leads_with_old_copy() {
  return with_keeping({.load =
                           [](KeptKeys& kept, microseconds /*wall*/) {
                             if (kept.led_before) kept = {};
                           },
                       .when_replaced = WhenReplaced::kRemembers});
}

void lose_clock(KeptKeys& kept, microseconds /*wall*/) { kept.clock.reset(); }
void lose_tokens(KeptKeys& kept, microseconds /*wall*/) {
  for (KeptKey& key : kept.keys) key.token.reset();
}
void lose_expiries(KeptKeys& kept, microseconds /*wall*/) {
  for (KeptKey& key : kept.keys) key.expires.reset();
}
void let_expire_later(KeptKeys& kept, microseconds /*wall*/) {
  for (KeptKey& key : kept.keys) {
    if (key.expires) *key.expires += std::chrono::minutes{1};
  }
}
void give_versions_of_its_own(KeptKeys& kept, microseconds /*wall*/) {
  if (!kept.clock) return;
  for (KeptKey& key : kept.keys) {
    ++kept.clock->counter;
    key.version.wall_ms = kept.clock->wall_ms;
    key.version.counter = kept.clock->counter;
  }
}
void lose_end_of_log(KeptKeys& kept, microseconds /*wall*/) {
  const auto newest_first = [](const KeptKey& a, const KeptKey& b) {
    return b.version < a.version;
  };
  const auto last = kept.keys.begin() + std::min<std::ptrdiff_t>(std::ssize(kept.keys), 10);
  std::partial_sort(kept.keys.begin(), last, kept.keys.end(), newest_first);
  kept.keys.erase(kept.keys.begin(), last);
}

Fault replicated(std::string_view id, std::string_view name, std::string_view text,
                 std::vector<std::string_view> requirements, MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .requirements = std::move(requirements),
          .needs = FaultNeeds::kFailover,
          .make = std::move(make)};
}

}  // namespace

std::vector<Fault> replicated_faults() {
  // A change that is lost is also a deletion, a token or an expiry.
  const std::vector<std::string_view> any = {"LIFE-DURABLE-1", "LIFE-DURABLE-2", "LIFE-DURABLE-3",
                                             "LIFE-DURABLE-4", "LIFE-DURABLE-5"};
  const std::vector<std::string_view> lost = {"LIFE-DURABLE-1"};
  return {
      replicated("K57", "two-leaders",
                 "a leader that was replaced acknowledges what it cannot write", any,
                 when_replaced(WhenReplaced::kServesFromMemory)),
      replicated("K58", "writes-of-a-former-leader",
                 "a leader that was replaced serves, and overwrites what its successor has written",
                 any, when_replaced(WhenReplaced::kWritesOn)),
      replicated("K59", "acknowledged-by-one-node",
                 "a leader shares with the other nodes what it acknowledged 200 ms before", any,
                 with_keeping({.late = milliseconds{200}})),
      replicated("K60", "reads-from-a-follower",
                 "for 3 s after a fail-over, some clients read from a node that receives nothing",
                 {"LIFE-DURABLE-1", "LIFE-DURABLE-2", "SET-WRITE-2"},
                 with_keeping({.old_reads = milliseconds{3'000}})),
      replicated("K61", "leads-with-an-old-copy",
                 "a node that leads again has what it held when it led last", any,
                 leads_with_old_copy()),
      replicated("K62", "deletions-not-replicated",
                 "after a fail-over, keys that were deleted return", {"LIFE-DURABLE-2"},
                 deletions_not_replicated()),
      replicated("K63", "end-of-the-log-not-applied",
                 "a fail-over loses the ten keys that were written last", lost,
                 taken_over_as(lose_end_of_log)),
      replicated("K64", "clock-goes-back-with-the-leader",
                 "after a fail-over, versions begin with the wall clock of the node",
                 {"LIFE-DURABLE-3"}, taken_over_as(lose_clock)),
      replicated("K65", "tokens-not-replicated", "after a fail-over, no key has a fencing token",
                 {"LIFE-DURABLE-4"}, taken_over_as(lose_tokens)),
      replicated("K66", "expiry-not-replicated", "after a fail-over, no key expires",
                 {"LIFE-DURABLE-5"}, taken_over_as(lose_expiries)),
      replicated("K67", "expiry-a-minute-later-with-the-leader",
                 "a fail-over lets keys expire a minute later", {"LIFE-DURABLE-5"},
                 taken_over_as(let_expire_later)),
      replicated("K68", "new-versions-with-the-leader", "a fail-over gives all keys new versions",
                 lost, taken_over_as(give_versions_of_its_own)),
  };
}

}  // namespace fencepost::store
