// Reads what a scenario expects: replies, timestamps, properties.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// Names that earlier steps of the case have introduced.
struct KnownNames {
  std::set<std::string> timestamps;    // saved with ts: {save: ...}
  std::set<std::string> marks;         // set with mark: ...
  std::set<std::string> requirements;  // that the case cites
  // For requests with a mark: their open outcomes, in the order of the file.
  std::map<std::string, std::vector<std::string>> outcomes{};
  // Timestamps that an earlier request of the same pipeline saves.
  std::set<std::string> unanswered{};
  // The marks of steps that could not be loaded: their outcomes are not known.
  std::set<std::string> marks_of_failed_steps{};
};

[[nodiscard]] std::optional<Expectation> load_expectation(YamlReader& reader, YamlNode node,
                                                          KnownNames& known);

// `absent`, `present`, or {save, equals, greater_than}.
[[nodiscard]] std::optional<TimestampCheck> load_timestamp_check(YamlReader& reader, YamlNode node,
                                                                 KnownNames& known);

// `t1 + 900ms` or `t1.reply + 250ms`.
[[nodiscard]] std::optional<TimePoint> load_time_point(YamlReader& reader, YamlNode node,
                                                       const KnownNames& known,
                                                       std::string_view what);

// {mark: [outcome, ...]}: outcomes of an earlier request with open outcomes.
[[nodiscard]] std::optional<OutcomeSeen> load_outcome_seen(YamlReader& reader, YamlNode node,
                                                           const KnownNames& known);

// The names of the open outcomes, each once; empty where nothing is open.
[[nodiscard]] std::vector<std::string> open_outcomes(const Expectation& expectation);

// One of the requirements that the case cites.
[[nodiscard]] std::string load_citation(YamlReader& reader, YamlNode node, const KnownNames& known);

}  // namespace fencepost::scenario
