#include "concurrency/history/shared_clock.h"

#include <algorithm>
#include <iterator>

namespace fencepost::history {
namespace {

// As many as can have returned while one request is in flight; older ones are not judged.
constexpr std::size_t kMaxMarks = 4096;

}  // namespace

void SharedClock::add(const Operation& operation, Index number) {
  const bool wrote = operation.action == Action::kSet && operation.outcome == Outcome::kOk;
  if (!wrote || !operation.version) return;
  if (!begun_) only_key_ = operation.key;
  begun_ = true;
  several_keys_ = several_keys_ || operation.key != only_key_;
  const auto after =
      std::lower_bound(marks_.begin(), marks_.end(), operation.called,
                       [](const Mark& mark, Time called) { return mark.returned < called; });
  if (after != marks_.begin() && std::prev(after)->key != operation.key) {
    const Mark& before = *std::prev(after);
    ++observed_.compared;
    if (!(before.version < *operation.version) && observed_.against++ == 0) {
      observed_.earlier = before.number;
      observed_.later = number;
    }
  }
  if (!marks_.empty() && !(marks_.back().version < *operation.version)) return;
  if (!marks_.empty() && operation.returned < marks_.back().returned) return;
  // For a single key the checker says it all: its last version will do.
  if (!several_keys_) marks_.clear();
  marks_.push_back({operation.returned, *operation.version, number, operation.key});
  if (marks_.size() > kMaxMarks) marks_.pop_front();
}

}  // namespace fencepost::history
