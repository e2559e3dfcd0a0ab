#include "traffic/search/seed_traces.h"

#include <utility>

#include "base/check.h"
#include "workload/trace_text.h"

namespace fencepost::search {

const std::vector<workload::Trace>& seed_traces() {
  static const std::vector<workload::Trace> traces = [] {
    std::vector<workload::Trace> out;
    for (const scenario::SourceFile& file : built_in_traces()) {
      auto trace = workload::parse_trace(file.content);
      FENCEPOST_CHECK(trace.has_value());
      out.push_back(std::move(*trace));
    }
    return out;
  }();
  return traces;
}

}  // namespace fencepost::search
