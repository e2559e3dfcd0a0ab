#include "conformance/search/trace_scenario.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "conformance/scenario/recorded.h"
#include "conformance/scenario/scenario_words.h"

namespace fencepost::search {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using workload::ExpectedNotification;
using workload::Kind;
using workload::Offered;
using workload::Prediction;
using workload::StampBase;

constexpr std::array<std::string_view, workload::kClients> kClientNames = {"a", "b", "c", "d"};
constexpr std::string_view kStartName = "t0";
// Beyond this, timestamps stand as they are: they are as old, or as far ahead, on any clock.
constexpr std::int64_t kFarthestMs = 1'000'000'000;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kNearLimitMs = 5'000;
constexpr std::int64_t kNearVersionMs = 5'000;
constexpr std::uint64_t kMaxCounterStep = 1'000'000;

// What a step asks for, whether it is typed or a payload of its own.
Kind verb_of(const LiveStep& step) {
  if (step.raw.empty()) return step.operation.kind;
  const std::string& verb = step.raw.front();
  if (verb == "SET") return Kind::kSet;
  if (verb == "GET") return Kind::kGet;
  if (verb == "DEL") return Kind::kDel;
  if (verb == "VDEL") return Kind::kVdel;
  if (verb == "KEYNOTIFY") return step.raw.size() == 2 ? Kind::kKeynotify : Kind::kStop;
  return Kind::kRawPayload;
}

Condition condition_of(const LiveStep& step) {
  for (std::size_t i = 3; i < step.raw.size(); ++i) {
    if (step.raw[i] == "NX") return Condition::kIfAbsent;
    if (step.raw[i] == "NEX") return Condition::kIfAbsentOrEqual;
  }
  return step.operation.condition;
}

// ---- Which rule a step checks

std::string_view rule_of_set(const LiveStep& step) {
  const Condition condition = condition_of(step);
  const bool nx = condition == Condition::kIfAbsent;
  if (step.expected.kind == ReplyKind::kNotApplied) return nx ? "SET-NX-2" : "SET-NEX-3";
  if (step.before.fenced) return "FT-ACCEPT-1";
  if (!step.before.exists && step.before.last_version) {
    return step.before.expired ? "SET-PX-4" : "LOCK-TOKEN-4";
  }
  if (condition == Condition::kIfAbsentOrEqual) {
    return step.before.exists ? "SET-NEX-2" : "SET-NEX-1";
  }
  if (nx) return "SET-NX-1";
  if (step.token.form != Offered::Form::kAbsent) return "FT-STORE-1";
  return step.before.exists ? "SET-WRITE-2" : "SET-OK-1";
}

std::string_view rule_of_get(const LiveStep& step) {
  if (step.expected.kind == ReplyKind::kMissing) {
    return step.before.expired ? "SET-PX-4" : "GET-MISS-1";
  }
  if (step.before.has_deadline) return "SET-PX-2";
  return step.expected.value.empty() ? "GET-HIT-4" : "GET-HIT-3";
}

std::string_view rule_of_removal(const LiveStep& step) {
  const bool vdel = verb_of(step) == Kind::kVdel;
  if (step.expected.kind == ReplyKind::kNotApplied) {
    return step.before.fenced ? "FT-ACCEPT-4" : "VDEL-MISMATCH-1";
  }
  if (step.expected.count == 0) {
    if (step.before.expired) return "SET-PX-4";
    return vdel ? "VDEL-MISS-1" : "DEL-MISS-1";
  }
  if (step.before.fenced) return vdel ? "FT-ACCEPT-3" : "FT-ACCEPT-2";
  return vdel ? "VDEL-MATCH-1" : "DEL-OK-1";
}

std::string_view rule_of_error(const LiveStep& step) {
  const Kind verb = verb_of(step);
  const auto by_verb = [&](std::string_view set, std::string_view del, std::string_view vdel) {
    if (verb == Kind::kSet) return set;
    return verb == Kind::kDel ? del : vdel;
  };
  switch (step.expected.error) {
    case ErrorCode::kTimestampTooFarAhead:
      return "HLC-SKEW-1";
    case ErrorCode::kTokenRequired:
      return by_verb("FT-REQUIRED-1", "FT-REQUIRED-2", "FT-REQUIRED-3");
    case ErrorCode::kTokenTooFarAhead:
      return "HLC-SKEW-2";
    case ErrorCode::kTokenLower:
      return by_verb("FT-LOWER-1", "FT-LOWER-2", "FT-LOWER-3");
    case ErrorCode::kQuotaExceeded:
      return "ERR-TEXT-5";
    case ErrorCode::kSyntax:
      return "ERR-SYNTAX-1";
    case ErrorCode::kNotAuthorized:
      return "ERR-TEXT-7";
    case ErrorCode::kUnknownCommand:
      return "ERR-COMMAND-1";
    case ErrorCode::kWrongArgumentCount:
      return "ERR-ARITY-1";
    case ErrorCode::kMissingTimestamp:
      return "HLC-REQUIRED-1";
    case ErrorCode::kMalformedTimestamp:
      return verb == Kind::kSet && step.timestamp.form != Offered::Form::kMalformed
                 ? "FT-MALFORMED-1"
                 : "HLC-PARSE-1";
    case ErrorCode::kEmptyKey:
      return "KEY-EMPTY-1";
  }
  return "RESP-INVALID-2";
}

// ---- Words of the format

std::string version_name(std::size_t step) { return fmt::format("v{}", step + 1); }
std::string mark_name(std::size_t step) { return fmt::format("m{}", step + 1); }

std::int64_t distance(std::uint64_t from_ms, std::uint64_t to_ms) {
  return to_ms >= from_ms ? static_cast<std::int64_t>(to_ms - from_ms)
                          : -static_cast<std::int64_t>(from_ms - to_ms);
}

bool is_literal(const Offered& offered, std::uint64_t now_ms) {
  if (offered.form == Offered::Form::kMalformed) return true;
  const std::int64_t ahead = distance(now_ms, offered.timestamp.wall_ms);
  return ahead < -kFarthestMs || ahead > kFarthestMs;
}

bool is_refused_as_far(const Offered& offered, std::uint64_t now_ms) {
  return distance(now_ms, offered.timestamp.wall_ms) > kMinuteMs;
}

// Is the token of this step written relative to others?
bool is_relative_token(const LiveStep& step) {
  return step.token.form == Offered::Form::kTimestamp && !is_literal(step.token, step.now_ms) &&
         !is_refused_as_far(step.token, step.now_ms);
}

std::string literal(const workload::Stamp& stamp, const Offered& offered) {
  std::string text;
  append_text(text, stamp, offered);
  return "{text: " + scenario::single_quoted(text) + "}";
}

// Writes one case.
class Writer {
 public:
  Writer(const LivePlan& plan, const ScenarioWords& words) : plan_(plan), words_(words) {}

  std::string run() {
    find_start();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) write_step(i);
    return head() + steps_;
  }

 private:
  // ---- The whole

  std::string head() const {
    std::string out = fmt::format("area: {}\ncases:\n  - id: {}\n    title: {}\n", words_.area,
                                  words_.id, scenario::single_quoted(words_.title));
    if (!words_.note.empty()) out += "    note: " + scenario::single_quoted(words_.note) + "\n";
    if (words_.recorded) out += text_of(*words_.recorded, 4);
    out += "    requirements: [" + scenario::joined(requirements_) + "]\n";
    if (!divergences_.empty()) {
      std::vector<std::string_view> names;
      for (const codec::Divergence divergence : divergences_) names.push_back(name(divergence));
      out += "    divergence: [" + scenario::joined(names) + "]\n";
    }
    out += "    clients: {" + scenario::joined(clients()) + "}\n    steps:\n";
    return out;
  }

  // Where somebody is told of changes, everybody listens: nobody else must be told.
  [[nodiscard]] std::vector<std::string> clients() const {
    std::set<std::uint8_t> used;
    for (const LiveStep& step : plan_.steps) {
      if (step.operation.kind != Kind::kWait) used.insert(step.operation.client);
    }
    const bool told = std::any_of(plan_.steps.begin(), plan_.steps.end(), registers);
    std::vector<std::string> out;
    for (const std::uint8_t client : used) {
      out.push_back(
          fmt::format("{}: {}", kClientNames.at(client), told ? "{observes: true}" : "{}"));
    }
    return out;
  }

  // The newest token that is accepted becomes t0, or the version of the first step where all are
  // older, so that none is too far ahead of the store's clock.
  void find_start() {
    for (const LiveStep& step : plan_.steps) {
      if (!is_relative_token(step)) continue;
      uses_start_ = true;
      newest_token_ms_ = std::max(newest_token_ms_, step.token.timestamp.wall_ms);
    }
    newest_token_ms_ = std::max(newest_token_ms_, plan_.start_ms);
    if (!uses_start_) return;
    line(fmt::format("set: {{key: start, value: start{}}}", client_member(first_client())));
    line_more(fmt::format("expect: {{reply: ok, ts: {{save: {}}}, cites: {}}}", kStartName,
                          cite("SET-OK-1")));
  }

  [[nodiscard]] std::uint8_t first_client() const {
    std::uint8_t out = workload::kClients - 1;
    for (const LiveStep& step : plan_.steps) {
      if (step.operation.kind != Kind::kWait) out = std::min(out, step.operation.client);
    }
    return out;
  }

  std::string_view cite(std::string_view requirement) {
    if (std::find(requirements_.begin(), requirements_.end(), requirement) == requirements_.end()) {
      requirements_.push_back(requirement);
    }
    return requirement;
  }

  void line(const std::string& text) { steps_ += "      - " + text + "\n"; }
  void line_more(const std::string& text) { steps_ += "        " + text + "\n"; }

  [[nodiscard]] std::string client_member(std::uint8_t client) const {
    if (client == first_client()) return {};
    return fmt::format(", client: {}", kClientNames.at(client));
  }

  // ---- Steps

  void write_step(std::size_t index) {
    const LiveStep& step = plan_.steps[index];
    switch (step.operation.kind) {
      case Kind::kWait:
        line(fmt::format("wait: {{until: {}.reply + {}}}", mark_name(*step.waits_for),
                         scenario::duration_text(plan_.options.short_expiry->count() +
                                                 plan_.options.expiry_slack.count())));
        break;
      case Kind::kDisconnect:
        line(fmt::format("disconnect: {}", kClientNames.at(step.operation.client)));
        break;
      default:
        line(request(index, step));
        line_more(expectation(index, step));
        break;
    }
    for (const ExpectedNotification& notification : step.expected.notifications) {
      write_notification(step, notification);
    }
  }

  std::string request(std::size_t index, const LiveStep& step) {
    const workload::Operation& operation = step.operation;
    std::string out;
    if (operation.kind == Kind::kRawPayload) {
      out = "send: {" + sent(step);
    } else {
      out = fmt::format("{}: {{key: {}{}", action(operation.kind),
                        scenario::text_of_key(workload::keys().at(operation.key)),
                        members(operation));
    }
    out += client_member(operation.client);
    if (const std::string text = timestamp(step); !text.empty()) out += ", ts: " + text;
    if (const std::string text = token(step); !text.empty()) out += ", ft: " + text;
    if (is_waited_for(index)) out += ", mark: " + mark_name(index);
    return out + "}";
  }

  static std::string_view action(Kind kind) {
    switch (kind) {
      case Kind::kSet:
        return "set";
      case Kind::kDel:
        return "del";
      case Kind::kVdel:
        return "vdel";
      case Kind::kKeynotify:
      case Kind::kStop:
        return "keynotify";
      default:
        return "get";
    }
  }

  static std::string members(const workload::Operation& operation) {
    std::string out;
    if (operation.kind == Kind::kSet || operation.kind == Kind::kVdel) {
      out += ", value: " + scenario::text_of_bytes(operation.value);
    }
    std::vector<std::string> options;
    if (operation.condition == Condition::kIfAbsent) options.emplace_back("NX");
    if (operation.condition == Condition::kIfAbsentOrEqual) options.emplace_back("NEX");
    if (operation.px_ms) options.push_back(fmt::format("PX, \"{}\"", *operation.px_ms));
    if (operation.kind == Kind::kStop) options.emplace_back("STOP");
    if (!options.empty()) out += ", options: [" + scenario::joined(options) + "]";
    return out;
  }

  // Keys get the prefix of the case; the empty key has none.
  static std::string sent(const LiveStep& step) {
    if (step.raw.empty()) return "payload: " + scenario::text_of_bytes(step.operation.value);
    std::vector<std::string> arguments;
    const bool named = step.raw.size() > 1 && !step.raw[1].empty();
    for (std::size_t i = 0; i < step.raw.size(); ++i) {
      arguments.push_back(i == 1 && named ? "{key: " + scenario::text_of_key(step.raw[1]) + "}"
                                          : scenario::text_of_bytes(step.raw[i]));
    }
    return "command: [" + scenario::joined(arguments) + "]" +
           (named ? ", writes: [" + scenario::text_of_key(step.raw[1]) + "]" : "");
  }

  // ---- Timestamps

  static std::string timestamp(const LiveStep& step) {
    const Offered& offered = step.timestamp;
    const workload::Stamp& stamp = step.operation.timestamp;
    const bool sets = step.operation.kind == Kind::kSet;
    if (offered.form == Offered::Form::kAbsent) return sets ? "none" : "";
    if (is_literal(offered, step.now_ms)) return literal(stamp, offered);
    const std::int64_t ahead = distance(step.now_ms, offered.timestamp.wall_ms);
    std::string out;
    if (ahead > kMinuteMs - kNearLimitMs && ahead < kMinuteMs + kNearLimitMs) {
      out = scenario::moved("skew-limit", ahead - kMinuteMs);
    } else if (step.base && std::llabs(step.from_base_ms) <= kNearVersionMs) {
      return relative_to_version(step);
    } else {
      out = scenario::moved("now", ahead);
    }
    if (offered.timestamp.counter != 0) {
      out += fmt::format(" counter = {}", offered.timestamp.counter);
    }
    const bool usual = stamp.node == 0 && !step.base;
    if (!usual && stamp.base != StampBase::kVersion && stamp.base != StampBase::kToken) {
      out += fmt::format(" node \"{}\"", offered.timestamp.node);
    }
    if (out == "now") return sets ? "" : "now";
    return scenario::single_quoted(out);
  }

  static std::string relative_to_version(const LiveStep& step) {
    const workload::Stamp& stamp = step.operation.timestamp;
    std::string out = scenario::moved(version_name(*step.base), step.from_base_ms);
    if (stamp.counter != 0) {
      // Counters wrap in the model; in the format they do not.
      out += stamp.counter <= kMaxCounterStep
                 ? fmt::format(" counter + {}", stamp.counter)
                 : fmt::format(" counter = {}", step.timestamp.timestamp.counter);
    }
    if (stamp.node != workload::kSameNode) {
      out += fmt::format(" node \"{}\"", step.timestamp.timestamp.node);
    }
    return scenario::single_quoted(out);
  }

  [[nodiscard]] std::string token(const LiveStep& step) const {
    const Offered& offered = step.token;
    if (offered.form == Offered::Form::kAbsent) return {};
    if (is_literal(offered, step.now_ms)) return literal(step.operation.token, offered);
    const std::int64_t ahead = distance(step.now_ms, offered.timestamp.wall_ms);
    std::string out;
    if (ahead > kMinuteMs) {
      out = ahead < kMinuteMs + kNearLimitMs ? scenario::moved("skew-limit", ahead - kMinuteMs)
                                             : scenario::moved("now", ahead);
    } else {
      out = scenario::moved(kStartName, distance(newest_token_ms_, offered.timestamp.wall_ms));
    }
    return scenario::single_quoted(out + fmt::format(" counter = {} node \"{}\"",
                                                     offered.timestamp.counter,
                                                     offered.timestamp.node));
  }

  // ---- Expectations

  std::string expectation(std::size_t index, const LiveStep& step) {
    std::string out = "expect: {reply: " + reply(step);
    if (const std::string version = version_check(index, step); !version.empty()) {
      out += ", ts: " + version;
    }
    if (step.within) {
      out += fmt::format(", before: {} + {}", mark_name(*step.within),
                         scenario::duration_text(plan_.options.short_expiry->count()));
    }
    return out + fmt::format(", cites: {}}}", cite(requirement_of(step)));
  }

  std::string reply(const LiveStep& step) {
    const Prediction& expected = step.expected;
    switch (expected.kind) {
      case ReplyKind::kOk:
        return "ok";
      case ReplyKind::kNotApplied:
        divergences_.insert(verb_of(step) == Kind::kVdel ? codec::Divergence::kVdelMismatch
                                                         : codec::Divergence::kSetNotApplied);
        return "not-applied";
      case ReplyKind::kValue:
        return "{value: " + scenario::text_of_bytes(expected.value) + "}";
      case ReplyKind::kMissing:
        return "missing";
      case ReplyKind::kCount:
        return fmt::format("{{count: {}}}", expected.count);
      case ReplyKind::kError:
        break;
    }
    const Kind verb = verb_of(step);
    if (expected.error == ErrorCode::kTokenLower) {
      divergences_.insert(codec::Divergence::kLowerTokenText);
    }
    if (verb == Kind::kKeynotify || verb == Kind::kStop) {
      divergences_.insert(codec::Divergence::kKeynotifyError);
    }
    return fmt::format("{{error: {}}}", codec::name(expected.error));
  }

  static std::string version_check(std::size_t index, const LiveStep& step) {
    const Prediction& expected = step.expected;
    if (expected.kind == ReplyKind::kMissing) return "absent";
    if (!expected.version) return {};
    if (!expected.version_open.empty()) return "present";
    if (!expected.fresh) return fmt::format("{{equals: {}}}", version_name(expected.origin));
    std::string out = fmt::format("{{save: {}, greater_than: [sent", version_name(index));
    if (step.before.last_version) out += ", " + version_name(*step.before.last_version);
    return out + "]}";
  }

  void write_notification(const LiveStep& step, const ExpectedNotification& notification) {
    std::string out =
        fmt::format("notification: {{key: {}", scenario::text_of_key(notification.key));
    out += client_member(notification.client);
    if (notification.operation == codec::Operation::kSet) {
      out += fmt::format(", operation: set, value: {}, ts: {{equals: {}}}",
                         scenario::text_of_bytes(notification.value),
                         version_name(notification.origin));
    } else {
      divergences_.insert(codec::Divergence::kDeleteOperation);
      out += ", operation: delete, ts: present";
    }
    line(out + fmt::format(", cites: {}}}", cite(requirement_of(step, notification))));
  }

  // Does a later step look at the time of this one?
  [[nodiscard]] bool is_waited_for(std::size_t index) const {
    return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const LiveStep& step) {
      return step.within == index || step.waits_for == index;
    });
  }

  const LivePlan& plan_;
  const ScenarioWords& words_;
  std::string steps_;
  std::vector<std::string_view> requirements_;  // in the order in which they are cited
  std::set<codec::Divergence> divergences_;
  bool uses_start_ = false;
  std::uint64_t newest_token_ms_ = 0;
};

}  // namespace

std::string scenario_text(const LivePlan& plan, const ScenarioWords& words) {
  FENCEPOST_CHECK(plan.requests() > 0);
  return Writer(plan, words).run();
}

ScenarioSize size_of(const LivePlan& plan) {
  ScenarioSize size;
  size.starts_with_version = std::any_of(plan.steps.begin(), plan.steps.end(), is_relative_token);
  size.steps = plan.steps.size() + (size.starts_with_version ? 1 : 0);
  for (const LiveStep& step : plan.steps) size.steps += step.expected.notifications.size();
  return size;
}

std::string_view requirement_of(const LiveStep& step) {
  if (step.expected.kind == ReplyKind::kError) return rule_of_error(step);
  switch (verb_of(step)) {
    case Kind::kSet:
      return rule_of_set(step);
    case Kind::kGet:
      return rule_of_get(step);
    case Kind::kDel:
    case Kind::kVdel:
      return rule_of_removal(step);
    case Kind::kKeynotify:
      return step.before.exists ? "NTF-RESPONSE-2" : "NTF-ABSENT-1";
    case Kind::kStop:
      return step.expected.kind == ReplyKind::kOk ? "NTF-STOP-1" : "NTF-STOP-3";
    default:
      return "RESP-INVALID-1";
  }
}

std::string_view requirement_of(const LiveStep& step, const ExpectedNotification& notification) {
  if (notification.operation == codec::Operation::kSet) return "NTF-SEND-1";
  return step.operation.kind == Kind::kWait ? "NTF-EXPIRY-1" : "NTF-SEND-2";
}

std::string name_of(const LiveStep& step) {
  constexpr std::array<std::string_view, workload::kKinds> kNames = {
      "SET",  "GET",       "DEL",  "VDEL",      "KEYNOTIFY",
      "STOP", "a payload", "wait", "wall step", "disconnect"};
  std::string out(kNames.at(static_cast<std::size_t>(verb_of(step))));
  const workload::Operation& operation = step.operation;
  if (operation.condition == Condition::kIfAbsent) out += " NX";
  if (operation.condition == Condition::kIfAbsentOrEqual) out += " NEX";
  if (operation.px_ms) out += " PX";
  if (step.token.form != Offered::Form::kAbsent) out += " with a token";
  return out;
}

}  // namespace fencepost::search
