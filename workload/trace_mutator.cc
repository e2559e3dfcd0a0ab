#include "workload/trace_mutator.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/check.h"
#include "codec/resp3.h"
#include "workload/rendering.h"

namespace fencepost::workload {

namespace {

using codec::Condition;

template <typename T>
std::uint8_t small(T number) {
  return static_cast<std::uint8_t>(number);
}

// Two keys and two clients get most of the traffic.
std::uint8_t some_key(Random& random) {
  return small(random.one_in(3) ? random.below(kKeys) : random.below(2));
}
std::uint8_t some_client(Random& random) {
  return small(random.one_in(3) ? random.below(kClients) : random.below(2));
}

// Small values collide, so that NEX and VDEL find what they look for.
std::string some_value(Random& random) {
  return values()[random.one_in(4) ? random.below(values().size()) : random.below(3)];
}

std::int32_t some_offset(Random& random) {
  constexpr std::array<std::int32_t, 14> kUsualOffsets = {
      0,       0,     1,      -1,      59'999, 60'000,  60'001,
      -60'000, 1'000, -1'000, -60'001, 30'000, 120'000, -3'600'000};
  return random.pick(kUsualOffsets);
}

std::uint64_t some_counter(Random& random) {
  constexpr std::array<std::uint64_t, 10> kUsualCounters = {
      0, 0, 1, 2, 10, 99'999, 1ULL << 31U, (1ULL << 63U) - 1, 1ULL << 63U, ~0ULL};
  return random.pick(kUsualCounters);
}

Stamp some_stamp(Random& random) {
  constexpr std::array<StampBase, 12> kBases = {
      StampBase::kNow,   StampBase::kNow,     StampBase::kToken,  StampBase::kToken,
      StampBase::kToken, StampBase::kVersion, StampBase::kStart,  StampBase::kStart,
      StampBase::kEpoch, StampBase::kMax,     StampBase::kAbsent, StampBase::kMalformed};
  Stamp stamp{.base = random.pick(kBases)};
  // One component at a time: it is the comparison of each that is to be tried.
  switch (random.below(6)) {
    case 0:
      stamp.offset_ms = some_offset(random);
      break;
    case 1:
      stamp.counter = some_counter(random);
      break;
    case 2:
      stamp.node = small(random.below(nodes().size()));
      break;
    case 3:
      stamp.offset_ms = some_offset(random);
      stamp.counter = some_counter(random);
      break;
    default:
      break;
  }
  stamp.padded = random.one_in(4);
  stamp.malformed = small(random.below(malformed_texts().size()));
  if (random.one_in(8)) stamp.of_key = some_key(random);
  return stamp;
}

std::optional<std::int64_t> some_px(Random& random) {
  constexpr std::array<std::int64_t, 8> kUsualExpiries = {0, 1, 50, 50, 50, 100, 1'000, 60'000};
  return random.pick(kUsualExpiries);
}

std::int32_t some_wait(Random& random) {
  constexpr std::array<std::int32_t, 10> kUsualWaits = {1,  49,  50,    51,     50,
                                                        99, 100, 1'000, 60'000, 120'000};
  return random.pick(kUsualWaits);
}

std::size_t somewhere(const Trace& trace, Random& random) { return random.below(trace.size()); }

// Arguments that a request has, should have, or must not have.
std::string_view some_argument(Random& random) {
  constexpr std::array<std::string_view, 26> kArguments = {"NX",
                                                           "NEX",
                                                           "PX",
                                                           "nx",
                                                           "",
                                                           "STOP",
                                                           "stop",
                                                           "k",
                                                           "SET",
                                                           "GET",
                                                           "DEL",
                                                           "VDEL",
                                                           "KEYNOTIFY",
                                                           "set",
                                                           "SCAN",
                                                           "0",
                                                           "50",
                                                           "05",
                                                           "-1",
                                                           "+5",
                                                           "1.5",
                                                           "1.",
                                                           ".5",
                                                           "3155760000000",
                                                           "3155760000001",
                                                           "18446744073709551666"};
  return random.pick(kArguments);
}

// A request as a payload, sometimes with an argument too many, too few, or another one.
Operation as_payload(const Operation& operation, Random& random) {
  const std::string payload = codec::encode(command_of(operation, keys()[operation.key]));
  const auto frame = codec::decode_command(payload);
  FENCEPOST_CHECK(frame.has_value());
  std::vector<std::string_view> arguments(
      frame->arguments.begin(),
      frame->arguments.begin() + static_cast<std::ptrdiff_t>(frame->count));
  while (random.one_in(2) && !arguments.empty()) {
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(random.below(arguments.size()));
    switch (random.below(4)) {
      case 0:
        arguments.erase(at);
        break;
      case 1:
        *at = some_argument(random);
        break;
      case 2:
        arguments.insert(at, some_argument(random));
        break;
      default:
        arguments.push_back(some_argument(random));
        break;
    }
  }
  Operation out = operation;
  out.kind = Kind::kRawPayload;
  out.value = codec::encode_command(arguments);
  return normalized(std::move(out));
}

void tweak(Stamp& stamp, Random& random) {
  constexpr std::array<std::int32_t, 6> kSteps = {1, -1, 60'000, -60'000, 60'001, -60'001};
  if (stamp.base == StampBase::kAbsent || stamp.base == StampBase::kMalformed) {
    stamp = some_stamp(random);
    return;
  }
  if (random.one_in(3)) {
    stamp.counter += random.one_in(2) ? 1 : ~0ULL;
    return;
  }
  const std::int64_t moved = std::int64_t{stamp.offset_ms} + random.pick(kSteps);
  stamp.offset_ms =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, -2'000'000'000, 2'000'000'000));
}

void change_field(Operation& operation, Random& random, const ValueMutation& change_value) {
  switch (random.below(11)) {
    case 0:
      operation.client = some_client(random);
      break;
    case 1:
      operation.key = some_key(random);
      break;
    case 2:
      operation.value = some_value(random);
      break;
    case 3:
      change_value(operation.value, random);
      break;
    case 4:
      operation.condition = static_cast<Condition>(random.below(3));
      break;
    case 5:
      operation.px_ms = random.one_in(3) ? std::nullopt : some_px(random);
      break;
    case 6:
      operation.timestamp =
          random.one_in(3) ? default_timestamp(operation.kind) : some_stamp(random);
      break;
    case 7:
      operation.token = random.one_in(4) ? Stamp{} : some_stamp(random);
      break;
    case 8:
      tweak(random.one_in(2) ? operation.token : operation.timestamp, random);
      break;
    case 9:
      operation.by_ms = some_wait(random);
      operation.timer = random.one_in(2);
      break;
    default:
      operation.kind = static_cast<Kind>(random.below(kKinds));
      operation.timestamp = default_timestamp(operation.kind);
      break;
  }
}

// Makes one operation use what another one uses.
void share(Operation& to, const Operation& from, Random& random) {
  switch (random.below(5)) {
    case 0:
      to.value = from.value;
      break;
    case 1:
      to.token = from.token;
      break;
    case 2:
      to.timestamp = from.timestamp;
      break;
    case 3:
      to.client = from.client;
      break;
    default:
      break;
  }
  if (has_key(from.kind)) to.key = from.key;
}

// What tells most about the state that a trace leaves behind: the key of one of its last operations
// is read, deleted, observed and written.
Operation telling_operation(const Trace& trace, Random& random) {
  const std::size_t last = std::min<std::size_t>(trace.size(), 8);
  const Operation& touched = trace[trace.size() - 1 - random.below(last)];
  Operation operation{.client = some_client(random), .key = touched.key};
  constexpr std::array<Kind, 6> kTelling = {Kind::kGet, Kind::kGet,       Kind::kVdel,
                                            Kind::kDel, Kind::kKeynotify, Kind::kSet};
  operation.kind = random.pick(kTelling);
  operation.value = touched.value;
  operation.timestamp = default_timestamp(operation.kind);
  if (random.one_in(2)) operation.token = {.base = StampBase::kToken};
  if (operation.kind == Kind::kSet) operation.condition = static_cast<Condition>(random.below(3));
  return operation;
}

// Makes room for one more.
void make_room(Trace& trace, Random& random, std::size_t max_operations) {
  if (trace.size() >= max_operations) {
    trace.erase(trace.begin() + static_cast<std::ptrdiff_t>(somewhere(trace, random)));
  }
}

void insert(Trace& trace, std::size_t at, Operation operation) {
  trace.insert(trace.begin() + static_cast<std::ptrdiff_t>(std::min(at, trace.size())),
               normalized(std::move(operation)));
}

void mutate_once(Trace& trace, Random& random, std::size_t max_operations,
                 const ValueMutation& change_value) {
  if (trace.empty()) return insert(trace, 0, random_operation(random));
  const std::size_t at = somewhere(trace, random);
  Operation operation = trace[at];
  switch (random.below(12)) {
    case 0:
    case 1:
      make_room(trace, random, max_operations);
      return insert(trace, at, random_operation(random));
    case 2:
      make_room(trace, random, max_operations);
      return insert(trace, random.below(trace.size() + 1), std::move(operation));
    case 3:
      make_room(trace, random, max_operations);
      if (trace.empty()) return insert(trace, 0, std::move(operation));
      return insert(trace, trace.size(), telling_operation(trace, random));
    case 4:
      if (trace.size() > 1) trace.erase(trace.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 5:
      return std::swap(trace[at], trace[somewhere(trace, random)]);
    case 6:
      share(operation, trace[somewhere(trace, random)], random);
      break;
    case 7:
      if (has_key(operation.kind) && random.one_in(4)) operation = as_payload(operation, random);
      if (operation.kind == Kind::kRawPayload) change_value(operation.value, random);
      break;
    default:
      change_field(operation, random, change_value);
      break;
  }
  trace[at] = normalized(std::move(operation));
}

}  // namespace

void change_bytes(std::string& value, Random& random) {
  const std::size_t at = random.below(value.size() + 1);
  const char byte = static_cast<char>(random.below(256));
  const std::size_t what = random.below(3);
  if (what == 0 || at == value.size()) {
    value.insert(value.begin() + static_cast<std::ptrdiff_t>(at), byte);
  } else if (what == 1) {
    value.erase(value.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    value[at] = byte;
  }
}

Operation random_operation(Random& random) {
  constexpr std::array<Kind, 20> kWeighted = {
      Kind::kSet,  Kind::kSet,  Kind::kSet,       Kind::kSet,        Kind::kSet,
      Kind::kSet,  Kind::kSet,  Kind::kGet,       Kind::kGet,        Kind::kDel,
      Kind::kVdel, Kind::kVdel, Kind::kKeynotify, Kind::kKeynotify,  Kind::kStop,
      Kind::kWait, Kind::kWait, Kind::kWallStep,  Kind::kDisconnect, Kind::kGet};
  Operation operation{.kind = random.pick(kWeighted),
                      .client = some_client(random),
                      .key = some_key(random),
                      .value = some_value(random)};
  operation.timestamp = default_timestamp(operation.kind);
  if (random.one_in(3)) operation.condition = static_cast<Condition>(random.below(3));
  if (random.one_in(3)) operation.px_ms = some_px(random);
  if (random.one_in(4)) operation.timestamp = some_stamp(random);
  if (random.one_in(3)) operation.token = some_stamp(random);
  operation.by_ms = operation.kind == Kind::kWallStep ? some_offset(random) : some_wait(random);
  operation.timer = random.one_in(2);
  if (has_key(operation.kind) && random.one_in(24)) {
    return as_payload(operation, random);
  }
  return normalized(std::move(operation));
}

void mutate(Trace& trace, Random& random, std::size_t max_operations,
            const ValueMutation& change_value) {
  FENCEPOST_CHECK(max_operations > 0);
  // Mostly one change, sometimes some: 1, 2, 3, ... with 1/2, 1/4, 1/8, ...
  do {
    mutate_once(trace, random, max_operations, change_value);
  } while (random.one_in(2));
}

Trace cross(const Trace& a, const Trace& b, Random& random, std::size_t max_operations) {
  Trace out;
  const std::array<const Trace*, 2> parents = {&a, &b};
  std::array<std::size_t, 2> at = {0, 0};
  std::size_t turn = random.below(2);
  while (out.size() < max_operations && (at[0] < a.size() || at[1] < b.size())) {
    const Trace& parent = *parents[turn];
    const std::size_t left = parent.size() - at[turn];
    const std::size_t room = max_operations - out.size();
    const std::size_t piece = std::min(left == 0 ? 0 : random.below(left + 1), room);
    const auto from = parent.begin() + static_cast<std::ptrdiff_t>(at[turn]);
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(piece));
    at[turn] += piece;
    turn = 1 - turn;
    if (random.one_in(8)) break;
  }
  return out;
}

}  // namespace fencepost::workload
