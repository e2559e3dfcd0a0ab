// Stores whose database loses or changes what has to outlive a restart or a kill. As long as the
// broker runs they are right.

#include <algorithm>
#include <cctype>
#include <iterator>

#include "reference_store/faults/keeper.h"

namespace fencepost::store {
namespace {

using codec::Condition;
using codec::Verb;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kPage = 4'096;
constexpr std::size_t kShards = 16;

using Matches = bool (*)(const KeptKey& key, const KeepingContext& context);
using ChangesKey = void (*)(KeptKey& key, const KeepingContext& context);
using ChangesRow = void (*)(KeptKey& key, microseconds wall);

// ---- What is not written

bool is_creation(const KeptKey& key, const KeepingContext& context) {
  return !key.gone && context.before == nullptr;
}
bool is_overwriting(const KeptKey& key, const KeepingContext& context) {
  return !key.gone && context.before != nullptr;
}
bool has_same_value(const KeptKey& key, const KeepingContext& context) {
  return is_overwriting(key, context) && context.before->value == key.value;
}
template <Condition condition>
bool has_condition(const KeptKey& key, const KeepingContext& context) {
  return !key.gone && context.last.command && context.last.command->condition == condition;
}
bool has_px(const KeptKey& key, const KeepingContext& /*context*/) {
  return !key.gone && key.expires;
}
bool has_token(const KeptKey& key, const KeepingContext& context) {
  return !key.gone && context.last.has_token;
}
template <Verb verb>
bool is_gone_by(const KeptKey& key, const KeepingContext& context) {
  return key.gone && context.last.command && context.last.command->verb == verb;
}
bool is_large(const KeptKey& key, const KeepingContext& /*context*/) {
  return key.value.size() > kPage;
}
bool is_empty(const KeptKey& key, const KeepingContext& /*context*/) {
  return !key.gone && key.value.empty();
}
template <std::size_t n>
bool is_nth(const KeptKey& /*key*/, const KeepingContext& context) {
  return context.number % n == 0;
}
bool is_of_the_lost_shard(const KeptKey& key, const KeepingContext& /*context*/) {
  std::size_t sum = 0;
  for (const char byte : key.key) sum = sum * 31 + static_cast<unsigned char>(byte);
  return sum % kShards == 0;
}
bool is_not_the_first(const KeptKey& /*key*/, const KeepingContext& context) {
  return context.in_commit > 1;
}
bool follows_a_restart(const KeptKey& /*key*/, const KeepingContext& context) {
  return context.loaded;
}

MakeHandler not_written(Matches matches) {
  return with_keeping({.write = [matches](KeptKey& key, const KeepingContext& context) {
    return !matches(key, context);
  }});
}

MakeHandler written_late(milliseconds late) { return with_keeping({.late = late}); }

// ---- What is written otherwise

void cut_value(KeptKey& key, const KeepingContext& /*context*/) {
  if (key.value.size() > kPage) key.value.resize(kPage);
}
void cut_value_at_nul(KeptKey& key, const KeepingContext& /*context*/) {
  key.value.resize(std::min(key.value.find('\0'), key.value.size()));
}
void lose_value(KeptKey& key, const KeepingContext& /*context*/) { key.value.clear(); }
void cut_key_at_nul(KeptKey& key, const KeepingContext& /*context*/) {
  key.key.resize(std::min(key.key.find('\0'), key.key.size()));
}
void trim_key(KeptKey& key, const KeepingContext& /*context*/) {
  key.key.resize(key.key.find_last_not_of(' ') + 1);
}
void fold_key(KeptKey& key, const KeepingContext& /*context*/) {
  for (char& byte : key.key)
    byte = static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
}
void keep_version_of_before(KeptKey& key, const KeepingContext& context) {
  if (is_overwriting(key, context)) key.version = context.before->version;
}
void keep_value_of_before(KeptKey& key, const KeepingContext& context) {
  if (is_overwriting(key, context)) key.value = context.before->value;
}
void keep_expiry_of_before(KeptKey& key, const KeepingContext& context) {
  const bool both = is_overwriting(key, context) && key.expires && context.before->expires;
  if (both) key.expires = context.before->expires;
}
void keep_token_of_before(KeptKey& key, const KeepingContext& context) {
  if (is_overwriting(key, context) && context.before->token) key.token = context.before->token;
}
void revive_expired(KeptKey& key, const KeepingContext& context) {
  if (!key.gone || context.last.command || context.before == nullptr) return;
  key = *context.before;
  key.expires.reset();
}
void leave_deleted_empty(KeptKey& key, const KeepingContext& context) {
  if (!key.gone || !context.last.command || context.before == nullptr) return;
  key = *context.before;
  key.value.clear();
  key.expires.reset();
}
void lose_expiry(KeptKey& key, const KeepingContext& /*context*/) { key.expires.reset(); }
void floor_expiry(KeptKey& key, const KeepingContext& /*context*/) {
  if (key.expires) key.expires = std::chrono::floor<seconds>(*key.expires);
}
// How long it is from now on; a time of the wall clock is never negative.
void keep_time_to_live(KeptKey& key, const KeepingContext& context) {
  if (key.expires) key.expires = -std::max(*key.expires - context.wall, microseconds{1});
}
void write_twice_the_time(KeptKey& key, const KeepingContext& context) {
  if (key.expires) *key.expires += *key.expires - context.wall;
}
void lose_token(KeptKey& key, const KeepingContext& /*context*/) { key.token.reset(); }
void lower_token(KeptKey& key, const KeepingContext& /*context*/) {
  if (key.token) key.token->wall_ms -= std::min<std::uint64_t>(key.token->wall_ms, 1'000);
}
void lose_counter(KeptKey& key, const KeepingContext& /*context*/) { key.version.counter = 0; }
void lose_node(KeptKey& key, const KeepingContext& /*context*/) { key.version.node = "node"; }

MakeHandler written_as(ChangesKey change) {
  return with_keeping({.write = [change](KeptKey& key, const KeepingContext& context) {
    change(key, context);
    return true;
  }});
}

// ---- What is read otherwise

void revive_what_expired_meanwhile(KeptKey& key, microseconds wall) {
  if (key.expires && *key.expires <= wall) key.expires.reset();
}
void begin_expiry_anew(KeptKey& key, microseconds wall) {
  if (key.expires && key.expires->count() < 0) key.expires = wall - *key.expires;
}
void double_expiry(KeptKey& key, microseconds wall) {
  if (key.expires) key.expires = wall + 2 * (*key.expires - wall);
}
void halve_expiry(KeptKey& key, microseconds wall) {
  if (key.expires) key.expires = wall + (*key.expires - wall) / 2;
}
void add_a_minute(KeptKey& key, microseconds /*wall*/) {
  if (key.expires) *key.expires += std::chrono::minutes{1};
}

MakeHandler read_as(ChangesRow change) {
  return with_keeping({.load = [change](KeptKeys& kept, microseconds wall) {
    for (KeptKey& key : kept.keys) change(key, wall);
  }});
}

void lose_what_expires(KeptKeys& kept, microseconds /*wall*/) {
  std::erase_if(kept.keys, [](const KeptKey& key) { return key.expires.has_value(); });
}
void lose_the_last_keys(KeptKeys& kept, microseconds /*wall*/) {
  kept.keys.resize(kept.keys.size() - std::min<std::size_t>(kept.keys.size(), 8));
}
void swap_values(KeptKeys& kept, microseconds /*wall*/) {
  for (std::size_t i = 0; i + 1 < kept.keys.size(); i += 2) {
    kept.keys[i].value.swap(kept.keys[i + 1].value);
  }
}
void raise_tokens(KeptKeys& kept, microseconds /*wall*/) {
  for (KeptKey& key : kept.keys) {
    if (key.token && kept.clock) key.token = kept.clock;
  }
}
void give_new_versions(KeptKeys& kept, microseconds /*wall*/) {
  if (!kept.clock) return;
  for (KeptKey& key : kept.keys) {
    ++kept.clock->counter;
    key.version.wall_ms = kept.clock->wall_ms;
    key.version.counter = kept.clock->counter;
  }
}
void forget_clock(KeptKeys& kept, microseconds /*wall*/) { kept.clock.reset(); }
void set_clock_back(KeptKeys& kept, microseconds /*wall*/) {
  if (kept.clock) kept.clock->wall_ms -= std::min<std::uint64_t>(kept.clock->wall_ms, 60'000);
}
void reset_counter(KeptKeys& kept, microseconds /*wall*/) {
  if (kept.clock) kept.clock->counter = 0;
}
MakeHandler loaded_as(void (*change)(KeptKeys& kept, microseconds wall)) {
  return with_keeping({.load = change});
}

// K31, which needs both sides.
MakeHandler expiry_begins_anew() {
  return with_keeping({.write =
                           [](KeptKey& key, const KeepingContext& context) {
                             keep_time_to_live(key, context);
                             return true;
                           },
                       .load =
                           [](KeptKeys& kept, microseconds wall) {
                             for (KeptKey& key : kept.keys) begin_expiry_anew(key, wall);
                           }});
}

Fault kept(std::string_view id, std::string_view name, std::string_view text,
           std::vector<std::string_view> requirements, MakeHandler make) {
  return {.id = id,
          .name = name,
          .text = text,
          .requirements = std::move(requirements),
          .needs = FaultNeeds::kKill,
          .make = std::move(make)};
}

// K01 to K25: what was written is not there.
std::vector<Fault> lost_writes() {
  const std::vector<std::string_view> lost = {"LIFE-DURABLE-1"};
  // The last changes may be a deletion, which half of the kills wait for.
  const std::vector<std::string_view> last = {"LIFE-DURABLE-1", "LIFE-DURABLE-2"};
  // A change is also a deletion, a token or an expiry.
  const std::vector<std::string_view> any = {"LIFE-DURABLE-1", "LIFE-DURABLE-2", "LIFE-DURABLE-4",
                                             "LIFE-DURABLE-5"};
  const std::vector<std::string_view> timed = {"LIFE-DURABLE-1", "LIFE-DURABLE-5"};
  return {
      kept("K01", "answers-50-ms-before-writing", "a kill loses the changes of the last 50 ms",
           last, written_late(milliseconds{50})),
      kept("K02", "answers-10-ms-before-writing", "a kill loses the changes of the last 10 ms",
           last, written_late(milliseconds{10})),
      kept("K03", "answers-1-ms-before-writing", "a kill loses the changes of the last 1 ms", last,
           written_late(milliseconds{1})),
      kept("K04", "writes-once-a-second-later", "a kill loses the changes of the last second", last,
           written_late(milliseconds{1'000})),
      kept("K05", "last-change-not-kept", "a kill loses the last change", last,
           with_keeping({.behind = 1})),
      kept("K06", "hundred-changes-behind", "a kill loses the last 100 changes", last,
           with_keeping({.behind = 100})),
      kept("K07", "writes-at-an-orderly-end", "a kill loses all changes since the start", last,
           with_keeping({.at_the_end = true})),
      kept("K08", "every-tenth-change-not-kept", "a restart loses every tenth change", any,
           not_written(is_nth<10>)),
      kept("K09", "every-hundredth-change-not-kept", "a restart loses every hundredth change", any,
           not_written(is_nth<100>)),
      kept("K10", "creations-not-kept", "a restart loses the first SET of each key", lost,
           not_written(is_creation)),
      kept("K11", "overwriting-not-kept", "a restart brings back the first value of each key", lost,
           not_written(is_overwriting)),
      kept("K12", "nx-not-kept", "a restart loses what was set with NX", lost,
           not_written(has_condition<Condition::kIfAbsent>)),
      kept("K13", "nex-not-kept", "a restart loses what was set with NEX", lost,
           not_written(has_condition<Condition::kIfAbsentOrEqual>)),
      kept("K14", "px-not-kept", "a restart loses what was set with PX", timed,
           not_written(has_px)),
      kept("K15", "set-with-token-not-kept", "a restart loses what was set with a fencing token",
           lost, not_written(has_token)),
      kept("K16", "large-values-not-kept", "a restart loses values of more than 4,096 bytes", lost,
           not_written(is_large)),
      kept("K17", "empty-values-not-kept", "a restart loses keys whose value is empty", lost,
           not_written(is_empty)),
      kept("K18", "same-value-not-kept",
           "a restart loses the version of a SET of the value that the key has", lost,
           not_written(has_same_value)),
      kept("K19", "one-shard-lost", "a restart loses one key in 16", any,
           not_written(is_of_the_lost_shard)),
      kept("K20", "first-of-a-transaction-only",
           "of changes that are written together, a restart keeps the first", any,
           not_written(is_not_the_first)),
      kept("K21", "second-start-loses", "what is written after a restart does not outlive the next",
           any, not_written(follows_a_restart)),
      kept("K22", "last-keys-not-read", "a restart loses the eight keys that were written last",
           any, loaded_as(lose_the_last_keys)),
      kept("K23", "values-swapped", "after a restart, neighbours have each other's value", lost,
           loaded_as(swap_values)),
      kept("K24", "value-without-its-version",
           "after a restart, a key that was overwritten has its first version", lost,
           written_as(keep_version_of_before)),
      kept("K25", "version-without-its-value",
           "after a restart, a key that was overwritten has its new version and its first value",
           lost, written_as(keep_value_of_before)),
  };
}

// K26 to K34: what was written is not the same.
std::vector<Fault> changed_writes() {
  const std::vector<std::string_view> lost = {"LIFE-DURABLE-1"};
  return {
      kept("K26", "values-cut-after-4096-bytes", "a restart cuts values to 4,096 bytes", lost,
           written_as(cut_value)),
      kept("K27", "values-cut-at-nul-when-kept", "a restart cuts values at their first NUL", lost,
           written_as(cut_value_at_nul)),
      kept("K28", "values-empty", "after a restart, all values are empty", lost,
           written_as(lose_value)),
      kept("K29", "keys-cut-at-nul-when-kept", "a restart confuses keys that are equal up to a NUL",
           lost, written_as(cut_key_at_nul)),
      kept("K30", "keys-without-trailing-blanks",
           "a restart confuses keys that differ in blanks at their end", lost,
           written_as(trim_key)),
      kept("K31", "keys-in-any-case-when-kept",
           "a restart confuses keys that differ in letter case alone", lost, written_as(fold_key)),
      kept("K32", "versions-lose-their-counter",
           "after a restart, the versions of all keys have the counter 0", lost,
           written_as(lose_counter)),
      kept("K33", "versions-lose-their-node",
           "after a restart, the versions of all keys have another node id", lost,
           written_as(lose_node)),
      kept("K34", "start-gives-new-versions", "a restart gives all keys new versions", lost,
           loaded_as(give_new_versions)),
  };
}

// As a store that writes when its clock has moved.
class WritesDeletionsLater {
 public:
  void operator()(KeptKeys& kept, microseconds /*wall*/) {
    const bool sets = std::any_of(kept.keys.begin(), kept.keys.end(),
                                  [](const KeptKey& key) { return !key.gone; });
    later_.insert(later_.end(), kept.keys.begin(), kept.keys.end());
    kept.keys.clear();
    if (sets) kept.keys.swap(later_);
  }

 private:
  std::vector<KeptKey> later_{};
};

// K35 to K38, K56: what was gone returns.
std::vector<Fault> returning_keys() {
  const std::vector<std::string_view> returned = {"LIFE-DURABLE-2"};
  return {
      kept("K35", "del-not-kept", "after a restart, keys that DEL has deleted return", returned,
           not_written(is_gone_by<Verb::kDel>)),
      kept("K36", "vdel-not-kept", "after a restart, keys that VDEL has deleted return", returned,
           not_written(is_gone_by<Verb::kVdel>)),
      kept("K37", "expired-keys-return", "after a restart, keys that had expired before return",
           returned, written_as(revive_expired)),
      kept("K38", "deleted-keys-return-empty",
           "after a restart, keys that were deleted return with an empty value", returned,
           written_as(leave_deleted_empty)),
      kept("K56", "deletions-wait-for-a-set",
           "a deletion is written together with the next SET of any key", returned,
           [](const ServiceOptions& options, std::uint64_t seed) {
             return with_keeping({.write_all = WritesDeletionsLater()})(options, seed);
           }),
  };
}

// K39 to K47, K55.
std::vector<Fault> kept_expiry() {
  const std::vector<std::string_view> wrong = {"LIFE-DURABLE-5"};
  const std::vector<std::string_view> early = {"LIFE-DURABLE-5", "SET-PX-2"};
  return {
      kept("K39", "expiry-not-kept", "after a restart, no key expires", wrong,
           written_as(lose_expiry)),
      kept("K40", "expiry-begins-anew", "after a restart, the time of PX begins again", wrong,
           expiry_begins_anew()),
      kept("K41", "expiry-kept-twice-as-long",
           "after a restart, keys live twice as long as PX says", wrong,
           written_as(write_twice_the_time)),
      kept("K42", "expiry-halved", "a restart halves the time that a key has left", wrong,
           read_as(halve_expiry)),
      kept("K43", "expiry-a-minute-later", "a restart lets keys expire a minute later", wrong,
           read_as(add_a_minute)),
      kept("K44", "keys-that-expire-are-gone", "a restart removes all keys that have an expiry",
           wrong, loaded_as(lose_what_expires)),
      kept("K45", "first-expiry-stays", "after a restart, the first PX of a key is in force again",
           wrong, written_as(keep_expiry_of_before)),
      kept("K46", "what-expires-meanwhile-returns",
           "keys that expire while the broker is down are still there afterwards", wrong,
           read_as(revive_what_expired_meanwhile)),
      kept("K47", "expiry-in-whole-seconds", "after a restart, keys expire up to a second early",
           early, written_as(floor_expiry)),
      kept("K55", "restart-doubles-the-time-left", "a restart doubles the time that a key has left",
           wrong, read_as(double_expiry)),
  };
}

std::vector<Fault> kept_tokens_and_clock() {
  const std::vector<std::string_view> token = {"LIFE-DURABLE-4"};
  const std::vector<std::string_view> clock = {"LIFE-DURABLE-3"};
  return {
      kept("K48", "tokens-not-kept", "after a restart, no key has a fencing token", token,
           written_as(lose_token)),
      kept("K49", "tokens-lowered", "a restart lowers fencing tokens by a second", token,
           written_as(lower_token)),
      kept("K50", "tokens-raised", "a restart raises fencing tokens to the store's newest version",
           token, loaded_as(raise_tokens)),
      kept("K51", "first-token-stays", "after a restart, a key has its first fencing token again",
           token, written_as(keep_token_of_before)),
      kept("K52", "clock-not-kept", "after a restart, versions begin with the wall clock", clock,
           loaded_as(forget_clock)),
      kept("K53", "clock-a-minute-back", "after a restart, versions continue a minute earlier",
           clock, loaded_as(set_clock_back)),
      kept("K54", "counter-not-kept", "after a restart, the counter of versions begins with 0",
           clock, loaded_as(reset_counter)),
  };
}

}  // namespace

std::vector<Fault> kept_faults() {
  std::vector<Fault> out;
  for (std::vector<Fault> part : {lost_writes(), changed_writes(), returning_keys(), kept_expiry(),
                                  kept_tokens_and_clock()}) {
    std::move(part.begin(), part.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace fencepost::store
