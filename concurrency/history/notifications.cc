#include "concurrency/history/notifications.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"

namespace fencepost::history {
namespace {

constexpr std::size_t kMaxBytes = 40;  // of a value in a message

std::string text_of(const Notification& notified) {
  std::string out = "client " + std::to_string(notified.client) + " was notified of ";
  if (notified.operation == codec::Operation::kDelete) {
    out += "a deletion";
  } else {
    out += notified.valueless ? "SET" : "SET \"" + escape(notified.value, kMaxBytes) + "\"";
  }
  if (notified.version)
    out += " with version " + hlc::format(*notified.version, hlc::Padding::kNone);
  return out;
}

std::string deletions_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " deletion" : " deletions");
}

class NotificationJudge {
 public:
  NotificationJudge(const KeyHistory& history, const Observation& observation,
                    const std::map<std::uint32_t, ClientLife>& lives, const Bounds& bounds,
                    const NotificationScope& scope)
      : history_(history),
        observation_(observation),
        lives_(lives),
        bounds_(bounds),
        scope_(scope) {
    for (const Entry& entry : history.entries()) {
      // Refused ones, too: a value that stands in one SET alone is certainly new to the key.
      if (entry.writes_value()) ++writes_of_[entry.value];
    }
  }

  std::optional<NotificationFlaw> run() {
    std::set<std::uint32_t> clients;
    for (const Notification& notified : observation_.notified) check_notifications(notified);
    for (const Registration& one : observation_.registrations) clients.insert(one.client);
    for (const std::uint32_t client : clients) {
      check_repeats(client);
      check_deletions(client);
      // What was notified has to be right after a restart as well.
      if (!scope_.restarted) check_missing(client);
    }
    return std::move(flaw_);
  }

 private:
  // The first one counts.
  void object(std::string_view requirement, std::string what, std::vector<Index> numbers) {
    if (!flaw_) flaw_ = NotificationFlaw{requirement, std::move(what), std::move(numbers)};
  }

  // KEYNOTIFY that may have registered the client.
  [[nodiscard]] std::vector<const Registration*> starts_of(std::uint32_t client) const {
    std::vector<const Registration*> out;
    for (const Registration& one : observation_.registrations) {
      const bool may_have = one.client == client && !one.stop && one.outcome != Outcome::kRefused;
      if (may_have) out.push_back(&one);
    }
    return out;
  }

  void check_notifications(const Notification& notified) {
    const std::vector<const Registration*> starts = starts_of(notified.client);
    const bool registered =
        std::any_of(starts.begin(), starts.end(),
                    [&](const Registration* start) { return start->called <= notified.arrived; });
    if (!registered) {
      // From the call of the KEYNOTIFY on: its reply says when the key is monitored at the latest
      // (Req: NTF-RESPONSE-3), and notifications may overtake it.
      return object("NTF-SEND-3", text_of(notified) + " but had not registered for the key", {});
    }
    if (notified.operation == codec::Operation::kDelete) {
      // Not by its version, which may be that of the value or a later one (Req:
      // NTF-VERSION-OPEN-1).
      if (scope_.forgotten || may_be_gone_by(notified.arrived)) return;
      return object("NTF-SEND-4", text_of(notified) + ", but nothing can have deleted the key", {});
    }
    // A version names its SET (Req: NTF-VERSION-3), so value and time are judged by that one.
    const Index writer = notified.version ? history_.writer_of(*notified.version) : kNone;
    if (writer == kNone) return check_unclaimed(notified);
    const Entry& write = history_.entries()[writer];
    if (!notified.valueless && history_.texts()[write.value] != notified.value) {
      return object("NTF-VALUE-1", text_of(notified) + ", which is the version of another value",
                    {write.number});
    }
    if (notified.arrived.count() < write.called) {
      return object("NTF-SEND-4", text_of(notified) + " before that SET was sent", {write.number});
    }
    check_stopped(notified, write);
  }

  // A SET without reply may have the version; or the notification names none.
  void check_unclaimed(const Notification& notified) {
    // It may be of any SET then: the preview knows no `__ts` of notifications (Req: NTF-VERSION-1),
    // and only the deployed service promises the value (Req: NTF-VALUE-3).
    if (scope_.forgotten || (notified.valueless && !notified.version)) return;
    std::vector<Index> answered;
    for (const Entry& entry : history_.entries()) {
      if (!entry.writes_value()) continue;
      if (!notified.valueless && history_.texts()[entry.value] != notified.value) continue;
      const bool carried_out = entry.outcome == Outcome::kOk || entry.outcome == Outcome::kUnknown;
      if (!carried_out || entry.called > notified.arrived.count()) continue;
      const bool version_is_its_own = entry.outcome == Outcome::kOk && entry.version != kNone;
      if (!notified.version || !version_is_its_own) return;
      answered.push_back(entry.number);
    }
    if (answered.empty()) {
      return object("NTF-SEND-4", text_of(notified) + ", but no SET can have written that", {});
    }
    object("NTF-VERSION-3", text_of(notified) + ", but its SET was answered with another version",
           std::move(answered));
  }

  [[nodiscard]] bool may_be_gone_by(Time arrived) const {
    return std::any_of(
        history_.entries().begin(), history_.entries().end(), [&](const Entry& entry) {
          // However long ago: the article sets no time limit. An expiry is notified as a
          // deletion, too (Req: NTF-EXPIRY-1).
          const bool deletes = removes(entry.action);
          const bool gone =
              deletes && (entry.outcome == Outcome::kDeleted || entry.outcome == Outcome::kUnknown);
          return (gone || entry.expires_after >= 0) && entry.called <= arrived.count();
        });
  }

  // Is it about a write after its STOP?
  // A change that was in flight together with the STOP may still be notified. Answered with :0 it
  // has not registered the client either (Req: NTF-STOP-3).
  void check_stopped(const Notification& notified, const Entry& write) {
    for (const Registration& stop : observation_.registrations) {
      const bool over = stop.client == notified.client && stop.stop &&
                        (stop.outcome == Outcome::kOk || stop.outcome == Outcome::kMissing) &&
                        stop.returned.count() < write.called;
      if (!over) continue;
      const std::vector<const Registration*> starts = starts_of(notified.client);
      const bool again = std::any_of(starts.begin(), starts.end(), [&](const Registration* start) {
        // One that was in flight together with the STOP may have come after it.
        return start->returned >= stop.called && start->called <= notified.arrived;
      });
      if (again) continue;
      object("NTF-STOP-1", text_of(notified) + ", which was sent after its STOP had been answered",
             {stop.number, write.number});
    }
  }

  [[nodiscard]] const ClientLife* life_of(std::uint32_t client) const {
    const auto found = lives_.find(client);
    return found == lives_.end() ? nullptr : &found->second;
  }

  void check_repeats(std::uint32_t client) {
    const ClientLife* life = life_of(client);
    // Req: NTF-REPEAT-OPEN-2. What was sent again after a connection broke is not counted.
    if (starts_of(client).size() != 1 || (life != nullptr && !life->breaks.empty())) return;
    std::map<hlc::Timestamp, bool> seen;  // DUP
    for (const Notification& notified : observation_.notified) {
      const bool counts = notified.client == client && notified.version &&
                          notified.operation == codec::Operation::kSet;
      if (!counts) continue;
      const auto [at, first] = seen.try_emplace(*notified.version, notified.duplicate);
      // DUP on either of them: MQTT has delivered it again, the store did not repeat it (MQTT 5,
      // 3.3.1.1).
      if (first || at->second || notified.duplicate) continue;
      std::vector<Index> numbers;
      const Index writer = history_.writer_of(*notified.version);
      if (writer != kNone) numbers.push_back(history_.entries()[writer].number);
      object("NTF-SEND-1", text_of(notified) + " twice, without DUP", std::move(numbers));
    }
  }

  // More often than there can have been any? Nobody can tell which is of which.
  void check_deletions(std::uint32_t client) {
    const ClientLife* life = life_of(client);
    const bool once = starts_of(client).size() == 1 && (life == nullptr || life->breaks.empty());
    if (!once || scope_.forgotten || scope_.restarted) return;
    // Counted, as no version says for certain which deletion was notified (Req:
    // NTF-VERSION-OPEN-1). If there are more than there can have been, one was notified twice.
    const auto notified = static_cast<std::size_t>(std::count_if(
        observation_.notified.begin(), observation_.notified.end(), [&](const Notification& one) {
          return one.client == client && one.operation == codec::Operation::kDelete &&
                 !one.duplicate;
        }));
    std::vector<Index> possible;
    for (const Entry& entry : history_.entries()) {
      const bool deletes = removes(entry.action);
      const bool gone =
          deletes && (entry.outcome == Outcome::kDeleted || entry.outcome == Outcome::kUnknown);
      if (gone || entry.expires_after >= 0) possible.push_back(entry.number);
    }
    if (notified <= possible.size()) return;
    std::string what = "client " + std::to_string(client) + " was notified of " +
                       deletions_text(notified) + " without DUP, but there can have been only " +
                       std::to_string(possible.size());
    object("NTF-SEND-2", std::move(what), std::move(possible));
  }

  // When the client certainly was registered.
  struct Certain {
    Index number = kNone;  // of the KEYNOTIFY
    std::int64_t from = 0;
    std::int64_t until = 0;
  };

  // From a reply on (Req: NTF-RESPONSE-3) to the last sign of life; a broken connection has ended
  // the registration (Req: LIFE-DISCONNECT-1) at any time since the last sign before it. A later
  // KEYNOTIFY is not followed: that judges less, and gives no false positive.
  [[nodiscard]] std::optional<Certain> certain_time(std::uint32_t client) const {
    const ClientLife* life = life_of(client);
    const std::vector<const Registration*> starts = starts_of(client);
    const auto start = std::find_if(starts.begin(), starts.end(), [](const Registration* one) {
      return one->outcome == Outcome::kOk;
    });
    if (life == nullptr || start == starts.end()) return std::nullopt;
    Certain out{.number = (*start)->number,
                .from = (*start)->returned.count(),
                .until = life->last_received.count()};
    for (const ClientLife::Break& broken : life->breaks) {
      if (broken.noticed < (*start)->called) continue;
      out.until = std::min<std::int64_t>(out.until, broken.last_received.count());
    }
    for (const Registration& stop : observation_.registrations) {
      if (stop.client != client || !stop.stop || stop.returned < (*start)->called) continue;
      out.until = std::min<std::int64_t>(out.until, stop.called.count());
    }
    return out;
  }

  void check_missing(std::uint32_t client) {
    const std::optional<Certain> certain = certain_time(client);
    if (!certain) return;
    // Notified at any time, also outside of the certain one: that can hide a missing notification,
    // but gives no false positive.
    std::set<hlc::Timestamp> versions;
    std::size_t deletions_notified = 0;
    for (const Notification& notified : observation_.notified) {
      if (notified.client != client) continue;
      if (notified.operation == codec::Operation::kDelete) {
        ++deletions_notified;
      } else if (notified.version) {
        versions.insert(*notified.version);
      } else {
        return;  // it is not known which SET that was
      }
    }
    const std::int64_t late = std::chrono::nanoseconds(bounds_.notification_late).count();
    std::vector<Index> gone = {certain->number};
    for (const Entry& entry : history_.entries()) {
      // Wholly within, and long enough ago that it must have arrived: the observer was seen later.
      if (entry.called < certain->from || entry.returned > certain->until - late) continue;
      if (entry.client == client) continue;  // Req: NTF-SELF-1 is of the deployed service alone
      if (entry.outcome == Outcome::kDeleted) gone.push_back(entry.number);
      // Req: NTF-SEND-OPEN-1: the same value again need not be notified.
      const bool certainly_notified = entry.action == Action::kSet &&
                                      entry.outcome == Outcome::kOk && entry.version != kNone &&
                                      writes_of_[entry.value] == 1;
      if (!certainly_notified || versions.contains(history_.version(entry.version))) continue;
      object("NTF-SEND-1",
             "client " + std::to_string(client) +
                 " was registered for the key but was not notified of a SET",
             {certain->number, entry.number});
    }
    if (gone.size() - 1 <= deletions_notified) return;
    std::string what = "client " + std::to_string(client) +
                       " was registered for the key but was notified of only " +
                       std::to_string(deletions_notified) + " of " +
                       deletions_text(gone.size() - 1);
    object("NTF-SEND-2", std::move(what), std::move(gone));
  }

  const KeyHistory& history_;
  const Observation& observation_;
  const std::map<std::uint32_t, ClientLife>& lives_;
  Bounds bounds_;
  NotificationScope scope_;
  std::map<Index, std::size_t> writes_of_{};  // by value
  std::optional<NotificationFlaw> flaw_{};
};

}  // namespace

std::optional<NotificationFlaw> judge_notifications(
    const KeyHistory& history, const Observation& observation,
    const std::map<std::uint32_t, ClientLife>& lives, const Bounds& bounds,
    const NotificationScope& scope) {
  return NotificationJudge(history, observation, lives, bounds, scope).run();
}

}  // namespace fencepost::history
