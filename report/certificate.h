// A certificate: what a whole run has shown of an endpoint, short enough to keep and to publish. It
// says what was run and what was not, and how anyone can check it who has neither the endpoint nor
// the machine of the run.
//
//   if (const std::string why = why_no_certificate(result, context); !why.empty()) return;
//   const std::string json = certificate_json(result, library, context, {.name = "Store"});
//   const auto read = read_certificate({"store.json", json});
//   const std::string page = certificate_html(*read, library.catalogue);
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "report/side_by_side.h"
#include "suite/scenario/library.h"

namespace fencepost::report {

// What is certified, as its owner says, and what stands beside the certificate.
struct CertificateSubject {
  std::string name{};  // empty: the endpoint's URL
  std::string version{};
  std::string owner{};
  // Of the run: the name of the file without folder, and its SHA-256. Empty: none was kept.
  std::string evidence{};
  std::string evidence_sha256{};
  std::string signing_key{};  // fingerprint of the key that signs it; empty: it is not signed
};

// Why a run gets none: it is a part, or did not come to a verdict. Empty: it gets one.
[[nodiscard]] std::string why_no_certificate(const run::SuiteResult& result,
                                             const ReportContext& context);

// As docs/certificate.schema.json says. The run must get one.
[[nodiscard]] std::string certificate_json(const run::SuiteResult& result,
                                           const scenario::Library& library,
                                           const ReportContext& context,
                                           const CertificateSubject& subject);

struct Certificate {
  CertificateSubject subject{};
  Column column{};  // its name is that of the subject
  ColumnScore must{};
  std::string rules{};    // by which it was judged
  std::string command{};  // that repeats the run
  // What bounds it: "cases", "sequences", "stress", "disturbances", and a text for each.
  std::vector<std::pair<std::string, std::string>> bounds{};
  std::vector<std::pair<std::size_t, std::string>> not_run{};  // cases, and why
};

// Does it say that it is one?
[[nodiscard]] bool is_certificate(std::string_view content);

// Nothing in it can be trusted but that it does not contradict itself. The error says which file,
// and what is wrong.
[[nodiscard]] Result<Certificate, std::string> read_certificate(const scenario::SourceFile& file);

// "conformant", "not conformant" or "inconclusive".
[[nodiscard]] std::string_view verdict_word(const Certificate& certificate);

// "Store 2.1 (Example)".
[[nodiscard]] std::string subject_text(const CertificateSubject& subject);

// What stands behind it, and how to check that: a sentence each.
[[nodiscard]] std::vector<std::string> worth_of(const Certificate& certificate);

// One self-contained page, of one sheet of paper where little is to be said.
[[nodiscard]] std::string certificate_html(const Certificate& certificate,
                                           const scenario::Catalogue& catalogue);

}  // namespace fencepost::report
