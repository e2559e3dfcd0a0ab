// Which rule a difference breaks, where the difference itself shows it: a response without `__stat`
// breaks ENV-STATUS-1 regardless of what its case is about. Only the case knows what stands in no
// row.
//
//   rule_of({.kind = Mismatch::kVersionUnasked, .verb = Verb::kGet, .reply = ReplyKind::kMissing})
//     ->  VER-MISS-1
//
// Pure and thread safe. What a whole reply stands for is in reply_requirement.h.
#pragma once

#include <optional>
#include <string_view>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/notification.h"
#include "codec/reply.h"

namespace fencepost::judge {

// What differs from what was expected.
enum class Mismatch {
  kOther,
  kReply,                // the payload of a response
  kReplyForm,            // a payload that is no reply at all, where any reply would do
  kNoResponse,           // none
  kUnsolicited,          // an unsolicited message
  kMixedForms,           // now the form of one dialect, now that of the other
  kErrorDetail,          // more behind the listed text of an error
  kStatus,               // the user property `__stat`
  kProperty,             // another property of a message
  kVersionMissing,       // no `__ts`
  kVersionUnasked,       // a `__ts` where none may be
  kVersionForm,          // a `__ts` that is no timestamp
  kVersionOther,         // not the version that it should be
  kVersionNotGreater,    // than the request's
  kVersionNotLater,      // than an earlier version
  kValueMissing,         // a notification of a SET without VALUE
  kNotification,         // of another key or operation
  kNotificationForm,     // no notification at all
  kNotificationValue,    // of the right key and operation, with another value
  kNotificationMissing,  // none
  kNotificationLate,     // after the response to a later request
  kNothingSaved,         // what a request is to be made of did not come
};

// "reply", "version-missing": the same in every version.
[[nodiscard]] std::string_view name(Mismatch kind);
[[nodiscard]] std::optional<Mismatch> mismatch_named(std::string_view name);

// What made the change that a notification is of, as far as it is known.
enum class Cause { kUnknown, kOwnChange, kOthersChange, kExpiry };

struct MismatchFacts {
  Mismatch kind = Mismatch::kOther;
  // These describe the request and its response.
  std::optional<codec::Verb> verb{};
  std::optional<codec::ReplyKind> reply{};
  bool removed = false;  // the reply is a count, and not zero
  // These describe the notification that was expected.
  std::optional<codec::Operation> operation{};
  Cause cause = Cause::kUnknown;
  // kReply: the one reply that was expected, and the payload that came if it is no reply.
  std::optional<codec::ReplyKind> wanted{};
  std::optional<codec::ErrorCode> wanted_error{};  // kError
  std::optional<std::string_view> malformed{};
  // kReply: that there is no such key was expected, and an error that is not listed came.
  bool missing_key_is_error = false;
  bool wrong_error = false;  // kReply: the errors are distinguished by what is before the text
  bool set_again = false;  // kVersionNotLater: the key had been deleted, or had expired, in between
  // kReply: the key of a request that was refused, and has nothing else that could be.
  std::optional<std::string_view> refused_key{};
};

// An id of scenarios/requirements.yaml; empty where the difference alone does not show it.
[[nodiscard]] std::string_view rule_of(const MismatchFacts& facts);

// The same of differences that the case may know better: for steps that cite nothing.
[[nodiscard]] std::string_view usual_rule_of(const MismatchFacts& facts);

// Can what differs so break the rule? What did not come says nothing of what is in it, nor another
// value than the right one of whether it was sent.
[[nodiscard]] bool may_break(Mismatch kind, std::string_view rule);

// The rule that has the text of this error.
[[nodiscard]] std::string_view rule_of_text(codec::ErrorCode code);

// Is this a rule that one of the two names, of a part of a reply or of its dialect?
[[nodiscard]] bool names_rule(std::string_view id);

// Does what comes later in a case mean the same after such a difference? After another reply than
// the expected one the store is in a state that the case knows nothing of.
[[nodiscard]] bool leaves_case_sound(Mismatch kind);

}  // namespace fencepost::judge
