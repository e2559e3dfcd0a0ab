#include "clients/client_report/client_report.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/check.h"
#include "base/text/junit.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "clients/client_report/finding_text.h"
#include "codec/base16.h"
#include "codec/topics.h"
#include "suite/scenario/library.h"
#include "suite/scenario/requirement.h"

namespace fencepost::client_report {
namespace {

using clients::Finding;
using clients::Rule;
using clients::RuleLevel;

constexpr std::size_t kMaxBytesOfLine = 240;

// Bytes that tell requests apart: what stands before them is the topic.
std::string_view shown_part(const Finding& finding) {
  std::string_view out = finding.packet;
  const std::size_t topic = out.find(codec::kRequestTopic);
  if (topic != std::string_view::npos) out.remove_prefix(topic + codec::kRequestTopic.size());
  return out;
}

scenario::Catalogue built_in_catalogue() {
  for (const scenario::SourceFile& file : scenario::built_in_files()) {
    if (!scenario::is_catalogue(file)) continue;
    std::vector<scenario::LoadError> errors;
    return scenario::Catalogue::load(file, errors);
  }
  return {};
}

}  // namespace

std::string_view sentence_of(const Rule& rule) {
  if (clients::is_of_mqtt(rule)) return rule.text;
  static const scenario::Catalogue catalogue = built_in_catalogue();
  const scenario::Requirement* found = catalogue.find(rule.id);
  FENCEPOST_CHECK(found != nullptr);
  return found->of_clients;
}

ClientVerdict verdict_of(const clients::Tally& tally) {
  for (const auto& [id, count] : tally.broken) {
    if (count > 0 && clients::rule(id).level == RuleLevel::kMust) return ClientVerdict::kBroken;
  }
  return tally.requests > 0 ? ClientVerdict::kConformant : ClientVerdict::kNothingJudged;
}

std::string name(ClientVerdict verdict) {
  switch (verdict) {
    case ClientVerdict::kConformant:
      return "conformant";
    case ClientVerdict::kBroken:
      return "not conformant";
    case ClientVerdict::kNothingJudged:
      break;
  }
  return "nothing judged";
}

std::string line_of(const Finding& finding) {
  const bool must = finding.rule->level == RuleLevel::kMust;
  std::string out =
      fmt::format("client {} {} {}: {}", client_of(finding), must ? "breaks" : "should follow",
                  finding.rule->id, text::one_line(text::printable(finding.because)));
  if (finding.packet.empty()) return out;
  const std::string_view shown = shown_part(finding);
  return out + fmt::format("; {} of {} bytes: {}{}", packet_name(finding), finding.packet_bytes,
                           shown.size() < finding.packet.size() ? "..." : "",
                           escape(shown, kMaxBytesOfLine));
}

std::string summary_of(const JudgedClients& judged) {
  constexpr std::size_t kWidth = 100 - std::string_view("fencepost: ").size();
  const auto wrapped = [](const std::string& line) {
    return text::wrap(line, {.width = kWidth, .indent = 4}) + "\n";
  };
  const clients::Tally& tally = judged.tally;
  std::string out =
      fmt::format("{} of {} over {}, judged by {} rules\n",
                  text::counted(tally.requests, "request"), text::counted(tally.clients, "client"),
                  text::counted(tally.connections, "connection"), clients::rules().size());
  if (tally.not_judged > 0) {
    out += fmt::format("{} judged only in part: beyond a limit, or not MQTT\n",
                       text::counted(tally.not_judged, "connection"));
  }
  for (const Rule& rule : clients::rules()) {
    const std::size_t count = times(tally, rule);
    if (count == 0) continue;
    out += wrapped(fmt::format("  {} ({}), {}: {}", rule.id, level_name(rule),
                               text::counted(count, "finding"), sentence_of(rule)));
  }
  for (const auto& [id, doubt] : tally.undecided) {
    out +=
        wrapped(fmt::format("  {} is undecided {}, because a conforming client may do the same: {}",
                            id, doubt.times == 1 ? "once" : fmt::format("{} times", doubt.times),
                            text::one_line(text::printable(doubt.because))));
  }
  for (const CommandEnd& end : judged.commands) {
    out += fmt::format("command: {} ended with exit code {}\n", command_text(end), end.exit_code);
  }
  return out + fmt::format("clients: {}\n", name(verdict_of(tally)));
}

std::string json_of(const JudgedClients& judged) {
  nlohmann::ordered_json out = {{"format", "fencepost-clients"},
                                {"format_version", 1},
                                {"verdict", name(verdict_of(judged.tally))},
                                {"connections", judged.tally.connections},
                                {"clients", judged.tally.clients},
                                {"requests", judged.tally.requests},
                                {"not_judged", judged.tally.not_judged}};
  for (const CommandEnd& end : judged.commands) {
    out["command"] = {{"words", nlohmann::ordered_json::array()}, {"exit_code", end.exit_code}};
    for (const std::string& word : end.command) {
      out["command"]["words"].push_back(text::printable(word));
    }
  }
  out["rules"] = nlohmann::ordered_json::array();
  for (const Rule& rule : clients::rules()) {
    out["rules"].push_back({{"id", rule.id},
                            {"level", level_name(rule)},
                            {"text", sentence_of(rule)},
                            {"findings", times(judged.tally, rule)}});
  }
  out["undecided"] = nlohmann::ordered_json::array();
  for (const auto& [id, doubt] : judged.tally.undecided) {
    out["undecided"].push_back(
        {{"rule", id}, {"times", doubt.times}, {"because", text::printable(doubt.because)}});
  }
  out["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : judged.findings) {
    out["findings"].push_back({{"rule", finding.rule->id},
                               {"level", level_name(*finding.rule)},
                               {"client", escape(finding.client_id)},
                               {"connection", finding.connection},
                               {"time", time_text(finding.at)},
                               {"because", text::printable(finding.because)},
                               {"packet_bytes", finding.packet_bytes},
                               {"packet_hex", codec::base16_encode(finding.packet)}});
  }
  return out.dump(1) + "\n";
}

std::string junit_of(const JudgedClients& judged, const std::string& written) {
  text::JunitSuite suite{.name = "fencepost serve --judge-clients", .timestamp = written};
  for (const Rule& rule : clients::rules()) {
    text::JunitCase test{.name = std::string(rule.id), .classname = "statestore.clients"};
    std::string lines = std::string(sentence_of(rule)) + "\n";
    const Finding* first = nullptr;
    for (const Finding& finding : judged.findings) {
      if (finding.rule->id != rule.id) continue;
      if (first == nullptr) first = &finding;
      lines += line_of(finding) + "\n";
    }
    if (first != nullptr && rule.level == RuleLevel::kShould) {
      test.outputs.emplace_back("findings", std::move(lines));
    } else if (first != nullptr) {
      test.outcome = text::JunitOutcome::kFailure;
      test.type = "MUST";
      test.message = fmt::format("{}: client {}: {}", rule.id, client_of(*first),
                                 text::one_line(text::printable(first->because)));
      test.text = std::move(lines);
    }
    suite.cases.push_back(std::move(test));
  }
  for (const CommandEnd& end : judged.commands) {
    text::JunitCase test{.name = "command", .classname = "statestore.clients"};
    if (end.exit_code != 0) {
      test.outcome = text::JunitOutcome::kFailure;
      test.type = "command";
      test.message = fmt::format("{} ended with exit code {}", command_text(end), end.exit_code);
    }
    suite.cases.push_back(std::move(test));
  }
  return text::junit({suite});
}

}  // namespace fencepost::client_report
