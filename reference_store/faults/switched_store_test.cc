#include "reference_store/faults/switched_store.h"

#include <string>

#include <gtest/gtest.h>

#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;

struct World {
  SwitchedStore store{{}, 1};
  std::vector<Delivery> sent{};

  // The payload of the response, or "nothing".
  std::string ask(const std::vector<std::string>& arguments, std::chrono::microseconds at = 0s) {
    codec::Message request;
    request.topic = codec::kRequestTopic;
    request.response_topic = "clients/a/r";
    request.correlation_data = "c";
    request.user_properties.emplace_back(codec::kTimestampProperty, "1000:00000:a");
    set_arguments(request, arguments);
    sent.clear();
    store.handle({.client_id = "a"}, request, {.wall_ms = 1000, .steady = at}, sent);
    return sent.empty() || !sent.back().client_id.empty() ? "nothing" : sent.back().message.payload;
  }
};

TEST(SwitchedStore, KeepsKeysAndObserversWhenItBecomesWrongAndRightAgain) {
  World world;
  EXPECT_EQ(world.ask({"SET", "k", "one"}), "+OK\r\n");
  EXPECT_EQ(world.ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  world.store.become(*find_faults("nx-overwrites"));
  EXPECT_EQ(world.ask({"SET", "k", "two", "NX"}), "+OK\r\n");
  EXPECT_EQ(world.sent.size(), 2U) << "a notification and the response";
  world.store.become({});
  EXPECT_EQ(world.ask({"GET", "k"}), "$3\r\ntwo\r\n");
  EXPECT_EQ(world.ask({"SET", "k", "three", "NX"}), ":-1\r\n");
}

TEST(SwitchedStore, KeepsTheTimeOfAKey) {
  World world;
  EXPECT_EQ(world.ask({"SET", "k", "one", "PX", "5000"}), "+OK\r\n");
  world.store.become(*find_faults("nx-overwrites"));
  EXPECT_EQ(world.store.next_expiry(), 5s);
  std::vector<Delivery> out;
  world.store.expire({.wall_ms = 6000, .steady = 5s}, out);
  EXPECT_EQ(world.ask({"GET", "k"}, 5s), "$-1\r\n");
}

TEST(SwitchedStore, PutsItsKeysAsideForAStoreThatHasNoPlaceForThem) {
  World world;
  EXPECT_EQ(world.ask({"SET", "k", "one"}), "+OK\r\n");
  const Fault* own = nullptr;
  for (const Fault& fault : faults()) {
    if (fault.make({}, 1)->service_within() == nullptr) own = &fault;
  }
  ASSERT_NE(own, nullptr);
  world.store.become({own});
  EXPECT_NE(world.ask({"GET", "k"}), "$3\r\none\r\n") << own->id;
  world.store.become({});
  EXPECT_EQ(world.ask({"GET", "k"}), "$3\r\none\r\n");
}

}  // namespace
}  // namespace fencepost::store
