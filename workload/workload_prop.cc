// Properties of traces: any bytes are one, and neither bytes, text nor mutation lose anything.
#include <cstdint>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "workload/random.h"
#include "workload/testing/model_run.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace fencepost::workload {

// RapidCheck finds this by argument-dependent lookup.
void showValue(const Operation& operation, std::ostream& os) { os << to_text(operation); }

namespace {

rc::Gen<std::string> some_bytes() {
  return rc::gen::scale(4.0, rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
}

bool all_normalized(const Trace& trace) {
  for (const Operation& operation : trace) {
    if (normalized(operation) != operation) return false;
  }
  return trace.size() <= kMaxOperations;
}

RC_GTEST_PROP(TraceBytesProperty, AnyBytesAreANormalizedTrace, ()) {
  RC_ASSERT(all_normalized(decode_trace(*some_bytes())));
}

RC_GTEST_PROP(TraceBytesProperty, DecodingWhatWasEncodedGivesTheTrace, ()) {
  const Trace trace = decode_trace(*some_bytes());
  RC_ASSERT(decode_trace(encode_trace(trace)) == trace);
}

RC_GTEST_PROP(TraceBytesProperty, MemoryThatIsUsedAgainLeavesNothingBehind, ()) {
  const std::string bytes = *some_bytes();
  Trace used = decode_trace(*some_bytes());
  decode_trace(bytes, used);
  RC_ASSERT(used == decode_trace(bytes));
}

RC_GTEST_PROP(TraceTextProperty, ReadingWhatWasPrintedGivesTheTrace, ()) {
  const Trace trace = decode_trace(*some_bytes());
  const Result<Trace, std::string> again = parse_trace(to_text(trace));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == trace);
}

RC_GTEST_PROP(TraceTextProperty, AnyTextIsReadOrRefused, ()) {
  const Result<Trace, std::string> trace = parse_trace(*some_bytes());
  if (trace) RC_ASSERT(all_normalized(*trace));
}

RC_GTEST_PROP(MutatorProperty, KeepsTracesNormalizedAndWithinTheirSize, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  Trace trace = decode_trace(*some_bytes());
  const std::size_t room = *rc::gen::inRange<std::size_t>(1, kMaxOperations + 1);
  if (trace.size() > room) trace.resize(room);
  const Trace other = decode_trace(*some_bytes());
  for (int i = 0; i < 20; ++i) {
    mutate(trace, random, room);
    RC_ASSERT(!trace.empty());
    RC_ASSERT(trace.size() <= room);
    RC_ASSERT(all_normalized(trace));
    RC_ASSERT(decode_trace(encode_trace(trace)) == trace);
    const Trace child = cross(trace, other, random, room);
    RC_ASSERT(child.size() <= room);
    RC_ASSERT(all_normalized(child));
  }
}

RC_GTEST_PROP(MutatorProperty, DoesTheSameForTheSameSeed, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Trace start = decode_trace(*some_bytes());
  const auto result = [&] {
    Random random(seed);
    Trace trace = start;
    mutate(trace, random, kMaxOperations);
    return trace;
  };
  RC_ASSERT(result() == result());
}

// What holds of every prediction, regardless of the trace.
RC_GTEST_PROP(NaiveModelProperty, VersionsGrowAndNothingIsFreshButAnAppliedSet, ()) {
  NaiveModel model({.clients = {"a", "b", "c", "d"}});
  ModelRun run(model, 1'696'374'425'000);
  hlc::Timestamp last;
  for (const Operation& operation : decode_trace(*some_bytes())) {
    const Prediction& prediction = run.step(operation);
    if (!prediction.fresh) continue;
    RC_ASSERT(prediction.kind == codec::ReplyKind::kOk);
    RC_ASSERT(prediction.origin + 1 == run.steps());
    RC_ASSERT(prediction.version.has_value());
    RC_ASSERT(*prediction.version > last);
    RC_ASSERT(*prediction.version > run.timestamp().timestamp);
    last = *prediction.version;
  }
}

}  // namespace
}  // namespace fencepost::workload
