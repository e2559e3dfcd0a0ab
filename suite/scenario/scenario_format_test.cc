// Keeps the manual (scenarios/FORMAT.md) and the JSON Schema (scenarios/scenario.schema.json) equal
// to the loader.

#include <algorithm>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "suite/scenario/library.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/scenario_fixture.h"
#include "suite/scenario/unchecked_outcomes.h"

namespace fencepost::scenario {
namespace {

using codec::Divergence;
using testing::HasSubstr;
using testing::IsEmpty;

// --- the manual ----------------------------------------------------------------------------------

// The YAML blocks of scenarios/FORMAT.md.
std::vector<std::string> blocks_of_the_manual() {
  std::ifstream file(FENCEPOST_SOURCE_DIR "/scenarios/FORMAT.md");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```yaml") out.emplace_back();
    inside = line.starts_with("```") ? line == "```yaml" : inside;
    if (inside && !line.starts_with("```")) out.back() += line + "\n";
  }
  return out;
}

bool is_case(const std::string& block) { return block.starts_with("- id: "); }

// With the requirements that there are.
Loaded load_manual(const std::string& text) {
  Loaded loaded;
  const auto file = read_file(FENCEPOST_SOURCE_DIR "/scenarios/requirements.yaml").value();
  const std::set<std::string> requirements = Catalogue::load(file, loaded.errors).ids();
  loaded.cases = load_scenario({"FORMAT.md", text}, requirements, loaded.errors);
  return loaded;
}

TEST(ScenarioManual, HasAnExampleThatLoads) {
  const std::vector<std::string> blocks = blocks_of_the_manual();
  ASSERT_FALSE(blocks.empty());
  const Loaded loaded = load_manual(blocks.front());
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
  EXPECT_EQ(loaded.cases.size(), 1U);
}

TEST(ScenarioManual, HasStepsThatLoad) {
  const std::vector<std::string> blocks = blocks_of_the_manual();
  ASSERT_GE(blocks.size(), 2U);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    if (is_case(blocks[i])) continue;
    const Loaded loaded = load(file_with("    clients: {a: {}, b: {}}\n", indented(blocks[i], 6)));
    EXPECT_THAT(loaded.diagnostics(), IsEmpty()) << blocks[i];
  }
}

TEST(ScenarioManual, HasCasesThatLoad) {
  std::size_t cases = 0;
  for (const std::string& block : blocks_of_the_manual()) {
    if (!is_case(block)) continue;
    const Loaded loaded = load_manual("area: test\ncases:\n" + indented(block, 2));
    EXPECT_THAT(loaded.diagnostics(), IsEmpty());
    cases += loaded.cases.size();
  }
  EXPECT_EQ(cases, 6U);  // a family of four, and one
}

// --- words for what brokers know
// ------------------------------------------------------------------

std::string diagnostics_of(const std::string& file) {
  std::string out;
  for (const std::string& each : load(file).diagnostics()) out += each + "\n";
  return out;
}

TEST(ScenarioLoader, LimitsAndWillsOfAClientNeedARealConnection) {
  for (const std::string option :
       {"receive_maximum: 1", "max_packet_size: 2000", "will: {topic: t, payload: p}"}) {
    const std::string clients = "clients: {a: {" + option + "}}";
    EXPECT_THAT(diagnostics_of(in_case(clients)),
                HasSubstr("client a needs a real connection: write requires: [transport]"));
    EXPECT_EQ(diagnostics_of(in_case("requires: [transport]\n" + clients)), "");
  }
  EXPECT_THAT(diagnostics_of(in_case("requires: [transport]\nclients: {a: {receive_maximum: 0}}")),
              HasSubstr("receive_maximum must be a whole number from 1 to 65535"));
  EXPECT_THAT(diagnostics_of(in_case("requires: [transport]\nclients: {a: {will: {topic: t}}}")),
              HasSubstr("will needs the key \"payload\""));
}

TEST(ScenarioLoader, WhatFewClientsCanSayNeedsOurs) {
  for (const std::string option :
       {"connect_properties: {hex: '22 00 0a'}", "subscribe_properties: {hex: '0b 01'}",
        "subscription_options: 4", "topic_aliases: true"}) {
    const std::string clients = "clients: {a: {" + option + "}}";
    EXPECT_THAT(diagnostics_of(in_case(clients)), HasSubstr("write requires: [raw-packets]"));
    EXPECT_EQ(diagnostics_of(in_case("requires: [raw-packets]\n" + clients)), "");
    EXPECT_EQ(diagnostics_of(in_case("requires: [odd-packets]\n" + clients)), "");  // former name
  }
  EXPECT_THAT(
      diagnostics_of(in_case("requires: [raw-packets]\nclients: {a: {subscription_options: 5}}")),
      HasSubstr("does not contain the QoS"));
  EXPECT_THAT(diagnostics_of(
                  in_case("requires: [raw-packets]\nclients: {a: {connect_properties: {key: k}}}")),
              HasSubstr("connect_properties takes text, escaped, hex, and join of these"));
}

TEST(ScenarioLoader, AnOptionalNotificationIsFencedByAnotherClient) {
  const auto with = [](const std::string& writer, const std::string& point) {
    return file_with(
        "    clients: {a: {}, b: {}}\n",
        "      - notification: {client: b, key: k, operation: set, optional: {writer: " + writer +
            ", point: " + point + ", came: notified, missing: quiet}}\n");
  };
  EXPECT_EQ(diagnostics_of(with("a", "SET-NX-1")), "");
  EXPECT_THAT(diagnostics_of(with("b", "SET-NX-1")),
              HasSubstr("writer must be another client than the one that is notified"));
  EXPECT_THAT(diagnostics_of(with("a", "SET-NX-2")),
              HasSubstr("SET-NX-2 is not among the requirements of this case"));
}

TEST(ScenarioLoader, ASilenceShowsOutcomesOfItsCasesRequirements) {
  EXPECT_EQ(diagnostics_of(in_steps("- silence: {client: a, shows: {SET-NX-1: quiet}}")), "");
  EXPECT_THAT(diagnostics_of(in_steps("- silence: {client: a, shows: {SET-NX-2: quiet}}")),
              HasSubstr("SET-NX-2 is not among the requirements of this case"));
  EXPECT_THAT(diagnostics_of(in_steps("- silence: {client: a, shows: {}}")),
              HasSubstr("shows must map open requirements to their outcomes"));
}

TEST(ScenarioLoader, TheVersionOfAValueIsASavedOne) {
  const std::string save = "- set: {key: k, value: w}\n  expect: {reply: ok, ts: {save: v1}}\n";
  EXPECT_EQ(diagnostics_of(in_steps(save + "- get: k\n  expect: {ts: {of_value: {w: v1}}}")), "");
  EXPECT_THAT(diagnostics_of(in_steps(save + "- get: k\n  expect: {ts: {of_value: {w: v2}}}")),
              HasSubstr("v2"));
}

TEST(UncheckedOutcomes, AreThoseThatMayHaveBeenRefusedAndCarriedOut) {
  const auto unchecked = [](const std::string& steps) {
    const Loaded loaded = load(in_steps(steps));
    EXPECT_THAT(loaded.diagnostics(), IsEmpty());
    return loaded.cases.empty() ? std::size_t{9}
                                : requests_with_unchecked_outcomes(loaded.cases[0]).size();
  };
  const std::string either = "  expect: {reply: {open: {refused: error, done: ok}}}\n";
  const std::string set = "- set: {key: l, value: w, mark: m}\n" + either;
  EXPECT_EQ(unchecked(set), 1U);
  EXPECT_EQ(unchecked(set + "- get: l\n  expect: missing"), 1U);
  EXPECT_EQ(unchecked(set + "  note: Nobody reads it."), 0U);
  EXPECT_EQ(
      unchecked(set + "- get: l\n  expect: {reply: {by: {m: {done: {value: w}, else: missing}}}}"),
      0U);
  EXPECT_EQ(unchecked("- keynotify: {key: l, mark: m}\n" + either +
                      "- notification: {key: l, operation: set, when: {m: [done]}}"),
            0U);
  EXPECT_EQ(unchecked("- get: l\n  expect: {reply: {open: {refused: error, done: missing}}}"), 0U);
  EXPECT_EQ(unchecked("- set: {key: l, value: w}\n"
                      "  expect: {reply: {open: {syntax: {error: syntax}, other: error}}}"),
            0U);
}

// --- the JSON Schema -----------------------------------------------------------------------------

const nlohmann::json& schema() {
  static const nlohmann::json parsed = [] {
    std::ifstream file(FENCEPOST_SOURCE_DIR "/scenarios/scenario.schema.json");
    return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  }();
  return parsed;
}

std::set<std::string> to_set(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> out;
  for (const auto& item : object.items()) out.insert(item.key());
  return out;
}

TEST(ScenarioSchema, HasThePropertiesOfTheLoader) {
  ASSERT_FALSE(schema().is_discarded());
  const struct {
    std::string_view pointer;
    std::span<const std::string_view> fields;
  } kTable[] = {
      {"", fields::kFile},
      {"/definitions/case", fields::kCase},
      {"/definitions/recorded", fields::kRecorded},
      {"/definitions/client", fields::kClient},
      {"/definitions/will", fields::kWill},
      {"/definitions/optional", fields::kOptional},
      {"/definitions/step", fields::kStep},
      {"/definitions/request", fields::kRequest},
      {"/definitions/packet", fields::kPacket},
      {"/definitions/expectMapping", fields::kExpect},
      {"/definitions/replyMapping", fields::kReply},
      {"/definitions/timestampCheckMapping", fields::kTimestampCheck},
      {"/definitions/bytesMapping", fields::kBytes},
      {"/definitions/keyMapping", fields::kKey},
      {"/definitions/literalTimestampMapping", fields::kLiteralTimestamp},
      {"/definitions/notification", fields::kNotification},
      {"/definitions/silenceMapping", fields::kSilence},
      {"/definitions/waitMapping", fields::kWait},
      {"/definitions/subscribe", fields::kSubscribe},
      {"/definitions/fillQuota", fields::kFillQuota},
      {"/definitions/writeMany", fields::kWriteMany},
      {"/definitions/fanOut", fields::kFanOut},
  };
  for (const auto& row : kTable) {
    const nlohmann::json::json_pointer pointer{std::string(row.pointer)};
    ASSERT_TRUE(schema().contains(pointer)) << row.pointer;
    const nlohmann::json& mapping = schema().at(pointer);
    EXPECT_EQ(keys_of(mapping.at("properties")), to_set(row.fields)) << row.pointer;
    EXPECT_EQ(mapping.at("additionalProperties"), false) << row.pointer;
  }
}

// A mapping that no row above names would escape the comparison.
TEST(ScenarioSchema, ClosesAsManyMappingsAsTheLoader) {
  ASSERT_FALSE(schema().is_discarded());
  std::size_t closed = 1;
  for (const auto& definition : schema().at("definitions")) {
    if (definition.contains("additionalProperties")) ++closed;
  }
  EXPECT_EQ(closed, 22U);
}

TEST(ScenarioSchema, HasWhatAValueOfAnAxisMaySay) {
  ASSERT_FALSE(schema().is_discarded());
  const nlohmann::json& properties = schema().at("definitions")["axisValue"]["properties"];
  EXPECT_EQ(keys_of(properties), to_set(fields::kAxisValue));
}

TEST(ScenarioSchema, HasTheClosedListsOfTheCode) {
  ASSERT_FALSE(schema().is_discarded());
  std::set<std::string> errors;
  for (const codec::ErrorCode code : codec::kErrorCodes) errors.emplace(codec::name(code));
  std::set<std::string> divergences;
  for (const Divergence divergence : codec::kDivergences)
    divergences.emplace(codec::name(divergence));
  const nlohmann::json& definitions = schema().at("definitions");
  EXPECT_EQ(definitions["errorName"]["enum"].get<std::set<std::string>>(), errors);
  const nlohmann::json& of_case = definitions["case"]["properties"];
  EXPECT_EQ(of_case["divergence"]["items"]["enum"].get<std::set<std::string>>(), divergences);
  EXPECT_EQ(definitions["capability"]["enum"].get<std::set<std::string>>(),
            to_set(fields::kCapabilities));
  EXPECT_EQ(definitions["recorded"]["properties"]["by"]["enum"].get<std::set<std::string>>(),
            to_set(fields::kRecordedBy));
}

TEST(ScenarioSchema, HasTheActionsOfTheLoader) {
  ASSERT_FALSE(schema().is_discarded());
  std::set<std::string> actions;
  for (const auto& one : schema().at("definitions")["step"]["oneOf"]) {
    actions.insert(one.at("required").at(0).get<std::string>());
  }
  EXPECT_EQ(actions, to_set(fields::kActions));
  actions.insert({"expect", "note"});
  EXPECT_EQ(actions, to_set(fields::kStep));
}

// The words for a reply are no list in the code, so each is loaded.
TEST(ScenarioSchema, HasTheWordsForAReply) {
  ASSERT_FALSE(schema().is_discarded());
  const nlohmann::json& words = schema().at("definitions")["replyWord"]["enum"];
  ASSERT_EQ(words.size(), 6U);
  for (const auto& word : words) {
    const std::string text = word.get<std::string>();
    const Loaded loaded = load(in_steps("- {get: k, expect: " + text + "}"));
    for (const LoadError& error : loaded.errors) {
      EXPECT_THAT(error.text, HasSubstr("divergence")) << text;
    }
  }
}

}  // namespace
}  // namespace fencepost::scenario
