// Which notifications clients are to receive, or may, and whether those that come are among them.
//
// What a request changes is known from its reply, but its notification may arrive before the reply,
// may be open (NTF-SEND-OPEN-1), and the expiry of a key has no request at all. So each change is
// queued as certain or possible, and judged when a notification comes, or when one that was certain
// can no longer come.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codec/notification.h"
#include "hlc/hlc.h"
#include "suite/judge/judgement.h"
#include "suite/judge/key_table.h"
#include "suite/judge/oracle_basis.h"

namespace fencepost::judge {

// A notification that a client is to receive, or may.
struct PendingNotification {
  std::string key{};
  codec::Operation operation = codec::Operation::kSet;
  std::optional<std::string> value{};       // nothing: unknown
  std::optional<hlc::Timestamp> version{};  // of the value that was set, or deleted
  std::chrono::microseconds from{0};        // not before this
  std::chrono::microseconds known_at{0};    // the change had been made by then
  bool certain = true;
  bool outlives = false;      // the client has ended its connection since; it may come after all
  std::string_view writer{};  // the client that has made the change; empty: nobody, or not known
  std::string_view rule{};
};

// A notification as it was read.
struct ReceivedNotification {
  std::string_view client_id;
  std::string_view key;
  bool set = false;  // else a deletion
  std::optional<std::string_view> value{};
  std::optional<hlc::Timestamp> version{};
  std::chrono::microseconds at{0};
};

// For one store, used by one thread.
class NotificationJudge {
 public:
  // `basis` must outlive it.
  explicit NotificationJudge(const OracleBasis& basis) : basis_(basis) {}

  // Each client that observes the key, or may, is to receive `change`; its key is filled in.
  void expect(KeyKnowledge& key, std::string_view key_name, const PendingNotification& change);

  // Judges a notification of the key, and keeps the states in which it may have been sent.
  [[nodiscard]] Judgement judge(KeyKnowledge& key, const ReceivedNotification& received,
                                const Observation& observation, bool repeats_the_last);

  // The first certain one that had to reach the client before `sent`, and has not. `expiry_slack`:
  // how late a key may expire.
  [[nodiscard]] Judgement missing(KeyTable& keys, std::string_view client_id,
                                  std::chrono::microseconds sent,
                                  std::chrono::microseconds expiry_slack);

  // Is a certain one queued, of an expiry, or of any change?
  [[nodiscard]] bool awaits_expiry() const;
  [[nodiscard]] bool awaits_any() const;

  // The client, which observed the key or may have done so, has stopped that: that the key expired
  // before `at` may still be notified.
  void stopped(const KeyKnowledge& key, std::string_view key_name, std::string_view client_id,
               std::chrono::microseconds at);

  // The connection of the client has ended: what is on its way may come or not.
  void disconnected(KeyTable& keys, std::string_view client_id, std::chrono::microseconds at);

 private:
  [[nodiscard]] bool awaits(bool (*is_meant)(const PendingNotification&)) const;
  void allow_expiry_before(const KeyKnowledge& key, std::string_view key_name,
                           std::string_view client_id, std::chrono::microseconds at);
  std::optional<Judgement> judge_expected(KeyKnowledge& key, const ReceivedNotification& received);
  Judgement judge_unexpected(KeyKnowledge& key, const ReceivedNotification& received,
                             Registered registered, std::chrono::microseconds since);
  std::optional<Judgement> judge_expiry(KeyKnowledge& key, const ReceivedNotification& received);
  void expect_expiries(KeyTable& keys, std::string_view client_id, std::chrono::microseconds sent,
                       std::chrono::microseconds slack);

  const OracleBasis& basis_;
  std::map<std::string, std::deque<PendingNotification>, std::less<>> pending_{};  // by client
};

}  // namespace fencepost::judge
