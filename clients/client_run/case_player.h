// Plays one case with an adapter, and judges: what went over the network, and what it has reported.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clients/client_run/adapter_process.h"
#include "clients/client_run/adapter_protocol.h"
#include "clients/client_run/client_case.h"
#include "clients/finding.h"

namespace fencepost::client_run {

struct PlayOptions {
  codec::DialectId dialect = codec::DialectId::kDeployed;
  Milliseconds timeout{5'000};              // that an SDK waits for a reply, unless a case says
  Milliseconds grace{5'000};                // beyond which it counts as hung
  const std::atomic<bool>* stop = nullptr;  // set: ends the case, whose result is of no use then
};

// Something that is not as it has to be.
struct ClientProblem {
  std::string requirement{};  // an id of the catalogue, or a statement of MQTT 5
  std::string sentence{};     // of a rule of the judge of clients; empty: the catalogue has it
  std::string step{};         // e.g. `step 2, get "k"`; empty: it is about the connection
  scenario::Position position{};
  std::string expected{};  // empty: what the rule says
  std::string actual{};
};

struct PlayResult {
  std::vector<ClientProblem> problems{};
  // Its adapter has written what is no result: nothing is said of the client.
  std::string adapter_error{};
  std::string suite_error{};  // of our own: it could not be played, and says nothing of the client
  std::vector<clients::Finding> advice{};  // broken rules of level should
  std::deque<std::string> wire{};          // packets, a line each: the last ones
  std::vector<std::string> reports{};      // what the adapter has said, a line each
  std::string last_words{};                // of an adapter that is gone, or hangs
  bool adapter_is_lost = false;            // it has to be started again
  std::chrono::milliseconds time{};
};

// `number`: of the case in the run, for the client id. The adapter is left without a connection.
[[nodiscard]] PlayResult play_case(const ClientCase& test_case, AdapterProcess& adapter,
                                   const Greeting& greeting, const PlayOptions& options,
                                   std::size_t number);

}  // namespace fencepost::client_run
