#include "suite/scenario/binding.h"

#include <gtest/gtest.h>

#include "suite/testing/built_in_library.h"

namespace fencepost::scenario {
namespace {

using codec::DialectId;
using codec::Profile;

constexpr Basis kDeployed{DialectId::kDeployed, Edition::kGa};
constexpr Basis kArticle{DialectId::kDocumented, Edition::kGa};
constexpr Basis kPreview{DialectId::kDocumented, Edition::kPreview};

const Catalogue& catalogue() { return test::built_in_requirements().catalogue; }

bool bound(const char* id, const Basis& basis) { return binds(*catalogue().find(id), basis); }

TEST(Binding, OfTheDeployedServiceBindsWhatIsJudgedByIt) {
  EXPECT_TRUE(bound("ENV-STATUS-1", kDeployed));
  EXPECT_FALSE(bound("ENV-STATUS-1", kArticle));
  EXPECT_TRUE(bound("ENV-STATUS-1", {DialectId::kDeployed, Edition::kPreview}));
}

TEST(Binding, OfTheGaEditionDoesNotApplyToAPreview) {
  EXPECT_TRUE(bound("NTF-VERSION-1", kArticle));
  EXPECT_FALSE(bound("NTF-VERSION-1", kPreview));
  EXPECT_FALSE(bound("NTF-VERSION-1", {DialectId::kDeployed, Edition::kPreview}));
}

TEST(Binding, OfTheArticleBindsEveryStore) {
  for (const Basis& basis : {kDeployed, kArticle, kPreview}) {
    EXPECT_TRUE(bound("GET-MISS-1", basis));
  }
}

TEST(Binding, IsSettledInADeployedProfile) {
  EXPECT_EQ(bases_of(Profile::kDeployed, Edition::kAuto), std::vector{kDeployed});
  EXPECT_TRUE(unsettled(catalogue(), {kDeployed}).empty());
}

TEST(Binding, IsOpenInAnAutomaticProfileAndTheStrictestStandsFirst) {
  const std::vector<Basis> bases = bases_of(Profile::kAuto, Edition::kAuto);
  EXPECT_EQ(bases, (std::vector{kDeployed, kArticle, kPreview}));
  const auto open = unsettled(catalogue(), bases);
  EXPECT_TRUE(open.contains("ENV-STATUS-1"));
  EXPECT_TRUE(open.contains("NTF-VERSION-3"));
  EXPECT_FALSE(open.contains("VER-SET-1"));
}

TEST(Binding, TakesAStoreForDocumentedWhenItShowsNothingElse) {
  EXPECT_EQ(basis_of(Profile::kAuto, Edition::kAuto, {.documented_only = true}), kArticle);
  EXPECT_EQ(basis_of(Profile::kAuto, Edition::kAuto, {}), kDeployed);
  EXPECT_EQ(basis_of(Profile::kDeployed, Edition::kAuto, {.documented_only = true}), kDeployed);
}

TEST(Binding, TakesAStoreForAPreviewWhenNoNotificationHasAVersion) {
  const Observed without{.documented_only = true, .notified = true};
  EXPECT_EQ(basis_of(Profile::kAuto, Edition::kAuto, without), kPreview);
  EXPECT_EQ(basis_of(Profile::kDocumented, Edition::kAuto, without), kPreview);
  EXPECT_EQ(basis_of(Profile::kDocumented, Edition::kGa, without), kArticle);
  EXPECT_EQ(basis_of(Profile::kDocumented, Edition::kAuto, {.notified = false}), kArticle);
  EXPECT_EQ(basis_of(Profile::kDocumented, Edition::kAuto,
                     {.notified = true, .notified_with_version = true}),
            kArticle);
}

// The deployed service sends versions: a store of its dialect that does not is wrong.
TEST(Binding, TakesNoStoreOfTheDeployedDialectForAPreview) {
  const Observed without{.notified = true};
  EXPECT_EQ(basis_of(Profile::kAuto, Edition::kAuto, without), kDeployed);
  EXPECT_EQ(basis_of(Profile::kAuto, Edition::kPreview, without),
            (Basis{DialectId::kDeployed, Edition::kPreview}));
}

TEST(Binding, SaysWhatIsDemanded) {
  const auto demanded = [](const char* id, Profile profile, Edition edition) {
    return demand(*catalogue().find(id), bases_of(profile, edition));
  };
  EXPECT_EQ(demanded("ENV-STATUS-1", Profile::kDeployed, Edition::kAuto), "binds");
  EXPECT_EQ(demanded("ENV-STATUS-1", Profile::kDocumented, Edition::kAuto), "warns");
  EXPECT_EQ(demanded("ENV-STATUS-1", Profile::kAuto, Edition::kAuto), "depends");
  EXPECT_EQ(demanded("NTF-VERSION-1", Profile::kDeployed, Edition::kPreview), "warns");
  EXPECT_EQ(demanded("VER-NODE-2", Profile::kDeployed, Edition::kGa), "warns");  // a should
  EXPECT_EQ(demanded("SET-PX-OPEN-1", Profile::kDeployed, Edition::kGa), "open");
}

TEST(Binding, AsksMoreOfTheDeployedServiceThanOfTheArticleAndMoreOfThatThanOfThePreview) {
  EXPECT_GT(binding_rules(catalogue(), kDeployed), binding_rules(catalogue(), kArticle));
  EXPECT_GT(binding_rules(catalogue(), kArticle), binding_rules(catalogue(), kPreview));
}

}  // namespace
}  // namespace fencepost::scenario
