#include "suite/judge/reply_requirement.h"

#include <algorithm>
#include <array>

namespace fencepost::judge {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

enum class Options { kAny, kNx, kNex, kToken, kStop };
enum class Before { kAny, kExists, kExpired, kFenced, kExpires };
enum class Shape { kAny, kOk, kNotApplied, kEmptyValue, kMissing, kNothing };

struct Row {
  Verb verb;
  Shape reply;
  Options options;
  Before before;
  std::string_view requirement;
};

// The first row that fits counts: what is said of the fewest requests stands first.
constexpr std::array kTable = {
    // Only its condition makes a SET answer minus one (SET-NOT-APPLIED-1), so these stand before
    // the token and the expiry of the key.
    Row{Verb::kSet, Shape::kNotApplied, Options::kNx, Before::kAny, "SET-NX-2"},
    Row{Verb::kSet, Shape::kNotApplied, Options::kAny, Before::kAny, "SET-NEX-3"},
    // A store that refuses it has compared tokens wrongly, regardless of the condition.
    Row{Verb::kSet, Shape::kAny, Options::kAny, Before::kFenced, "FT-ACCEPT-1"},
    // "For NX an expired key does not exist" says of this SET what SET-PX-4 says of any verb.
    Row{Verb::kSet, Shape::kAny, Options::kNx, Before::kExpired, "SET-NX-3"},
    Row{Verb::kSet, Shape::kAny, Options::kAny, Before::kExpired, "SET-PX-4"},
    // A key that was deleted is as good as one that never was: that its next version is greater
    // (LOCK-TOKEN-4) is a matter of the version, not of the reply.
    Row{Verb::kSet, Shape::kAny, Options::kNex, Before::kExists, "SET-NEX-2"},
    Row{Verb::kSet, Shape::kAny, Options::kNex, Before::kAny, "SET-NEX-1"},
    Row{Verb::kSet, Shape::kAny, Options::kNx, Before::kAny, "SET-NX-1"},
    // FT-ACCEPT-1 above covers a key that has a token: here it is the first one.
    Row{Verb::kSet, Shape::kAny, Options::kToken, Before::kAny, "FT-STORE-1"},
    Row{Verb::kSet, Shape::kAny, Options::kAny, Before::kExists, "SET-WRITE-2"},
    Row{Verb::kSet, Shape::kAny, Options::kAny, Before::kAny, "SET-OK-1"},

    // A key that can still be read has not expired; that it is there for other verbs is SET-PX-4.
    Row{Verb::kGet, Shape::kMissing, Options::kAny, Before::kExpired, "SET-PX-1"},
    Row{Verb::kGet, Shape::kMissing, Options::kAny, Before::kAny, "GET-MISS-1"},
    // How an empty value is spelled is seen here only; that a key is still there, in any value.
    Row{Verb::kGet, Shape::kEmptyValue, Options::kAny, Before::kAny, "GET-HIT-4"},
    Row{Verb::kGet, Shape::kAny, Options::kAny, Before::kExpires, "SET-PX-2"},
    Row{Verb::kGet, Shape::kAny, Options::kAny, Before::kAny, "GET-HIT-3"},

    Row{Verb::kDel, Shape::kNothing, Options::kAny, Before::kExpired, "SET-PX-4"},
    Row{Verb::kDel, Shape::kNothing, Options::kAny, Before::kAny, "DEL-MISS-1"},
    Row{Verb::kDel, Shape::kAny, Options::kAny, Before::kFenced, "FT-ACCEPT-2"},
    Row{Verb::kDel, Shape::kAny, Options::kAny, Before::kAny, "DEL-OK-1"},

    // That the answer is no fencing error has a rule of its own.
    Row{Verb::kVdel, Shape::kNotApplied, Options::kAny, Before::kFenced, "FT-ACCEPT-4"},
    Row{Verb::kVdel, Shape::kNotApplied, Options::kAny, Before::kAny, "VDEL-MISMATCH-1"},
    Row{Verb::kVdel, Shape::kNothing, Options::kAny, Before::kExpired, "SET-PX-4"},
    Row{Verb::kVdel, Shape::kNothing, Options::kAny, Before::kAny, "VDEL-MISS-1"},
    Row{Verb::kVdel, Shape::kAny, Options::kAny, Before::kFenced, "FT-ACCEPT-3"},
    Row{Verb::kVdel, Shape::kAny, Options::kAny, Before::kAny, "VDEL-MATCH-1"},

    Row{Verb::kKeynotify, Shape::kOk, Options::kStop, Before::kAny, "NTF-STOP-1"},
    Row{Verb::kKeynotify, Shape::kAny, Options::kStop, Before::kAny, "NTF-STOP-3"},
    // A KEYNOTIFY that succeeds has one spelling. That it is not refused for a missing key is a
    // rule of its own, as only the deployed service shows it.
    Row{Verb::kKeynotify, Shape::kAny, Options::kAny, Before::kExists, "NTF-RESPONSE-2"},
    Row{Verb::kKeynotify, Shape::kAny, Options::kAny, Before::kAny, "NTF-ABSENT-1"},
};

bool has(Options options, const RequestFacts& request) {
  switch (options) {
    case Options::kAny:
      return true;
    case Options::kNx:
      return request.condition == Condition::kIfAbsent;
    case Options::kNex:
      return request.condition == Condition::kIfAbsentOrEqual;
    case Options::kToken:
      return request.has_token;
    case Options::kStop:
      return request.stop;
  }
  return false;
}

bool was(Before before, const KeyFacts& key) {
  switch (before) {
    case Before::kAny:
      return true;
    case Before::kExists:
      return key.exists;
    case Before::kExpired:
      return key.expired;
    case Before::kFenced:
      // Whether the token of a key that has expired still counts is open. Req: FT-OPEN-5
      return key.exists && key.fenced;
    case Before::kExpires:
      return key.exists && key.expires;
  }
  return false;
}

bool is(Shape expected, const ReplyFacts& reply) {
  switch (expected) {
    case Shape::kAny:
      return true;
    case Shape::kOk:
      return reply.kind == ReplyKind::kOk;
    case Shape::kNotApplied:
      return reply.kind == ReplyKind::kNotApplied;
    case Shape::kEmptyValue:
      return reply.kind == ReplyKind::kValue && reply.empty_value;
    case Shape::kMissing:
      return reply.kind == ReplyKind::kMissing;
    case Shape::kNothing:
      return reply.kind == ReplyKind::kCount && !reply.removed;
  }
  return false;
}

}  // namespace

std::string_view requirement_of(const RequestFacts& request, const KeyFacts& before,
                                const ReplyFacts& reply) {
  if (reply.kind == ReplyKind::kError) {
    // The article says only that an error without a listed text begins with `-ERR`.
    return reply.error ? requirement_of(*reply.error, request) : "RESP-INVALID-2";
  }
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& each) {
    return request.verb == each.verb && is(each.reply, reply) && has(each.options, request) &&
           was(each.before, before);
  });
  // What names no verb has to be answered all the same.
  return row == kTable.end() ? "RESP-INVALID-1" : row->requirement;
}

std::string_view requirement_of(ErrorCode error, const RequestFacts& request) {
  // The others never need a token. Req: FT-GET-1, FT-KEYNOTIFY-1
  const auto by_verb = [&](std::string_view set, std::string_view del, std::string_view vdel) {
    if (request.verb == Verb::kSet) return set;
    return request.verb == Verb::kDel ? del : vdel;
  };
  switch (error) {
    case ErrorCode::kSyntax:
      return "ERR-SYNTAX-1";
    case ErrorCode::kUnknownCommand:
      return "ERR-COMMAND-1";
    case ErrorCode::kWrongArgumentCount:
      return "ERR-ARITY-1";
    case ErrorCode::kEmptyKey:
      return "KEY-EMPTY-1";
    case ErrorCode::kMissingTimestamp:
      return "HLC-REQUIRED-1";
    case ErrorCode::kMalformedTimestamp:
      // FT-MALFORMED-1 is about SET; of the tokens of DEL and VDEL speaks the general rule alone.
      return request.token_is_malformed && request.verb == Verb::kSet ? "FT-MALFORMED-1"
                                                                      : "HLC-PARSE-1";
    case ErrorCode::kTimestampTooFarAhead:
      return "HLC-SKEW-1";
    case ErrorCode::kTokenTooFarAhead:
      return "HLC-SKEW-2";
    case ErrorCode::kTokenRequired:
      return by_verb("FT-REQUIRED-1", "FT-REQUIRED-2", "FT-REQUIRED-3");
    case ErrorCode::kTokenLower:
      return by_verb("FT-LOWER-1", "FT-LOWER-2", "FT-LOWER-3");
    // For these, too, the reason of the refusal counts, and not its spelling (ERR-TEXT-5,
    // ERR-TEXT-7).
    case ErrorCode::kQuotaExceeded:
      return "QUOTA-KEYS-1";
    case ErrorCode::kNotAuthorized:
      return "AUTH-DENIED-1";
  }
  return "RESP-INVALID-2";
}

std::string_view requirement_of(codec::Divergence divergence) {
  // Each is the rule that has the bytes, not the one about when they are sent (FT-LOWER-1, say):
  // where only the form is wrong, the store has decided right.
  switch (divergence) {
    case codec::Divergence::kSetNotApplied:
      return "SET-NOT-APPLIED-1";
    case codec::Divergence::kVdelMismatch:
      return "VDEL-MISMATCH-2";
    case codec::Divergence::kDeleteOperation:
      return "NTF-DEL-1";
    case codec::Divergence::kLowerTokenText:
      return "ERR-TEXT-4";
    case codec::Divergence::kKeynotifyError:
      return "NTF-ERROR-1";
  }
  return {};
}

}  // namespace fencepost::judge
