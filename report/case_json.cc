#include "report/case_json.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

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
  if (!verdict) record.wrong("verdict", "one of " + all_verdicts());
  return verdict.value_or(run::Verdict::kNotRun);
}

run::Doubt doubt_of(const JsonMembers& record) {
  const std::string word = record.text_if_there("doubt");
  const auto found = std::find_if(kAllDoubts.begin(), kAllDoubts.end(),
                                  [&](const auto& each) { return each.second == word; });
  return found == kAllDoubts.end() ? run::Doubt::kNone : found->first;
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
    out.unspecified_points.emplace_back(id, outcome);
  });
}

}  // namespace

ordered_json failure_json(const run::Failure& failure) {
  ordered_json out;
  out["requirement"] = failure.requirement;
  if (!failure.direct.empty()) out["direct"] = failure.direct;
  if (!failure.candidates.empty()) out["suspects"] = failure.candidates;
  if (!failure.subject.empty()) out["subject"] = failure.subject;
  out["kind"] = judge::name(failure.kind);
  out["step"] = failure.step;
  out["line"] = failure.position.line;
  out["message"] = failure.message;
  out["expected"] = failure.expected;
  out["actual"] = failure.actual;
  if (const std::string known_by = signature(failure); !known_by.empty()) {
    out["signature"] = known_by;
    out["cause"] = failure.cause;
  }
  if (!failure.theme.empty()) out["theme"] = failure.theme;
  return out;
}

run::Failure failure_of(const JsonMembers& record, const scenario::Case& test_case) {
  run::Failure out{.requirement = record.text("requirement"),
                   .direct = record.text_if_there("direct"),
                   .subject = record.text_if_there("subject"),
                   .message = record.text("message"),
                   .expected = record.text("expected"),
                   .actual = record.text("actual"),
                   .cause = record.text_if_there("cause"),
                   .theme = record.text_if_there("theme"),
                   .step = record.integer<std::size_t>("step"),
                   .position = test_case.position};
  if (record.has("suspects")) out.candidates = record.texts("suspects");
  const auto kind = judge::mismatch_named(record.text("kind"));
  if (!kind) record.wrong("kind", "a kind of mismatch that this version knows");
  out.kind = kind.value_or(judge::Mismatch::kOther);
  const std::string known_by = record.text_if_there("signature");
  const std::string rule = out.requirement + ": ";
  if (known_by.starts_with(rule)) out.steady = known_by.substr(rule.size());
  if (!known_by.empty() && out.steady.empty()) {
    record.wrong("signature", "the requirement, a colon, and what is wrong");
  }
  const std::size_t steps = test_case.steps.size();
  if (out.step > steps) {
    record.diagnose("step", fmt::format("is {}, and the case has {} steps", out.step, steps));
  } else if (out.step > 0) {
    out.position = test_case.steps[out.step - 1].position;
  }
  return out;
}

ordered_json attempt_json(const run::Attempt& attempt) {
  return {
      {"verdict", name(attempt.verdict)},     {"message", attempt.failure.message},
      {"expected", attempt.failure.expected}, {"actual", attempt.failure.actual},
      {"step", attempt.failure.step},         {"duration_ms", in_milliseconds(attempt.duration)}};
}

run::Attempt attempt_of(const JsonMembers& record) {
  return {.verdict = verdict_of(record),
          .failure = {.message = record.text("message"),
                      .expected = record.text("expected"),
                      .actual = record.text("actual"),
                      .step = record.integer<std::size_t>("step")},
          .duration = record.duration("duration_ms")};
}

std::string all_verdicts() {
  std::vector<std::string_view> names;
  for (const run::Verdict verdict : kAllVerdicts) names.push_back(name(verdict));
  return fmt::format("{}", fmt::join(names, ", "));
}

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
  out["failure"] = failure_json(result.failure);
  out["duration_ms"] = in_milliseconds(result.duration);
  out["forms"] = ordered_json::object();
  for (const auto& [divergence, dialect] : result.forms) {
    out["forms"][std::string(codec::name(divergence))].push_back(codec::dialect(dialect).name);
  }
  out["open_points"] = ordered_json::object();
  for (const auto& [id, outcome] : result.unspecified_points)
    out["open_points"][id].push_back(outcome);
  out["notifications"] = result.notifications;
  out["versioned_notifications"] = result.versioned_notifications;
  if (result.first_attempt) out["first_attempt"] = attempt_json(*result.first_attempt);
  out["deviations"] = ordered_json::array();
  for (const run::Failure& each : result.deviations) {
    out["deviations"].push_back(failure_json(each));
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
  out.failure = failure_of(record.object("failure"), test_case);
  out.duration = record.duration("duration_ms");
  read_observations(record, out);
  out.notifications = record.integer<std::size_t>("notifications");
  out.versioned_notifications = record.integer<std::size_t>("versioned_notifications");
  if (record.has("first_attempt")) {
    out.first_attempt = attempt_of(record.object("first_attempt"));
  }
  // The members of list elements are read with the same diagnostic.
  JsonDiagnostic inner;
  record.each("deviations", [&](const json& each, const std::string& where) {
    out.deviations.push_back(failure_of(JsonMembers(each, where, inner), test_case));
  });
  out.round_trips = record.durations("round_trips_ms");
  record.each("transcript", [&](const json& each, const std::string& where) {
    out.transcript.push_back(entry_of(JsonMembers(each, where, inner)));
  });
  if (inner.any()) record.wrong("transcript", "valid: " + inner.text());
  return out;
}

}  // namespace fencepost::report
