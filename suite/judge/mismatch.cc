#include "suite/judge/mismatch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "suite/judge/reply_requirement.h"

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

// Runs write these into files and read them again (report/case_json.cc): a name stays what it is.
constexpr std::array kNames = {
    std::pair(Mismatch::kOther, std::string_view("other")),
    std::pair(Mismatch::kReply, std::string_view("reply")),
    std::pair(Mismatch::kReplyForm, std::string_view("reply-form")),
    std::pair(Mismatch::kNoResponse, std::string_view("no-response")),
    std::pair(Mismatch::kUnsolicited, std::string_view("unsolicited")),
    std::pair(Mismatch::kMixedForms, std::string_view("mixed-forms")),
    std::pair(Mismatch::kErrorDetail, std::string_view("error-detail")),
    std::pair(Mismatch::kStatus, std::string_view("status")),
    std::pair(Mismatch::kProperty, std::string_view("property")),
    std::pair(Mismatch::kVersionMissing, std::string_view("version-missing")),
    std::pair(Mismatch::kVersionUnasked, std::string_view("version-unasked")),
    std::pair(Mismatch::kVersionForm, std::string_view("version-form")),
    std::pair(Mismatch::kVersionOther, std::string_view("version-other")),
    std::pair(Mismatch::kVersionNotGreater, std::string_view("version-not-greater")),
    std::pair(Mismatch::kVersionNotLater, std::string_view("version-not-later")),
    std::pair(Mismatch::kValueMissing, std::string_view("value-missing")),
    std::pair(Mismatch::kNotification, std::string_view("notification")),
    std::pair(Mismatch::kNotificationForm, std::string_view("notification-form")),
    std::pair(Mismatch::kNotificationValue, std::string_view("notification-value")),
    std::pair(Mismatch::kNotificationMissing, std::string_view("notification-missing")),
    std::pair(Mismatch::kNotificationLate, std::string_view("notification-late")),
    std::pair(Mismatch::kNothingSaved, std::string_view("nothing-saved")),
};

// The first row that fits counts.
constexpr std::array kMismatches = {
    // By the article detail may follow (ERR-DETAIL-OPEN-1). So this is not the rule of the text,
    // which applies to every store, but the one that the deployed service alone shows.
    MismatchRow{.kind = Mismatch::kErrorDetail, .requirement = "ERR-EXACT-1"},
    MismatchRow{.kind = Mismatch::kStatus, .requirement = "ENV-STATUS-1"},

    // Other replies have to have a version, or may have one. Req: VER-OPEN-5
    MismatchRow{.kind = Mismatch::kVersionUnasked,
                .verb = Verb::kGet,
                .reply = ReplyKind::kMissing,
                .requirement = "VER-MISS-1"},
    // In any message, a `__ts` that is no timestamp is wrong, also where there need be none.
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
    // Only the GA edition requires a version in notifications: NTF-VERSION-1 to -3 do not apply to
    // the preview.
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .operation = Operation::kSet,
                .requirement = "NTF-VERSION-1"},
    // The article says it of DEL and VDEL.
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .operation = Operation::kDelete,
                .cause = Cause::kExpiry,
                .requirement = "NTF-EXPIRY-1"},
    MismatchRow{.kind = Mismatch::kVersionMissing,
                .operation = Operation::kDelete,
                .requirement = "NTF-VERSION-2"},

    // No row for deletions: which version these carry is open. Req: VER-OPEN-4, NTF-VERSION-OPEN-1
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
    // By the article a store need tell neither of a client's own changes nor of expiries: only the
    // deployed service shows both. The cause keeps them apart from NTF-SEND-1 and NTF-SEND-2, which
    // apply to every store.
    MismatchRow{.kind = Mismatch::kNotificationMissing,
                .cause = Cause::kOwnChange,
                .requirement = "NTF-SELF-1"},
    MismatchRow{.kind = Mismatch::kNotificationMissing,
                .cause = Cause::kExpiry,
                .requirement = "NTF-EXPIRY-1"},
};

// Which rule it is also depends on what came before: of notifications, who observes since when.
constexpr std::array kUsualMismatches = {
    MismatchRow{.kind = Mismatch::kVersionNotLater,
                .verb = Verb::kSet,
                .reply = ReplyKind::kOk,
                .requirement = "VER-UPDATE-3"},
    // A notification carries the version of the SET.
    MismatchRow{.kind = Mismatch::kVersionNotLater,
                .operation = Operation::kSet,
                .requirement = "VER-UPDATE-3"},
    MismatchRow{.kind = Mismatch::kNotificationMissing,
                .operation = Operation::kSet,
                .requirement = "NTF-SEND-1"},
    MismatchRow{.kind = Mismatch::kNotificationMissing,
                .operation = Operation::kDelete,
                .requirement = "NTF-SEND-2"},
    MismatchRow{.kind = Mismatch::kNotificationForm,
                .operation = Operation::kSet,
                .requirement = "NTF-SET-1"},
    MismatchRow{.kind = Mismatch::kNotificationForm,
                .operation = Operation::kDelete,
                .requirement = "NTF-DEL-1"},
    MismatchRow{.kind = Mismatch::kNotificationValue,
                .operation = Operation::kSet,
                .requirement = "NTF-VALUE-1"},
    MismatchRow{
        .kind = Mismatch::kNotification, .cause = Cause::kExpiry, .requirement = "NTF-EXPIRY-1"},
};

template <typename Value>
bool fits(const std::optional<Value>& wanted, const std::optional<Value>& seen) {
  return !wanted || wanted == seen;
}

template <std::size_t kRows>
std::string_view rule_in(const std::array<MismatchRow, kRows>& table, const MismatchFacts& facts) {
  const auto row = std::find_if(table.begin(), table.end(), [&](const MismatchRow& each) {
    return facts.kind == each.kind && fits(each.verb, facts.verb) &&
           fits(each.reply, facts.reply) && fits(each.operation, facts.operation) &&
           fits(each.cause, std::optional(facts.cause));
  });
  return row == table.end() ? "" : row->requirement;
}

// No document has a limit. Req: LIMIT-KEY-1
constexpr std::size_t kLongKey = 256;

std::string_view rule_of_refused_key(std::string_view key) {
  // Length comes first: that a store refuses a long key says nothing of the bytes in it.
  if (key.size() > kLongKey) return "LIMIT-KEY-1";
  const bool plain =
      std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return plain ? "" : "KEY-BINARY-1";
}

// Does `$n` say another number of bytes than follow?
bool has_wrong_length(std::string_view payload) {
  const std::size_t line = payload.find("\r\n");
  if (!payload.starts_with('$') || line == std::string_view::npos) return false;
  std::size_t length = 0;
  const std::string_view digits = payload.substr(1, line - 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  const std::string_view rest = payload.substr(line + 2);
  // A value that lacks its line end may have the right length: then this is not what is wrong.
  return error == std::errc{} && end == digits.data() + digits.size() && rest.ends_with("\r\n") &&
         rest.size() != length + 2;
}

// What was to happen has happened, and is reported in another form.
std::string_view rule_of_form(const MismatchFacts& facts) {
  if (facts.malformed) {
    // What begins like an error is meant as one.
    if (facts.malformed->starts_with('-')) return "RESP-ERROR-FORM-1";
    return has_wrong_length(*facts.malformed) ? "GET-HIT-2" : "";
  }
  // Before the text: it is the listed one, and only what stands before it is wrong, such as the
  // colon that the article has for KEYNOTIFY alone. Req: NTF-ERROR-1
  if (facts.wrong_error) return "RESP-ERROR-FORM-1";
  if (facts.wanted == ReplyKind::kError && facts.reply == ReplyKind::kError) {
    return facts.wanted_error ? rule_of_text(*facts.wanted_error) : "";
  }
  // `$-1` and `:0` say that nothing was done, too: only the spelling is wrong. A count above zero
  // says that something was removed, which is another behaviour.
  const bool refused = facts.reply == ReplyKind::kMissing || facts.reply == ReplyKind::kCount;
  if (facts.wanted != ReplyKind::kNotApplied || !refused || facts.removed) return "";
  return facts.verb == Verb::kVdel ? "VDEL-MISMATCH-2" : "SET-NOT-APPLIED-1";
}

}  // namespace

std::string_view rule_of_text(codec::ErrorCode code) {
  // Numbered in the order in which the article lists the texts.
  using codec::ErrorCode;
  switch (code) {
    case ErrorCode::kTimestampTooFarAhead:
      return "ERR-TEXT-1";
    case ErrorCode::kTokenRequired:
      return "ERR-TEXT-2";
    case ErrorCode::kTokenTooFarAhead:
      return "ERR-TEXT-3";
    case ErrorCode::kTokenLower:
      return "ERR-TEXT-4";
    case ErrorCode::kQuotaExceeded:
      return "ERR-TEXT-5";
    case ErrorCode::kSyntax:
      return "ERR-TEXT-6";
    case ErrorCode::kNotAuthorized:
      return "ERR-TEXT-7";
    case ErrorCode::kUnknownCommand:
      return "ERR-TEXT-8";
    case ErrorCode::kWrongArgumentCount:
      return "ERR-TEXT-9";
    case ErrorCode::kMissingTimestamp:
      return "ERR-TEXT-10";
    case ErrorCode::kMalformedTimestamp:
      return "ERR-TEXT-11";
    case ErrorCode::kEmptyKey:
      return "ERR-TEXT-12";
  }
  return {};
}

std::string_view name(Mismatch kind) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const auto& row) { return row.first == kind; });
  return found == kNames.end() ? "other" : found->second;
}

std::optional<Mismatch> mismatch_named(std::string_view name) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const auto& row) { return row.second == name; });
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

std::string_view rule_of(const MismatchFacts& facts) {
  if (facts.kind == Mismatch::kReply) {
    if (const std::string_view rule = rule_of_form(facts); !rule.empty()) return rule;
  }
  if (facts.kind == Mismatch::kReply && facts.refused_key) {
    return rule_of_refused_key(*facts.refused_key);
  }
  // By the article alone a key that was deleted leaves nothing behind to be greater than.
  if (facts.kind == Mismatch::kVersionNotLater && facts.set_again) return "LOCK-TOKEN-4";
  return rule_in(kMismatches, facts);
}

std::string_view usual_rule_of(const MismatchFacts& facts) {
  // Not in rule_of(), as the request may have been refused for something else.
  if (facts.kind == Mismatch::kReply && facts.missing_key_is_error) return "RESP-MISSING-KEY-1";
  return rule_in(kUsualMismatches, facts);
}

bool may_break(Mismatch kind, std::string_view rule) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> families) {
    return std::any_of(families.begin(), families.end(),
                       [&](std::string_view family) { return rule.starts_with(family); });
  };
  if (kind == Mismatch::kNotificationMissing) {
    return !is_one_of({"NTF-TOPIC-", "NTF-FORMAT-", "NTF-SET-", "NTF-DEL-", "NTF-VALUE-",
                       "NTF-VERSION-", "LIMIT-VALUE-"});
  }
  // The rule is about the version that comes with a lock: another reply than +OK gives no lock.
  if (kind == Mismatch::kReply) return rule != "LOCK-TOKEN-4";
  return kind != Mismatch::kNotificationValue || !is_one_of({"NTF-SEND-", "NTF-TOPIC-"});
}

// A failure can be attributed to a rule that is named here although no case begins with it and no
// step cites it, which `matrix` demands of all others.
bool names_rule(std::string_view id) {
  const auto of_row = [&](const MismatchRow& row) { return row.requirement == id; };
  return std::any_of(kMismatches.begin(), kMismatches.end(), of_row) ||
         std::any_of(kUsualMismatches.begin(), kUsualMismatches.end(), of_row) ||
         std::any_of(codec::kErrorCodes.begin(), codec::kErrorCodes.end(),
                     [&](codec::ErrorCode code) { return rule_of_text(code) == id; }) ||
         std::any_of(codec::kDivergences.begin(), codec::kDivergences.end(),
                     [&](codec::Divergence form) { return requirement_of(form) == id; });
}

bool leaves_case_sound(Mismatch kind) {
  switch (kind) {
    case Mismatch::kOther:
    case Mismatch::kReply:
    case Mismatch::kReplyForm:
    case Mismatch::kNoResponse:
    case Mismatch::kUnsolicited:
    case Mismatch::kMixedForms:
    case Mismatch::kNotification:
    case Mismatch::kNotificationForm:
    case Mismatch::kNotificationValue:
    case Mismatch::kNothingSaved:
      return false;
    // What these leave out or spell wrong changes no key. A notification that is late or missing
    // does not either.
    case Mismatch::kErrorDetail:
    case Mismatch::kStatus:
    case Mismatch::kProperty:
    case Mismatch::kVersionMissing:
    case Mismatch::kVersionUnasked:
    case Mismatch::kVersionForm:
    case Mismatch::kVersionOther:
    case Mismatch::kVersionNotGreater:
    case Mismatch::kVersionNotLater:
    case Mismatch::kValueMissing:
    case Mismatch::kNotificationMissing:
    case Mismatch::kNotificationLate:
      return true;
  }
  return false;
}

}  // namespace fencepost::judge
