#include "workload/rendering.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "hlc/append.h"

namespace fencepost::workload {

namespace {

constexpr std::string_view kNodeIdsOpen = "HLC-PARSE-OPEN-1";

std::uint64_t moved(std::uint64_t wall_ms, std::int32_t offset_ms) {
  const std::uint64_t distance = static_cast<std::uint64_t>(
      offset_ms < 0 ? -static_cast<std::int64_t>(offset_ms) : static_cast<std::int64_t>(offset_ms));
  if (offset_ms < 0) return wall_ms - std::min(wall_ms, distance);
  return wall_ms + std::min(hlc::kMaxWallMs - wall_ms, distance);
}

// The timestamp that a stamp relates to; null for a clock.
const hlc::Timestamp* related(StampBase base, const Bases& bases) {
  if (base == StampBase::kToken && bases.token != nullptr) return bases.token;
  if (base == StampBase::kToken || base == StampBase::kVersion) return bases.version;
  return nullptr;
}

std::uint64_t clock_of(StampBase base, const Bases& bases) {
  switch (base) {
    case StampBase::kStart:
      return bases.start_ms;
    case StampBase::kEpoch:
      return 0;
    case StampBase::kMax:
      return hlc::kMaxWallMs;
    default:
      return bases.now_ms;
  }
}

void relate_node(std::string& node, std::uint8_t relation) {
  if (relation == kGreaterNode) node += '~';
  if (relation == kLowerNode) node.assign(1, '!');
}

}  // namespace

std::uint8_t key_of(const Stamp& stamp, const Operation& operation) {
  return stamp.of_key < kKeys ? stamp.of_key : operation.key;
}

void resolve(const Stamp& stamp, const Bases& bases, Offered& out) {
  out.open_as_timestamp = {};
  out.open_as_token = {};
  if (stamp.base == StampBase::kAbsent) {
    out.form = Offered::Form::kAbsent;
    return;
  }
  if (stamp.base == StampBase::kMalformed) {
    out.form = Offered::Form::kMalformed;
    if (stamp.malformed >= malformed_texts().size()) return;
    const MalformedText& text = malformed_texts()[stamp.malformed];
    out.open_as_timestamp = text.open_as_timestamp;
    out.open_as_token = text.open_as_token;
    return;
  }
  out.form = Offered::Form::kTimestamp;
  const hlc::Timestamp* base = related(stamp.base, bases);
  if (base != nullptr) {
    out.timestamp.wall_ms = moved(base->wall_ms, stamp.offset_ms);
    out.timestamp.counter = base->counter + stamp.counter;
    out.timestamp.node = base->node;
    relate_node(out.timestamp.node, stamp.node);
    return;
  }
  out.timestamp.wall_ms = moved(clock_of(stamp.base, bases), stamp.offset_ms);
  out.timestamp.counter = stamp.counter;
  out.timestamp.node = nodes().at(stamp.node);
  if (stamp.node >= kStoreNode) out.open_as_timestamp = out.open_as_token = kNodeIdsOpen;
}

void append_text(std::string& out, const Stamp& stamp, const Offered& offered) {
  if (offered.form == Offered::Form::kAbsent) return;
  if (offered.form == Offered::Form::kMalformed) {
    out += malformed_text(stamp.malformed);
    return;
  }
  hlc::append(out, offered.timestamp,
              stamp.padded ? hlc::Padding::kCanonical : hlc::Padding::kNone);
}

codec::Command command_of(const Operation& operation, std::string_view key) {
  FENCEPOST_CHECK(has_key(operation.kind));
  codec::Command command{.key = key};
  switch (operation.kind) {
    case Kind::kSet:
      command.verb = codec::Verb::kSet;
      command.value = operation.value;
      command.condition = operation.condition;
      if (operation.px_ms) command.expires_after = std::chrono::milliseconds{*operation.px_ms};
      break;
    case Kind::kDel:
      command.verb = codec::Verb::kDel;
      break;
    case Kind::kVdel:
      command.verb = codec::Verb::kVdel;
      command.value = operation.value;
      break;
    case Kind::kKeynotify:
      command.verb = codec::Verb::kKeynotify;
      break;
    case Kind::kStop:
      command.verb = codec::Verb::kKeynotify;
      command.stop = true;
      break;
    default:
      command.verb = codec::Verb::kGet;
      break;
  }
  return command;
}

}  // namespace fencepost::workload
