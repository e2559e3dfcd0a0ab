#include "traffic/search/judged_runs.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "suite/testing/built_in_library.h"

namespace fencepost::search {
namespace {

using namespace std::chrono_literals;

// --- what runs are judged by ---------------------------------------------------------------------

JudgedRunOptions judged(const run::RunSettings& settings, const endpoint::Capabilities& offers = {},
                        endpoint::Duration round_trip = 0ms) {
  return judged_runs({.catalogue = test::built_in_requirements().catalogue,
                      .settings = settings,
                      .offers = offers,
                      .round_trip = round_trip,
                      .timeout_scale = 2});
}

TEST(JudgedRuns, TakeWhatThePreflightHasFound) {
  run::RunSettings settings;
  settings.clock_bounds = {.low_ms = -7, .high_ms = 9};
  settings.expiry_tolerance = 123ms;
  settings.disconnect_settling = 456ms;
  const JudgedRunOptions out = judged(settings);
  EXPECT_EQ(out.oracle.clock.low_ms, -7);
  EXPECT_EQ(out.oracle.clock.high_ms, 9);
  EXPECT_EQ(out.oracle.expiry_slack, 123ms);
  EXPECT_EQ(out.oracle.disconnect_settling, 456ms);
  EXPECT_EQ(out.timeout, 2 * endpoint::Duration(run::kReplyTimeout));
  EXPECT_EQ(out.standstill, 2 * endpoint::Duration(run::kStandstill));
}

TEST(JudgedRuns, AreThoseOfTheDeployedServiceWhereNothingIsSaid) {
  const judge::OracleBasis nothing = judged({}).oracle.basis;
  const judge::OracleBasis deployed = judged({.profile = codec::Profile::kDeployed}).oracle.basis;
  const judge::OracleBasis documented =
      judged({.profile = codec::Profile::kDocumented}).oracle.basis;
  EXPECT_EQ(nothing.waived, deployed.waived);
  EXPECT_NE(nothing.waived, documented.waived);
  EXPECT_FALSE(nothing.dialect);
  EXPECT_EQ(deployed.dialect, codec::DialectId::kDeployed);
  EXPECT_EQ(documented.dialect, codec::DialectId::kDocumented);
  EXPECT_NE(judged({.profile = codec::Profile::kDocumented, .edition = scenario::Edition::kPreview})
                .oracle.basis.waived,
            judged({.profile = codec::Profile::kDocumented, .edition = scenario::Edition::kGa})
                .oracle.basis.waived);
}

TEST(JudgedRuns, WaitForExpiriesAndCleanUpWhereAStoreIsLive) {
  const JudgedRunOptions here = judged({}, {.transport = false, .ephemeral = true});
  EXPECT_FALSE(here.short_expiry);
  EXPECT_FALSE(here.removes_keys);
  EXPECT_FALSE(here.oracle.limited);
  const JudgedRunOptions ours = judged({}, {.transport = true, .ephemeral = true});
  EXPECT_TRUE(ours.short_expiry);
  EXPECT_FALSE(ours.removes_keys);
  EXPECT_FALSE(ours.oracle.limited);
  const JudgedRunOptions live = judged({}, {.transport = true, .ephemeral = false});
  EXPECT_TRUE(live.removes_keys);
  EXPECT_TRUE(live.oracle.limited);
}

// At least 300 ms, then 30 round trips, in whole tenths of a second.
TEST(JudgedRuns, LetKeysLiveAsLongAsTheirWayTakes) {
  const endpoint::Capabilities live{.transport = true};
  EXPECT_EQ(judged({}, live, 10ms).short_expiry, 300ms);
  EXPECT_EQ(judged({}, live, 20ms).short_expiry, 600ms);
  EXPECT_EQ(judged({}, live, 20'001us).short_expiry, 700ms);
}

// --- what is ignored -----------------------------------------------------------------------------

TEST(IgnoredRejections, FitARuleOrWhatIsSaidOfIt) {
  const judge::Judgement judgement{.requirement = "FT-LOWER-1", .because = "the reply is +OK"};
  EXPECT_FALSE(is_ignored({}, judgement));
  EXPECT_TRUE(is_ignored({"SET-*", "FT-LOWER-1"}, judgement));
  EXPECT_TRUE(is_ignored({"FT-*"}, judgement));
  EXPECT_TRUE(is_ignored({"FT-LOWER-1: *+OK"}, judgement));
  EXPECT_FALSE(is_ignored({"FT-LOWER-1: *-ERR", "FT", "because"}, judgement));
}

}  // namespace
}  // namespace fencepost::search
