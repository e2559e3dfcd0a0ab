// Texts that all forms of a certificate share. Private to client_run/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clients/client_run/client_certificate.h"

namespace fencepost::client_run {

// On one line, without control sequences.
[[nodiscard]] std::string line_text(std::string_view text);

// The rule's sentence; empty: it has none.
[[nodiscard]] std::string sentence_of(const ClientProblem& problem,
                                      const scenario::Catalogue& catalogue);

// "step 2, get "k" (scenarios/clients/basic.yaml:87)", or "on the network".
[[nodiscard]] std::string place_of(const ClientProblem& problem);

// The command that plays only this case.
[[nodiscard]] std::string again_command(const CaseOutcome& outcome,
                                        const CertificateContext& context);

// Capabilities that cases were skipped for, and how many.
[[nodiscard]] std::map<std::string, std::size_t> lacking(const ClientSuiteResult& result);

// A root cause: the cases that break this rule first.
struct ClientRootCause {
  std::string name{};                       // D1, D2, ...
  std::string rule{};                       // see ClientProblem
  std::vector<const CaseOutcome*> cases{};  // never empty; with the fewest steps first
};
// With the most cases first. Points into the result.
[[nodiscard]] std::vector<ClientRootCause> differences(const ClientSuiteResult& result);

// "14 of 426 cases"; empty: all were selected.
[[nodiscard]] std::string selection_text(const CertificateContext& context);

// The findings of level should, each rule once.
[[nodiscard]] std::map<std::string, std::string> advice_of(const ClientSuiteResult& result);

}  // namespace fencepost::client_run
