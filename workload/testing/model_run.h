// Runs operations on a naive model, with the store's clocks cranked by hand.
//
//   ModelRun run(model, start_ms);
//   const Prediction& expected = run.step(operation);
//   run.timestamp();   // what the operation offered as `__ts` in this run
#pragma once

#include <cstddef>
#include <cstdint>

#include "workload/operation.h"
#include "workload/rendering.h"
#include "workload/testing/naive_model.h"

namespace fencepost::workload {

// Not thread safe.
class ModelRun {
 public:
  // Clears the model, which must outlive the run. The wall clock begins at `start_ms`.
  ModelRun(NaiveModel& model, std::uint64_t start_ms);

  // Moves the clocks if the operation does, turns its relative timestamps into those of this run,
  // and asks the model. The prediction lives until the next step.
  const Prediction& step(const Operation& operation);

  // The timestamp of the last step.
  [[nodiscard]] const Offered& timestamp() const { return timestamp_; }
  [[nodiscard]] const Offered& token() const { return token_; }
  [[nodiscard]] const Clocks& now() const { return now_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }

 private:
  NaiveModel* model_;
  std::uint64_t start_ms_;
  Clocks now_;
  Offered timestamp_;
  Offered token_;
  std::size_t steps_ = 0;
};

}  // namespace fencepost::workload
