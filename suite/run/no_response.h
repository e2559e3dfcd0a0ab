// What has become of a reply or a notification that did not come in time: did the store leave it
// out, or does the store, its broker, the network or this machine stand still? Only the first
// breaks a rule.
#pragma once

#include <functional>
#include <optional>

#include "codec/command.h"
#include "suite/run/case_state.h"
#include "suite/run/request_client.h"

namespace fencepost::run {

enum class NoResponse {
  kEnded,    // what was waited for has come after all, or the connection has ended
  kLeftOut,  // a later request of this client was answered: there is nothing on its way
  kClient,   // another client is answered, and this one is not
  kStore,    // nobody is answered: this proves nothing
};

// Where to ask whether the endpoint still answers.
struct Probing {
  endpoint::Session& session;
  std::string key{};                     // that nobody writes
  std::string witness{};                 // the id of another client, not in use
  endpoint::Duration reply_timeout{};    // of a reply
  endpoint::Duration standstill{};       // how long all may stand still
  endpoint::Duration grace{};            // for what a later reply has overtaken, at least
  std::optional<Recording> recording{};  // of the other client
};

// Sends a later request on the same connection, and one from a client of its own, and waits up to
// Probing::standstill for the first to be answered. `done`: what was waited for is there.
// `unanswered`: the verb of the request without a reply, if it is one; others are used for
// requests.
[[nodiscard]] NoResponse explain_no_response(RequestClient& client,
                                             const std::function<bool()>& done,
                                             std::optional<codec::Verb> unanswered,
                                             const Probing& probing);
// The same for a client of a case, which notes it.
[[nodiscard]] NoResponse explain_no_response(RequestClient& client,
                                             const std::function<bool()>& done,
                                             std::optional<codec::Verb> unanswered,
                                             CaseState& state);

// "nothing within 2000 ms", for people.
[[nodiscard]] text::Phrase nothing_within(endpoint::Duration time);

// Nobody was answered: decides nothing, unless the endpoint turns out to be gone.
[[nodiscard]] Problem nobody_answers(text::Phrase message, text::Phrase expected,
                                     const CaseState& state);

}  // namespace fencepost::run
