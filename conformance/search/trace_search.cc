#include "conformance/search/trace_search.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "workload/model_coverage.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace fencepost::search {
namespace {

// How often the model runs before what is not novel is sent all the same. The model is faster than
// a store by more than this.
constexpr std::size_t kTries = 12;
// Where hardly anything is left that was not sent, it is sent again.
constexpr std::size_t kMostTries = 1'000;
// The newest traces of the corpus are tried more often.
constexpr std::size_t kNewest = 24;

// What a request was and what came of it, coarse enough that pairs of them are exhausted some time.
std::uint64_t outcome_of(const LiveStep& step) {
  const workload::Prediction& expected = step.expected;
  std::uint64_t out = static_cast<std::uint64_t>(step.operation.kind) + 1;
  const auto add = [&](std::uint64_t number) { out = out * 37 + number; };
  add(static_cast<std::uint64_t>(step.operation.condition));
  add(static_cast<std::uint64_t>(expected.kind));
  add(expected.kind == codec::ReplyKind::kError ? static_cast<std::uint64_t>(expected.error) + 1
                                                : 0);
  add(expected.kind == codec::ReplyKind::kCount ? static_cast<std::uint64_t>(expected.count) : 0);
  add(expected.notifications.empty() ? 0 : 1);
  add(step.operation.px_ms ? 1 : 0);
  return out;
}

std::string key_of(const LiveStep& step) {
  if (step.operation.kind == workload::Kind::kRawPayload) {
    return step.raw.size() > 1 ? step.raw[1] : std::string();
  }
  return workload::keys().at(step.operation.key);
}

}  // namespace

std::vector<workload::Trace> seed_traces() {
  std::vector<workload::Trace> out;
  for (const scenario::SourceFile& file : built_in_traces()) {
    auto trace = workload::parse_trace(file.content);
    FENCEPOST_CHECK(trace.has_value());
    out.push_back(std::move(*trace));
  }
  return out;
}

TraceSearch::TraceSearch(std::uint64_t seed, const LiveOptions& options,
                         std::vector<workload::Trace> seeds)
    : random_(seed), options_(options), seeds_(std::move(seeds)) {}

LivePlan TraceSearch::next() {
  for (std::size_t tries = 1;; ++tries) {
    LivePlan plan = plan_live(candidate(), options_);
    if (plan.requests() == 0) continue;
    ++tried_;
    const workload::Trace operations = plan.operations();
    const std::uint64_t hash = stable_hash(encode_trace(operations));
    const bool novel = note(plan);
    if (novel) corpus_.push_back(plan.opening());
    if (!novel && tries < kTries) continue;
    if (sent_.insert(hash).second || tries >= kMostTries) return plan;
  }
}

TraceSearch::Progress TraceSearch::progress() const {
  return {.tried = tried_, .novel = corpus_.size(), .edges = edges_.size(), .pairs = pairs_.size()};
}

workload::Trace TraceSearch::candidate() {
  if (next_seed_ < seeds_.size()) return seeds_[next_seed_++];
  constexpr std::size_t kFresh = 16;
  if (corpus_.empty() || random_.one_in(kFresh)) {
    workload::Trace trace;
    const std::size_t length = 1 + random_.below(options_.max_operations);
    while (trace.size() < length) trace.push_back(workload::random_operation(random_));
    return trace;
  }
  workload::Trace trace = parent();
  if (random_.one_in(4)) {
    trace = workload::cross(trace, parent(), random_, options_.max_operations);
  }
  workload::mutate(trace, random_, options_.max_operations);
  return trace;
}

const workload::Trace& TraceSearch::parent() {
  const std::size_t newest = std::min(kNewest, corpus_.size());
  if (random_.one_in(2)) return corpus_[corpus_.size() - 1 - random_.below(newest)];
  return random_.pick(corpus_);
}

bool TraceSearch::note(const LivePlan& plan) {
  bool novel = false;
  workload::record_model_coverage();
  replay(plan);
  for (const std::uint32_t feature : workload::take_model_coverage()) {
    novel = features_.insert(feature).second || novel;
    edges_.insert(workload::edge_of(feature));
  }
  std::map<std::string, std::uint64_t> last;
  for (const LiveStep& step : plan.steps) {
    if (!is_request(step.operation.kind)) continue;
    const std::uint64_t outcome = outcome_of(step);
    std::uint64_t& before = last[key_of(step)];
    novel = pairs_.insert(before * 0x9E3779B97F4A7C15ULL + outcome).second || novel;
    before = outcome;
  }
  return novel;
}

}  // namespace fencepost::search
