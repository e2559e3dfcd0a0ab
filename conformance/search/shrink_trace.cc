#include "conformance/search/shrink_trace.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "conformance/search/trace_scenario.h"
#include "workload/operation.h"

namespace fencepost::search {
namespace {

using workload::Kind;
using workload::Operation;
using workload::Stamp;
using workload::StampBase;
using workload::Trace;

// Pairs of operations are tried where there are no more than this.
constexpr std::size_t kPairsOf = 10;
// So many are followed of those that fail when something is left out and the state is looked at.
constexpr std::size_t kDetours = 3;

// What gets smaller: the first of these that differs.
struct Cost {
  std::size_t steps;
  std::size_t text;
  std::size_t unusual;
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

// How far clients and keys are from the first, values from `v`, and tokens from the start.
std::size_t unusual_in(const LivePlan& plan) {
  std::size_t out = 0;
  for (const LiveStep& step : plan.steps) {
    out += std::size_t{step.operation.client} + step.operation.key;
    if (step.operation.value != "v") ++out;
    const StampBase base = step.operation.token.base;
    if (base != StampBase::kAbsent && base != StampBase::kStart) ++out;
  }
  return out;
}

std::string text_of(const LivePlan& plan) { return scenario_text(plan, {.id = "x", .title = "x"}); }

Cost cost_of(const LivePlan& plan) {
  return {size_of(plan).steps, text_of(plan).size(), unusual_in(plan)};
}

Trace without(const Trace& trace, std::size_t from, std::size_t count) {
  Trace out(trace.begin(), trace.begin() + static_cast<std::ptrdiff_t>(from));
  const std::size_t rest = std::min(from + count, trace.size());
  out.insert(out.end(), trace.begin() + static_cast<std::ptrdiff_t>(rest), trace.end());
  return out;
}

std::vector<Trace> without_pieces(const Trace& trace, std::size_t size) {
  std::vector<Trace> out;
  for (std::size_t from = 0; from < trace.size(); from += size) {
    out.push_back(without(trace, from, size));
  }
  return out;
}

std::vector<Trace> without_pairs(const Trace& trace) {
  std::vector<Trace> out;
  if (trace.size() > kPairsOf) return out;
  for (std::size_t b = 1; b < trace.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) out.push_back(without(without(trace, b, 1), a, 1));
  }
  return out;
}

// `change` done to one operation, or to all of them.
template <typename Change>
void add_changed(const Trace& trace, const Change& change, std::vector<Trace>& out) {
  const auto changed = [&](const Operation& operation) {
    Operation copy = operation;
    change(copy);
    return normalized(std::move(copy));
  };
  Trace all;
  for (const Operation& operation : trace) all.push_back(changed(operation));
  out.push_back(std::move(all));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    Trace one = trace;
    one[i] = changed(trace[i]);
    out.push_back(std::move(one));
  }
}

// Gives all that have one value of a field the simplest value of it.
template <typename Field>
void add_renamed(const Trace& trace, Field field, std::vector<Trace>& out) {
  std::set<std::uint8_t> used;
  for (const Operation& operation : trace) used.insert(operation.*field);
  for (const std::uint8_t old : used) {
    for (std::uint8_t simple = 0; simple < old; ++simple) {
      Trace renamed = trace;
      for (Operation& operation : renamed) {
        if (operation.*field == old) operation.*field = simple;
      }
      out.push_back(std::move(renamed));
    }
  }
}

void add_simpler_values(const Trace& trace, std::vector<Trace>& out) {
  std::set<std::string> used;
  for (const Operation& operation : trace) used.insert(operation.value);
  for (const char* simple : {"v", "w"}) {
    for (const std::string& old : used) {
      Trace renamed = trace;
      for (Operation& operation : renamed) {
        if (operation.value == old && operation.kind != Kind::kRawPayload) operation.value = simple;
      }
      out.push_back(std::move(renamed));
    }
    add_changed(
        trace,
        [&](Operation& operation) {
          if (operation.kind != Kind::kRawPayload) operation.value = simple;
        },
        out);
  }
}

// `base`: of the simplest timestamp of its kind.
void simplify(Stamp& stamp, StampBase base, std::size_t how) {
  if (stamp.base == StampBase::kAbsent) return;
  switch (how) {
    case 0:
      stamp = {.base = base};
      break;
    case 1:
      stamp.counter = 0;
      break;
    case 2:
      stamp.node = 0;
      break;
    case 3:
      stamp.offset_ms = 0;
      break;
    case 4:
      stamp.offset_ms = stamp.offset_ms < 0 ? -1'000 : 1'000;
      break;
    case 5:
      stamp.counter = stamp.counter > 1 ? 1 : stamp.counter;
      break;
    default:
      stamp.malformed = 0;
      break;
  }
}
constexpr std::size_t kWaysToSimplify = 7;

std::vector<Trace> simpler(const Trace& trace) {
  std::vector<Trace> out;
  add_renamed(trace, &Operation::client, out);
  add_renamed(trace, &Operation::key, out);
  add_changed(
      trace, [](Operation& operation) { operation.token = {}; }, out);
  add_changed(
      trace, [](Operation& operation) { operation.timestamp = default_timestamp(operation.kind); },
      out);
  add_changed(
      trace, [](Operation& operation) { operation.condition = codec::Condition::kAlways; }, out);
  add_changed(
      trace, [](Operation& operation) { operation.px_ms.reset(); }, out);
  add_simpler_values(trace, out);
  for (std::size_t how = 0; how < kWaysToSimplify; ++how) {
    // Tokens stay apart from what moves the clock.
    add_changed(
        trace, [&](Operation& operation) { simplify(operation.token, StampBase::kStart, how); },
        out);
    add_changed(
        trace, [&](Operation& operation) { simplify(operation.timestamp, StampBase::kNow, how); },
        out);
  }
  return out;
}

// The same tokens, but counted from the start, so that they do not depend on other operations.
Trace with_tokens_from_start(const LivePlan& plan) {
  Trace out = plan.operations();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const workload::Offered& offered = plan.steps[i].token;
    if (offered.form != workload::Offered::Form::kTimestamp) continue;
    constexpr std::int64_t kFarthestMs = 1'000'000'000;
    const auto from_start = static_cast<std::int64_t>(offered.timestamp.wall_ms) -
                            static_cast<std::int64_t>(plan.start_ms);
    const auto& nodes = workload::nodes();
    const auto node = static_cast<std::size_t>(
        std::find(nodes.begin(), nodes.end(), offered.timestamp.node) - nodes.begin());
    if (std::llabs(from_start) > kFarthestMs || node >= workload::kStoreNode) continue;
    out[i].token = {.base = StampBase::kStart,
                    .node = static_cast<std::uint8_t>(node),
                    .offset_ms = static_cast<std::int32_t>(from_start),
                    .counter = offered.timestamp.counter};
  }
  return out;
}

class Shrinker {
 public:
  Shrinker(const LivePlan& failing, const FirstFailing& first_failing)
      : first_failing_(first_failing), best_(failing), cost_(cost_of(failing)) {}

  Shrunk run() {
    while (once()) {
    }
    // What shows a difference may need less to show it in another way.
    while (detour()) {
    }
    return {std::move(best_), tried_};
  }

 private:
  // One round over all that may be smaller. Was something?
  bool once() {
    bool smaller = take({with_tokens_from_start(best_)});
    for (std::size_t size = (best_.steps.size() + 1) / 2; size > 0; size /= 2) {
      while (take(without_pieces(best_.operations(), size))) smaller = true;
    }
    while (take(without_pairs(best_.operations()))) smaller = true;
    while (take(simpler(best_.operations()))) smaller = true;
    return smaller;
  }

  // Leaves out one operation, and looks at the whole state in the end instead.
  bool detour() {
    std::vector<LivePlan> plans;
    for (const Trace& trace : without_pieces(best_.operations(), 1)) {
      LiveOptions options = options_of(best_);
      options.closing = true;
      LivePlan plan = plan_live(trace, options);
      if (plan.requests() > 0) plans.push_back(std::move(plan));
    }
    for (std::size_t tries = 0; tries < kDetours && !plans.empty(); ++tries) {
      tried_ += plans.size();
      const auto failing = first_failing_(plans);
      if (!failing) return false;
      Shrinker other(plans[*failing], first_failing_);
      while (other.once()) {
      }
      tried_ += other.tried_;
      if (other.cost_ < cost_) {
        best_ = std::move(other.best_);
        cost_ = other.cost_;
        return true;
      }
      plans.erase(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(*failing) + 1);
    }
    return false;
  }

  static LiveOptions options_of(const LivePlan& plan) {
    LiveOptions options = plan.options;
    options.closing = false;
    options.max_operations = plan.steps.size();
    return options;
  }

  bool take(const std::vector<Trace>& traces) {
    std::vector<LivePlan> plans;
    std::set<std::string> seen;
    for (const Trace& trace : traces) {
      LivePlan plan = plan_live(trace, options_of(best_));
      if (plan.requests() == 0 || cost_of(plan) >= cost_) continue;
      if (seen.insert(text_of(plan)).second) plans.push_back(std::move(plan));
    }
    if (plans.empty()) return false;
    tried_ += plans.size();
    const auto failing = first_failing_(plans);
    if (!failing) return false;
    best_ = std::move(plans[*failing]);
    cost_ = cost_of(best_);
    return true;
  }

  const FirstFailing& first_failing_;
  LivePlan best_;
  Cost cost_;
  std::size_t tried_ = 0;
};

}  // namespace

Shrunk shrink(const LivePlan& failing, const FirstFailing& first_failing) {
  return Shrinker(failing, first_failing).run();
}

}  // namespace fencepost::search
