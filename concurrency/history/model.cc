#include "concurrency/history/model.h"

#include "reference_store/rules.h"

namespace fencepost::history {

Model::Model(const KeyHistory& history, const Bounds& bounds)
    : history_(history),
      early_(std::chrono::nanoseconds(bounds.expiry_early).count()),
      late_(std::chrono::nanoseconds(bounds.expiry_late).count()) {}

const hlc::Timestamp* Model::token(Index at) const {
  return at == kNone ? nullptr : &history_.tokens()[at];
}

bool Model::tie(Index held, Index offered) const {
  if (held == kNone || offered == kNone || held == offered) return false;
  const hlc::Timestamp& a = *token(held);
  const hlc::Timestamp& b = *token(offered);
  return a.wall_ms == b.wall_ms && a.counter == b.counter;
}

bool Model::passes(Index held, Index offered) const {
  return !store::fencing_error(token(held), token(offered)) || tie(held, offered);
}

bool Model::refuses(Index held, Index offered, Outcome how) const {
  const auto error = store::fencing_error(token(held), token(offered));
  if (how == Outcome::kTokenRequired) return error == codec::ErrorCode::kTokenRequired;
  return error == codec::ErrorCode::kTokenLower || tie(held, offered);
}

Index Model::token_after(Index held, Index offered) const {
  // The rules return one of the two pointers, which tells the one of the two indices.
  const hlc::Timestamp* after = store::token_after(token(held), token(offered));
  if (after == nullptr) return kNone;
  return after == token(offered) ? offered : held;
}

bool Model::bind(State& state, Index rank) const {
  // A reply without a version fits any: that a store says it is for cases to judge (Req:
  // VER-GET-1).
  if (rank == kNone || state.version == rank) return true;
  // A SET whose version is unknown has one that no answered SET has.
  if (state.version != kNone || rank < state.floor) return false;
  const Index writer = history_.writer(rank);
  if (writer != kNone) return false;
  state.version = rank;
  state.floor = rank + 1;
  return true;
}

bool Model::applies(const State& state, const Entry& entry) const {
  const std::string* stored = state.present ? &history_.texts()[state.value] : nullptr;
  if (entry.action == Action::kCompareAndSet) {
    return stored != nullptr && store::value_matches(*stored, history_.texts()[entry.other]);
  }
  return store::condition_holds(entry.condition, stored, history_.texts()[entry.value]);
}

void Model::step_written(const State& before, const Entry& entry, States& out) const {
  // It was carried out, so token and condition have let it pass, whichever the store has looked at
  // first (Req: FT-OPEN-3).
  if (!passes(before.token, entry.token) || !applies(before, entry)) return;
  State after = before;
  after.present = true;
  after.value = entry.value;
  after.version = history_.rank(entry);
  if (after.version != kNone) {
    // Req: VER-UPDATE-3, LOCK-TOKEN-4
    if (after.version < before.floor) return;
    after.floor = after.version + 1;
  }
  after.token = token_after(before.token, entry.token);
  const State kept = after;
  after.expires_from = after.expires_by = kNever.count();
  // Req: SET-PX-OPEN-1, SET-PX-OPEN-6, SET-NEX-OPEN-2
  // PX 0 may mean no expiry; a SET without PX may end an earlier expiry, or leave it.
  if (entry.expires_after <= 0) out.add(after);
  if (entry.expires_after >= 0) {
    // The time runs from the SET on (Req: SET-PX-7), which took effect at some moment between its
    // call and its return. Without a response the latest time is unknown.
    after.expires_from = entry.called + entry.expires_after - early_;
    if (entry.returned != kNever.count()) {
      after.expires_by = entry.returned + entry.expires_after + late_;
    }
    out.add(after);
  } else if (before.can_expire()) {
    out.add(kept);
  }
}

void Model::step_not_applied(const State& before, const Entry& entry, States& out) const {
  State after = before;
  if (!before.present) {
    // NX and NEX would have applied, and a VDEL would have been answered with :0 (Req: SET-NX-1,
    // SET-NEX-1, VDEL-MISS-1).
    const bool compares = entry.action == Action::kCompareAndSet;
    if (compares && history_.rank(entry) == kNone) out.add(before);
    return;
  }
  if (entry.action == Action::kVdel) {
    const std::string& stored = history_.texts()[before.value];
    if (store::value_matches(stored, history_.texts()[entry.value])) return;
  } else if (applies(before, entry) || !bind(after, history_.rank(entry))) {
    return;
  }
  // Req: FT-OPEN-3 lets the token be looked at later, FT-OPEN-4 lets it be kept.
  out.add(after);
  if (entry.token == kNone || !passes(before.token, entry.token)) return;
  after.token = token_after(before.token, entry.token);
  out.add(after);
}

void Model::step_deleted(const State& before, const Entry& entry, States& out) const {
  if (!before.present || !passes(before.token, entry.token)) return;
  if (entry.action == Action::kVdel) {
    const std::string& stored = history_.texts()[before.value];
    if (!store::value_matches(stored, history_.texts()[entry.value])) return;
  }
  State after = before;
  // Req: VER-OPEN-4: the version of what was deleted, or a fresh one that is greater.
  const Index rank = history_.rank(entry);
  if (rank != kNone) {
    const bool is_deleted_one = history_.is_known(rank) && bind(after, rank);
    // A fresh version has to be greater than what was written. It is no floor for what comes:
    // Req: VER-UPDATE-3 is of SETs.
    const bool is_fresh = !history_.names_value(entry) && rank >= before.floor;
    if (!is_deleted_one && !is_fresh) return;
    if (is_fresh) after = before;
  }
  // Token and expiry go with the key (Req: FT-DELETE-1, SET-PX-6), what its versions were does not.
  out.add(State{.floor = after.floor});
}

void Model::step_read(const State& before, const Entry& entry, States& out) const {
  State after = before;
  if (!before.present || before.value != entry.other) return;
  if (bind(after, history_.rank(entry))) out.add(after);
}

void Model::step_fenced(const State& before, const Entry& entry, States& out) const {
  // Req: FT-OPEN-2: a token on a key that is not there or has none may be refused, except of a SET.
  const bool may_refuse = entry.action != Action::kSet && entry.token != kNone &&
                          (!before.present || before.token == kNone);
  if (may_refuse || refuses(before.token, entry.token, entry.outcome)) out.add(before);
}

void Model::step_unknown(const State& before, const Entry& entry, States& out) const {
  switch (entry.action) {
    case Action::kSet:
    case Action::kCompareAndSet: {
      step_written(before, entry, out);
      // A reader has seen the value of a SET that has a version: it was carried out.
      const bool may_leave_token = entry.token != kNone && entry.version == kNone;
      if (may_leave_token) step_not_applied(before, entry, out);
      return;
    }
    case Action::kDel:
      return step_deleted(before, entry, out);
    case Action::kVdel:
      step_deleted(before, entry, out);
      if (entry.token != kNone) step_not_applied(before, entry, out);
      return;
    default:
      return;
  }
}

void Model::step(const State& before, const Entry& entry, States& out) const {
  // No request finds a key whose expiry has certainly passed, regardless of the answer. That it
  // expired is a move of its own (expire()).
  if (overdue(before, entry)) return;
  switch (entry.outcome) {
    case Outcome::kOk:
      return step_written(before, entry, out);
    case Outcome::kNotApplied:
      return step_not_applied(before, entry, out);
    case Outcome::kValue:
      return step_read(before, entry, out);
    case Outcome::kMissing:
      if (!before.present) out.add(before);
      return;
    case Outcome::kDeleted:
      return step_deleted(before, entry, out);
    case Outcome::kTokenRequired:
    case Outcome::kTokenLower:
      return step_fenced(before, entry, out);
    case Outcome::kRefused:
      out.add(before);
      return;
    case Outcome::kUnknown:
      return step_unknown(before, entry, out);
  }
}

void Model::expire(const State& before, States& out) {
  State after{.floor = before.floor};
  out.add(after);
  if (before.token == kNone) return;
  after.token = before.token;  // Req: FT-OPEN-5
  out.add(after);
}

}  // namespace fencepost::history
