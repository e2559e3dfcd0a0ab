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
  EXPECT_EQ(find_fault("set-is-not-told"), find_fault("set-is-not-notified"));
  EXPECT_EQ(find_fault("N01-set-is-not-told"), find_fault("N01"));
}

TEST(Faults, AreOneStoreWithBothWhereTheyCombine) {
  const auto both = find_faults("S01+keynotify-needs-the-key");
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(ids_of(*both), "S01+N17");
  EXPECT_EQ(cannot_meet(*both), std::nullopt);
  const auto store = make_store(*both, {}, 1);
  const auto ask = [&](const std::vector<std::string>& arguments) {
    codec::Message request;
    request.topic = codec::kRequestTopic;
    request.response_topic = "clients/a/r";
    request.correlation_data = "c";
    request.qos = 1;
    request.user_properties.emplace_back(codec::kTimestampProperty, "1000:00000:a");
    set_arguments(request, arguments);
    std::vector<Delivery> out;
    store->handle({.client_id = "a"}, request, {.wall_ms = 1000}, out);
    return out.empty() ? std::string("nothing") : out.back().message.payload;
  };
  EXPECT_EQ(ask({"SET", "k", "one"}), "+OK\r\n");
  EXPECT_EQ(ask({"SET", "k", "two", "NX"}), "+OK\r\n");
  EXPECT_EQ(ask({"GET", "k"}), "$3\r\ntwo\r\n");
  EXPECT_EQ(make_store({both->front()}, {}, 1)->next_expiry(), std::nullopt);
}

TEST(Faults, CannotCombineWhereOneIsAStoreOfItsOwnOrBothChangeOneRule) {
  EXPECT_EQ(find_faults("S01+S00").error(), "S00");
  EXPECT_EQ(find_faults("").error(), "");
  EXPECT_NE(cannot_meet({find_fault("S01"), find_fault("R01")}), std::nullopt);
  EXPECT_NE(cannot_meet({find_fault("X06"), find_fault("X06")}), std::nullopt);
  EXPECT_EQ(cannot_meet({find_fault("R01")}), std::nullopt);
}

}  // namespace
}  // namespace fencepost::store
