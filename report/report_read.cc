#include "report/report_read.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "base/text/printable.h"
#include "report/case_json.h"
#include "report/phases.h"
#include "report/report_json.h"
#include "report/saved_run.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

constexpr std::size_t kMaxShownValue = 200;  // bytes of what is wrong, in a message

constexpr const char* kWhatIsAReport =
    "name a file that `fencepost certify --json FILE` has written";

constexpr std::array kEnvironment = {"system", "libraries", "job"};

// --- cases ---------------------------------------------------------------------------------------

run::Verdict read_verdict(const JsonMembers& entry) {
  const std::string word = entry.text("verdict");
  if (word == "warning")
    return run::Verdict::kFailed;  // that it is one follows from its requirement
  const auto verdict = verdict_named(word);
  if (!verdict) entry.wrong("verdict", "one of warning, " + all_verdicts());
  return verdict.value_or(run::Verdict::kNotRun);
}

void read_forms(const JsonMembers& entry, run::CaseResult& out) {
  entry.each_list("forms_observed",
                  [&](const std::string& place, const std::string& word, const std::string& where) {
                    const auto divergence = codec::divergence_named(place);
                    const auto dialect = codec::dialect_named(word);
                    if (divergence && dialect) {
                      out.forms.emplace_back(*divergence, *dialect);
                    } else {
                      entry.diagnose("forms_observed",
                                     fmt::format("{}: there is no form {} of {}", where,
                                                 shown_json(json(word)), shown_json(json(place))));
                    }
                  });
}

run::CaseResult read_case(const JsonMembers& entry, const scenario::Case& test_case) {
  run::CaseResult out;
  out.test_case = &test_case;
  out.verdict = read_verdict(entry);
  out.duration = entry.duration("duration_ms");
  out.failure = {.message = entry.text("message"), .position = test_case.position};
  if (entry.has("failure")) {
    const JsonMembers failure = entry.object("failure");
    out.failure = failure_of(failure, test_case);
    out.waived = failure.has("binds") && !failure.flag("binds");
  }
  if (entry.has("first_attempt")) {
    out.first_attempt = attempt_of(entry.object("first_attempt"));
  }
  if (entry.has("alone")) {
    const JsonMembers alone = entry.object("alone");
    out.alone = run::Alone{.fails = read_verdict(alone) == run::Verdict::kFailed,
                           .shown_by = alone.text_if_there("shown_by")};
  }
  out.baseline = entry.text_if_there("baseline");
  out.unexpected_pass = entry.flag_if_there("unexpected_pass");
  read_forms(entry, out);
  entry.each_list("open_points_observed",
                  [&](const std::string& id, const std::string& outcome, const std::string&) {
                    out.unspecified_points.emplace_back(id, outcome);
                  });
  out.round_trips = entry.durations("round_trips_ms");
  return out;
}

// --- the report ----------------------------------------------------------------------------------

ReportPart read_part(const JsonMembers& part) {
  ReportPart out;
  out.file = part.text("file");
  out.shard = part.integer<std::size_t>("shard", 1);
  out.seed = part.integer<std::uint64_t>("seed");
  out.started = part.text("started");
  out.duration = part.duration("duration_ms");
  out.exit_code = part.integer<int>("exit_code");
  out.stopped_because = part.text_if_there("stopped_because");
  return out;
}

run::Selection read_selection(const JsonMembers& root) {
  const JsonMembers selection = root.object("selection");
  const JsonMembers shard = root.object("shard");
  run::Selection out{.run = selection.texts("run"),
                     .skip = selection.texts("skip"),
                     .tags = selection.texts("tags"),
                     .requirements = selection.texts("requirements"),
                     .shard = shard.integer<std::size_t>("index", 1),
                     .shards = shard.integer<std::size_t>("of", 1)};
  if (out.shard > out.shards) shard.wrong("index", fmt::format("at most {}", out.shards));
  return out;
}

Transcripts read_transcripts(const JsonMembers& root) {
  if (!root.has("transcripts")) return Transcripts::kAll;  // as reports once were
  const auto transcripts = transcripts_named(root.text("transcripts"));
  if (!transcripts) root.wrong("transcripts", "failures or all");
  return transcripts.value_or(Transcripts::kAll);
}

scenario::Basis read_basis(const JsonMembers& judged_by) {
  const auto dialect = codec::dialect_named(judged_by.text("dialect"));
  if (!dialect) judged_by.wrong("dialect", "documented or deployed");
  const auto edition = scenario::edition_named(judged_by.text("wording"));
  if (!edition || edition == scenario::Edition::kAuto) judged_by.wrong("wording", "preview or ga");
  return {.dialect = dialect.value_or(codec::DialectId::kDeployed),
          .edition = edition.value_or(scenario::Edition::kGa)};
}

}  // namespace

namespace {

// What is printed within a line. A report that somebody has changed could else forge lines.
std::string line_of(const JsonMembers& members, const char* name) {
  std::string out = members.text(name);
  if (text::one_line(out) != out) members.wrong(name, "one line without control characters");
  return out;
}

}  // namespace

bool is_command_of_a_report(std::string_view command) {
  const auto words = text::words_of(command);
  if (!words || words->size() < 2) return false;
  const std::string& program = words->front();
  if (!std::string_view(program).substr(program.rfind('/') + 1).starts_with("fencepost")) {
    return false;
  }
  if ((*words)[1] != "certify" && (*words)[1] != "stress" && (*words)[1] != "explore") return false;
  // With a value, and without one. --wording and --on-the-way are older names of --edition and
  // --network-delay.
  static const std::set<std::string_view> kValued = {
      "--endpoint",   "--descriptor",    "--scenarios",  "--profile",  "--edition",
      "--wording",    "--network-delay", "--driver",     "--stress",   "--baseline",
      "--seed",       "--run",           "--skip",       "--tag",      "--requirement",
      "--shard",      "--workload",      "--clients",    "--duration", "--clock-offset",
      "--on-the-way", "--timeout-scale", "--exhaustive", "--example",  "--depth"};
  static const std::set<std::string_view> kFlags = {"--strict", "--fresh-connections", "--shuffle"};
  for (std::size_t i = 2; i < words->size(); ++i) {
    if (kFlags.contains((*words)[i])) continue;
    if (!kValued.contains((*words)[i]) || ++i == words->size()) return false;
    if ((*words)[i].starts_with('-')) return false;  // another option, or --
  }
  return true;
}

ReportContext context_of(const JsonMembers& root) {
  ReportContext out;
  out.endpoint = line_of(root, "endpoint");
  const auto profile = codec::profile_named(root.text("profile"));
  if (!profile) root.wrong("profile", "auto, documented or deployed");
  out.profile = profile.value_or(codec::Profile::kAuto);
  const auto edition = scenario::edition_named(root.text("wording"));
  if (!edition) root.wrong("wording", "auto, preview or ga");
  out.edition = edition.value_or(scenario::Edition::kAuto);
  out.seed = root.integer<std::uint64_t>("seed");
  out.strict = root.flag("strict");
  out.transcripts = read_transcripts(root);
  out.command = root.text("command");
  // Evidence of commands that are not certify had none.
  if (!out.command.empty() && !is_command_of_a_report(out.command)) {
    root.wrong("command", kCommandOfAReport);
  }
  out.started = line_of(root, "started");
  const JsonMembers latency = root.object("latency_ms");
  out.preflight.round_trip_p50 = latency.duration("unloaded_p50");
  out.preflight.round_trip_p99 = latency.duration("unloaded_p99");
  out.preflight.clock_offset_ms =
      root.integer<std::int64_t>("clock_offset_ms", std::numeric_limits<std::int64_t>::min());
  const JsonMembers bounds = root.object("clock_offset_bounds_ms");
  out.preflight.clock_bounds = {
      .low_ms = bounds.integer<std::int64_t>("low", std::numeric_limits<std::int64_t>::min()),
      .high_ms = bounds.integer<std::int64_t>("high", std::numeric_limits<std::int64_t>::min())};
  const auto source = judge::clock_source_named(bounds.text("source"));
  if (!source) bounds.wrong("source", "versions, refusals, version-bound or assumed");
  out.preflight.clock_source = source.value_or(judge::ClockSource::kAssumed);
  if (root.has("tolerances_ms")) {
    const JsonMembers tolerances = root.object("tolerances_ms");
    out.expiry_tolerance = std::chrono::milliseconds{tolerances.integer<int>("expiry")};
    out.disconnect_settling = std::chrono::milliseconds{tolerances.integer<int>("disconnect")};
  }
  out.stopped_because = root.text_if_there("stopped_because");
  if (root.has("environment")) {
    const JsonMembers environment = root.object("environment");
    for (const char* name : kEnvironment) {
      if (environment.has(name)) out.environment[name] = line_of(environment, name);
    }
  }
  out.selection = read_selection(root);
  if (root.has("selected")) {
    out.known_cases = root.object("selected").integer<std::size_t>("of", 1);
  }
  return out;
}

namespace {

// The first place where `seen` is not what `made` is; nothing when they are equal. Only as deep as
// `made`, which is ours.
std::optional<std::string> first_difference(const json& made, const json& seen,
                                            const std::string& path) {
  if (made.is_object() && seen.is_object()) {
    for (const auto& [key, value] : made.items()) {
      if (!seen.contains(key)) return path + ": has no member " + shown_json(json(key));
      if (auto found = first_difference(value, seen[key], path + "/" + key)) return found;
    }
    for (const auto& [key, value] : seen.items()) {
      if (!made.contains(key)) return path + "/" + key + ": must not be there";
    }
    return std::nullopt;
  }
  if (made.is_array() && seen.is_array()) {
    for (std::size_t i = 0; i < std::min(made.size(), seen.size()); ++i) {
      if (auto found = first_difference(made[i], seen[i], fmt::format("{}/{}", path, i))) {
        return found;
      }
    }
    if (made.size() == seen.size()) return std::nullopt;
    return fmt::format("{}: has {} entries, and {} are expected", path, seen.size(), made.size());
  }
  if (!made.is_structured() && made == seen) return std::nullopt;
  return fmt::format("{}: is {}, and {} is expected", path, shown_json(seen), shown_json(made));
}

class ReportReader {
 public:
  ReportReader(const scenario::SourceFile& file, const scenario::Library& library)
      : file_(file), library_(library) {}

  Result<Report, std::string> read() {
    auto document = parse();
    if (!document) return fail(std::move(document.error()));
    if (auto kind = check_kind(*document); !kind) return fail(std::move(kind.error()));
    Report report;
    report.file = file_.name;
    const JsonMembers root(*document, "", diagnostic_);
    report.context = context_of(root);
    read_result(root, report);
    if (!diagnostic_.any()) check(*document, report);
    if (diagnostic_.any()) return fail(file_.name + ": " + diagnostic_.text());
    return report;
  }

 private:
  [[nodiscard]] Result<json, std::string> parse() const {
    if (const auto limit = json_limit_broken(file_.content); !limit.empty()) {
      return fail(file_.name + ": " + limit);
    }
    try {
      return json::parse(file_.content);
    } catch (const json::parse_error& error) {  // the library has no other way to say where
      return fail(no_json(place_of(error.byte), error.what()));
    } catch (const json::exception& error) {
      return fail(no_json("", error.what()));
    }
  }

  // ":line:column" of the byte with this number, from 1.
  [[nodiscard]] std::string place_of(std::size_t byte) const {
    const std::string_view before =
        std::string_view(file_.content).substr(0, byte > 0 ? byte - 1 : 0);
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column =
        before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
    return fmt::format(":{}:{}", std::count(before.begin(), before.end(), '\n') + 1, column);
  }

  // `reason` begins with the library's name for the error, and with a place of its own.
  [[nodiscard]] std::string no_json(const std::string& place, std::string_view reason) const {
    for (const std::string_view end : {"] ", "column "}) {
      const std::size_t at = reason.find(end);
      if (at != std::string_view::npos) reason.remove_prefix(at + end.size());
    }
    if (!place.empty() && reason.find(": ") != std::string_view::npos) {
      reason.remove_prefix(reason.find(": ") + 2);
    }
    return fmt::format("{}{}: is not valid JSON: {}; {}", file_.name, place,
                       escape(reason, kMaxShownValue), kWhatIsAReport);
  }

  // Is it a report, and of this version?
  [[nodiscard]] Result<void, std::string> check_kind(const json& document) const {
    const auto version = document.is_object() ? document.find("suite_version") : document.end();
    const bool report = document.is_object() && version != document.end() && version->is_string() &&
                        document.contains("cases");
    if (!report) {
      return fail(fmt::format("{}: is JSON, but not a report of this suite; {}", file_.name,
                              kWhatIsAReport));
    }
    const auto written_by = version->get<std::string>();
    if (written_by == suite_version()) return {};
    return fail(fmt::format(
        "{}: was written by fencepost {}, and this is {}: use that version, or run the cases again",
        file_.name, escape(written_by, kMaxShownValue), suite_version()));
  }

  void read_result(const JsonMembers& root, Report& report) {
    run::SuiteResult& result = report.result;
    result.basis = read_basis(root.object("judged_by"));
    result.duration = root.duration("duration_ms");
    result.endpoint_lost = root.flag_if_there("endpoint_lost");
    result.lost_message = root.text_if_there("lost_message");
    result.interrupted = root.flag_if_there("interrupted");
    if (root.has("baseline_complaints")) {
      result.baseline_errors = root.texts("baseline_complaints");
    }
    if (root.has("parts")) {
      root.each("parts", [&](const json& value, const std::string& where) {
        report.context.parts.push_back(read_part(JsonMembers(value, where, diagnostic_)));
      });
    }
    if (root.has("stress")) result.stress = read_stress(root.object("stress"));
    if (root.has("enumeration")) {
      result.enumeration = read_enumeration(root.object("enumeration"));
    }
    root.each("cases", [&](const json& value, const std::string& where) {
      add_case(JsonMembers(value, where, diagnostic_), report);
    });
    run::summarize(result, library_.catalogue, report.context.strict);
  }

  void add_case(const JsonMembers& entry, Report& report) {
    const std::string id = entry.text("id");
    const auto test_case =
        std::find_if(library_.cases.begin(), library_.cases.end(),
                     [&](const scenario::Case& known) { return known.id == id; });
    if (test_case == library_.cases.end()) {
      entry.diagnose("id", "there is no case " + shown_json(json(id)) +
                               " here; if the run was of cases of your own, name them with "
                               "--scenarios");
      return;
    }
    if (!ids_.insert(id).second) {
      entry.diagnose("id", "the case " + id + " is twice in this report");
      return;
    }
    run::CaseResult result = read_case(entry, *test_case);
    if (entry.has("transcript")) {  // check() reports where it must be there, or must not
      entry.each("transcript", [&](const json& value, const std::string& where) {
        result.transcript.push_back(entry_of(JsonMembers(value, where, diagnostic_)));
      });
    }
    note_command(entry, report.context, result);
    report.result.longest_wait = std::max(report.result.longest_wait, test_case->expected_wait());
    report.result.cases.push_back(std::move(result));
  }

  // A merged report has cases of several runs, each with a command of its own.
  static void note_command(const JsonMembers& entry, ReportContext& context,
                           const run::CaseResult& result) {
    std::string command = entry.text("reproduce");
    const bool is_expected = result.verdict == run::Verdict::kExpectedFailure;
    if (is_expected && command.find(" --baseline ") == std::string::npos) {
      entry.diagnose("verdict", "a failure is expected by a baseline, and the run had none");
    }
    const std::string end = reproduce_selection(context, result);
    if (!command.ends_with(end)) return;  // check() reports it
    command.resize(command.size() - end.size());
    if (command == context.command) return;
    if (!is_command_of_a_report(command)) entry.wrong("reproduce", kCommandOfAReport);
    context.commands[result.test_case->id] = std::move(command);
  }

  // Written again, the report must say the same: what it says twice must agree, nothing must be
  // left over, and the cases must be those that the run had. Only the paths of scenario files may
  // differ: the run may have been on another machine.
  void check(const json& document, const Report& report) {
    json made = json::parse(to_json(report.result, library_.catalogue, report.context));
    if (!document.contains("transcripts")) made.erase("transcripts");
    for (std::size_t i = 0; i < made["cases"].size(); ++i) {
      made["cases"][i]["file"] = JsonMembers(document["cases"][i], "", diagnostic_).text("file");
    }
    // These follow from the cases: what is wrong with a case is better said of the case. Reports of
    // former versions do not have them.
    json seen = document;
    json inferred;
    json merged;
    for (const char* member : {"differences", "requirements"}) {
      inferred[member] = std::exchange(made[member], json::array());
      merged[member] = seen.contains(member) ? seen[member] : inferred[member];
      seen[member] = json::array();
    }
    auto difference = first_difference(made, seen, "");
    if (!difference) difference = first_difference(inferred, merged, "");
    if (!difference) return;
    const std::size_t colon = difference->find(": ");
    diagnostic_.add(difference->substr(0, colon),
                    difference->substr(colon + 2) +
                        ": the report was changed after it was written, or its run had other cases "
                        "than these (name them with --scenarios)");
  }

  const scenario::SourceFile& file_;
  const scenario::Library& library_;
  JsonDiagnostic diagnostic_;
  std::set<std::string> ids_;
};

}  // namespace

Result<Report, std::string> read_report(const scenario::SourceFile& file,
                                        const scenario::Library& library) {
  return ReportReader(file, library).read();
}

Result<Report, std::string> read_report(const std::string& path, const scenario::Library& library) {
  const auto file = scenario::read_file(path);
  if (!file) return fail(file.error());
  if (!is_saved_run(*file)) return read_report(*file, library);
  const auto kept = read_saved_run(*file);
  return kept ? report_of(*kept, library) : Result<Report, std::string>(fail(kept.error()));
}

}  // namespace fencepost::report
