#include "workload/trace_bytes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "workload/byte_reader.h"

namespace fencepost::workload {

namespace {

// The kinds are their own slots; the rest of the sixteen go to those that matter most.
constexpr std::array<Kind, 16> kSlots = {
    Kind::kSet,       Kind::kGet,        Kind::kDel,        Kind::kVdel,
    Kind::kKeynotify, Kind::kStop,       Kind::kRawPayload, Kind::kWait,
    Kind::kWallStep,  Kind::kDisconnect, Kind::kSet,        Kind::kSet,
    Kind::kVdel,      Kind::kKeynotify,  Kind::kSet,        Kind::kWait};

// The first byte of an operation.
constexpr unsigned kSlotMask = 0x0F;
constexpr unsigned kClientShift = 4;
constexpr unsigned kTimestampBit = 0x40;
constexpr unsigned kTokenBit = 0x80;
// The second, if it has a key.
constexpr unsigned kKeyMask = 0x07;
constexpr unsigned kConditionShift = 3;
constexpr unsigned kPxBit = 0x20;
// The first of a timestamp.
constexpr unsigned kBaseMask = 0x07;
constexpr unsigned kPaddedBit = 0x08;
constexpr unsigned kCounterBit = 0x10;
constexpr unsigned kNodeBit = 0x20;
constexpr unsigned kOfKeyBit = 0x40;
// The first of a value: below it chooses from the pool. (Numbers: kNumberEscape.)
constexpr unsigned kValueEscape = 0xC0;
constexpr unsigned kLongValue = 0xFF;

constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kInt32Min = std::numeric_limits<std::int32_t>::min();

constexpr std::array<std::int32_t, 26> kOffsets = {
    0,       1,       -1,      2,        -2,        10,         -10,       49,       50,
    51,      100,     1'000,   -1'000,   30'000,    59'999,     60'000,    60'001,   -59'999,
    -60'000, -60'001, 120'000, -120'000, 3'600'000, -3'600'000, kInt32Max, kInt32Min};
constexpr std::array<std::int32_t, 14> kWaits = {
    1, 0, 2, 49, 50, 51, 99, 100, 1'000, 30'000, 59'999, 60'000, 60'001, kInt32Max};
constexpr std::array<std::int64_t, 11> kExpiries = {
    50, 0, 1, 2, 51, 100, 1'000, 60'000, 60'001, 3'155'759'999'999, 3'155'760'000'000};
constexpr std::array<std::uint64_t, 18> kCounters = {0,
                                                     1,
                                                     2,
                                                     9,
                                                     10,
                                                     11,
                                                     99'999,
                                                     100'000,
                                                     (1ULL << 31U) - 1,
                                                     1ULL << 31U,
                                                     1ULL << 32U,
                                                     1ULL << 53U,
                                                     (1ULL << 63U) - 2,
                                                     (1ULL << 63U) - 1,
                                                     1ULL << 63U,
                                                     std::numeric_limits<std::uint64_t>::max() - 1,
                                                     std::numeric_limits<std::uint64_t>::max(),
                                                     (1ULL << 32U) - 1};

void put_byte(std::string& out, unsigned byte) { out += static_cast<char>(byte); }

template <typename T, std::size_t kSize>
void put_number(std::string& out, const std::array<T, kSize>& table, T value) {
  const auto found = std::find(table.begin(), table.end(), value);
  if (found != table.end()) return put_byte(out, static_cast<unsigned>(found - table.begin()));
  put_byte(out, kNumberEscape);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    put_byte(out,
             static_cast<unsigned>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i)) & 0xFFU);
  }
}

void take_value(ByteReader& reader, std::string& out) {
  const unsigned first = reader.byte();
  if (first < kValueEscape) {
    out = values()[first % values().size()];
    return;
  }
  out = reader.bytes(first == kLongValue ? reader.byte() : first - kValueEscape);
}

void put_value(std::string& out, const std::string& value) {
  const auto found = std::find(values().begin(), values().end(), value);
  if (found != values().end()) {
    return put_byte(out, static_cast<unsigned>(found - values().begin()));
  }
  const auto size = static_cast<unsigned>(value.size());
  if (size < kLongValue - kValueEscape) {
    put_byte(out, kValueEscape + size);
  } else {
    put_byte(out, kLongValue);
    put_byte(out, size);
  }
  out += value;
}

Stamp take_stamp(ByteReader& reader) {
  const unsigned first = reader.byte();
  Stamp stamp{.base = static_cast<StampBase>(first & kBaseMask)};
  if (stamp.base == StampBase::kAbsent) return stamp;
  if (stamp.base == StampBase::kMalformed) {
    stamp.malformed = static_cast<std::uint8_t>(reader.byte() % malformed_texts().size());
    return stamp;
  }
  const bool related = stamp.base == StampBase::kToken || stamp.base == StampBase::kVersion;
  stamp.padded = (first & kPaddedBit) != 0;
  stamp.offset_ms = reader.number(kOffsets);
  if ((first & kCounterBit) != 0) stamp.counter = reader.number(kCounters);
  if ((first & kNodeBit) != 0) {
    const std::size_t choices = related ? kNodeRelations : nodes().size();
    stamp.node = static_cast<std::uint8_t>(reader.byte() % choices);
  }
  if ((first & kOfKeyBit) != 0 && related) {
    stamp.of_key = static_cast<std::uint8_t>(reader.byte() % kKeys);
  }
  return stamp;
}

void put_stamp(std::string& out, const Stamp& stamp) {
  const auto base = static_cast<unsigned>(stamp.base);
  if (stamp.base == StampBase::kAbsent) return put_byte(out, base);
  if (stamp.base == StampBase::kMalformed) {
    put_byte(out, base);
    const std::size_t which = stamp.malformed % malformed_texts().size();
    return put_byte(out, static_cast<unsigned>(which));
  }
  put_byte(out, base | (stamp.padded ? kPaddedBit : 0U) | (stamp.counter != 0 ? kCounterBit : 0U) |
                    (stamp.node != 0 ? kNodeBit : 0U) | (stamp.of_key < kKeys ? kOfKeyBit : 0U));
  put_number(out, kOffsets, stamp.offset_ms);
  if (stamp.counter != 0) put_number(out, kCounters, stamp.counter);
  if (stamp.node != 0) put_byte(out, stamp.node);
  if (stamp.of_key < kKeys) put_byte(out, stamp.of_key);
}

// Sets all of `out`, whose string keeps its memory.
void take_operation(ByteReader& reader, Operation& out) {
  const unsigned first = reader.byte();
  const Kind kind = kSlots[first & kSlotMask];
  std::string value = std::move(out.value);
  value.clear();
  out = Operation{.kind = kind};
  if (is_request(kind) || kind == Kind::kDisconnect) {
    out.client = static_cast<std::uint8_t>((first >> kClientShift) % kClients);
  }
  unsigned second = 0;
  if (has_key(kind)) {
    second = reader.byte();
    out.key = static_cast<std::uint8_t>((second & kKeyMask) % kKeys);
  }
  if (kind == Kind::kSet || kind == Kind::kVdel) take_value(reader, value);
  if (kind == Kind::kRawPayload) value = reader.bytes(reader.byte());
  if (kind == Kind::kSet) {
    out.condition = static_cast<codec::Condition>((second >> kConditionShift) % 4 % 3);
    if ((second & kPxBit) != 0) {
      out.px_ms = std::clamp<std::int64_t>(reader.number(kExpiries), 0, codec::kMaxExpiry.count());
    }
  }
  if (is_request(kind)) {
    out.timestamp = (first & kTimestampBit) != 0 ? take_stamp(reader) : default_timestamp(kind);
    if ((first & kTokenBit) != 0) out.token = take_stamp(reader);
  }
  if (kind == Kind::kWait) {
    out.by_ms = std::max(reader.number(kWaits), 0);
    out.timer = (first & kTimestampBit) != 0;
  }
  if (kind == Kind::kWallStep) out.by_ms = reader.number(kOffsets);
  out.value = std::move(value);
}

void put_operation(std::string& out, const Operation& operation) {
  const Kind kind = operation.kind;
  const bool timestamp = is_request(kind) && operation.timestamp != default_timestamp(kind);
  const bool token = operation.token.base != StampBase::kAbsent;
  put_byte(out, static_cast<unsigned>(kind) |
                    (static_cast<unsigned>(operation.client) << kClientShift) |
                    (timestamp || operation.timer ? kTimestampBit : 0U) | (token ? kTokenBit : 0U));
  if (has_key(kind)) {
    put_byte(out, static_cast<unsigned>(operation.key) |
                      (static_cast<unsigned>(operation.condition) << kConditionShift) |
                      (operation.px_ms ? kPxBit : 0U));
  }
  if (kind == Kind::kSet || kind == Kind::kVdel) put_value(out, operation.value);
  if (kind == Kind::kRawPayload) {
    put_byte(out, static_cast<unsigned>(operation.value.size()));
    out += operation.value;
  }
  if (operation.px_ms) put_number(out, kExpiries, *operation.px_ms);
  if (timestamp) put_stamp(out, operation.timestamp);
  if (token) put_stamp(out, operation.token);
  if (kind == Kind::kWait) put_number(out, kWaits, operation.by_ms);
  if (kind == Kind::kWallStep) put_number(out, kOffsets, operation.by_ms);
}

}  // namespace

Trace decode_trace(std::string_view bytes) {
  Trace trace;
  decode_trace(bytes, trace);
  return trace;
}

void decode_trace(std::string_view bytes, Trace& out) {
  ByteReader reader(bytes);
  std::size_t count = 0;
  while (!reader.at_end() && count < kMaxOperations) {
    if (count == out.size()) out.emplace_back();
    take_operation(reader, out[count]);
    ++count;
  }
  out.resize(count);
}

std::string encode_trace(const Trace& trace) { return encode_beginning(trace, std::string::npos); }

std::string encode_beginning(const Trace& trace, std::size_t max_bytes) {
  FENCEPOST_CHECK(trace.size() <= kMaxOperations);
  std::string out;
  for (const Operation& operation : trace) {
    const std::size_t before = out.size();
    put_operation(out, operation);
    if (out.size() <= max_bytes) continue;
    out.resize(before);
    break;
  }
  return out;
}

}  // namespace fencepost::workload
