// What is said of clients that were judged: lines of the console, JSON, JUnit.
//
//   for (const clients::Finding& finding : judged.findings) print(line_of(finding));
//   print(summary_of(judged));
//
// Pure; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clients/finding.h"
#include "clients/judge.h"

namespace fencepost::client_report {

// How the command ended whose clients were judged.
struct CommandEnd {
  std::vector<std::string> command{};
  int exit_code = 0;  // 128 and its number: a signal ended it
};

struct JudgedClients {
  clients::Tally tally{};
  std::vector<clients::Finding> findings{};
  std::vector<CommandEnd> commands{};  // one at most
};

// What clients do by this rule, in a sentence: of the built-in catalogue, or of MQTT 5.
[[nodiscard]] std::string_view sentence_of(const clients::Rule& rule);

enum class ClientVerdict {
  kConformant,
  kBroken,         // a rule of level must
  kNothingJudged,  // no request was seen
};
[[nodiscard]] ClientVerdict verdict_of(const clients::Tally& tally);
// "conformant", "not conformant", "nothing judged"
[[nodiscard]] std::string name(ClientVerdict verdict);

// `client "me" breaks ENV-QOS-2: the request has QoS 0; PUBLISH of 97 bytes: 0_...`. One line.
[[nodiscard]] std::string line_of(const clients::Finding& finding);

// What stands at the end of a run: what was looked at, each broken rule, the verdicts. Lines.
[[nodiscard]] std::string summary_of(const JudgedClients& judged);

// docs/clients.schema.json
[[nodiscard]] std::string json_of(const JudgedClients& judged);

// A self-contained page, also without JavaScript.
[[nodiscard]] std::string html_of(const JudgedClients& judged);

// A test for each rule; with a failure for each that is broken, and one for the command. `written`:
// when, in ISO 8601.
[[nodiscard]] std::string junit_of(const JudgedClients& judged, const std::string& written);

}  // namespace fencepost::client_report
