// A second model of the store, deliberately naive: a list of keys that is searched from the front,
// expiry looked at before each access, timestamps compared field by field. It was written from the
// protocol documents and docs/PROTOCOL_DECISIONS.md alone, shares no code with reference_store/,
// and says of each operation what has to come back.
//
//   NaiveModel model({.clients = {"a", "b", "c", "d"}});
//   const Prediction& expected = model.apply({.index = i, .operation = op, .timestamp = ts,
//                                             .token = ft, .now = now});
//
// Where the article leaves a point open, the prediction is what the reference store decided, and
// names the requirement that leaves it open: a judge of another store is lenient there.
//
// Dialect-independent but for NaiveOptions::fractional_expiry. Not thread safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/error_code.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "hlc/hlc.h"
#include "workload/operation.h"
#include "workload/rendering.h"
#include "workload/testing/naive_reader.h"

namespace fencepost::workload {

// A reading of the store's two clocks.
struct Clocks {
  std::uint64_t wall_ms = 0;            // since the Unix epoch; versions come from it
  std::chrono::microseconds steady{0};  // expiry is measured on it
};

// A client that may read (GET, KEYNOTIFY) and write (SET, DEL, VDEL) no keys but these.
struct Restriction {
  std::uint8_t client = 0;
  std::vector<std::string> readable{};
  std::vector<std::string> writable{};
};

struct NaiveOptions {
  std::string node_id = "StateStore";
  std::size_t quota = 0;                                   // keys; 0 means no limit
  std::array<std::string, kClients> clients{};             // their ids; only the lengths matter
  std::array<std::string, kKeys> keys = workload::keys();  // what the keys of operations are called
  std::vector<Restriction> restrictions{};                 // clients without one may do everything
  bool fractional_expiry = true;  // PX takes a decimal fraction: codec::Dialect::fractional_expiry
};

// One thing that happens.
struct Step {
  std::size_t index = 0;  // of the operation in its trace
  const Operation& operation;
  const Offered& timestamp;
  const Offered& token;
  Clocks now{};  // when the store handles it; after a wait or wall step, not before
};

struct ExpectedNotification {
  std::uint8_t client = 0;
  std::string key{};
  codec::Operation operation = codec::Operation::kSet;
  std::string value{};       // kSet
  hlc::Timestamp version{};  // of the new value, or of the one that was deleted
  std::size_t origin = 0;    // index of the operation that made the version
  std::string_view open{};   // the requirement that leaves open whether it comes, or comes once
  std::string_view version_open{};  // ... what version it carries
};

// What has to come back for an operation. Operations that are no requests have no reply.
struct Prediction {
  codec::ReplyKind kind = codec::ReplyKind::kOk;
  std::string value{};                                 // kValue
  std::int64_t count = 0;                              // kCount
  codec::ErrorCode error = codec::ErrorCode::kSyntax;  // kError
  std::optional<hlc::Timestamp> version{};             // the `__ts` of the response
  std::size_t origin = 0;                              // index of the operation that made it
  bool fresh = false;                                  // made by this operation
  std::string_view open{};          // the requirement that leaves the reply open; else empty
  std::string_view version_open{};  // ... presence or meaning of the version
  // In order, those of keys that expired first. (Req: NTF-ORDER-1)
  std::vector<ExpectedNotification> notifications{};
};

struct KeyState {
  std::string key{};
  std::string value{};
  hlc::Timestamp version{};
  std::size_t origin = 0;
  std::optional<hlc::Timestamp> token{};
  std::optional<std::chrono::microseconds> remaining{};  // until it expires
  std::string_view token_open{};   // the requirement that leaves open which token it holds
  std::string_view expiry_open{};  // ... whether it expires, and so exists
};

struct Observer {
  std::uint8_t client = 0;
  std::string key{};
};

class NaiveModel {
 public:
  explicit NaiveModel(NaiveOptions options);

  // Performs the next step. The prediction lives until the next call.
  const Prediction& apply(const Step& step);

  // What relative timestamps of an operation relate to. The pointers live until the next call that
  // is not const.
  [[nodiscard]] Bases bases(const Stamp& stamp, const Operation& operation, std::uint64_t now_ms,
                            std::uint64_t start_ms) const;

  // Everything back to the start, memory kept.
  void clear();

  // Keys in no particular order, those expired left out; registrations in the order they were made.
  [[nodiscard]] std::vector<KeyState> state(const Clocks& now) const;
  [[nodiscard]] std::vector<Observer> observers() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // When the next key expires, on the steady clock; nothing when none will.
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const;

 private:
  struct Entry {
    std::string key;
    std::string value;
    hlc::Timestamp version;
    std::size_t origin = 0;
    bool fenced = false;
    hlc::Timestamp token;
    std::optional<std::chrono::microseconds> deadline;
    std::uint64_t deadline_number = 0;  // the earlier of two equal deadlines was set first
    std::string_view token_open;        // the requirement that leaves open which token it holds
    std::string_view expiry_open;       // ... whether it expires
  };
  struct Registration {
    std::uint8_t client;
    std::string key;
    bool repeated;
  };
  void request(const Step& step, const Wanted& wanted);
  void name_what_is_ignored(const Step& step, const Wanted& wanted);
  void set(const Step& step, const Wanted& wanted);
  void get(const Wanted& wanted);
  void remove(const Step& step, const Wanted& wanted);
  void keynotify(const Step& step, const Wanted& wanted);
  void stop(const Step& step, const Wanted& wanted);

  void write(const Step& step, const Wanted& wanted, Entry* entry);
  bool bad_timestamp(const Step& step);
  bool bad_token(const Step& step, const Wanted& wanted, const Entry* entry);
  static bool has_newer_token(const Step& step, const Entry& entry);
  bool fenced_off(const Step& step, const Entry& entry);
  bool refuse(codec::ErrorCode error, std::string_view open = {});
  void answer(codec::ReplyKind kind, std::int64_t count = 0);
  void name_version(const Entry& entry, std::string_view open = {});
  hlc::Timestamp next_version(const hlc::Timestamp& request, std::uint64_t wall_ms);

  void expire(const Clocks& now);
  void notify(const Entry& entry, codec::Operation operation, std::string_view open,
              std::string_view version_open);
  [[nodiscard]] bool full() const;
  Entry* find(std::string_view key);
  [[nodiscard]] const Entry* find(std::string_view key) const;
  void erase(const Entry* entry);
  [[nodiscard]] bool denied(std::uint8_t client, const Wanted& wanted) const;

  NaiveOptions options_;
  std::vector<Entry> entries_;
  std::vector<Registration> registrations_;
  std::uint64_t clock_wall_ms_ = 0;  // the greatest version made, but for the node
  std::uint64_t clock_counter_ = 0;
  std::uint64_t deadlines_set_ = 0;
  NaiveReader reader_;
  Prediction prediction_;
};

}  // namespace fencepost::workload
