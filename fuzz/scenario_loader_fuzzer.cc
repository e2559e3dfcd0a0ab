// Any text as a scenario file: it is loaded, or what is wrong with it is said, with a place that is
// in the text. Loaded again it is the same, and so is each case that stands for itself.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "fuzz/load_errors.h"
#include "suite/scenario/scenario_loader.h"

namespace {

using namespace fencepost;

std::vector<scenario::Case> load(const std::string& text,
                                 std::vector<scenario::LoadError>& errors) {
  return scenario::load_scenario({"file.yaml", text}, {"R-1", "R-2"}, errors);
}

bool same(const scenario::Case& a, const scenario::Case& b) {
  return a.id == b.id && a.title == b.title && a.area == b.area && a.source == b.source &&
         a.requirements == b.requirements && a.requires_ == b.requires_ && a.tags == b.tags &&
         a.divergences == b.divergences && a.steps.size() == b.steps.size() &&
         a.exchanges() == b.exchanges() && a.expected_wait() == b.expected_wait();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fencepost::fuzz::as_text(data, size));
  std::vector<scenario::LoadError> errors;
  const std::vector<scenario::Case> cases = load(text, errors);
  FENCEPOST_CHECK(!cases.empty() || !errors.empty());
  fencepost::fuzz::check_places(errors, text);
  std::vector<scenario::LoadError> again;
  const std::vector<scenario::Case> twice = load(text, again);
  FENCEPOST_CHECK(std::equal(cases.begin(), cases.end(), twice.begin(), twice.end(), same));
  FENCEPOST_CHECK(errors.size() == again.size());
  for (const scenario::Case& loaded : cases) FENCEPOST_CHECK(has_positive_check(loaded));
  return 0;
}
