#include "conformance/run/selection.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/glob.h"
#include "conformance/scenario/moves_clock.h"

namespace fencepost::run {
namespace {

bool any_glob(const std::vector<std::string>& globs, const std::string& id) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return glob_matches(glob, id); });
}

bool intersects(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& entry) {
    return std::find(b.begin(), b.end(), entry) != b.end();
  });
}

}  // namespace

bool selects(const Selection& selection, const scenario::Case& test_case) {
  if (!selection.run.empty() && !any_glob(selection.run, test_case.id)) return false;
  if (any_glob(selection.skip, test_case.id)) return false;
  const std::vector<std::string> tags = scenario::tags_of(test_case);
  if (intersects(selection.skip, tags)) return false;
  if (!selection.tags.empty() && !intersects(selection.tags, tags)) return false;
  if (!selection.requirements.empty() &&
      !intersects(selection.requirements, test_case.requirements)) {
    return false;
  }
  return stable_hash(test_case.id) % selection.shards == selection.shard - 1;
}

std::vector<const scenario::Case*> select(const std::vector<scenario::Case>& cases,
                                          const Selection& selection) {
  std::vector<const scenario::Case*> out;
  for (const scenario::Case& test_case : cases) {
    if (selects(selection, test_case)) out.push_back(&test_case);
  }
  return out;
}

}  // namespace fencepost::run
