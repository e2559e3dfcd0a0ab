#include "cli/run_evidence.h"

#include <utility>

#include "cli/command_support.h"
#include "endpoint/recording.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

void add_text(endpoint::Recorder& recorder, evidence::Kind kind, std::string text) {
  auto details = std::make_unique<evidence::Details>();
  details->text = std::move(text);
  recorder.add({.kind = kind, .details = std::move(details)});
}

}  // namespace

report::Call call_of(const CertifyOptions& options) {
  return {.url = options.endpoint.empty() ? "" : endpoint::redacted(options.endpoint),
          .descriptor = options.descriptor,
          .scenarios = options.scenarios,
          .driver = options.driver,
          .baseline = options.baseline.file,
          .shuffled = options.shuffle,
          .timeout_scale = options.timeout_scale,
          .files = options.reports};
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

void RunEvidence::begin(const CertifyOptions& options, const report::ReportContext& context,
                        const scenario::Library& library, const target::Descriptor& descriptor,
                        const run::RunSettings& settings) {
  if (!recorder_) return;
  const report::EvidenceHead head{.run = {.context = context, .call = call_of(options)},
                                  .run_id = settings.run_id,
                                  .capabilities = recording_->capabilities(),
                                  .expiry_tolerance = descriptor.expiry_tolerance,
                                  .disconnect_settling = descriptor.disconnect_settling};
  add_text(*recorder_, evidence::Kind::kHead, evidence_head_json(head, library));
  (void)recorder_->flush();  // without it nothing that follows can be judged
}

void RunEvidence::keep(const run::CaseResult& result, bool undecided) {
  if (!recorder_) return;
  // Its packets are there as they were.
  add_text(*recorder_, evidence::Kind::kCase, report::case_line(result, undecided, false));
}

bool RunEvidence::end(const run::SuiteResult& result) {
  if (!recorder_) return true;
  add_text(*recorder_, evidence::Kind::kEnd, report::verdicts_json(result));
  const auto written = recorder_->flush();
  if (!written) complain(written.error());
  return written.has_value();
}

}  // namespace fencepost::cli
