#include "report/saved_run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "endpoint/recorded.h"
#include "evidence/frame.h"
#include "report/case_json.h"
#include "suite/scenario/digest.h"

namespace fencepost::report {
namespace {

using nlohmann::json;

// Earlier versions wrote JSON Lines beside their reports.
constexpr std::string_view kFormerly = R"({"unfinished":)";

std::string former_version(std::string_view content) {
  const json document = read_json(std::string(content.substr(0, content.find('\n'))));
  JsonDiagnostic ignored;
  return document.is_object() ? JsonMembers(document, "", ignored).text_if_there("suite_version")
                              : "";
}

std::string of_version(const std::string& file, const std::string& version) {
  return fmt::format(
      "{}: was written by fencepost {}, and this is {}: use that version, or run the cases again",
      file, escape(version, 40), suite_version());
}

// The result of a record; null, and an error, where `library` has no such case.
std::optional<run::FinishedCase> finished_case_of(const JsonMembers& record,
                                                  const scenario::Library& library,
                                                  const JsonDiagnostic& diagnostic) {
  const std::string id = record.text("case");
  const auto found = std::find_if(library.cases.begin(), library.cases.end(),
                                  [&](const scenario::Case& each) { return each.id == id; });
  if (found == library.cases.end() && !diagnostic.any()) record.wrong("case", "the id of a case");
  if (diagnostic.any()) return std::nullopt;
  run::FinishedCase out{.result = case_of(record, *found),
                        .undecided = record.flag_if_there("undecided")};
  return diagnostic.any() ? std::nullopt : std::optional(std::move(out));
}

// The last word of a case counts.
void put(run::FinishedCase kept, std::vector<run::FinishedCase>& into) {
  const auto known = std::find_if(into.begin(), into.end(), [&](const run::FinishedCase& each) {
    return each.result.test_case == kept.result.test_case;
  });
  if (known == into.end()) {
    into.push_back(std::move(kept));
  } else {
    *known = std::move(kept);
  }
}

// What the cases come to together.
void conclude(const Head& head, const scenario::Library& library, run::SuiteResult& result) {
  result.basis = basis_of(result, head.context.profile, head.context.edition);
  for (run::CaseResult& each : result.cases) settle(each, library.catalogue, result.basis);
  run::summarize(result, library.catalogue, head.context.strict);
}

// A case that says otherwise than the run has concluded, if one does.
std::string contradiction(const SavedRun& kept, const RunEnd& end, const run::SuiteResult& result) {
  for (const auto& [id, verdict] : verdict_texts(result)) {
    const auto found = end.verdicts.find(id);
    if (found == end.verdicts.end() || found->second == verdict) continue;
    return fmt::format(
        "{}: the case {} is {} at the end of the run, and {} by its record: "
        "the file was changed after it was written",
        kept.file, id, escape(found->second, 80), verdict);
  }
  return {};
}

// How many of `cases` are missing, and why; empty where none is.
std::string why_not_whole(const SavedRun& kept, std::size_t missing, std::size_t cases) {
  if (!kept.end.empty()) return missing == 0 ? "" : "the run did not finish";
  std::string out =
      fmt::format("the run was killed: {} of {} cases had finished", cases - missing, cases);
  return kept.diagnostic.empty() ? out : out + "; " + kept.diagnostic;
}

}  // namespace

std::string case_json(const run::CaseResult& result, bool undecided, bool with_transcript) {
  auto out = case_record(result, with_transcript);
  if (undecided) out["undecided"] = true;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_saved_run(const scenario::SourceFile& file) {
  return evidence::is_evidence(file.content) || file.content.starts_with(kFormerly);
}

Result<SavedRun, std::string> read_saved_run(const scenario::SourceFile& file) {
  if (file.content.starts_with(kFormerly)) {
    return fail(fmt::format(
        "{}: was written by fencepost {} in a format that is no longer read: use that version, or "
        "run the cases again",
        file.name, escape(former_version(file.content), 40)));
  }
  auto recorded = endpoint::Recorded::read(file.content);
  if (!recorded) {
    return fail(fmt::format("{}: is not evidence of `fencepost certify`: it {}", file.name,
                            recorded.error()));
  }
  auto head = read_evidence_head(recorded->head());
  const auto last = read_evidence_head(recorded->last_head());
  if (!head || !last) return fail(file.name + ": " + (head ? last : head).error());
  const ReportContext& found = last->run.context;  // by the preflight, and nothing else of it
  head->run.context.preflight = found.preflight;
  head->run.context.expiry_tolerance = found.expiry_tolerance;
  head->run.context.disconnect_settling = found.disconnect_settling;
  if (head->run.version != suite_version()) return fail(of_version(file.name, head->run.version));
  return SavedRun{.file = file.name,
                  .head = std::move(*head),
                  .cases = recorded->cases(),
                  .end = recorded->end(),
                  .diagnostic = recorded->diagnostic()};
}

Result<std::vector<run::FinishedCase>, std::string> read_cases(const SavedRun& kept,
                                                               const scenario::Library& library) {
  const Head& head = kept.head.run;
  if (head.cases != scenario::digest(library)) {
    return fail(kept.file +
                ": its run had other cases than these (name them with --scenarios), or "
                "they have changed since");
  }
  std::vector<run::FinishedCase> out;
  for (std::size_t i = 0; i < kept.cases.size(); ++i) {
    const json document = read_json(kept.cases[i]);
    JsonDiagnostic diagnostic;
    const JsonMembers record(document, "", diagnostic);
    auto found = finished_case_of(record, library, diagnostic);
    if (found && !selects(head.context.selection, *found->result.test_case)) {
      record.wrong("case", "one of the run's cases");
    }
    if (diagnostic.any()) {
      return fail(fmt::format("{}: case {} of it: {}", kept.file, i + 1, diagnostic.text()));
    }
    put(std::move(*found), out);
  }
  return out;
}

Result<Report, std::string> report_of(const SavedRun& kept, const scenario::Library& library) {
  auto cases = read_cases(kept, library);
  if (!cases) return fail(std::move(cases.error()));
  std::map<const scenario::Case*, run::CaseResult*> found;
  for (run::FinishedCase& each : *cases) found[each.result.test_case] = &each.result;
  Report out{.file = kept.file, .result = {}, .context = kept.head.run.context};
  std::size_t missing = 0;
  for (const scenario::Case& test_case : library.cases) {
    if (!selects(out.context.selection, test_case)) continue;
    const auto result = found.find(&test_case);
    if (result == found.end()) {
      ++missing;
      out.result.cases.push_back(
          {.test_case = &test_case, .failure = {.position = test_case.position}});
    } else {
      out.result.cases.push_back(std::move(*result->second));
    }
    out.result.longest_wait = std::max(out.result.longest_wait, test_case.expected_wait());
  }
  run::SuiteResult& result = out.result;
  conclude(kept.head.run, library, result);
  auto end = read_run_end(kept.end);
  if (!end) return fail(kept.file + ": " + end.error());
  if (std::string wrong = contradiction(kept, *end, result); !wrong.empty()) {
    return fail(std::move(wrong));
  }
  out.context.known_cases = library.known_cases();
  out.context.stopped_because = end->stopped_because;
  if (out.context.stopped_because.empty()) {
    out.context.stopped_because = why_not_whole(kept, missing, result.cases.size());
  }
  result.stress = std::move(end->stress);
  result.enumeration = std::move(end->enumeration);
  result.endpoint_lost = end->endpoint_lost;
  result.interrupted = !out.context.stopped_because.empty() && !end->endpoint_lost;
  return out;
}

std::map<std::string, std::string> verdicts_so_far(const std::vector<std::string>& cases,
                                                   const Head& head,
                                                   const scenario::Library& library) {
  std::vector<run::FinishedCase> kept;
  for (const std::string& each : cases) {
    const json document = read_json(each);
    JsonDiagnostic diagnostic;
    auto found = finished_case_of(JsonMembers(document, "", diagnostic), library, diagnostic);
    if (found) put(std::move(*found), kept);
  }
  run::SuiteResult all;
  for (run::FinishedCase& each : kept) all.cases.push_back(std::move(each.result));
  conclude(head, library, all);
  return verdict_texts(all);
}

}  // namespace fencepost::report
