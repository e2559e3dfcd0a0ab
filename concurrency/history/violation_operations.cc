#include "concurrency/history/violation_operations.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fencepost::history {

void ViolationOperations::add(const Operation& operation, Index number) {
  const auto text = [&](const std::string& bytes) {
    return bytes.empty() ? kNone : texts_.add(bytes);
  };
  const auto stamp = [&](const std::optional<hlc::Timestamp>& timestamp) {
    return timestamp ? stamps_.add(*timestamp) : kNone;
  };
  all_.push_back({.called = operation.called.count(),
                  .returned = operation.returned.count(),
                  .expires_after = operation.expires_after ? operation.expires_after->count() : -1,
                  .number = number,
                  .value = text(operation.value),
                  .expected = text(operation.expected),
                  .read = text(operation.read),
                  .reason = text(operation.reason),
                  .timestamp = stamp(operation.timestamp),
                  .token = stamp(operation.token),
                  .version = stamp(operation.version),
                  .client = operation.client,
                  .action = operation.action,
                  .condition = operation.condition,
                  .outcome = operation.outcome,
                  .resent = operation.resent});
}

Operation ViolationOperations::operation(const Numbered& kept) const {
  const auto text = [&](Index at) { return at == kNone ? std::string() : texts_[at]; };
  const auto stamp = [&](Index at) {
    return at == kNone ? std::nullopt : std::optional(stamps_[at]);
  };
  Operation out{.client = kept.client,
                .action = kept.action,
                .value = text(kept.value),
                .expected = text(kept.expected),
                .condition = kept.condition,
                .timestamp = stamp(kept.timestamp),
                .token = stamp(kept.token),
                .called = Time{kept.called},
                .returned = Time{kept.returned},
                .outcome = kept.outcome,
                .read = text(kept.read),
                .version = stamp(kept.version),
                .reason = text(kept.reason),
                .resent = kept.resent};
  if (kept.expires_after >= 0) out.expires_after = std::chrono::milliseconds{kept.expires_after};
  return out;
}

std::optional<Operation> ViolationOperations::find(Index number) const {
  const auto found =
      std::lower_bound(all_.begin(), all_.end(), number,
                       [](const Numbered& each, Index wanted) { return each.number < wanted; });
  if (found == all_.end() || found->number != number) return std::nullopt;
  return operation(*found);
}

void ViolationOperations::keep(const std::function<bool(Index number)>& wanted) {
  ViolationOperations out;
  for (const Numbered& each : all_) {
    if (wanted(each.number)) out.add(operation(each), each.number);
  }
  *this = std::move(out);
}

}  // namespace fencepost::history
