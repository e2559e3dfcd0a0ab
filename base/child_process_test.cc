#include "base/child_process.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fencepost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong{60};

ChildSetup shell(const std::string& command) { return {.words = {"sh", "-c", command}}; }

// What it writes until it and all that it leaves behind have closed their output.
std::string output_of(ChildSetup setup) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);  // not close-on-exec
  setup.output = ends[1];
  setup.alone = true;
  auto child = ChildProcess::start(std::move(setup));
  EXPECT_TRUE(child);
  close(ends[1]);
  std::string out(1'000, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(got)) {
    got = read(ends[0], out.data() + size, out.size() - size);
  }
  close(ends[0]);
  EXPECT_EQ(child->wait(kLong)->text(), "exit code 0");
  return out.substr(0, size);
}

TEST(ChildProcess, SaysHowAProgramHasEnded) {
  auto code = ChildProcess::start(shell("exit 3"));
  ASSERT_TRUE(code);
  const auto ending = code->wait(kLong);
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->text(), "exit code 3");
  EXPECT_EQ(ending->as_shells_say(), 3);
  EXPECT_EQ(code->kill_all().code, 3);  // nobody is killed any more
  auto signal = ChildProcess::start(shell("kill -PIPE $$"));
  ASSERT_TRUE(signal);
  EXPECT_EQ(signal->wait(kLong)->text(), "signal 13");
  EXPECT_EQ(signal->ending()->as_shells_say(), 141);
}

TEST(ChildProcess, SaysWhyAProgramCannotBeStarted) {
  const auto error_of = [](ChildSetup setup) {
    const auto child = ChildProcess::start(std::move(setup));
    return child ? 0 : child.error();
  };
  EXPECT_EQ(error_of({.words = {"fencepost-has-no-such-program"}}), ENOENT);
  EXPECT_EQ(error_of({.words = {"/none/such"}}), ENOENT);
  EXPECT_EQ(error_of({.words = {"/etc/passwd"}}), EACCES);
  EXPECT_EQ(error_of({.words = {"true"}, .directory = "/none/such"}), ENOENT);
  EXPECT_EQ(error_of({.words = {"true"}, .input = 9'999}), EBADF);
  EXPECT_EQ(error_of({.words = {"any name"}, .program = "true"}), 0);
}

TEST(ChildProcess, HasTheWordsVariablesStreamsAndFolderThatItIsGiven) {
  ChildSetup setup = shell("echo \"$MINE $(pwd) $0\"; cat");
  setup.words.emplace_back("zero");
  setup.variables.emplace_back("MINE=yes");
  setup.directory = "/";
  EXPECT_EQ(output_of(setup), "yes / zero\n");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string word = " cat <&" + std::to_string(ends[0]);
  ASSERT_EQ(write(ends[1], "passed", 6), 6);
  close(ends[1]);
  EXPECT_EQ(output_of(shell(word + " 2>/dev/null || echo closed")), "closed\n");
  setup = shell(word);
  setup.more = {ends[0]};
  EXPECT_EQ(output_of(setup), "passed");
  close(ends[0]);
}

TEST(ChildProcess, EndsWithAllThatItHasStarted) {
  auto child = ChildProcess::start(shell("sleep 1000 & sleep 1000"));
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->wait(milliseconds{1}));
  EXPECT_FALSE(child->has_ended());
  EXPECT_EQ(getpgid(child->pid()), child->pid());
  EXPECT_EQ(child->kill_all().signal, SIGKILL);
  auto gentle = ChildProcess::start(shell("sleep 1000"));
  ASSERT_TRUE(gentle);
  EXPECT_EQ(gentle->end(kLong).signal, SIGTERM);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  ChildSetup setup = shell("trap '' TERM; echo; while :; do :; done");
  setup.output = ends[1];
  auto stubborn = ChildProcess::start(setup);
  ASSERT_TRUE(stubborn);
  char line = 0;
  ASSERT_EQ(read(ends[0], &line, 1), 1);  // it has its trap
  EXPECT_EQ(stubborn->end(milliseconds{1}).signal, SIGKILL);
  for (const int each : ends) close(each);
}

TEST(ChildProcess, IsOfOurGroupWhereItIsToBe) {
  auto child = ChildProcess::start({.words = {"sleep", "1000"}, .own_group = false});
  ASSERT_TRUE(child);
  EXPECT_EQ(getpgid(child->pid()), getpgrp());
  EXPECT_EQ(child->kill_all().signal, SIGKILL);
}

}  // namespace
}  // namespace fencepost
