#include "conformance/client_run/client_case.h"

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

Answer right_answer() { return {PubackAct{}, ReplyAct{}}; }

}  // namespace fencepost::client_run
