#include "clients/client_run/attribution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codec/resp3.h"
#include "hlc/hlc.h"
#include "suite/judge/mismatch.h"

namespace fencepost::client_run::attribution {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kSafeAndSound = "LIFE-KEY-1";  // what was stored is there afterwards

std::optional<Words> words_of(std::string_view payload) {
  const auto frame = codec::decode_command(payload);
  if (!frame) return std::nullopt;
  const std::size_t stored = std::min(frame->count, codec::CommandFrame::kStored);
  return Words(frame->arguments.begin(),
               frame->arguments.begin() + static_cast<std::ptrdiff_t>(stored));
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// How a request of this verb is written.
std::string_view grammar_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::kSet:
      return "SET-GRAMMAR-1";
    case CommandKind::kGet:
      return "GET-GRAMMAR-1";
    case CommandKind::kDel:
      return "DEL-GRAMMAR-1";
    case CommandKind::kVdel:
      return "VDEL-GRAMMAR-1";
    case CommandKind::kObserve:
      return "NTF-REQUEST-2";
    case CommandKind::kUnobserve:
      return "NTF-STOP-1";
    case CommandKind::kLock:
      return "LOCK-ACQUIRE-1";
    case CommandKind::kUnlock:
      return "LOCK-RELEASE-1";
    case CommandKind::kHolder:
      return "LOCK-HOLDER-1";
    default:
      return "ENV-MQTT5-1";
  }
}

bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view of_bytes(const Command& wanted) {
  if (wanted.kind != CommandKind::kSet) return grammar_of(wanted.kind);
  return wanted.value.empty() ? "SET-VALUE-2" : "SET-VALUE-1";
}

// The rule that the options of a SET break. Its key and value are the expected ones.
std::string_view of_options(const Command& wanted, const Words& right, const Words& sent) {
  Words same_case;
  for (const std::string& word : sent) same_case.push_back(upper(word));
  const Words options(sent.begin() + 3, sent.end());
  const Words upper_options(same_case.begin() + 3, same_case.end());
  if (upper_options != options && upper_options == Words(right.begin() + 3, right.end())) {
    return "CASE-OPTION-1";
  }
  const bool nx = has(options, "NX");
  const bool nex = has(options, "NEX");
  if (wanted.condition == codec::Condition::kIfAbsent && (!nx || nex)) return "SET-NX-2";
  if (wanted.condition == codec::Condition::kIfAbsentOrEqual && !nex) {
    return nx ? "SET-NEX-2" : "SET-NEX-3";
  }
  if (wanted.condition == codec::Condition::kAlways && (nx || nex)) return "SET-WRITE-2";
  if (wanted.expires_after.has_value() != has(options, "PX")) {
    return wanted.expires_after ? "SET-PX-1" : "SET-PX-3";
  }
  if (wanted.expires_after && !has(options, std::to_string(wanted.expires_after->count()))) {
    return "SET-PX-1";
  }
  return nex ? "SET-NEX-4" : grammar_of(wanted.kind);
}

std::string_view of_difference(const Command& wanted, const Words& right, const Words& sent) {
  if (sent.front() != right.front()) {
    return upper(sent.front()) == right.front() ? "CASE-VERB-1" : grammar_of(wanted.kind);
  }
  if (sent.size() < 2) return "ERR-ARITY-1";
  if (sent[1] != right[1]) return "KEY-BINARY-1";
  if (wanted.kind == CommandKind::kObserve || wanted.kind == CommandKind::kUnobserve) {
    const bool is_stop = sent.size() > 2 && right.size() > 2 && upper(sent[2]) == right[2];
    return is_stop ? "CASE-OPTION-1" : grammar_of(wanted.kind);
  }
  if (wanted.kind == CommandKind::kLock && !has(sent, "PX")) return "LOCK-ACQUIRE-3";
  const bool has_value = wanted.kind == CommandKind::kSet || wanted.kind == CommandKind::kVdel;
  if (has_value && sent.size() < 3) return grammar_of(wanted.kind);
  if (has_value && sent[2] != right[2]) return of_bytes(wanted);
  if (wanted.kind == CommandKind::kSet) return of_options(wanted, right, sent);
  return grammar_of(wanted.kind);
}

// How many words are as they should be, in any letter case.
std::size_t likeness(const Words& right, const Words& sent) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < std::min(right.size(), sent.size()); ++i) {
    if (upper(right[i]) == upper(sent[i])) ++out;
  }
  return out;
}

// What a reply to this is, when it is one.
std::string_view form_of_reply(CommandKind kind) {
  switch (kind) {
    case CommandKind::kSet:
      return "SET-OK-1";
    case CommandKind::kGet:
      return "GET-HIT-1";
    case CommandKind::kDel:
      return "DEL-COUNT-1";
    case CommandKind::kVdel:
      return "VDEL-MATCH-1";
    case CommandKind::kObserve:
      return "NTF-RESPONSE-2";
    case CommandKind::kUnobserve:
      return "NTF-STOP-3";
    case CommandKind::kLock:
    case CommandKind::kUnlock:
    case CommandKind::kHolder:
      return grammar_of(kind);
    default:
      return "ENV-MQTT5-1";
  }
}

std::string_view of_version_of(CommandKind kind) {
  if (kind == CommandKind::kLock) return "LOCK-TOKEN-1";
  return kind == CommandKind::kGet ? "VER-GET-1" : "VER-SET-1";
}

std::optional<std::string_view> of_script(CommandKind kind, const ReplyScript& script) {
  if (script.correlation || script.without_correlation || script.near_correlation)
    return "ENV-CORRELATION-1";
  if (script.error) return "RESP-ERROR-FORM-1";
  if (script.payload) {
    const bool is_error = script.payload->starts_with("-ERR ");
    return is_error ? "ERR-UNKNOWN-1" : form_of_reply(kind);
  }
  if (script.version_ahead) return "VER-DRIFT-1";
  if (script.version && !script.version->empty()) {
    return hlc::parse(*script.version) ? of_version_of(kind) : "HLC-FORMAT-1";
  }
  if (script.duplicate) return "ENV-RESPONSE-1";
  if (!script.properties.empty()) return "";
  return std::nullopt;
}

std::string_view of_plain_reply(const Command& command, const Expected& expected) {
  const bool is_error = expected.kind == ResultKind::kError;
  if (command.kind == CommandKind::kHolder && !is_error) return "LOCK-HOLDER-1";
  switch (expected.kind) {
    case ResultKind::kHeld:
      return "LOCK-ACQUIRE-1";
    case ResultKind::kNotHeld:
      return "LOCK-ACQUIRE-2";
    case ResultKind::kApplied:
      return "SET-OK-1";
    case ResultKind::kNotApplied:
      return "SET-NOT-APPLIED-1";
    case ResultKind::kValue:
      return expected.value.empty() ? "GET-HIT-4" : "GET-HIT-3";
    case ResultKind::kMissing:
      return "GET-MISS-1";
    case ResultKind::kDeleted:
      if (expected.count < 0) return "VDEL-MISMATCH-2";
      if (command.kind == CommandKind::kDel) return expected.count > 0 ? "DEL-OK-1" : "DEL-MISS-1";
      return expected.count > 0 ? "VDEL-MATCH-1" : "VDEL-MISS-1";
    case ResultKind::kError:
      if (expected.error) return judge::rule_of_text(*expected.error);
      return request_of(command) && command.key.empty() ? "KEY-EMPTY-1" : "";
    default:
      return command.kind == CommandKind::kUnobserve ? "NTF-STOP-1" : form_of_reply(command.kind);
  }
}

bool all_are_attributed(const std::vector<CommandStep>& steps) {
  return std::none_of(steps.begin(), steps.end(),
                      [](const CommandStep& each) { return of_reply(each, nullptr).empty(); });
}

}  // namespace

std::string_view of_request(const Command& wanted, const std::deque<std::string>& others) {
  const auto command = request_of(wanted);
  const auto right = command ? words_of(codec::encode(*command)) : std::nullopt;
  if (!right) return grammar_of(wanted.kind);
  std::optional<Words> nearest;
  bool any_malformed = false;
  for (const std::string& other : others) {
    auto words = words_of(other);
    any_malformed = any_malformed || !words;
    if (!words || likeness(*right, *words) == 0) continue;
    if (!nearest || likeness(*right, *words) >= likeness(*right, *nearest)) nearest = *words;
  }
  if (nearest && *nearest != *right) return of_difference(wanted, *right, *nearest);
  return any_malformed ? "RESP-INVALID-4" : grammar_of(wanted.kind);
}

std::string_view of_token(CommandKind command) {
  if (command == CommandKind::kDel) return "FT-REQUIRED-2";
  return command == CommandKind::kVdel ? "FT-REQUIRED-3" : "LOCK-TOKEN-2";
}

std::optional<std::string_view> of_answer(const CommandStep& step) {
  if (!step.answer) return std::nullopt;
  constexpr std::uint8_t kFirstRefusal = 0x80;
  std::size_t replies = 0;
  std::size_t pubacks = 0;
  bool reply_first = false;
  bool is_cut = false;
  std::optional<std::string_view> script;
  for (const Act& act : *step.answer) {
    if (const auto* puback = std::get_if<PubackAct>(&act)) {
      ++pubacks;
      if (puback->reason >= kFirstRefusal) return "ENV-PUBACK-1";
    } else if (const auto* reply = std::get_if<ReplyAct>(&act)) {
      reply_first = reply_first || pubacks == 0;
      ++replies;
      if (!script) script = of_script(step.command.kind, reply->script);
    } else if (std::holds_alternative<CutAct>(act)) {
      is_cut = true;
    }
  }
  if (is_cut) return kSafeAndSound;
  if (replies > 1) return "ENV-CORRELATION-1";
  if (script) return script;
  if (replies == 0 || reply_first) return "ENV-ASYNC-1";
  return std::nullopt;
}

std::string_view of_reply(const CommandStep& step, const Report* report) {
  if (step.command.kind == CommandKind::kConnect || step.command.kind == CommandKind::kDisconnect) {
    return "ENV-MQTT5-1";
  }
  if (step.expected.empty()) return "";
  const Expected& expected = step.expected.front();
  const bool is_error = report != nullptr && report->kind == ResultKind::kError;
  // An error was reported, but with another text.
  if (is_error && expected.error) return judge::rule_of_text(*expected.error);
  if (report != nullptr && expected.error) return "RESP-ERROR-FORM-1";
  return of_answer(step).value_or(of_plain_reply(step.command, expected));
}

std::string_view of_version(ResultKind reported) {
  switch (reported) {
    case ResultKind::kHeld:
      return "LOCK-TOKEN-1";
    case ResultKind::kNotApplied:
      return "SET-NOT-APPLIED-3";
    case ResultKind::kValue:
      return "VER-GET-1";
    case ResultKind::kMissing:
      return "VER-MISS-1";
    default:
      return "VER-SET-1";
  }
}

std::string_view of_notification(const NotificationStep& wanted,
                                 const ReceivedNotification& notification) {
  const Report& report = notification.report;
  const bool is_set = wanted.operation == codec::Operation::kSet;
  const std::string_view sent = is_set ? "NTF-SEND-1" : "NTF-SEND-2";
  if (report.kind != ResultKind::kChanged) return sent;
  const bool is_same_change =
      report.operation == wanted.operation && (!is_set || report.value == wanted.value);
  if (report.key != wanted.key && is_same_change) return "NTF-TOPIC-1";
  if (!notification.observed) return "NTF-SEND-3";
  if (notification.is_later || report.operation != wanted.operation) return sent;
  return wanted.value.empty() ? "NTF-SET-3" : "NTF-VALUE-1";
}

std::optional<std::string_view> of_event(const Step& step) {
  if (const auto* notify = std::get_if<NotifyStep>(&step.what)) {
    if (!notify->operation) return "NTF-FORMAT-1";
    if (notify->version) return "NTF-VERSION-1";
    return notify->times > 1 ? "NTF-SEND-1" : "NTF-SEND-3";
  }
  if (std::holds_alternative<UnmatchedStep>(step.what)) return "ENV-CORRELATION-1";
  if (std::holds_alternative<CutStep>(step.what)) return kSafeAndSound;
  const auto* reconnect = std::get_if<ReconnectStep>(&step.what);
  if (reconnect != nullptr) return reconnect->observed.empty() ? kSafeAndSound : "LIFE-RECONNECT-1";
  const auto* command = std::get_if<CommandStep>(&step.what);
  return command == nullptr ? std::nullopt : of_answer(*command);
}

bool is_attributed(const Step& step) {
  if (!step.cites.empty()) return true;
  if (const auto* together = std::get_if<TogetherStep>(&step.what)) {
    return all_are_attributed(together->commands);
  }
  const auto* command = std::get_if<CommandStep>(&step.what);
  return command == nullptr || !of_reply(*command, nullptr).empty();
}

std::set<std::string, std::less<>> rules_of(const ClientCase& test_case) {
  std::set<std::string, std::less<>> out(test_case.requirements.begin(),
                                         test_case.requirements.end());
  const auto add = [&out](std::string_view rule) {
    if (!rule.empty()) out.emplace(rule);
  };
  for (const Step& step : test_case.steps) {
    add(step.cites);
    add(of_event(step).value_or(""));
    if (const auto* command = std::get_if<CommandStep>(&step.what))
      add(of_reply(*command, nullptr));
    if (const auto* together = std::get_if<TogetherStep>(&step.what)) {
      for (const CommandStep& each : together->commands) add(of_reply(each, nullptr));
    }
  }
  return out;
}

}  // namespace fencepost::client_run::attribution
