#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "conformance/command_support.h"
#include "conformance/commands.h"
#include "conformance/descriptor.h"
#include "conformance/library.h"
#include "conformance/selftest.h"
#include "conformance/selftest_html.h"
#include "conformance/target.h"

namespace fencepost::conformance {
namespace {

// Opens reference endpoints with the stores that are asked for: `scheme` is "embedded" or
// "inproc:".
OpenSubject opener(const std::string& scheme) {
  return [scheme](const store::Fault* fault, codec::DialectId dialect,
                  std::uint64_t seed) -> Result<Subject, std::string> {
    Descriptor descriptor;
    descriptor.url = fmt::format("{}?dialect={}", scheme, codec::dialect(dialect).name);
    if (fault != nullptr) descriptor.url += fmt::format("&fault={}&seed={}", fault->id, seed);
    auto target = open_target(descriptor, dialect);
    if (!target) return fail(target.error().text);
    Subject subject;
    subject.endpoint = std::move(target->endpoint);
    subject.server = std::make_shared<decltype(target->brokers)>(std::move(target->brokers));
    return subject;
  };
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
  if (command.endpoint != "inproc:" && command.endpoint != "embedded") {
    complain("--endpoint " + command.endpoint + ": wrong stores run embedded or inproc:");
    return ExitCode::kUsage;
  }
  if (const auto writable = check_writable({.json = command.json, .html = command.html});
      !writable) {
    complain(writable.error());
    return ExitCode::kUsage;
  }
  const bool embedded = command.endpoint == "embedded";
  stop_on_signals();
  SelftestOptions options;
  options.only = command.only;
  options.seed = command.seed;
  // Brokers have the machine to themselves one after the other: cases judge by the time of replies.
  options.jobs = embedded ? 1 : std::max(1U, std::thread::hardware_concurrency());
  options.over_the_wire = embedded;
  if (embedded) {
    options.cases_at_once = kReferenceAtOnce.jobs;
    options.cases_at_work = kReferenceAtOnce.at_work;
  }
  const bool live = isatty(STDOUT_FILENO) == 1;
  const SelftestResult result =
      run_selftest(library->cases, library->catalogue, opener(command.endpoint), options,
                   stop_flag(), [&](std::size_t done, std::size_t total, const std::string& what) {
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
  for (const auto& [path, render] :
       {std::pair{&command.json, &selftest_json}, std::pair{&command.html, &selftest_html}}) {
    if (path->empty()) continue;
    const auto written = write_file(*path, render(result, command.seed));
    if (!written) {
      fmt::print(stderr, "fencepost: {}\n", written.error());
      return ExitCode::kInternal;
    }
  }
  if (result.interrupted) return ExitCode::kInterrupted;
  return result.proved() ? ExitCode::kConformant : ExitCode::kFailed;
}

}  // namespace fencepost::conformance
