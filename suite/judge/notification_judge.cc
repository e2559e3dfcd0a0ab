#include "suite/judge/notification_judge.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "suite/judge/mismatch.h"

namespace fencepost::judge {
namespace {

using codec::Operation;
using std::chrono::microseconds;

constexpr std::string_view kOwnChangesRule = "NTF-SELF-1";

std::string_view expiry_rule() {
  return rule_of({.kind = Mismatch::kNotificationMissing, .cause = Cause::kExpiry});
}

// The slack that replies are judged with says when a key must be gone. A notification itself says
// that it is: until then a key whose time is over is both, there and gone.
constexpr std::chrono::hours kAnyDelay{1};

// Where the key may have expired by now, it has, or not. Returns whether it may.
bool allow_expiry(KeyKnowledge& key, microseconds now) {
  std::vector<CandidateState> candidates;
  for (const CandidateState& state : key.candidates) {
    pass_time(state, now, now, kAnyDelay, candidates);
  }
  const bool may = candidates.size() > key.candidates.size();
  key.candidates = std::move(candidates);
  return may;
}

// May the notification be that of the change?
bool explains(const PendingNotification& change, const ReceivedNotification& received) {
  return change.key == received.key && change.from <= received.at &&
         (change.operation == Operation::kSet) == received.set &&
         (!change.value || !received.value || *change.value == *received.value) &&
         (!received.set || !change.version || !received.version ||
          *change.version == *received.version);
}

}  // namespace

void NotificationJudge::expect(KeyKnowledge& key, std::string_view key_name,
                               const PendingNotification& change) {
  for (auto& [client, observation] : key.observers) {
    const bool lingers = change.from <= observation.lingers_until;
    if (observation.registered == Registered::kNo && !lingers) continue;
    PendingNotification& expected = pending_[client].emplace_back(change);
    expected.key = std::string(key_name);
    // A registration that began while the change was in flight may have come before or after it.
    const bool all_the_time =
        observation.registered == Registered::kYes && observation.since <= change.from;
    const bool owed =
        basis_.binds(change.rule) && (client != change.writer || basis_.binds(kOwnChangesRule));
    if (!all_the_time || !owed) expected.certain = false;
    // The article does not say that a deletion leaves the registration.
    if (change.operation == Operation::kDelete && observation.registered == Registered::kYes &&
        !basis_.binds("NTF-KEEP-1")) {
      observation.registered = Registered::kPerhaps;
    }
  }
}

Judgement NotificationJudge::judge(KeyKnowledge& key, const ReceivedNotification& received,
                                   const Observation& observation, bool repeats_the_last) {
  // The same change may have been made twice, or notified twice: what is queued stays, as another
  // notification may have been meant. (Req: NTF-REPEAT-OPEN-2)
  if (repeats_the_last) {
    for (PendingNotification& change : pending_[std::string(received.client_id)]) {
      if (explains(change, received)) change.certain = false;
    }
    return undecidable("NTF-REPEAT-OPEN-2", "the client has registered twice");
  }
  if (auto judgement = judge_expected(key, received)) return *judgement;
  const microseconds perhaps_until = std::max(observation.lingers_until, observation.asked_until);
  if (observation.registered == Registered::kNo && received.at <= perhaps_until) {
    return judge_unexpected(key, received, Registered::kPerhaps, observation.since);
  }
  return judge_unexpected(key, received, observation.registered, observation.since);
}

// A notification of a change that is queued, or may be; nothing when it is of none.
std::optional<Judgement> NotificationJudge::judge_expected(KeyKnowledge& key,
                                                           const ReceivedNotification& received) {
  std::deque<PendingNotification>& expected = pending_[std::string(received.client_id)];
  const auto same = [&](const PendingNotification& change) { return explains(change, received); };
  const auto found = std::find_if(expected.begin(), expected.end(), same);
  if (found == expected.end()) return std::nullopt;
  // What was queued before it may come later (Req: NTF-ORDER-OPEN-2), or an expiry behind what was
  // written since (Req: SET-PX-OPEN-8): missing() says what did not come, when a reply has.
  const bool was_certain = found->certain;
  // A possible change and a later certain one can look the same, and only one notification has come
  // so far: that of the certain one is no longer owed for sure.
  if (!was_certain) {
    const auto later = std::find_if(
        std::next(found), expected.end(),
        [&](const PendingNotification& change) { return change.certain && same(change); });
    if (later != expected.end()) later->certain = false;
  }
  expected.erase(found);
  if (was_certain) return Judgement{};
  // Or it is the expiry of the value that is there now; then the queued one may still come.
  if (!received.set && allow_expiry(key, received.at)) {
    expect(key, received.key,
           {.operation = Operation::kDelete,
            .known_at = received.at,
            .certain = false,
            .rule = expiry_rule()});
  }
  return undecidable("NTF-SEND-OPEN-1", "this change may be notified, or not");
}

// A notification of a change that no client requested: an expiry, or wrong.
Judgement NotificationJudge::judge_unexpected(KeyKnowledge& key,
                                              const ReceivedNotification& received,
                                              Registered registered, microseconds since) {
  const std::deque<PendingNotification>& expected = pending_[std::string(received.client_id)];
  // The right SET with another version than its response had.
  if (received.set &&
      std::any_of(expected.begin(), expected.end(), [&](const PendingNotification& change) {
        return change.key == received.key && received.value && change.value == *received.value;
      })) {
    return rejected(rule_of({.kind = Mismatch::kVersionOther, .operation = Operation::kSet}),
                    "the version is not the one that the SET returned");
  }
  if (registered == Registered::kNo) {
    return rejected("NTF-SEND-3", "the client is not registered for the key");
  }
  if (!received.set) {
    if (auto judgement = judge_expiry(key, received)) return *judgement;
    // A store that notices an expiry late tells all who observe the key by then.
    if (since >= key.expires_from && received.at <= key.notified_until) {
      return undecidable("SET-PX-OPEN-8", "an expiry before the registration, notified late");
    }
  }
  // Where a value was written by somebody else, that client may write again.
  const bool surely =
      std::none_of(key.candidates.begin(), key.candidates.end(),
                   [](const CandidateState& state) { return state.exists && !state.version; });
  if (registered == Registered::kPerhaps || !surely) {
    return undecidable("NTF-SEND-4", "another client may have changed the key");
  }
  return rejected("NTF-SEND-4", fmt::format("a notification of a {} arrived, but nothing changed",
                                            received.set ? "change" : "deletion"));
}

// The key has expired, if it can have; nothing when it cannot.
std::optional<Judgement> NotificationJudge::judge_expiry(KeyKnowledge& key,
                                                         const ReceivedNotification& received) {
  std::vector<CandidateState> expired;
  bool known = true;
  for (const CandidateState& state : key.candidates) {
    std::vector<CandidateState> after;
    pass_time(state, received.at, received.at, kAnyDelay, after);
    for (CandidateState& each : after) {
      if (each.exists || !each.expired || state == each) continue;
      expired.push_back(std::move(each));
    }
    known = known && state.expiry != CandidateState::Expiry::kUnknown;
  }
  if (expired.empty()) return std::nullopt;
  // The other observers are to be notified, too; this one has been, if it is one already.
  std::deque<PendingNotification>& own = pending_[std::string(received.client_id)];
  const std::size_t before = own.size();
  expect(key, received.key,
         {.operation = Operation::kDelete,
          .from = key.candidates.front().earliest,
          .known_at = received.at,
          .certain = known && key.candidates.size() == 1,
          .rule = expiry_rule()});
  if (own.size() > before) own.pop_back();
  // It may be news of a value that was there before: only where there is one state it has to be
  // that.
  if (key.candidates.size() > 1) {
    for (const CandidateState& state : key.candidates) {
      if (std::find(expired.begin(), expired.end(), state) == expired.end()) {
        expired.push_back(state);
      }
    }
  }
  key.candidates = std::move(expired);
  if (known) return Judgement{};
  return undecidable(expiry_rule(), "the key may have expired");
}

// Queues the expiries that must have happened before `sent`, though no request has used the key
// since.
void NotificationJudge::expect_expiries(KeyTable& keys, std::string_view client_id,
                                        microseconds sent, microseconds slack) {
  for (auto& [key_name, key] : keys) {
    const auto observed_by = key.observers.find(client_id);
    if (observed_by == key.observers.end() || observed_by->second.registered != Registered::kYes) {
      continue;
    }
    // With several states one of them may have no expiry, or have ended already.
    if (key.candidates.size() != 1) continue;
    const CandidateState& state = key.candidates.front();
    const microseconds gone_by = state.latest + slack;
    if (!state.exists || state.expiry != CandidateState::Expiry::kWindow || gone_by >= sent) {
      continue;
    }
    const microseconds from = state.earliest;
    std::vector<CandidateState> after;
    pass_time(state, sent, sent, slack, after);
    key.candidates = std::move(after);
    expect(key, key_name,
           {.operation = Operation::kDelete,
            .from = from,
            .known_at = gone_by,
            .rule = expiry_rule()});
  }
}

Judgement NotificationJudge::missing(KeyTable& keys, std::string_view client_id, microseconds sent,
                                     microseconds expiry_slack) {
  expect_expiries(keys, client_id, sent, expiry_slack);
  const auto expected = pending_.find(client_id);
  if (expected == pending_.end()) return {};
  Judgement out;
  // The notification of a change comes before the response to a request that was sent when the
  // change was known: what has not come by now will not come. (Req: NTF-ORDER-1)
  const microseconds any = basis_.binds("NTF-ORDER-1") ? microseconds{0} : kNotificationLag;
  std::erase_if(expected->second, [&](const PendingNotification& change) {
    const microseconds lag = change.rule == expiry_rule() ? std::max(any, kExpiryNotified) : any;
    if (change.known_at + lag > sent || change.outlives) return false;
    if (change.certain && out.answer == Answer::kAccepted) {
      out = rejected(change.rule,
                     fmt::format("no notification of the {} of {} arrived",
                                 change.operation == Operation::kSet ? "change" : "deletion",
                                 escape(change.key)));
    }
    return true;
  });
  return out;
}

bool NotificationJudge::awaits_expiry() const {
  return awaits([](const PendingNotification& each) { return each.rule == expiry_rule(); });
}

bool NotificationJudge::awaits_any() const {
  return awaits([](const PendingNotification&) { return true; });
}

bool NotificationJudge::awaits(bool (*is_meant)(const PendingNotification&)) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const auto& of_client) {
    const auto& queue = of_client.second;
    return std::any_of(queue.begin(), queue.end(), [&](const PendingNotification& each) {
      return each.certain && !each.outlives && is_meant(each);
    });
  });
}

// Allows it for a client that no longer observes the key.
void NotificationJudge::allow_expiry_before(const KeyKnowledge& key, std::string_view key_name,
                                            std::string_view client_id, microseconds at) {
  const bool expired =
      std::any_of(key.candidates.begin(), key.candidates.end(), [&](const CandidateState& state) {
        return state.exists && state.expiry != CandidateState::Expiry::kNever &&
               state.earliest <= at;
      });
  const bool noticed_late = key.expires_from <= at && at <= key.notified_until;
  if (!expired && !noticed_late) return;
  pending_[std::string(client_id)].push_back({.key = std::string(key_name),
                                              .operation = Operation::kDelete,
                                              .known_at = at,
                                              .certain = false,
                                              .rule = expiry_rule()});
}

void NotificationJudge::stopped(const KeyKnowledge& key, std::string_view key_name,
                                std::string_view client_id, microseconds at) {
  // NTF-ORDER-1 says nothing of it: no response shows when the key has expired, and the store may
  // notice it while the STOP is in flight. (Req: SET-PX-OPEN-8)
  allow_expiry_before(key, key_name, client_id, at);
  // Nor need it be notified any more, if the store has not noticed it before.
  for (PendingNotification& change : pending_[std::string(client_id)]) {
    if (change.key == key_name && change.rule == expiry_rule()) change.certain = false;
  }
}

void NotificationJudge::disconnected(KeyTable& keys, std::string_view client_id, microseconds at) {
  // Keys that may have expired by now: their notifications may have been sent already.
  for (auto& [key_name, key] : keys) {
    const auto observed_by = key.observers.find(client_id);
    if (observed_by == key.observers.end() || observed_by->second.registered == Registered::kNo) {
      continue;
    }
    allow_expiry_before(key, key_name, client_id, at);
  }
  // What was on its way may reach the next connection. (Req: LIFE-OPEN-3)
  const auto on_their_way = pending_.find(client_id);
  if (on_their_way == pending_.end()) return;
  for (PendingNotification& change : on_their_way->second) {
    change.certain = false;
    change.outlives = true;
  }
}

}  // namespace fencepost::judge
