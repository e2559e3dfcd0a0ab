#include "report/last_failed.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/glob.h"
#include "base/json_reader.h"
#include "suite/scenario/library.h"

namespace fencepost::report {
namespace {

// Empty where there is none, or where it is no text: the file may be anybody's.
std::string text_member(const nlohmann::json& entry, const char* name) {
  if (!entry.is_object()) return {};
  const auto member = entry.find(name);
  return member != entry.end() && member->is_string() ? member->get<std::string>() : std::string();
}

}  // namespace

Result<std::vector<std::string>, std::string> last_failed(const std::string& path,
                                                          const std::vector<std::string>& globs) {
  const std::string where = "--last-failed " + path + ": ";
  const auto file = scenario::read_file(path);
  if (!file) return fail("--last-failed " + file.error());
  if (const auto limit = json_limit_broken(file->content); !limit.empty())
    return fail(where + limit);
  const auto document = read_json(file->content);
  const auto cases = document.is_object() ? document.find("cases") : document.end();
  if (cases == document.end() || !cases->is_array()) {
    return fail(where + "this is not a JSON report of certify");
  }
  std::vector<std::string> ids;
  for (const nlohmann::json& entry : *cases) {
    const std::string verdict = text_member(entry, "verdict");
    if (verdict != "failed" && verdict != "inconclusive") continue;
    std::string id = text_member(entry, "id");
    const auto matches = [&](const std::string& glob) { return glob_matches(glob, id); };
    if (globs.empty() || std::any_of(globs.begin(), globs.end(), matches)) {
      ids.push_back(std::move(id));
    }
  }
  return ids;
}

}  // namespace fencepost::report
