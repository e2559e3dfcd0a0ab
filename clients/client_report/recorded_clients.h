// Recorded traffic of clients, given to the judge of clients: the bytes of a packet capture, or the
// messages of a log, from which packets are made up as far as the log says what was in them.
//
//   clients::Judge judge(options_for(capture, "StateStore"));
//   judge_messages(capture, judge);
//
// Pure.
#pragma once

#include <string>

#include "clients/judge.h"
#include "traffic/record/capture.h"
#include "traffic/record/capture_tcp.h"

namespace fencepost::client_report {

// The next event of a capture.
void judge_event(const record::TcpEvent& event, clients::Judge& judge);

// What a log says of the store that it is of, whose versions have this node id.
[[nodiscard]] clients::JudgeOptions options_for(const record::Capture& log, std::string node_id);

// All messages of a log. What it does not say (subscriptions, identifiers, DUP, PUBACKs, sessions,
// whether a client has received a message) is made up so that no rule is broken by it.
void judge_messages(const record::Capture& log, clients::Judge& judge);

}  // namespace fencepost::client_report
