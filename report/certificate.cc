#include "report/certificate.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "endpoint/disturbance.h"
#include "report/findings.h"
#include "report/phases.h"
#include "report/report_json.h"
#include "report/report_read.h"
#include "report/requirement_states.h"
#include "report/root_causes.h"
#include "suite/scenario/digest.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kFormatVersion = 1;
constexpr std::array kBounds = {"cases", "sequences", "stress", "disturbances"};
constexpr std::size_t kMaxLine = 1'000;
constexpr std::size_t kShaDigits = 64;

// Empty: a run that ends so gets no certificate.
std::string_view certified_word(int exit_code) {
  switch (static_cast<run::ExitCode>(exit_code)) {
    case run::ExitCode::kConformant:
      return "conformant";
    case run::ExitCode::kFailed:
      return "not conformant";
    case run::ExitCode::kInconclusive:
      return "inconclusive";
    default:
      return {};
  }
}

std::string disturbances_text(const run::SuiteResult& result) {
  std::vector<std::string> out;
  for (const endpoint::DisturbanceKind& kind : endpoint::kDisturbances) {
    const auto ran =
        std::count_if(result.cases.begin(), result.cases.end(), [&](const run::CaseResult& entry) {
          const auto& needs = entry.test_case->requires_;
          return entry.verdict != run::Verdict::kSkipped &&
                 std::find(needs.begin(), needs.end(), kind.name) != needs.end();
        });
    if (ran > 0) {
      out.push_back(fmt::format("{} of the {} in {}", kind.name, kind.object,
                                text::counted(static_cast<std::size_t>(ran), "case")));
    }
  }
  if (out.empty()) out.emplace_back("none");
  return fmt::format("{}; no faults of the network", fmt::join(out, ", "));
}

ordered_json bounds_json(const run::SuiteResult& result) {
  const std::size_t ran = result.cases.size() - result.summary.skipped;
  return {{"cases", fmt::format("{} of {} ran", ran, text::counted(result.cases.size(), "case"))},
          {"sequences", result.enumeration ? enumeration_text(*result.enumeration) : "none"},
          {"stress", result.stress ? stress_text(*result.stress) : "none"},
          {"disturbances", disturbances_text(result)}};
}

ordered_json not_run_json(const run::SuiteResult& result) {
  const SkippedCases skipped = skipped_cases(result);
  ordered_json out = ordered_json::array();
  const auto add = [&](std::size_t cases, const std::string& why) {
    if (cases > 0) out.push_back({{"cases", cases}, {"why", why}});
  };
  for (const MissingCapability& each : skipped.missing) {
    add(each.cases, fmt::format("need {}: {}", each.name, each.provide));
  }
  add(skipped.too_large, "send a packet that is larger than the endpoint takes");
  add(skipped.too_slow, "need a faster endpoint");
  return out;
}

// A command, without the place where the program stood.
void take_out_the_place(ordered_json& command) {
  const std::string line = command;
  const auto words = text::words_of(line);
  if (words && !words->empty())
    command = "fencepost" + line.substr(text::shell_word(words->front()).size());
}

void take_out_the_machine(ordered_json& certificate) {
  take_out_the_place(certificate["command"]);
  for (const char* name : {"stress", "enumeration"}) {
    if (!certificate.contains(name)) continue;
    take_out_the_place(certificate[name]["command"]);
    for (ordered_json& finding : certificate[name]["findings"]) {
      if (finding.contains("command")) take_out_the_place(finding["command"]);
    }
  }
}

// What is printed within a line, and is not long.
std::string line_of(const JsonMembers& members, const char* name) {
  std::string out = members.text(name);
  if (text::one_line(out) != out || out.size() > kMaxLine) {
    members.wrong(name, "one line of at most 1000 bytes, without control characters");
  }
  return out;
}

std::string line_if_there(const JsonMembers& members, const char* name) {
  return members.has(name) ? line_of(members, name) : std::string();
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

bool is_sha256(const std::string& digits) {
  return digits.size() == kShaDigits &&
         digits.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// As ssh-keygen prints one. `verify` looks for it in what ssh-keygen says of the signature: a part
// of that would be found with any key.
bool is_fingerprint(std::string_view text) {
  constexpr std::string_view kHash = "SHA256:";
  constexpr std::size_t kBase64Digits = 43;
  return text.starts_with(kHash) && text.size() == kHash.size() + kBase64Digits &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                kHash.size()) == std::string_view::npos;
}

CertificateSubject read_subject(const JsonMembers& root) {
  const JsonMembers product = root.object("product");
  CertificateSubject out{.name = line_of(product, "name"),
                         .version = line_if_there(product, "version"),
                         .owner = line_if_there(product, "owner"),
                         .signing_key = line_if_there(root, "signing_key")};
  if (out.name.empty()) product.wrong("name", "a name");
  if (root.has("signing_key") && !is_fingerprint(out.signing_key)) {
    root.wrong("signing_key", "the SHA256 fingerprint of a key");
  }
  if (!root.has("evidence")) return out;
  const JsonMembers evidence = root.object("evidence");
  out.evidence = line_of(evidence, "file");
  out.evidence_sha256 = line_of(evidence, "sha256");
  if (!is_file_name(out.evidence)) evidence.wrong("file", "the name of a file, without folder");
  if (!is_sha256(out.evidence_sha256)) evidence.wrong("sha256", "64 hexadecimal digits");
  return out;
}

// The parts that reports do not have.
Certificate read_own(const JsonMembers& root) {
  Certificate out{.subject = read_subject(root),
                  .rules = line_of(root, "rules"),
                  .command = line_of(root, "command")};
  const auto version = root.integer<int>("format_version", 1);
  if (version != kFormatVersion) root.wrong("format_version", "1, the only one");
  const JsonMembers must = root.object("must");
  out.must = {.kept = must.integer<std::size_t>("kept"), .all = must.integer<std::size_t>("all")};
  if (out.must.kept > out.must.all) must.wrong("kept", fmt::format("at most {}", out.must.all));
  if (!is_command_of_a_report(out.command)) root.wrong("command", kCommandOfAReport);
  const JsonMembers bounds = root.object("bounds");
  for (const char* name : kBounds) out.bounds.emplace_back(name, line_of(bounds, name));
  root.each("not_run", [&](const json& value, const std::string& where) {
    const JsonMembers part = root.part(value, where);
    out.not_run.emplace_back(part.integer<std::size_t>("cases", 1), line_of(part, "why"));
  });
  const std::string_view word = certified_word(root.integer<int>("exit_code"));
  if (word.empty()) root.wrong("exit_code", "0, 1 or 4");
  if (root.text("verdict") != word) root.wrong("verdict", fmt::format("\"{}\"", word));
  return out;
}

// What it says twice and not alike; empty: nothing.
std::string contradiction_in(const Certificate& certificate) {
  const auto kept =
      std::count_if(certificate.column.states.begin(), certificate.column.states.end(),
                    [](const auto& entry) { return entry.second == "passed"; });
  if (static_cast<std::size_t>(kept) < certificate.must.kept) {
    return "it says that more rules are kept than it lists";
  }
  if (certificate.column.exit_code != 0) return {};
  for (const auto& [id, state] : certificate.column.states) {
    if (state == "broken" || state == "outside") return text::one_line(id) + " is broken";
  }
  for (const auto& [id, finding] : certificate.column.findings) {
    if (finding.verdict != "warning") return text::one_line(id) + " has failed";
  }
  return {};
}

}  // namespace

std::string why_no_certificate(const run::SuiteResult& result, const ReportContext& context) {
  if (std::string part = part_text(result, context); !part.empty()) return part;
  if (!context.stopped_because.empty()) return context.stopped_because;
  if (result.endpoint_lost) return "the endpoint was lost";
  if (result.interrupted) return "interrupted";
  if (result.summary.not_run > 0) return text::counted(result.summary.not_run, "case") + " not run";
  const run::ExitCode code = exit_code(result);
  return certified_word(static_cast<int>(code)).empty() ? std::string(name(code)) : "";
}

std::string certificate_json(const run::SuiteResult& result, const scenario::Library& library,
                             const ReportContext& context, const CertificateSubject& subject) {
  ordered_json report = report_document(result, library.catalogue, context);
  const MustScore must =
      must_score(requirement_states(result, differences(result, library.catalogue, context.strict),
                                    library.catalogue),
                 library.catalogue);
  ordered_json out{{"format", kCertificateFormat}, {"format_version", kFormatVersion}};
  out["verdict"] = certified_word(report["exit_code"]);
  out["must"] = {{"kept", must.kept}, {"all", must.all}};
  out["product"] = {{"name", subject.name.empty() ? context.endpoint : subject.name}};
  if (!subject.version.empty()) out["product"]["version"] = subject.version;
  if (!subject.owner.empty()) out["product"]["owner"] = subject.owner;
  out["rules"] = basis_text(result, library.catalogue, context);
  out["cases_sha256"] = digest(library);
  out["bounds"] = bounds_json(result);
  out["not_run"] = not_run_json(result);
  if (!subject.evidence.empty()) {
    out["evidence"] = {{"file", text::one_line(subject.evidence)},
                       {"sha256", subject.evidence_sha256}};
  }
  if (!subject.signing_key.empty()) out["signing_key"] = subject.signing_key;
  // What only a part of a run has, what is of this machine, and the cases, of which there are too
  // many.
  for (const char* left_out :
       {"selection", "selected", "shard", "transcripts", "environment", "cases"}) {
    report.erase(left_out);
  }
  out.update(report);
  take_out_the_machine(out);
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

bool is_certificate(std::string_view content) {
  constexpr std::size_t kHead = 100;
  return content.substr(0, kHead).find(fmt::format("\"{}\"", kCertificateFormat)) !=
         std::string_view::npos;
}

Result<Certificate, std::string> read_certificate(const scenario::SourceFile& file) {
  const auto wrong = [&](const std::string& what) {
    return fail(fmt::format("{}: {}", file.name, what));
  };
  const json document = json_limit_broken(file.content).empty() ? read_json(file.content) : json();
  if (!document.is_object() || !document.contains("format") ||
      document["format"] != kCertificateFormat) {
    return wrong("this is not a certificate that `fencepost certify --certificate` has written");
  }
  JsonDiagnostic diagnostic;
  Certificate out = read_own(JsonMembers(document, "", diagnostic));
  if (diagnostic.any()) return wrong(diagnostic.text());
  auto column = read_column(file, out.subject.name);
  if (!column) return fail(std::move(column.error()));
  out.column = std::move(*column);
  if (const std::string what = contradiction_in(out); !what.empty()) {
    return wrong(fmt::format("it says {}, but {}: it was changed after it was written",
                             verdict_word(out), what));
  }
  return out;
}

std::string_view verdict_word(const Certificate& certificate) {
  return certified_word(certificate.column.exit_code);
}

std::string subject_text(const CertificateSubject& subject) {
  return subject.name + (subject.version.empty() ? "" : " " + subject.version) +
         (subject.owner.empty() ? "" : " (" + subject.owner + ")");
}

std::vector<std::string> worth_of(const Certificate& certificate) {
  const CertificateSubject& subject = certificate.subject;
  std::vector<std::string> out;
  out.push_back(
      subject.signing_key.empty()
          ? "It is not signed: anybody may have written it."
          : fmt::format("It is signed with the key {}, which stands for what it says; `fencepost "
                        "verify FILE --allowed-signers SIGNERS` says whose key that is.",
                        subject.signing_key));
  out.push_back(
      subject.evidence.empty()
          ? "No evidence was kept: to check it, the endpoint must be certified again."
          : fmt::format("The evidence {} has all requests and replies: `fencepost judge {}` "
                        "repeats the verdicts without the endpoint. SHA-256: {}.",
                        subject.evidence, text::shell_word(subject.evidence),
                        subject.evidence_sha256));
  out.push_back(
      "It is about the store that answered in this run, within these bounds; who owns it says what "
      "it is.");
  return out;
}

}  // namespace fencepost::report
