#include "suite/scenario/moves_clock.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "suite/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

constexpr std::int64_t kNoticed = 1'000;                          // ms ahead
constexpr std::uint64_t kSmallCounters = std::uint64_t{1} << 31;  // of 32-bit readers

bool is_refusal(const Outcome& outcome) {
  return std::holds_alternative<ErrorReply>(outcome.what) ||
         std::holds_alternative<AnyError>(outcome.what);
}

bool is_ahead(const TimestampSpec& spec) {
  const auto* expression = std::get_if<TimestampExpression>(&spec);
  if (expression == nullptr) return false;
  if (expression->counter.value_or(0) >= kSmallCounters) return true;
  if (expression->counter_offset >= static_cast<std::int64_t>(kSmallCounters)) return true;
  // The limit itself is a minute ahead.
  return expression->base == kSkewLimit || expression->offset_ms >= kNoticed;
}

bool moves_clock(const RequestStep& request) {
  const std::vector<Outcome>& outcomes = request.expect.outcomes;
  const bool refused =
      !outcomes.empty() && std::all_of(outcomes.begin(), outcomes.end(), is_refusal);
  return !refused && is_ahead(request.timestamp);
}

}  // namespace

bool moves_clock(const Case& test_case) {
  return std::any_of(test_case.steps.begin(), test_case.steps.end(), [](const Step& step) {
    if (const auto* request = std::get_if<RequestStep>(&step.what)) return moves_clock(*request);
    const auto* pipeline = std::get_if<PipelineStep>(&step.what);
    return pipeline != nullptr &&
           std::any_of(pipeline->requests.begin(), pipeline->requests.end(),
                       [](const RequestStep& request) { return moves_clock(request); });
  });
}

std::vector<std::string> tags_of(const Case& test_case) {
  std::vector<std::string> out = test_case.tags;
  const bool named = std::find(out.begin(), out.end(), kMovesClockTag) != out.end();
  if (!named && moves_clock(test_case)) out.emplace_back(kMovesClockTag);
  return out;
}

}  // namespace fencepost::scenario
