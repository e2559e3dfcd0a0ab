// What values alone say of one key: is there an order when versions are ignored? Says of a
// store whose versions are wrong whether its values are wrong as well.
//
// Where each value was written once, and only SETs without options and GETs are there, the values
// decide (Gibbons and Korach 1997): the operations on a value are a cluster, f the first time at
// which one of them has returned, s the last at which one was called. Where f < s, the value must
// have been there from f to s; else it was there at one moment from s to f. An order exists if and
// only if no read has returned before its write was called, no two of the first kind overlap, and
// none of the second lies within one of the first. Else the search decides.
//
// Pure; thread safe.
#pragma once

#include <vector>

#include "concurrency/history/key_history.h"
#include "concurrency/history/search.h"

namespace fencepost::history {

// kUndecided: there is more than SETs and GETs, or a value was written twice.
[[nodiscard]] Decision decide_by_zones(const KeyHistory& history);

// The same, and where that does not decide, the search. `history` has been resolved or not; its
// versions are not looked at.
[[nodiscard]] Decision decide_by_values(const KeyHistory& history, const Bounds& bounds,
                                        const SearchLimits& limits);

// Three entries that have no order regardless of the replies to all others: one shows that a value
// was there, one that another was there, which was written after that, and a later GET has read
// the older value. Empty when there are none among the values that one request alone writes. Takes
// one sort.
[[nodiscard]] std::vector<Index> stale_read(const KeyHistory& history);

}  // namespace fencepost::history
