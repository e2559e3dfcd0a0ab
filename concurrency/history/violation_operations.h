// Operations of one key as they were given, in a third of their memory: what is in most of them,
// texts and timestamps, is kept once. Used by one thread.
//
//   ViolationOperations kept;
//   kept.add(operation, number);
//   use(kept.find(number));  // the same operation
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "concurrency/history/history.h"
#include "concurrency/history/key_history.h"

namespace fencepost::history {

class ViolationOperations {
 public:
  // `number` is greater than those before.
  void add(const Operation& operation, Index number);
  // The operation, but for its key, which is empty; nothing when it is not kept.
  [[nodiscard]] std::optional<Operation> find(Index number) const;
  // Drops all others.
  void keep(const std::function<bool(Index number)>& wanted);

 private:
  struct Numbered {
    std::int64_t called;
    std::int64_t returned;
    std::int64_t expires_after;  // ms; -1: none
    Index number;
    Index value, expected, read, reason;  // of texts_; kNone: empty
    Index timestamp, token, version;      // of stamps_
    std::uint32_t client;
    Action action;
    codec::Condition condition;
    Outcome outcome;
    bool resent;
  };
  [[nodiscard]] Operation operation(const Numbered& kept) const;

  std::vector<Numbered> all_{};  // by number
  Texts texts_{};
  Stamps stamps_{};
};

}  // namespace fencepost::history
