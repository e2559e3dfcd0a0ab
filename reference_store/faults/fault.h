// Stores that are faulty on purpose, as data: the suite is judged by how many of them it catches.
// And stores that are right in an unusual way, which it must not fail.
//
//   const Fault* fault = find_fault("S01");            // or by name: "nx-overwrites"
//   std::unique_ptr<Handler> store = fault->make({.dialect = codec::DialectId::kDeployed}, seed);
//
// A fault replaces one rule of the store (rules.h), or stands between the store and the network
// (decorator.h), or reaches into the state where no rule would (tamper.h). The correct store knows
// nothing of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "reference_store/service.h"

namespace fencepost::store {

enum class FaultKind {
  kFault,   // breaks the requirements that it names: the suite must catch it
  kBenign,  // right, but unusual: the suite must pass it
  kNull,    // does no work at all: every case must fail
};

// What it takes to see the fault.
enum class FaultNeeds {
  kNothing,    // one request after the other, in process
  kTransport,  // a real MQTT connection: packet flags, flow control, broken connections
  kDirect,     // no broker in between, which would change what the store sends
  kOverlap,    // requests that are concurrent within a millisecond: certain in process, a
               // matter of luck over the network
  kHistory,    // concurrent requests and a check of their whole history: nothing shows as long as
               // one request is in flight at a time
  kKill,       // a database, and kills or restarts of its broker: all is right until then
  kFailover,   // a cluster with a database, and another node that begins to lead
};

// For a conforming variant: the documents to which it conforms.
enum class RightBy {
  kAll,
  kArticle,  // by the article alone: without what only the deployed service does
  kPreview,  // by the preview of the article alone
};

using MakeHandler =
    std::function<std::unique_ptr<Handler>(const ServiceOptions& options, std::uint64_t seed)>;

struct Fault {
  std::string_view id;    // of the catalogue, e.g. "S01"; never used again for another fault
  std::string_view name;  // e.g. "nx-overwrites"
  std::string_view text;  // what such a store does
  std::vector<std::string_view> requirements{};  // that it breaks; kFault: at least one
  FaultNeeds needs = FaultNeeds::kNothing;
  FaultKind kind = FaultKind::kFault;
  RightBy right_by = RightBy::kAll;
  bool meets = false;  // kBenign: what is unusual in it shows mainly with concurrent requests
  MakeHandler make{};  // `seed` decides all that is random in it
};

// All of them, in the order of the catalogue. Thread safe.
[[nodiscard]] const std::vector<Fault>& faults();

// By id ("S01"), name ("nx-overwrites") or both ("S01-nx-overwrites"), also with a name of an
// earlier version; null when there is none.
[[nodiscard]] const Fault* find_fault(std::string_view name);

// Several faults are one store: "S01+D02", each by id or name. The error is the part that is not a
// fault.
[[nodiscard]] Result<std::vector<const Fault*>, std::string> find_faults(std::string_view names);

// The ids as find_faults() reads them; empty for none.
[[nodiscard]] std::string ids_of(const std::vector<const Fault*>& faults);

// Does the fault leave room for another in its store?
[[nodiscard]] bool leaves_room(const Fault& fault);

// Nothing: the faults can be in one store. Otherwise why they cannot: a fault that is a complete
// store has no room for others, and two faults cannot change the same rule.
[[nodiscard]] std::optional<std::string> cannot_meet(const std::vector<const Fault*>& faults);

// The store that has all these faults, which must be combinable; the first stands before the
// others. There must be at least one.
[[nodiscard]] std::unique_ptr<Handler> make_store(const std::vector<const Fault*>& faults,
                                                  const ServiceOptions& options,
                                                  std::uint64_t seed);

// "fault", "benign" or "null"; "all", "article" or "preview"; "nothing", "transport", "direct",
// "meeting", "history", "kill" or "failover".
[[nodiscard]] std::string_view name(FaultKind kind);
[[nodiscard]] std::string_view name(RightBy right_by);
[[nodiscard]] std::string_view name(FaultNeeds needs);

// The parts of the catalogue; faults() puts them together.
[[nodiscard]] std::vector<Fault> codec_faults();
[[nodiscard]] std::vector<Fault> set_faults();
[[nodiscard]] std::vector<Fault> expiry_faults();
[[nodiscard]] std::vector<Fault> delete_faults();
[[nodiscard]] std::vector<Fault> version_faults();
[[nodiscard]] std::vector<Fault> fencing_faults();
[[nodiscard]] std::vector<Fault> notification_faults();
[[nodiscard]] std::vector<Fault> envelope_faults();
[[nodiscard]] std::vector<Fault> limit_faults();
[[nodiscard]] std::vector<Fault> concurrency_faults();
[[nodiscard]] std::vector<Fault> overlap_faults();
[[nodiscard]] std::vector<Fault> overlap_variants();
[[nodiscard]] std::vector<Fault> two_faced_faults();
[[nodiscard]] std::vector<Fault> benign_variants();
[[nodiscard]] std::vector<Fault> article_stores();
[[nodiscard]] std::vector<Fault> connection_faults();
[[nodiscard]] std::vector<Fault> kept_faults();
[[nodiscard]] std::vector<Fault> kept_variants();
[[nodiscard]] std::vector<Fault> replicated_faults();
[[nodiscard]] std::vector<Fault> null_stores();

}  // namespace fencepost::store
