// certify --resume: resumes a run that was killed. What the command line leaves out is as it
// was in that run; what it says must not contradict it. But the file may be anybody's: where to
// connect, and which files to read, to run or to write, is never taken from it.
//
//   auto resumed = resume("report.json.unfinished", {.seed = 7});
//   if (resumed) suite.finished = *finished_cases(*resumed, library);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "report/saved_run.h"
#include "suite/run/selection.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"

namespace fencepost::report {

// What a command line of certify says of a run. What is empty was not given.
struct Invocation {
  Call call{};  // its URL is without password
  std::string profile{};
  std::string edition{};
  std::optional<std::uint64_t> seed{};
  bool strict = false;
  run::Selection selection{};
  std::string shard{};  // K/N; "auto" contradicts nothing
};

// `given`, completed by how the run of `head` was called. The error is the first contradiction, or
// says what has to be given again: an endpoint that is not ours, a descriptor, scenarios, a
// baseline, a report. The report that `file`, where `head` stands, is named after need not be.
// Pure.
[[nodiscard]] Result<Invocation, std::string> completed(const std::string& file,
                                                        const Invocation& given, const Head& head);

// What a killed run has left, and how it continues.
struct Resumed {
  SavedRun kept;
  Invocation invocation;
};

// The error says why the file cannot be read, that it is not what a killed run has left, or as
// completed() does.
[[nodiscard]] Result<Resumed, std::string> resume(const std::string& path, const Invocation& given);

// The results that need not be found again. Not those of cases that lost the endpoint: they say
// nothing of the one that is there now. Errors are those of read_cases(). `library` must outlive
// the results.
[[nodiscard]] Result<std::vector<run::FinishedCase>, std::string> finished_cases(
    const Resumed& resumed, const scenario::Library& library);

}  // namespace fencepost::report
