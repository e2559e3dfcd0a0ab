// From the relative description of an operation to what is sent in a run: the timestamps, their
// text, and the command.
//
//   Offered token = resolve(operation.token, {.now_ms = wall, .start_ms = start, .model = ...});
//   append_text(property, operation.token, token);
//
// Pure and thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/command.h"
#include "hlc/hlc.h"
#include "workload/operation.h"

namespace fencepost::workload {

// A `__ts` or `__ft` as a request offers it.
struct Offered {
  enum class Form : std::uint8_t { kAbsent, kMalformed, kTimestamp };
  Form form = Form::kAbsent;
  hlc::Timestamp timestamp{};  // kTimestamp; its counter may be one that a store refuses
  // The requirement that leaves open whether the text is a timestamp; empty when it is settled.
  std::string_view open_as_timestamp{};
  std::string_view open_as_token{};
};

// What relative timestamps relate to. Null: the key does not exist, or holds no token.
struct Bases {
  std::uint64_t now_ms = 0;
  std::uint64_t start_ms = 0;
  const hlc::Timestamp* token = nullptr;
  const hlc::Timestamp* version = nullptr;
};

// The key whose token and version a stamp of this operation relates to.
[[nodiscard]] std::uint8_t key_of(const Stamp& stamp, const Operation& operation);

// The timestamp of a stamp. Overwrites `out`, whose memory is used again.
void resolve(const Stamp& stamp, const Bases& bases, Offered& out);

// Appends the text of the property; nothing for kAbsent.
void append_text(std::string& out, const Stamp& stamp, const Offered& offered);

// The command of a request that is not kRawPayload. `key` takes the place of keys()[operation.key],
// so that a run can give it a prefix. The views live as long as `operation` and `key`.
[[nodiscard]] codec::Command command_of(const Operation& operation, std::string_view key);

}  // namespace fencepost::workload
