#include "base/poll_until.h"

#include <array>
#include <csignal>
#include <thread>

#include <sys/eventfd.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <pthread.h>

namespace fencepost {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class PollUntil : public testing::Test {
 public:
  ~PollUntil() override { close(event_); }

 protected:
  const int event_ = eventfd(0, EFD_CLOEXEC);
  std::array<pollfd, 2> entries_{{{-1, POLLIN, 0}, {event_, POLLIN, 0}}};
};

TEST_F(PollUntil, EndsAtTheDeadline) {
  const auto deadline = Clock::now() + milliseconds{20};
  EXPECT_EQ(poll_until(entries_, deadline), 0);
  EXPECT_GE(Clock::now(), deadline);
  EXPECT_EQ(poll_until(entries_, Clock::now() - milliseconds{20}), 0);  // looks, and does not wait
}

TEST_F(PollUntil, EndsWhenOneIsReady) {
  eventfd_write(event_, 1);
  EXPECT_EQ(poll_until(entries_, Clock::time_point::max()), 1);
  EXPECT_EQ(entries_[0].revents, 0);
  EXPECT_EQ(entries_[1].revents, POLLIN);
}

int signalled = -1;  // an eventfd

TEST_F(PollUntil, GoesOnAfterASignal) {
  signalled = eventfd(0, EFD_CLOEXEC);
  struct sigaction tell {};
  tell.sa_handler = [](int) { eventfd_write(signalled, 1); };
  sigaction(SIGUSR1, &tell, nullptr);
  std::thread waiting([&] { EXPECT_EQ(poll_until(entries_, Clock::time_point::max()), 1); });
  for (int i = 0; i < 10; ++i) {
    pthread_kill(waiting.native_handle(), SIGUSR1);
    eventfd_t times = 0;
    eventfd_read(signalled, &times);
  }
  eventfd_write(event_, 1);
  waiting.join();
  close(signalled);
}

}  // namespace
}  // namespace fencepost
