#include "conformance/report/case_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/durations.h"
#include "codec/message_json.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array kAllVerdicts = {run::Verdict::kPassed,       run::Verdict::kFailed,
                                     run::Verdict::kInconclusive, run::Verdict::kExpectedFailure,
                                     run::Verdict::kSkipped,      run::Verdict::kLost,
                                     run::Verdict::kNotRun};

constexpr std::array kAllDoubts = {std::pair(run::Doubt::kNone, "none"),
                                   std::pair(run::Doubt::kSetUp, "set-up"),
                                   std::pair(run::Doubt::kSilence, "silence")};

std::string_view direction_name(run::Direction direction) {
  switch (direction) {
    case run::Direction::kSent:
      return "sent";
    case run::Direction::kReceived:
      return "received";
    case run::Direction::kEvent:
      return "event";
  }
  return "event";
}

run::Direction direction_of(const JsonMembers& entry) {
  const std::string word = entry.text("direction");
  if (word == "sent") return run::Direction::kSent;
  if (word == "received") return run::Direction::kReceived;
  if (word != "event") entry.wrong("direction", "sent, received or event");
  return run::Direction::kEvent;
}

run::Verdict verdict_of(const JsonMembers& record) {
  const auto verdict = verdict_named(record.text("verdict"));
  if (!verdict) record.wrong("verdict", "a verdict");
  return verdict.value_or(run::Verdict::kNotRun);
}

run::Doubt doubt_of(const JsonMembers& record) {
  const std::string word = record.text_if_there("doubt");
  const auto found = std::find_if(kAllDoubts.begin(), kAllDoubts.end(),
                                  [&](const auto& each) { return each.second == word; });
  return found == kAllDoubts.end() ? run::Doubt::kNone : found->first;
}

// A case has the step, or 0 is none of them.
scenario::Position place_of(const JsonMembers& record, std::size_t step,
                            const scenario::Case& test_case) {
  if (step == 0) return test_case.position;
  if (step <= test_case.steps.size()) return test_case.steps[step - 1].position;
  record.wrong("step", "a step of the case");
  return test_case.position;
}

ordered_json attempt_record(const run::Attempt& attempt) {
  return {{"verdict", name(attempt.verdict)},
          {"message", attempt.message},
          {"expected", attempt.expected},
          {"actual", attempt.actual},
          {"step", attempt.step},
          {"duration_ms", in_milliseconds(attempt.duration)}};
}

run::Attempt attempt_of(const JsonMembers& record) {
  return {.verdict = verdict_of(record),
          .message = record.text("message"),
          .expected = record.text("expected"),
          .actual = record.text("actual"),
          .step = record.integer<std::size_t>("step"),
          .duration = record.duration("duration_ms")};
}

ordered_json deviation_record(const run::Deviation& deviation) {
  return {{"requirement", deviation.requirement}, {"direct", deviation.direct},
          {"suspects", deviation.suspects},       {"subject", deviation.subject},
          {"message", deviation.message},         {"expected", deviation.expected},
          {"actual", deviation.actual},           {"step", deviation.step}};
}

run::Deviation deviation_of(const JsonMembers& record, const scenario::Case& test_case) {
  run::Deviation out{.requirement = record.text("requirement"),
                     .direct = record.text("direct"),
                     .suspects = record.texts("suspects"),
                     .subject = record.text("subject"),
                     .message = record.text("message"),
                     .expected = record.text("expected"),
                     .actual = record.text("actual"),
                     .step = record.integer<std::size_t>("step")};
  out.position = place_of(record, out.step, test_case);
  return out;
}

void read_observations(const JsonMembers& record, run::CaseResult& out) {
  record.each_list("forms", [&](const std::string& place, const std::string& word,
                                const std::string& /*where*/) {
    const auto divergence = codec::divergence_named(place);
    const auto dialect = codec::dialect_named(word);
    if (divergence && dialect) {
      out.forms.emplace_back(*divergence, *dialect);
    } else {
      record.wrong("forms", "forms of divergences");
    }
  });
  record.each_list("open_points", [&](const std::string& id, const std::string& outcome,
                                      const std::string& /*where*/) {
    out.open_points.emplace_back(id, outcome);
  });
}

}  // namespace

std::optional<run::Verdict> verdict_named(std::string_view word) {
  const auto found = std::find_if(kAllVerdicts.begin(), kAllVerdicts.end(),
                                  [&](run::Verdict verdict) { return name(verdict) == word; });
  return found == kAllVerdicts.end() ? std::nullopt : std::optional(*found);
}

ordered_json entry_json(const run::TranscriptEntry& entry) {
  ordered_json out;
  out["ms"] = in_milliseconds(entry.time);
  out["client"] = entry.client;
  out["direction"] = direction_name(entry.direction);
  out["summary"] = entry.summary;
  if (entry.direction == run::Direction::kEvent) return out;
  out.update(codec::to_json(entry.message));
  out["payload_bytes"] = entry.payload_bytes;
  return out;
}

run::TranscriptEntry entry_of(const JsonMembers& entry) {
  run::TranscriptEntry out;
  out.time = entry.duration("ms");
  out.client = entry.text("client");
  out.direction = direction_of(entry);
  out.summary = entry.text("summary");
  if (out.direction == run::Direction::kEvent) return out;
  out.message = codec::message_of(entry);
  out.payload_bytes = entry.integer<std::size_t>("payload_bytes");
  return out;
}

ordered_json case_record(const run::CaseResult& result, bool with_transcript) {
  ordered_json out;
  out["case"] = result.test_case->id;
  out["verdict"] = name(result.verdict);
  for (const auto& [doubt, word] : kAllDoubts) {
    if (doubt == result.doubt && doubt != run::Doubt::kNone) out["doubt"] = word;
  }
  out["requirement"] = result.requirement;
  out["direct"] = result.direct;
  out["suspects"] = result.suspects;
  out["subject"] = result.subject;
  out["message"] = result.message;
  out["expected"] = result.expected;
  out["actual"] = result.actual;
  out["step"] = result.step;
  out["duration_ms"] = in_milliseconds(result.duration);
  out["forms"] = ordered_json::object();
  for (const auto& [divergence, dialect] : result.forms) {
    out["forms"][std::string(codec::name(divergence))].push_back(codec::dialect(dialect).name);
  }
  out["open_points"] = ordered_json::object();
  for (const auto& [id, outcome] : result.open_points) out["open_points"][id].push_back(outcome);
  out["notifications"] = result.notifications;
  out["versioned_notifications"] = result.versioned_notifications;
  if (result.first_attempt) out["first_attempt"] = attempt_record(*result.first_attempt);
  out["deviations"] = ordered_json::array();
  for (const run::Deviation& each : result.deviations) {
    out["deviations"].push_back(deviation_record(each));
  }
  out["round_trips_ms"] = ordered_json::array();
  for (const endpoint::Duration time : result.round_trips) {
    out["round_trips_ms"].push_back(in_milliseconds(time));
  }
  out["transcript"] = ordered_json::array();
  if (!with_transcript) return out;
  for (const run::TranscriptEntry& entry : result.transcript) {
    out["transcript"].push_back(entry_json(entry));
  }
  return out;
}

run::CaseResult case_of(const JsonMembers& record, const scenario::Case& test_case) {
  run::CaseResult out;
  out.test_case = &test_case;
  out.verdict = verdict_of(record);
  out.doubt = doubt_of(record);
  out.requirement = record.text("requirement");
  out.direct = record.text("direct");
  out.suspects = record.texts("suspects");
  out.subject = record.text("subject");
  out.message = record.text("message");
  out.expected = record.text("expected");
  out.actual = record.text("actual");
  out.step = record.integer<std::size_t>("step");
  out.position = place_of(record, out.step, test_case);
  out.duration = record.duration("duration_ms");
  read_observations(record, out);
  out.notifications = record.integer<std::size_t>("notifications");
  out.versioned_notifications = record.integer<std::size_t>("versioned_notifications");
  if (record.has("first_attempt")) out.first_attempt = attempt_of(record.object("first_attempt"));
  // The members of list elements are read with the same complaint.
  JsonComplaint inner;
  record.each("deviations", [&](const json& each, const std::string& where) {
    out.deviations.push_back(deviation_of(JsonMembers(each, where, inner), test_case));
  });
  out.round_trips = record.durations("round_trips_ms");
  record.each("transcript", [&](const json& each, const std::string& where) {
    out.transcript.push_back(entry_of(JsonMembers(each, where, inner)));
  });
  if (inner.any()) record.wrong("transcript", "right: " + inner.text());
  return out;
}

}  // namespace fencepost::report
