#include "suite/judge/reply_requirement.h"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fencepost::judge {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::ReplyKind;
using codec::Verb;

struct Row {
  RequestFacts request;
  KeyFacts before;
  ReplyFacts reply;
  std::string_view requirement;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.requirement; }

class ReplyRequirement : public testing::TestWithParam<Row> {};

TEST_P(ReplyRequirement, NamesTheRequirement) {
  const Row& row = GetParam();
  EXPECT_EQ(requirement_of(row.request, row.before, row.reply), row.requirement);
}

constexpr RequestFacts kSet{.verb = Verb::kSet};
constexpr RequestFacts kNx{.verb = Verb::kSet, .condition = Condition::kIfAbsent};
constexpr RequestFacts kNex{.verb = Verb::kSet, .condition = Condition::kIfAbsentOrEqual};
constexpr RequestFacts kGet{.verb = Verb::kGet};
constexpr RequestFacts kVdel{.verb = Verb::kVdel};
constexpr KeyFacts kAbsent{};
constexpr KeyFacts kThere{.exists = true};
constexpr KeyFacts kExpired{.expired = true};
constexpr ReplyFacts kOk{.kind = ReplyKind::kOk};
constexpr ReplyFacts kNotApplied{.kind = ReplyKind::kNotApplied};
constexpr ReplyFacts kMalformed{.kind = ReplyKind::kError, .error = ErrorCode::kMalformedTimestamp};

const Row kRows[] = {
    // These were named differently by what records and by the oracle.
    {kNx, kExpired, kOk, "SET-NX-3"},
    {kSet, kExpired, kOk, "SET-PX-4"},
    {kNex, kExpired, kOk, "SET-PX-4"},
    {kSet, kAbsent, kOk, "SET-OK-1"},
    {kNx, kAbsent, kOk, "SET-NX-1"},
    {kGet,
     {.exists = true, .expires = true},
     {.kind = ReplyKind::kValue, .empty_value = true},
     "GET-HIT-4"},
    {{.verb = Verb::kSet, .token_is_malformed = true}, kThere, kMalformed, "FT-MALFORMED-1"},
    {{.verb = Verb::kDel, .token_is_malformed = true}, kThere, kMalformed, "HLC-PARSE-1"},
    {kSet, kThere, kMalformed, "HLC-PARSE-1"},

    {kSet, kThere, kOk, "SET-WRITE-2"},
    {kNx, kThere, kNotApplied, "SET-NX-2"},
    {kNex, kThere, kNotApplied, "SET-NEX-3"},
    {kNex, kThere, kOk, "SET-NEX-2"},
    {kNex, kAbsent, kOk, "SET-NEX-1"},
    {{.verb = Verb::kSet, .has_token = true}, kThere, kOk, "FT-STORE-1"},
    {kNx, {.exists = true, .fenced = true}, kOk, "FT-ACCEPT-1"},
    {kGet, {.exists = true, .expires = true}, {.kind = ReplyKind::kValue}, "SET-PX-2"},
    {kGet, kThere, {.kind = ReplyKind::kValue}, "GET-HIT-3"},
    {kGet, kExpired, {.kind = ReplyKind::kMissing}, "SET-PX-1"},
    {kGet, kAbsent, {.kind = ReplyKind::kMissing}, "GET-MISS-1"},
    {{.verb = Verb::kDel}, kThere, {.kind = ReplyKind::kCount, .removed = true}, "DEL-OK-1"},
    {{.verb = Verb::kDel}, kAbsent, {.kind = ReplyKind::kCount}, "DEL-MISS-1"},
    {kVdel, {.exists = true, .fenced = true}, kNotApplied, "FT-ACCEPT-4"},
    {kVdel, kThere, kNotApplied, "VDEL-MISMATCH-1"},
    {kVdel, kExpired, {.kind = ReplyKind::kCount}, "SET-PX-4"},
    {{.verb = Verb::kKeynotify}, kThere, kOk, "NTF-RESPONSE-2"},
    {{.verb = Verb::kKeynotify}, kAbsent, kOk, "NTF-ABSENT-1"},
    {{.verb = Verb::kKeynotify, .stop = true}, kThere, kOk, "NTF-STOP-1"},
    {{.verb = Verb::kKeynotify, .stop = true}, kThere, {.kind = ReplyKind::kCount}, "NTF-STOP-3"},
    // What is no reply is taken for the usual one.
    {kSet, kAbsent, {}, "SET-OK-1"},
    {{}, kAbsent, {.kind = ReplyKind::kOk}, "RESP-INVALID-1"},
    {{}, kAbsent, {.kind = ReplyKind::kError}, "RESP-INVALID-2"},
    {{.verb = Verb::kVdel},
     kThere,
     {.kind = ReplyKind::kError, .error = ErrorCode::kTokenLower},
     "FT-LOWER-3"},
};
INSTANTIATE_TEST_SUITE_P(All, ReplyRequirement, testing::ValuesIn(kRows));

}  // namespace
}  // namespace fencepost::judge
