#include "workload/testing/model_run.h"

#include <chrono>

namespace fencepost::workload {

ModelRun::ModelRun(NaiveModel& model, std::uint64_t start_ms)
    : model_(&model), start_ms_(start_ms), now_{.wall_ms = start_ms} {
  model.clear();
}

const Prediction& ModelRun::step(const Operation& operation) {
  if (operation.kind == Kind::kWait || operation.kind == Kind::kWallStep) {
    now_.wall_ms += static_cast<std::uint64_t>(std::int64_t{operation.by_ms});
  }
  if (operation.kind == Kind::kWait) now_.steady += std::chrono::milliseconds{operation.by_ms};
  const auto offer = [&](const Stamp& stamp, Offered& out) {
    const bool related = stamp.base == StampBase::kToken || stamp.base == StampBase::kVersion;
    const Bases clocks{.now_ms = now_.wall_ms, .start_ms = start_ms_};
    resolve(stamp, related ? model_->bases(stamp, operation, now_.wall_ms, start_ms_) : clocks,
            out);
  };
  offer(operation.timestamp, timestamp_);
  offer(operation.token, token_);
  return model_->apply({.index = steps_++,
                        .operation = operation,
                        .timestamp = timestamp_,
                        .token = token_,
                        .now = now_});
}

}  // namespace fencepost::workload
