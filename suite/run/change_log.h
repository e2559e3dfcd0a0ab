// What the clients of a case have changed: whose change a notification is of, so that one that
// is missing can be distinguished from one that need not come.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/notification.h"
#include "endpoint/endpoint.h"
#include "suite/judge/exchange.h"
#include "suite/judge/mismatch.h"

namespace fencepost::run {

// For one case, used by one thread.
class ChangeLog {
 public:
  // Notes what the reply says that this request of `client_id` has changed.
  void note(const judge::Exchange& exchange, const std::string& client_id);

  // A notification that an observer has received, or is to receive.
  struct Notification {
    std::string observer;  // client id
    std::string key;
    codec::Operation operation = codec::Operation::kSet;
    std::optional<std::string> value{};  // nothing: any
  };
  // What made the oldest change that fits and of which `wanted.observer` has not been notified;
  // from then on it has. kUnknown when there is none. `now` is on the session's clock.
  judge::Cause take(const Notification& wanted, endpoint::Duration now);
  // The same of an expiry of `key`, if there was one at most `most_late` ago of which this observer
  // has not been notified. False, and nothing is noted, when there is none.
  bool take_expiry(const std::string& observer, std::string_view key, endpoint::Duration now,
                   endpoint::Duration most_late);
  // What take() returned was not notified: it still may be.
  void give_back(const Notification& wanted, endpoint::Duration now);
  // Is there still such a change?
  [[nodiscard]] bool has(const Notification& wanted, endpoint::Duration now) const;
  // Has a STOP been answered that is not of this observer and this key? Req: NTF-STOP-2
  // Has the client sent a STOP for any key?
  [[nodiscard]] bool has_stop_of(const std::string& observer) const;
  [[nodiscard]] bool has_other_stop(const std::string& observer, std::string_view key) const;
  // Had the key been deleted, or expired, before the last SET that is noted?
  [[nodiscard]] bool is_set_again(std::string_view key, endpoint::Duration now) const;

 private:
  struct Change {
    std::string key;
    codec::Operation operation;
    std::string value;
    std::string writer;  // client id; empty for an expiry
    // An expiry has not happened before.
    endpoint::Duration from{0};
    std::set<std::string> notified{};  // client ids
  };

  [[nodiscard]] static bool fits(const Change& change, const Notification& wanted,
                                 endpoint::Duration now);

  std::vector<Change> changes_;                          // the oldest first
  std::set<std::pair<std::string, std::string>> stops_;  // client id, key
};

}  // namespace fencepost::run
