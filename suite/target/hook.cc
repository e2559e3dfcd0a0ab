#include "suite/target/hook.h"

#include <cstring>

#include <fmt/format.h>

#include "base/child_process.h"
#include "endpoint/memory_file.h"

namespace fencepost::target {

Result<void, std::string> run_hook(const Hook& hook) {
  constexpr std::size_t kShownOutput = 2'000;  // bytes, from the end
  // Not a pipe: a program that it leaves in the background would keep that open.
  const endpoint::MemoryFile output("fencepost-hook", "");
  // A broker that it starts would keep connections of the client library open.
  auto child = ChildProcess::start({.words = {"/bin/sh", "-c", hook.command},
                                    .variables = environment_of_child(hook.environment),
                                    .directory = hook.directory,
                                    .output = output.descriptor(),
                                    .errors = output.descriptor(),
                                    .alone = true});
  if (!child) {
    return fail(fmt::format(
        "cannot start the hook{}: {}",
        hook.directory.empty() ? "" : " in " + hook.directory.string(),
        std::strerror(child.error())));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  }
  const auto ending = child->wait(hook.timeout);
  if (ending && ending->code == 0) return {};
  if (!ending) child->kill_all();
  const std::string how =
      ending ? "ended with " + ending->text()
             : fmt::format("did not end within {} ms and was killed", hook.timeout.count());
  const std::string tail = output.tail(kShownOutput);
  return fail("the hook " + how + (tail.empty() ? "; it wrote nothing" : "; it wrote:\n" + tail));
}

}  // namespace fencepost::target
