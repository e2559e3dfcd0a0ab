#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "conformance/commands.h"
#include "conformance/library.h"
#include "conformance/selftest.h"
#include "conformance/target.h"
#include "endpoint/in_process.h"

namespace fencepost::conformance {
namespace {

std::atomic<bool> stop_requested{false};

void request_stop(int signal) {
  if (stop_requested.exchange(true)) _exit(128 + signal);  // the second time, at once
}

Result<Subject, std::string> open_in_process(const store::Fault* fault, codec::DialectId dialect,
                                             std::uint64_t seed) {
  auto authorization = store::parse_authorization(reference_authorization());
  FENCEPOST_CHECK(authorization.has_value());
  endpoint::MakeStore make;
  if (fault != nullptr) {
    make = [fault, seed](const store::ServiceOptions& options) {
      return fault->make(options, seed);
    };
  }
  Subject subject;
  subject.endpoint = endpoint::make_in_process_endpoint(
      {.service = {.dialect = dialect, .store = {.authorization = std::move(*authorization)}},
       .make_store = std::move(make),
       .quota = kReferenceQuota,
       .roles = {"restricted"}});
  return subject;
}

void print_ids(const char* what, const std::vector<const Case*>& cases) {
  constexpr std::size_t kShown = 5;
  if (cases.empty()) return;
  std::string ids;
  for (std::size_t i = 0; i < cases.size() && i < kShown; ++i) ids += " " + cases[i]->id;
  if (cases.size() > kShown) ids += fmt::format(" and {} more", cases.size() - kShown);
  fmt::print("      {}:{}\n", what, ids);
}

void print_subjects(const char* heading, const std::vector<SubjectResult>& subjects) {
  const auto good = std::count_if(subjects.begin(), subjects.end(),
                                  [](const SubjectResult& s) { return s.as_it_should_be(); });
  fmt::print("{:<12} {} of {} as they should be\n", heading, good, subjects.size());
  for (const SubjectResult& subject : subjects) {
    if (subject.as_it_should_be()) continue;
    fmt::print("  {} ({}){}\n",
               subject.fault == nullptr
                   ? "reference"
                   : fmt::format("{}-{}", subject.fault->id, subject.fault->name),
               codec::dialect(subject.dialect).name,
               subject.fault != nullptr && subject.fault->needs == store::FaultNeeds::kConcurrency
                   ? ": needs a check of concurrent histories"
                   : "");
    if (subject.fault != nullptr) fmt::print("      {}\n", subject.fault->text);
    if (!subject.error.empty()) fmt::print("      {}\n", subject.error);
    print_ids("failed", subject.bystanders);
    print_ids("passed", subject.passes);
    print_ids("inconclusive", subject.inconclusive);
  }
}

// Subjects that take long, so that the whole stays quick.
void print_slowest(const SelftestResult& result) {
  constexpr std::chrono::seconds kLong{2};
  for (const auto* subjects : {&result.references, &result.faults, &result.benign, &result.nulls}) {
    for (const SubjectResult& subject : *subjects) {
      if (subject.duration < kLong) continue;
      fmt::print("slow: {:.1f} s for {} ({})\n",
                 static_cast<double>(subject.duration.count()) / 1e6,
                 subject.fault == nullptr ? "reference" : subject.fault->name,
                 codec::dialect(subject.dialect).name);
    }
  }
}

}  // namespace

ExitCode selftest(const SelftestCommand& command) {
  const auto library = open_library({});
  if (!library) return ExitCode::kUsage;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  SelftestOptions options;
  options.only = command.only;
  options.seed = command.seed;
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  const bool live = isatty(STDOUT_FILENO) == 1;
  const SelftestResult result =
      run_selftest(library->cases, library->catalogue, open_in_process, options, stop_requested,
                   [&](std::size_t done, std::size_t total, const std::string& what) {
                     if (live) fmt::print("\r\033[K  {}/{} {}", done, total, what);
                     if (live) std::fflush(stdout);
                   });
  if (live) fmt::print("\r\033[K");
  print_subjects("reference", result.references);
  print_subjects("faults", result.faults);
  print_subjects("benign", result.benign);
  print_subjects("null stores", result.nulls);
  fmt::print("{:<12} {} of {} turned red\n", "canaries",
             result.canaries - result.canary_survivors.size(), result.canaries);
  for (const CanarySurvivor& survivor : result.canary_survivors) {
    fmt::print("  {} ({}): {}\n", survivor.test_case->id, codec::dialect(survivor.dialect).name,
               survivor.what);
  }
  print_slowest(result);
  fmt::print("time {:.2f} s\n", static_cast<double>(result.duration.count()) / 1e6);
  if (!command.json.empty()) {
    const auto written = write_file(command.json, selftest_json(result, command.seed));
    if (!written) {
      fmt::print(stderr, "fencepost: {}\n", written.error());
      return ExitCode::kInternal;
    }
  }
  if (result.interrupted) return ExitCode::kInterrupted;
  return result.proved() ? ExitCode::kConformant : ExitCode::kFailed;
}

}  // namespace fencepost::conformance
