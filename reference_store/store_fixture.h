// Test only: a Store whose clocks move when a test says so, and one line per request.
//
//   SteppedStore store;
//   store.observe("o", "k");
//   const Answer set = store.set("k", "v", {.px = 100ms});
//   EXPECT_EQ(set.reply, "OK");
//   EXPECT_THAT(set.events, ElementsAre(set_event("o", "k", "v", set.version)));
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "codec/command.h"
#include "hlc/hlc.h"
#include "reference_store/store.h"

namespace fencepost::hlc {

inline void PrintTo(const Timestamp& timestamp, std::ostream* os) {
  *os << escape(format(timestamp, Padding::kNone));
}

}  // namespace fencepost::hlc

namespace fencepost::store {

inline constexpr std::uint64_t kNoon = 1'696'374'425'000;  // where the wall clock begins

// The text of a timestamp `offset_ms` from noon.
inline std::string at(std::int64_t offset_ms, std::uint64_t counter = 0,
                      std::string node = "Client1") {
  const std::uint64_t wall_ms = kNoon + static_cast<std::uint64_t>(offset_ms);
  return hlc::format({wall_ms, counter, std::move(node)}, hlc::Padding::kNone);
}

// What a request did, in words.
struct Answer {
  std::string reply;  // "OK", "not applied", "value v", "missing", "count 1", "error token-lower"
  std::optional<hlc::Timestamp> version{};
  std::vector<std::string> events{};  // as set_event() and delete_event() spell them

  friend bool operator==(const Answer&, const Answer&) = default;
};

// The events as Answer spells them. A version that is missing shows as such, so that a test which
// expects one fails.
inline std::string set_event(std::string_view client, std::string_view key, std::string_view value,
                             const std::optional<hlc::Timestamp>& version) {
  return std::string(client) + " SET " + escape(key) + " " + escape(value) + " " +
         (version ? escape(hlc::format(*version)) : "without version");
}

inline std::string delete_event(std::string_view client, std::string_view key,
                                const std::optional<hlc::Timestamp>& version) {
  return std::string(client) + " DELETE " + escape(key) + " " +
         (version ? escape(hlc::format(*version)) : "without version");
}

inline std::vector<std::string> describe(const std::vector<Event>& events) {
  std::vector<std::string> out;
  for (const Event& event : events) {
    out.push_back(event.operation == codec::Operation::kSet
                      ? set_event(event.client_id, event.key, event.value, event.version)
                      : delete_event(event.client_id, event.key, event.version));
  }
  return out;
}

inline std::string describe(const codec::Reply& reply) {
  switch (reply.kind) {
    case codec::ReplyKind::kOk:
      return "OK";
    case codec::ReplyKind::kNotApplied:
      return "not applied";
    case codec::ReplyKind::kValue:
      return "value " + std::string(reply.value);
    case codec::ReplyKind::kMissing:
      return "missing";
    case codec::ReplyKind::kCount:
      return "count " + std::to_string(reply.count);
    case codec::ReplyKind::kError:
      return "error " + std::string(name(reply.error));
  }
  return "unknown";
}

// What a request carries in addition to its key and value.
struct SetOptions {
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<std::chrono::milliseconds> px{};
  std::optional<std::string> timestamp =
      "now";  // "now" stands for the store's wall clock, counter 0
  std::optional<std::string> token{};
  std::string client = "writer";
};

class SteppedStore {
 public:
  explicit SteppedStore(StoreOptions options = {}) : store_(std::move(options)) {}

  // Time passes: both clocks advance.
  void step(std::chrono::microseconds by) {
    now_.steady += by;
    now_.wall_ms = kNoon + static_cast<std::uint64_t>(wall_offset_ms_ + now_.steady.count() / 1000);
  }

  // Somebody sets the wall clock.
  void set_wall(std::int64_t offset_ms) {
    wall_offset_ms_ += offset_ms;
    step(std::chrono::microseconds{0});
  }

  [[nodiscard]] const Instant& now() const { return now_; }
  Store& operator*() { return store_; }
  Store* operator->() { return &store_; }

  Answer apply(const codec::Command& command, const SetOptions& with) {
    std::optional<std::string> timestamp = with.timestamp;
    if (timestamp == "now") timestamp = hlc::format({now_.wall_ms, 0, "Client1"});
    std::vector<Event> events;
    const Outcome outcome = store_.apply({.client_id = with.client},
                                         {.command = command,
                                          .timestamp = timestamp ? &*timestamp : nullptr,
                                          .token = with.token ? &*with.token : nullptr},
                                         now_, events);
    return {describe(outcome.reply), outcome.version, describe(events)};
  }

  Answer set(std::string_view key, std::string_view value, const SetOptions& with = {}) {
    return apply({.verb = codec::Verb::kSet,
                  .key = key,
                  .value = value,
                  .condition = with.condition,
                  .expires_after = with.px},
                 with);
  }
  Answer get(std::string_view key, const SetOptions& with = {.timestamp = std::nullopt}) {
    return apply({.verb = codec::Verb::kGet, .key = key}, with);
  }
  Answer del(std::string_view key, const SetOptions& with = {.timestamp = std::nullopt}) {
    return apply({.verb = codec::Verb::kDel, .key = key}, with);
  }
  Answer vdel(std::string_view key, std::string_view value,
              const SetOptions& with = {.timestamp = std::nullopt}) {
    return apply({.verb = codec::Verb::kVdel, .key = key, .value = value}, with);
  }
  Answer observe(std::string_view client, std::string_view key) {
    return apply({.verb = codec::Verb::kKeynotify, .key = key},
                 {.timestamp = std::nullopt, .client = std::string(client)});
  }
  Answer stop(std::string_view client, std::string_view key) {
    return apply({.verb = codec::Verb::kKeynotify, .key = key, .stop = true},
                 {.timestamp = std::nullopt, .client = std::string(client)});
  }
  // What a timer does: no request, only time.
  std::vector<std::string> expire() {
    std::vector<Event> events;
    store_.expire(now_, events);
    return describe(events);
  }

 private:
  Store store_;
  Instant now_{.wall_ms = kNoon, .steady = std::chrono::microseconds{0}};
  std::int64_t wall_offset_ms_ = 0;
};

}  // namespace fencepost::store
