#include "conformance/run/work_places.h"

#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace fencepost::run {
namespace {

using namespace std::chrono_literals;

constexpr auto kAtMost = 20s;  // of a test that fails; one that passes does not wait

TEST(WorkPlaces, AreHeldByAsManyAsThereAre) {
  WorkPlaces places(1);
  std::promise<void> second_in;
  std::future<void> second = second_in.get_future();
  std::thread thread;
  {
    const WorkPlace first(places, Admission::kInTurn);
    thread = std::thread([&] {
      const WorkPlace place(places, Admission::kInTurn);
      second_in.set_value();
    });
    EXPECT_EQ(second.wait_for(10ms), std::future_status::timeout);
  }
  EXPECT_EQ(second.wait_for(kAtMost), std::future_status::ready);
  thread.join();
}

TEST(WorkPlaces, WhoWaitsGivesHisToAnotherAndGoesOnAtOnceAfterwards) {
  WorkPlaces places(1);
  const WorkPlace first(places, Admission::kInTurn);
  std::promise<void> second_in;
  std::promise<void> first_went_on;
  std::thread thread([&] {
    const WorkPlace place(places, Admission::kInTurn);
    second_in.set_value();
    EXPECT_EQ(first_went_on.get_future().wait_for(kAtMost), std::future_status::ready);
  });
  {
    const WorkPause pause(&places);
    EXPECT_EQ(second_in.get_future().wait_for(kAtMost), std::future_status::ready);
  }
  first_went_on.set_value();  // the second still has the only place
  thread.join();
}

TEST(WorkPlaces, WhoComesAtOnceIsCounted) {
  WorkPlaces places(1);
  std::promise<void> third_in;
  std::future<void> third = third_in.get_future();
  std::thread thread;
  {
    const WorkPlace first(places, Admission::kAtOnce);
    const WorkPlace second(places, Admission::kAtOnce);
    thread = std::thread([&] {
      const WorkPlace place(places, Admission::kInTurn);
      third_in.set_value();
    });
    EXPECT_EQ(third.wait_for(10ms), std::future_status::timeout);
  }
  EXPECT_EQ(third.wait_for(kAtMost), std::future_status::ready);
  thread.join();
}

TEST(WorkPlaces, APauseWithoutPlacesDoesNothing) { const WorkPause pause(nullptr); }

}  // namespace
}  // namespace fencepost::run
