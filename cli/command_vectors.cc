// fencepost vectors: the bytes of the cases.

#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "report/vectors.h"

namespace fencepost::cli {

run::ExitCode vectors(const VectorsOptions& options) {
  const auto profile = codec::profile_named(options.profile);
  if (!profile) return run::ExitCode::kUsage;  // the option takes no other word
  if (!succeeded(report::check_writable(options.json))) return run::ExitCode::kUsage;
  const auto* library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  auto cases = select(library->cases, options.selection);
  if (cases.empty()) {
    print_error(why_empty(options.selection, *library));
    return run::ExitCode::kNothingSelected;
  }
  const std::size_t left_out = std::erase_if(cases, [&](const scenario::Case* each) {
    return report::longest_payload(*each) > options.max_bytes;
  });
  if (left_out > 0) {
    print_error(fmt::format("{} with payloads of more than {} bytes skipped: --max-bytes",
                            text::counted(left_out, "case"), options.max_bytes));
  }
  const auto written = report::write_file(options.json, report::vectors_json(cases, *profile));
  return succeeded(written) ? run::ExitCode::kConformant : run::ExitCode::kInternal;
}

}  // namespace fencepost::cli
