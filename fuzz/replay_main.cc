// A main() for fuzz targets without a fuzzing engine: runs the target on each of the files given,
// and on each file below the folders given. Ends 0 when the target accepted all of them, 1 when one
// was answered with something else than 0, which engines keep for themselves, 2 when one could not
// be read or there was none.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

enum Exit { kAccepted = 0, kRefused = 1, kUnreadable = 2 };

Exit run_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return kUnreadable;
  }
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const int answer = LLVMFuzzerTestOneInput(data, bytes.size());
  if (answer == 0) return kAccepted;
  std::fprintf(stderr, "%s: the target returned %d\n", path.c_str(), answer);
  return kRefused;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  int worst = kAccepted;
  const auto run = [&](const fs::path& path) {
    worst = std::max<int>(worst, run_file(path));
    ++count;
  };
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      run(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) run(entry.path());
    }
  }
  std::printf("%zu inputs\n", count);
  return count > 0 ? worst : kUnreadable;
}
