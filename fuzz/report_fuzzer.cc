// Any bytes behind the first, which says what of: a report, its columns, what a killed run leaves,
// the head of evidence, a baseline. Read, or refused with a reason; what was read can be shown and
// written.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "evidence/frame.h"
#include "evidence/record.h"
#include "fuzz/input_reader.h"
#include "fuzz/load_errors.h"
#include "report/baseline/baseline_file.h"
#include "report/evidence_head.h"
#include "report/report.h"
#include "report/report_read.h"
#include "report/resume.h"
#include "report/saved_run.h"
#include "report/side_by_side.h"
#include "suite/scenario/library.h"
#include "suite/scenario/scenario_loader.h"

using namespace fencepost;

namespace {

constexpr const char* kCases = R"(
area: fuzz
cases:
  - id: fuzz.a
    title: A key that nobody has written is missing
    requirements: [GET-MISS-1]
    steps:
      - get: k
        expect: missing
)";

const scenario::Library& library() {
  static const scenario::Library out = [] {
    std::vector<scenario::LoadError> errors;
    scenario::Library made = scenario::load_library({{"fuzz.yaml", kCases}}, errors);
    FENCEPOST_CHECK(errors.empty() && made.cases.size() == 1);
    return made;
  }();
  return out;
}

// A report is of one commit: what is kept for all of them says THIS in its place.
std::string of_this_commit(std::string text) {
  constexpr std::string_view kAny = R"("suite_commit":"THIS")";
  const std::size_t at = text.find(kAny);
  if (at == std::string::npos) return text;
  const std::string own = R"("suite_commit":")" + std::string(report::suite_commit()) + '"';
  return text.replace(at, kAny.size(), own);
}

void read_report(const std::string& text) {
  const auto report = report::read_report(scenario::SourceFile{"r.json", text}, library());
  if (!report) {
    FENCEPOST_CHECK(!report.error().empty());
    return;
  }
  // Written, it is read again as the same.
  const std::string written = to_json(report->result, library().catalogue, report->context);
  const auto again = report::read_report(scenario::SourceFile{"r.json", written}, library());
  FENCEPOST_CHECK(again.has_value());
  FENCEPOST_CHECK(to_json(again->result, library().catalogue, again->context) == written);
  (void)to_junit(report->result, library().catalogue, report->context);
  (void)to_html(report->result, library().catalogue, report->context);
  (void)to_sarif(report->result, library().catalogue, report->context);
}

// The file of a killed run: its first line is the head, each other one a case.
std::string evidence_of(std::string_view text) {
  evidence::Encoder encoder;
  for (evidence::Kind kind = evidence::Kind::kHead; !text.empty(); kind = evidence::Kind::kCase) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto details = std::make_unique<evidence::Details>();
    details->text = text.substr(0, end);
    encoder.add({.kind = kind, .details = std::move(details)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::string(evidence::kMagic) + evidence::make_frame(encoder.take());
}

void read_unfinished(const std::string& text) {
  const scenario::SourceFile file{"r.json.unfinished", evidence_of(text)};
  const auto kept = report::read_saved_run(file);
  if (!kept) {
    FENCEPOST_CHECK(!kept.error().empty());
    return;
  }
  (void)report::report_of(*kept, library());
  const auto resumed = report::completed(file.name, {}, kept->head.run);
  if (!resumed) return;
  // No host, no file and no command of the file's.
  FENCEPOST_CHECK(resumed->call.url.find("mqtt") == std::string::npos);
  FENCEPOST_CHECK(resumed->call.descriptor.empty() && resumed->call.scenarios.empty() &&
                  resumed->call.baseline.empty());
  for (const std::string& each : resumed->call.files.paths()) {
    FENCEPOST_CHECK(each == "r.json");
  }
}

void read_baseline(const std::string& text, const char* name) {
  std::vector<scenario::LoadError> errors;
  const auto read = baseline::load_baseline({name, text}, errors);
  FENCEPOST_CHECK(read.has_value() == errors.empty());
  fencepost::fuzz::check_places(errors, text);
  if (!read) return;
  baseline::check_overlaps(*read, library().cases, errors);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(fencepost::fuzz::as_text(data + 1, size - 1));
  switch (data[0] % 6) {
    case 0:
      read_report(of_this_commit(text));
      break;
    case 1:
      (void)report::read_column({"r.json", text}, "");
      break;
    case 2:
      read_unfinished(text);
      break;
    case 3:
      if (const auto head = report::read_evidence_head(text); !head) {
        FENCEPOST_CHECK(!head.error().empty());
      }
      break;
    case 4:
      read_baseline(text, "b.yaml");
      break;
    default:
      read_baseline(text, "b.txt");
      break;
  }
  return 0;
}
