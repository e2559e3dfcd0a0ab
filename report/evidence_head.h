// What a file of evidence says of its run before any packet, so that the run can be judged again:
// docs/EVIDENCE.md. All of it is without passwords.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "report/report.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"

namespace fencepost::report {

// How the suite was called, so far as it decides what the run finds, or where it goes.
struct Call {
  std::string url{};  // without password; empty: not given
  std::string descriptor{};
  std::string scenarios{};
  std::string driver{};
  std::string baseline{};
  bool shuffled = false;
  double timeout_scale = 1.0;
  ReportFiles files{};
};

struct Head {
  ReportContext context{};
  Call call{};
  std::string cases{};    // digest of the library
  std::string version{};  // of the suite that wrote it
};

struct EvidenceHead {
  Head run{};
  // Has the file the requests and answers? Else it has results alone, and cannot be judged.
  bool has_packets = true;
  std::string run_id{};  // in keys and client ids
  endpoint::Capabilities capabilities{};
  std::optional<std::chrono::milliseconds> expiry_tolerance{};  // as the descriptor says
  std::optional<std::chrono::milliseconds> disconnect_settling{};
  std::map<std::string, std::string> cases{};         // id -> the begin of its digest
  std::map<std::string, std::string> requirements{};  // the same
};

// `head.cases`, `head.requirements` and `head.run.cases` are those of `library`; the version is
// this one. Without packets the first two are empty.
[[nodiscard]] std::string evidence_head_json(const EvidenceHead& head,
                                             const scenario::Library& library);

// Reads evidence of any version of the suite that wrote all that this one needs; else the error
// says what is missing. Earlier versions wrote evidence of explore, replay and stress, too: of
// that, the error says what to use instead.
[[nodiscard]] Result<EvidenceHead, std::string> read_evidence_head(const std::string& json);

// What has become of the rules since the file was written.
struct RulesSince {
  std::vector<std::string> changed{};  // ids of cases and requirements
  std::vector<std::string> gone{};
  std::vector<std::string> added{};
};
[[nodiscard]] RulesSince rules_since(const EvidenceHead& head, const scenario::Library& library);

// Cases of which the file has packets, and which its head leaves out: by its selection, or because
// its endpoint lacks what they need. No run writes that; who changes a head can hide failures so.
struct LeftOut {
  std::vector<std::string> by_its_head{};   // ids
  std::vector<std::string> by_new_rules{};  // of cases that have changed since
};
// `offered`: by the endpoint, with what the preflight has found out.
[[nodiscard]] LeftOut left_out(const EvidenceHead& head, const endpoint::Capabilities& offered,
                               const scenario::Library& library,
                               const std::function<bool(const scenario::Case&)>& has_packets);

// Sessions of a file that nobody has come to the end of who judged it: of which cases they are. Who
// changes names of sessions, or the cases of a file, can hide failures so.
struct NotJudged {
  std::vector<std::string> cases{};  // ids, each once
  // Names of sessions that no run of the head's cases opens; not the nameless one before them.
  std::vector<std::string> of_no_case{};
};
[[nodiscard]] NotJudged not_judged(const std::vector<std::string>& sessions,
                                   const EvidenceHead& head);

// What was no pass, and is skipped or not there at all now: ids. What was cut is not among these.
[[nodiscard]] std::vector<std::string> no_longer_judged(
    const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now);

// "passed", "failed SET-NX-1" and so on: what two judgements are compared by; and of each case.
[[nodiscard]] std::string verdict_text(const run::CaseResult& result);
[[nodiscard]] std::map<std::string, std::string> verdict_texts(const run::SuiteResult& result);

// How a run has ended.
struct RunEnd {
  std::map<std::string, std::string> verdicts{};  // verdict_texts(), without a baseline
  std::optional<run::StressResult> stress{};      // none: no concurrent clients ran
  std::optional<run::EnumerationResult> enumeration{};
  std::string stopped_because{};  // empty: nothing did
  bool endpoint_lost = false;
};
[[nodiscard]] std::string run_end_json(const RunEnd& end);
// Nothing for a record that is no such end. The error says what of its phases cannot be read.
[[nodiscard]] Result<RunEnd, std::string> read_run_end(const std::string& json);

}  // namespace fencepost::report
