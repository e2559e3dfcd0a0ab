#include "concurrency/stress/script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace fencepost::stress {
namespace {

using codec::Condition;
using history::Action;
using history::Operation;
using history::Outcome;
using std::chrono::milliseconds;

constexpr std::size_t kLargeBytes = 5'000;
// Where checking has to search, and where notifications are waited for.
constexpr std::size_t kShortLife = 60'000;
constexpr history::Time kShortTime = std::chrono::seconds{4};

// The rows, each by itself a mix and all of them one.
constexpr Row kHotKey{.name = "hot-key", .set = 40, .get = 35, .del = 8, .nx = 7, .vdel = 10};
constexpr Row kRegister{.name = "register", .clients_of_key = 5, .set = 50, .get = 50};
constexpr Row kNxRace{.name = "nx-race", .clients_of_key = 4, .get = 25, .del = 25, .nx = 50};
constexpr Row kCompareDelete{.name = "compare-delete",
                             .clients_of_key = 4,
                             .set = 30,
                             .get = 20,
                             .del = 20,
                             .nex = 5,
                             .vdel = 25};
constexpr Row kLease{.name = "lease", .clients_of_key = 4, .lease = true};
constexpr Row kExpiry{.name = "expiry",
                      .clients_of_key = 4,
                      .set = 2,
                      .get = 91,
                      .nx = 6,
                      .nex = 1,
                      .percent_px = 85};
constexpr Row kObservers{.name = "observers",
                         .clients_of_key = 8,
                         .set = 52,
                         .get = 5,
                         .del = 25,
                         .nx = 8,
                         .observe = 6,
                         .stop = 4,
                         .observers = 3};
constexpr Row kManyKeys{
    .name = "many-keys", .keys = 1'000, .set = 45, .get = 40, .del = 10, .vdel = 5};
constexpr Row kLargeValues{
    .name = "register", .clients_of_key = 4, .set = 40, .get = 60, .percent_large = 100};

Row with_share(Row row, std::size_t share) {
  row.share = share;
  return row;
}

std::vector<Mix> make_mixes() {
  return {
      {.name = "everything",
       .text = "all of the workloads below together",
       .rows = {with_share(kHotKey, 4), with_share(kRegister, 3), with_share(kNxRace, 3),
                with_share(kCompareDelete, 3), with_share(kLease, 3), with_share(kExpiry, 2),
                with_share(kObservers, 3), with_share(kManyKeys, 2), with_share(kLargeValues, 1)},
       .renew_after = kShortLife,
       .renew_every = kShortTime},
      {.name = "hot-key",
       .text = "one key, all requests",
       .rows = {kHotKey},
       .renew_after = 1'000'000},
      {.name = "register",
       .text = "SET and GET, five clients per key",
       .rows = {kRegister, kLargeValues},
       .renew_after = 1'000'000},
      {.name = "nx-race",
       .text = "SET NX and DEL, four clients per key",
       .rows = {kNxRace},
       .renew_after = 200'000},
      {.name = "compare-delete",
       .text = "VDEL and DEL of values just written",
       .rows = {kCompareDelete},
       .renew_after = 200'000},
      {.name = "lease",
       .text = "locks that expire, renewed, and SETs with their fencing tokens",
       .rows = {kLease},
       .renew_after = kShortLife,
       .renew_every = kShortTime},
      {.name = "expiry",
       .text = "keys that expire while they are read",
       .rows = {kExpiry},
       .renew_after = kShortLife,
       .renew_every = kShortTime},
      {.name = "observers",
       .text = "KEYNOTIFY and STOP on keys that other clients write",
       .rows = {kObservers},
       .renew_after = kShortLife,
       .renew_every = kShortTime},
      {.name = "many-keys",
       .text = "a thousand keys",
       .rows = {kManyKeys},
       .renew_after = 1'000'000},
      {.name = "pipelined",
       .text = "eight requests in flight per client",
       .rows = {kHotKey, kRegister, kCompareDelete},
       .window = 8,
       .renew_after = 200'000},
  };
}

std::string owner(std::uint32_t client) { return "c" + std::to_string(client); }

}  // namespace

const std::vector<Mix>& mixes() {
  static const std::vector<Mix> all = make_mixes();
  return all;
}

const Mix* find_mix(std::string_view name) {
  const auto found = std::find_if(mixes().begin(), mixes().end(),
                                  [&](const Mix& mix) { return mix.name == name; });
  return found == mixes().end() ? nullptr : &*found;
}

// In "x/g3/4-0-lock", the number after the last slash is that of the row.
const Mix* mix_of_key(const Mix& mix, std::string_view key) {
  const std::size_t slash = key.rfind('/');
  std::size_t row = 0;
  const std::string_view number = slash == key.npos ? "" : key.substr(slash + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), row);
  if (read.ec != std::errc() || row >= mix.rows.size()) return nullptr;
  return find_mix(mix.rows[row].name);
}

Script::Script(const ScriptOptions& options)
    : mix_(*options.mix),
      clients_(options.clients),
      seed_(options.seed),
      prefix_(options.prefix),
      states_(options.clients) {
  FENCEPOST_CHECK(clients_ > 0 && !mix_.rows.empty());
  for (const Row& row : mix_.rows) shares_ += row.share;
  for (std::uint32_t client = 0; client < clients_; ++client) {
    workload::Random mixed(seed_ + 0x1000'0000'0000ULL * client);
    states_[client].random = workload::Random(mixed.next());
  }
  renew();
}

std::string Script::prefix_of(std::size_t generation) const {
  return prefix_ + "g" + std::to_string(generation) + "/";
}

void Script::renew() {
  current_ = prefix_of(++generation_);
  asked_ = 0;
  for (ClientState& state : states_) {
    state.holds = false;
    state.token.reset();
    state.is_notified_of.clear();
  }
}

std::string Script::key_of(std::size_t row, std::uint32_t client, ClientState& state) {
  const Row& wanted = mix_.rows[row];
  std::string out = current_ + std::to_string(row);
  if (wanted.clients_of_key > 0) out += "-" + std::to_string(client / wanted.clients_of_key);
  if (wanted.keys > 1) out += "-k" + std::to_string(state.random.below(wanted.keys));
  return out;
}

std::string Script::new_value(const Row& row, std::uint32_t client, ClientState& state) {
  std::string out = owner(client) + "-" + std::to_string(++state.written);
  const bool large = row.percent_large > 0 && state.random.below(100) < row.percent_large;
  if (large) out.resize(kLargeBytes, static_cast<char>('a' + state.written % 26));
  return out;
}

// The client that holds the lock writes what it guards, and renews the lock or gives it back.
Operation Script::leased(std::size_t row, std::uint32_t client, ClientState& state) {
  constexpr milliseconds kShort{40};
  constexpr milliseconds kLong{400};
  const std::string lock = key_of(row, client, state) + "-lock";
  const std::string guarded = key_of(row, client, state) + "-data";
  Operation out{.client = client};
  const std::size_t draw = state.random.below(100);
  const bool acquires = state.holds ? state.renews && draw >= 55 && draw < 75 : draw < 40;
  if (acquires) {
    out.action = Action::kSet;
    out.key = lock;
    out.value = owner(client);
    out.condition = Condition::kIfAbsentOrEqual;
    out.expires_after = state.random.one_in(3) ? kShort : kLong;
    return out;
  }
  if (state.holds && draw < 55) {
    out.action = draw < 50 ? Action::kSet : Action::kDel;
    out.key = guarded;
    if (out.action == Action::kSet) out.value = new_value(mix_.rows[row], client, state);
    if (draw >= 4) out.token = state.token;
    return out;
  }
  if (state.holds && draw >= 90) {
    out.action = Action::kVdel;
    out.key = lock;
    out.value = owner(client);
    state.holds = state.random.one_in(3);  // some continue writing, which the token has to stop
    return out;
  }
  out.action = Action::kGet;
  out.key = state.random.one_in(2) ? lock : guarded;
  return out;
}

void Script::choose(const Row& row, Operation& operation, ClientState& state) {
  const bool observes = row.observers == 0 || operation.client % row.clients_of_key < row.observers;
  // The first of them stays, and registers once: what is missing is certain only of one that is
  // there long enough, and what comes twice to one that has not registered twice. (Req: NTF-SEND-1,
  // NTF-REPEAT-OPEN-2)
  const bool stays = row.observers > 1 && operation.client % row.clients_of_key == 0;
  const bool watches = stays && state.watched == operation.key;
  const std::size_t observe = observes && !watches ? row.observe : 0;
  const std::size_t stop = observes && !stays ? row.stop : 0;
  const std::array weights = {row.set, row.get, row.del, row.nx, row.nex, row.vdel, observe, stop};
  std::size_t sum = 0;
  for (const std::size_t weight : weights) sum += weight;
  std::size_t draw = state.random.below(sum);
  std::size_t at = 0;
  while (draw >= weights.at(at)) draw -= weights.at(at++);
  constexpr std::array kActions = {Action::kSet, Action::kGet,  Action::kDel,     Action::kSet,
                                   Action::kSet, Action::kVdel, Action::kObserve, Action::kStop};
  operation.action = kActions.at(at);
  if (at == 3) operation.condition = Condition::kIfAbsent;
  if (at == 4) operation.condition = Condition::kIfAbsentOrEqual;
  const bool wants_known = at == 4 || operation.action == Action::kVdel;
  const bool known = state.is_notified_of == operation.key && !state.random.one_in(8);
  if (has_value(operation.action)) {
    operation.value =
        wants_known && known ? state.received : new_value(row, operation.client, state);
  }
  if (operation.action == Action::kSet && row.percent_px > 0 &&
      state.random.below(100) < row.percent_px) {
    operation.expires_after = milliseconds(5 + state.random.below(120));
  }
}

Operation Script::next(std::uint32_t client) {
  if (mix_.renew_after > 0 && asked_ >= mix_.renew_after) renew();
  ++asked_;
  ClientState& state = states_[client];
  std::size_t draw = state.random.below(shares_);
  std::size_t row = 0;
  while (draw >= mix_.rows[row].share) draw -= mix_.rows[row++].share;
  if (mix_.rows[row].lease) return leased(row, client, state);
  Operation out{.client = client, .key = key_of(row, client, state)};
  choose(mix_.rows[row], out, state);
  return out;
}

void Script::answered(const Operation& operation) {
  if (!operation.key.starts_with(current_)) return;
  ClientState& state = states_[operation.client];
  const bool wrote = operation.action == Action::kSet && operation.outcome == Outcome::kOk;
  if (wrote || operation.outcome == Outcome::kValue) {
    state.is_notified_of = operation.key;
    state.received = wrote ? operation.value : operation.read;
  }
  if (operation.action == Action::kObserve && operation.outcome == Outcome::kOk) {
    state.watched = operation.key;
  }
  const bool of_lock = operation.condition == Condition::kIfAbsentOrEqual &&
                       operation.expires_after && operation.key.ends_with("-lock");
  if (of_lock) {
    if (wrote && !state.holds) state.renews = state.random.one_in(2);
    state.holds = wrote;
    if (wrote && operation.version) state.token = operation.version;
  }
}

void Script::disconnected(std::uint32_t client) {
  states_[client].holds = false;
  states_[client].watched.clear();
}

}  // namespace fencepost::stress
