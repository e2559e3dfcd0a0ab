#include "suite/run/observed_profile.h"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "suite/testing/built_in_library.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using codec::DialectId;
using codec::Profile;

Profile observed(test::FakeEndpoint& endpoint,
                 const scenario::Library& library = test::built_in_library(),
                 bool stopped = false) {
  const std::atomic<bool> stop{stopped};
  return observed_profile(endpoint, library, {.settings = test::settings()}, stop);
}

TEST(ObservedProfile, IsDocumentedWhereNothingElseIsSpoken) {
  test::FakeEndpoint documented(
      {.behaviour = test::reference_store({.dialect = DialectId::kDocumented})});
  EXPECT_EQ(observed(documented), Profile::kDocumented);
  test::FakeEndpoint deployed(
      {.behaviour = test::reference_store({.dialect = DialectId::kDeployed})});
  EXPECT_EQ(observed(deployed), Profile::kAuto);
}

TEST(ObservedProfile, TakesFewRequestsAndSeesEachSpelling) {
  test::FakeEndpoint endpoint({.behaviour = test::reference_store()});
  (void)observed(endpoint);
  EXPECT_GT(endpoint.published().size(), std::size(codec::kDivergences));
  EXPECT_LT(endpoint.published().size(), 200U);
}

TEST(ObservedProfile, IsUnknownWhereNothingWasSeen) {
  test::FakeEndpoint silent({});
  EXPECT_EQ(observed(silent), Profile::kAuto);
  test::FakeEndpoint documented(
      {.behaviour = test::reference_store({.dialect = DialectId::kDocumented})});
  EXPECT_EQ(observed(documented, test::built_in_library(), true), Profile::kAuto);
  EXPECT_TRUE(documented.published().empty());
  EXPECT_EQ(observed(documented, {}), Profile::kAuto);
}

}  // namespace
}  // namespace fencepost::run
