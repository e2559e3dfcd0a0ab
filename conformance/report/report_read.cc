#include "conformance/report/report_read.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "codec/base16.h"
#include "conformance/report/report_json.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

constexpr double kMaxMilliseconds = 1e12;    // 30 years: microseconds stay exact in a double
constexpr std::size_t kMaxShownValue = 200;  // bytes of a value in a message

constexpr const char* kWhatIsAReport =
    "name a file that `fencepost certify --json FILE` has written";

constexpr std::array kVerdicts = {run::Verdict::kPassed,       run::Verdict::kFailed,
                                  run::Verdict::kInconclusive, run::Verdict::kExpectedFailure,
                                  run::Verdict::kSkipped,      run::Verdict::kLost,
                                  run::Verdict::kNotRun};

std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMaxShownValue) text = text.substr(0, kMaxShownValue) + "...";
  return text;
}

// The first complaint about a report. Reading goes on after one, with empty values, so that nobody
// has to ask after every member.
class Complaint {
 public:
  void add(const std::string& where, const std::string& what) {
    if (text_.empty()) text_ = (where.empty() ? "/" : where) + ": " + what;
  }
  [[nodiscard]] bool any() const { return !text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The members of one object, each read as one type.
class Members {
 public:
  Members(const json& object, std::string path, Complaint& complaint)
      : object_(object), path_(std::move(path)), complaint_(complaint) {
    if (!object_.is_object()) complaint_.add(path_, "must be an object, not " + shown(object_));
  }

  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] std::string path(const char* name) const { return path_ + "/" + name; }
  void complain(const char* name, const std::string& what) const {
    complaint_.add(path(name), what);
  }
  void wrong(const char* name, const std::string& wanted) const {
    complain(name, "must be " + wanted + (has(name) ? ", not " + shown(object_.at(name)) : ""));
  }

  // The member, or null when it is missing, which is a complaint.
  [[nodiscard]] const json* find(const char* name) const {
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    complaint_.add(path_, fmt::format("has no member \"{}\"", name));
    return nullptr;
  }

  [[nodiscard]] std::string text(const char* name) const {
    const json* value = find(name);
    if (value == nullptr) return {};
    if (const auto* text = value->get_ptr<const std::string*>()) return *text;
    wrong(name, "a string");
    return {};
  }
  [[nodiscard]] std::string text_if_there(const char* name) const {
    return has(name) ? text(name) : std::string();
  }

  [[nodiscard]] bool flag(const char* name) const {
    const json* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) wrong(name, "true or false");
    return value->is_boolean() && value->get<bool>();
  }
  [[nodiscard]] bool flag_if_there(const char* name) const { return has(name) && flag(name); }

  // A whole number from `least` on that a T can hold.
  template <typename T>
  [[nodiscard]] T integer(const char* name, std::int64_t least = 0) const {
    const json* value = find(name);
    if (value == nullptr) return {};
    if (value->is_number_unsigned()) {
      const auto number = value->get<std::uint64_t>();
      if (number <= static_cast<std::uint64_t>(std::numeric_limits<T>::max()) &&
          (least <= 0 || number >= static_cast<std::uint64_t>(least))) {
        return static_cast<T>(number);
      }
    } else if (value->is_number_integer() && value->get<std::int64_t>() >= least) {
      return static_cast<T>(value->get<std::int64_t>());  // negative: `least` allows what T holds
    }
    wrong(name, least < 0 ? "a whole number" : fmt::format("a whole number from {} on", least));
    return {};
  }

  [[nodiscard]] microseconds duration(const char* name) const {
    const json* value = find(name);
    return value == nullptr ? microseconds{0} : to_duration(*value, path(name));
  }
  [[nodiscard]] std::vector<microseconds> durations(const char* name) const {
    std::vector<microseconds> out;
    each(name, [&](const json& value, const std::string& where) {
      out.push_back(to_duration(value, where));
    });
    return out;
  }

  [[nodiscard]] std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> out;
    each(name, [&](const json& value, const std::string& where) {
      if (value.is_string()) {
        out.push_back(value.get<std::string>());
      } else {
        complaint_.add(where, "must be a string, not " + shown(value));
      }
    });
    return out;
  }

  // The bytes of a string with escapes.
  [[nodiscard]] std::string bytes(const char* name) const {
    return to_bytes(text(name), path(name));
  }
  [[nodiscard]] std::string to_bytes(const std::string& escaped, const std::string& where) const {
    auto out = unescape(escaped);
    if (!out) complaint_.add(where, "has an escape that is none of \\\\ \\\" \\r \\n \\t \\xNN");
    return out.value_or("");
  }

  // Calls `with` for each element of an array and the place where it stands.
  template <typename Function>
  void each(const char* name, const Function& with) const {
    const json* list = find(name);
    if (list == nullptr) return;
    if (!list->is_array()) {
      wrong(name, "an array");
      return;
    }
    for (std::size_t i = 0; i < list->size() && !complaint_.any(); ++i) {
      with((*list)[i], fmt::format("{}/{}/{}", path_, name, i));
    }
  }

  // The same for the members of an object: name, list of words, place.
  template <typename Function>
  void each_list(const char* name, const Function& with) const {
    const json* object = find(name);
    if (object == nullptr) return;
    const Members members(*object, path(name), complaint_);
    if (!object->is_object()) return;
    for (const auto& [key, unused] : object->items()) {
      for (const std::string& word : members.texts(key.c_str())) {
        with(key, word, members.path(key.c_str()));
      }
    }
  }

  [[nodiscard]] Members object(const char* name) const {
    static const json nothing = json::object();
    const json* value = find(name);
    return {value == nullptr ? nothing : *value, path(name), complaint_};
  }

 private:
  [[nodiscard]] microseconds to_duration(const json& value, const std::string& where) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (number >= 0 && number <= kMaxMilliseconds) {
      return microseconds{std::llround(number * 1000)};
    }
    complaint_.add(where, "must be a number of milliseconds, not " + shown(value));
    return microseconds{0};
  }

  const json& object_;
  std::string path_;
  Complaint& complaint_;
};

// --- transcripts ---------------------------------------------------------------------------------

run::Direction read_direction(const Members& entry) {
  const std::string word = entry.text("direction");
  if (word == "sent") return run::Direction::kSent;
  if (word == "received") return run::Direction::kReceived;
  if (word != "event") entry.wrong("direction", "sent, received or event");
  return run::Direction::kEvent;
}

std::vector<std::pair<std::string, std::string>> read_properties(const Members& entry) {
  std::vector<std::pair<std::string, std::string>> out;
  entry.each("user_properties", [&](const json& pair, const std::string& where) {
    const bool fits =
        pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
    if (!fits) {
      entry.complain("user_properties", "must be a list of [name, value]");
      return;
    }
    out.emplace_back(entry.to_bytes(pair[0].get<std::string>(), where),
                     entry.to_bytes(pair[1].get<std::string>(), where));
  });
  return out;
}

codec::Message read_message(const Members& entry) {
  codec::Message out;
  out.topic = entry.bytes("topic");
  out.payload = entry.bytes("payload");
  out.qos = entry.integer<int>("qos");
  out.retain = entry.flag("retain");
  out.duplicate = entry.flag_if_there("duplicate");
  if (entry.has("response_topic")) out.response_topic = entry.bytes("response_topic");
  if (entry.has("content_type")) out.content_type = entry.bytes("content_type");
  if (entry.has("payload_format")) {
    out.payload_format = entry.integer<std::uint8_t>("payload_format");
  }
  if (entry.has("expiry_seconds")) {
    out.expiry_seconds = entry.integer<std::uint32_t>("expiry_seconds");
  }
  if (entry.has("correlation_data")) {
    out.correlation_data = codec::base16_decode(entry.text("correlation_data"));
    if (!out.correlation_data) entry.wrong("correlation_data", "upper-case Base16");
  }
  out.user_properties = read_properties(entry);
  return out;
}

run::TranscriptEntry read_entry(const Members& entry) {
  run::TranscriptEntry out;
  out.time = entry.duration("ms");
  out.client = entry.text("client");
  out.direction = read_direction(entry);
  out.summary = entry.text("summary");
  if (out.direction == run::Direction::kEvent) return out;
  out.message = read_message(entry);
  out.payload_bytes = entry.integer<std::size_t>("payload_bytes");
  return out;
}

// --- cases ---------------------------------------------------------------------------------------

run::Verdict read_verdict(const Members& entry) {
  const std::string word = entry.text("verdict");
  if (word == "warning")
    return run::Verdict::kFailed;  // that it is one follows from its requirement
  const auto found = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                  [&](run::Verdict verdict) { return name(verdict) == word; });
  if (found != kVerdicts.end()) return *found;
  std::vector<std::string_view> known = {"warning"};
  for (const run::Verdict verdict : kVerdicts) known.push_back(name(verdict));
  entry.wrong("verdict", fmt::format("one of {}", fmt::join(known, ", ")));
  return run::Verdict::kNotRun;
}

void read_failure(const Members& failure, run::CaseResult& out) {
  out.requirement = failure.text("requirement");
  out.expected = failure.text("expected");
  out.actual = failure.text("actual");
  out.signature = failure.text_if_there("signature");
  out.step = failure.integer<std::size_t>("step");
  const std::size_t steps = out.test_case->steps.size();
  if (out.step > steps) {
    failure.complain("step", fmt::format("is {}, and the case has {} steps", out.step, steps));
    return;
  }
  if (out.step > 0) out.position = out.test_case->steps[out.step - 1].position;
}

void read_forms(const Members& entry, run::CaseResult& out) {
  entry.each_list("forms_observed", [&](const std::string& place, const std::string& word,
                                        const std::string& where) {
    const auto divergence = codec::divergence_named(place);
    const auto dialect = codec::dialect_named(word);
    if (divergence && dialect) {
      out.forms.emplace_back(*divergence, *dialect);
    } else {
      entry.complain("forms_observed", fmt::format("{}: there is no form {} of {}", where,
                                                   shown(json(word)), shown(json(place))));
    }
  });
}

run::Attempt read_attempt(const Members& entry) {
  return {.verdict = read_verdict(entry),
          .message = entry.text("message"),
          .expected = entry.text("expected"),
          .actual = entry.text("actual"),
          .step = entry.integer<std::size_t>("step"),
          .duration = entry.duration("duration_ms")};
}

run::CaseResult read_case(const Members& entry, const scenario::Case& test_case) {
  run::CaseResult out;
  out.test_case = &test_case;
  out.position = test_case.position;
  out.verdict = read_verdict(entry);
  out.duration = entry.duration("duration_ms");
  out.message = entry.text("message");
  if (entry.has("failure")) read_failure(entry.object("failure"), out);
  if (entry.has("first_attempt")) out.first_attempt = read_attempt(entry.object("first_attempt"));
  out.baseline = entry.text_if_there("baseline");
  out.unexpected_pass = entry.flag_if_there("unexpected_pass");
  read_forms(entry, out);
  entry.each_list("open_points_observed",
                  [&](const std::string& id, const std::string& outcome, const std::string&) {
                    out.open_points.emplace_back(id, outcome);
                  });
  out.round_trips = entry.durations("round_trips_ms");
  return out;
}

// --- the report ----------------------------------------------------------------------------------

ReportPart read_part(const Members& part) {
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

run::Selection read_selection(const Members& root) {
  const Members selection = root.object("selection");
  const Members shard = root.object("shard");
  run::Selection out{.run = selection.texts("run"),
                     .skip = selection.texts("skip"),
                     .tags = selection.texts("tags"),
                     .requirements = selection.texts("requirements"),
                     .shard = shard.integer<std::size_t>("index", 1),
                     .shards = shard.integer<std::size_t>("of", 1)};
  if (out.shard > out.shards) shard.wrong("index", fmt::format("at most {}", out.shards));
  return out;
}

ReportContext read_context(const Members& root) {
  ReportContext out;
  out.endpoint = root.text("endpoint");
  const auto profile = codec::profile_named(root.text("profile"));
  if (!profile) root.wrong("profile", "auto, documented or deployed");
  out.profile = profile.value_or(codec::Profile::kAuto);
  out.seed = root.integer<std::uint64_t>("seed");
  out.strict = root.flag("strict");
  out.command = root.text("command");
  out.started = root.text("started");
  const Members latency = root.object("latency_ms");
  out.preflight.round_trip_p50 = latency.duration("unloaded_p50");
  out.preflight.round_trip_p99 = latency.duration("unloaded_p99");
  out.preflight.clock_offset_ms =
      root.integer<std::int64_t>("clock_offset_ms", std::numeric_limits<std::int64_t>::min());
  const Members bounds = root.object("clock_offset_bounds_ms");
  out.preflight.clock_bounds = {
      .low_ms = bounds.integer<std::int64_t>("low", std::numeric_limits<std::int64_t>::min()),
      .high_ms = bounds.integer<std::int64_t>("high", std::numeric_limits<std::int64_t>::min())};
  const auto source = judge::clock_source_named(bounds.text("source"));
  if (!source) bounds.wrong("source", "versions, refusals, version-bound or assumed");
  out.preflight.clock_source = source.value_or(judge::ClockSource::kAssumed);
  if (root.has("tolerances_ms")) {
    const Members tolerances = root.object("tolerances_ms");
    out.expiry_tolerance = std::chrono::milliseconds{tolerances.integer<int>("expiry")};
    out.disconnect_settling = std::chrono::milliseconds{tolerances.integer<int>("disconnect")};
  }
  out.stopped_because = root.text_if_there("stopped_because");
  out.selection = read_selection(root);
  return out;
}

// The first place where `seen` is not what `made` is; nothing when they are equal. Only as deep as
// `made`, which is ours.
std::optional<std::string> first_difference(const json& made, const json& seen,
                                            const std::string& path) {
  if (made.is_object() && seen.is_object()) {
    for (const auto& [key, value] : made.items()) {
      if (!seen.contains(key)) return path + ": has no member " + shown(json(key));
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
    return fmt::format("{}: has {} entries, and {} are right", path, seen.size(), made.size());
  }
  if (!made.is_structured() && made == seen) return std::nullopt;
  return fmt::format("{}: is {}, and {} is right", path, shown(seen), shown(made));
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
    const Members root(*document, "", complaint_);
    report.context = read_context(root);
    read_result(root, report);
    if (!complaint_.any()) check(*document, report);
    if (complaint_.any()) return fail(file_.name + ": " + complaint_.text());
    return report;
  }

 private:
  [[nodiscard]] Result<json, std::string> parse() const {
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
    return fmt::format("{}{}: is no JSON, or not all of it: {}; {}", file_.name, place,
                       escape(reason, kMaxShownValue), kWhatIsAReport);
  }

  // Is it a report, and of this version?
  [[nodiscard]] Result<void, std::string> check_kind(const json& document) const {
    const auto version = document.is_object() ? document.find("suite_version") : document.end();
    const bool report = document.is_object() && version != document.end() && version->is_string() &&
                        document.contains("cases");
    if (!report) {
      return fail(
          fmt::format("{}: is JSON, and no report of this suite; {}", file_.name, kWhatIsAReport));
    }
    const auto written_by = version->get<std::string>();
    if (written_by == suite_version()) return {};
    return fail(fmt::format(
        "{}: was written by fencepost {}, and this is {}: use that version, or run the cases again",
        file_.name, escape(written_by, kMaxShownValue), suite_version()));
  }

  void read_result(const Members& root, Report& report) {
    run::SuiteResult& result = report.result;
    result.duration = root.duration("duration_ms");
    result.endpoint_lost = root.flag_if_there("endpoint_lost");
    result.lost_message = root.text_if_there("lost_message");
    result.interrupted = root.flag_if_there("interrupted");
    if (root.has("baseline_complaints")) {
      result.baseline_complaints = root.texts("baseline_complaints");
    }
    if (root.has("parts")) {
      root.each("parts", [&](const json& value, const std::string& where) {
        report.context.parts.push_back(read_part(Members(value, where, complaint_)));
      });
    }
    root.each("cases", [&](const json& value, const std::string& where) {
      add_case(Members(value, where, complaint_), report);
    });
    run::summarize(result, library_.catalogue, report.context.strict);
  }

  void add_case(const Members& entry, Report& report) {
    const std::string id = entry.text("id");
    const auto test_case =
        std::find_if(library_.cases.begin(), library_.cases.end(),
                     [&](const scenario::Case& known) { return known.id == id; });
    if (test_case == library_.cases.end()) {
      entry.complain("id", "there is no case " + shown(json(id)) +
                               " here; if the run was of cases of your own, name them with "
                               "--scenarios");
      return;
    }
    if (!ids_.insert(id).second) {
      entry.complain("id", "the case " + id + " stands twice in this report");
      return;
    }
    run::CaseResult result = read_case(entry, *test_case);
    entry.each("transcript", [&](const json& value, const std::string& where) {
      result.transcript.push_back(read_entry(Members(value, where, complaint_)));
    });
    note_command(entry, report.context, *test_case);
    report.result.longest_wait = std::max(report.result.longest_wait, test_case->expected_wait());
    report.result.cases.push_back(std::move(result));
  }

  // A merged report has cases of several runs, each with a command of its own.
  static void note_command(const Members& entry, ReportContext& context,
                           const scenario::Case& test_case) {
    std::string command = entry.text("reproduce");
    const std::string end = " --run " + test_case.id;
    if (!command.ends_with(end)) return;  // check() complains
    command.resize(command.size() - end.size());
    if (command != context.command) context.commands[test_case.id] = std::move(command);
  }

  // Written again, the report must say the same: what it says twice must agree, nothing must be
  // left over, and the cases must be those that the run had. Only the paths of scenario files may
  // differ: the run may have been on another machine.
  void check(const json& document, const Report& report) {
    json made = json::parse(to_json(report.result, library_.catalogue, report.context));
    for (std::size_t i = 0; i < made["cases"].size(); ++i) {
      made["cases"][i]["file"] = Members(document["cases"][i], "", complaint_).text("file");
    }
    const auto difference = first_difference(made, document, "");
    if (!difference) return;
    const std::size_t colon = difference->find(": ");
    complaint_.add(difference->substr(0, colon),
                   difference->substr(colon + 2) +
                       ": the report was changed after it was written, or its run had other cases "
                       "than these (name them with --scenarios)");
  }

  const scenario::SourceFile& file_;
  const scenario::Library& library_;
  Complaint complaint_;
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
  return read_report(*file, library);
}

}  // namespace fencepost::report
