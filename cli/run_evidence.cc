#include "cli/run_evidence.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "cli/command_support.h"
#include "cli/ssh_keygen.h"
#include "endpoint/recording.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

void add_text(endpoint::Recorder& recorder, evidence::Kind kind, std::string text,
              std::string name = {}) {
  auto details = std::make_unique<evidence::Details>();
  details->text = std::move(text);
  details->name = std::move(name);
  recorder.add({.kind = kind, .details = std::move(details)});
}

// What a key signs: what is a file.
std::vector<std::string> signed_files(const std::string& evidence,
                                      const report::ReportFiles& reports) {
  std::vector<std::string> out = reports.paths();
  out.insert(out.begin(), evidence);
  std::erase_if(out, [](const std::string& file) { return file.empty() || file == "-"; });
  return out;
}

}  // namespace

report::Call call_of(const RunFlags& flags) {
  return {.url = flags.endpoint.empty() ? "" : endpoint::redacted(flags.endpoint),
          .descriptor = flags.descriptor,
          .driver = flags.driver,
          .timeout_scale = flags.timeout_scale};
}

std::optional<RunEvidence> RunEvidence::open(const std::string& file, std::size_t most_content) {
  RunEvidence out;
  if (file.empty()) return out;
  auto recorder = endpoint::Recorder::create(file, most_content);
  if (!recorder) {
    complain(recorder.error());
    return std::nullopt;
  }
  out.recorder_ = std::move(*recorder);
  return out;
}

endpoint::Endpoint& RunEvidence::of(endpoint::Endpoint& endpoint, const std::string& prefix) {
  if (!recorder_) return endpoint;
  return *recordings_.emplace_back(endpoint::record(endpoint, *recorder_, prefix));
}

void RunEvidence::begin(const report::EvidenceHead& head, const scenario::Library& library) {
  if (!recorder_) return;
  add_text(*recorder_, evidence::Kind::kHead, evidence_head_json(head, library));
  (void)recorder_->flush();  // without it nothing that follows can be judged
}

void RunEvidence::keep(const run::CaseResult& result, bool undecided) {
  if (!recorder_) return;
  // Its packets are there as they were.
  add_text(*recorder_, evidence::Kind::kCase, report::case_line(result, undecided, false));
}

void RunEvidence::say(const std::string& name, const std::string& json) {
  if (recorder_) add_text(*recorder_, evidence::Kind::kCase, json, name);
}

void RunEvidence::add_history(const std::string& lines) {
  if (recorder_) add_text(*recorder_, evidence::Kind::kHistory, lines);
}

bool RunEvidence::end(const std::string& json) {
  if (!recorder_) return true;
  add_text(*recorder_, evidence::Kind::kEnd, json);
  const auto written = recorder_->flush();
  if (!written) complain(written.error());
  return written.has_value();
}

std::string run_end_json(const RunEnd& end) {
  nlohmann::json out{{"exit_code", end.exit_code}, {"verdicts", end.verdicts}};
  if (!end.deliveries.empty()) out["deliveries"] = end.deliveries;
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<RunEnd> read_run_end(const std::string& text) {
  const auto document = read_json(text);
  if (!document.is_object()) return std::nullopt;
  JsonComplaint complaint;
  RunEnd out{.exit_code = JsonMembers(document, "", complaint).integer<int>("exit_code")};
  if (complaint.any()) return std::nullopt;
  out.verdicts = report::read_verdicts(text);
  out.deliveries = report::read_verdicts(text, "deliveries");
  return out;
}

bool can_sign(const std::string& key, const std::string& evidence,
              const report::ReportFiles& reports) {
  if (key.empty()) return true;
  const std::vector<std::string> files = signed_files(evidence, reports);
  const auto able = check_signing(key);
  if (!able) complain(able.error());
  if (files.empty()) complain("--sign needs a file to sign: --evidence, --json or another report");
  return able && !files.empty();
}

bool sign_files(const std::string& key, const std::string& evidence,
                const report::ReportFiles& reports) {
  bool done = true;
  if (key.empty()) return done;
  for (const std::string& file : signed_files(evidence, reports)) {
    const auto signature = sign_file(key, file);
    if (!signature) complain(signature.error());
    done = done && signature;
  }
  return done;
}

}  // namespace fencepost::cli
