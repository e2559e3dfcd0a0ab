// Reads a JSON report back, so that runs can be put together or compared.
//
//   const auto file = read_file("shard-1.json");
//   const Result<Report, std::string> report = read_report(*file, library);
//   if (!report) complain(report.error());  // shard-1.json: /cases/3/verdict: ...
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/report.h"
#include "suite/scenario/library.h"

namespace fencepost {
class JsonMembers;
}

namespace fencepost::report {

struct Report {
  std::string file;
  run::SuiteResult result;  // points to the cases of the library that it was read with
  ReportContext context;
};

// The report that this version of the suite has written, with the cases of `library`, which must
// outlive it. Written again, it is the same byte for byte; what a report does not hold (of a passed
// case the last step, for one) is as in a new CaseResult.
//
// The error is for people: which file, where in it (a line, or a JSON pointer such as
// /cases/3/verdict), what is wrong, and what to do. A report of another version, of other cases, or
// one that was changed by hand so that it contradicts itself, is refused.
[[nodiscard]] Result<Report, std::string> read_report(const scenario::SourceFile& file,
                                                      const scenario::Library& library);

// The same for a file on disk, which may also be what a killed run has left: saved_run.h.
[[nodiscard]] Result<Report, std::string> read_report(const std::string& path,
                                                      const scenario::Library& library);

// What a report says beyond the results, of its JSON. Errors go to the diagnostic of `root`; a
// context comes back in any case.
[[nodiscard]] ReportContext context_of(const JsonMembers& root);

// May a report hold this command, which is printed for people to run? One of `fencepost certify` or
// `fencepost stress` or `fencepost explore`, in any folder, its words quoted as the program does
// it, with options that decide what is run; none that writes a file, and no command behind it.
[[nodiscard]] bool is_command_of_a_report(std::string_view command);
inline constexpr const char* kCommandOfAReport =
    "a command of fencepost certify, stress or explore, as it is written by these";

}  // namespace fencepost::report
