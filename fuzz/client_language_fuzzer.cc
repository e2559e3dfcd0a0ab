// What `certify-client` reads from outside. Text that begins with `{` is a line of an adapter: it
// is a greeting, a result, or refused with a reason, and what is read can be written again. Any
// other text is a file of cases for clients: each is loaded, or what is wrong with it is said, with
// a place that is in the text; a step that can fail has a rule.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "clients/client_run/adapter_protocol.h"
#include "clients/client_run/attribution.h"
#include "clients/client_run/client_case_loader.h"
#include "fuzz/input_reader.h"
#include "fuzz/load_errors.h"

namespace {

using namespace fencepost;
using namespace fencepost::client_run;

constexpr std::array kAllCommands = {
    CommandKind::kConnect, CommandKind::kDisconnect, CommandKind::kSet,
    CommandKind::kGet,     CommandKind::kDel,        CommandKind::kVdel,
    CommandKind::kObserve, CommandKind::kUnobserve,  CommandKind::kLock,
    CommandKind::kUnlock,  CommandKind::kHolder,     CommandKind::kNotification};

void check_line(const std::string& line) {
  const auto greeting = read_greeting(line);
  FENCEPOST_CHECK(greeting || !greeting.error().empty());
  const auto id = id_of(line);
  FENCEPOST_CHECK(id == id_of(line + " "));
  for (const CommandKind command : kAllCommands) {
    const auto report = read_report(line, command);
    FENCEPOST_CHECK(report ? !describe(*report).empty() : !report.error().empty());
    if (!report) continue;
    const Expected same{.kind = report->kind, .value = report->value, .count = report->count};
    FENCEPOST_CHECK(report->kind == ResultKind::kChanged ||
                    is_expected(*report, same, codec::DialectId::kDeployed, true));
  }
}

void check_cases(const std::string& text) {
  const std::vector<scenario::SourceFile> files = {{"file.yaml", text}};
  std::vector<scenario::LoadError> errors;
  const auto cases = load_client_cases(files, {"R-1", "R-2"}, errors);
  fencepost::fuzz::check_places(errors, text);
  for (const ClientCase& each : cases) {
    FENCEPOST_CHECK(!each.steps.empty() && !each.requirements.empty());
    FENCEPOST_CHECK(std::all_of(each.steps.begin(), each.steps.end(), attribution::is_attributed));
  }
  std::vector<scenario::LoadError> again;
  FENCEPOST_CHECK(load_client_cases(files, {"R-1", "R-2"}, again).size() == cases.size());
  FENCEPOST_CHECK(errors.size() == again.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fencepost::fuzz::as_text(data, size));
  if (text.starts_with('{')) {
    check_line(text);
  } else {
    check_cases(text);
  }
  return 0;
}
