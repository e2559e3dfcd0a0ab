#include "selftest/conforming_stores.h"

#include <atomic>
#include <memory>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/gate.h"
#include "endpoint/in_process.h"
#include "reference_store/variants/variant_store.h"
#include "suite/testing/built_in_library.h"

namespace fencepost::selftest {
namespace {

OpenRight opener() {
  return [](const store::Decisions& decisions,
            codec::DialectId dialect) -> Result<std::unique_ptr<endpoint::Endpoint>, std::string> {
    return endpoint::make_in_process_endpoint({.service = {.dialect = dialect},
                                               .make_store = store::make_variant(decisions),
                                               .quota = 20});
  };
}

TEST(ConformingStores, EachAxisCitesWhatLeavesItOpen) {
  for (const store::Axis& choice : store::kChoices) {
    const scenario::Requirement* requirement =
        test::built_in_library().catalogue.find(choice.requirement);
    ASSERT_NE(requirement, nullptr) << choice.name << " " << choice.requirement;
    // What is right by the article alone is decided by the service, or spelt by it in its own way.
    const bool open = choice.article_only
                          ? requirement->source == "deployed" || !requirement->dialects.empty()
                          : requirement->open || choice.requirement == "ENV-CONTENT-TYPE-1";
    EXPECT_TRUE(open) << choice.name << " " << choice.requirement;
  }
}

TEST(ConformingStores, NoCaseFailsOne) {
  const std::atomic<bool> stop{false};
  std::vector<scenario::Case> cases = test::built_in_library().cases;
  std::size_t number = 0;
  const auto every = all_or_in_gate<std::size_t>(1, 8);  // the gate runs selftest, too
  std::erase_if(cases, [&](const scenario::Case&) { return number++ % every != 0; });
  const ConformingStoresResult result =
      run_conforming_stores(cases, test::built_in_library().catalogue, opener(),
                            {.stores = all_or_in_gate<std::size_t>(4, 1), .seed = 1000, .jobs = 2},
                            stop, [](std::size_t, std::size_t) {});
  EXPECT_TRUE(result.proved()) << conforming_stores_text(result);
}

TEST(ConformingStores, NamesTheDecisionsThatFailACase) {
  std::vector<scenario::Case> cases;
  for (const scenario::Case& test_case : test::built_in_library().cases) {
    if (test_case.id == "expiry.number.zero") cases.push_back(test_case);
  }
  ASSERT_EQ(cases.size(), 1U);
  // A case that takes observed behaviour of the reference store for a rule.
  std::get<scenario::RequestStep>(cases[0].steps[1].what).expect.outcomes = {
      {scenario::PlainReply{codec::ReplyKind::kOk}}};
  const std::atomic<bool> stop{false};
  const ConformingStoresResult result =
      run_conforming_stores(cases, test::built_in_library().catalogue, opener(),
                            {.stores = 30, .profiles = {codec::Profile::kDeployed}}, stop,
                            [](std::size_t, std::size_t) {});
  EXPECT_FALSE(result.proved());
  ASSERT_EQ(result.profiles.size(), 1U);
  ASSERT_EQ(result.profiles[0].alarms.size(), 1U);
  EXPECT_EQ(store::to_text(result.profiles[0].alarms[0].decisions), "px-zero:refused");
  EXPECT_NE(conforming_stores_text(result).find("expiry.number.zero"), std::string::npos);
}

}  // namespace
}  // namespace fencepost::selftest
