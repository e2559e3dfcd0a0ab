// Traces between their two forms, and between the two stores:
//
//   trace_tool encode FILE.trace OUT     the bytes of a trace written as text
//   trace_tool decode FILE               the text of an input of store_trace_fuzzer
//   trace_tool check FILE                its text, and what store and model say differently
//   trace_tool random SEED COUNT OUT     the bytes of a random trace of COUNT operations
//   trace_tool seeds FOLDER OUT          all FOLDER/*.trace as inputs of store_trace_fuzzer in OUT
//   trace_tool service-seeds FOLDER OUT  the same as inputs of service_fuzzer
//   trace_tool right-seeds FOLDER OUT    the same as inputs of conforming_store_fuzzer
//
// Ends 0; 1 when `check` found a difference; 2 when it could not do that.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/service_driver.h"
#include "fuzz/store_driver.h"
#include "workload/random.h"
#include "workload/trace_bytes.h"
#include "workload/trace_mutator.h"
#include "workload/trace_text.h"

namespace {

namespace fs = std::filesystem;
using namespace fencepost;

constexpr int kDifferent = 1;
constexpr int kFailed = 2;

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file) return bytes;
  std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
  return std::nullopt;
}

int write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  if (file) return 0;
  std::fprintf(stderr, "%s: cannot be written\n", path.c_str());
  return kFailed;
}

using Encoding = std::string (*)(const workload::Trace& trace);

int encode(const fs::path& from, const fs::path& to, Encoding encoding) {
  const std::optional<std::string> text = read_file(from);
  if (!text) return kFailed;
  const Result<workload::Trace, std::string> trace = workload::parse_trace(*text);
  if (trace) return write_file(to, encoding(*trace));
  std::fprintf(stderr, "%s: %s\n", from.c_str(), trace.error().c_str());
  return kFailed;
}

int show(const fs::path& path, bool check) {
  const std::optional<std::string> bytes = read_file(path);
  if (!bytes) return kFailed;
  const workload::Trace trace = workload::decode_trace(*bytes);
  std::fputs(to_text(trace).c_str(), stdout);
  if (!check) return 0;
  const std::optional<std::string> difference = fuzz::StoreDriver().run(trace);
  if (!difference) return 0;
  std::printf("%s\n", difference->c_str());
  return kDifferent;
}

int random_trace(const char* seed, const char* count, const fs::path& to) {
  workload::Random random(std::strtoull(seed, nullptr, 10));
  workload::Trace trace(std::strtoull(count, nullptr, 10) % (workload::kMaxOperations + 1));
  for (workload::Operation& operation : trace) operation = workload::random_operation(random);
  return write_file(to, encode_trace(trace));
}

// Behind eight bytes that choose a conforming store: another one for traces of another length.
std::string conforming_store_input(const workload::Trace& trace) {
  const std::string bytes = workload::encode_trace(trace);
  workload::Random random(bytes.size());
  std::string header(8, 0);
  for (char& each : header) each = static_cast<char>(random.below(256));
  return header + bytes;
}

int seeds(const fs::path& from, const fs::path& to, Encoding encoding) {
  fs::create_directories(to);
  int result = 0;
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.path().extension() != ".trace") continue;
    const int one = encode(entry.path(), to / entry.path().stem(), encoding);
    if (one != 0) result = one;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (verb == "encode" && argc == 4) {
    return encode(arguments[1], arguments[2], workload::encode_trace);
  }
  if (verb == "decode" && argc == 3) return show(arguments[1], false);
  if (verb == "check" && argc == 3) return show(arguments[1], true);
  if (verb == "random" && argc == 5) return random_trace(argv[2], argv[3], arguments[3]);
  if (verb == "seeds" && argc == 4) {
    return seeds(arguments[1], arguments[2], workload::encode_trace);
  }
  if (verb == "service-seeds" && argc == 4) {
    return seeds(arguments[1], arguments[2], fuzz::service_input);
  }
  if (verb == "right-seeds" && argc == 4) {
    return seeds(arguments[1], arguments[2], conforming_store_input);
  }
  std::fprintf(
      stderr,
      "trace_tool encode FILE.trace OUT | decode FILE | check FILE | random SEED COUNT OUT "
      "| seeds FOLDER OUT | service-seeds FOLDER OUT | right-seeds FOLDER OUT\n");
  return kFailed;
}
