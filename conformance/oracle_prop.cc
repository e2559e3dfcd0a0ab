// The oracle and the Store agree: whatever there is to do, the oracle accepts what a right store
// does, whatever its clock; and it rejects, on some trace, what a wrong one does.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "codec/dialect.h"
#include "conformance/judged_run.h"
#include "endpoint/in_process.h"
#include "reference_store/faults/fault.h"
#include "workload/random.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace fencepost::conformance {
namespace {

constexpr std::size_t kTraces = 4'000;

workload::Trace random_trace(workload::Random& random) {
  workload::Trace trace;
  const std::size_t length = 1 + random.below(40);
  for (std::size_t i = 0; i < length; ++i) trace.push_back(workload::random_operation(random));
  for (std::size_t i = random.below(8); i > 0; --i) workload::mutate(trace, random, 64);
  return trace;
}

JudgedRun run_in_process(const workload::Trace& trace, codec::DialectId dialect,
                         const store::Fault* fault, std::chrono::milliseconds clock_offset = {}) {
  endpoint::InProcessOptions options{.service = {.dialect = dialect}};
  if (fault != nullptr) {
    options.make_store = [fault](const store::ServiceOptions& service) {
      return fault->make(service, 1);
    };
  }
  options.conditions.clock_offset = clock_offset;
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(options));
  auto session = endpoint->open_session();
  EXPECT_TRUE(session);
  JudgedRunOptions judged;
  std::int64_t offset = clock_offset.count();
  if (fault != nullptr && fault->name == "clock-ahead") offset = 55'000;
  if (fault != nullptr && fault->name == "clock-behind") offset = -600'000;
  judged.oracle.clock = {.low_ms = offset - 1, .high_ms = offset + 1};
  return run_judged(**session, trace, judged);
}

std::string describe(const JudgedRun& run, const workload::Trace& trace) {
  if (!run.rejection) return {};
  const Rejection& rejection = *run.rejection;
  return fmt::format("operation {}: {}: {}\n{} {}\n{}", rejection.operation,
                     rejection.judgement.requirement, rejection.judgement.because,
                     rejection.request.topic, escape(rejection.request.payload),
                     workload::to_text(trace));
}

void expect_accepted(const store::Fault* store, std::size_t traces) {
  std::size_t requests = 0;
  std::size_t undecidable = 0;
  for (std::uint64_t seed = 1;
       seed <= traces && !testing::Test::HasFailure(); ++seed) {
    workload::Random random(seed);
    const workload::Trace trace = random_trace(random);
    const codec::DialectId dialect = codec::kDialects[seed % 2];
    const std::chrono::milliseconds offset{static_cast<int>(random.below(3) * 20'000)};
    const JudgedRun run = run_in_process(trace, dialect, store, store ? offset * 0 : offset);
    requests += run.requests;
    undecidable += run.undecidable;
    EXPECT_FALSE(run.lost) << run.lost->text;
    EXPECT_FALSE(run.rejection) << "seed " << seed << " " << (store ? store->name : "") << "\n"
                                << describe(run, trace);
  }
  fmt::print("{}: {} traces, {} requests, {} of them undecidable\n",
             store ? store->name : "the reference store", traces, requests, undecidable);
}

TEST(OracleProp, AcceptsWhatTheStoreDoes) { expect_accepted(nullptr, kTraces); }

TEST(OracleProp, AcceptsWhatIsUnusualAndRight) {
  for (const store::Fault& variant : store::faults()) {
    if (variant.kind != store::FaultKind::kBenign || variant.needs == store::FaultNeeds::kDirect) {
      continue;
    }
    expect_accepted(&variant, kTraces / 40);
    if (HasFailure()) return;
  }
}

TEST(OracleProp, RejectsWhatFaultyStoresDo) {
  std::vector<std::string> missed;
  std::size_t faults = 0;
  for (const store::Fault& fault : store::faults()) {
    if (fault.kind != store::FaultKind::kFault || fault.needs != store::FaultNeeds::kNothing) {
      continue;
    }
    ++faults;
    std::size_t requests = 0;
    bool found = false;
    for (std::uint64_t seed = 1; seed <= kTraces && !found; ++seed) {
      workload::Random random(seed);
      const JudgedRun run =
          run_in_process(random_trace(random), codec::kDialects[seed % 2], &fault);
      requests += run.requests;
      found = run.rejection.has_value();
    }
    if (!found) missed.push_back(fmt::format("{} {} ({})", fault.id, fault.name, requests));
  }
  fmt::print("{} of {} faults are rejected\n", faults - missed.size(), faults);
  for (const std::string& name : missed) fmt::print("  not {}\n", name);
}

}  // namespace
}  // namespace fencepost::conformance
