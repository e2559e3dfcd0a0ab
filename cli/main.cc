// Prepares the process for the command line of program.h: streams, memory, exceptions.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include <fcntl.h>
#ifdef FENCEPOST_STATIC_PROGRAM
#include <nss.h>
#endif
#include <unistd.h>

#include <malloc.h>

#include "base/files.h"
#include "cli/command_support.h"
#include "cli/program.h"

namespace {

// A standard stream that is closed stays one that cannot be used: else the next file or connection
// gets its number, and what is meant for the one ends in the other.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

[[noreturn]] void end_without_memory() {
  constexpr std::string_view kWords =
      "fencepost: there is not enough memory; see `ulimit -v` and the limits of the container\n";
  (void)!::write(STDERR_FILENO, kWords.data(), kWords.size());  // what formats would allocate
  std::_Exit(static_cast<int>(fencepost::run::ExitCode::kInternal));
}

}  // namespace

// Of tcmalloc, where the program has it (docs/decisions/0028-allocator.md).
// NOLINTNEXTLINE(readability-identifier-naming): the name is that of the library.
extern "C" [[gnu::weak]] int MallocExtension_SetNumericProperty(const char* property,
                                                                std::size_t value);

int main(int argc, char** argv) {
  occupy_standard_streams();
  fencepost::raise_open_files();
#ifdef FENCEPOST_STATIC_PROGRAM
  // What else the machine asks for names are modules for its own C library, which this program has
  // not.
  __nss_configure_lookup("hosts", "files dns");
#endif
  // Also in a thread, where an exception would end the program without a word.
  std::set_new_handler(end_without_memory);
  // Large blocks go back to the system when they are freed, however many there were before.
  constexpr int kLargeBlock = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);  // NOLINT(concurrency-mt-unsafe): no thread runs yet
  // Shared by all threads. With the usual 32 MiB, hundreds of them keep handing blocks back.
  constexpr std::size_t kThreadCaches = std::size_t{256} << 20U;
  if (MallocExtension_SetNumericProperty != nullptr) {
    MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", kThreadCaches);
  }
  try {
    return fencepost::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    const bool output = std::ferror(stdout) != 0;  // fmt throws
    fencepost::cli::print_error("fencepost: {}: {}\n",
                                output ? "cannot write to standard output" : "internal error",
                                error.what());
    return static_cast<int>(fencepost::run::ExitCode::kInternal);
  }
}
