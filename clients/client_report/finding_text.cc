#include "clients/client_report/finding_text.h"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text/printable.h"

namespace fencepost::client_report {

using clients::Finding;
using clients::Rule;
using clients::RuleLevel;

std::string_view level_name(const Rule& rule) {
  return rule.level == RuleLevel::kMust ? "must" : "should";
}

std::string packet_name(const Finding& finding) {
  constexpr std::array kNames = {"packet",    "CONNECT",  "CONNACK",     "PUBLISH",
                                 "PUBACK",    "PUBREC",   "PUBREL",      "PUBCOMP",
                                 "SUBSCRIBE", "SUBACK",   "UNSUBSCRIBE", "UNSUBACK",
                                 "PINGREQ",   "PINGRESP", "DISCONNECT",  "AUTH"};
  return kNames.at(static_cast<unsigned char>(finding.packet.front()) >> 4U);
}

std::string client_of(const Finding& finding) {
  if (!finding.client_id.empty()) return '"' + escape(finding.client_id, 200) + '"';
  return fmt::format("of connection {}", finding.connection);
}

std::string time_text(clients::Time at) {
  const std::time_t seconds = at.count() / 1'000'000;
  std::tm broken_down{};
  gmtime_r(&seconds, &broken_down);
  std::array<char, 32> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &broken_down);
  return fmt::format("{}.{:06}Z", std::string_view(text.data(), size), at.count() % 1'000'000);
}

std::size_t times(const clients::Tally& tally, const Rule& rule) {
  const auto found = tally.broken.find(rule.id);
  return found == tally.broken.end() ? 0 : found->second;
}

std::string command_text(const CommandEnd& end) {
  std::string out;
  for (const std::string& word : end.command) {
    out += (out.empty() ? "" : " ") + text::shell_word(word);
  }
  return text::one_line(text::printable(out));
}

}  // namespace fencepost::client_report
