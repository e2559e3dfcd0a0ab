// What a few clients do to a store, as data: an Operation, and a Trace of them. Everything about
// time is relative, so that one trace can be run against a store in the same process, whose clock
// is cranked by hand, and against a live broker.
//
//   Trace trace = {{.kind = Kind::kSet, .client = 1, .key = 2, .value = "v",
//                   .timestamp = {.base = StampBase::kNow, .offset_ms = 60'000}}};
//
// trace_bytes.h makes traces of bytes and back, trace_text.h prints and reads them, rendering.h
// turns the relative timestamps into those of a run. Everything here is pure and thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/command.h"

namespace fencepost::workload {

inline constexpr std::size_t kClients = 4;
inline constexpr std::size_t kKeys = 6;
inline constexpr std::size_t kMaxOperations = 256;  // of a trace
inline constexpr std::size_t kMaxValueBytes = 255;  // of a value outside the pool, and of a payload
inline constexpr std::uint8_t kOwnKey = kKeys;      // Stamp::of_key: the key of the operation

// What a timestamp counts from.
enum class StampBase : std::uint8_t {
  kAbsent,     // the property is not sent
  kNow,        // the store's wall clock
  kStart,      // the store's wall clock at the start of the trace
  kToken,      // the fencing token that a key holds; when it holds none, as kVersion
  kVersion,    // the version of a key; when there is no such key, as kNow
  kEpoch,      // 0
  kMax,        // 2^63 - 1, the greatest wall clock
  kMalformed,  // a text that is no timestamp, or nearly none
};
inline constexpr std::size_t kStampBases = 8;

// A timestamp or fencing token, relative to the state of the run. Result: wall clock of the base +
// offset_ms, kept between 0 and 2^63 - 1; counter of the base (0 when it is a clock) + counter,
// modulo 2^64; and a node.
struct Stamp {
  StampBase base = StampBase::kAbsent;
  bool padded = false;            // 15 and 5 digits
  std::uint8_t of_key = kOwnKey;  // kToken, kVersion: whose
  std::uint8_t node = 0;          // clocks: nodes()[node]; kToken, kVersion: a NodeRelation
  // kMalformed: malformed_texts()[malformed], and behind these nearly_timestamps().
  std::uint16_t malformed = 0;
  std::int32_t offset_ms = 0;
  std::uint64_t counter = 0;

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// Stamp::node where there is a node to relate to.
enum NodeRelation : std::uint8_t { kSameNode, kLowerNode, kGreaterNode };
inline constexpr std::size_t kNodeRelations = 3;

enum class Kind : std::uint8_t {
  kSet,
  kGet,
  kDel,
  kVdel,
  kKeynotify,
  kStop,
  kRawPayload,  // a request with any bytes as its payload
  kWait,        // time passes on both clocks
  kWallStep,    // somebody sets the wall clock; only in the same process
  kDisconnect,  // the connection of a client ends
};
inline constexpr std::size_t kKinds = 10;

struct Operation {
  Kind kind = Kind::kGet;
  std::uint8_t client = 0;
  std::uint8_t key = 0;
  std::string value{};  // kSet, kVdel: the value; kRawPayload: the payload
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<std::int64_t> px_ms{};  // 0 to codec::kMaxExpiry
  Stamp timestamp{};                    // `__ts`
  Stamp token{};                        // `__ft`
  std::int32_t by_ms = 0;               // kWait: not negative; kWallStep
  bool timer = false;                   // kWait: the store's timer runs at the end of it

  friend bool operator==(const Operation&, const Operation&) = default;
};

using Trace = std::vector<Operation>;

// Is it sent to the store?
[[nodiscard]] bool is_request(Kind kind);
// Has it a key of the pool?
[[nodiscard]] bool has_key(Kind kind);

// Does it send Operation::value?
[[nodiscard]] bool has_value(Kind kind);

// The `__ts` of a request that says nothing about it: now for SET, absent for the others.
[[nodiscard]] Stamp default_timestamp(Kind kind);

// Brings each field into its range, and fields that the kind or base does not use to their
// defaults. Traces of this module are normalized. normalized(normalized(x)) == normalized(x).
[[nodiscard]] Operation normalized(Operation operation);

// The pools. Keys and values are nasty on purpose: CR LF, NUL, numbers, RESP within, prefixes of
// each other.
[[nodiscard]] const std::array<std::string, kKeys>& keys();
[[nodiscard]] const std::vector<std::string>& values();
// Node ids; [0] is the usual one, [kStoreNode] that of the reference store.
[[nodiscard]] const std::vector<std::string>& nodes();
inline constexpr std::uint8_t kStoreNode = 4;

// Texts that the protocol or the documents refuse as a timestamp. All are legal MQTT strings.
struct MalformedText {
  std::string text;
  // The requirement that leaves open whether it is refused; empty when it has to be.
  std::string_view open_as_timestamp;
  std::string_view open_as_token;
};
[[nodiscard]] const std::vector<MalformedText>& malformed_texts();
// All texts that differ from one of two timestamps, padded and not, in one character: it is left
// out, swapped with the next, another, or one more; and what they begin with. Some are timestamps.
// Sorted; the characters are those that every broker takes in an MQTT string. Traces that are made
// of bytes have none of them.
[[nodiscard]] const std::vector<std::string>& nearly_timestamps();
// Of Stamp::malformed.
[[nodiscard]] std::string_view malformed_text(std::uint16_t number);

}  // namespace fencepost::workload
