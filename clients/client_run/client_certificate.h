// What is said of a client that was certified: failures and a summary for the console, JSON, JUnit,
// a page.
// Pure; thread safe.
#pragma once

#include <string>
#include <vector>

#include "clients/client_run/client_suite.h"
#include "suite/scenario/requirement.h"

namespace fencepost::client_run {

struct CertificateContext {
  const scenario::Catalogue& catalogue;
  std::string profile{};               // "deployed" or "documented"
  std::string program{};               // as it was called
  std::vector<std::string> command{};  // the adapter
  std::size_t selected = 0;            // cases
  std::size_t all_cases = 0;           // from which they were selected
  std::string started{};               // ISO 8601, UTC
};

// All of one failed case, in lines: the rule, what was expected and seen, the packets, and the
// command that plays only this case.
[[nodiscard]] std::string failure_text(const CaseOutcome& outcome,
                                       const CertificateContext& context);

// For each rule that is broken first in some case: the first such case in full, and the names of
// the others. Lines; empty: no case has failed.
[[nodiscard]] std::string failures_text(const ClientSuiteResult& result,
                                        const CertificateContext& context);

// The counts, what was skipped and why, and the verdict. Lines.
[[nodiscard]] std::string summary_text(const ClientSuiteResult& result,
                                       const CertificateContext& context);

// docs/client-certificate.schema.json
[[nodiscard]] std::string json_of(const ClientSuiteResult& result,
                                  const CertificateContext& context);

// A self-contained page, also without JavaScript: what differs, and all cases.
[[nodiscard]] std::string html_of(const ClientSuiteResult& result,
                                  const CertificateContext& context);

// A test for each case.
[[nodiscard]] std::string junit_of(const ClientSuiteResult& result,
                                   const CertificateContext& context);

}  // namespace fencepost::client_run
