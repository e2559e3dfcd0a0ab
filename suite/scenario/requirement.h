// The catalogue of requirements: every rule of the protocol that the suite knows, by id.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario_loader.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

enum class Level { kMust, kShould, kMay };
// "must", "should" or "may".
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
  // What clients do, where the judge of clients judges them by it: the text of a rule that applies
  // to clients, the client's side of a store's. Empty: it does not.
  std::string of_clients;
  bool open = false;  // the article leaves it open
  std::vector<std::string> outcomes;
  Position position;
};

// Can a case show that it is broken? An unspecified point has no wrong outcome, nor has a
// permission.
[[nodiscard]] bool can_be_broken(const Requirement& requirement);

// A heading of the article, in the order of the article.
struct Section {
  std::string title;                            // in English; requirements name it
  std::vector<std::string> documents;           // the editions that have it
  std::map<std::string, std::string> headings;  // language -> its translation
  std::string note;                             // what stands below it beside rules
  Position position;
};

class Catalogue {
 public:
  // Reads requirements.yaml; errors are appended to `errors`. When the file lists the sections
  // of the article, each requirement must stand in one of them, and each of them must have a
  // requirement or a note that says why it has none.
  [[nodiscard]] static Catalogue load(const SourceFile& file, std::vector<LoadError>& errors);

  // Null when there is no such requirement; else valid as long as the catalogue lives unchanged.
  [[nodiscard]] const Requirement* find(std::string_view id) const;
  [[nodiscard]] const std::vector<Requirement>& all() const { return requirements_; }
  [[nodiscard]] std::set<std::string> ids() const;
  [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }

  // The strictest level among the requirements of a case; kMay when none of them is known.
  [[nodiscard]] Level level_of(const Case& test_case) const;

 private:
  std::vector<Requirement> requirements_;
  std::vector<Section> sections_;
};

}  // namespace fencepost::scenario
