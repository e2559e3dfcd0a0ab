// What the clients of a case have changed: whose change a notification tells of, so that one that
// does not come can be told from one that need not.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/notification.h"
#include "conformance/judge/exchange.h"
#include "conformance/judge/mismatch.h"
#include "endpoint/endpoint.h"

namespace fencepost::run {

// Of one case, used by one thread.
class ChangeLog {
 public:
  // Notes what the reply says that this request of `client_id` has changed.
  void note(const judge::Exchange& exchange, const std::string& client_id);

  // What an observer is to be told of.
  struct Told {
    std::string observer;  // client id
    std::string key;
    codec::Operation operation = codec::Operation::kSet;
    std::optional<std::string> value{};  // nothing: any
  };
  // What made the oldest change that fits and that `told.observer` has not been told of; from then
  // on it has. kUnknown when there is none. `now` is on the session's clock.
  judge::Cause take(const Told& told, endpoint::Duration now);
  // Is there still such a change?
  [[nodiscard]] bool has(const Told& told, endpoint::Duration now) const;

 private:
  struct Change {
    std::string key;
    codec::Operation operation;
    std::string value;
    std::string writer;  // client id; empty for an expiry
    // An expiry has not happened before.
    endpoint::Duration from{0};
    std::set<std::string> told{};  // client ids
  };

  [[nodiscard]] static bool fits(const Change& change, const Told& told, endpoint::Duration now);

  std::vector<Change> changes_;  // the oldest first
};

}  // namespace fencepost::run
