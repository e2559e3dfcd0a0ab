// What the arguments of a request mean, and all that a store with these decisions may object to:
// which objection it raises depends on the order of its checks. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/command.h"
#include "codec/dialect.h"
#include "hlc/hlc.h"
#include "reference_store/rules.h"
#include "reference_store/variants/choices.h"
#include "reference_store/variants/lenient_reader.h"

namespace fencepost::store {

// In the order of the reference store.
enum class Check {
  kVerb,
  kCount,
  kOptions,
  kKey,
  kAuthorization,
  kTimestamp,
  kToken,
  kFencing,
  kCondition,
  kQuota,
};

struct Objection {
  Check check = Check::kVerb;
  VariantError error{};
};

struct VariantCommand {
  std::optional<codec::Verb> verb{};
  bool array_reply = false;  // a newer verb, answered with an empty array
  bool has_key = false;
  std::string key{};
  std::string value{};
  std::string compared{};  // what NEX compares with
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<std::chrono::milliseconds> expires_after{};
  bool permanent = false;  // by a PX that says so
  bool stop = false;
  bool get = false;  // KEYNOTIFY with the option GET
  std::vector<Objection> objections{};
};

// `arguments` has at least one.
[[nodiscard]] VariantCommand interpret(const std::vector<Argument>& arguments,
                                       const Decisions& decisions, const codec::Dialect& dialect);

// Smaller comes first.
[[nodiscard]] int turn_of(Check check, const Decisions& decisions);

// A `__ts` or `__ft`; nothing when it is malformed.
[[nodiscard]] std::optional<hlc::Timestamp> read_stamp(std::string_view text, bool is_token,
                                                       std::string_view own_node,
                                                       const Decisions& decisions);

}  // namespace fencepost::store
