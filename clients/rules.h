// The rules that apply to clients and that show in their packets: those of the catalogue by their
// ids, and those of MQTT 5 by the numbers of its conformance statements. The sentences of the first
// are in the catalogue, which marks them as judged of clients; client_report has both.
#pragma once

#include <span>
#include <string_view>

namespace fencepost::clients {

enum class RuleLevel { kMust, kShould };

struct Rule {
  std::string_view id;  // ENV-QOS-2 of the catalogue, or MQTT-3.3.1-1
  RuleLevel level = RuleLevel::kMust;
  std::string_view text{};  // of MQTT 5: what a client does, in a sentence. Else empty
};

// All of them, in the order of pages.
[[nodiscard]] std::span<const Rule> rules();

// The id has to be one of the table.
[[nodiscard]] const Rule& rule(std::string_view id);

// Is it one of the standard, and not of the catalogue?
[[nodiscard]] bool is_of_mqtt(const Rule& rule);

}  // namespace fencepost::clients
