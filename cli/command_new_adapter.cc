#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/printable.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "clients/client_run/new_adapter.h"
#include "report/report_files.h"

namespace fencepost::cli {

run::ExitCode new_adapter(const NewAdapterOptions& options) {
  namespace fs = std::filesystem;
  const auto adapter = client_run::new_adapter(options.language);
  if (!adapter) {
    print_error("there is no adapter in " + options.language);
    return run::ExitCode::kUsage;
  }
  const fs::path folder(options.folder);
  std::error_code error;
  // All or nothing: existing files may be a user's work.
  for (const scenario::SourceFile& each : adapter->files) {
    if (!fs::exists(folder / each.name, error)) continue;
    print_error((folder / each.name).string() + " exists already; name another folder");
    return run::ExitCode::kUsage;
  }
  for (const scenario::SourceFile& each : adapter->files) {
    const fs::path path = folder / each.name;
    fs::create_directories(path.parent_path(), error);
    if (error) {
      print_error("cannot create " + path.parent_path().string() + ": " + error.message());
      return run::ExitCode::kUsage;
    }
    if (const auto written = report::write_file(path.string(), each.content); !written) {
      print_error(written.error());
      return run::ExitCode::kUsage;
    }
    text::print("wrote {}\n", path.string());
  }
  std::string said = "\nIt runs as it is, around the client in " + adapter->client +
                     ": put your SDK in its place. The commands it gets and the results it "
                     "returns: docs/CLIENTS.md.\n\n";
  said += "    cd " + text::shell_word(options.folder) + "\n";
  if (!adapter->build.empty()) said += "    " + adapter->build + "\n";
  said += "    fencepost certify-client -- " + adapter->command + "\n";
  text::print("{}", text::Lines(said));
  return run::ExitCode::kConformant;
}

}  // namespace fencepost::cli
