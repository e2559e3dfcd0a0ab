#include "traffic/search/saved_workload.h"

#include <algorithm>
#include <utility>

#include "base/text/printable.h"
#include "workload/trace_text.h"

namespace fencepost::search {
namespace {

constexpr std::string_view kRequirement = "# requirement: ";

}  // namespace

std::string to_text(const SavedWorkload& saved) {
  std::string out;
  if (!saved.requirement.empty()) out += std::string(kRequirement) + saved.requirement + "\n";
  for (const std::string& comment : saved.comments) {
    out += comment.empty() ? "#\n" : "# " + text::one_line(text::printable(comment)) + "\n";
  }
  return out + workload::to_text(saved.trace);
}

Result<SavedWorkload, std::string> parse_saved_workload(std::string_view text) {
  auto trace = workload::parse_trace(text);
  if (!trace) return fail(std::move(trace.error()));
  SavedWorkload out{.trace = std::move(*trace)};
  while (!text.empty() && text.front() == '#') {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (out.requirement.empty() && line.substr(0, kRequirement.size()) == kRequirement) {
      out.requirement = line.substr(kRequirement.size());
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return out;
}

}  // namespace fencepost::search
