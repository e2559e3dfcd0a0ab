// What captured traffic says of keys: how the case calls them, how they were before the capture
// began, and how they are at each moment. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/command.h"
#include "codec/reply.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

// A request and its reply, typed.
struct ReadExchange {
  std::vector<std::string_view> arguments{};   // none: it is no command
  std::optional<codec::Command> command{};     // of a request that is right
  std::optional<codec::DecodedReply> reply{};  // of one that is well formed
  std::optional<codec::ErrorCode> error{};     // of an error reply
  [[nodiscard]] std::string_view key() const;  // empty: it has none
  // The one that it names, whether the rest is right or not.
  [[nodiscard]] std::optional<codec::Verb> verb() const;
  [[nodiscard]] bool answered(codec::ReplyKind kind) const { return reply && reply->kind == kind; }
  [[nodiscard]] bool refused(codec::ErrorCode code) const { return error == code; }
  // Does such a reply come only while the key is there, or only when it is gone?
  [[nodiscard]] bool shows_key() const;
  [[nodiscard]] bool shows_gone() const;
};
[[nodiscard]] ReadExchange read(const TimelineItem& exchange);

// A key when the capture began.
struct KeyBeginning {
  bool exists = false;
  std::optional<std::string> value{};  // when it was seen
  bool fenced = false;
  bool fenced_high = false;           // with a greater token than was offered
  std::set<std::string> observers{};  // clients
};

// What is certain from the traffic. `from_start`: nothing existed.
[[nodiscard]] std::map<std::string, KeyBeginning> beginnings(
    const std::vector<const TimelineItem*>& items, bool from_start);

// A name of the case for each key, in the order in which they were seen.
[[nodiscard]] std::map<std::string, std::string> key_names(
    const std::vector<const TimelineItem*>& items);

struct KeyNow {
  bool exists = false;
  bool fenced = false;
  bool expired = false;                       // it does not exist because its time had passed
  std::optional<std::string> last_version{};  // the name under which it is saved
  // The SET that gave it its time, while it has one.
  std::optional<std::chrono::milliseconds> expires_after{};
  std::chrono::microseconds sent{0};
  std::chrono::microseconds received{0};
  std::string mark{};
  std::set<std::string> observers{};
  std::set<std::string> pending_observers{};  // may still be notified that it is gone
};

// Carries an exchange over into the state of its key.
void follow(KeyNow& key, const TimelineItem& exchange, const ReadExchange& read);

// The key is gone: removed, or its time has passed.
void remove(KeyNow& key, bool expired);

}  // namespace fencepost::record
