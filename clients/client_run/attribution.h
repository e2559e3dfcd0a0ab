// Which rule a client breaks that has failed a step: that of what it sent wrongly, or that of the
// reply which it has not understood. So a failure is not attributed to a rule only because the case
// names it.
//
//   charge::of_reply({.command = {.kind = CommandKind::kGet}, .expected = {missing}})  ->
//       GET-MISS-1
//
// Answers are ids of the catalogue. A case that cites a rule at a step knows better what the step
// is for. Pure; thread safe.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "clients/client_run/adapter_protocol.h"
#include "clients/client_run/client_case.h"

namespace fencepost::client_run::attribution {

// The expected request has not come, but these requests, which were not expected: the rule
// of the option, the argument or the bytes in which the nearest of them differs. Without any, the
// rule that says how the request is sent.
[[nodiscard]] std::string_view of_request(const Command& wanted,
                                          const std::deque<std::string>& others);

// The token of the command was not sent, or a different one was.
[[nodiscard]] std::string_view of_token(CommandKind command);

// What is unusual about the reaction of the broker to the request: the rule that a client needs to
// cope with it. Nothing: a conforming store answers so. Empty: it is unusual, and no rule follows
// from it.
[[nodiscard]] std::optional<std::string_view> of_answer(const CommandStep& step);

// The result of a command is not what the reply says. `report`: what was reported; nothing: none.
// Empty: no rule follows from the step, which has to cite one.
[[nodiscard]] std::string_view of_reply(const CommandStep& step, const Report* report);

// The version that was reported is not that of the reply.
[[nodiscard]] std::string_view of_version(ResultKind reported);

// The next notification is a different one, or (kMissing) none. `observed`: is its key observed?
// `is_later`: it is right, but not the next one.
struct ReceivedNotification {
  const Report& report;
  bool observed = false;
  bool is_later = false;
};
[[nodiscard]] std::string_view of_notification(const NotificationStep& wanted,
                                               const ReceivedNotification& notification);

// What a step that is not a command does to a client: the rule that it needs to cope with it.
// Nothing: nothing unusual.
[[nodiscard]] std::optional<std::string_view> of_event(const Step& step);

// A rule for every failure of the step: does one follow from it, or is one cited?
[[nodiscard]] bool is_attributed(const Step& step);

// The rules that a failure of the case can be attributed to: those that it names, that its steps
// cite, and that follow from its steps.
[[nodiscard]] std::set<std::string, std::less<>> rules_of(const ClientCase& test_case);

}  // namespace fencepost::client_run::attribution
