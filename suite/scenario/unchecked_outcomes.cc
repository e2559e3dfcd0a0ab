#include "suite/scenario/unchecked_outcomes.h"

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "suite/scenario/writer.h"

namespace fencepost::scenario {
namespace {

// The marks of requests whose outcomes decide what a step expects.
class Ties {
 public:
  explicit Ties(const Case& test_case) {
    for (const Step& step : test_case.steps) {
      std::visit([this](const auto& what) { look_at(what); }, step.what);
    }
  }
  [[nodiscard]] bool has(const std::string& mark) const { return marks_.contains(mark); }

 private:
  void look_at(const RequestStep& step) { marks_.insert(step.expect.by); }
  void look_at(const PipelineStep& step) {
    for (const RequestStep& request : step.requests) look_at(request);
  }
  void look_at(const NotificationStep& step) {
    if (step.when) marks_.insert(step.when->mark);
  }
  void look_at(const SilenceStep& step) {
    if (step.when) marks_.insert(step.when->mark);
  }
  template <typename Other>
  void look_at(const Other& /*step*/) {}

  std::set<std::string> marks_{""};
};

bool is_success(const Outcome& outcome) {
  const auto* plain = std::get_if<PlainReply>(&outcome.what);
  const auto* count = std::get_if<CountReply>(&outcome.what);
  return (plain != nullptr && plain->kind == codec::ReplyKind::kOk) ||
         (count != nullptr && count->count > 0);
}

bool is_refusal(const Outcome& outcome) {
  return std::holds_alternative<ErrorReply>(outcome.what) ||
         std::holds_alternative<AnyError>(outcome.what) ||
         std::holds_alternative<NoReply>(outcome.what) ||
         std::holds_alternative<Disconnection>(outcome.what);
}

bool needs_a_tie(const RequestStep& request) {
  const std::vector<Outcome>& outcomes = request.expect.outcomes;
  return request.expect.open && action_of(request) != "get" &&
         std::any_of(outcomes.begin(), outcomes.end(), is_success) &&
         std::any_of(outcomes.begin(), outcomes.end(), is_refusal);
}

}  // namespace

std::vector<LoadError> requests_with_unchecked_outcomes(const Case& test_case) {
  const Ties ties(test_case);
  std::vector<LoadError> out;
  const auto check = [&](const Step& step, const RequestStep& request) {
    const bool tied = !request.mark.empty() && ties.has(request.mark);
    if (tied || !step.note.empty() || !needs_a_tie(request)) return;
    out.push_back({step.position,
                   test_case.id +
                       ": no later step checks the effect of this open request; give it a mark "
                       "and expect {reply: {by: {mark: ...}}} or when: {mark: [...]}, or say why "
                       "not in a note of the step"});
  };
  for (const Step& step : test_case.steps) {
    if (const auto* request = std::get_if<RequestStep>(&step.what)) check(step, *request);
    const auto* pipeline = std::get_if<PipelineStep>(&step.what);
    if (pipeline == nullptr) continue;
    for (const RequestStep& request : pipeline->requests) check(step, request);
  }
  return out;
}

}  // namespace fencepost::scenario
