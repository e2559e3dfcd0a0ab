#include "base/threads.h"

#include <atomic>
#include <barrier>

#include <gtest/gtest.h>

namespace fencepost {
namespace {

TEST(Threads, AsManyAsAskedForRunAtOnce) {
  std::atomic<int> calls{0};
  std::barrier all(5);
  run_in_threads(5, [&] {
    all.arrive_and_wait();
    ++calls;
  });
  EXPECT_EQ(calls, 5);
  run_in_threads(0, [&] { ++calls; });
  EXPECT_EQ(calls, 5);
}

TEST(Threads, TheCallersIsOneOfThem) {
  const std::thread::id here = std::this_thread::get_id();
  run_in_threads(1, [&] { EXPECT_EQ(std::this_thread::get_id(), here); });
}

TEST(Threads, SideBySideIsAtOnce) {
  std::barrier both(2);
  bool first = false;
  bool second = false;
  run_side_by_side([&] { both.arrive_and_wait(), first = true; },
                   [&] { both.arrive_and_wait(), second = true; });
  EXPECT_TRUE(first && second);
}

}  // namespace
}  // namespace fencepost
