#include "cli/run_evidence.h"

#include <algorithm>
#include <utility>

#include "cli/command_support.h"
#include "cli/ssh_keygen.h"
#include "endpoint/recording.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

void add_text(endpoint::Recorder& recorder, evidence::Kind kind, std::string text) {
  auto details = std::make_unique<evidence::Details>();
  details->text = std::move(text);
  recorder.add({.kind = kind, .details = std::move(details)});
}

bool is_signed(const std::string& file) { return !file.empty() && file != "-"; }

}  // namespace

report::Call call_of(const RunFlags& flags) {
  return {.url = flags.endpoint.empty() ? "" : endpoint::redacted(flags.endpoint),
          .descriptor = flags.descriptor,
          .driver = flags.driver,
          .timeout_scale = flags.timeout_scale};
}

std::optional<RunEvidence> RunEvidence::open(const std::string& file) {
  RunEvidence out;
  if (file.empty()) return out;
  auto recorder = endpoint::Recorder::create(file);
  if (!recorder) {
    complain(recorder.error());
    return std::nullopt;
  }
  out.recorder_ = std::move(*recorder);
  return out;
}

endpoint::Endpoint& RunEvidence::of(endpoint::Endpoint& endpoint) {
  if (!recorder_) return endpoint;
  recording_ = endpoint::record(endpoint, *recorder_);
  return *recording_;
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

bool can_sign(const std::string& key, const std::vector<std::string>& files) {
  if (key.empty()) return true;
  const auto able = check_signing(key);
  if (!able) complain(able.error());
  const bool something = std::any_of(files.begin(), files.end(), is_signed);
  if (!something) complain("--sign needs a file to sign: --evidence, --json or another report");
  return able && something;
}

bool sign_files(const std::string& key, const std::vector<std::string>& files) {
  bool done = true;
  for (const std::string& file : files) {
    if (key.empty() || !is_signed(file)) continue;
    const auto signature = sign_file(key, file);
    if (!signature) complain(signature.error());
    done = done && signature;
  }
  return done;
}

}  // namespace fencepost::cli
