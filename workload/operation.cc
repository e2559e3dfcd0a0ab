#include "workload/operation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "workload/neighbours.h"

namespace fencepost::workload {

namespace {

using namespace std::string_literals;

bool is_clock(StampBase base) {
  return base == StampBase::kNow || base == StampBase::kStart || base == StampBase::kEpoch ||
         base == StampBase::kMax;
}

Stamp normalized(const Stamp& stamp) {
  Stamp out{.base = stamp.base};
  if (stamp.base == StampBase::kAbsent) return out;
  if (stamp.base == StampBase::kMalformed) {
    out.malformed = static_cast<std::uint16_t>(
        stamp.malformed % (malformed_texts().size() + nearly_timestamps().size()));
    return out;
  }
  out.padded = stamp.padded;
  out.offset_ms = stamp.offset_ms;
  out.counter = stamp.counter;
  const bool clock = is_clock(stamp.base);
  out.node = static_cast<std::uint8_t>(stamp.node % (clock ? nodes().size() : kNodeRelations));
  if (!clock) out.of_key = static_cast<std::uint8_t>(stamp.of_key % (kKeys + 1));
  return out;
}

}  // namespace

bool is_request(Kind kind) { return kind <= Kind::kRawPayload; }

bool has_key(Kind kind) { return kind <= Kind::kStop; }

Stamp default_timestamp(Kind kind) {
  return {.base = kind == Kind::kSet ? StampBase::kNow : StampBase::kAbsent};
}

bool has_value(Kind kind) {
  return kind == Kind::kSet || kind == Kind::kVdel || kind == Kind::kRawPayload;
}

Operation normalized(Operation operation) {
  Operation out{.kind = operation.kind};
  const Kind kind = operation.kind;
  if (is_request(kind) || kind == Kind::kDisconnect) {
    out.client = static_cast<std::uint8_t>(operation.client % kClients);
  }
  if (has_key(kind)) out.key = static_cast<std::uint8_t>(operation.key % kKeys);
  if (has_value(kind)) {
    out.value = std::move(operation.value);
    if (out.value.size() > kMaxValueBytes) out.value.resize(kMaxValueBytes);
  }
  if (kind == Kind::kSet) {
    out.condition = operation.condition;
    if (operation.px_ms) {
      out.px_ms = std::clamp<std::int64_t>(*operation.px_ms, 0, codec::kMaxExpiry.count());
    }
  }
  if (is_request(kind)) {
    out.timestamp = normalized(operation.timestamp);
    out.token = normalized(operation.token);
  }
  if (kind == Kind::kWait) {
    out.by_ms = std::max(operation.by_ms, 0);
    out.timer = operation.timer;
  }
  if (kind == Kind::kWallStep) out.by_ms = operation.by_ms;
  return out;
}

const std::array<std::string, kKeys>& keys() {
  static const std::array<std::string, kKeys> pool = {
      "k"s, "K"s, "k "s, "k\0\r\nc"s, "1000"s, "k"s + std::string(298, '/') + "z"s};
  return pool;
}

const std::vector<std::string>& values() {
  static const std::vector<std::string> pool = {
      "v"s,    "w"s,       ""s,   "vv"s,           "V"s,  "\0"s,   "v\0"s,
      "\r\n"s, "$-1\r\n"s, "NX"s, "\xff\xfe\x80"s, "-1"s, "STOP"s, std::string(200, 'x')};
  return pool;
}

const std::vector<std::string>& nodes() {
  static const std::vector<std::string> pool = {
      "Client1"s, "a"s, "zz"s, "A"s, "StateStore"s, " "s, "\xc3\xa9"s, std::string(100, 'n')};
  return pool;
}

const std::vector<MalformedText>& malformed_texts() {
  constexpr std::string_view kNodeIds = "HLC-PARSE-OPEN-1";
  constexpr std::string_view kCounters = "HLC-PARSE-OPEN-2";
  constexpr std::string_view kNumbers = "HLC-PARSE-OPEN-3";
  static const std::vector<MalformedText> pool = {
      {"NotValid", {}, {}},
      {"", "ENV-PROPERTY-OPEN-2", "FT-OPEN-7"},
      {"1696374425000:0", {}, {}},
      {"1696374425000", {}, {}},
      {":0:n", {}, {}},
      {"1::n", {}, {}},
      {"1:2:3:4", kNodeIds, kNodeIds},
      {"1:0:", kNodeIds, kNodeIds},
      {"-1:0:n", kNumbers, kNumbers},
      {"+1:0:n", kNumbers, kNumbers},
      {"1:+0:n", kNumbers, kNumbers},
      {"1:-1:n", kNumbers, kNumbers},
      {" 1:0:n", "ENV-PROPERTY-OPEN-2", kNumbers},
      {"1: 0:n", kNumbers, kNumbers},
      {"1.5:0:n", kNumbers, kNumbers},
      {"1e3:0:n", kNumbers, kNumbers},
      {"0x10:0:n", {}, {}},
      {"9223372036854775808:0:n", kNumbers, kNumbers},
      {"18446744073709551616:0:n", kNumbers, kNumbers},
      {"000000000000000000001:0:n", kNumbers, kNumbers},
      {"1:18446744073709551616:n", kCounters, kCounters},
      {"1:000000000000000000001:n", kNumbers, kNumbers},
  };
  return pool;
}

const std::vector<std::string>& nearly_timestamps() {
  static const std::vector<std::string> pool = [] {
    std::vector<std::string> characters = {"\xc3\xa9"};
    for (char c = ' '; c <= '~'; ++c) characters.emplace_back(1, c);
    std::set<std::string> all;
    // No store has such a node id itself, also with another character: whether a client may use
    // that of the store is unspecified. (Req: HLC-PARSE-OPEN-1)
    for (const std::string text : {"1696374425000:1:client", "001696374425000:00001:client"}) {
      add_neighbours(text, characters, all);
    }
    return std::vector(all.begin(), all.end());
  }();
  return pool;
}

std::string_view malformed_text(std::uint16_t number) {
  const std::size_t usual = malformed_texts().size();
  if (number < usual) return malformed_texts()[number].text;
  return nearly_timestamps().at(number - usual);
}

}  // namespace fencepost::workload
