#include "selftest/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/gate.h"
#include "endpoint/in_process.h"
#include "suite/testing/built_in_library.h"

namespace fencepost::selftest {
namespace {

using testing::HasSubstr;

Result<std::unique_ptr<endpoint::Endpoint>, std::string> open_pair(
    const std::vector<const store::Fault*>& faults, codec::DialectId dialect, std::uint64_t seed) {
  return endpoint::make_in_process_endpoint(
      {.service = {.dialect = dialect},
       .make_store = [faults, seed](const store::ServiceOptions& options) {
         return store::make_store(faults, options, seed);
       }});
}

PairsResult run_some(const std::vector<scenario::Case>& cases, const scenario::Catalogue& catalogue,
                     std::size_t pairs, std::uint64_t seed) {
  const std::atomic<bool> stop{false};
  return run_pairs(cases, catalogue, open_pair, {.pairs = pairs, .seed = seed}, stop,
                   [](std::size_t, std::size_t) {});
}

TEST(Pairs, AreTheSameForTheSameSeedAndBreakNoRuleInCommon) {
  const auto ids = [](const PairsResult& result) {
    std::vector<std::string> out;
    for (const PairResult& each : result.pairs) {
      out.push_back(store::ids_of({each.faults[0], each.faults[1]}));
      for (const std::string_view rule : each.faults[0]->requirements) {
        EXPECT_THAT(each.faults[1]->requirements, testing::Not(testing::Contains(rule)))
            << out.back();
      }
    }
    return out;
  };
  const auto first = ids(run_some({}, {}, 20, 7));
  EXPECT_EQ(first.size(), 20U);
  EXPECT_EQ(ids(run_some({}, {}, 20, 7)), first);
  EXPECT_NE(ids(run_some({}, {}, 20, 8)), first);
}

TEST(Pairs, AreNamedByTheCasesThatTheProgramHas) {
  const scenario::Library& library = test::built_in_library();
  const std::size_t pairs = all_or_in_gate<std::size_t>(2, 1);
  const PairsResult result = run_some(library.cases, library.catalogue, pairs, 1);
  ASSERT_EQ(result.pairs.size(), pairs);
  for (const PairResult& each : result.pairs) {
    EXPECT_TRUE(each.error.empty()) << each.error;
    EXPECT_FALSE(each.rules.empty()) << store::ids_of({each.faults[0], each.faults[1]});
  }
}

// Without a case nothing of either fault is seen.
TEST(Pairs, SayWhichFaultCannotBeSeen) {
  const PairsResult result = run_some({}, {}, 1, 1);
  ASSERT_EQ(result.pairs.size(), 1U);
  EXPECT_EQ(result.named(), 0U);
  EXPECT_EQ(result.hidden(), 1U);
  EXPECT_THAT(pairs_text(result), HasSubstr("cannot be seen"));
}

}  // namespace
}  // namespace fencepost::selftest
