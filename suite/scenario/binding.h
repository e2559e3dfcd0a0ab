// Which requirements a store has to keep. The catalogue has the rules of two generations of the
// article, and beside them what only the deployed service shows; a store that is judged by the
// article owes nothing of the latter, and one of the preview edition nothing that only the GA
// edition requires.
//
//   binds(requirement_of_status, {DialectId::kDocumented, Wording::kGa})
//     ->  false: the article knows no __stat
//
// Pure and thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/dialect.h"
#include "suite/scenario/edition.h"
#include "suite/scenario/requirement.h"

namespace fencepost::scenario {

// What a store is judged by.
struct Basis {
  codec::DialectId dialect = codec::DialectId::kDeployed;
  Edition edition = Edition::kGa;  // never kAuto
  friend bool operator==(const Basis&, const Basis&) = default;
};

[[nodiscard]] bool binds(const Requirement& requirement, const Basis& basis);

// Every basis that a run may turn out to have; the strictest stands first.
[[nodiscard]] std::vector<Basis> bases_of(codec::Profile profile, Edition edition);

// What a run has seen of the store.
struct Observed {
  bool documented_only = false;  // a form of a divergence, and none but documented ones
  bool notified = false;
  bool notified_with_version = false;
};

// The basis of a run that has seen this. The deployed service is of the GA edition: only a store
// that is judged by the article is taken for one of the preview.
[[nodiscard]] Basis basis_of(codec::Profile profile, Edition edition, const Observed& observed);

// The ids of the requirements that do not apply on all of these.
[[nodiscard]] std::set<std::string, std::less<>> unsettled(const Catalogue& catalogue,
                                                           const std::vector<Basis>& bases);

// What a run requires of a store: "binds", "warns", "depends" on what the store turns out to be, or
// "open".
[[nodiscard]] std::string_view demand(const Requirement& requirement,
                                      const std::vector<Basis>& bases);

// How many requirements at level must apply to the store, or its broker, and can be tested.
[[nodiscard]] std::size_t binding_rules(const Catalogue& catalogue, const Basis& basis);

}  // namespace fencepost::scenario
