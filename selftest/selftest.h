// The suite proves itself: conforming stores pass, faulty ones are caught, wrong expectations fail.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codec/dialect.h"
#include "endpoint/endpoint.h"
#include "reference_store/faults/fault.h"
#include "selftest/overlaps.h"
#include "suite/run/suite.h"
#include "suite/scenario/requirement.h"
#include "suite/scenario/scenario.h"

namespace fencepost::selftest {

// An endpoint with a store of this kind, and what serves it.
struct Subject {
  std::shared_ptr<void> server{};  // outlives the endpoint
  std::unique_ptr<endpoint::Endpoint> endpoint;
};

// Opens the correct store (`fault` null) or a faulty one. The error is for people.
using OpenSubject = std::function<Result<Subject, std::string>(
    const store::Fault* fault, codec::DialectId dialect, std::uint64_t seed)>;

// Does the case check one of the requirements that the fault breaks?
[[nodiscard]] bool cites(const scenario::Case& test_case, const store::Fault& fault);

struct SelftestOptions {
  std::vector<codec::DialectId> dialects{codec::DialectId::kDeployed,
                                         codec::DialectId::kDocumented};
  std::vector<std::string> only{};  // globs of fault ids or names; empty: all
  std::size_t jobs = 1;             // subjects in parallel
  // The stores are behind brokers. Faults of the transport show nowhere else.
  bool over_the_wire = false;
  std::size_t cases_at_once = 1;   // of one subject
  std::size_t cases_running = 0;   // see SuiteOptions::running
  bool fresh_connections = false;  // see SuiteOptions
  // In process, a case whose traffic with a faulty store equals that with the conforming one is not
  // run again: see conversations.h. True: it is, with the same result.
  bool every_case = false;
  std::uint64_t seed = 1;
};

// May the cases miss this fault, and the suite still be proved? Over the network they cannot
// make requests concurrent.
[[nodiscard]] bool is_excusable(const store::Fault& fault, bool over_the_wire);

// Can the store be met by cases on an endpoint of this kind? Those that need histories are for
// run_overlaps().
[[nodiscard]] bool can_be_met(const store::Fault& fault, bool over_the_wire);

// How the cases run against a store of this dialect, one after the other.
[[nodiscard]] run::SuiteOptions options_of_run(codec::DialectId dialect,
                                               const endpoint::Endpoint& endpoint,
                                               std::uint64_t seed);

// Does the glob match the id or the name?
[[nodiscard]] bool matches(const std::string& glob, const store::Fault& fault);

// How well a report says what is wrong with a faulty store.
struct Diagnosis {
  std::vector<std::string> rules{};  // of the root causes, in the order of the report
  bool right = false;                // the first is of a rule that the fault breaks
  std::size_t failures = 0;          // that checked the rule of their root cause: not blocked
  std::size_t attributed = 0;        // of these, to a rule that the fault breaks
};

// What the cases say of one store in one dialect.
struct SubjectResult {
  const store::Fault* fault = nullptr;  // null: the correct store
  codec::DialectId dialect = codec::DialectId::kDeployed;
  std::string error{};  // why it could not be run at all; empty when it was
  std::size_t passed = 0;
  std::vector<const scenario::Case*> passes{};  // kNull: the cases that it passes
  std::vector<const scenario::Case*>
      detecting{};  // failed, and cite a requirement that the fault breaks
  std::vector<const scenario::Case*> non_detecting{};  // failed, and cite none of them
  // Failed by a rule that does not apply to a store of this dialect, which is a warning.
  std::vector<const scenario::Case*> warned{};
  bool owes = true;  // a fault: do all rules that it breaks apply to such a store?
  // For a fault: the summary of its failures, or else of its warnings, in the words of a report.
  Diagnosis diagnosis{};
  std::set<std::string>
      attributed{};  // requirements that failures, warnings or root causes are attributed to
  std::vector<const scenario::Case*> inconclusive{};  // decided nothing
  std::vector<const scenario::Case*> skipped{};
  std::chrono::microseconds duration{0};
  std::chrono::microseconds time_to_kill{0};        // until the first detecting case had failed
  const scenario::Case* first_detecting = nullptr;  // that one; null when there is none

  // Did the suite say the right thing? The correct store: nothing failed, nothing is inconclusive.
  // A benign one: nothing failed. A fault: a case that cites a broken requirement failed or, where
  // not all of these apply to such a store, was warned of. A null store: no case passed.
  [[nodiscard]] bool as_it_should_be() const;
  // A fault that is caught only as a warning.
  [[nodiscard]] bool only_warned() const;
};

// A wrong expectation that did not turn red.
struct CanarySurvivor {
  const scenario::Case* test_case = nullptr;
  std::string what;
  codec::DialectId dialect = codec::DialectId::kDeployed;
};

struct SelftestResult {
  std::vector<const scenario::Case*> cases;  // that every store was run with
  std::vector<SubjectResult> references;
  std::vector<SubjectResult> faults;
  std::vector<SubjectResult> benign;
  std::vector<SubjectResult> nulls;
  std::vector<OverlapResult> overlaps{};  // where they were simulated
  // The rules that a store can break and a case can check, and those of them that no failure of any
  // fault is attributed to: it is not known whether a report would name them.
  std::size_t rules = 0;
  std::vector<std::string> never_attributed;
  bool has_canaries = false;  // were they to be planted?
  std::size_t canaries = 0;   // planted, over all dialects
  std::vector<CanarySurvivor> canary_survivors;
  std::chrono::microseconds duration{0};
  bool interrupted = false;

  // Everything as it should be, except for what is excusable.
  [[nodiscard]] bool proved() const;
};

// Called with what was finished: how many of how many, and what it was.
using SelftestProgress =
    std::function<void(std::size_t done, std::size_t total, const std::string& what)>;

// Runs the cases against every store, and the canaries against the correct one. `stop` ends it
// early: what was finished is in the result.
[[nodiscard]] SelftestResult run_selftest(const std::vector<scenario::Case>& cases,
                                          const scenario::Catalogue& catalogue,
                                          const OpenSubject& open, const SelftestOptions& options,
                                          const std::atomic<bool>& stop,
                                          const SelftestProgress& progress);

// The result as JSON (docs/selftest.schema.json): scores, survivors and the kill matrix, which says
// for each fault and case whether the case failed and cites what the fault breaks.
[[nodiscard]] std::string selftest_json(const SelftestResult& result, std::uint64_t seed);

}  // namespace fencepost::selftest
