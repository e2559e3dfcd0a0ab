// From a trace of operations to what can be sent to a live store and judged: each operation with
// what has to come back. The model runs on a clock of its own; between that clock and the store's
// lies whatever the wire takes, so operations whose outcome would depend on it are moved away from
// the limit, or left out. So are those whose outcome the article leaves open, because nobody could
// say what the state is after them. What is left fails a store only when it is wrong.
//
//   LivePlan plan = plan_live(trace, {});
//   SourceFile file = {"found.yaml", scenario_text(plan, words)};   // trace_scenario.h
//
// Pure and thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/naive_model.h"
#include "workload/operation.h"
#include "workload/rendering.h"

namespace fencepost::search {

struct LiveOptions {
  // A PX below a minute becomes this one: long enough for the requests that rely on the key.
  // Nothing: such operations are left out.
  std::optional<std::chrono::milliseconds> short_expiry{300};
  std::chrono::milliseconds expiry_slack{250};  // how late a store may remove a key
  std::size_t max_operations = 16;              // before the closing ones
  // Ends with operations that show the state. Of each key that was touched: its value and version,
  // that it expires, how great a token it asks for, that it is observed or not. And a request of
  // each client, behind which no notification can hide.
  bool closing = true;
};

// What was true of the key of an operation before it.
struct KeyBefore {
  bool exists = false;
  bool fenced = false;
  bool has_deadline = false;
  bool expired = false;                       // it does not exist because its time had passed
  std::optional<std::size_t> last_version{};  // step that made its version, or the last one it had
};

struct LiveStep {
  workload::Operation operation{};
  workload::Prediction expected{};  // origins are places in the plan
  workload::Offered timestamp{};    // on the model's clock
  workload::Offered token{};
  std::uint64_t now_ms = 0;           // of the model's clock
  std::vector<std::string> raw{};     // the arguments of a raw payload; none: it is no command
  KeyBefore before{};                 // of the key
  std::optional<std::size_t> base{};  // step that made the version that `__ts` is relative to
  std::int64_t from_base_ms = 0;      // how much later than that version `__ts` is
  // Step with a short expiry that must not have passed yet when the reply comes.
  std::optional<std::size_t> within{};
  std::optional<std::size_t> waits_for{};  // kWait: step with the expiry that passes
};

struct LivePlan {
  LiveOptions options{};
  std::uint64_t start_ms = 0;  // of the model's clock
  std::vector<LiveStep> steps{};
  std::size_t closing_from = 0;  // the first of the closing operations, or steps.size()

  // What plan_live() makes the same plan of, without closing operations of its own.
  [[nodiscard]] workload::Trace operations() const;
  // The same without those of this plan.
  [[nodiscard]] workload::Trace opening() const;
  [[nodiscard]] std::size_t requests() const;
};

[[nodiscard]] LivePlan plan_live(const workload::Trace& trace, const LiveOptions& options);

// Lets the model do what the plan does, and nothing else: for its coverage.
void replay(const LivePlan& plan);

// Did this step make a version?
[[nodiscard]] bool makes_version(const LiveStep& step);

// Is it a KEYNOTIFY that registers its client?
[[nodiscard]] bool registers(const LiveStep& step);

}  // namespace fencepost::search
