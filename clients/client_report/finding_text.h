// The words that all reports of judged clients have in common. Private to client_report/. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "clients/client_report/client_report.h"
#include "clients/finding.h"
#include "clients/judge.h"
#include "clients/rules.h"

namespace fencepost::client_report {

// "must", "should"
[[nodiscard]] std::string_view level_name(const clients::Rule& rule);
// "PUBLISH"; the finding has a packet.
[[nodiscard]] std::string packet_name(const clients::Finding& finding);
// Its id in quotes, or which connection it is of.
[[nodiscard]] std::string client_of(const clients::Finding& finding);
// 2026-11-23T12:00:00.000000Z
[[nodiscard]] std::string time_text(clients::Time at);
// How often the rule was broken.
[[nodiscard]] std::size_t times(const clients::Tally& tally, const clients::Rule& rule);
// As a shell would take it, in one line.
[[nodiscard]] std::string command_text(const CommandEnd& end);

}  // namespace fencepost::client_report
