#include "traffic/record/recording.h"

#include <vector>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"
#include "suite/scenario/scenario_loader.h"
#include "traffic/record/capture_history.h"

namespace fencepost::record {
namespace {

// More than this is judged only at the end: each check begins at the start of the capture.
constexpr std::size_t kMaxWatched = 20'000;

// "record: client a, SET k: broke ..."
void say(const std::string& text, Said& said) { said.errors += "record: " + text + "\n"; }
void diagnose(const std::string& text, Said& said) { said.errors += "fencepost: " + text + "\n"; }

// The loader must accept what we write; otherwise it is a bug of ours.
bool check(const std::string& path, const std::string& text, Said& said) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library({}, errors);  // without the cases
  (void)load_scenario({path, text}, library.catalogue.ids(), errors);
  for (const std::string& error : describe_all(errors)) diagnose(error, said);
  return errors.empty();
}

// False after an error.
bool write_cases(const CaptureScenario& made, const std::string& path, Said& said) {
  const std::string file = made.text();
  if (const auto written = report::write_file(path, file); !written) {
    diagnose(written.error(), said);
    return false;
  }
  if (made.cases.empty()) {
    say(fmt::format("no case could be made of {}: {} is empty",
                    text::counted(made.requests, "request"), path),
        said);
    return true;
  }
  if (!check(path, file, said)) return false;
  said.output +=
      fmt::format("fencepost: {}, {}, written to {}\n", text::counted(made.requests, "request"),
                  text::counted(made.cases.size(), "case"), path);
  return true;
}

}  // namespace

Said FlagWatcher::judge_new(const Capture& capture) {
  Said out;
  if (capture.events.size() == events_ || capture.events.size() > kMaxWatched) return out;
  events_ = capture.events.size();
  for (const std::string& text : flagged(capture)) {
    if (said_.insert(text).second) say(text, out);
  }
  return out;
}

Recording write_history(const Capture& capture, const std::string& path,
                        std::chrono::milliseconds slack) {
  Recording out;
  const CaptureHistory made = capture_history(capture, {.slack = slack});
  for (const std::string& note : made.notes) say("note: " + note, out.said);
  if (const auto written = report::write_file(path, made.text); !written) {
    diagnose(written.error(), out.said);
    out.code = run::ExitCode::kInternal;
    return out;
  }
  out.said.output = fmt::format("fencepost: {} of {}, written to {}\n",
                                text::counted(made.operations, "operation"),
                                text::counted(made.keys, "key"), path);
  return out;
}

Recording write_recording(const Capture& capture, const std::string& path, FlagWatcher& watcher) {
  Recording out;
  const CaptureScenario made = capture_scenario(capture, {});
  for (const std::string& text : made.flagged) {
    if (watcher.said_.insert(text).second) say(text, out.said);
  }
  for (const std::string& note : made.notes) say("note: " + note, out.said);
  if (!path.empty() && !write_cases(made, path, out.said)) {
    out.code = run::ExitCode::kInternal;
  } else if (!made.flagged.empty()) {
    out.said.output += fmt::format("fencepost: {} that no conforming store gives\n",
                                   text::counted(made.flagged.size(), "answer"));
    out.code = run::ExitCode::kFailed;
  }
  out.requests = made.requests;
  return out;
}

}  // namespace fencepost::record
