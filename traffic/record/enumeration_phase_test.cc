#include "traffic/record/enumeration_phase.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gate.h"
#include "endpoint/in_process.h"
#include "reference_store/faults/fault.h"
#include "suite/testing/built_in_library.h"

namespace fencepost::record {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EnumerationPhaseTest : public testing::Test {
 protected:
  EnumerationPhaseTest() {
    suite_.settings.profile = codec::Profile::kDeployed;
    suite_.settings.clock_bounds = {.low_ms = -1, .high_ms = 1};
    suite_.jobs = suite_.running = 2;
  }

  // Of the store with this fault; of "", of the conforming one.
  run::EnumerationResult run(std::string_view fault, std::set<std::string, std::less<>> known = {},
                             std::optional<std::chrono::milliseconds> time = {}) {
    endpoint::InProcessOptions options;
    if (const store::Fault* found = store::find_fault(fault)) {
      options.make_store = [found](const store::ServiceOptions& service) {
        return found->make(service, 1);
      };
    }
    const auto endpoint = endpoint::make_in_process_endpoint(std::move(options));
    return run_enumeration({.call = {.endpoint = "inproc:"},
                            .library = test::built_in_requirements(),
                            .suite = suite_,
                            .run_id = "r",
                            .depth = 1,
                            .time = time,
                            .known = std::move(known),
                            .not_run_because = not_run_because_},
                           *endpoint, stop_, [](const search::ExploreProgress&) {});
  }

  run::SuiteOptions suite_;
  std::atomic<bool> stop_{false};
  std::string not_run_because_{};
};

TEST_F(EnumerationPhaseTest, OfAConformingStoreFindsNothing) {
  if (all_or_in_gate(false, true)) {
    GTEST_SKIP() << "only in ci/test --full: certifications of the program have it";
  }
  const run::EnumerationResult out = run("");
  EXPECT_EQ(out.workloads, out.of);
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_EQ(out.error + out.undecided, "");
}

TEST_F(EnumerationPhaseTest, SaysWhatAStoreBreaksAndHowToRepeatIt) {
  const run::EnumerationResult out = run("S01");
  ASSERT_THAT(out.findings, SizeIs(1));
  const run::PhaseFinding& found = out.findings.front();
  EXPECT_EQ(found.requirement, "SET-NX-2");
  EXPECT_THAT(found.text, HasSubstr("a conforming store answers -1"));
  EXPECT_THAT(found.packets, AllOf(Contains(HasSubstr("sent      *4\\r\\n$3\\r\\nSET")),
                                   Contains(EndsWith("__ts=001767225600000:00002:StateStore"))));
  EXPECT_THAT(found.command, HasSubstr("explore --endpoint inproc: --exhaustive 1 --example "));
}

TEST_F(EnumerationPhaseTest, GoesPastWhatIsKnown) {
  const run::EnumerationResult out = run("S01", {"SET-NX-2"});
  for (const run::PhaseFinding& each : out.findings) EXPECT_NE(each.requirement, "SET-NX-2");
  EXPECT_EQ(out.workloads, out.of);
  EXPECT_GT(out.requests, 10 * out.undecidable);
  EXPECT_EQ(out.error + out.undecided, "");
  EXPECT_THAT(out.bound, SizeIs(1));
  EXPECT_EQ(out.command, "fencepost explore --endpoint inproc: --exhaustive 1");
}

TEST_F(EnumerationPhaseTest, ThatMayEndEarlyLeavesNoDoubt) {
  const run::EnumerationResult out = run("", {}, 1ms);
  EXPECT_LT(out.workloads, out.of);
  EXPECT_EQ(out.undecided, out.requests == 0 ? "not decided: no operation was answered" : "");
}

TEST_F(EnumerationPhaseTest, ThatIsNotRunSaysWhy) {
  not_run_because_ = "the cases failed";
  const run::EnumerationResult out = run("S01");
  EXPECT_EQ(out.error, "the cases failed");
  EXPECT_EQ(out.requests, 0U);
  EXPECT_GT(out.of, 5'000U);
  EXPECT_THAT(out.findings, IsEmpty());
  EXPECT_EQ(out.undecided, "");
  EXPECT_EQ(out.command, "fencepost explore --endpoint inproc: --exhaustive 1");
}

TEST_F(EnumerationPhaseTest, ThatIsStoppedSaysSo) {
  stop_ = true;
  EXPECT_EQ(run("").error, "interrupted");
}

}  // namespace
}  // namespace fencepost::record
