// The quick decision on one key. The store's versions order the writes, so each operation belongs
// to a class of a total order: W0 < R0 < D0 < N0 < W1 < ... (the write of a version, what has seen
// it, its deletion, what has seen that it is gone). An order of the operations exists if and only
// if none of a later class returned before one of an earlier class was called. One sort and a few
// passes decide that.
//
// Proof: let p(x) be the greatest call time among x and all operations of earlier classes. Then
// called <= p(x) <= returned, and p grows with the class.
//
// Pure; thread safe.
#pragma once

#include <string_view>
#include <vector>

#include "concurrency/history/key_history.h"
#include "concurrency/history/search.h"

namespace fencepost::history {

struct VersionOrder {
  // kUndecided: versions alone do not decide it; `why` says why the search is needed.
  Decision decision = Decision::kUndecided;
  std::string_view why{};
  std::vector<Index> order{};  // kOrder
  Flaw flaw{};                 // kNoOrder; and what speaks against an order where kUndecided
  // kOrder: the last write and what deleted it, if anything did; kNone where there is no write.
  Index last_writer = kNone;
  Index last_deleter = kNone;
  Index last_token = kNone;  // of the key after that write
};

// `history` has been resolved and has no flaws.
[[nodiscard]] VersionOrder decide_by_versions(const KeyHistory& history, const Bounds& bounds);

}  // namespace fencepost::history
