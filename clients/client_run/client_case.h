// A case for clients, as in scenarios/clients/: the commands for an adapter, what our
// broker does with the requests, and what the adapter has to report.
//
//   - set: {key: k, value: v}
//     answer: [puback, {reply: {error: quota-exceeded}}]
//     expect: {error: quota-exceeded}
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/notification.h"
#include "suite/scenario/scenario.h"

namespace fencepost::client_run {

using Milliseconds = std::chrono::milliseconds;

// --- commands for an adapter ---

enum class CommandKind {
  kConnect,
  kDisconnect,
  kSet,
  kGet,
  kDel,
  kVdel,
  kObserve,
  kUnobserve,
  kLock,          // SET with NEX (or NX) and PX
  kUnlock,        // VDEL
  kHolder,        // GET
  kNotification,  // the next one
};
// "connect", "set", ...: as cases and adapters write it.
[[nodiscard]] std::string_view name(CommandKind kind);

struct Command {
  CommandKind kind = CommandKind::kGet;
  std::string key{};
  std::string value{};  // of a lock: its holder
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<Milliseconds> expires_after{};  // of a lock: its lease
  std::optional<Milliseconds> renewed_each{};   // of a lock: by the SDK, until it is given back
  bool waits = false;                           // for a lock that another client holds
  bool names_itself = false;                    // the SDK chooses the holder of a lock itself
  std::string token{};                          // the name of a version that was saved; empty: none
  std::optional<Milliseconds> timeout{};        // that the SDK waits for a reply; none: the run's
};
// Its request on the network; nothing for commands without one. For a lock, the one that
// acquires it.
[[nodiscard]] std::optional<codec::Command> request_of(const Command& command);

// --- what our broker does ---

// The store's reply, or what is sent in its place. What is not given is as in a conforming store.
struct ReplyScript {
  std::optional<std::string> payload{};
  std::optional<codec::ErrorCode> error{};  // the payload is this error
  std::optional<std::string> version{};     // text of `__ts`; empty: without one
  // Its wall clock is so far ahead of the store's.
  std::optional<Milliseconds> version_ahead{};
  std::optional<std::string> correlation{};  // Correlation Data
  bool without_correlation = false;
  bool near_correlation = false;  // that of the request, but for its last byte
  std::vector<std::pair<std::string, std::string>> properties{};  // further user properties
  bool at_qos_0 = false;
  bool duplicate = false;  // with DUP: what was sent before was lost on its way
};

struct PubackAct {
  std::uint8_t reason = 0;
};
struct ReplyAct {
  ReplyScript script{};
};
struct WaitAct {
  Milliseconds time{};
};
struct CutAct {};
using Act = std::variant<PubackAct, ReplyAct, WaitAct, CutAct>;

// What happens when a request has come, in this order. It is carried out unless neither a PUBACK
// nor a reply is among it. A reply after a cut goes to the connection of that time.
using Answer = std::vector<Act>;
[[nodiscard]] Answer right_answer();

// --- what has to be reported ---

enum class ResultKind {
  kOk,
  kApplied,
  kNotApplied,
  kValue,
  kMissing,
  kDeleted,
  kHeld,
  kNotHeld,
  kChanged,
  kError
};

struct Expected {
  ResultKind kind = ResultKind::kOk;
  std::string value{};                      // kValue
  std::int64_t count = 0;                   // kDeleted; -1: the value is different
  std::optional<codec::ErrorCode> error{};  // kError: with this text
  std::optional<std::string> text{};        // kError: with this one
};

// --- steps ---

struct CommandStep {
  Command command{};
  std::optional<Answer> answer{};      // none: right_answer()
  std::vector<Expected> expected{};    // any of them
  std::string saves{};                 // a name for the version that is reported
  bool may_be_refused_unsent = false;  // by the SDK
};
// All commands concurrently; replies go out in the order of their requests, or reversed.
struct TogetherStep {
  std::vector<CommandStep> commands{};
  bool reversed = false;
};
struct NotificationStep {
  std::string key{};
  codec::Operation operation = codec::Operation::kSet;
  std::string value{};
};
// From now on, for connections that are made.
struct BrokerStep {
  std::optional<std::uint16_t> receive_maximum{};
  std::optional<std::uint32_t> largest_packet{};
  std::optional<std::uint16_t> keep_alive_s{};
  bool forgets_session = false;           // it has none, even if the client requests one
  std::optional<std::uint8_t> refuses{};  // only the next connection, with this reason code
};
struct ClockStep {
  Milliseconds ahead{};  // of this machine's
};
// Another client changes a key.
struct OtherStep {
  codec::Verb verb = codec::Verb::kSet;
  std::string key{};
  std::string value{};
  Milliseconds after{0};  // delay, during which the case continues
};
// A message to the notification topic of a key.
struct NotifyStep {
  std::string key{};
  std::string payload{};
  std::optional<codec::Operation> operation{};  // none: the payload as it is
  std::string value{};
  std::optional<std::string> version{};  // none: a right one; empty: without
  int times = 1;
};
// An unmatched response.
struct UnmatchedStep {
  std::string payload{};
  std::string correlation{};
};
struct CutStep {
  std::optional<std::uint8_t> reason{};  // of a DISCONNECT before; none: without one
};
// Until the adapter is connected again, by itself or by a command.
struct ReconnectStep {
  std::string observed{};  // a key that it must observe then, by itself; empty: none
};
struct PauseStep {
  Milliseconds time{};
};

struct Step {
  scenario::Position position{};
  std::string title{};  // the action
  std::string cites{};  // a requirement
  std::variant<CommandStep, TogetherStep, NotificationStep, BrokerStep, ClockStep, OtherStep,
               NotifyStep, UnmatchedStep, CutStep, ReconnectStep, PauseStep>
      what{};
};

struct ClientCase {
  std::string id{};
  std::string area{};
  std::string title{};
  std::vector<std::string> requirements{};  // at least one
  std::vector<std::string> needs{};         // capabilities
  // Rules of the judge of clients that this case leaves to the store.
  std::vector<std::string> forgives{};
  std::vector<Step> steps{};
  scenario::Position position{};
};

// What its steps wait for in any case.
[[nodiscard]] Milliseconds least_time(const ClientCase& test_case);

}  // namespace fencepost::client_run
