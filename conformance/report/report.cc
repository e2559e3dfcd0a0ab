#include "conformance/report/report.h"

namespace fencepost::report {

std::string reproduce_command(const ReportContext& context, const scenario::Case& test_case) {
  const auto own = context.commands.find(test_case.id);
  return (own == context.commands.end() ? context.command : own->second) + " --run " + test_case.id;
}

const char* suite_version() { return FENCEPOST_VERSION; }

}  // namespace fencepost::report
