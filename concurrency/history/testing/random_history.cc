#include "concurrency/history/testing/random_history.h"

#include <algorithm>
#include <utility>

namespace fencepost::history {
namespace {

using workload::Random;

constexpr Time kTick = std::chrono::milliseconds(1);
constexpr std::uint64_t kWallMs = 1'000;

bool percent(Random& random, std::size_t share) { return random.below(100) < share; }

Time ticks(std::size_t count) { return kTick * static_cast<std::int64_t>(count); }

// One key of a store that keeps the rules.
class Store {
 public:
  Store(const RandomOptions& options, Random& random) : options_(options), random_(random) {}

  void handle(Operation& operation, Time now) {
    if (value_ && now >= end_) forget();
    operation.version.reset();
    operation.outcome = answer(operation, now);
    if (!options_.versions) operation.version.reset();
  }

 private:
  Outcome answer(Operation& operation, Time now) {
    switch (operation.action) {
      case Action::kSet:
      case Action::kCompareAndSet:
        return set(operation, now);
      case Action::kGet:
        if (!value_) return Outcome::kMissing;
        operation.read = *value_;
        operation.version = version_;
        return Outcome::kValue;
      default:
        return remove(operation, now);
    }
  }

  std::optional<Outcome> fence(const Operation& operation) const {
    if (!token_) return std::nullopt;
    if (!operation.token) return Outcome::kTokenRequired;
    if (*operation.token < *token_) return Outcome::kTokenLower;
    return std::nullopt;
  }

  Outcome set(Operation& operation, Time now) {
    if (const auto refused = fence(operation)) return *refused;
    const bool compares = operation.action == Action::kCompareAndSet;
    const bool met = compares ? value_ == operation.expected
                     : operation.condition == codec::Condition::kIfAbsent ? !value_
                     : operation.condition == codec::Condition::kIfAbsentOrEqual
                         ? !value_ || *value_ == operation.value
                         : true;
    if (!met) {
      if (options_.version_of_refusals && value_) operation.version = version_;
      return Outcome::kNotApplied;
    }
    value_ = operation.value;
    version_ = fresh(now);
    operation.version = version_;
    if (operation.token && (!token_ || *operation.token > *token_)) token_ = operation.token;
    end_ = operation.expires_after ? now + Time(*operation.expires_after) : kNever;
    return Outcome::kOk;
  }

  Outcome remove(Operation& operation, Time now) {
    if (!value_) return Outcome::kMissing;
    if (const auto refused = fence(operation)) return *refused;
    if (operation.action == Action::kVdel && *value_ != operation.value) {
      return Outcome::kNotApplied;
    }
    if (options_.deleted == RandomOptions::Deleted::kOld) operation.version = version_;
    if (options_.deleted == RandomOptions::Deleted::kFresh) operation.version = fresh(now);
    forget();
    return Outcome::kDeleted;
  }

  void forget() {
    value_.reset();
    token_.reset();
    end_ = kNever;
  }

  hlc::Timestamp fresh(Time now) {
    const std::uint64_t wall = kWallMs + static_cast<std::uint64_t>(now / kTick) + random_.below(2);
    if (wall > last_.wall_ms) {
      last_ = {wall, 0, "s"};
    } else {
      ++last_.counter;
    }
    return last_;
  }

  const RandomOptions& options_;
  Random& random_;
  std::optional<std::string> value_{};
  hlc::Timestamp version_{};
  std::optional<hlc::Timestamp> token_{};
  Time end_ = kNever;
  hlc::Timestamp last_{kWallMs, 0, "s"};
};

std::string random_value(const RandomOptions& options, Random& random, std::size_t number) {
  if (options.values == 0) return "v" + std::to_string(number);
  return std::string(1, static_cast<char>('a' + random.below(options.values)));
}

hlc::Timestamp random_token(Random& random) {
  return {1 + random.below(3), 0, random.one_in(6) ? "m" : "n"};
}

Operation random_request(const RandomOptions& options, Random& random, std::size_t number) {
  Operation out;
  out.key = "k";
  const std::size_t kind = random.below(100);
  if (kind < options.percent_reads) return out;
  out.value = random_value(options, random, number);
  if (options.tokens && !random.one_in(3)) out.token = random_token(random);
  if (kind < options.percent_reads + options.percent_deletes) {
    out.action = options.conditions && random.one_in(2) ? Action::kVdel : Action::kDel;
    if (out.action == Action::kDel) out.value.clear();
    return out;
  }
  out.action = Action::kSet;
  if (options.compare_and_set && random.one_in(2)) {
    out.action = Action::kCompareAndSet;
    out.expected = random_value(options, random, random.below(number + 1));
    out.token.reset();
    return out;
  }
  if (options.conditions && random.one_in(2)) {
    out.condition =
        random.one_in(2) ? codec::Condition::kIfAbsent : codec::Condition::kIfAbsentOrEqual;
  }
  if (options.expiry && random.one_in(2)) {
    out.expires_after = std::chrono::milliseconds(random.below(3 * options.longest));
  }
  return out;
}

}  // namespace

RandomOptions random_options(Random& random) {
  RandomOptions out;
  out.operations = 2 + random.below(random.one_in(8) ? 13 : 9);
  out.clients = 1 + random.below(5);
  out.longest = 1 + random.below(12);
  out.values = random.below(4);
  out.percent_reads = 10 + random.below(50);
  out.percent_deletes = random.below(35);
  out.percent_unknown = random.one_in(3) ? 10 + random.below(30) : 0;
  out.conditions = !random.one_in(3);
  out.expiry = random.one_in(4);
  out.tokens = random.one_in(4);
  out.compare_and_set = !out.tokens && random.one_in(10);
  if (random.one_in(5)) out.deleted = RandomOptions::Deleted::kFresh;
  if (random.one_in(5)) out.deleted = RandomOptions::Deleted::kNothing;
  out.version_of_refusals = !random.one_in(3);
  out.versions = !random.one_in(12);
  out.empty_replies = random.one_in(4);
  return out;
}

std::vector<Operation> random_history(const RandomOptions& options, Random& random) {
  struct Effect {
    Time at;
    std::size_t operation;
    bool second = false;
  };
  std::vector<Operation> operations;
  std::vector<Effect> effects;
  std::vector<Time> free_from(options.clients, Time(0));
  for (std::size_t i = 0; i < options.operations; ++i) {
    const std::size_t client = random.below(options.clients);
    Operation next = random_request(options, random, i);
    next.client = static_cast<std::uint32_t>(client);
    next.called = free_from[client] + ticks(random.below(3));
    const Time took = ticks(random.below(options.longest));
    next.returned = next.called + took;
    free_from[client] = next.returned + ticks(1);
    Time at = next.called + ticks(random.below(static_cast<std::size_t>(took / kTick) + 1));
    next.outcome = Outcome::kOk;
    if (percent(random, options.percent_unknown)) {
      next.outcome = Outcome::kUnknown;
      next.returned = kNever;
      if (random.one_in(3)) at += ticks(random.below(3 * options.longest));
      if (random.one_in(3)) at = kNever;
      // A reply that says nothing: not after it.
      if (options.empty_replies && random.one_in(2)) next.returned = next.called + took;
      if (next.returned != kNever && at > next.returned) at = next.returned;
    }
    effects.push_back({at, operations.size()});
    if (options.twice && random.one_in(4)) {
      next.resent = true;
      // After the first, whose reply it is that came.
      if (at != kNever && random.one_in(2)) {
        effects.push_back({at + ticks(random.below(2 * options.longest)), operations.size(), true});
      }
    }
    operations.push_back(std::move(next));
  }
  std::stable_sort(effects.begin(), effects.end(),
                   [](const Effect& a, const Effect& b) { return a.at < b.at; });
  Store store(options, random);
  for (const Effect& effect : effects) {
    if (effect.at == kNever) break;
    Operation& operation = operations[effect.operation];
    if (effect.second) {
      Operation once_more = operation;
      store.handle(once_more, effect.at);
      continue;
    }
    const bool lost = operation.outcome == Outcome::kUnknown;
    store.handle(operation, effect.at);
    if (!lost) continue;
    operation.outcome = Outcome::kUnknown;
    operation.version.reset();
    operation.read.clear();
  }
  std::stable_sort(operations.begin(), operations.end(),
                   [](const Operation& a, const Operation& b) { return a.returned < b.returned; });
  return operations;
}

void perturb(std::vector<Operation>& operations, Random& random) {
  Operation& one = operations[random.below(operations.size())];
  const Operation& other = operations[random.below(operations.size())];
  switch (random.below(9)) {
    case 0:
      one.version = other.version;
      return;
    case 1:
      if (one.outcome == Outcome::kValue) one.read = other.value;
      return;
    case 2:
      if (one.outcome == Outcome::kValue && other.outcome == Outcome::kValue) {
        one.read = other.read;
        one.version = other.version;
      }
      return;
    case 3: {
      const Outcome outcome = random.pick(kOutcomes);
      if (!fits(one.action, outcome)) return;
      one.outcome = outcome;
      if (outcome == Outcome::kUnknown) {
        one.returned = kNever;
        one.version.reset();
        one.read.clear();
      } else if (one.returned == kNever) {
        one.returned = one.called + ticks(random.below(6));
      }
      if (outcome != Outcome::kValue) one.read.clear();
      return;
    }
    case 4:
    case 5: {  // at another time
      const Time took = one.returned - one.called;
      one.called = ticks(random.below(20));
      if (one.returned != kNever) one.returned = one.called + took;
      return;
    }
    case 6:
      if (one.returned != kNever) one.returned = one.called;
      return;
    case 7:
      if (one.version) one.version->counter += random.below(3);
      return;
    default:
      if (one.action == Action::kSet) one.condition = codec::Condition::kIfAbsent;
      return;
  }
}

void soften(std::vector<Operation>& operations, Random& random) {
  Operation& one = operations[random.below(operations.size())];
  switch (random.below(5)) {
    case 0:
      one.called = std::max(Time(0), one.called - ticks(random.below(4)));
      return;
    case 1:
      if (one.returned != kNever) one.returned += ticks(random.below(4));
      return;
    case 2:
      if (one.outcome == Outcome::kValue) return;  // names a version: others lean on it
      one.outcome = Outcome::kUnknown;
      one.returned = kNever;
      one.version.reset();
      return;
    case 3:
      for (Operation& all : operations) all.client = 7 - all.client;
      return;
    default: {
      const Time shift = ticks(random.below(50));
      for (Operation& all : operations) {
        all.called += shift;
        if (all.returned != kNever) all.returned += shift;
      }
    }
  }
}

}  // namespace fencepost::history
