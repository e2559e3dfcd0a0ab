#include "conformance/search/live_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "codec/resp3.h"

namespace fencepost::search {
namespace {

using codec::ErrorCode;
using codec::ReplyKind;
using workload::Kind;
using workload::NaiveModel;
using workload::Offered;
using workload::Operation;
using workload::Prediction;
using workload::Stamp;
using workload::StampBase;

// Any time will do, as long as it is in the past: texts that name it must not be in the future.
constexpr std::uint64_t kStartMs = 1'700'000'000'000;
constexpr std::int64_t kMinuteMs = 60'000;
// How far from the limit of a minute a timestamp has to be so that the way to the store cannot
// decide, and where one that is nearer goes.
constexpr std::int64_t kUnsureMs = 5'000;
constexpr std::int64_t kFromLimitMs = 1'000;
// The farthest that a scenario can express, relative to a clock.
constexpr std::int64_t kFarthestMs = 1'000'000'000;
constexpr std::uint8_t kFirstKey = 0;
constexpr std::size_t kMaxWaits = 2;  // of one plan: they take real time

workload::NaiveOptions model_options() {
  // The ids of clients matter for the length of topics only, and what a fraction of a millisecond
  // means is one of the points that are left open.
  return {.clients = {"a", "b", "c", "d"}, .fractional_expiry = false};
}

bool changes_keys(Kind kind) {
  return kind == Kind::kSet || kind == Kind::kDel || kind == Kind::kVdel ||
         kind == Kind::kRawPayload;
}

bool is_timestamp(const Offered& offered) { return offered.form == Offered::Form::kTimestamp; }

// How far a timestamp is ahead of the clock; the farthest future is cut off.
std::int64_t ahead_of(const Offered& offered, std::uint64_t now_ms) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 62U;
  return static_cast<std::int64_t>(std::min(offered.timestamp.wall_ms, kFar)) -
         static_cast<std::int64_t>(now_ms);
}

// Moves what is about a minute ahead of the store's clock to where it surely is on one side.
void keep_off_limit(Offered& offered, std::uint64_t now_ms) {
  if (!is_timestamp(offered)) return;
  const std::int64_t ahead = ahead_of(offered, now_ms);
  if (ahead <= kMinuteMs - kUnsureMs) return;
  if (ahead < kMinuteMs + kUnsureMs) {
    const std::int64_t moved =
        ahead <= kMinuteMs ? kMinuteMs - kFromLimitMs : kMinuteMs + kFromLimitMs;
    offered.timestamp.wall_ms = now_ms + static_cast<std::uint64_t>(moved);
  } else if (ahead > kFarthestMs && offered.timestamp.wall_ms < hlc::kMaxWallMs / 2) {
    offered.timestamp.wall_ms = now_ms + static_cast<std::uint64_t>(kFarthestMs);
  }
}

// Is it left open whether it is a timestamp at all?
bool is_unsettled(const Offered& offered) {
  return !offered.open_as_timestamp.empty() || !offered.open_as_token.empty();
}

bool too_far_ahead(const Offered& offered, std::uint64_t now_ms) {
  return is_timestamp(offered) && ahead_of(offered, now_ms) > kMinuteMs;
}

// Could a store, wrong as it may be, take it for a request that changes a key? It would be one
// outside of our prefix.
bool might_change_keys(std::string_view payload) {
  std::string upper(payload);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper.find("SET") != std::string::npos || upper.find("DEL") != std::string::npos;
}

bool is_raw(const LiveStep& step, codec::Verb verb) {
  return !step.raw.empty() && step.raw.front() == codec::name(verb);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

class Planner {
 public:
  explicit Planner(const LiveOptions& options) : model_(model_options()) {
    plan_.options = options;
    plan_.start_ms = kStartMs;
  }

  LivePlan run(const workload::Trace& trace) {
    for (const Operation& operation : trace) {
      if (plan_.steps.size() >= plan_.options.max_operations) break;
      add(operation);
    }
    plan_.closing_from = plan_.steps.size();
    if (plan_.options.closing) close();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] std::uint64_t now_ms() const {
    return kStartMs + static_cast<std::uint64_t>(elapsed_.count());
  }
  [[nodiscard]] workload::Clocks now() const { return {now_ms(), elapsed_}; }

  void add(const Operation& operation) {
    if (operation.kind == Kind::kWallStep) return;
    if (operation.kind == Kind::kWait) return wait();
    if (operation.kind == Kind::kDisconnect) return disconnect(operation);
    request(operation);
  }

  // ---- Time passes only to let keys expire, all of those that will soon.

  void wait() {
    if (short_sets_.empty() || waits_ == kMaxWaits) return;
    const auto by = *plan_.options.short_expiry + plan_.options.expiry_slack;
    elapsed_ += by;
    LiveStep step{
        .operation = {.kind = Kind::kWait, .by_ms = static_cast<std::int32_t>(by.count())},
        .now_ms = now_ms(),
        .waits_for = short_sets_.back()};
    const Prediction expected = predict(model_, step);
    for (const auto& notification : expected.notifications) {
      if (!notification.open.empty()) {
        elapsed_ -= by;
        return;
      }
    }
    for (const workload::KeyState& key : model_.state({step.now_ms, elapsed_ - by})) {
      if (!key.remaining || *key.remaining > by) continue;
      expired_.insert(key.key);
      if (key.token) expired_fenced_.insert(key.key);
    }
    ++waits_;
    short_sets_.clear();
    keep(std::move(step));
  }

  void disconnect(const Operation& operation) {
    if (!connected_.contains(operation.client)) return;
    connected_.erase(operation.client);
    keep({.operation = operation, .now_ms = now_ms()});
  }

  // ---- Requests

  void request(const Operation& wanted) {
    LiveStep step{.operation = wanted, .now_ms = now_ms()};
    Operation& operation = step.operation;
    std::string key;
    if (operation.kind == Kind::kRawPayload) {
      if (!read_payload(step)) return;
      if (step.raw.size() > 1) key = step.raw[1];
    } else {
      key = workload::keys().at(operation.key);
    }
    if (operation.px_ms && !adapt_expiry(operation)) return;
    offer(step);
    if (is_unsettled(step.timestamp) || is_unsettled(step.token)) return;
    look_at(key, step);

    step.expected = predict(model_, step);
    if (!is_settled(step, key)) return;
    const bool expires_soon = makes_version(step) && is_short(operation);
    const bool told = expires_soon && is_observed(key);
    if (told && waits_ == kMaxWaits) return;
    if (!short_sets_.empty()) step.within = earliest_deadline();
    connected_.insert(operation.client);
    expired_.erase(key);
    if (makes_version(step)) last_versions_[key] = plan_.steps.size();
    if (expires_soon) short_sets_.push_back(plan_.steps.size());
    touched_.insert(key);
    keep(std::move(step));
    // Nothing can come between the notification of an expiry and whatever else is told then.
    if (told) wait();
  }

  // The arguments of a raw payload. False for what must not be sent.
  [[nodiscard]] static bool read_payload(LiveStep& step) {
    const std::string& payload = step.operation.value;
    const auto frame = codec::decode_command(payload);
    if (!frame) return !might_change_keys(payload);
    if (frame->count > codec::CommandFrame::kStored) return false;
    for (std::size_t i = 0; i < frame->count; ++i) step.raw.emplace_back(frame->arguments.at(i));
    // Which time it names would have to be known.
    if (std::find(step.raw.begin(), step.raw.end(), "PX") != step.raw.end()) return false;
    return step.raw.size() < 2 || is_ascii(step.raw[1]);
  }

  // The times that a plan knows: one that passes while it runs, and those that do not.
  [[nodiscard]] bool adapt_expiry(Operation& operation) const {
    if (*operation.px_ms >= kMinuteMs) return true;
    if (*operation.px_ms == 0 || !plan_.options.short_expiry) return false;
    operation.px_ms = plan_.options.short_expiry->count();
    return true;
  }

  [[nodiscard]] static bool is_short(const Operation& operation) {
    return operation.px_ms && *operation.px_ms < kMinuteMs;
  }

  void offer(LiveStep& step) {
    Operation& operation = step.operation;
    const auto resolved = [&](const Stamp& stamp) {
      Offered out;
      resolve(stamp, model_.bases(stamp, operation, step.now_ms, kStartMs), out);
      keep_off_limit(out, step.now_ms);
      return out;
    };
    step.timestamp = resolved(operation.timestamp);
    step.token = resolved(operation.token);
    // Whether a bad timestamp is refused where it has no meaning is left open.
    const auto is_bad = [&](const Offered& offered) {
      return offered.form == Offered::Form::kMalformed || too_far_ahead(offered, step.now_ms) ||
             is_unsettled(offered);
    };
    const bool sets = operation.kind == Kind::kSet || operation.kind == Kind::kRawPayload;
    if (!sets && is_bad(step.timestamp)) {
      operation.timestamp = {};
      step.timestamp = {};
    }
    if (!changes_keys(operation.kind) && is_bad(step.token)) {
      operation.token = {};
      step.token = {};
    }
    const StampBase base = operation.timestamp.base;
    if (base == StampBase::kVersion || base == StampBase::kToken) {
      const auto& key = workload::keys().at(key_of(operation.timestamp, operation));
      for (const workload::KeyState& state : model_.state(now())) {
        const bool of_version = base == StampBase::kVersion || !state.token;
        if (state.key != key || !of_version || !is_timestamp(step.timestamp)) continue;
        step.base = state.origin;
        step.from_base_ms = static_cast<std::int64_t>(step.timestamp.timestamp.wall_ms) -
                            static_cast<std::int64_t>(state.version.wall_ms);
      }
    }
  }

  void look_at(const std::string& key, LiveStep& step) const {
    for (const workload::KeyState& state : model_.state(now())) {
      if (state.key != key) continue;
      step.before.exists = true;
      step.before.fenced = state.token.has_value();
      step.before.has_deadline = state.remaining.has_value();
    }
    step.before.expired = expired_.contains(key);
    const auto found = last_versions_.find(key);
    if (found != last_versions_.end()) step.before.last_version = found->second;
  }

  // Can every right store only do as predicted?
  [[nodiscard]] bool is_settled(const LiveStep& step, const std::string& key) const {
    const Prediction& expected = step.expected;
    if (!expected.open.empty()) return false;
    for (const auto& notification : expected.notifications) {
      if (!notification.open.empty()) return false;
    }
    // Of a SET that is wrong in its form; what else is wrong with it may be looked at first.
    const bool form = expected.kind == ReplyKind::kError && is_raw(step, codec::Verb::kSet) &&
                      expected.error == ErrorCode::kEmptyKey;
    if (form && (!is_timestamp(step.timestamp) || too_far_ahead(step.timestamp, step.now_ms))) {
      return false;
    }
    // Whether an expired key leaves its token behind is left open.
    if (expired_fenced_.contains(key) && changes_keys(step.operation.kind)) return false;
    // Whether a SET without PX ends the time of the key is left open.
    if (makes_version(step) && step.before.has_deadline && !step.operation.px_ms) return false;
    // Else its expiry could be told at any time.
    const bool observes = registers(step);
    return !observes || !is_short_lived(key);
  }

  [[nodiscard]] bool is_observed(const std::string& key) const {
    const auto observers = model_.observers();
    return std::any_of(observers.begin(), observers.end(),
                       [&](const workload::Observer& observer) { return observer.key == key; });
  }

  [[nodiscard]] bool is_short_lived(const std::string& key) const {
    for (const workload::KeyState& state : model_.state(now())) {
      if (state.key != key || !state.remaining) continue;
      return *state.remaining < std::chrono::milliseconds{kMinuteMs} && !short_sets_.empty();
    }
    return false;
  }

  // Of those keys that will expire soon, the one that was set first.
  [[nodiscard]] std::optional<std::size_t> earliest_deadline() const {
    std::optional<std::size_t> out;
    for (const workload::KeyState& state : model_.state(now())) {
      const bool soon =
          std::find(short_sets_.begin(), short_sets_.end(), state.origin) != short_sets_.end();
      if (soon && state.remaining && (!out || state.origin < *out)) out = state.origin;
    }
    return out;
  }

  // ---- What shows the state in the end

  void close() {
    // A copy: what is added touches keys itself.
    const std::set<std::string> touched = touched_;
    const std::vector<std::uint8_t> clients(connected_.begin(), connected_.end());
    if (clients.empty()) return;
    std::vector<std::uint8_t> keys;
    for (std::uint8_t key = 0; key < workload::kKeys; ++key) {
      if (touched.contains(workload::keys().at(key))) keys.push_back(key);
    }
    std::size_t turn = 0;
    const auto next_client = [&] { return clients[turn++ % clients.size()]; };
    const auto read = [&](std::uint8_t key) {
      request({.kind = Kind::kGet, .client = next_client(), .key = key});
    };
    for (const std::uint8_t key : keys) read(key);
    if (!short_sets_.empty()) {
      wait();
      for (const std::uint8_t key : keys) {
        if (expired_.contains(workload::keys().at(key))) read(key);
      }
    }
    for (const std::uint8_t key : keys) show_token(key, next_client());
    if (std::none_of(plan_.steps.begin(), plan_.steps.end(), registers)) return;
    for (const std::uint8_t client : clients) {
      request({.kind = Kind::kGet, .client = client, .key = keys.empty() ? kFirstKey : keys[0]});
    }
  }

  // SETs that need the very token that the key holds: one that is a little older is refused.
  void show_token(std::uint8_t key, std::uint8_t client) {
    Operation set{.kind = Kind::kSet,
                  .client = client,
                  .key = key,
                  .value = "end",
                  .condition = codec::Condition::kIfAbsent,
                  .timestamp = {.base = StampBase::kNow}};
    for (const workload::KeyState& state : model_.state(now())) {
      if (state.key != workload::keys().at(key)) continue;
      set.condition = codec::Condition::kAlways;
      // A key with a time gets another one: whether a SET without PX ends it is left open.
      if (state.remaining) set.px_ms = kMinuteMs;
      if (!state.token) continue;
      set.token = {.base = StampBase::kToken, .offset_ms = -1};
      request(set);
      set.token.offset_ms = 0;
    }
    request(set);
  }

  // ---- The model

  // `model` is one that may be changed, or a copy.
  Prediction predict(NaiveModel model, const LiveStep& step) const {
    return model.apply({.index = plan_.steps.size(),
                        .operation = step.operation,
                        .timestamp = step.timestamp,
                        .token = step.token,
                        .now = {step.now_ms, elapsed_}});
  }

  void keep(LiveStep step) {
    step.expected = model_.apply({.index = plan_.steps.size(),
                                  .operation = step.operation,
                                  .timestamp = step.timestamp,
                                  .token = step.token,
                                  .now = {step.now_ms, elapsed_}});
    plan_.steps.push_back(std::move(step));
  }

  LivePlan plan_;
  NaiveModel model_;
  std::chrono::milliseconds elapsed_{0};
  std::set<std::uint8_t> connected_;
  std::set<std::string> touched_;
  std::set<std::string> expired_;         // keys that do not exist because their time has passed
  std::set<std::string> expired_fenced_;  // those that had a token then
  std::map<std::string, std::size_t> last_versions_;
  std::vector<std::size_t> short_sets_;  // steps with a short expiry that nobody has waited for
  std::size_t waits_ = 0;
};

}  // namespace

workload::Trace LivePlan::operations() const {
  workload::Trace out;
  for (const LiveStep& step : steps) out.push_back(step.operation);
  return out;
}

workload::Trace LivePlan::opening() const {
  workload::Trace out = operations();
  out.resize(closing_from);
  return out;
}

std::size_t LivePlan::requests() const {
  return static_cast<std::size_t>(
      std::count_if(steps.begin(), steps.end(),
                    [](const LiveStep& step) { return is_request(step.operation.kind); }));
}

LivePlan plan_live(const workload::Trace& trace, const LiveOptions& options) {
  return Planner(options).run(trace);
}

void replay(const LivePlan& plan) {
  NaiveModel model(model_options());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const LiveStep& step = plan.steps[i];
    const std::chrono::milliseconds elapsed{step.now_ms - plan.start_ms};
    static_cast<void>(model.apply({.index = i,
                                   .operation = step.operation,
                                   .timestamp = step.timestamp,
                                   .token = step.token,
                                   .now = {step.now_ms, elapsed}}));
  }
}

bool makes_version(const LiveStep& step) { return step.expected.fresh; }

bool registers(const LiveStep& step) {
  if (step.expected.kind != ReplyKind::kOk) return false;
  if (step.operation.kind == Kind::kKeynotify) return true;
  return step.raw.size() == 2 && is_raw(step, codec::Verb::kKeynotify);
}

}  // namespace fencepost::search
