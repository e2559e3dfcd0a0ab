#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/command_support.h"
#include "cli/commands.h"
#include "codec/dialect.h"
#include "conformance/replay/replay.h"
#include "conformance/report/console.h"
#include "conformance/report/report.h"
#include "conformance/run/signature.h"
#include "conformance/scenario/library.h"
#include "conformance/target/target.h"
#include "conformance/text/colour.h"
#include "conformance/text/printable.h"
#include "endpoint/url.h"

namespace fencepost::cli {
namespace {

using enum text::Colour;

struct OutcomeStyle {
  std::string_view sign;
  text::Colour colour;
};
OutcomeStyle style_of(replay::Replayed outcome) {
  switch (outcome) {
    case replay::Replayed::kFixed:
    case replay::Replayed::kPasses:
      return {"✓", kGreen};
    case replay::Replayed::kInconclusive:
      return {"?", kYellow};
    case replay::Replayed::kSkipped:
      return {"-", kDim};
    case replay::Replayed::kNotRun:
      return {"·", kYellow};
    case replay::Replayed::kStillFailing:
    case replay::Replayed::kChanged:
    case replay::Replayed::kFails:
    case replay::Replayed::kFlaky:
      break;
  }
  return {"✗", kRed};
}

// ---- What is to be run

// The files at these paths, each once. Complaints go to `errors`.
std::vector<scenario::SourceFile> read_all(const std::vector<std::string>& paths,
                                           std::vector<std::string>& errors) {
  std::vector<scenario::SourceFile> out;
  std::set<std::filesystem::path> seen;
  for (const std::string& path : paths) {
    auto files = scenario::read_files(path);
    if (!files) {
      errors.push_back(std::move(files.error()));
      continue;
    }
    for (scenario::SourceFile& file : *files) {
      std::error_code unknown;
      const auto place = std::filesystem::weakly_canonical(file.name, unknown);
      if (seen.insert(unknown ? std::filesystem::path(file.name) : place).second) {
        out.push_back(std::move(file));
      }
    }
  }
  return out;
}

struct Saved {
  scenario::Catalogue catalogue;
  std::vector<scenario::SourceFile> files;  // with cases; no file with an error is among them
  std::vector<scenario::Case> cases;
};

// Ids are unique within a file alone: the same case may have been saved in two folders.
Saved load_all(std::vector<scenario::SourceFile> files, std::vector<std::string>& complaints) {
  std::vector<scenario::LoadError> errors;
  const auto first_case = std::stable_partition(files.begin(), files.end(), scenario::is_catalogue);
  Saved out;
  out.catalogue = load_library({files.begin(), first_case}, errors).catalogue;
  const std::set<std::string> ids = out.catalogue.ids();
  for (auto file = first_case; file != files.end(); ++file) {
    const std::size_t before = errors.size();
    std::vector<scenario::Case> cases = load_scenario(*file, ids, errors);
    check_unique_ids(cases, errors);
    if (errors.size() > before) continue;
    for (scenario::Case& test_case : cases) out.cases.push_back(std::move(test_case));
    out.files.push_back(std::move(*file));
  }
  for (const scenario::LoadError& error : errors) complaints.push_back(describe(error));
  return out;
}

// ---- The run

// Everything that a run needs to know.
struct Session {
  const ReplayOptions& options;
  Saved saved;
  report::ReportContext context;
  run::SuiteOptions suite{};
  replay::ReplayRun run{};
};

// Cases of the same id have the same keys: they run in different rounds.
std::vector<std::vector<const scenario::Case*>> rounds_of(
    const std::vector<scenario::Case>& cases) {
  std::vector<std::vector<const scenario::Case*>> out;
  std::map<std::string, std::size_t> seen;
  for (const scenario::Case& test_case : cases) {
    const std::size_t round = seen[test_case.id]++;
    if (round == out.size()) out.emplace_back();
    out[round].push_back(&test_case);
  }
  return out;
}

// What the suite says of an endpoint that mixes two forms, it says of any case that saw one. Here a
// case stands for itself.
run::CaseResult judged_alone(run::CaseResult result, const scenario::Catalogue& catalogue) {
  run::SuiteResult alone;
  alone.cases.push_back(std::move(result));
  run::summarize(alone, catalogue, /*strict=*/true);
  return std::move(alone.cases.front());
}

// Collects what the rounds say of each case.
class Rounds {
 public:
  Rounds(endpoint::Endpoint& endpoint, Session& session, report::Console& console)
      : endpoint_(endpoint),
        session_(session),
        console_(console),
        suite_(session.suite),
        total_(session.saved.cases.size() * session.options.runs) {}

  void run() {
    for (std::size_t i = 0; i < session_.options.runs; ++i) {
      if (i > 0) suite_.settings.run_id = random_run_id();  // fresh keys
      for (const auto& round : rounds_of(session_.saved.cases)) run_round(round);
      ++suite_.settings.seed;
    }
    session_.run.interrupted = stop_flag();
    for (const scenario::Case& test_case : session_.saved.cases) {
      session_.run.cases.push_back(replay::classify(test_case, std::move(results_[&test_case])));
    }
    for (const auto& [divergence, seen] : forms_) {
      if (seen.size() > 1) session_.run.mixed_forms.emplace_back(codec::name(divergence));
    }
  }

 private:
  void run_round(const std::vector<const scenario::Case*>& cases) {
    if (session_.run.endpoint_lost || stop_flag()) {
      for (const scenario::Case* test_case : cases) {
        results_[test_case].push_back({.test_case = test_case, .position = test_case->position});
      }
      return;
    }
    run::SuiteResult ran =
        run_suite(endpoint_, cases, session_.saved.catalogue, suite_, stop_flag(),
                  [&](const run::CaseResult& result, std::size_t, std::size_t) {
                    console_.progress(result, ++done_, total_);
                  });
    for (const auto& [divergence, seen] : ran.forms) {
      forms_[divergence].insert(seen.begin(), seen.end());
    }
    session_.run.endpoint_lost = ran.endpoint_lost;
    session_.run.lost_message = ran.lost_message;
    for (run::CaseResult& result : ran.cases) {
      const scenario::Case* of = result.test_case;
      results_[of].push_back(judged_alone(std::move(result), session_.saved.catalogue));
    }
  }

  endpoint::Endpoint& endpoint_;
  Session& session_;
  report::Console& console_;
  run::SuiteOptions suite_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::map<const scenario::Case*, std::vector<run::CaseResult>> results_;
  std::map<codec::Divergence, std::set<codec::DialectId>> forms_;
};

// ---- Healing

// Writes the file anew, unless it is no longer what was run.
Result<void, std::string> replace_file(const scenario::SourceFile& file, const std::string& text) {
  const auto now = scenario::read_file(file.name);
  if (!now) return fail(now.error());
  if (now->content != file.content) return fail(std::string("the file has changed meanwhile"));
  std::error_code failed;
  const auto place = std::filesystem::canonical(file.name, failed);  // behind links
  if (failed) return fail(failed.message());
  const auto mode = std::filesystem::status(place, failed).permissions();
  using std::filesystem::perms;
  const perms writable = perms::owner_write | perms::group_write | perms::others_write;
  if (failed || (mode & writable) == perms::none) return fail(std::string("the file is read-only"));
  // Beside the file, so that it is renamed, and removed if it cannot be.
  const std::filesystem::path beside = place.string() + ".healing-" + random_run_id();
  auto written = report::write_file(beside.string(), text);
  if (written) {
    std::filesystem::permissions(beside, mode, failed);
    if (!failed) std::filesystem::rename(beside, place, failed);
    if (!failed) return {};
    written = fail(failed.message());
  }
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return written;
}

std::string what_changed(const replay::Replay& replay) {
  return replay.outcome == replay::Replayed::kFixed
             ? "fixed: it must pass from now on"
             : "changed: it has now " + run::quoted_signature(signature(replay.result));
}

void heal_file(const scenario::SourceFile& file, Session& session) {
  const std::set<std::string> requirements = session.saved.catalogue.ids();
  scenario::SourceFile better = file;
  std::vector<std::string> healed_here;
  const auto place_of = [](const scenario::Case& test_case) {
    return fmt::format("{}:{} {}", test_case.position.file, test_case.position.line, test_case.id);
  };
  for (const replay::Replay& replay : session.run.cases) {
    const scenario::Case& test_case = *replay.test_case;
    const bool concerns = test_case.position.file == file.name && test_case.recorded &&
                          test_case.recorded->failed() &&
                          replay.outcome != replay::Replayed::kStillFailing;
    if (!concerns) continue;
    auto text = healed(replay).and_then([&](const scenario::Recorded& to) {
      return replay::heal(better, test_case.id, to, requirements);
    });
    if (text) {
      better.content = std::move(*text);
      healed_here.push_back(place_of(test_case) + ": " + what_changed(replay));
    } else {
      session.run.not_healed.push_back(place_of(test_case) + ": " + text.error());
    }
  }
  if (healed_here.empty()) return;
  const auto written = replace_file(file, better.content);
  if (written) {
    for (std::string& line : healed_here) session.run.healed.push_back(std::move(line));
  } else {
    session.run.not_healed.push_back(file.name + ": " + written.error());
  }
}

// ---- What people see

class Printer {
 public:
  Printer(Session& session, report::ConsoleOptions style, report::Console& console)
      : session_(session), style_(style), paint_(style.colour), console_(console) {}

  void begin() const {
    if (session_.options.quiet) return;
    const report::ReportContext& context = session_.context;
    const std::size_t cases = session_.saved.cases.size();
    const std::size_t files = session_.saved.files.size();
    fmt::print("{} {}  endpoint {}  profile {}  {} case{} of {} file{}, {} at once  seed {}{}\n",
               paint_(kBold, "fencepost replay"), report::suite_version(), context.endpoint,
               name(context.profile), cases, cases == 1 ? "" : "s", files, files == 1 ? "" : "s",
               session_.suite.jobs, context.seed,
               session_.options.runs > 1 ? fmt::format("  {} runs", session_.options.runs) : "");
    std::fflush(stdout);
  }

  void end() {
    if (style_.live && !session_.options.quiet) fmt::print(text::kEraseLine);
    if (!session_.options.quiet) print_list();
    for (const replay::Replay& replay : session_.run.cases) explain(replay);
    for (const std::string& line : session_.run.healed) fmt::print("healed {}\n", line);
    for (const std::string& line : session_.run.not_healed) fmt::print("not healed {}\n", line);
    for (const std::string& form : session_.run.mixed_forms) {
      fmt::print("{}\n", paint_(kRed, "the endpoint mixes both forms of " + form));
    }
    if (!session_.context.stopped_because.empty()) {
      fmt::print("{}\n", paint_(kYellow, session_.context.stopped_because));
    }
    print_verdict();
  }

 private:
  // Behind the place of a case.
  [[nodiscard]] static std::string remark(const replay::Replay& replay) {
    if (replay.outcome == replay::Replayed::kFlaky) {
      return fmt::format("failed {} times of {}", replay.failed, replay.runs);
    }
    const bool has_verdict = is_failure(replay.outcome) || replay.result.message.empty();
    return has_verdict ? replay.test_case->title
                       : text::one_line(text::printable(replay.result.message));
  }

  void print_list() const {
    fmt::print("\n");
    for (const replay::Replay& replay : session_.run.cases) {
      const OutcomeStyle style = style_of(replay.outcome);
      const scenario::Position& at = replay.test_case->position;
      fmt::print("  {} {:<13}  {}:{}  {}  {}\n", paint_(style.colour, style.sign),
                 name(replay.outcome), at.file, at.line, replay.test_case->id,
                 paint_(kDim, remark(replay)));
    }
  }

  void explain(const replay::Replay& replay) {
    if (!is_failure(replay.outcome) && replay.outcome != replay::Replayed::kInconclusive) return;
    console_.failure(replay.result, session_.saved.catalogue, context_of(replay));
    if (is_failure(replay.outcome)) {
      fmt::print("  outcome   {}\n", paint_(kRed, name(replay.outcome)));
    }
    if (replay.runs > 1) {
      fmt::print("  runs      failed {} times of {}{}\n", replay.failed, replay.runs,
                 replay.always_alike ? "" : ", not always alike");
    }
    const std::optional<scenario::Recorded>& recorded = replay.test_case->recorded;
    if (!recorded || !recorded->failed()) return;
    fmt::print("  recorded  {}{}\n",
               recorded->signature.empty() ? recorded->requirement
                                           : run::quoted_signature(recorded->signature),
               recorded->when.empty() ? "" : " on " + recorded->when);
  }

  // With the command that runs this case alone.
  [[nodiscard]] const report::ReportContext& context_of(const replay::Replay& replay) {
    const scenario::Case& test_case = *replay.test_case;
    session_.context.commands[test_case.id] =
        fmt::format("{} --scenarios {} --seed {}", session_.context.command,
                    text::shell_word(test_case.position.file), session_.context.seed);
    return session_.context;
  }

  void print_verdict() const {
    fmt::print("\n{}\n", summary(session_.run));
    const run::ExitCode code = exit_code(session_.run);
    if (code == run::ExitCode::kConformant) {
      fmt::print("{}\n", paint_(kGreen, "nothing of this fails"));
    } else if (code == run::ExitCode::kInconclusive) {
      fmt::print("{}\n", paint_(kYellow, "no failure, but not everything could be decided"));
    } else if (code == run::ExitCode::kUsage) {
      fmt::print("{}\n",
                 paint_(kRed, "not everything was run: files that cannot be loaded, see above"));
    }
    std::fflush(stdout);
  }

  Session& session_;
  report::ConsoleOptions style_;
  text::Paint paint_;
  report::Console& console_;
};

// ---- Reports

bool write_reports(Session& session) {
  bool written = true;
  const auto note = [&](const Result<void, std::string>& result) {
    if (!result) complain(result.error());
    written = written && result.has_value();
  };
  if (!session.options.json.empty()) {
    note(report::write_file(session.options.json, to_json(session.run, session.context)));
  }
  if (!session.options.junit.empty()) {
    run::SuiteResult result;
    for (const replay::Replay& replay : session.run.cases) result.cases.push_back(replay.result);
    run::summarize(result, session.saved.catalogue, /*strict=*/true);
    result.endpoint_lost = session.run.endpoint_lost;
    result.interrupted = session.run.interrupted;
    note(report::write_file(session.options.junit,
                            to_junit(result, session.saved.catalogue, session.context)));
  }
  return written;
}

// The command line that runs a case again, but for its file.
std::string command_line(const ReplayOptions& options, codec::Profile profile) {
  std::string out =
      certify_command(options.program, {.url = options.endpoint, .descriptor = options.descriptor});
  if (profile != codec::Profile::kAuto) out += fmt::format(" --profile {}", name(profile));
  return out + " --strict";
}

// All cases are "not run", and the reports say why.
run::ExitCode not_begun(Session& session, const std::string& reason, run::ExitCode code) {
  session.context.stopped_because = reason;
  for (const scenario::Case& test_case : session.saved.cases) {
    run::CaseResult result{.test_case = &test_case, .position = test_case.position};
    result.message = reason;
    session.run.cases.push_back(replay::classify(test_case, {std::move(result)}));
  }
  session.run.not_begun = code;
  return write_reports(session) ? exit_code(session.run) : run::ExitCode::kInternal;
}

run::ExitCode run_on(endpoint::Endpoint& endpoint, const target::Descriptor& descriptor,
                     Session& session) {
  session.context.endpoint = endpoint.url();
  const auto ready = prepare(endpoint, descriptor, session.options.jobs, session.suite);
  if (!ready) {
    complain(ready.error().reason);
    if (!ready.error().hint.empty()) fmt::print(stderr, "           {}\n", ready.error().hint);
    return not_begun(session, ready.error().reason, ready.error().code);
  }
  session.context.preflight = *ready;
  report::ConsoleOptions style = report::console_options(stdout);
  style.quiet = session.options.quiet;
  style.trace = session.options.trace;
  report::Console console(stdout, style);
  Printer printer(session, style, console);
  printer.begin();
  Rounds(endpoint, session, console).run();
  if (session.run.endpoint_lost) {
    session.context.stopped_because =
        "the endpoint was lost during the run: " + session.run.lost_message;
  } else if (session.run.interrupted) {
    session.context.stopped_because = "interrupted";
  }
  if (session.options.heal) {
    for (const scenario::SourceFile& file : session.saved.files) heal_file(file, session);
  }
  printer.end();
  return write_reports(session) ? exit_code(session.run) : run::ExitCode::kInternal;
}

std::optional<codec::Profile> profile_of(const ReplayOptions& options,
                                         const target::Descriptor& descriptor) {
  if (options.profile.empty()) return descriptor.profile.value_or(codec::Profile::kAuto);
  const auto profile = codec::profile_named(options.profile);
  if (!profile) {
    complain("--profile " + options.profile + " is not one of auto, documented, deployed");
  }
  return profile;
}

bool can_write(const ReplayOptions& options) {
  for (const std::string& path : {options.json, options.junit}) {
    if (path.empty()) continue;
    if (const auto writable = report::check_writable(path); !writable) {
      complain(writable.error());
      return false;
    }
  }
  return true;
}

}  // namespace

run::ExitCode replay(const ReplayOptions& options) {
  const auto descriptor = read_descriptor({options.endpoint, options.descriptor});
  if (!descriptor) return run::ExitCode::kUsage;
  const auto profile = profile_of(options, *descriptor);
  if (!profile || !can_write(options)) return run::ExitCode::kUsage;
  std::random_device device;
  const std::uint64_t seed = options.seed.value_or(device());
  const auto url = endpoint::parse_url(descriptor->url);
  Session session{.options = options,
                  .saved = {},
                  .context = {.endpoint = url ? url->display() : "unknown",
                              .profile = *profile,
                              .seed = seed,
                              .strict = true,
                              .command = command_line(options, *profile),
                              .started = utc_now()}};
  session.run.runs = options.runs;
  session.saved =
      load_all(read_all(options.paths, session.run.load_errors), session.run.load_errors);
  for (const std::string& error : session.run.load_errors) fmt::print(stderr, "{}\n", error);
  if (session.saved.cases.empty()) {
    const bool broken = !session.run.load_errors.empty();
    complain(broken ? "no file could be loaded; scenarios/FORMAT.md describes the format"
                    : "there is no case in these files and folders");
    return not_begun(session, "no case",
                     broken ? run::ExitCode::kUsage : run::ExitCode::kNothingSelected);
  }
  session.suite.strict = true;
  session.suite.settings = {.profile = *profile,
                            .run_id = random_run_id(),
                            .seed = seed,
                            .timeout_scale = options.timeout_scale};
  stop_on_signals();
  const auto target = open_judged_by(*profile, *descriptor);
  if (!target) {
    const run::ExitCode code = exit_code(target.error());
    return code == run::ExitCode::kUsage ? code : not_begun(session, target.error().text, code);
  }
  return run_on(*target->endpoint, *descriptor, session);
}

}  // namespace fencepost::cli
