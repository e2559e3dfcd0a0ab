#include "suite/run/observed_profile.h"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using codec::DialectId;
using codec::Profile;

// The cases that are built into the program, and the rules.
const scenario::Library& built_in() {
  static const scenario::Library library = [] {
    std::vector<scenario::LoadError> errors;
    return scenario::load_library(scenario::built_in_files(), errors);
  }();
  return library;
}

Profile observed(test::FakeEndpoint& endpoint, const scenario::Library& library = built_in(),
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
  EXPECT_EQ(observed(documented, built_in(), true), Profile::kAuto);
  EXPECT_TRUE(documented.published().empty());
  EXPECT_EQ(observed(documented, {}), Profile::kAuto);
}

}  // namespace
}  // namespace fencepost::run
