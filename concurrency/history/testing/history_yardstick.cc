// Times the checker on given histories, for ci/bench_histories, which sets another checker beside
// it. Each answer is a line of JSON.
//
//   history_yardstick logs FILE...                    each: verdict, and the median of some runs
//   history_yardstick hot OPERATIONS CLIENTS [FILE]   one hot key; FILE: where to write the history
//   history_yardstick stream OPERATIONS CLIENTS       judged while it comes; peak memory
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <time.h>

#include <malloc.h>
#include <nlohmann/json.hpp>

#include "concurrency/history/checker.h"
#include "concurrency/history/history_file.h"
#include "concurrency/history/testing/random_history.h"

namespace fencepost::history {
namespace {

using nlohmann::ordered_json;

constexpr int kRuns = 7;

double milliseconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Counts this thread only, and not what others do on the machine meanwhile.
double processor_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Medians of some runs, and the verdict.
struct Timed {
  std::string verdict{};
  double wall_ms = 0;
  double processor_ms = 0;
  std::size_t bytes = 0;  // that the checker holds when all is added
};

// That are allocated now.
std::size_t allocated_bytes() {
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// What is short is done often at a time. Without a minimal counter-example, which other checkers do
// not look for, or with one.
Timed judge(const std::vector<Operation>& operations, bool with_counter_example) {
  constexpr std::size_t kLong = 100'000;  // operations in one measurement
  CheckLimits limits;
  if (!with_counter_example) limits.counter_example.work = 0;
  const std::size_t times =
      std::max<std::size_t>(1, kLong / std::max<std::size_t>(1, operations.size()));
  const std::size_t at_once = with_counter_example ? 1 : times;
  std::vector<double> walls;
  std::vector<double> processors;
  Timed out;
  for (int run = 0; run < kRuns; ++run) {
    const std::size_t before = allocated_bytes();
    const double processor = processor_milliseconds();
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < at_once; ++i) {
      Checker checker(limits);
      for (const Operation& operation : operations) checker.add(operation);
      if (run == 0 && i == 0) out.bytes = allocated_bytes() - std::min(before, allocated_bytes());
      const std::vector<KeyVerdict> verdicts = checker.finish();
      out.verdict = verdicts.empty() ? "ok" : name(verdicts.front().verdict.answer);
    }
    const auto count = static_cast<double>(at_once);
    walls.push_back(milliseconds_of(std::chrono::steady_clock::now() - begin) / count);
    processors.push_back((processor_milliseconds() - processor) / count);
  }
  out.wall_ms = median(walls);
  out.processor_ms = median(processors);
  return out;
}

int logs(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    std::vector<Operation> operations;
    HistoryReader reader([&](const Event& event) {
      if (const auto* operation = std::get_if<Operation>(&event)) operations.push_back(*operation);
    });
    for (std::string line; std::getline(file, line);) {
      if (const auto read = reader.line(line); !read) {
        std::cerr << path << ": " << read.error() << "\n";
        return 2;
      }
    }
    reader.finish();
    const Timed bare = judge(operations, false);
    const Timed whole = judge(operations, true);
    std::cout << ordered_json{{"name", path.substr(path.rfind('/') + 1)},
                              {"verdict", bare.verdict},
                              {"ms", bare.wall_ms},
                              {"processor_ms", bare.processor_ms},
                              {"processor_ms_with_witness", whole.processor_ms}}
                     .dump()
              << "\n";
  }
  return 0;
}

RandomOptions hot_key(std::size_t operations, std::size_t clients) {
  RandomOptions options;
  options.operations = operations;
  options.clients = clients;
  options.values = 0;
  options.percent_reads = 40;
  options.percent_deletes = 20;
  options.conditions = false;
  return options;
}

int hot(std::size_t operations, std::size_t clients, const char* path) {
  workload::Random random(1);
  const std::vector<Operation> history = random_history(hot_key(operations, clients), random);
  if (path != nullptr) {
    std::ofstream file(path, std::ios::binary);
    file << header_line();
    for (std::size_t i = 0; i < history.size(); ++i) {
      file << call_line(i, history[i]) << return_line(i, history[i]);
    }
    return file.good() ? 0 : 2;
  }
  const Timed timed = judge(history, false);
  const auto count = static_cast<double>(history.size());
  std::cout << ordered_json{{"operations", operations},
                            {"clients", clients},
                            {"verdict", timed.verdict},
                            {"ms", timed.wall_ms},
                            {"processor_ms", timed.processor_ms},
                            {"bytes_per_operation", static_cast<double>(timed.bytes) / count}}
                   .dump()
            << "\n";
  return 0;
}

// Pieces of a history, one after the other, between which all clients pause.
int stream(std::size_t operations, std::size_t clients) {
  constexpr std::size_t kPiece = 20'000;
  workload::Random random(1);
  Checker checker;
  std::size_t most_held = 0;
  Time begin{0};
  std::uint64_t versions = 0;
  double judging = 0;  // of processor time
  for (std::size_t done = 0; done < operations; done += kPiece) {
    std::vector<Operation> piece = random_history(hot_key(kPiece, clients), random);
    // Each piece begins where the one before has ended: the key is not there.
    Operation last{.action = Action::kDel, .key = "k"};
    std::optional<hlc::Timestamp> held;
    std::uint64_t greatest = 0;
    Time end{0};
    for (Operation& one : piece) {
      end = std::max(end, one.returned);
      one.called += begin;
      one.returned += begin;
      if (!one.version) continue;
      one.version->wall_ms += versions;
      greatest = std::max(greatest, one.version->wall_ms);
      if (one.outcome == Outcome::kOk && (!held || *held < *one.version)) held = one.version;
    }
    const bool deleted = std::any_of(piece.begin(), piece.end(), [&](const Operation& one) {
      return one.outcome == Outcome::kDeleted && one.version == held;
    });
    last.called = begin + end + Time(1'000'000);
    last.returned = last.called + Time(1'000'000);
    last.outcome = held && !deleted ? Outcome::kDeleted : Outcome::kMissing;
    if (last.outcome == Outcome::kDeleted) last.version = held;
    piece.push_back(last);
    begin = last.returned + Time(1'000'000);
    versions = greatest;
    const double from = processor_milliseconds();
    for (const Operation& one : piece) checker.add(one);
    most_held = std::max(most_held, checker.held());
    checker.settle(begin);
    judging += processor_milliseconds() - from;
  }
  const std::size_t added = checker.added();
  const double from = processor_milliseconds();
  const std::vector<KeyVerdict> verdicts = checker.finish();
  judging += processor_milliseconds() - from;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::cout << ordered_json{{"operations", added},
                            {"clients", clients},
                            {"verdict", name(verdicts.front().verdict.answer)},
                            {"processor_ms", judging},
                            {"most_held", most_held},
                            {"peak_rss_mb", usage.ru_maxrss / 1024}}
                   .dump()
            << "\n";
  return 0;
}

}  // namespace
}  // namespace fencepost::history

int main(int count, char** words) {
  using namespace fencepost::history;
  const std::vector<std::string> all(words + 1, words + count);
  const auto number = [&](std::size_t at) { return std::strtoull(all[at].c_str(), nullptr, 10); };
  if (all.size() >= 2 && all[0] == "logs") return logs({all.begin() + 1, all.end()});
  if (all.size() >= 3 && all[0] == "hot") {
    return hot(number(1), number(2), all.size() > 3 ? all[3].c_str() : nullptr);
  }
  if (all.size() == 3 && all[0] == "stream") return stream(number(1), number(2));
  std::cerr << "usage: history_yardstick logs FILE... | hot OPERATIONS CLIENTS [FILE] | "
               "stream OPERATIONS CLIENTS\n";
  return 2;
}
