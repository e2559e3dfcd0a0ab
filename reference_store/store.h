// The model of a state store: typed requests in, typed outcomes out. State and rules only: no
// bytes, no I/O, no threads, and the time is an argument.
//
//   Store store({.node_id = "StateStore"});
//   std::vector<Event> events;
//   Outcome outcome =
//       store.apply({.client_id = "c"}, {.command = set, .timestamp = &ts}, now, events);
//
// Where the article leaves a point open, docs/PROTOCOL_DECISIONS.md says what this store does and
// why. Not thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codec/command.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "hlc/hlc.h"
#include "reference_store/authorization.h"
#include "reference_store/rules.h"

namespace fencepost::store {

struct StoreOptions {
  std::string node_id = "StateStore";  // in every version; neither empty nor with a colon
  std::size_t quota = 0;               // keys; 0 means no limit
  // The limit in this machine's memory; 0: no limit. What is beyond it is refused like what is
  // beyond the quota.
  std::size_t max_bytes = 0;          // of all keys and values, with kBytesOfAKey for each
  std::size_t max_registrations = 0;  // of one client
  Authorization authorization{};      // by default everybody may do everything
  Rules rules{};                      // by default those of the protocol
};

// What a key takes in memory beside its bytes, about.
inline constexpr std::size_t kBytesOfAKey = 256;

struct Request {
  const codec::Command& command;
  const std::string* timestamp = nullptr;  // text of `__ts`, null when absent; only SET reads it
  const std::string* token =
      nullptr;  // text of `__ft`, null when absent; SET, DEL and VDEL read it
};

struct Outcome {
  codec::Reply reply;  // reply.value lives until the next call that is not const
  std::optional<hlc::Timestamp> version{};  // what the `__ts` of the response carries, if anything
};

// A change of a key, for one of its observers.
struct Event {
  std::string client_id;
  std::string key;
  codec::Operation operation = codec::Operation::kSet;
  std::string value{};       // kSet: the new value
  hlc::Timestamp version{};  // of the new value, or of the one that was deleted
};

// What a store holds of a key.
struct Holding {
  std::string_view key;
  std::string_view value;
  hlc::Timestamp version{};
  std::optional<hlc::Timestamp> token{};
  std::optional<std::chrono::microseconds> deadline{};  // on the steady clock; nothing: no expiry
};

// Who keeps elsewhere what a store holds, such as on a disk.
class Journal {
 public:
  Journal() = default;
  virtual ~Journal() = default;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  virtual void on_held(const Holding& holding) = 0;
  // Deleted or expired. Of such a key nothing stays but what the clock has counted.
  virtual void on_gone(std::string_view key) = 0;
};

class Store {
 public:
  explicit Store(StoreOptions options = {});

  // Applies a request. Keys whose time has come are removed first. `events` receives, in order, the
  // notifications that expiry and the request cause. A refused request changes nothing.
  Outcome apply(const Caller& caller, const Request& request, const Instant& now,
                std::vector<Event>& events);

  // Removes the keys whose time has come, earliest first. (Req: SET-PX-1)
  void expire(const Instant& now, std::vector<Event>& events);

  // When the next key expires, on the steady clock; nothing when none will.
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const;

  // Forgets all registrations of a client whose connection has ended, in a time that grows with
  // their number. (Req: LIFE-DISCONNECT-1)
  void disconnect(std::string_view client_id);

  // Takes over the keys, the observers and the clock of another store, which is empty then. What
  // was here is gone; options and rules stay.
  void take_state(Store& from);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  // From now on the keys that change are noted.
  void note_changes() { notes_changes_ = true; }
  [[nodiscard]] bool has_changes() const { return !changed_.empty(); }
  // Reports the keys that have changed since the last call, as they are now, in the order of their
  // changes; some more than once.
  void report_changes(Journal& journal);
  // The newest version given out; wall clock and counter 0 before the first.
  [[nodiscard]] const hlc::Timestamp& last_version() const { return clock_.last(); }

  // Puts back what another store has reported: no rule and no limit apply, and nobody is notified.
  void restore(const Holding& holding);
  // All versions given out from now on are newer than `last`, of any node.
  void restore_clock(const hlc::Timestamp& last);

 private:
  friend class Tamper;  // faults/tamper.h: breaks a store on purpose

  // Not noexcept, so that libstdc++ keeps the hash of each key beside it: a key may be a MiB.
  struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <typename T>
  using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;
  using Deadlines = std::multimap<std::chrono::microseconds, std::string>;

  struct Entry {
    std::string value;
    hlc::Timestamp version;
    std::optional<hlc::Timestamp> token;
    std::optional<Deadlines::iterator> deadline;
    std::size_t bytes = 0;  // that count for max_bytes
  };

  Outcome set(const Request& request, const Instant& now, std::vector<Event>& events);
  Outcome get(const codec::Command& command) const;
  Outcome remove(const Request& request, const Instant& now, std::vector<Event>& events);
  Outcome keynotify(const Caller& caller, const codec::Command& command);
  Outcome stop(const Caller& caller, const codec::Command& command);

  using Entries = StringMap<Entry>;

  // Creates or overwrites: `found` is where the key was found.
  void store(Entries::iterator found, Holding holding);
  void note_change(std::string_view key) {
    if (notes_changes_) changed_.emplace_back(key);
  }
  [[nodiscard]] bool has_memory_for(const codec::Command& command, const Entry* entry) const;
  void erase(Entries::iterator found);
  void unregister(std::string_view key, std::string_view client_id);
  void notify(std::string_view key, codec::Operation operation, std::string_view value,
              const hlc::Timestamp& version, std::vector<Event>& events) const;

  StoreOptions options_;
  hlc::Clock clock_;
  Entries entries_;
  Deadlines deadlines_;
  std::size_t bytes_ = 0;                          // of all entries
  StringMap<std::vector<std::string>> observers_;  // key -> client ids, in order of registration
  StringMap<std::unordered_set<std::string>> registrations_;  // client id -> keys
  bool is_tampered_with_ = false;                             // then `registrations_` may lack some
  bool notes_changes_ = false;
  std::vector<std::string> changed_;  // keys, since they were reported
};

}  // namespace fencepost::store
