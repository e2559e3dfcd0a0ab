#include "clients/client_run/client_case.h"

#include <algorithm>

namespace fencepost::client_run {

std::string_view name(CommandKind kind) {
  switch (kind) {
    case CommandKind::kConnect:
      return "connect";
    case CommandKind::kDisconnect:
      return "disconnect";
    case CommandKind::kSet:
      return "set";
    case CommandKind::kGet:
      return "get";
    case CommandKind::kDel:
      return "del";
    case CommandKind::kVdel:
      return "vdel";
    case CommandKind::kObserve:
      return "observe";
    case CommandKind::kUnobserve:
      return "unobserve";
    case CommandKind::kLock:
      return "lock";
    case CommandKind::kUnlock:
      return "unlock";
    case CommandKind::kHolder:
      return "holder";
    case CommandKind::kNotification:
      break;
  }
  return "notification";
}

std::optional<codec::Command> request_of(const Command& command) {
  codec::Command out{.key = command.key};
  switch (command.kind) {
    case CommandKind::kSet:
      out.verb = codec::Verb::kSet;
      out.value = command.value;
      out.condition = command.condition;
      out.expires_after = command.expires_after;
      return out;
    case CommandKind::kLock:
      out.verb = codec::Verb::kSet;
      out.value = command.value;
      out.condition = codec::Condition::kIfAbsentOrEqual;
      out.expires_after = command.expires_after;
      return out;
    case CommandKind::kGet:
    case CommandKind::kHolder:
      out.verb = codec::Verb::kGet;
      return out;
    case CommandKind::kDel:
      out.verb = codec::Verb::kDel;
      return out;
    case CommandKind::kVdel:
    case CommandKind::kUnlock:
      out.verb = codec::Verb::kVdel;
      out.value = command.value;
      return out;
    case CommandKind::kUnobserve:
      out.stop = true;
      [[fallthrough]];
    case CommandKind::kObserve:
      out.verb = codec::Verb::kKeynotify;
      return out;
    default:
      return std::nullopt;
  }
}

namespace {

Milliseconds least_time(const CommandStep& step) {
  Milliseconds out{0};
  bool answers = !step.answer;
  for (const Act& act : step.answer.value_or(Answer{})) {
    if (const auto* wait = std::get_if<WaitAct>(&act)) out += wait->time;
    answers = answers || std::holds_alternative<ReplyAct>(act);
  }
  return answers ? out : std::max(out, step.command.timeout.value_or(out));
}

Milliseconds least_time(const Step& step) {
  if (const auto* pause = std::get_if<PauseStep>(&step.what)) return pause->time;
  if (const auto* other = std::get_if<OtherStep>(&step.what)) return other->after;
  const auto* command = std::get_if<CommandStep>(&step.what);
  return command == nullptr ? Milliseconds{0} : least_time(*command);
}

}  // namespace

Milliseconds least_time(const ClientCase& test_case) {
  Milliseconds out{0};
  for (const Step& step : test_case.steps) out += least_time(step);
  return out;
}

Answer right_answer() { return {PubackAct{}, ReplyAct{}}; }

}  // namespace fencepost::client_run
