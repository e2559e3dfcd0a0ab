#include "clients/client_report/client_report.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/rules.h"
#include "suite/scenario/library.h"
#include "suite/scenario/requirement.h"

namespace fencepost::client_report {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;

scenario::Catalogue catalogue() {
  std::vector<scenario::LoadError> errors;
  scenario::Catalogue out;
  for (const scenario::SourceFile& file : scenario::built_in_files()) {
    if (scenario::is_catalogue(file)) out = scenario::Catalogue::load(file, errors);
  }
  EXPECT_THAT(errors, IsEmpty());
  return out;
}

TEST(ClientRules, AreThoseThatTheCatalogueMarksAndThoseOfMqtt) {
  const scenario::Catalogue all = catalogue();
  std::set<std::string> marked;
  for (const scenario::Requirement& each : all.all()) {
    if (!each.of_clients.empty()) marked.insert(each.id);
  }
  std::set<std::string> judged;
  for (const clients::Rule& rule : clients::rules()) {
    if (!clients::is_of_mqtt(rule)) judged.emplace(rule.id);
  }
  EXPECT_EQ(judged, marked);
}

TEST(ClientRules, HaveTheLevelAndTheSentenceOfTheCatalogue) {
  const scenario::Catalogue all = catalogue();
  for (const clients::Rule& rule : clients::rules()) {
    EXPECT_THAT(std::string(sentence_of(rule)), EndsWith(".")) << rule.id;
    EXPECT_EQ(clients::is_of_mqtt(rule), !rule.text.empty()) << rule.id;
    const scenario::Requirement* found = all.find(rule.id);
    if (found == nullptr) continue;
    const bool must = rule.level == clients::RuleLevel::kMust;
    EXPECT_EQ(found->level, must ? scenario::Level::kMust : scenario::Level::kShould) << rule.id;
    EXPECT_EQ(sentence_of(rule), found->of_clients);
    if (found->binds == "client") {
      EXPECT_EQ(sentence_of(rule), found->text);
    }
  }
}

}  // namespace
}  // namespace fencepost::client_report
