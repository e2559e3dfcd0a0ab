// What a case leaves in the store, and how it is removed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/run/client_pool.h"

namespace fencepost::run {

// The keys that a case has written and not removed.
struct WrittenKeys {
  std::vector<std::string> keys{};     // each once
  std::optional<std::string> token{};  // a fencing token that the store takes for all of them
  std::string client_id{};             // of the client that removes them: nobody else's
  endpoint::Duration timeout{0};       // how long the replies are waited for, all together

  [[nodiscard]] bool empty() const { return keys.empty(); }
};

// Sends a DEL for each key, from a client of `pool` (null: from a connection of its own), and waits
// for the replies, at most `written.timeout`. A DEL that is refused with the token is repeated
// without, which is waited for as long again (FT-OPEN-2). Failures are ignored: a key that stays
// has the prefix of its run, by which its owner can find it. Blocks; as thread safe as the session.
void remove_keys(endpoint::Session& session, const WrittenKeys& written,
                 ClientPool* pool = nullptr);

}  // namespace fencepost::run
