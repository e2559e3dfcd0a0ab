#include "conformance/judge/mismatch.h"

#include <algorithm>
#include <array>

namespace fencepost::judge {
namespace {

using codec::Operation;
using codec::ReplyKind;
using codec::Verb;

// What is not given counts for any.
struct MismatchRow {
  Mismatch kind;
  std::optional<Verb> verb{};
  std::optional<ReplyKind> reply{};
  std::optional<Operation> operation{};
  std::optional<Cause> cause{};
  std::string_view requirement;
};

// The first row that fits counts.
constexpr std::array kMismatches = {
    MismatchRow{.kind = Mismatch::kStatus, .requirement = "ENV-STATUS-1"},

    MismatchRow{.kind = Mismatch::kVersionUnasked,
                .verb = Verb::kGet,
                .reply = ReplyKind::kMissing,
                .requirement = "VER-MISS-1"},
    MismatchRow{.kind = Mismatch::kVersionForm, .requirement = "HLC-FORMAT-1"},

    MismatchRow{.kind = Mismatch::kVersionMissing,
                .verb = Verb::kSet,
                .reply = ReplyKind::kOk,
                .requirement = "VER-SET-1"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .verb = Verb::kSet,
                .reply = ReplyKind::kNotApplied,
                .requirement = "SET-NOT-APPLIED-3"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .verb = Verb::kGet,
                .reply = ReplyKind::kValue,
                .requirement = "VER-GET-1"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .verb = Verb::kDel,
                .reply = ReplyKind::kCount,
                .requirement = "VER-DEL-1"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .verb = Verb::kVdel,
                .reply = ReplyKind::kCount,
                .requirement = "VER-VDEL-1"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .operation = Operation::kSet,
                .requirement = "NTF-VERSION-1"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .operation = Operation::kDelete,
                .requirement = "NTF-VERSION-2"},

    MismatchRow{.kind = Mismatch::kVersionOther,
                .verb = Verb::kSet,
                .reply = ReplyKind::kNotApplied,
                .requirement = "SET-NOT-APPLIED-3"},
    MismatchRow{.kind = Mismatch::kVersionOther,
                .verb = Verb::kGet,
                .reply = ReplyKind::kValue,
                .requirement = "VER-GET-2"},
    MismatchRow{.kind = Mismatch::kVersionOther,
                .operation = Operation::kSet,
                .requirement = "NTF-VERSION-3"},
    MismatchRow{.kind = Mismatch::kVersionNotGreater,
                .verb = Verb::kSet,
                .reply = ReplyKind::kOk,
                .requirement = "VER-SET-2"},

    MismatchRow{.kind = Mismatch::kValueMissing, .requirement = "NTF-VALUE-3"},
    MismatchRow{.kind = Mismatch::kNotificationLate, .requirement = "NTF-ORDER-1"},
    MismatchRow{.kind = Mismatch::kNotificationMissing,
                .cause = Cause::kOwnChange,
                .requirement = "NTF-SELF-1"},
    MismatchRow{.kind = Mismatch::kNotificationMissing,
                .cause = Cause::kExpiry,
                .requirement = "NTF-EXPIRY-1"},
};

template <typename Value>
bool fits(const std::optional<Value>& wanted, const std::optional<Value>& seen) {
  return !wanted || wanted == seen;
}

// No document has a limit. Req: LIMIT-KEY-1
constexpr std::size_t kLongKey = 256;

std::string_view rule_of_refused_key(std::string_view key) {
  if (key.size() > kLongKey) return "LIMIT-KEY-1";
  const bool plain =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return plain ? "" : "KEY-BINARY-1";
}

}  // namespace

std::string_view rule_of(const MismatchFacts& facts) {
  if (facts.kind == Mismatch::kReply && facts.refused_key) {
    return rule_of_refused_key(*facts.refused_key);
  }
  const auto row =
      std::find_if(kMismatches.begin(), kMismatches.end(), [&](const MismatchRow& each) {
        return facts.kind == each.kind && fits(each.verb, facts.verb) &&
               fits(each.reply, facts.reply) && fits(each.operation, facts.operation) &&
               fits(each.cause, std::optional(facts.cause));
      });
  return row == kMismatches.end() ? "" : row->requirement;
}

bool leaves_case_sound(Mismatch kind) {
  switch (kind) {
    case Mismatch::kOther:
    case Mismatch::kReply:
    case Mismatch::kNotification:
    case Mismatch::kNothingSaved:
      return false;
    case Mismatch::kStatus:
    case Mismatch::kProperty:
    case Mismatch::kVersionMissing:
    case Mismatch::kVersionUnasked:
    case Mismatch::kVersionForm:
    case Mismatch::kVersionOther:
    case Mismatch::kVersionNotGreater:
    case Mismatch::kValueMissing:
    case Mismatch::kNotificationMissing:
    case Mismatch::kNotificationLate:
      return true;
  }
  return false;
}

}  // namespace fencepost::judge
