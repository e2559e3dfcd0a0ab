// The catalogue of requirements: every rule of the protocol that the suite knows, by id.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/scenario_loader.h"
#include "conformance/yaml_reader.h"

namespace fencepost::conformance {

enum class Level { kMust, kShould, kMay };
[[nodiscard]] std::string_view name(Level level);

struct Requirement {
  std::string id;
  Level level = Level::kMust;
  std::string binds;    // store, client or broker
  std::string text;     // the rule
  std::string section;  // of the article
  std::string source;   // article or deployed
  std::vector<std::string> documents;
  std::map<std::string, std::string> dialects;
  std::string observe;
  std::string untestable;  // why a black box cannot check it
  bool open = false;       // the article leaves it open
  std::vector<std::string> outcomes;
  Position position;
};

class Catalogue {
 public:
  // Reads requirements.yaml; complaints are appended to `errors`.
  [[nodiscard]] static Catalogue load(const SourceFile& file, std::vector<LoadError>& errors);

  // Null when there is no such requirement.
  [[nodiscard]] const Requirement* find(std::string_view id) const;
  [[nodiscard]] const std::vector<Requirement>& all() const { return requirements_; }
  [[nodiscard]] std::set<std::string> ids() const;

  // The strictest level among the requirements of a case.
  [[nodiscard]] Level level_of(const Case& test_case) const;

 private:
  std::vector<Requirement> requirements_;
};

}  // namespace fencepost::conformance
