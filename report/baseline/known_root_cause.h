// Known root causes of a store: entries of a baseline that stand for all the failures
// which show one thing, whichever cases those are.
//
//   differences:
//     - requirement: SET-NX-2
//       case: set.nx.refuses-existing-key
//       failures: 34
//       causes: ['SET NX: want :-1, got +OK']
//       reason: NX is ignored
//
// A failure is known by what was seen (run/failure.h), which has no seed, key or time in it, so
// that cases may come and go. What no entry lists is new, in whichever case it shows. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/baseline/baseline.h"
#include "suite/run/suite.h"

namespace fencepost::baseline {

// The entry that lists what this failure shows. Null for what is no failure, for what none lists,
// and for a case that an entry of its own speaks of.
[[nodiscard]] const KnownRootCause* known_by(const Baseline& baseline,
                                             const run::CaseResult& result);

// How many failures an entry may cover: a few more than when it was written. More of them may hide
// something else that looks alike.
[[nodiscard]] std::size_t most_failures(const KnownRootCause& known);

// Makes expected failures of what the entries know; reports those that have expired, have no
// reason, cover too much, or are seen no more. Part of apply().
void apply_root_causes(const Baseline& baseline, const BaselineRun& run, run::SuiteResult& result);

// "known: 1 root cause, 34 failures; new: 1 root cause, 2 failures", of a run that was put against
// the baseline; empty when it has neither.
[[nodiscard]] std::string known_and_new(const Baseline& baseline, const run::SuiteResult& result,
                                        const scenario::Catalogue& catalogue, bool strict);

// `SET-NX-2 (set.nx.refuses-existing-key)`, for messages.
[[nodiscard]] std::string title_of(const KnownRootCause& known);

}  // namespace fencepost::baseline
