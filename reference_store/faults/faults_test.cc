#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

TEST(Faults, HaveIdsNamesAndRequirementsOfTheirOwn) {
  std::set<std::string_view> seen;
  for (const Fault& fault : faults()) {
    EXPECT_TRUE(seen.insert(fault.id).second) << fault.id << " stands twice";
    EXPECT_TRUE(seen.insert(fault.name).second) << fault.name << " stands twice";
    EXPECT_FALSE(fault.text.empty()) << fault.id;
    EXPECT_TRUE(fault.make) << fault.id;
    EXPECT_EQ(fault.requirements.empty(), fault.kind != FaultKind::kFault) << fault.id;
  }
}

TEST(Faults, AreFoundByIdByNameAndByBoth) {
  const Fault* fault = find_fault("S01");
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(find_fault("nx-overwrites"), fault);
  EXPECT_EQ(find_fault("S01-nx-overwrites"), fault);
  EXPECT_EQ(find_fault("S01-"), nullptr);
  EXPECT_EQ(find_fault("S02-nx-overwrites"), nullptr);
  EXPECT_EQ(find_fault(""), nullptr);
}

}  // namespace
}  // namespace fencepost::store
