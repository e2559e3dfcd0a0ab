// Histories: what several clients requested from one store, when, and the responses and
// notifications that they received.
//
//   Operation put{.client = 3, .action = Action::kSet, .key = "k", .value = "v"};
//   put.called = Time(100);
//   put.returned = Time(250);
//   put.outcome = Outcome::kOk;
//   put.version = *hlc::parse("1696374425000:1:StateStore");
//
// `checker.h` judges them, `history_json.h` keeps them in files. Data only. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "codec/command.h"
#include "codec/notification.h"
#include "hlc/hlc.h"

namespace fencepost::history {

// Since a moment that all clients of a history share, on one steady clock.
using Time = std::chrono::nanoseconds;
inline constexpr Time kNever = Time::max();

enum class Action : std::uint8_t {
  kSet,
  kGet,
  kDel,
  kVdel,
  kCompareAndSet,  // no verb of the protocol: of histories of other registers
  kObserve,        // KEYNOTIFY
  kStop,           // KEYNOTIFY key STOP
};
inline constexpr std::array kActions = {Action::kSet,  Action::kGet,           Action::kDel,
                                        Action::kVdel, Action::kCompareAndSet, Action::kObserve,
                                        Action::kStop};

// The verb, or "CAS" or "STOP".
[[nodiscard]] std::string_view name(Action action);
// The verb of the request; CAS, which is not a verb of the protocol, as a SET.
[[nodiscard]] codec::Verb verb_of(Action action);
[[nodiscard]] inline bool has_value(Action action) { return codec::has_value(verb_of(action)); }
[[nodiscard]] inline bool removes(Action action) { return codec::removes(verb_of(action)); }

enum class Outcome : std::uint8_t {
  kOk,             // +OK
  kNotApplied,     // :-1
  kValue,          // a GET that found the key
  kMissing,        // $-1, and :0
  kDeleted,        // :1
  kTokenRequired,  // -ERR for want of a fencing token
  kTokenLower,     // -ERR for a token that is too old
  kRefused,        // any other -ERR
  kUnknown,        // no reply: it may have happened once, at any later time, or not at all. With a
                   // time of return, for a reply that says nothing: not after that time
};
inline constexpr std::array kOutcomes = {
    Outcome::kOk,         Outcome::kNotApplied, Outcome::kValue,
    Outcome::kMissing,    Outcome::kDeleted,    Outcome::kTokenRequired,
    Outcome::kTokenLower, Outcome::kRefused,    Outcome::kUnknown};

// "ok", "not applied", "value", "missing", "deleted", "token required", "token lower", "refused",
// "unknown"
[[nodiscard]] std::string_view name(Outcome outcome);

// Not a client: the initial value of a register.
inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

// A request, with the reply that it got.
struct Operation {
  std::uint32_t client = 0;
  Action action = Action::kGet;
  std::string key{};
  std::string value{};     // SET, VDEL, CAS
  std::string expected{};  // CAS: what it compares with
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<std::chrono::milliseconds> expires_after{};
  std::optional<hlc::Timestamp> timestamp{};  // __ts
  std::optional<hlc::Timestamp> token{};      // __ft
  Time called{0};                             // immediately before it was sent
  Time returned = kNever;                     // when the reply had been read; see kUnknown
  Outcome outcome = Outcome::kUnknown;
  std::string read{};                       // kValue
  std::optional<hlc::Timestamp> version{};  // __ts of the reply
  std::string reason{};                     // kUnknown, kRefused: for people
  // The request was sent once more, with MQTT's DUP flag: it may have been carried out twice.
  bool resent = false;

  friend bool operator==(const Operation&, const Operation&) = default;
};

// May a reply to that action have that outcome? A GET is not answered with +OK.
[[nodiscard]] bool fits(Action action, Outcome outcome);

// A notification that an observer received.
struct Notification {
  std::uint32_t client = 0;
  std::string key{};
  codec::Operation operation = codec::Operation::kSet;
  std::string value{};     // kSet
  bool valueless = false;  // kSet of a store that does not say the value. Req: NTF-VALUE-3
  std::optional<hlc::Timestamp> version{};
  Time arrived{0};
  bool duplicate = false;  // MQTT's DUP flag

  friend bool operator==(const Notification&, const Notification&) = default;
};

enum class Link : std::uint8_t { kConnected, kLost, kResumed };  // kResumed: with its session

// "connected", "lost", "resumed"
[[nodiscard]] std::string_view name(Link link);

struct Connection {
  std::uint32_t client = 0;
  Link link = Link::kConnected;
  Time at{0};

  friend bool operator==(const Connection&, const Connection&) = default;
};

// The store was restarted. Whether it kept its keys is not said.
struct Restart {
  Time at{0};

  friend bool operator==(const Restart&, const Restart&) = default;
};

// What was done on purpose to the network or the store; for people, not for the judge.
struct Disturbance {
  Time at{0};
  std::string kind{};
  std::optional<std::uint32_t> client{};  // whose connection, where one is known

  friend bool operator==(const Disturbance&, const Disturbance&) = default;
};

// What the endpoint is allowed: how much before its PX a key may be gone (clocks do not run alike),
// and how long after it a key may still be there (Req: SET-PX-OPEN-8).
struct Bounds {
  std::chrono::milliseconds expiry_early{50};
  std::chrono::milliseconds expiry_late{1000};
  // How long after the response to a change its notification may arrive.
  std::chrono::milliseconds notification_late{1000};
  // Is a later version of a key greater, also after the key was deleted? The documents do not say
  // so; the deployed service shows it. (Req: VER-UPDATE-3)
  bool versions_grow = true;

  friend bool operator==(const Bounds&, const Bounds&) = default;
};

using Event = std::variant<Bounds, Operation, Notification, Connection, Restart, Disturbance>;

}  // namespace fencepost::history
