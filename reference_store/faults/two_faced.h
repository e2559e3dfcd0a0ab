// Stores that say one thing and do another, where the documents leave open which of the two it is:
// a request is refused and carried out, or accepted and not carried out.
//
//   const TwoFaces faces = {
//       .says = strict_decisions(), .does = lenient_decisions(), .verbs = {codec::Verb::kSet}};
//   std::unique_ptr<Handler> store = make_two_faced({}, faces);
#pragma once

#include <memory>
#include <vector>

#include "codec/command.h"
#include "reference_store/faults/fault.h"
#include "reference_store/service.h"
#include "reference_store/variants/choices.h"

namespace fencepost::store {

struct TwoFaces {
  Decisions says;                    // how requests are answered
  Decisions does;                    // what becomes of them
  std::vector<codec::Verb> verbs{};  // of which requests; of all others the store is right
};

// Right wherever the two decisions accept a request, or refuse it, alike. Not thread safe.
[[nodiscard]] std::unique_ptr<Handler> make_two_faced(const ServiceOptions& options,
                                                      const TwoFaces& faces);

// A conforming store that accepts every request which it may refuse, and one that refuses them all.
[[nodiscard]] const Decisions& lenient_decisions();
[[nodiscard]] const Decisions& strict_decisions();

}  // namespace fencepost::store
