#include "cli/record_report.h"

#include <vector>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "conformance/record/capture_history.h"
#include "conformance/report/report_files.h"
#include "conformance/scenario/library.h"
#include "conformance/scenario/scenario_loader.h"
#include "conformance/text/text_wrap.h"

namespace fencepost::cli {
namespace {

// More than this is judged only in the end: each look begins at the start of the capture.
constexpr std::size_t kMaxWatched = 20'000;

// "record: client a, SET k: broke ..."
void say(const std::string& text) { fmt::print(stderr, "record: {}\n", text); }

// What we write is what the loader takes; if not, that is a defect of ours.
bool check(const std::string& path, const std::string& text) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library({}, errors);  // without the cases
  (void)load_scenario({path, text}, library.catalogue.ids(), errors);
  for (const std::string& error : describe_all(errors)) complain(error);
  return errors.empty();
}

// False after a complaint.
bool write_cases(const record::CaptureScenario& made, const std::string& path) {
  const std::string file = made.text();
  if (const auto written = report::write_file(path, file); !written) {
    complain(written.error());
    return false;
  }
  if (made.cases.empty()) {
    say(fmt::format("{} requests were seen, and no case is made of them: {} is empty",
                    made.requests, path));
    return true;
  }
  if (!check(path, file)) return false;
  fmt::print("fencepost: {} requests, {} case{}, written to {}\n", made.requests, made.cases.size(),
             made.cases.size() == 1 ? "" : "s", path);
  return true;
}

}  // namespace

void FlagWatcher::judge_new(const record::Capture& capture) {
  if (capture.events.size() == events_ || capture.events.size() > kMaxWatched) return;
  events_ = capture.events.size();
  for (const std::string& text : flagged(capture)) {
    if (said_.insert(text).second) say(text);
  }
}

bool write_history(const record::Capture& capture, const std::string& path,
                   std::chrono::milliseconds slack) {
  const record::CaptureHistory made = capture_history(capture, {.slack = slack});
  for (const std::string& note : made.notes) say("note: " + note);
  if (const auto written = report::write_file(path, made.text); !written) {
    complain(written.error());
    return false;
  }
  fmt::print("fencepost: {} of {}, written to {}\n", text::counted(made.operations, "operation"),
             text::counted(made.keys, "key"), path);
  return true;
}

run::ExitCode write_recording(const record::Capture& capture, const std::string& path,
                              FlagWatcher& watcher) {
  const record::CaptureScenario made = capture_scenario(capture, {});
  for (const std::string& text : made.flagged) {
    if (watcher.said_.insert(text).second) say(text);
  }
  for (const std::string& note : made.notes) say("note: " + note);
  if (!path.empty() && !write_cases(made, path)) return run::ExitCode::kInternal;
  if (made.flagged.empty()) return run::ExitCode::kConformant;
  fmt::print("fencepost: {} answers that no right store gives\n", made.flagged.size());
  return run::ExitCode::kFailed;
}

}  // namespace fencepost::cli
