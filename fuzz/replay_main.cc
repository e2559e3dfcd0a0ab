// A main() for fuzz targets without a fuzzing engine: runs the target on files, one after the
// other. A child process does it, so if anything ends a run, be it a check, a sanitizer, a stack
// without end or an endless loop, the parent can name the file, and continue with the next.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

// The slowest input of a corpus needs some milliseconds; sanitized and on a busy machine, seconds.
constexpr unsigned kMaxSeconds = 60;

constexpr const char* kUsage =
    "usage: %s PATH...\n"
    "Runs this fuzz target on each of the files, and on each file below the folders, in the order "
    "of\n"
    "their names, and says on which it failed. (In a debugger: set follow-fork-mode child.)\n"
    "exit code: 0 all were accepted; 1 some were not; 2 there were none, or one cannot be read\n";

// The files that the arguments stand for, sorted; nothing when one of them is not there.
std::optional<std::vector<fs::path>> files_of(int count, char** arguments) {
  std::vector<fs::path> files;
  for (int i = 0; i < count; ++i) {
    std::error_code failed;
    if (!fs::is_directory(arguments[i], failed)) {
      files.emplace_back(arguments[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(arguments[i], failed)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    if (failed) {
      std::fprintf(stderr, "%s: %s\n", arguments[i], failed.message().c_str());
      return std::nullopt;
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The bytes of each file; nothing when one cannot be read.
std::optional<std::vector<Bytes>> read_all(const std::vector<fs::path>& files) {
  std::vector<Bytes> inputs;
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    // A folder can be opened, but not read.
    if (!file || (file.peek() == std::ifstream::traits_type::eof() && !fs::is_regular_file(path))) {
      std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
      return std::nullopt;
    }
    file.clear();
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// Where the child is, for the parent: the index of the file that it runs.
std::atomic<std::size_t>* shared_index() {
  void* page = mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  return new (page) std::atomic<std::size_t>(0);
}

// The child's work.
[[noreturn]] void run_from(std::atomic<std::size_t>& index, const std::vector<Bytes>& inputs) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a parent that is stopped takes the child with it
  for (; index < inputs.size(); ++index) {
    alarm(kMaxSeconds);
    const int answer = LLVMFuzzerTestOneInput(inputs[index].data(), inputs[index].size());
    if (answer == 0) continue;
    std::fprintf(stderr, "replay: the target returned %d; engines keep that for themselves\n",
                 answer);
    std::_Exit(1);
  }
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): no threads. Leaks are looked for here.
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return "no end after " + std::to_string(kMaxSeconds) + " s";
  }
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

// Runs all inputs, and names those that end it. The number of these.
std::size_t run_all(const std::vector<fs::path>& files, const std::vector<Bytes>& inputs,
                    std::atomic<std::size_t>& index) {
  std::size_t failed = 0;
  for (index = 0; index < inputs.size(); ++index) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) run_from(index, inputs);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("replay");
      return failed + 1;
    }
    if (status == 0 && index == inputs.size()) break;
    ++failed;
    const char* name = index < inputs.size() ? files[index].c_str() : "the end, after all inputs";
    std::fprintf(stderr, "replay: failed on %s (%s)\n", name, how_it_ended(status).c_str());
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) == "--help") {
    std::fprintf(argc < 2 ? stderr : stdout, kUsage, argv[0]);
    return argc < 2 ? 2 : 0;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto files = files_of(argc - 1, argv + 1);
  const auto inputs = files ? read_all(*files) : std::nullopt;
  if (!inputs) return 2;
  if (inputs->empty()) {
    std::fprintf(stderr, "replay: there are no files\n");
    return 2;
  }
  std::atomic<std::size_t>* index = shared_index();
  if (index == nullptr) {
    std::perror("replay");
    return 2;
  }
  const std::size_t failed = run_all(*files, *inputs, *index);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("replay: %zu inputs in %.2f s, %zu failed\n", inputs->size(), seconds.count(),
              failed);
  return failed == 0 ? 0 : 1;
}
