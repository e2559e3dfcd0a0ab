// A command of the user's that the suite runs, e.g. to restart the broker.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace fencepost::target {

struct Hook {
  std::string command{};              // for /bin/sh -c
  std::filesystem::path directory{};  // where it runs; empty: here
  std::chrono::milliseconds timeout = std::chrono::seconds{60};
  std::vector<std::string> environment{};  // variables beside those of any program
};

// Runs the command and waits until it ends; what it leaves running in the background stays. The
// error says how it ended when that was not with exit code 0, or that it was killed because its
// time was over, and what it has written; the command, which may hold passwords, is not in it.
[[nodiscard]] Result<void, std::string> run_hook(const Hook& hook);

}  // namespace fencepost::target
