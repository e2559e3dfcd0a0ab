// Judges histories: is there an order in which a conforming store gives these answers?
//
//   Checker checker;
//   for (const Operation& operation : operations) checker.add(operation);
//   for (const KeyVerdict& verdict : checker.finish()) use(verdict);
//
// Keys are judged one by one, as each request concerns one key. What cannot be decided is unknown,
// never ok. The order of operations that an ok rests on was replayed against the rules.
//
// During a run, settle() judges what is finished and forgets it: only what is undecided needs
// memory. A checker that keeps operations gives those of a violation with it. Pure; not
// thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/history/counter_example.h"
#include "concurrency/history/history.h"
#include "concurrency/history/key_history.h"
#include "concurrency/history/notification_order.h"
#include "concurrency/history/notifications.h"
#include "concurrency/history/search.h"
#include "concurrency/history/shared_clock.h"
#include "concurrency/history/violation_operations.h"

namespace fencepost::history {

enum class Answer : std::uint8_t { kOk, kViolation, kUnknown };

// "ok", "violation", "unknown"
[[nodiscard]] std::string_view name(Answer answer);

struct Verdict {
  Answer answer = Answer::kUnknown;
  // Numbers of operations. kOk: an order that explains all of them. kViolation: few that contradict
  // each other.
  std::vector<Index> operations{};
  // kViolation: these operations themselves, in the same order, where the checker keeps operations;
  // else the caller fills them in.
  std::vector<Operation> shown{};
  // kViolation: those that overlap in time and do not explain it. Regardless of the answers to all
  // other operations, these and `operations` break the rules.
  std::vector<Index> others{};
  // kViolation. False: `operations` may be more than are needed, up to all, as the search for fewer
  // of them reached its limits.
  bool minimal = true;
  std::string requirement{};  // kViolation
  std::string text{};         // kViolation: what is wrong; kUnknown: why there is no answer
  // kViolation, where there are versions that grow: the answer for the values alone. kOk: only the
  // versions are wrong. kOk, where it is one by the values alone (see Bounds::versions_grow).
  std::optional<Answer> by_values{};
  // kOk: requests that were sent again and, as far as is known, carried out twice. No rule is
  // broken (MQTT delivers at least once).
  std::vector<Index> repeated{};
};

struct CheckLimits {
  SearchLimits search{};
  CounterExampleLimits counter_example{};
  SearchLimits values{.steps = 10'000};  // of a violation, for Verdict::by_values
  // settle() skips keys that have fewer operations than this to judge.
  std::size_t settle_from = 10'000;
};

// `history`: with all operations of one key; it is resolved here.
[[nodiscard]] Verdict judge_key(KeyHistory& history, const Bounds& bounds,
                                const CheckLimits& limits = {});

struct KeyVerdict {
  std::string key{};
  std::size_t operations = 0;
  Verdict verdict{};
};

// Some of the keys of a checker.
struct KeySelection {
  std::string_view prefix{};     // what they begin with
  bool unobserved = false;       // only those without notifications and registrations
  bool until_violation = false;  // those after the first violation are forgotten without a verdict
};

class Checker {
 public:
  // `keeps_operations`: those that are not decided yet, for Verdict::shown, which takes
  // more memory.
  explicit Checker(CheckLimits limits = {}, bool keeps_operations = false)
      : limits_(limits), keeps_operations_(keeps_operations) {}

  // Before the operations that they are for, which are all.
  void set_bounds(const Bounds& bounds) { bounds_ = bounds; }

  // Any of the kinds below, in any order; connections after what their client had received.
  void add(const Event& event);

  // Operations are numbered from 0 on as they come.
  void add(const Operation& operation);
  void add(const Notification& notification);
  void add(const Connection& connection);

  [[nodiscard]] std::size_t added() const { return added_; }

  // The store was restarted, and it is not known with which keys: what looks like a violation is
  // unknown.
  void add(const Restart& restart);

  // Judges what was over before `before` and forgets it, key by key, up to the last moment at which
  // nothing was in flight on the key. To be called when every operation that was called before that
  // time has been added; it costs nothing until there is enough to judge. Keys that expire, and
  // those whose versions do not decide, are kept for the end. Less can be said of a reply that
  // names a version which was forgotten: a GET is judged as ever, a refusal is not.
  void settle(Time before);

  // Has settle() come upon a violation?
  [[nodiscard]] bool found_violation() const { return found_violation_; }

  // Covers all keys together.
  [[nodiscard]] const ClockObservation& clock() const { return clock_.observed(); }

  // Covers all keys that have been judged.
  [[nodiscard]] const OrderObservation& order() const { return order_; }

  // How many operations are kept.
  [[nodiscard]] std::size_t held() const;

  // The verdicts, by key; an ok of what was settled has no order any more. The checker is empty
  // then, but for what order() says.
  [[nodiscard]] std::vector<KeyVerdict> finish();

  // The same, only for keys to which nothing is added afterwards. The others stay as they
  // are.
  [[nodiscard]] std::vector<KeyVerdict> finish(const KeySelection& selection);

 private:
  struct Key {
    KeyHistory history{};
    Observation observation{};
    Verdict settled{.answer = Answer::kOk};  // a violation, once there is one
    std::size_t forgotten = 0;               // operations
    std::size_t settle_from = 0;             // not before there are this many
    ViolationOperations kept{};
  };
  Key& key_of(const std::string& name);
  void received(std::uint32_t client, Time at);
  void settle(Key& key, std::int64_t before);
  [[nodiscard]] Verdict verdict_of(Key& key);
  [[nodiscard]] bool deletions_are_fresh();
  void name_by_nx(const KeyHistory& history, Verdict& verdict) const;

  CheckLimits limits_;
  bool keeps_operations_;
  Bounds bounds_{};
  std::map<std::string, Key, std::less<>> keys_{};
  std::map<std::uint32_t, ClientLife> lives_{};  // by client
  SharedClock clock_{};
  OrderObservation order_{};
  Index added_ = 0;
  // Does the store answer deletions with new versions? As of when that many had been added.
  bool fresh_deletions_ = false;
  std::optional<Index> looked_for_them_at_{};
  bool restarted_ = false;
  bool refuses_nx_ = false;  // a SET with NX, on any key
  bool found_violation_ = false;
};

}  // namespace fencepost::history
