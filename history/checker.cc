#include "history/checker.h"

#include <utility>

#include "history/version_order.h"

namespace fencepost::history {
namespace {

Verdict violation(const KeyHistory& history, const Flaw& flaw) {
  Verdict out{.answer = Answer::kViolation,
              .requirement = std::string(flaw.requirement),
              .text = flaw.what};
  for (const Index entry : flaw.entries) {
    out.operations.push_back(history.entries()[entry].number);
  }
  for (const Index entry : flaw.others) out.others.push_back(history.entries()[entry].number);
  return out;
}

Verdict accepted(const KeyHistory& history, const Bounds& bounds, const std::vector<Index>& order) {
  if (!replays(history, bounds, order)) {
    return {.answer = Answer::kUnknown,
            .text = "the order that was found does not keep the rules: a bug of the checker"};
  }
  Verdict out{.answer = Answer::kOk};
  out.operations.reserve(order.size());
  for (const Index entry : order) out.operations.push_back(history.entries()[entry].number);
  return out;
}

// Req: VER-SET-2
Flaw flaw_of(const Operation& operation, Index number) {
  const bool wrote = operation.action == Action::kSet && operation.outcome == Outcome::kOk;
  if (!wrote || !operation.version || !operation.timestamp) return {};
  if (*operation.version > *operation.timestamp) return {};
  return {"VER-SET-2", "the version of a SET is not greater than its timestamp", {number}};
}

}  // namespace

std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::kOk:
      return "ok";
    case Answer::kViolation:
      return "violation";
    case Answer::kUnknown:
      return "unknown";
  }
  return "?";
}

Verdict judge_key(KeyHistory& history, const Bounds& bounds, const CheckLimits& limits) {
  history.resolve();
  if (!history.flaws().empty()) return violation(history, history.flaws().front());
  const VersionOrder quick = decide_by_versions(history, bounds);
  if (quick.decision == Decision::kOrder) return accepted(history, bounds, quick.order);
  if (quick.decision == Decision::kNoOrder) return violation(history, quick.flaw);
  const SearchResult found = search(history, bounds, limits.search);
  switch (found.decision) {
    case Decision::kOrder:
      return accepted(history, bounds, found.order);
    case Decision::kNoOrder:
      return violation(history, witness_of(history, bounds, found, quick.flaw, limits.witness));
    case Decision::kUndecided:
      break;
  }
  return {.answer = Answer::kUnknown,
          .text = "the search was given up after " + std::to_string(found.steps) + " steps (" +
                  std::string(quick.why) + ")"};
}

void Checker::add(const Operation& operation) {
  const Index number = added_++;
  if (operation.action == Action::kObserve || operation.action == Action::kStop) return;
  auto found = keys_.find(operation.key);
  if (found == keys_.end()) found = keys_.try_emplace(operation.key).first;
  Key& key = found->second;
  key.history.add(operation, number);
  if (key.flaw.entries.empty()) key.flaw = flaw_of(operation, number);
}

void Checker::add(const Restart& /*restart*/) { restarted_ = true; }

void Checker::add(const Event& event) {
  if (const auto* operation = std::get_if<Operation>(&event)) add(*operation);
  if (const auto* bounds = std::get_if<Bounds>(&event)) set_bounds(*bounds);
  if (const auto* restart = std::get_if<Restart>(&event)) add(*restart);
}

std::vector<KeyVerdict> Checker::finish() {
  std::vector<KeyVerdict> out;
  for (auto& [name, key] : keys_) {
    KeyVerdict verdict{.key = name, .operations = key.history.entries().size()};
    if (key.flaw.entries.empty()) {
      verdict.verdict = judge_key(key.history, bounds_, limits_);
    } else {
      verdict.verdict = {.answer = Answer::kViolation,
                         .operations = key.flaw.entries,
                         .requirement = std::string(key.flaw.requirement),
                         .text = key.flaw.what};
    }
    if (restarted_ && verdict.verdict.answer == Answer::kViolation) {
      verdict.verdict = {.answer = Answer::kUnknown,
                         .text = "the store was restarted, and may have lost the key: else " +
                                 verdict.verdict.requirement + " is broken, " +
                                 verdict.verdict.text};
    }
    out.push_back(std::move(verdict));
    key = Key{};
  }
  keys_.clear();
  added_ = 0;
  restarted_ = false;
  return out;
}

}  // namespace fencepost::history
